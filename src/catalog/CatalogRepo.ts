import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { DirectQuery } from "../database/DirectQuery.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type EntityRecord, StorePublishState } from "./Entity.ts"
import { likePattern, type Needle } from "./SearchText.ts"

/** What narrows a list; an absent member narrows nothing. */
export interface ListFilters {
  /** Only entities whose own canonical record changed at this time or later. */
  readonly updatedSince?: Timestamp | undefined
  readonly status?: PublishStatus | undefined
  /** Every one must occur in the search text. */
  readonly needles?: ReadonlyArray<Needle> | undefined
  /** Only members of this collection. */
  readonly collectionId?: EntityId | undefined
}

/** A page of rows as JSON text, ready to be sent. */
export interface RowPage {
  /** The rows, comma-separated, without brackets. */
  readonly rows: string
  /** Place in the change order of the last row; null on an empty page. */
  readonly last: number | null
  /** Whether more rows follow. */
  readonly more: boolean
}

/** Lists of what an entity can be related to, in the order in which they are read. */
export const relatedLists = ["variants", "media", "collections", "products"] as const
export type RelatedList = (typeof relatedLists)[number]

/** Rows of what an entity is related to as JSON text: of each list, comma-separated, without brackets. */
export interface RelatedPage {
  readonly rows: Readonly<Record<RelatedList, string>>
  readonly more: boolean
}

/** The values of an entity on each of its stores. */
export interface VersionsRecord {
  readonly attributes: Attributes
  readonly versions: ReadonlyArray<typeof VersionRecord.Type>
}

const VersionRecord = Schema.Struct({
  storeId: StoreId,
  storeDomain: Schema.String,
  overrides: Attributes,
  pendingPublish: Schema.Boolean,
  lastPublishStatus: PublishStatus
})

/** Reads of products, variants, collections and media. */
export class CatalogRepo extends Context.Tag("catalog/CatalogRepo")<
  CatalogRepo,
  {
    /** Up to `limit` rows after a place in the change order (0: from the start), oldest canonical change first. */
    readonly page: (
      accountId: AccountId,
      kind: EntityKind,
      filters: ListFilters,
      after: number,
      limit: number
    ) => Effect.Effect<RowPage>
    /** The same of every kind at once, in the one change order of the account. */
    readonly pageOfAll: (
      accountId: AccountId,
      filters: Omit<ListFilters, "collectionId">,
      after: number,
      limit: number
    ) => Effect.Effect<RowPage>
    readonly find: (accountId: AccountId, kind: EntityKind, id: EntityId) => Effect.Effect<Option.Option<EntityRecord>>
    /** The kind of an entity; none: the account has no such entity. */
    readonly kindOf: (accountId: AccountId, id: EntityId) => Effect.Effect<Option.Option<EntityKind>>
    /** Variants with this canonical SKU, by id. */
    readonly withSku: (accountId: AccountId, sku: string) => Effect.Effect<ReadonlyArray<EntityId>>
    /** Products and collections with this canonical handle, by kind, then id. */
    readonly withHandle: (
      accountId: AccountId,
      handle: string
    ) => Effect.Effect<ReadonlyArray<{ readonly id: EntityId; readonly kind: EntityKind }>>
    /**
     * List rows of what an entity is related to, from a place on: variants of a product by position, media in gallery order,
     * collections by id, products (of a variant its own, of a collection its members by position), then those who use a media
     * file by id. As JSON text by list; `more`: whether rows follow. Nothing where there is no such entity.
     */
    readonly related: (accountId: AccountId, id: EntityId, from: number, limit: number) => Effect.Effect<RelatedPage>
    /** The store versions of an entity, by domain; with `storeId`, at most that one. */
    readonly versions: (
      accountId: AccountId,
      kind: EntityKind,
      id: EntityId,
      storeId?: StoreId
    ) => Effect.Effect<Option.Option<VersionsRecord>>
    /** What a store calls an entity of this kind: null, nothing yet. None: there is no such entity, or none on that store. */
    readonly onStore: (
      accountId: AccountId,
      kind: EntityKind,
      id: EntityId,
      storeId: StoreId
    ) => Effect.Effect<Option.Option<{ readonly platformId: string | null }>>
    /** The bytes that authenticate cursors: one key for the whole database. */
    readonly cursorKey: Effect.Effect<Uint8Array>
  }
>() {
  static readonly layer = Layer.effect(
    CatalogRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const direct = yield* DirectQuery

      const PageRow = Schema.Struct({ rows: Schema.String, last: Schema.NullOr(Schema.Number), count: Schema.Number })
      const decodePage = Schema.decodeUnknown(Schema.Tuple(PageRow))

      const findEntity = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.String, kind: EntityKind, id: EntityId }),
        Result: Schema.Struct({
          id: EntityId,
          title: Schema.String,
          attributes: Attributes,
          draftRevision: Schema.Number,
          pendingPublish: Schema.Boolean,
          lastPublishStatus: PublishStatus,
          createdAt: Timestamp,
          updatedAt: Timestamp,
          parentId: Schema.NullOr(EntityId),
          variantIds: Schema.Array(EntityId),
          mediaIds: Schema.Array(EntityId),
          collectionIds: Schema.Array(EntityId),
          productsCount: Schema.Number,
          usedBy: Schema.Array(Schema.Struct({ id: EntityId, kind: EntityKind })),
          stores: Schema.Array(StorePublishState)
        }),
        execute: ({ accountId, id, kind }) => sql`
          SELECT e.id, e.title, e.attributes, e.draft_revision AS "draftRevision", e.pending_publish AS "pendingPublish",
                 e.last_publish_status AS "lastPublishStatus", rfc3339(e.created_at) AS "createdAt",
                 rfc3339(e.canonical_changed_at) AS "updatedAt", e.parent_id AS "parentId",
                 ARRAY(
                   SELECT v.id FROM entity v
                   WHERE v.account_id = e.account_id AND v.parent_id = e.id
                   ORDER BY v.position, v.id
                 ) AS "variantIds",
                 ARRAY(
                   SELECT g.media_id FROM entity_media g
                   WHERE g.account_id = e.account_id AND g.entity_id = e.id
                   ORDER BY g.position, g.media_id
                 ) AS "mediaIds",
                 ARRAY(
                   SELECT m.collection_id FROM collection_member m
                   WHERE m.account_id = e.account_id AND m.product_id = e.id
                   ORDER BY m.collection_id
                 ) AS "collectionIds",
                 (
                   SELECT count(*) FROM collection_member m
                   WHERE m.account_id = e.account_id AND m.collection_id = e.id
                 ) AS "productsCount",
                 (
                   SELECT coalesce(json_agg(json_build_object('id', u.id, 'kind', u.kind) ORDER BY u.id), '[]')
                   FROM entity_media g
                   JOIN entity u ON u.account_id = g.account_id AND u.id = g.entity_id
                   WHERE g.account_id = e.account_id AND g.media_id = e.id
                 ) AS "usedBy",
                 (
                   SELECT coalesce(json_agg(json_build_object(
                     'store_id', s.id, 'store_domain', s.domain, 'pending_publish', v.pending_publish,
                     'last_publish_status', v.last_publish_status, 'published_at', rfc3339(v.published_at),
                     'last_publish_error', v.last_publish_error
                   ) ORDER BY s.domain COLLATE "C", s.id), '[]')
                   FROM store_version v
                   JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
                   WHERE v.account_id = e.account_id AND v.entity_id = e.id
                 ) AS stores
          FROM entity e
          WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind}`
      })

      /** Stamps rise with change_seq, so the first one since that time bounds the walk by its own index. */
      const changedSince = (accountId: AccountId, { updatedSince }: ListFilters) =>
        updatedSince === undefined
          ? sql``
          : sql`AND e.change_seq >= (
              SELECT f.change_seq FROM entity f
              WHERE f.account_id = ${accountId} AND f.canonical_changed_at >= ${updatedSince}
              ORDER BY f.canonical_changed_at LIMIT 1
            )`

      /** A rare term wants the trigram index, a common one the change order: the plan depends on the term. */
      const matching = ({ needles }: ListFilters) =>
        needles === undefined || needles.length === 0
          ? sql``
          : sql`AND ${sql.literal(planCustom)} ${sql.and(
              needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`)
            )}`

      const pageOf =
        (limit: number) =>
        ([{ count, last, rows }]: readonly [typeof PageRow.Type]): RowPage => {
          const more = count > limit
          return { rows: more ? rows.slice(0, rows.lastIndexOf(rowSeparator)) : rows, last, more }
        }

      const findVersions = SqlSchema.findOne({
        Request: Schema.Struct({
          accountId: Schema.String,
          kind: EntityKind,
          id: EntityId,
          storeId: Schema.NullOr(StoreId)
        }),
        Result: Schema.Struct({ attributes: Attributes, versions: Schema.Array(VersionRecord) }),
        execute: ({ accountId, id, kind, storeId }) => sql`
          SELECT e.attributes,
                 (
                   SELECT coalesce(json_agg(json_build_object(
                     'storeId', s.id, 'storeDomain', s.domain, 'overrides', v.overrides,
                     'pendingPublish', v.pending_publish, 'lastPublishStatus', v.last_publish_status
                   ) ORDER BY s.domain COLLATE "C", s.id), '[]')
                   FROM store_version v
                   JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
                   WHERE v.account_id = e.account_id AND v.entity_id = e.id
                     AND (${storeId}::uuid IS NULL OR v.store_id = ${storeId}::uuid)
                 ) AS versions
          FROM entity e
          WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind}`
      })

      const findOnStore = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.String, kind: EntityKind, id: EntityId, storeId: StoreId }),
        Result: Schema.Struct({ platformId: Schema.NullOr(Schema.String) }),
        execute: ({ accountId, id, kind, storeId }) => sql`
          SELECT v.platform_id AS "platformId"
          FROM entity e
          JOIN store_version v ON v.account_id = e.account_id AND v.entity_id = e.id
          JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
          WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind} AND v.store_id = ${storeId}`
      })

      /**
       * One row more than asked for tells whether more follow. A number in the text lets PostgreSQL keep its plan, which a
       * parameter would not; only for the usual sizes, as each text stays prepared.
       */
      const rowsToRead = (limit: number) =>
        usualLimits.has(limit) ? sql.literal(String(limit + 1)) : sql`${limit} + 1 ${sql.literal(planCustom)}`

      const findKind = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: Schema.String, id: EntityId }),
        Result: Schema.Struct({ kind: EntityKind }),
        execute: ({ accountId, id }) => sql`SELECT kind FROM entity WHERE account_id = ${accountId} AND id = ${id}`
      })

      const findWithHandle = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, handle: Schema.String }),
        Result: Schema.Struct({ id: EntityId, kind: EntityKind }),
        execute: ({ accountId, handle }) => sql`
          SELECT e.kind, e.id FROM entity e
          WHERE e.account_id = ${accountId} AND e.kind = 'collection' AND e.attributes #>> '{handle,value}' = ${handle}
          UNION ALL
          SELECT e.kind, e.id FROM entity e
          WHERE e.account_id = ${accountId} AND e.kind = 'product' AND e.attributes #>> '{handle,value}' = ${handle}
          ORDER BY kind, id`
      })

      const findWithSku = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, sku: Schema.String }),
        Result: Schema.Struct({ id: EntityId }),
        execute: ({ accountId, sku }) => sql`
          SELECT e.id FROM entity e
          WHERE e.account_id = ${accountId} AND e.kind = 'variant' AND e.attributes #>> '{sku,value}' = ${sku}
          ORDER BY e.id`
      })

      const findRelated = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, id: EntityId, from: Schema.Number, limit: Schema.Number }),
        Result: Schema.Struct({ list: Schema.Literal(...relatedLists), row: Schema.String }),
        execute: ({ accountId, from, id, limit }) => sql`
          SELECT CASE r.kind WHEN 'variant' THEN 'variants' WHEN 'media' THEN 'media'
                             WHEN 'collection' THEN 'collections' ELSE 'products' END AS list,
                 r.list_row AS row
          FROM (
            SELECT 1 AS list, v.position, v.id FROM entity v
            WHERE v.account_id = ${accountId} AND v.parent_id = ${id}
            UNION ALL
            SELECT 2, g.position, g.media_id FROM entity_media g
            WHERE g.account_id = ${accountId} AND g.entity_id = ${id}
            UNION ALL
            SELECT 3, 0, m.collection_id FROM collection_member m
            WHERE m.account_id = ${accountId} AND m.product_id = ${id}
            UNION ALL
            SELECT 4, 0, e.parent_id FROM entity e
            WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.parent_id IS NOT NULL
            UNION ALL
            SELECT 4, m.position, m.product_id FROM collection_member m
            WHERE m.account_id = ${accountId} AND m.collection_id = ${id}
            UNION ALL
            SELECT CASE u.kind WHEN 'variant' THEN 1 WHEN 'collection' THEN 3 ELSE 4 END, 0, u.id
            FROM entity_media g
            JOIN entity u ON u.account_id = g.account_id AND u.id = g.entity_id
            WHERE g.account_id = ${accountId} AND g.media_id = ${id}
            ORDER BY 1, 2, 3
            LIMIT ${limit} OFFSET ${from}
          ) related
          JOIN entity r ON r.account_id = ${accountId} AND r.id = related.id
          ORDER BY related.list, related.position, related.id`
      })

      return {
        pageOfAll: (accountId, filters, after, limit) =>
          direct(sql`
            -- A walk of each kind, by the indexes of the lists of one kind, merged.
            SELECT coalesce(string_agg(page.list_row, ${rowSeparator}), '') AS rows,
                   coalesce((array_agg(page.change_seq))[${limit}], max(page.change_seq)) AS last,
                   count(*) AS count
            FROM (
              SELECT walk.change_seq, walk.list_row
              FROM (VALUES ('product'), ('variant'), ('collection'), ('media')) kinds (kind)
              CROSS JOIN LATERAL (
                SELECT e.change_seq, e.list_row
                FROM entity e
                WHERE e.account_id = ${accountId} AND e.kind = kinds.kind
                  AND e.change_seq > (SELECT ${after}::bigint)
                ${filters.status === undefined ? sql`` : sql`AND e.last_publish_status = ${filters.status}`}
                ${changedSince(accountId, filters)}
                ${matching(filters)}
                ORDER BY e.change_seq
                LIMIT ${rowsToRead(limit)}
              ) walk
              ORDER BY walk.change_seq
              LIMIT ${rowsToRead(limit)}
            ) page`).pipe(Effect.flatMap(decodePage), Effect.map(pageOf(limit)), orDie),
        page: (accountId, kind, filters, after, limit) =>
          direct(sql`
            -- The rows arrive in the order of the sub-select, and the aggregates keep it.
            SELECT coalesce(string_agg(page.list_row, ${rowSeparator}), '') AS rows,
                   coalesce((array_agg(page.change_seq))[${limit}], max(page.change_seq)) AS last,
                   count(*) AS count
            FROM (
              SELECT e.change_seq, e.list_row
              FROM entity e
              WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(`'${kind}'`)}
              ${
                // In a sub-select, so that a plan for this one place looks no better than the one that is kept.
                sql`AND e.change_seq > (SELECT ${after}::bigint)`
              }
              ${filters.status === undefined ? sql`` : sql`AND e.last_publish_status = ${filters.status}`}
              ${changedSince(accountId, filters)}
              ${
                filters.collectionId === undefined
                  ? sql``
                  : sql`AND EXISTS (
                      SELECT FROM collection_member m
                      WHERE m.account_id = e.account_id AND m.collection_id = ${filters.collectionId} AND m.product_id = e.id
                    )`
              }
              ${matching(filters)}
              ORDER BY e.change_seq
              LIMIT ${rowsToRead(limit)}
            ) page`).pipe(Effect.flatMap(decodePage), Effect.map(pageOf(limit)), orDie),
        find: (accountId, kind, id) => orDie(findEntity({ accountId, kind, id })),
        kindOf: (accountId, id) =>
          orDie(
            Effect.map(
              findKind({ accountId, id }),
              Option.map(({ kind }) => kind)
            )
          ),
        withHandle: (accountId, handle) => orDie(findWithHandle({ accountId, handle })),
        withSku: (accountId, sku) =>
          Effect.map(orDie(findWithSku({ accountId, sku })), (rows) => rows.map(({ id }) => id)),
        related: (accountId, id, from, limit) =>
          orDie(
            Effect.map(findRelated({ accountId, id, from, limit: limit + 1 }), (found) => ({
              rows: byList(found.slice(0, limit)),
              more: found.length > limit
            }))
          ),
        versions: (accountId, kind, id, storeId) =>
          orDie(findVersions({ accountId, kind, id, storeId: storeId ?? null })),
        onStore: (accountId, kind, id, storeId) => orDie(findOnStore({ accountId, kind, id, storeId })),
        cursorKey: sql`SELECT cursor_key AS key FROM installation`.pipe(
          Effect.flatMap(Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ key: Schema.Uint8ArrayFromSelf })))),
          Effect.map(([{ key }]) => key),
          orDie
        )
      }
    })
  )
}

/** Limits whose pages are prepared: the default, the largest, and what people take between. */
const usualLimits: ReadonlySet<number> = new Set([10, 25, 50, 100, 200, 250])

/** JSON text holds no line break but this one: the row that only tells whether more follow is cut off at the last. */
const rowSeparator = ",\n"

/** Rows by their list, each list as JSON text. */
export const byList = (
  found: ReadonlyArray<{ readonly list: RelatedList; readonly row: string }>
): RelatedPage["rows"] => {
  const of = (list: RelatedList) =>
    found
      .filter((each) => each.list === list)
      .map(({ row }) => row)
      .join(",")
  return { variants: of("variants"), media: of("media"), collections: of("collections"), products: of("products") }
}
