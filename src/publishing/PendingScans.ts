import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Schema } from "effect"
import { allAccounts, readsAll } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, type JobId, StoreId } from "../model/Ids.ts"
import { cancelledCode, delayedCode } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { PendingCount, PendingEntity } from "./PublicationRecord.ts"
import type { PublicationsRepo } from "./PublicationsRepo.ts"

type Pending = Pick<
  Context.Tag.Service<PublicationsRepo>,
  "entities" | "outcomesOf" | "orphans" | "pendingAfter" | "pendingCounts" | "pendingUntil"
>

/** The title of an entity in lists. That of a variant begins with its product, because other products have variants with equal titles. */
const listedTitle = (sql: SqlClient, accountId: AccountId, entity: string) => sql`
  concat_ws(': ', (
    SELECT nullif(btrim(t.title), '') FROM entity t
    WHERE t.account_id = ${accountId} AND t.id = ${sql.literal(entity)}.parent_id
  ), nullif(btrim(${sql.literal(entity)}.title), '')) AS title`

/** Finds store versions whose draft is not published. */
export const makePendingScans = (sql: SqlClient): Pending => {
  const pendingCounts = findAll(PendingCount)(
    (accountId: AccountId, storeId: StoreId) => sql`
      ${sql.literal(readsAll)}
      SELECT e.kind, (count(*) FILTER (WHERE v.last_publish_status <> 'pending'))::integer AS waiting,
             (count(*) FILTER (WHERE v.last_publish_status = 'pending'))::integer AS "underWay"
      FROM store_version v
      CROSS JOIN LATERAL (
        SELECT o.kind FROM entity o WHERE o.account_id = ${accountId} AND o.id = v.entity_id OFFSET 0
      ) e
      WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.pending_publish
      GROUP BY e.kind
      ORDER BY e.kind COLLATE "C"`
  )

  // Reads the store's versions in the order of their index, so that all pages together read each version only once.
  const pendingAfter = findAll(PendingEntity)(
    (accountId: AccountId, storeId: StoreId, kinds: ReadonlyArray<EntityKind>, after: EntityId, limit: number) => sql`
      SELECT v.entity_id AS id, e.kind, e.title
      FROM store_version v
      CROSS JOIN LATERAL (
        SELECT o.kind, ${listedTitle(sql, accountId, "o")} FROM entity o
        WHERE o.account_id = ${accountId} AND o.id = v.entity_id AND o.kind = ANY(${kinds}::text[]) OFFSET 0
      ) e
      WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.entity_id > ${after}
        AND v.pending_publish AND v.last_publish_status <> 'pending'
      ORDER BY v.entity_id
      LIMIT ${limit}`
  )

  const entities = findAll(PendingEntity)(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT e.id, e.kind, ${listedTitle(sql, accountId, "e")} FROM entity e
      WHERE e.account_id = ${accountId} AND e.id = ANY(${ids}::uuid[])
      ORDER BY e.id`
  )

  const pendingUntil = findSingle(
    Schema.Struct({ count: Schema.Number, delay: Schema.NullOr(Schema.String), now: Timestamp })
  )(
    (
      accountId: AccountId,
      storeId: StoreId,
      until: Timestamp | null,
      entityIds: ReadonlyArray<EntityId> | null = null
    ) => sql`
      SELECT count(*) AS count, rfc3339(app_now()) AS now,
             min(p.error ->> 'message') FILTER (WHERE p.error ->> 'code' = ${delayedCode}) AS delay
      FROM publication p
      WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending'
        AND (${until}::timestamptz IS NULL OR p.asked_at <= ${until}::timestamptz)
        AND ${entityIds === null ? sql.literal("true") : sql`p.entity_id = ANY(${entityIds}::uuid[])`}`
  )

  const outcomesOf = findSingle(Schema.Struct({ failed: Schema.Number, incomplete: Schema.Number }))(
    (accountId: AccountId, jobId: JobId) => sql`
      SELECT count(*) FILTER (WHERE p.state = 'failed') AS failed, count(*) FILTER (WHERE p.state <> 'failed') AS incomplete
      FROM publication p
      WHERE p.account_id = ${accountId} AND p.job_id = ${jobId}
        AND (p.state = 'failed' AND p.error ->> 'code' IS DISTINCT FROM ${cancelledCode}
             OR p.state = 'published' AND p.error IS NOT NULL)`
  )

  const orphans = findAll(Schema.Struct({ accountId: AccountId, entityId: EntityId, storeId: StoreId }))(
    (kind: string) => sql`
      SELECT v.account_id AS "accountId", v.entity_id AS "entityId", v.store_id AS "storeId"
      FROM store s
      CROSS JOIN LATERAL (
        SELECT o.account_id, o.entity_id, o.store_id FROM store_version o
        WHERE o.account_id = s.account_id AND o.store_id = s.id AND o.last_publish_status = 'pending' OFFSET 0
      ) v
      CROSS JOIN LATERAL (
        SELECT e.id FROM entity e
        WHERE e.account_id = v.account_id AND e.id = v.entity_id AND e.kind = ${kind} OFFSET 0
      ) e
      WHERE s.status = 'linked' AND s.platform <> 'none'
        AND NOT EXISTS (
          SELECT FROM publication p
          WHERE p.account_id = v.account_id AND p.store_id = v.store_id AND p.state = 'pending'
            AND p.brings @> ARRAY[v.entity_id]
        )
      ORDER BY v.account_id, v.store_id, v.entity_id
      LIMIT 1000 ${sql.literal(allAccounts)}`
  )

  return {
    pendingCounts,
    pendingAfter,
    entities,
    pendingUntil,
    outcomesOf,
    orphans
  }
}
