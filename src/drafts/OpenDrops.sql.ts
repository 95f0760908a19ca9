import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { AttributeValue } from "../model/Attribute.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"

/** An override that a drop has written. `before`: the override that its end restores; null: none, the canonical value was inherited. */
const DroppedOverride = Schema.Struct({
  entityId: EntityId,
  storeId: StoreId,
  key: Schema.String,
  value: Schema.String,
  before: Schema.NullOr(AttributeValue)
})
export type DroppedOverride = typeof DroppedOverride.Type

/** Reads the overrides that drops have written to these entities, of the drops that will end. */
export const makeOfOpenDrops = (sql: SqlClient) =>
  findAll(DroppedOverride)(
    (accountId: AccountId, entityIds: ReadonlyArray<EntityId>) => sql`
      SELECT c.entity_id AS "entityId", x.store_id AS "storeId", c.field AS key, c.value, x.override_before AS before
      FROM unnest(${entityIds}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT * FROM drop_change o WHERE o.account_id = ${accountId} AND o.entity_id = k.id OFFSET 0
      ) c
      JOIN drop d ON d.account_id = ${accountId} AND d.id = c.drop_id AND d.ends_at IS NOT NULL AND d.next_step IS NOT NULL
      JOIN drop_effect x ON x.account_id = ${accountId} AND x.drop_id = c.drop_id AND x.ordinal = c.ordinal
        AND coalesce(x.outcome, 'applied') = 'applied' ${sql.literal(planCustom)}`
  )
