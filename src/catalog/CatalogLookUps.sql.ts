import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Option, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { discardRows, findAll, findOne, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import { EntityId } from "../model/Ids.ts"
import type { CatalogLookUps } from "./CatalogRepo.ts"
import { placeOfGone, type RelatedPlace, relatedPageOf } from "./CatalogRows.ts"

const idsOf = (rows: ReadonlyArray<{ readonly id: EntityId }>) => rows.map(({ id }) => id)

/** The ids of the variants of an entity `k`, and of the media in its gallery and in those of its variants. */
export const variantsAndMedia = (sql: SqlClient, accountId: string): Fragment => sql`
        (SELECT g.media_id AS id FROM entity_media g WHERE g.account_id = ${accountId} AND g.entity_id = k.id OFFSET 0)
        UNION ALL
        (SELECT o.id FROM entity o WHERE o.account_id = ${accountId} AND o.parent_id = k.id OFFSET 0)
        UNION ALL
        (
          SELECT g.media_id
          FROM (SELECT o.id FROM entity o WHERE o.account_id = ${accountId} AND o.parent_id = k.id OFFSET 0) o
          JOIN entity_media g ON g.account_id = ${accountId} AND g.entity_id = o.id
          OFFSET 0
        )`

/** Finds the variants and media that are added to a store, or taken off it, together with their product. */
const makePartLookUps = (sql: SqlClient): Pick<CatalogLookUps, "mediaShownByOthers" | "partsOnStore"> => {
  const findPartsOnStore = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: string, storeId: string, ids: ReadonlyArray<EntityId>, isThere: boolean) => sql`
      SELECT DISTINCT p.id
      FROM unnest(${ids}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT FROM account_state own
        WHERE own.account_id = ${accountId} AND EXISTS (
          SELECT FROM store_version v
          WHERE v.account_id = ${accountId} AND v.entity_id = k.id AND v.store_id = ${storeId}::uuid
        ) = ${isThere}
        OFFSET 0
      ) e
      CROSS JOIN LATERAL (${variantsAndMedia(sql, accountId)}) p ${sql.literal(planCustom)}`
  )

  const findShownByOthers = findAll(Schema.Struct({ id: EntityId }))(
    (
      accountId: string,
      storeId: string,
      mediaIds: ReadonlyArray<EntityId>,
      except: ReadonlyArray<EntityId>,
      variantsOf: EntityId | undefined
    ) => sql`
      SELECT k.id
      FROM unnest(${mediaIds}::uuid[]) AS k (id)
      CROSS JOIN LATERAL (
        SELECT FROM entity_media g
        WHERE g.account_id = ${accountId} AND g.media_id = k.id AND ${storeId}::uuid = ANY(g.store_ids)
          AND g.entity_id <> ALL(${except}::uuid[]) AND ${
            variantsOf === undefined
              ? sql`true`
              : sql`EXISTS (
            SELECT FROM entity o
            WHERE o.account_id = ${accountId} AND o.id = g.entity_id AND o.parent_id = ${variantsOf}::uuid
          )`
          }
          AND EXISTS (
            SELECT FROM store_version v
            WHERE v.account_id = ${accountId} AND v.entity_id = g.entity_id AND v.store_id = ${storeId}::uuid
          )
        LIMIT 1
      ) shown ${sql.literal(planCustom)}`
  )

  return {
    partsOnStore: (accountId, storeId, ids, isThere) =>
      Effect.map(findPartsOnStore(accountId, storeId, ids, isThere), idsOf),
    mediaShownByOthers: (accountId, storeId, mediaIds, except, variantsOf) =>
      mediaIds.length === 0
        ? Effect.succeed([])
        : Effect.map(findShownByOthers(accountId, storeId, mediaIds, except, variantsOf), idsOf)
  }
}

/** Finds entities by id, SKU or handle, and the entities that are related to an entity. */
export const makeCatalogLookUps = (sql: SqlClient): CatalogLookUps => {
  const findKind = findOne(Schema.Struct({ kind: EntityKind }))(
    (accountId: string, id: EntityId) => sql`SELECT kind FROM entity WHERE account_id = ${accountId} AND id = ${id}`
  )

  const findWithHandle = findAll(Schema.Struct({ id: EntityId, kind: EntityKind }))(
    (accountId: string, handle: string) => sql`
      SELECT e.kind, e.id FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = 'collection' AND e.attributes #>> '{handle,value}' = ${handle}
      UNION ALL
      SELECT e.kind, e.id FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = 'product' AND e.attributes #>> '{handle,value}' = ${handle}
      ORDER BY kind, id`
  )

  const findWithSku = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: string, sku: string) => sql`
      SELECT e.id FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = 'variant' AND e.attributes #>> '{sku,value}' = ${sku}
      ORDER BY e.id`
  )

  const findRelated = findAll(
    Schema.Struct({ list: Schema.Number, position: Schema.Number, id: EntityId, row: Schema.String })
  )(
    // A write can number variants, galleries and members again, so the position of the entity at `after` is looked up. If it is gone, the
    // entity that followed it may have its position now.
    (accountId: string, id: EntityId, after: RelatedPlace, limit: number) => sql`
      SELECT related.list, related.position, related.id, r.list_row AS row
      FROM (
        SELECT a.* FROM (
          SELECT 1 AS list, v.position + 1 AS position, v.id FROM entity v
          WHERE v.account_id = ${accountId} AND v.parent_id = ${id}
          UNION ALL
          SELECT 2, g.position + 1, g.media_id FROM entity_media g
          WHERE g.account_id = ${accountId} AND g.entity_id = ${id}
          UNION ALL
          SELECT 3, 0, m.collection_id FROM collection_member m
          WHERE m.account_id = ${accountId} AND m.product_id = ${id}
          UNION ALL
          SELECT 4, 0, e.parent_id FROM entity e
          WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.parent_id IS NOT NULL
          UNION ALL
          SELECT 4, m.position + 1, m.product_id FROM collection_member m
          WHERE m.account_id = ${accountId} AND m.collection_id = ${id}
          UNION ALL
          SELECT CASE u.kind WHEN 'variant' THEN 1 WHEN 'collection' THEN 3 ELSE 4 END, 0, u.id
          FROM entity_media g
          JOIN entity u ON u.account_id = ${accountId} AND u.id = g.entity_id
          WHERE g.account_id = ${accountId} AND g.media_id = ${id}
        ) a
        CROSS JOIN (
          SELECT 1 + coalesce(
            (SELECT v.position FROM entity v
             WHERE v.account_id = ${accountId} AND v.id = ${after.id} AND v.parent_id = ${id}),
            (SELECT g.position FROM entity_media g
             WHERE g.account_id = ${accountId} AND g.entity_id = ${id} AND g.media_id = ${after.id}),
            (SELECT m.position FROM collection_member m
             WHERE m.account_id = ${accountId} AND m.collection_id = ${id} AND m.product_id = ${after.id})
          ) AS position
        ) now
        WHERE (a.list, a.position, a.id) > (
          ${after.list}::integer,
          coalesce(now.position, ${after.position}::integer),
          CASE WHEN now.position IS NULL THEN ${placeOfGone(after).id}::uuid ELSE ${after.id}::uuid END
        )
        ORDER BY a.list, a.position, a.id
        LIMIT ${limit}
      ) related
      JOIN entity r ON r.account_id = ${accountId} AND r.id = related.id
      ORDER BY related.list, related.position, related.id`
  )

  const countMembersBefore = findSingle(Schema.Struct({ count: Schema.Number }))(
    (accountId: string, collectionId: EntityId, productId: EntityId) => sql`
      SELECT count(*)::integer AS count
      FROM collection_member one
      JOIN collection_member m ON m.account_id = ${accountId} AND m.collection_id = ${collectionId}
        AND (m.position, m.product_id) < (one.position, one.product_id)
      WHERE one.account_id = ${accountId} AND one.collection_id = ${collectionId} AND one.product_id = ${productId}`
  )

  return {
    kindOf: (accountId, id) =>
      orDie(
        Effect.map(
          findKind(accountId, id),
          Option.map(({ kind }) => kind)
        )
      ),
    ...makePartLookUps(sql),
    withHandle: findWithHandle,
    lockHandle: (accountId, handle) =>
      sql`
        SELECT pg_advisory_xact_lock(hashtextextended('handle ' || ${accountId}::text || ' ' || ${handle}::text, 0))
        FROM account_state a WHERE a.account_id = ${accountId}`.pipe(discardRows),
    withSku: (accountId, sku) => Effect.map(findWithSku(accountId, sku), idsOf),
    related: (accountId, id, after, limit) =>
      orDie(Effect.map(findRelated(accountId, id, after, limit + 1), (rows) => relatedPageOf(rows, limit))),
    membersBefore: (accountId, collectionId, productId) =>
      orDie(Effect.map(countMembersBefore(accountId, collectionId, productId), ({ count }) => count))
  }
}
