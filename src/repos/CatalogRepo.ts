import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Ref, Schema } from "effect"
import { planCustom } from "../database/Database.ts"
import { DirectQuery } from "../database/DirectQuery.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Attributes, EntityKind, titleOf, valueOf } from "../domain/Attribute.ts"
import { type EntityRecord, type EntityRow, mediaTypeOf, StorePublishState } from "../domain/Entity.ts"
import { type AccountId, EntityId, StoreId } from "../domain/Ids.ts"
import { PublishStatus } from "../domain/PublishState.ts"
import { likePattern, matches, type Needle } from "../domain/SearchText.ts"
import { Timestamp } from "../domain/Timestamp.ts"
import { type MemoryAccount, type MemoryEntity, MemoryStore } from "./MemoryStore.ts"

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
    readonly find: (accountId: AccountId, kind: EntityKind, id: EntityId) => Effect.Effect<Option.Option<EntityRecord>>
    /** The store versions of an entity, by domain; with `storeId`, at most that one. */
    readonly versions: (
      accountId: AccountId,
      kind: EntityKind,
      id: EntityId,
      storeId?: StoreId
    ) => Effect.Effect<Option.Option<VersionsRecord>>
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

      /**
       * One row more than asked for tells whether more follow. A number in the text lets PostgreSQL keep its plan, which a
       * parameter would not; only for the usual sizes, as each text stays prepared.
       */
      const rowsToRead = (limit: number) =>
        usualLimits.has(limit) ? sql.literal(String(limit + 1)) : sql`${limit} + 1 ${sql.literal(planCustom)}`

      return {
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
              ${
                // Stamps rise with change_seq, so the first one since that time bounds the walk by its own index.
                filters.updatedSince === undefined
                  ? sql``
                  : sql`AND e.change_seq >= (
                      SELECT f.change_seq FROM entity f
                      WHERE f.account_id = ${accountId} AND f.canonical_changed_at >= ${filters.updatedSince}
                      ORDER BY f.canonical_changed_at LIMIT 1
                    )`
              }
              ${
                filters.collectionId === undefined
                  ? sql``
                  : sql`AND EXISTS (
                      SELECT FROM collection_member m
                      WHERE m.account_id = e.account_id AND m.collection_id = ${filters.collectionId} AND m.product_id = e.id
                    )`
              }
              ${
                // A rare term wants the trigram index, a common one the change order: the plan depends on the term.
                filters.needles === undefined || filters.needles.length === 0
                  ? sql``
                  : sql`AND ${sql.literal(planCustom)} ${sql.and(
                      filters.needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`)
                    )}`
              }
              ORDER BY e.change_seq
              LIMIT ${rowsToRead(limit)}
            ) page`).pipe(
            Effect.flatMap(decodePage),
            Effect.map(([{ count, last, rows }]) => {
              const more = count > limit
              return { rows: more ? rows.slice(0, rows.lastIndexOf(rowSeparator)) : rows, last, more }
            }),
            orDie
          ),
        find: (accountId, kind, id) => orDie(findEntity({ accountId, kind, id })),
        versions: (accountId, kind, id, storeId) =>
          orDie(findVersions({ accountId, kind, id, storeId: storeId ?? null })),
        cursorKey: sql`SELECT cursor_key AS key FROM installation`.pipe(
          Effect.flatMap(Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ key: Schema.Uint8ArrayFromSelf })))),
          Effect.map(([{ key }]) => key),
          orDie
        )
      }
    })
  )

  /** The executable specification: it passes the same contract suite as `layer`. */
  static readonly layerMemory = Layer.effect(
    CatalogRepo,
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const entity = (accountId: AccountId, kind: EntityKind, id: EntityId) =>
        Effect.map(Ref.get(store), (state) => {
          const account = state.get(accountId)
          const found = account?.entities.get(id)
          return account === undefined || found?.aggregate.kind !== kind
            ? Option.none()
            : Option.some({ account, found })
        })
      return {
        page: (accountId, kind, filters, after, limit) =>
          Effect.map(Ref.get(store), (state) => {
            const account = state.get(accountId)
            const members =
              filters.collectionId === undefined
                ? undefined
                : new Set(account?.entities.get(filters.collectionId)?.aggregate.members)
            const found = [...(account?.entities.values() ?? [])]
              .filter(
                ({ aggregate, canonicalChangedAt, changeSeq }) =>
                  aggregate.kind === kind &&
                  changeSeq > after &&
                  (filters.status === undefined || aggregate.lastPublishStatus === filters.status) &&
                  (filters.updatedSince === undefined || canonicalChangedAt >= filters.updatedSince) &&
                  (members === undefined || members.has(aggregate.id)) &&
                  (filters.needles === undefined || matches(aggregate.searchText, filters.needles))
              )
              .sort((left, right) => left.changeSeq - right.changeSeq)
            const page = found.slice(0, limit)
            return {
              rows: page.map((row) => JSON.stringify(rowOf(row))).join(","),
              last: page.at(-1)?.changeSeq ?? null,
              more: found.length > limit
            }
          }),
        find: (accountId, kind, id) =>
          Effect.map(
            entity(accountId, kind, id),
            Option.map(({ account, found }) => recordOf(account, found))
          ),
        versions: (accountId, kind, id, storeId) =>
          Effect.map(
            entity(accountId, kind, id),
            Option.map(({ account, found: { aggregate } }) => ({
              attributes: aggregate.attributes,
              versions: aggregate.versions.flatMap((version) => {
                const linked = account.stores.get(version.storeId)
                return linked === undefined || (storeId !== undefined && version.storeId !== storeId)
                  ? []
                  : [
                      {
                        storeId: version.storeId,
                        storeDomain: linked.domain,
                        overrides: version.overrides,
                        pendingPublish: version.pendingPublish,
                        lastPublishStatus: version.lastPublishStatus
                      }
                    ]
              })
            }))
          ),
        cursorKey: Effect.succeed(new TextEncoder().encode("memory twin: a key of 32 bytes.."))
      }
    })
  )
}

/** Limits whose pages are prepared: the default, the largest, and what people take between. */
const usualLimits: ReadonlySet<number> = new Set([10, 25, 50, 100, 200, 250])

/** JSON text holds no line break but this one: the row that only tells whether more follow is cut off at the last. */
const rowSeparator = ",\n"

const rowOf = ({ aggregate, canonicalChangedAt, draftRevision }: MemoryEntity): EntityRow => {
  const { attributes, kind, parentId } = aggregate
  const row = {
    id: aggregate.id,
    title: titleOf(kind, attributes),
    draft_revision: draftRevision,
    pending_publish: aggregate.pendingPublish,
    last_publish_status: aggregate.lastPublishStatus,
    store_ids: aggregate.storeIds,
    updated_at: canonicalChangedAt
  }
  switch (kind) {
    case "product":
      return { ...row, type: kind }
    case "variant":
      return { ...row, type: kind, product_id: parentId ?? aggregate.id, sku: valueOf(attributes, "sku") }
    case "collection":
      return { ...row, type: kind, handle: valueOf(attributes, "handle") }
    case "media":
      return {
        ...row,
        type: kind,
        url: valueOf(attributes, "url"),
        media_type: mediaTypeOf(valueOf(attributes, "mime_type")),
        alt: valueOf(attributes, "alt")
      }
  }
}

const recordOf = (account: MemoryAccount, entity: MemoryEntity): EntityRecord => {
  const { aggregate } = entity
  const others = [...account.entities.values()].map((other) => other.aggregate)
  const byId = (left: { readonly id: string }, right: { readonly id: string }) => (left.id < right.id ? -1 : 1)
  return {
    id: aggregate.id,
    title: titleOf(aggregate.kind, aggregate.attributes),
    attributes: aggregate.attributes,
    draftRevision: entity.draftRevision,
    pendingPublish: aggregate.pendingPublish,
    lastPublishStatus: aggregate.lastPublishStatus,
    createdAt: entity.createdAt,
    updatedAt: entity.canonicalChangedAt,
    parentId: aggregate.parentId,
    variantIds: others
      .filter(({ parentId }) => parentId === aggregate.id)
      .sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
      .map(({ id }) => id),
    mediaIds: aggregate.gallery.map(({ mediaId }) => mediaId),
    collectionIds: others
      .filter(({ members }) => members.includes(aggregate.id))
      .sort(byId)
      .map(({ id }) => id),
    productsCount: aggregate.members.length,
    usedBy: others
      .filter(({ gallery }) => gallery.some(({ mediaId }) => mediaId === aggregate.id))
      .sort(byId)
      .map(({ id, kind }) => ({ id, kind })),
    stores: aggregate.versions.flatMap((version) => {
      const linked = account.stores.get(version.storeId)
      return linked === undefined
        ? []
        : [
            {
              store_id: version.storeId,
              store_domain: linked.domain,
              pending_publish: version.pendingPublish,
              last_publish_status: version.lastPublishStatus,
              published_at: version.publishedAt,
              last_publish_error: version.lastPublishError
            }
          ]
    })
  }
}
