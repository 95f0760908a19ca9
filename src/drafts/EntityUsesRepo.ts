import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { variantsAndMedia } from "../catalog/CatalogLookUps.sql.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"

/**
 * What refers to an entity. `gallery`: an entity whose gallery has the media file. `collection`: a collection with the product. `drop`: a
 * drop that changes it. `publish`: a publish that waits and sends it along. `store`: an unlinked store that has it, or may have it. `id`: of
 * the gallery's entity or the collection. `name`: a title, the name of the drop, or the domain of the store.
 */
export const EntityUse = Schema.Struct({
  entityId: EntityId,
  by: Schema.Literal("gallery", "collection", "drop", "publish", "store"),
  id: Schema.NullOr(EntityId),
  name: Schema.String
})
export type EntityUse = typeof EntityUse.Type

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
    /** The stores that have a variant of the product, or may have it, and those to which one is being published. */
    readonly storesOfHeldVariants: (accountId: AccountId, productId: EntityId) => Effect.Effect<ReadonlySet<StoreId>>
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
              SELECT 'drop', NULL, d.name
              FROM (
                SELECT c.drop_id FROM drop_change c WHERE c.account_id = ${accountId} AND c.entity_id = k.id LIMIT 1
              ) c
              JOIN drop d ON d.account_id = ${accountId} AND d.id = c.drop_id
            )
            UNION ALL
            (
              SELECT 'publish', NULL, s.domain
              FROM store s
              JOIN publication p ON p.account_id = ${accountId} AND p.store_id = s.id
              WHERE s.account_id = ${accountId} AND p.state = 'pending' AND p.brings && ARRAY[k.id]
              LIMIT 1
            )
            UNION ALL
            (
              SELECT 'store', NULL, s.domain
              FROM store_version v
              JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id
              WHERE v.account_id = ${accountId} AND v.entity_id = k.id AND s.status <> 'linked'
                AND (v.accepted IS NOT NULL OR v.platform_id IS NOT NULL OR v.may_be_live)
              LIMIT 1
            )
          ) u ${planned}`
      )

      const storesOfHeldVariants = findAll(Schema.Struct({ id: StoreId }))(
        (accountId: AccountId, productId: EntityId) => sql`
          SELECT DISTINCT v.store_id AS id
          FROM entity e
          CROSS JOIN LATERAL (
            SELECT o.store_id FROM store_version o
            WHERE o.account_id = ${accountId} AND o.entity_id = e.id
              AND (o.accepted IS NOT NULL OR o.platform_id IS NOT NULL OR o.may_be_live OR o.last_publish_status = 'pending')
            OFFSET 0
          ) v
          WHERE e.account_id = ${accountId} AND e.parent_id = ${productId} ${planned}`
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
        storesOfHeldVariants: (accountId, productId) =>
          Effect.map(storesOfHeldVariants(accountId, productId), (rows) => new Set(rows.map(({ id }) => id))),
        isImporting: (accountId) => Effect.map(findImport(accountId), ({ isOpen }) => isOpen)
      }
    })
  )
}
