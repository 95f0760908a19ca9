import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { variantsAndMedia } from "../catalog/CatalogLookUps.sql.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"

/**
 * What refers to an entity. `gallery`: an entity whose gallery has the media file. `collection`: a collection with the product.
 * `scheduled_drop`, `live_drop`: a drop with a step left that changes it, before or after its start. `publish`: a publish to a linked store
 * that waits and sends it along. `id`: of the gallery's entity or the collection. `name`: a title, the name of the drop, or the domain of
 * the store.
 */
export const EntityUse = Schema.Struct({
  entityId: EntityId,
  by: Schema.Literal("gallery", "collection", "scheduled_drop", "live_drop", "publish"),
  id: Schema.NullOr(EntityId),
  name: Schema.String
})
export type EntityUse = typeof EntityUse.Type

const Holder = Schema.Struct({
  id: StoreId,
  domain: Schema.String,
  isLinked: Schema.Boolean,
  isVariant: Schema.Boolean
})

/**
 * The stores that have an entity or a variant of it, or may have it. `ofVariants`: linked stores that have a variant. `unlinked`: the
 * domains of unlinked stores, in their order.
 */
export interface Holders {
  readonly ofVariants: ReadonlySet<StoreId>
  readonly unlinked: ReadonlyArray<string>
}

/** `rows`: the stores that hold an entity, and those that hold a variant of it (`isVariant`). */
export const toHolders = (rows: ReadonlyArray<typeof Holder.Type>): Holders => ({
  ofVariants: new Set(rows.filter(({ isLinked, isVariant }) => isLinked && isVariant).map(({ id }) => id)),
  unlinked: [...new Set(rows.filter(({ isLinked }) => !isLinked).map(({ domain }) => domain))].sort()
})

/** What must be known before entities are deleted or taken off stores. */
export class EntityUsesRepo extends Context.Tag("catalog/EntityUsesRepo")<
  EntityUsesRepo,
  {
    /**
     * What the deletion of these entities reads: the variants of products, the other variants of variants, the media of all galleries, and
     * the collections of products.
     */
    readonly partsOf: (accountId: AccountId, ids: ReadonlyArray<EntityId>) => Effect.Effect<ReadonlyArray<EntityId>>
    /** What refers to these entities, apart from themselves. Call it under the locks of the entities. */
    readonly usesOf: (accountId: AccountId, ids: ReadonlyArray<EntityId>) => Effect.Effect<ReadonlyArray<EntityUse>>
    /** The stores that have the entity or a variant of it, or may have it, and those to which one is being published. */
    readonly holdersOf: (accountId: AccountId, id: EntityId) => Effect.Effect<Holders>
    /** Number of the media of the galleries of these entities and of their variants that no other gallery has. */
    readonly countOwnMedia: (accountId: AccountId, ids: ReadonlyArray<EntityId>) => Effect.Effect<number>
    /** Whether an import is open. Its comparison may refer to any entity. While the caller shares the import lock, no import begins. */
    readonly isImporting: (accountId: AccountId) => Effect.Effect<boolean>
  }
>() {
  static readonly layer = Layer.effect(
    EntityUsesRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const planned = sql.literal(planCustom)

      const partsOf = findAll(Schema.Struct({ id: EntityId }))(
        (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
          SELECT DISTINCT p.id
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            ${variantsAndMedia(sql, accountId)}
            UNION ALL
            (
              SELECT v.id
              FROM (SELECT o.parent_id FROM entity o WHERE o.account_id = ${accountId} AND o.id = k.id OFFSET 0) o
              JOIN entity v ON v.account_id = ${accountId} AND v.parent_id = o.parent_id
              OFFSET 0
            )
            UNION ALL
            (SELECT m.collection_id FROM collection_member m WHERE m.account_id = ${accountId} AND m.product_id = k.id OFFSET 0)
          ) p ${planned}`
      )

      const usesOf = findAll(EntityUse)(
        (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
          SELECT k.id AS "entityId", u.by, u.id, u.name
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            (
              SELECT 'gallery' AS by, e.id, e.title AS name
              FROM (
                SELECT g.entity_id FROM entity_media g
                WHERE g.account_id = ${accountId} AND g.media_id = k.id AND g.entity_id <> ALL(${ids}::uuid[])
                LIMIT 1
              ) g
              JOIN entity e ON e.account_id = ${accountId} AND e.id = g.entity_id
            )
            UNION ALL
            (
              SELECT 'collection', m.collection_id, ''
              FROM collection_member m WHERE m.account_id = ${accountId} AND m.product_id = k.id OFFSET 0
            )
            UNION ALL
            (
              SELECT CASE d.status WHEN 'scheduled' THEN 'scheduled_drop' ELSE 'live_drop' END, NULL, d.name
              FROM drop_change c
              JOIN drop d ON d.account_id = ${accountId} AND d.id = c.drop_id
              WHERE c.account_id = ${accountId} AND c.entity_id = k.id AND d.next_step IS NOT NULL
              LIMIT 1
            )
            UNION ALL
            (
              SELECT 'publish', NULL, s.domain
              FROM store s
              JOIN publication p ON p.account_id = ${accountId} AND p.store_id = s.id
              WHERE s.account_id = ${accountId} AND s.status = 'linked' AND p.state = 'pending'
                AND p.brings && ARRAY[k.id]
              LIMIT 1
            )
          ) u ${planned}`
      )

      const holdersOf = findAll(Holder)(
        (accountId: AccountId, id: EntityId) => sql`
          SELECT DISTINCT s.id, s.domain, s.status = 'linked' AS "isLinked", e."isVariant"
          FROM (
            SELECT v.id, true AS "isVariant" FROM entity v WHERE v.account_id = ${accountId} AND v.parent_id = ${id}
            UNION ALL
            SELECT ${id}::uuid, false
          ) e
          CROSS JOIN LATERAL (
            SELECT o.store_id FROM store_version o
            WHERE o.account_id = ${accountId} AND o.entity_id = e.id
              AND (o.accepted IS NOT NULL OR o.platform_id IS NOT NULL OR o.may_be_live OR o.last_publish_status = 'pending')
            OFFSET 0
          ) v
          JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id ${planned}`
      )

      const countOwnMedia = findSingle(Schema.Struct({ count: Schema.Int }))(
        (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
          WITH own AS MATERIALIZED (
            SELECT k.id FROM unnest(${ids}::uuid[]) AS k (id)
            UNION
            SELECT v.id
            FROM unnest(${ids}::uuid[]) AS k (id)
            CROSS JOIN LATERAL (
              SELECT e.id FROM entity e WHERE e.account_id = ${accountId} AND e.parent_id = k.id OFFSET 0
            ) v
          )
          SELECT count(*)::int AS count
          FROM (
            SELECT DISTINCT g.media_id
            FROM own
            CROSS JOIN LATERAL (
              SELECT m.media_id FROM entity_media m WHERE m.account_id = ${accountId} AND m.entity_id = own.id OFFSET 0
            ) g
          ) shown
          WHERE NOT EXISTS (
            SELECT FROM entity_media o
            WHERE o.account_id = ${accountId} AND o.media_id = shown.media_id AND o.entity_id NOT IN (SELECT own.id FROM own)
          ) ${planned}`
      )

      const findImport = findSingle(Schema.Struct({ isOpen: Schema.Boolean }))(
        (accountId: AccountId) => sql`
          SELECT EXISTS (
            SELECT FROM import_run r
            WHERE r.account_id = ${accountId} AND r.phase IN ('fetching', 'reviewing', 'applying')
          ) AS "isOpen"`
      )

      return {
        partsOf: (accountId, ids) => Effect.map(partsOf(accountId, ids), (rows) => rows.map(({ id }) => id)),
        usesOf,
        holdersOf: (accountId, id) => Effect.map(holdersOf(accountId, id), toHolders),
        countOwnMedia: (accountId, ids) => Effect.map(countOwnMedia(accountId, ids), ({ count }) => count),
        isImporting: (accountId) => Effect.map(findImport(accountId), ({ isOpen }) => isOpen)
      }
    })
  )
}
