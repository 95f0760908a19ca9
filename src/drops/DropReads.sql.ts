import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, DropId, EntityId } from "../model/Ids.ts"
import { Drop } from "./Drop.ts"
import type { DropsRepo } from "./DropsRepo.ts"

/** Statements that read drops with their changes. */
export const makeDropReads = (sql: SqlClient): Pick<Context.Tag.Service<DropsRepo>, "find" | "list"> => {
  const columns = sql`
    d.id, d.name, d.status, rfc3339(d.starts_at) AS starts_at, rfc3339(d.ends_at) AS ends_at, d.timezone`

  const changesOf = (accountId: string, entityId: string | null) => sql`
    SELECT json_agg(json_build_object(
             'entity_id', c.entity_id, 'entity_type', e.kind, 'store_id', c.store_id, 'field', c.field,
             'value', c.value, 'outcome', c.outcome, 'error', c.error
           ) ORDER BY c.ordinal) AS list
    FROM drop_change c
    JOIN entity e ON e.account_id = ${accountId} AND e.id = c.entity_id
    LEFT JOIN store s ON s.account_id = ${accountId} AND s.id = c.store_id
    WHERE c.account_id = ${accountId} AND c.drop_id = d.id AND (c.store_id IS NULL OR s.status = 'linked')
      AND (${entityId}::uuid IS NULL OR c.entity_id = ${entityId}::uuid)`

  const list = SqlSchema.findAll({
    Request: AccountId,
    Result: Drop,
    execute: (accountId) => sql`
      SELECT ${columns}, coalesce(changes.list, '[]') AS changes
      FROM drop d CROSS JOIN LATERAL (${changesOf(accountId, null)}) changes
      WHERE d.account_id = ${accountId}
      ORDER BY d.starts_at, d.id`
  })

  const ofEntity = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, entityId: EntityId }),
    Result: Drop,
    execute: ({ accountId, entityId }) => sql`
      SELECT ${columns}, changes.list AS changes
      FROM (
        SELECT DISTINCT c.drop_id FROM drop_change c
        WHERE c.account_id = ${accountId} AND c.entity_id = ${entityId}
      ) k
      JOIN drop d ON d.account_id = ${accountId} AND d.id = k.drop_id
      CROSS JOIN LATERAL (${changesOf(accountId, entityId)}) changes
      WHERE changes.list IS NOT NULL
      ORDER BY d.starts_at, d.id`
  })

  const find = SqlSchema.findOne({
    Request: Schema.Struct({ accountId: AccountId, id: DropId }),
    Result: Drop,
    execute: ({ accountId, id }) => sql`
      SELECT ${columns}, coalesce(changes.list, '[]') AS changes
      FROM drop d CROSS JOIN LATERAL (${changesOf(accountId, null)}) changes
      WHERE d.account_id = ${accountId} AND d.id = ${id}`
  })

  return {
    list: (accountId, entityId) => orDie(entityId === null ? list(accountId) : ofEntity({ accountId, entityId })),
    find: (accountId, id) => orDie(find({ accountId, id }))
  }
}
