import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { findAll, findOne, withoutChecks } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { type AccountId, DropId, EntityId, type StoreId } from "../model/Ids.ts"
import { cancelledCode, PublishError } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { OpenPublication, outcomeActions, QueuePlace } from "./PublicationRecord.ts"
import type { PublicationCancels } from "./PublicationsRepo.ts"

/** Statements that cancel publishes. */
export const makePublicationCancels = (sql: SqlClient): PublicationCancels => {
  const openOf = (accountId: AccountId, entityIds: ReadonlyArray<EntityId>, storeId: StoreId) => sql`
    p.account_id = ${accountId} AND p.entity_id = ANY(${entityIds}::uuid[]) AND p.store_id = ${storeId}
    AND p.state = 'pending'`

  const isUntil = (until: Timestamp | null) =>
    sql`(${until}::timestamptz IS NULL OR p.asked_at <= ${until}::timestamptz)`

  const openEntities = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, entityIds: ReadonlyArray<EntityId>, storeId: StoreId) => sql`
      SELECT (c.item ->> 'entityId')::uuid AS id
      FROM publication p
      CROSS JOIN LATERAL jsonb_array_elements(coalesce(p.content -> 'carried', '[]')) AS c (item)
      WHERE ${openOf(accountId, entityIds, storeId)}`
  )

  // The attempts are read by a statement of their own, after the lock: the one that locks may have begun before the last attempt ended.
  const lockOpen = findAll(withoutChecks(OpenPublication))(
    (accountId: AccountId, entityIds: ReadonlyArray<EntityId>, storeId: StoreId, until: Timestamp | null) => sql`
      SELECT p.id, p.entity_id AS "entityId", p.draft_revision AS "draftRevision", p.content, p.drop_id AS "dropId",
             p.claim IS NOT NULL AS "isClaimed", p.failures_before AS "failuresBefore",
             (
               SELECT coalesce(json_agg(a.outcome ORDER BY a.ordinal), '[]') FROM publish_attempt a
               WHERE a.account_id = ${accountId} AND a.publication_id = p.id
             ) AS outcomes
      FROM publication p
      WHERE ${openOf(accountId, entityIds, storeId)} AND ${isUntil(until)}
      ORDER BY p.sequence`
  )

  const openBefore = findAll(Schema.Struct({ ...QueuePlace.fields, entityId: EntityId }))(
    (
      accountId: AccountId,
      storeId: StoreId,
      until: Timestamp,
      before: QueuePlace | null,
      entityIds: ReadonlyArray<EntityId> | null,
      limit: number
    ) => sql`
      SELECT p.sequence, p.id, p.entity_id AS "entityId" FROM publication p
      WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending' AND ${isUntil(until)}
        AND ${before === null ? sql.literal("true") : sql`(p.sequence, p.id) < (${before.sequence}::bigint, ${before.id}::uuid)`}
        AND ${entityIds === null ? sql.literal("true") : sql`p.entity_id = ANY(${entityIds}::uuid[])`}
      ORDER BY p.sequence DESC, p.id DESC
      LIMIT ${limit}`
  )

  const lastCancelled = findOne(Schema.Struct({ dropId: Schema.NullOr(DropId) }))(
    (accountId: AccountId, entityId: EntityId, storeId: StoreId) => sql`
      SELECT l.drop_id AS "dropId" FROM (
        SELECT p.drop_id, p.error FROM publication p
        WHERE p.account_id = ${accountId} AND p.entity_id = ${entityId} AND p.store_id = ${storeId}
        ORDER BY p.sequence DESC
        LIMIT 1
      ) l
      WHERE l.error ->> 'code' = ${cancelledCode}`
  )

  // The history has the outcomes also of publications that were deleted, and of entities that another one included.
  const lastFailures = findAll(Schema.Struct({ id: EntityId, error: PublishError }))(
    (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT k.id, l.error FROM unnest(${ids}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT h.action, h.error FROM entity_history h
        WHERE h.account_id = ${accountId} AND h.entity_id = k.id AND h.store_id = ${storeId}
          AND h.action = ANY(${outcomeActions}::text[]) AND h.error ->> 'code' IS DISTINCT FROM ${cancelledCode}
        ORDER BY h.sequence DESC
        LIMIT 1
      ) l
      WHERE l.action = 'publish_failed'`
  )

  return {
    openEntities: (...request) => Effect.map(openEntities(...request), (rows) => rows.map(({ id }) => id)),
    lockOpen: (accountId, entityIds, storeId, until) =>
      sql`
        SELECT p.id FROM publication p
        WHERE ${openOf(accountId, entityIds, storeId)} AND ${isUntil(until)}
        ORDER BY p.id FOR UPDATE`.pipe(orDie, Effect.zipRight(lockOpen(accountId, entityIds, storeId, until))),
    openBefore,
    lastCancelled,
    cancel: (accountId, ids, error) =>
      Effect.gen(function* () {
        yield* sql`
          UPDATE publication p SET state = 'failed', finished_at = app_now(), error = ${JSON.stringify(error)}::jsonb
          WHERE p.account_id = ${accountId} AND p.id = ANY(${ids}::uuid[]) AND p.state = 'pending' AND p.claim IS NULL`
        // The next request of the entity is another publication, whose failure would be a second one. A locked row is skipped, because
        // another publish writes its own failure there, and waiting for it with these locks could be a deadlock.
        yield* sql`
          UPDATE store t SET outage_met_by = NULL
          WHERE t.account_id = ${accountId} AND t.id = ANY(ARRAY(
            SELECT s.id FROM store s
            WHERE s.account_id = ${accountId} AND s.outage_met_by = ANY(${ids}::uuid[]) AND s.outage_error IS NULL
            FOR NO KEY UPDATE SKIP LOCKED
          ))`
      }).pipe(orDie),
    lastFailures: (...request) =>
      Effect.map(lastFailures(...request), (rows) => new Map(rows.map(({ id, error }) => [id, error])))
  }
}
