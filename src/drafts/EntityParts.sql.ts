import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Array as Arr, Effect, Schema } from "effect"
import { AcceptedValues } from "../catalog/Aggregate.ts"
import { insertAll } from "../database/Inserts.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { samePublishable } from "./Aggregate.ts"
import type { Plan } from "./CatalogChange.ts"
import { makeForgetDeleted } from "./DeletedEntities.ts"
import { differences, upsertedRows, versionUpdate } from "./PlanRows.ts"

/** The publish time of a row `r`, but not earlier than `time`. */
const publishedFrom = (sql: SqlClient, time: Timestamp | null) =>
  sql`CASE WHEN r."publishedAt" IS NOT NULL THEN greatest(r."publishedAt", ${time}::timestamptz) END`

/** Statements on store versions. A publish time that they set is not before `time`. */
const makeVersionRows = (sql: SqlClient) => ({
  updateVersions: (accountId: AccountId, versions: string, time: Timestamp | null) => sql`
    UPDATE store_version v
    SET overrides = coalesce(r.overrides, v.overrides),
        accepted = CASE WHEN r."acceptsAnew" THEN nullif(r.accepted, 'null') ELSE v.accepted END,
        pending_publish = r."pendingPublish", last_publish_status = r."lastPublishStatus",
        published_at = CASE WHEN r."publishesAnew" THEN ${publishedFrom(sql, time)} ELSE v.published_at END,
        last_publish_error = nullif(r."lastPublishError", 'null'), may_be_live = r."mayBeLive",
        platform_id = r."platformId"
    FROM jsonb_to_recordset(${versions}::jsonb) AS r (
      "entityId" uuid, "storeId" uuid, overrides jsonb, accepted jsonb, "acceptsAnew" boolean,
      "pendingPublish" boolean, "lastPublishStatus" text, "publishedAt" timestamptz, "publishesAnew" boolean, "lastPublishError" jsonb,
      "mayBeLive" boolean, "platformId" text
    )
    WHERE v.account_id = ${accountId} AND v.entity_id = r."entityId" AND v.store_id = r."storeId"`,

  upsertVersions: (accountId: AccountId, versions: string, time: Timestamp | null) => sql`
    INSERT INTO store_version (account_id, entity_id, store_id, overrides, accepted, pending_publish,
                               last_publish_status, published_at, last_publish_error, may_be_live, platform_id)
    SELECT own.account_id, r."entityId", r."storeId", r.overrides, nullif(r.accepted, 'null'), r."pendingPublish",
           r."lastPublishStatus", ${publishedFrom(sql, time)}, nullif(r."lastPublishError", 'null'), r."mayBeLive",
           r."platformId"
    FROM account_state own CROSS JOIN jsonb_to_recordset(${versions}::jsonb) AS r (
      "entityId" uuid, "storeId" uuid, overrides jsonb, accepted jsonb, "pendingPublish" boolean,
      "lastPublishStatus" text, "publishedAt" timestamptz, "lastPublishError" jsonb, "mayBeLive" boolean,
      "platformId" text
    )
    WHERE own.account_id = ${accountId}
    ON CONFLICT (account_id, entity_id, store_id) DO UPDATE
    SET overrides = excluded.overrides, accepted = excluded.accepted, pending_publish = excluded.pending_publish,
        last_publish_status = excluded.last_publish_status, published_at = excluded.published_at,
        last_publish_error = excluded.last_publish_error, may_be_live = excluded.may_be_live,
        platform_id = excluded.platform_id`,

  /** New versions of variants on the unlinked stores that have their products. */
  insertUnlinkedVersions: (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
    INSERT INTO store_version (account_id, entity_id, store_id, overrides, pending_publish, last_publish_status)
    SELECT v.account_id, e.id, v.store_id, '{}', true, 'never_published'
    FROM entity e
    JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = e.parent_id
    JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status <> 'linked'
    WHERE e.account_id = ${accountId} AND e.id = ANY(${ids}::uuid[])`,

  deleteVersions: (accountId: AccountId, versions: ReadonlyArray<unknown>) => sql`
    DELETE FROM store_version v
    USING jsonb_to_recordset(${JSON.stringify(versions)}::jsonb) AS r ("entityId" uuid, "storeId" uuid)
    WHERE v.account_id = ${accountId} AND v.entity_id = r."entityId" AND v.store_id = r."storeId"`
})

/** Statements on galleries and on the members of collections. */
const makeRelationRows = (sql: SqlClient) => ({
  upsertGalleries: (accountId: AccountId, entries: ReadonlyArray<unknown>) => sql`
    INSERT INTO entity_media (account_id, entity_id, media_id, position, store_ids, joined_store_ids, is_joined)
    SELECT own.account_id, r."entityId", r."mediaId", r.position, r."storeIds", r."joinedStoreIds", r."isJoined"
    FROM account_state own CROSS JOIN jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) AS r (
      "entityId" uuid, "mediaId" uuid, position integer, "storeIds" uuid[], "joinedStoreIds" uuid[], "isJoined" boolean
    )
    WHERE own.account_id = ${accountId}
    ON CONFLICT (account_id, entity_id, media_id) DO UPDATE
    SET position = excluded.position, store_ids = excluded.store_ids,
        joined_store_ids = excluded.joined_store_ids, is_joined = excluded.is_joined`,

  deleteGalleries: (accountId: AccountId, entries: ReadonlyArray<unknown>) => sql`
    DELETE FROM entity_media g
    USING jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) AS r ("entityId" uuid, "mediaId" uuid)
    WHERE g.account_id = ${accountId} AND g.entity_id = r."entityId" AND g.media_id = r."mediaId"`,

  upsertMembers: (accountId: AccountId, members: ReadonlyArray<unknown>) => sql`
    INSERT INTO collection_member (account_id, collection_id, product_id, position)
    SELECT own.account_id, r."collectionId", r."productId", r.position
    FROM account_state own CROSS JOIN jsonb_to_recordset(${JSON.stringify(members)}::jsonb) AS r (
      "collectionId" uuid, "productId" uuid, position integer
    )
    WHERE own.account_id = ${accountId}
    ON CONFLICT (account_id, collection_id, product_id) DO UPDATE SET position = excluded.position`,

  deleteMembers: (accountId: AccountId, members: ReadonlyArray<unknown>) => sql`
    DELETE FROM collection_member m
    USING jsonb_to_recordset(${JSON.stringify(members)}::jsonb) AS r ("collectionId" uuid, "productId" uuid)
    WHERE m.account_id = ${accountId} AND m.collection_id = r."collectionId" AND m.product_id = r."productId"`
})

/** Tables with rows that belong to an entity. The attempts of a publication are deleted with it. */
const tablesOfEntity = [
  "store_version",
  "entity_media",
  "entity_history",
  "publication",
  "import_conflict",
  "translatable_field",
  "translation"
]

/**
 * Puts the names of deleted entities into the changes of drops that have ended. The changes of other drops keep their references, which
 * refuse the deletion: such a drop may have been scheduled since it was decided.
 */
const nameInDrops = (sql: SqlClient, accountId: AccountId, deleted: Plan["deleted"]) => {
  const rows = deleted.map(({ id, kind, name }) => ({ id, deleted: { id, kind, name } }))
  return sql`
    UPDATE drop_change c SET entity_id = NULL, deleted = r.deleted
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS r (id uuid, deleted jsonb), drop d
    WHERE c.account_id = ${accountId} AND c.entity_id = r.id
      AND d.account_id = ${accountId} AND d.id = c.drop_id AND d.next_step IS NULL`
}

/**
 * Removes the ids of deleted entities from the accepted values of unlinked stores. The deletion shares the import lock, so no unlinked store
 * can be linked again meanwhile.
 */
const makeForgetOnUnlinkedStores = (sql: SqlClient) => {
  const acceptedOf = findAll(Schema.Struct({ entityId: EntityId, storeId: StoreId, accepted: AcceptedValues }))(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT v.entity_id AS "entityId", v.store_id AS "storeId", v.accepted
      FROM store s
      JOIN store_version v ON v.account_id = ${accountId} AND v.store_id = s.id
      WHERE s.account_id = ${accountId} AND s.status <> 'linked' AND v.entity_id = ANY(${ids}::uuid[])
        AND v.accepted IS NOT NULL ${sql.literal(planCustom)}`
  )
  return (accountId: AccountId, plan: Plan) =>
    Effect.gen(function* () {
      const { forget, ids } = makeForgetDeleted(plan)
      if (ids.length === 0) return
      const rows = (yield* acceptedOf(accountId, ids)).flatMap(({ accepted, entityId, storeId }) => {
        const left = forget(entityId, accepted)
        return samePublishable(accepted, left) ? [] : [{ entityId, storeId, accepted: left }]
      })
      yield* runUnlessEmpty(
        rows,
        (changed) => sql`
          UPDATE store_version v SET accepted = r.accepted
          FROM jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) AS r ("entityId" uuid, "storeId" uuid, accepted jsonb)
          WHERE v.account_id = ${accountId} AND v.entity_id = r."entityId" AND v.store_id = r."storeId"`
      )
    })
}

/** Statements that delete entities, after all that belongs to them. */
const deleteEntities = (sql: SqlClient, accountId: AccountId, ids: ReadonlyArray<EntityId>) => [
  ...tablesOfEntity.map(
    (table) => sql`DELETE FROM ${sql(table)} t WHERE t.account_id = ${accountId} AND t.entity_id = ANY(${ids}::uuid[])`
  ),
  sql`DELETE FROM collection_member m WHERE m.account_id = ${accountId} AND m.collection_id = ANY(${ids}::uuid[])`,
  sql`DELETE FROM entity e WHERE e.account_id = ${accountId} AND e.id = ANY(${ids}::uuid[])`
]

/** Runs a statement unless there are no rows. */
export const runUnlessEmpty = <Row>(
  rows: ReadonlyArray<Row>,
  statement: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>
) => (rows.length === 0 ? Effect.void : statement(rows))

/** Maximum number of rows that one statement writes, so that it ends before its deadline. A collection has up to a million members. */
const rowsPerStatement = 10_000

/** As `runUnlessEmpty`, several times if there are many rows. Then each statement is built when it runs: together they are large. */
const runInParts = <Row>(
  rows: ReadonlyArray<Row>,
  statement: (rows: ReadonlyArray<Row>) => Effect.Effect<unknown, SqlError>
) =>
  rows.length <= rowsPerStatement
    ? runUnlessEmpty(rows, statement)
    : Effect.forEach(Arr.chunksOf(rows, rowsPerStatement), statement, { discard: true })

/** As `runUnlessEmpty`, for a statement on store versions, which gets the rows as JSON. */
const runTimed = (
  rows: ReadonlyArray<unknown>,
  statement: (versions: string, time: Timestamp | null) => Effect.Effect<unknown, SqlError>
): ((time: Timestamp | null) => Effect.Effect<unknown, SqlError>) => {
  if (rows.length === 0) return () => Effect.void
  const versions = JSON.stringify(rows)
  return (time) => statement(versions, time)
}

/**
 * Builds the statements that write the store versions, galleries and members of a plan, and delete its deleted entities. They must run
 * after the plan's entities were inserted; for thousands of rows, building them takes as long as running them. `time`: publish times of
 * the plan are raised to it.
 */
export const makeWriteParts = (sql: SqlClient) => {
  const { deleteVersions, insertUnlinkedVersions, updateVersions, upsertVersions } = makeVersionRows(sql)
  const { deleteGalleries, deleteMembers, upsertGalleries, upsertMembers } = makeRelationRows(sql)
  const forgetOnUnlinkedStores = makeForgetOnUnlinkedStores(sql)

  return (accountId: AccountId, plan: Plan): ((time: Timestamp | null) => Effect.Effect<void, SqlError>) => {
    const { galleries, members, versions } = differences(plan)
    const removed = runUnlessEmpty(versions.removed, (rows) => deleteVersions(accountId, rows))
    const changed = runTimed(versions.changed.map(versionUpdate), (rows, time) => updateVersions(accountId, rows, time))
    const added = runTimed(versions.added, (rows, time) =>
      insertAll(upsertVersions(accountId, rows, time), versions.added.length)
    )
    const toUnlinked = runUnlessEmpty(plan.toUnlinked, (ids) => insertUnlinkedVersions(accountId, ids))
    const related = Effect.all(
      [
        runInParts(galleries.removed, (rows) => deleteGalleries(accountId, rows)),
        runInParts(upsertedRows(galleries), (rows) => insertAll(upsertGalleries(accountId, rows), rows.length)),
        runInParts(
          members.flatMap(({ removed }) => removed),
          (rows) => deleteMembers(accountId, rows)
        ),
        runInParts(
          members.flatMap(({ upserted }) => upserted),
          (rows) => insertAll(upsertMembers(accountId, rows), rows.length)
        )
      ],
      { discard: true }
    )
    const deleted = runUnlessEmpty(plan.deleted, (aggregates) => {
      const ids = aggregates.map(({ id }) => id)
      return Effect.all(
        [
          forgetOnUnlinkedStores(accountId, plan),
          nameInDrops(sql, accountId, plan.deleted),
          ...deleteEntities(sql, accountId, ids)
        ],
        { discard: true }
      )
    })
    return (time) => Effect.all([removed, changed(time), added(time), toUnlinked, related, deleted], { discard: true })
  }
}
