import type { SqlClient } from "@effect/sql/SqlClient"
import { Array as Arr, type Context, Effect, Schema } from "effect"
import { AcceptedValues, type Aggregate } from "../catalog/Aggregate.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublishError, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { DraftsRepo } from "./DraftsRepo.ts"

/**
 * Declares the type of a schema without decoding the rows. Use it only for rows that this service alone writes, and for schemas
 * without transformations. For thousands of rows, decoding took longer than the statements.
 */
const withoutChecks = <A extends object, I>(_schema: Schema.Schema<A, I>): Schema.Schema<A> =>
  Schema.declare((value): value is A => typeof value === "object" && value !== null)

const Ids = Schema.Struct({ accountId: AccountId, ids: Schema.Array(EntityId) })

// Statements look up each id by itself (CROSS JOIN LATERAL) and are planned at each call. While an import fills a table, its
// statistics are missing. For a list of ids, the planner might then choose any index that begins with the account, which
// reads all rows of the account.

/** Statements that lock entities and read their rows. */
const makeEntityLocks = (sql: SqlClient) => {
  const EntityColumns = withoutChecks(
    Schema.Struct({
      id: EntityId,
      kind: EntityKind,
      parentId: Schema.NullOr(EntityId),
      position: Schema.NullOr(Schema.Number),
      attributes: Attributes,
      pendingPublish: Schema.Boolean,
      lastPublishStatus: PublishStatus,
      searchText: Schema.String,
      draftRevision: Schema.Number
    })
  )
  const entityColumns = sql`
    e.id, e.kind, e.parent_id AS "parentId", e.position, e.attributes, e.pending_publish AS "pendingPublish",
    e.last_publish_status AS "lastPublishStatus", e.search_text AS "searchText",
    e.draft_revision AS "draftRevision"`
  const planned = sql.literal(planCustom)

  // FOR NO KEY UPDATE does not block the key share locks of rows that refer to an entity (galleries, members). Those locks are
  // taken in any order. Rows are locked in the order of the subquery.
  const lockOwners = findAll(EntityColumns)(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      WITH requested AS MATERIALIZED (
        SELECT n.id, n.kind, n.parent_id
        FROM unnest(${ids}::uuid[]) AS k (id)
        CROSS JOIN LATERAL (
          SELECT e.id, e.kind, e.parent_id FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id OFFSET 0
        ) n
      )
      SELECT l.*
      FROM (
        SELECT id, kind = 'variant' AS is_variant FROM requested
        UNION
        SELECT parent_id, false FROM requested WHERE parent_id IS NOT NULL
        ORDER BY is_variant, id
      ) k
      CROSS JOIN LATERAL (
        SELECT ${entityColumns} FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id FOR NO KEY UPDATE
      ) l ${planned}`
  )

  const lockVariants = findAll(EntityColumns)(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT l.*
      FROM (
        SELECT v.id
        FROM unnest(${ids}::uuid[]) AS p (id)
        CROSS JOIN LATERAL (
          SELECT e.id FROM entity e WHERE e.account_id = ${accountId} AND e.parent_id = p.id OFFSET 0
        ) v
        ORDER BY v.id
      ) k
      CROSS JOIN LATERAL (
        SELECT ${entityColumns} FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id FOR NO KEY UPDATE
      ) l ${planned}`
  )

  return { lockOwners, lockVariants }
}

/** Statements that read the rows that belong to locked entities. */
const makeLockedReads = (sql: SqlClient) => {
  const planned = sql.literal(planCustom)

  const Parts = withoutChecks(
    Schema.Struct({
      now: Timestamp,
      storeIds: Schema.Array(StoreId),
      versions: Schema.Array(
        Schema.Struct({
          entityId: EntityId,
          storeId: StoreId,
          overrides: Attributes,
          accepted: Schema.NullOr(AcceptedValues),
          pendingPublish: Schema.Boolean,
          lastPublishStatus: PublishStatus,
          publishedAt: Schema.NullOr(Timestamp),
          lastPublishError: Schema.NullOr(PublishError),
          platformId: Schema.NullOr(Schema.String)
        })
      ),
      galleries: Schema.Array(Schema.Struct({ entityId: EntityId, mediaId: EntityId, storeIds: Schema.Array(StoreId) }))
    })
  )
  // One statement, because each costs a draft write another round trip, on a cluster two. The aggregates keep the orders.
  const readParts = findSingle(Parts)(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT rfc3339(app_now()) AS now,
             ARRAY(
               SELECT s.id FROM store s
               WHERE s.account_id = ${accountId} AND s.status = 'linked'
               ORDER BY s.domain COLLATE "C", s.id
             ) AS "storeIds",
             (
               SELECT coalesce(json_agg(found), '[]')
               FROM (
                 SELECT v.entity_id AS "entityId", v.store_id AS "storeId", v.overrides, v.accepted,
                        v.pending_publish AS "pendingPublish", v.last_publish_status AS "lastPublishStatus",
                        rfc3339(v.published_at) AS "publishedAt", v.last_publish_error AS "lastPublishError",
                        v.platform_id AS "platformId"
                 FROM unnest(${ids}::uuid[]) AS k (id)
                 CROSS JOIN LATERAL (
                   SELECT o.* FROM store_version o WHERE o.account_id = ${accountId} AND o.entity_id = k.id OFFSET 0
                 ) v
                 JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
                 ORDER BY s.domain COLLATE "C", s.id
               ) found
             ) AS versions,
             (
               SELECT coalesce(json_agg(found), '[]')
               FROM (
                 SELECT g.entity_id AS "entityId", g.media_id AS "mediaId", g.store_ids AS "storeIds"
                 FROM unnest(${ids}::uuid[]) AS k (id)
                 CROSS JOIN LATERAL (
                   SELECT o.* FROM entity_media o WHERE o.account_id = ${accountId} AND o.entity_id = k.id OFFSET 0
                 ) g
                 ORDER BY g.entity_id, g.position, g.media_id
               ) found
             ) AS galleries ${planned}`
  )

  const readMembers = findAll(Schema.Struct({ collectionId: EntityId, productId: EntityId }))(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT m.collection_id AS "collectionId", m.product_id AS "productId"
      FROM collection_member m
      WHERE m.account_id = ${accountId} AND m.collection_id = ANY(${ids}::uuid[])
      ORDER BY m.collection_id, m.position, m.product_id`
  )

  const readKinds = findAll(Schema.Struct({ id: EntityId, kind: EntityKind }))(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT n.id, n.kind
      FROM unnest(${ids}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT e.id, e.kind FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id OFFSET 0
      ) n ${planned}`
  )

  return { readKinds, readMembers, readParts }
}

/** Locks entities and reads them with all data that a plan needs. */
export const makeDraftLock = (sql: SqlClient): Context.Tag.Service<DraftsRepo>["lock"] => {
  const { lockOwners, lockVariants } = makeEntityLocks(sql)
  const { readKinds, readMembers, readParts } = makeLockedReads(sql)

  return (accountId, owners, references) =>
    Effect.gen(function* () {
      const ownerRows = yield* lockOwners({ accountId, ids: owners })
      const products = ownerRows.filter(({ kind }) => kind === "product").map(({ id }) => id)
      // A separate statement also sees variants that were added while this transaction waited for the lock of the product.
      const variants = products.length === 0 ? [] : yield* lockVariants({ accountId, ids: products })
      const entities = new Map([...ownerRows, ...variants].map((entity) => [entity.id, entity]))
      const ids = [...entities.keys()]
      const { now, storeIds, ...parts } = yield* readParts({ accountId, ids })
      const versions = Arr.groupBy(parts.versions, ({ entityId }) => entityId)
      const galleries = Arr.groupBy(parts.galleries, ({ entityId }) => entityId)
      // Only collections are queried. For all ids, the planner would expect many more members and scan the table.
      const collections = [...entities.values()].filter(({ kind }) => kind === "collection").map(({ id }) => id)
      const members = Arr.groupBy(
        collections.length === 0 ? [] : yield* readMembers({ accountId, ids: collections }),
        ({ collectionId }) => collectionId
      )
      const kinds = references.length === 0 ? [] : yield* readKinds({ accountId, ids: references })
      return {
        now,
        storeIds,
        kinds: new Map(kinds.map(({ id, kind }) => [id, kind])),
        revisions: new Map([...entities].map(([id, { draftRevision }]) => [id, draftRevision])),
        aggregates: new Map(
          [...entities].map(([id, { draftRevision: _, ...entity }]): [EntityId, Aggregate] => [
            id,
            {
              ...entity,
              // The column `store_ids` is not used: a job that links or unlinks a store may not have updated the row yet.
              storeIds: (versions[id] ?? []).map(({ storeId }) => storeId),
              versions: (versions[id] ?? []).map(({ entityId: _, ...version }) => version),
              gallery: (galleries[id] ?? []).map(({ mediaId, storeIds }) => ({ mediaId, storeIds })),
              members: (members[id] ?? []).map(({ productId }) => productId)
            }
          ])
        )
      }
    }).pipe(orDie)
}
