#!/bin/sh
# Fetches the protocol's conformance suite, its inspector and the Node 24 that both need (about 260 MB) into .conformance/,
# beside the package: as a dependency, its node would run every script of ours.
set -e
cd "$(dirname "$0")/../../.."
npm install --prefix .conformance --no-fund --no-audit node@24 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
  @modelcontextprotocol/inspector@2.12.0
