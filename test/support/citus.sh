#!/bin/sh
# A Citus cluster of one coordinator and two workers on this machine, for tests: `up` prints the coordinator's URL, `down` removes it.
# The built extension is outside of the repository: CITUS_CLUSTER is its script. Without it this ends with 1.
cluster="${CITUS_CLUSTER:-$(cd "$(dirname "$0")/../.." && pwd)/../shared/citus/cluster}"
[ -x "$cluster" ] || exit 1
exec "$cluster" "$@"
