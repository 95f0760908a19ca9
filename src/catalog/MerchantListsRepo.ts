import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { delayedCode, PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { makeMerchantConditions } from "./ListCandidates.sql.ts"
import { makeWindowStatements, placeOf } from "./ListWindows.sql.ts"
import type { ListOrder, MerchantFilters } from "./MerchantLists.ts"
import type { Needle } from "./SearchText.ts"
import { makeStoreCounts, type StoreCounts } from "./StoreCounts.sql.ts"

export type WindowFilters = Omit<MerchantFilters, "search"> & { readonly needles: ReadonlyArray<Needle> }

/**
 * A place in the order of a list. By last change: a position of the change order. By title: the folded title of an entity, and its
 * id, because several have the same title.
 */
export type Place = number | readonly [title: string, id: EntityId]

/** The request for a page of a list. */
export interface WindowQuery {
  /** Only entities after this place, which is of the same order. */
  readonly from: Place | undefined
  readonly limit: number
  readonly order: ListOrder
  readonly windowSize: number
  readonly maxFew: number
}

/** A page of ids. */
export interface WindowPage {
  readonly ids: ReadonlyArray<EntityId>
  /** The place from which the next page continues. Undefined: there are no more entities. */
  readonly next: Place | undefined
  /** Number of matching entities, from this page on. */
  readonly found: number
  /** Whether `found` counts all of them. If not, there are at least so many. */
  readonly isAll: boolean
}

/** A row of a table of entities. */
export const ListedEntity = Schema.Struct({
  id: EntityId,
  kind: EntityKind,
  title: Schema.String,
  changedAt: Timestamp,
  /** The product of a variant. */
  parentId: Schema.NullOr(EntityId),
  parentTitle: Schema.NullOr(Schema.String),
  vendor: Schema.String,
  productType: Schema.String,
  sku: Schema.String,
  price: Schema.String,
  /** Number of variants of a product; 0 for other kinds. */
  variants: Schema.Number,
  /** Number of members of a collection, at most 1,000; 0 for other kinds. */
  members: Schema.Number,
  /** The first image of the gallery, or the image itself. */
  picture: Schema.NullOr(Schema.Struct({ id: EntityId, url: Schema.String, alt: Schema.String })),
  /** `isDelayed`: the store's platform does not answer, so a publish waits. */
  states: Schema.Array(
    Schema.Struct({
      storeId: StoreId,
      status: PublishStatus,
      pendingPublish: Schema.Boolean,
      isDelayed: Schema.Boolean
    })
  )
})
export type ListedEntity = typeof ListedEntity.Type

/** Reads the lists of the console's pages. */
export class MerchantListsRepo extends Context.Tag("catalog/MerchantListsRepo")<
  MerchantListsRepo,
  {
    /**
     * A page has `limit` entities, unless no more match. If the limit is above `maxFew`, or no index has the matches, the page looks at
     * `maxWindows` windows at most: then it may have fewer or none, although its `next` continues. All matches are counted if there are at
     * most `maxFew`, or if the list has at most `windowSize` entities.
     */
    readonly window: (
      accountId: AccountId,
      kind: EntityKind,
      filters: WindowFilters,
      page: WindowQuery
    ) => Effect.Effect<WindowPage>
    readonly count: (accountId: AccountId, kind: EntityKind, filters: WindowFilters) => Effect.Effect<number>
    /** Counts the versions of each linked store by state and kind, up to `maxCounted` of a state. */
    readonly storeCounts: (accountId: AccountId) => Effect.Effect<ReadonlyArray<StoreCounts>>
    readonly rows: (accountId: AccountId, ids: ReadonlyArray<EntityId>) => Effect.Effect<ReadonlyArray<ListedEntity>>
    /** Ids of the first variants of each product, in the order of the products and the variants. */
    readonly variantIds: (
      accountId: AccountId,
      products: ReadonlyArray<EntityId>,
      maxOfProduct: number
    ) => Effect.Effect<ReadonlyArray<EntityId>>
  }
>() {
  static readonly layer = Layer.effect(
    MerchantListsRepo,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      window: makeWindow(sql),
      count: makeCount(sql),
      rows: makeRows(sql),
      variantIds: makeVariantIds(sql),
      storeCounts: makeStoreCounts(sql)
    }))
  )
}

/** Maximum number of windows that a page looks at, if its limit is above `maxFew` or no index has its matches. */
const maxWindows = 5

/**
 * Runs a read with more `work_mem`. With the usual 4 MB PostgreSQL forgets which rows of a page matched, and computes the facets of all of
 * them again.
 */
const makeWithRoom =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(read: Effect.Effect<A, E, R>) =>
    sql.withTransaction(Effect.zipRight(sql`SET LOCAL work_mem = '32MB'`, read))

/**
 * Reads a page in the first of three ways that has enough rows. First, up to `maxFew` matches by the indexes of the filters: enough if
 * there are no more. Second, one window in the order of the list: enough if matches are frequent there. Third, all matches before a
 * bound: the place at which a page of the known matches would end. The real page ends no later, and few matches lie before it, because
 * the known matches are a random part of all. A page after the first begins with the second way, which usually has enough rows.
 */
const makeWindow = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["window"] => {
  const statements = makeWindowStatements(sql)
  const withRoom = makeWithRoom(sql)
  return (accountId, kind, filters, page) =>
    Effect.gen(function* () {
      const { from, limit, maxFew, windowSize } = page
      const { few, hasIndex, inOrderOf, isInOrder, upTo } = statements(accountId, kind, filters, page)
      const maxLooked = maxWindows * windowSize
      if (!hasIndex) return yield* inOrderOf(maxLooked)
      const later = from === undefined ? null : yield* inOrderOf(windowSize)
      if (later?.last === null) return later
      const fewMatches = yield* few
      if (fewMatches.isAll) return fewMatches
      const found = maxFew
      if (isInOrder) return { ...fewMatches, found }
      const window = later ?? (yield* inOrderOf(windowSize))
      if (window.isAll) return window
      if (window.last === null) return { ...window, found }
      const bound = fewMatches.places[limit]
      if (limit > maxFew) return { ...(yield* inOrderOf(maxLooked)), found }
      return { ...(yield* withRoom(upTo(bound && placeOf(bound)))), found }
    }).pipe(
      Effect.map(({ found, isAll, last, places }) => {
        const { limit } = page
        const next = places.length > limit ? places[limit - 1] : (last ?? undefined)
        return { ids: places.slice(0, limit).map(({ id }) => id), next: next && placeOf(next), found, isAll }
      }),
      orDie
    )
}

const makeCount = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["count"] => {
  const { ofCandidates } = makeMerchantConditions(sql)
  const read = findSingle(Schema.Struct({ count: Schema.Number }))(
    (accountId: AccountId, kind: EntityKind, filters: WindowFilters) => sql`
      SELECT ${sql.literal(`${planCustom} ${readsAll}`)} count(*) AS count FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(`'${kind}'`)}
        AND ${sql.and([sql`true`, ...ofCandidates(accountId, kind, filters)])}`
  )
  const withRoom = makeWithRoom(sql)
  return (accountId, kind, filters) => Effect.map(orDie(withRoom(read(accountId, kind, filters))), ({ count }) => count)
}

/** One statement for all rows of a page: each part is found by an index. */
const makeRows = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["rows"] => {
  const read = findAll(ListedEntity)(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT e.id, e.kind, e.title, rfc3339(e.canonical_changed_at) AS "changedAt", e.parent_id AS "parentId",
             (SELECT p.title FROM entity p WHERE p.account_id = ${accountId} AND p.id = e.parent_id) AS "parentTitle",
             coalesce(e.attributes #>> '{vendor,value}', '') AS vendor,
             coalesce(e.attributes #>> '{product_type,value}', '') AS "productType",
             coalesce(e.attributes #>> '{sku,value}', first.sku, '') AS sku,
             coalesce(e.attributes #>> '{price,value}', first.price, '') AS price,
             coalesce(first.variants, 0) AS variants,
             CASE WHEN e.kind = 'collection' THEN (
               SELECT count(*) FROM (
                 SELECT FROM collection_member m WHERE m.account_id = ${accountId} AND m.collection_id = e.id LIMIT 1000
               ) counted
             ) ELSE 0 END AS members,
             CASE WHEN e.kind = 'media'
               THEN jsonb_build_object('id', e.id, 'url', coalesce(e.attributes #>> '{url,value}', ''),
                                       'alt', coalesce(e.attributes #>> '{alt,value}', ''))
               ELSE shown.picture END AS picture,
             coalesce((
               SELECT jsonb_agg(jsonb_build_object('storeId', v.store_id, 'status', v.last_publish_status,
                                                   'pendingPublish', v.pending_publish, 'isDelayed', coalesce(
                                                     v.last_publish_error ->> 'code' = ${delayedCode}
                                                     OR (s.outage_met_by IS NOT NULL AND s.outage_error IS NOT NULL),
                                                     false
                                                   )) ORDER BY v.store_id)
               FROM store_version v
               JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id
               WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ANY (e.store_ids)
             ), '[]') AS states
      FROM unnest(${[...ids]}::uuid[]) WITH ORDINALITY AS asked (id, place)
      JOIN entity e ON e.account_id = ${accountId} AND e.id = asked.id
      LEFT JOIN LATERAL (
        SELECT count(*) AS variants,
               (array_agg(c.attributes #>> '{sku,value}' ORDER BY c.position))[1] AS sku,
               (array_agg(c.attributes #>> '{price,value}' ORDER BY c.position))[1] AS price
        FROM entity c WHERE c.account_id = ${accountId} AND c.parent_id = e.id AND e.kind = 'product'
      ) first ON true
      LEFT JOIN LATERAL (
        SELECT jsonb_build_object('id', i.id, 'url', coalesce(i.attributes #>> '{url,value}', ''),
                                  'alt', coalesce(i.attributes #>> '{alt,value}', '')) AS picture
        FROM entity_media g
        JOIN entity i ON i.account_id = ${accountId} AND i.id = g.media_id
        WHERE g.account_id = ${accountId} AND g.entity_id = e.id
          AND coalesce(i.attributes #>> '{mime_type,value}', '') NOT SIMILAR TO '(video|model|text)/%'
        ORDER BY g.position LIMIT 1
      ) shown ON true
      ORDER BY asked.place`
  )
  return (accountId, ids) => (ids.length === 0 ? Effect.succeed([]) : read(accountId, ids))
}

const makeVariantIds = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["variantIds"] => {
  const read = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, products: ReadonlyArray<EntityId>, maxOfProduct: number) => sql`
      SELECT v.id
      FROM unnest(${[...products]}::uuid[]) WITH ORDINALITY AS asked (id, place)
      CROSS JOIN LATERAL (
        SELECT c.id, c.position FROM entity c
        WHERE c.account_id = ${accountId} AND c.parent_id = asked.id
        ORDER BY c.position LIMIT ${maxOfProduct}
      ) v
      ORDER BY asked.place, v.position`
  )
  return (accountId, products, maxOfProduct) =>
    products.length === 0
      ? Effect.succeed([])
      : Effect.map(read(accountId, products, maxOfProduct), (rows) => rows.map(({ id }) => id))
}
