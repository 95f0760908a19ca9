import type { SqlClient } from "@effect/sql/SqlClient"
import type { AccountId } from "../model/Ids.ts"
import type { ChangeNote } from "./ChangeNote.ts"

/**
 * Inserts the note of a transaction. `raised`: a WITH query that returns `version` and `keeps_notes` of the account, which the
 * same statement has raised: so notes become visible in the order of versions.
 */
export const makeInsertNote =
  (sql: SqlClient) =>
  (accountId: AccountId, { entities, moved, skus }: ChangeNote) =>
    sql`
    INSERT INTO change_note (account_id, version, entities, skus, moved)
    SELECT own.account_id, raised.version, ${[...entities]}::uuid[], ${[...skus]}::text[], ${JSON.stringify(moved)}::jsonb
    FROM account_state own CROSS JOIN raised
    WHERE own.account_id = ${accountId} AND raised.keeps_notes`
