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
import type { ListOrder, MerchantFilters, MerchantState, MissingField } from "./MerchantLists.ts"
import { likePattern, type Needle } from "./SearchText.ts"

type WindowFilters = Omit<MerchantFilters, "search"> & { readonly needles: ReadonlyArray<Needle> }

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
  /** Number of matching entities in the window. */
  readonly found: number
  /** Whether the window ended before the list did: there may be more than `found`. */
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
      ids: Schema.Array(EntityId),
      // The last row of the page, and the last one of the window.
      place: Schema.NullOr(PlaceRow),
      last: Schema.NullOr(PlaceRow),
      found: Schema.Number,
      seen: Schema.Number
    })
  )
)

/** Reads the lists of the console's pages. */
export class MerchantListsRepo extends Context.Tag("catalog/MerchantListsRepo")<
  MerchantListsRepo,
  {
    /**
     * Looks at `windowSize` entities at most. The filters that an index serves (search, store, state) choose the entities of the
     * window, the others choose among them. So the time is bounded, however few entities match.
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

/** OFFSET 0: the look-ups by key of a window are not joined with whole tables. */
const makeWindow = (sql: SqlClient.SqlClient): Context.Tag.Service<MerchantListsRepo>["window"] => {
  const stateConditions: Readonly<Record<MerchantState, (alias: Fragment) => Fragment>> = {
    live: (alias) => sql`AND ${alias}.last_publish_status = 'published' AND NOT ${alias}.pending_publish`,
    changed: (alias) => sql`AND ${alias}.pending_publish AND ${alias}.last_publish_status = 'published'`,
    publishing: (alias) => sql`AND ${alias}.last_publish_status = 'pending'`,
    failed: (alias) => sql`AND ${alias}.last_publish_status = 'failed'`,
    unpublished: (alias) => sql`AND ${alias}.last_publish_status = 'never_published'`
  }
  const inState = (alias: string, state: MerchantState | undefined) =>
    state === undefined ? sql`` : stateConditions[state](sql.literal(alias))

  const indexed = (accountId: AccountId, { needles, state, storeId }: WindowFilters) => sql`
    ${
      storeId === undefined
        ? inState("e", state)
        : sql`AND ${storeId} = ANY (e.store_ids) AND EXISTS (
            SELECT FROM store_version v
            WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ${storeId} ${inState("v", state)}
            OFFSET 0
          )`
    }
    ${needles.length === 0 ? sql`` : sql`AND ${sql.and(needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`))}`}`

  const isEmpty = (key: string) => sql`coalesce(w.attributes #>> ${sql.literal(`'{${key},value}'`)}, '') IN ('', '[]')`
  const missing = (accountId: AccountId): Readonly<Record<MissingField, Fragment>> => ({
    description: isEmpty("description_html"),
    vendor: isEmpty("vendor"),
    type: isEmpty("product_type"),
    tags: isEmpty("tags"),
    picture: sql`NOT EXISTS (SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.entity_id = w.id OFFSET 0)`
  })
  const chosen = (accountId: AccountId, filters: WindowFilters): ReadonlyArray<Fragment> => {
    const { hasOwnValues, productType, storeId, tag, vendor } = filters
    return [
      ...(vendor === undefined ? [] : [sql`w.attributes #>> '{vendor,value}' = ${vendor}`]),
      ...(productType === undefined ? [] : [sql`w.attributes #>> '{product_type,value}' = ${productType}`]),
      ...(tag === undefined ? [] : [sql`position(${JSON.stringify(tag)} IN w.attributes #>> '{tags,value}') > 0`]),
      ...(filters.missing === undefined ? [] : [missing(accountId)[filters.missing]]),
      ...(hasOwnValues !== true
        ? []
        : [
            sql`EXISTS (
              SELECT FROM store_version o WHERE o.account_id = ${accountId} AND o.entity_id = w.id AND o.overrides <> '{}'
              ${storeId === undefined ? sql`` : sql`AND o.store_id = ${storeId}`}
              OFFSET 0
            )`
          ])
    ]
  }

  const beyond = (order: ListOrder, from: Place | undefined) => {
    const sign = sql.literal(isDescending(order) ? "<" : ">")
    if (from === undefined) return sql``
    return typeof from === "number"
      ? sql`AND e.change_seq ${sign} ${from}`
      : sql`AND (${sql.literal(titleKey)}, e.id) ${sign} (${from[0]}::text, ${from[1]}::uuid)`
  }

  return (accountId, kind, filters, { from, limit, order, windowSize }) => {
    const conditions = chosen(accountId, filters)
    const isByTitle = order === "title" || order === "title-desc"
    const key = sql.literal(isByTitle ? titleKey : "e.change_seq")
    const direction = isDescending(order) ? "DESC" : "ASC"
    const opposite = isDescending(order) ? "ASC" : "DESC"
    const ordered = (alias: string, by: string) =>
      sql.literal(isByTitle ? `${alias}.key ${by}, ${alias}.id ${by}` : `${alias}.key ${by}`)
    // Without other conditions the attributes, which may be long, are not read.
    const columns = conditions.length === 0 ? sql`e.id` : sql`e.id, e.attributes`
    return sql`
      WITH w AS MATERIALIZED (
        SELECT ${sql.literal(planCustom)} ${columns}, ${key} AS key
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(`'${kind}'`)}
        ${beyond(order, from)}
        ${indexed(accountId, filters)}
        ORDER BY ${key} ${sql.literal(isByTitle ? `${direction}, e.id ${direction}` : direction)}
        LIMIT ${sql.literal(String(windowSize + 1))}
      ), matching AS MATERIALIZED (
        SELECT w.id, w.key FROM w ${conditions.length === 0 ? sql`` : sql`WHERE ${sql.and(conditions)}`}
      ), page AS MATERIALIZED (
        SELECT m.id, m.key FROM matching m ORDER BY ${ordered("m", direction)} LIMIT ${limit}
      )
      SELECT (SELECT coalesce(array_agg(p.id ORDER BY ${ordered("p", direction)}), '{}') FROM page p) AS ids,
             (SELECT jsonb_build_object('id', p.id, 'key', p.key) FROM page p ORDER BY ${ordered("p", opposite)} LIMIT 1) AS place,
             (SELECT jsonb_build_object('id', w.id, 'key', w.key) FROM w ORDER BY ${ordered("w", opposite)} LIMIT 1) AS last,
             (SELECT count(*) FROM matching) AS found,
             (SELECT count(*) FROM w) AS seen`.pipe(
      Effect.flatMap(decodeWindow),
      Effect.map(([{ found, ids, last, place, seen }]) => {
        const isCut = seen > windowSize
        const next = found > limit ? place : isCut ? last : null
        return { ids, next: next === null ? undefined : placeOf(next), found, isCut }
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
