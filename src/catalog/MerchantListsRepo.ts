import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { MerchantFilters, MerchantState, MissingField } from "./MerchantLists.ts"
import { likePattern, type Needle } from "./SearchText.ts"

type WindowFilters = Omit<MerchantFilters, "search"> & { readonly needles: ReadonlyArray<Needle> }

/** A page of ids. */
export interface WindowPage {
  readonly ids: ReadonlyArray<EntityId>
  /** The place from which the next page continues. Undefined: there are no more entities. */
  readonly next: number | undefined
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

const decodeWindow = Schema.decodeUnknown(
  Schema.Tuple(
    Schema.Struct({
      ids: Schema.Array(EntityId),
      place: Schema.NullOr(Schema.Number),
      last: Schema.NullOr(Schema.Number),
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
        readonly from: number | undefined
        readonly limit: number
        readonly isNewestFirst: boolean
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

  return (accountId, kind, filters, { from, isNewestFirst, limit, windowSize }) => {
    const conditions = chosen(accountId, filters)
    const direction = sql.literal(isNewestFirst ? "DESC" : "ASC")
    const beyond = sql.literal(isNewestFirst ? "<" : ">")
    // Without other conditions the attributes, which may be long, are not read.
    const columns = conditions.length === 0 ? sql`e.id, e.change_seq` : sql`e.id, e.change_seq, e.attributes`
    return sql`
      WITH w AS MATERIALIZED (
        SELECT ${sql.literal(planCustom)} ${columns}
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(`'${kind}'`)}
        ${from === undefined ? sql`` : sql`AND e.change_seq ${beyond} ${from}`}
        ${indexed(accountId, filters)}
        ORDER BY e.change_seq ${direction} LIMIT ${sql.literal(String(windowSize + 1))}
      ), matching AS MATERIALIZED (
        SELECT w.id, w.change_seq FROM w ${conditions.length === 0 ? sql`` : sql`WHERE ${sql.and(conditions)}`}
      ), page AS (
        SELECT m.id, m.change_seq FROM matching m ORDER BY m.change_seq ${direction} LIMIT ${limit}
      )
      SELECT (SELECT coalesce(array_agg(p.id ORDER BY p.change_seq ${direction}), '{}') FROM page p) AS ids,
             (SELECT (array_agg(p.change_seq ORDER BY p.change_seq ${direction}))[count(*)] FROM page p) AS place,
             (SELECT ${sql.literal(isNewestFirst ? "min" : "max")}(w.change_seq) FROM w) AS last,
             (SELECT count(*) FROM matching) AS found,
             (SELECT count(*) FROM w) AS seen`.pipe(
      Effect.flatMap(decodeWindow),
      Effect.map(([{ found, ids, last, place, seen }]) => {
        const isCut = seen > windowSize
        const next = found > limit ? place : isCut ? last : null
        return { ids, next: next ?? undefined, found, isCut }
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
  const read = SqlSchema.findAll({
    Request: Schema.String,
    Result: StoreCounts,
    execute: (accountId) => sql`
      SELECT s.id AS "storeId", ${countOf(accountId, "v.last_publish_status = 'failed'")} AS failed,
             ${countOf(accountId, "v.last_publish_status = 'pending'")} AS publishing,
             ${countOf(accountId, "v.pending_publish")} AS unpublished
      FROM store s WHERE s.account_id = ${accountId} AND s.status = 'linked'
      ORDER BY s.domain, s.id`
  })
  return (accountId) => orDie(read(accountId))
}
