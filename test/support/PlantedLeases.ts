import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { makeWorkHints } from "../../src/database/WorkHintsRepo.ts"
import type { AccountId } from "../../src/model/Ids.ts"

/**
 * Changes an account's import (by default all) as if a process had died while it applied the import. `seconds`: time
 * until its lease ends; negative: it has ended.
 */
export const leaveImport = (
  accountId: AccountId,
  seconds: number,
  { leasedBy, runId = null }: { readonly leasedBy?: string; readonly runId?: string | null } = {}
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      UPDATE import_run
      SET phase = 'applying', lease_until = plus_micros(app_now(), ${seconds * 1_000_000}::bigint),
          leased_by = coalesce(${leasedBy ?? null}, leased_by)
      WHERE account_id = ${accountId} AND (${runId}::uuid IS NULL OR id = ${runId}::uuid)`
    yield* hintImport(accountId)
  })

/** Notifies the workers of a cluster of an import that a test changed directly in the database. */
export const hintImport = (accountId: AccountId) =>
  Effect.flatMap(makeWorkHints("import"), (hints) => (hints === undefined ? Effect.void : hints.add(accountId)))
