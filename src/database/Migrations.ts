import { FileSystem } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Migrator, SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Data, Effect, Layer, Option, Record } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { packageRoot } from "../PackageRoot.ts"
import { withinReadiness } from "./Database.ts"
import { Workload } from "./Deadlines.ts"
import { distributeMissing, isDistributed, schemaLock } from "./Distribution.ts"
import { describe, isSqlError } from "./SqlErrors.ts"

/**
 * Matches comments, strings, quoted names and function bodies, in which a semicolon does not end a statement; or any
 * other character.
 */
const statement = /(?:--[^\n]*|\$(\w*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"[^"]*"|[^;])+/g

/** Splits a script into statements. Strings that escape a quote with a backslash are not supported. */
export const statementsOf = (script: string): ReadonlyArray<string> =>
  (script.match(statement) ?? []).filter((text) => text.replaceAll(/--[^\n]*/g, "").trim() !== "")

/** The migrations in order. Add new ones at the end. Never change the statements of an existing file. */
export const names: ReadonlyArray<string> = [
  "0001_runtime",
  "0002_access",
  "0003_jobs",
  "0004_stores",
  "0005_catalog",
  "0006_drafts",
  "0007_imports",
  "0008_publishing",
  "0009_storedata",
  "0010_drops",
  "0011_health",
  "0012_feed",
  "0013_webhooks",
  "0014_connections",
  "0015_events",
  "0016_demo",
  "0017_exports",
  "0018_store_tests",
  "0019_scan_progress",
  "0020_publish_jobs",
  "0021_failed_drop_effects"
