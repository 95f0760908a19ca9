import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { findAll } from "../database/Rows.ts"
import { type AccountId, type EntityId, StoreId } from "../model/Ids.ts"

/** A value of one store before a drop. null: the canonical value was inherited. */
const ValueBeforeDrop = Schema.Struct({ storeId: StoreId, key: Schema.String, value: Schema.NullOr(Schema.String) })
export type ValueBeforeDrop = typeof ValueBeforeDrop.Type

/**
 * The override that a field `f` had before a drop. It is found if that drop wrote the field last before an entry of the history
 * (`sequence`), and ended or failed without changing the field back. An undo restores this override and not the drop's value, which
 * nothing would end. `null` as JSON: there was no override.
 */
export const makeOfEndedDrop = (sql: SqlClient) => (accountId: AccountId, sequence: "f.first_own" | "f.sequence") =>
  sql`
  SELECT coalesce(x.override_before, 'null') AS override
  FROM drop_change c
  JOIN drop_effect x ON x.account_id = ${accountId} AND x.drop_id = c.drop_id AND x.ordinal = c.ordinal
  WHERE c.account_id = ${accountId} AND c.entity_id = f.entity_id AND c.field = f.key
    AND x.store_id = f.store_id AND x.outcome IN ('skipped', 'failed')
    AND c.drop_id = (
      SELECT w.drop_id FROM entity_history w
      WHERE w.account_id = ${accountId} AND w.entity_id = f.entity_id AND w.store_id = f.store_id
        AND w.sequence < ${sql.literal(sequence)} AND EXISTS (
          SELECT FROM jsonb_to_recordset(w.changes) AS r (key text, old text, new text)
          WHERE r.key = f.key AND r.old IS DISTINCT FROM r.new
        )
      ORDER BY w.sequence DESC
      LIMIT 1
    )`

/** Reads the values before drops that an undo of one revision restores. */
export const makeBeforeEndedDrops = (sql: SqlClient) => {
  const ofEndedDrop = makeOfEndedDrop(sql)
  return findAll(ValueBeforeDrop)(
    (accountId: AccountId, entityId: EntityId, revision: number) => sql`
      SELECT f.store_id AS "storeId", f.key, d.override ->> 'value' AS value
      FROM (
        SELECT h.entity_id, h.store_id, h.sequence, r.key
        FROM entity_history h CROSS JOIN LATERAL jsonb_to_recordset(h.changes) AS r (key text)
        WHERE h.account_id = ${accountId} AND h.entity_id = ${entityId} AND h.draft_revision = ${revision}
      ) f
      CROSS JOIN LATERAL (${ofEndedDrop(accountId, "f.sequence")}) d`
  )
}
