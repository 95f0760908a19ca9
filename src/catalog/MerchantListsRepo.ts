import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { makeMerchantConditions } from "./ListCandidates.sql.ts"
import type { ListOrder, MerchantFilters } from "./MerchantLists.ts"
import type { Needle } from "./SearchText.ts"

export type WindowFilters = Omit<MerchantFilters, "search"> & { readonly needles: ReadonlyArray<Needle> }

/**
 * A place in the order of a list. By last change: a position of the change order. By title: the folded title of an entity, and its
 * id, because several have the same title.
 */
export type Place = number | readonly [title: string, id: EntityId]

/** A page of ids. */
export interface WindowPage {
  readonly ids: ReadonlyArray<EntityId>
  /** The place from which the next page continues. Undefined: there are no more entities. */
  readonly next: Place | undefined
  /** Number of matching entities, from this page on. */
  readonly found: number
  /** Whether `found` counts all of them. If not, there are at least so many. */
  readonly isAll: boolean
  /** Whether the list has more entities than the page looked at, and the page is not full. */
  readonly isCut: boolean
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
  states: Schema.Array(Schema.Struct({ storeId: StoreId, status: PublishStatus, pendingPublish: Schema.Boolean }))
})
export type ListedEntity = typeof ListedEntity.Type

/** Largest number to which versions of a store are counted, so that the time is bounded. */
export const maxCounted = 1_000

/** Store versions by publish state. The count `maxCounted` means "at least". */
export const StoreCounts = Schema.Struct({
  storeId: StoreId,
  failed: Schema.Number,
  publishing: Schema.Number,
  unpublished: Schema.Number
})
export type StoreCounts = typeof StoreCounts.Type

const PlaceRow = Schema.Struct({ key: Schema.Union(Schema.Number, Schema.String), id: EntityId })

const placeOf = ({ id, key }: typeof PlaceRow.Type): Place => (typeof key === "number" ? key : [key, id])

const decodeWindow = Schema.decodeUnknown(
  Schema.Tuple(
    Schema.Struct({
      /** The rows of the page, and one more if there are more. */
      places: Schema.Array(PlaceRow),
      /** The last entity that was looked at, if the page is not full and there are more entities. */
      last: Schema.NullOr(PlaceRow),
      found: Schema.Number,
      isAll: Schema.Boolean
    })
  )
)

/** Reads the lists of the console's pages. */
export class MerchantListsRepo extends Context.Tag("catalog/MerchantListsRepo")<
  MerchantListsRepo,
  {
    /**
     * The time is bounded, however few entities match. A page is full unless no more match, or frequent matches are far away in the
     * order. All matches are counted if there are at most `maxFew`, or if the list has at most `windowSize` entities.
     */
    readonly window: (
      accountId: AccountId,
      kind: EntityKind,
      filters: WindowFilters,
      page: {
        /** A place of the same order. */
        readonly from: Place | undefined
        readonly limit: number
        readonly order: ListOrder
        readonly windowSize: number
        readonly maxFew: number
      }
    ) => Effect.Effect<WindowPage>
    /** Counts the versions of each linked store by state, up to `maxCounted` each. */
    readonly storeCounts: (accountId: AccountId) => Effect.Effect<ReadonlyArray<StoreCounts>>
    readonly rows: (accountId: AccountId, ids: ReadonlyArray<EntityId>) => Effect.Effect<ReadonlyArray<ListedEntity>>
  }
>() {
  static readonly layer = Layer.effect(
    MerchantListsRepo,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      window: makeWindow(sql),
      rows: makeRows(sql),
      storeCounts: makeStoreCounts(sql)
    }))
  )
}

/**
 * The key of the order by title, as in the index `entity_by_title`: the folded title, which is the first line of the search text, cut
 * to 100 characters. Entities without a title come first.
 */
const titleKey = `(CASE WHEN e.title = '' THEN '' ELSE left(split_part(e.search_text, E'\\n', 1), 100) END COLLATE "C")`

export const isDescending = (order: ListOrder) => order === "newest" || order === "title-desc"

/** A page looks at this number of windows at most. It needs several only if frequent matches are far away in the order. */
const maxWindows = 5

/** Maximum number of entities that one page of frequent matches looks at. */
export const maxLookedAt = (windowSize: number) => maxWindows * windowSize

/**
 * Few matches are found by the indexes of the filters. Many are read in the order of the list, until the page has enough of them.
 * A page after the first begins with one window in the order, because many matches are usual there, and it counts nothing.
 */
const makeWindow = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["window"] => {
  const conditions = makeMerchantConditions(sql)
  const size = (count: number) => sql.literal(String(count))

  /** Entities after a place, by their key and id. */
  const beyond = (key: Fragment, id: Fragment, order: ListOrder, from: Place | undefined) => {
    const sign = sql.literal(isDescending(order) ? "<" : ">")
    if (from === undefined) return sql`true`
    return typeof from === "number"
      ? sql`${key} ${sign} ${from}`
      : sql`(${key}, ${id}) ${sign} (${from[0]}::text, ${from[1]}::uuid)`
  }

  return (accountId, kind, filters, { from, limit, maxFew, order, windowSize }) => {
    const isByTitle = order === "title" || order === "title-desc"
    const direction = isDescending(order) ? "DESC" : "ASC"
    const key = sql.literal(isByTitle ? titleKey : "e.change_seq")
    const inOrder = sql.literal(isByTitle ? `key ${direction}, id ${direction}` : `key ${direction}`)
    const entities = (columns: Fragment, where: Fragment) => sql`
      SELECT ${sql.literal(planCustom)} ${columns} FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(`'${kind}'`)} AND ${where}`
    const afterFrom = beyond(key, sql`e.id`, order, from)
    const tested = conditions.ofWindow(accountId, filters)
    const places = sql`SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'key', p.key) ORDER BY ${inOrder}), '[]') FROM page p`

    const { hasOwnValues, missing, needles, productType, state, storeId, tag, vendor } = filters
    const isOfProducts = [missing, productType, tag, vendor].some((value) => value !== undefined)
    // Only products have an index of these values.
    const hasIndex = tested.length > 0 && (kind === "product" || !isOfProducts)
    // Without an order that an index has, PostgreSQL might scan the table, which has other accounts too. Ids are random: frequent
    // matches are found early, wherever they are in the list.
    const isOfState = state !== undefined && storeId === undefined && !isOfProducts && needles.length === 0
    const fewOrder = isOfState && hasOwnValues !== true ? "e.change_seq" : "e.id"
    /** All matches, of which the page takes those after its place: so the time does not depend on the place. Null: there are more than `maxFew`. */
    const few = sql`
      WITH w AS MATERIALIZED (
        ${entities(sql`e.id, ${key} AS key`, sql.and(conditions.ofCandidates(accountId, kind, filters)))}
        ORDER BY ${sql.literal(fewOrder)}
        LIMIT ${size(maxFew + 1)}
      ), rest AS (SELECT w.id, w.key FROM w WHERE ${beyond(sql`w.key`, sql`w.id`, order, from)}),
      page AS MATERIALIZED (SELECT r.id, r.key FROM rest r ORDER BY ${inOrder} LIMIT ${limit + 1})
      SELECT (${places}) AS places, NULL AS last, (SELECT count(*) FROM rest) AS found,
             (SELECT count(*) FROM w) <= ${size(maxFew)} AS "isAll"`.pipe(
      Effect.flatMap(decodeWindow),
      Effect.map(([row]) => (row.isAll ? row : null))
    )
    const fits = tested.length === 0 ? sql`true` : sql.and(tested)
    const counted =
      from === undefined
        ? sql`
          SELECT count(*) FILTER (WHERE c.fits) AS found, count(*) <= ${size(windowSize)} AS "isAll"
          FROM (${entities(sql`${fits} AS fits`, afterFrom)} ORDER BY ${key} ${sql.literal(direction)} LIMIT ${size(windowSize + 1)}) c`
        : sql`SELECT count(*) AS found, false AS "isAll" FROM page`
    const inOrderOf = (looked: number) =>
      sql`
      WITH page AS MATERIALIZED (
        SELECT w.id, w.key
        FROM (
          ${entities(sql`e.id, ${key} AS key, ${fits} AS fits`, afterFrom)}
          ORDER BY ${inOrder}
          LIMIT ${size(looked + 1)}
        ) w
        WHERE w.fits
        LIMIT ${limit + 1}
      )
      SELECT (${places}) AS places,
             CASE WHEN (SELECT count(*) FROM page) <= ${limit} THEN (
               SELECT jsonb_build_object('id', l.id, 'key', l.key)
               FROM (${entities(sql`e.id, ${key} AS key`, afterFrom)} ORDER BY ${inOrder} LIMIT 1 OFFSET ${size(looked)}) l
             ) END AS last,
             n.found, n."isAll"
      FROM (${counted}) n`.pipe(
        Effect.flatMap(decodeWindow),
        Effect.map(([row]) => row)
      )
    const most = maxLookedAt(windowSize)
    const read = Effect.gen(function* () {
      if (!hasIndex) return yield* inOrderOf(most)
      const first = from === undefined ? null : yield* inOrderOf(windowSize)
      if (first?.last === null) return first
      const all = yield* few
      if (all !== null) return all
      const many = yield* inOrderOf(most)
      // There are more than `maxFew`, perhaps outside the window that was counted.
      return many.isAll ? many : { ...many, found: Math.max(many.found, maxFew) }
    })
    return read.pipe(
      Effect.map(({ found, isAll, last, places }) => {
        const page = places.slice(0, limit)
        const next = places.length > limit ? page.at(-1) : (last ?? undefined)
        return { ids: page.map(({ id }) => id), next: next && placeOf(next), found, isAll, isCut: last !== null }
      }),
      orDie
    )
  }
}

/** One statement for all rows of a page: each part is found by an index. */
const makeRows = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["rows"] => {
  const read = SqlSchema.findAll({
    Request: Schema.Struct({ accountId: Schema.String, ids: Schema.Array(EntityId) }),
    Result: ListedEntity,
    execute: ({ accountId, ids }) => sql`
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
                                                   'pendingPublish', v.pending_publish) ORDER BY v.store_id)
               FROM store_version v
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
  })
  return (accountId, ids) => (ids.length === 0 ? Effect.succeed([]) : orDie(read({ accountId, ids })))
}

/** Each count reads a partial index that has only such versions. */
const makeStoreCounts = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["storeCounts"] => {
  const countOf = (accountId: string, condition: string) => sql`(
    SELECT count(*) FROM (
      SELECT FROM store_version v
      WHERE v.account_id = ${accountId} AND v.store_id = s.id AND ${sql.literal(condition)}
      LIMIT ${sql.literal(String(maxCounted))}
    ) open
  )`
  return findAll(StoreCounts)(
    (accountId: string) => sql`
      SELECT s.id AS "storeId", ${countOf(accountId, "v.last_publish_status = 'failed'")} AS failed,
             ${countOf(accountId, "v.last_publish_status = 'pending'")} AS publishing,
             ${countOf(accountId, "v.pending_publish")} AS unpublished
      FROM store s WHERE s.account_id = ${accountId} AND s.status = 'linked'
      ORDER BY s.domain, s.id`
  )
}
