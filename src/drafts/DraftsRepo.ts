import { SqlClient, SqlSchema } from "@effect/sql"
import { Array as Arr, Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { stored } from "../database/Stored.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublishError, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { AcceptedValues, type Aggregate } from "./Aggregate.ts"
import type { Locked, Plan } from "./CatalogChange.ts"
import { makeDraftWrites } from "./DraftWrites.ts"

/** The three steps of every write to the catalog. They belong into one transaction, in this order. */
export class DraftsRepo extends Context.Tag("catalog/DraftsRepo")<
  DraftsRepo,
  {
    /**
     * Locks the entities that exist among `owners`, with the products of variants and then the variants of products
     * among them, and reads all that a plan needs. Owners are locked before variants, each by id: no two writers can
     * wait for each other.
     */
    readonly lock: (
      accountId: AccountId,
      owners: ReadonlyArray<EntityId>,
      references: ReadonlyArray<EntityId>
    ) => Effect.Effect<Locked>
    /** Writes a plan, all but what `raise` writes: the rows of entities whose revision rises, if they are here already. */
    readonly save: (accountId: AccountId, plan: Plan) => Effect.Effect<void>
    /**
     * Raises the account first and writes a plan with its stamps: an entity that is new is written once (reliability 1).
     * Only for an import, which keeps every other write of the account out.
     */
    readonly saveStamped: (accountId: AccountId, plan: Plan) => Effect.Effect<void>
    /**
     * Raises the account's version, and with it the revisions and stamps of a plan, whose entities are written by this one
     * statement: the last of a transaction (a walk must not skip). Without a plan, or after one that only derives: the version.
     */
    readonly raise: (accountId: AccountId, plan?: Plan) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DraftsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const EntityColumns = stored(
        Schema.Struct({
          id: EntityId,
          kind: EntityKind,
          parentId: Schema.NullOr(EntityId),
          position: Schema.NullOr(Schema.Number),
          attributes: Attributes,
          pendingPublish: Schema.Boolean,
          lastPublishStatus: PublishStatus,
          storeIds: Schema.Array(StoreId),
          searchText: Schema.String,
          draftRevision: Schema.Number
        })
      )
      const entityColumns = sql`
        e.id, e.kind, e.parent_id AS "parentId", e.position, e.attributes, e.pending_publish AS "pendingPublish",
        e.last_publish_status AS "lastPublishStatus", e.store_ids AS "storeIds", e.search_text AS "searchText",
        e.draft_revision AS "draftRevision"`

      // A look-up a key, planned each time: an import fills tables of which nothing is known yet, and for a list of keys any
      // index that begins with the account may look better than theirs, and then reads all of the account.
      const grown = sql.literal(planCustom)

      const Ids = Schema.Struct({ accountId: AccountId, ids: Schema.Array(EntityId) })

      // NO KEY: who refers to an entity (its media, its members) shares a lock on its key, outside of any order of ours,
      // and must not wait for who writes it. Rows are locked as they come out of the ordered sub-select.
      const lockOwners = SqlSchema.findAll({
        Request: Ids,
        Result: EntityColumns,
        execute: ({ accountId, ids }) => sql`
          WITH named AS MATERIALIZED (
            SELECT n.id, n.kind, n.parent_id
            FROM unnest(${ids}::uuid[]) AS k (id)
            CROSS JOIN LATERAL (
              SELECT e.id, e.kind, e.parent_id FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id OFFSET 0
            ) n
          )
          SELECT l.*
          FROM (
            SELECT id, kind = 'variant' AS is_variant FROM named
            UNION
            SELECT parent_id, false FROM named WHERE parent_id IS NOT NULL
            ORDER BY is_variant, id
          ) k
          CROSS JOIN LATERAL (
            SELECT ${entityColumns} FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id FOR NO KEY UPDATE
          ) l ${grown}`
      })

      const lockVariants = SqlSchema.findAll({
        Request: Ids,
        Result: EntityColumns,
        execute: ({ accountId, ids }) => sql`
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
          ) l ${grown}`
      })

      const readVersions = SqlSchema.findAll({
        Request: Ids,
        Result: stored(
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
        execute: ({ accountId, ids }) => sql`
          SELECT v.entity_id AS "entityId", v.store_id AS "storeId", v.overrides, v.accepted,
                 v.pending_publish AS "pendingPublish", v.last_publish_status AS "lastPublishStatus",
                 rfc3339(v.published_at) AS "publishedAt", v.last_publish_error AS "lastPublishError",
                 v.platform_id AS "platformId"
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            SELECT o.* FROM store_version o WHERE o.account_id = ${accountId} AND o.entity_id = k.id OFFSET 0
          ) v
          JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
          ORDER BY s.domain COLLATE "C", s.id ${grown}`
      })

      const readGalleries = SqlSchema.findAll({
        Request: Ids,
        Result: stored(Schema.Struct({ entityId: EntityId, mediaId: EntityId, storeIds: Schema.Array(StoreId) })),
        execute: ({ accountId, ids }) => sql`
          SELECT g.entity_id AS "entityId", g.media_id AS "mediaId", g.store_ids AS "storeIds"
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            SELECT o.* FROM entity_media o WHERE o.account_id = ${accountId} AND o.entity_id = k.id OFFSET 0
          ) g
          ORDER BY g.entity_id, g.position, g.media_id ${grown}`
      })

      const readMembers = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({ collectionId: EntityId, productId: EntityId }),
        execute: ({ accountId, ids }) => sql`
          SELECT m.collection_id AS "collectionId", m.product_id AS "productId"
          FROM collection_member m
          WHERE m.account_id = ${accountId} AND m.collection_id = ANY(${ids}::uuid[])
          ORDER BY m.collection_id, m.position, m.product_id`
      })

      const readKinds = SqlSchema.findAll({
        Request: Ids,
        Result: Schema.Struct({ id: EntityId, kind: EntityKind }),
        execute: ({ accountId, ids }) => sql`
          SELECT n.id, n.kind
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            SELECT e.id, e.kind FROM entity e WHERE e.account_id = ${accountId} AND e.id = k.id OFFSET 0
          ) n ${grown}`
      })

      const readAccount = SqlSchema.single({
        Request: AccountId,
        Result: Schema.Struct({ now: Timestamp, storeIds: Schema.Array(StoreId) }),
        execute: (accountId) => sql`
          SELECT rfc3339(app_now()) AS now,
                 ARRAY(
                   SELECT s.id FROM store s
                   WHERE s.account_id = ${accountId} AND s.status = 'linked'
                   ORDER BY s.domain COLLATE "C", s.id
                 ) AS "storeIds"`
      })

      const { raise, save, saveStamped } = makeDraftWrites(sql)

      return {
        lock: (accountId, owners, references) =>
          Effect.gen(function* () {
            const locked = yield* lockOwners({ accountId, ids: owners })
            const products = locked.filter(({ kind }) => kind === "product").map(({ id }) => id)
            // A statement of its own: only now is a variant visible that was added while the product's lock was awaited.
            const variants = products.length === 0 ? [] : yield* lockVariants({ accountId, ids: products })
            const entities = new Map([...locked, ...variants].map((entity) => [entity.id, entity]))
            const ids = [...entities.keys()]
            const versions = Arr.groupBy(yield* readVersions({ accountId, ids }), ({ entityId }) => entityId)
            const galleries = Arr.groupBy(yield* readGalleries({ accountId, ids }), ({ entityId }) => entityId)
            // Only of collections: for so many ids the planner expects all members there are, and would scan the table.
            const collections = [...entities.values()].filter(({ kind }) => kind === "collection").map(({ id }) => id)
            const members = Arr.groupBy(
              collections.length === 0 ? [] : yield* readMembers({ accountId, ids: collections }),
              ({ collectionId }) => collectionId
            )
            const kinds = references.length === 0 ? [] : yield* readKinds({ accountId, ids: references })
            const { now, storeIds } = yield* Effect.orDie(readAccount(accountId))
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
                    versions: (versions[id] ?? []).map(({ entityId: _, ...version }) => version),
                    gallery: (galleries[id] ?? []).map(({ mediaId, storeIds }) => ({ mediaId, storeIds })),
                    members: (members[id] ?? []).map(({ productId }) => productId)
                  }
                ])
              )
            }
          }).pipe(orDie),
        save: (accountId, plan) => orDie(save(accountId, plan)),
        saveStamped: (accountId, plan) => orDie(saveStamped(accountId, plan)),
        raise: (accountId, plan) => orDie(raise(accountId, plan))
      }
    })
  )
}
