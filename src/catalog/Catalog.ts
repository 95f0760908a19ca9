import { Context, Effect, Layer, Option } from "effect"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { type EntityKind, effective, toTriples } from "../model/Attribute.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, type StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import type { PublishStatus } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { CatalogRepo } from "./CatalogRepo.ts"
import {
  firstMember,
  firstRelated,
  type RelatedList,
  type RelatedPlace,
  type RowPage,
  relatedLists,
  type VersionsRecord
} from "./CatalogRows.ts"
import { type CursorBinding, type CursorCodec, cursorLength, makeCursorCodec } from "./CursorCodec.ts"
import type { Include, StoreVersion } from "./Entity.ts"
import { idsIn, makeLimitRows } from "./LimitedRows.ts"
import { terms } from "./SearchText.ts"

export interface ListQuery {
  /** Rows on a page, 1 to 250. */
  readonly limit: number
  readonly cursor?: string | undefined
  readonly updated_since?: Timestamp | undefined
  /** Only entities on this store; `status` and `pending` then refer to that store. An unknown store has no entities. */
  readonly store_id?: StoreId | undefined
  readonly status?: PublishStatus | undefined
  /** Whether the entity has changes that are not published yet. */
  readonly pending?: boolean | undefined
  /** All terms, split on white space, must match. Blank text filters nothing. */
  readonly search?: string | undefined
  /** Alias of `pending`. */
  readonly pending_publish?: boolean | undefined
  /** Only members of this collection. Only for products. An unknown collection has no members. */
  readonly collection_id?: EntityId | undefined
  /** Only these entities. All of them are on one page, whatever `limit` is, unless they are too long. */
  readonly ids?: ReadonlyArray<EntityId> | undefined
  /** Only entities with one of these canonical values. A product has the SKUs and barcodes of its variants. */
  readonly handle?: ReadonlyArray<string> | undefined
  readonly sku?: ReadonlyArray<string> | undefined
  readonly barcode?: ReadonlyArray<string> | undefined
  /** The groups of the details that rows have. Undefined: rows are list rows. Only for lists of one kind. */
  readonly include?: ReadonlyArray<Include> | undefined
}

export interface Page<Row> {
  readonly data: ReadonlyArray<Row>
  readonly next_cursor: string | null
}

/** List rows of the entities that are related to one entity, by list. */
type Related = Readonly<Record<RelatedList, ReadonlyArray<unknown>>> & { readonly next_cursor: string | null }

const orNotFound = <A>(found: Effect.Effect<Option.Option<A>>): Effect.Effect<A, NotFound> =>
  Effect.flatMap(
    found,
    Effect.mapError(() => new NotFound())
  )

/** More than any position of an integer column. */
const maxPositions = 2 ** 32

/** Cursors of related entities: the cursor of the list and position, then the id of the entity, which is signed with them as a filter. */
const makePlaceCursors = ({ decode, encode }: CursorCodec) => {
  const bindingOf = (accountId: AccountId, id: EntityId, after: string): CursorBinding => ({
    list: "related",
    accountId,
    filters: { id, after }
  })
  return {
    encode: (accountId: AccountId, id: EntityId, { id: after, list, position }: RelatedPlace) =>
      encode(bindingOf(accountId, id, after), list * maxPositions + position) + after,
    decode: (accountId: AccountId, id: EntityId, text: string): Option.Option<RelatedPlace> => {
      const after = text.slice(cursorLength)
      return Option.map(decode(bindingOf(accountId, id, after), text.slice(0, cursorLength)), (place) => ({
        list: Math.floor(place / maxPositions),
        position: place % maxPositions,
        id: EntityId.make(after)
      }))
    }
  }
}

/**
 * A page of the products of a collection, in order and with their positions, from 1, and the cursor of the next page. The cursor of
 * another list gives the first page. An unknown collection has no products.
 */
const makeMembers = (repo: CatalogRepo["Type"], places: ReturnType<typeof makePlaceCursors>) =>
  Effect.fnUntraced(function* (id: EntityId, { cursor, limit }: Pick<ListQuery, "limit" | "cursor">) {
    const { accountId } = yield* CurrentActor
    const after = Option.flatMap(Option.fromNullable(cursor), (text) => places.decode(accountId, id, text))
    const from = Option.getOrElse(after, () => firstMember)
    const { last, places: found } = yield* repo.related(accountId, id, from, limit)
    const [first] = found
    const before = from === firstMember || first === undefined ? 0 : yield* repo.membersBefore(accountId, id, first.id)
    return {
      members: found.map((place, index) => ({ id: place.id, position: before + index + 1 })),
      next: last === null ? undefined : places.encode(accountId, id, last)
    }
  })

/** Finds those of these products that are in a collection. */
const makeMembersAmong = (repo: CatalogRepo["Type"]) =>
  Effect.fnUntraced(function* (collectionId: EntityId, ids: ReadonlyArray<EntityId>) {
    if (ids.length === 0) return new Set<EntityId>()
    const { accountId } = yield* CurrentActor
    const { rows } = yield* repo.page(accountId, "product", { collectionId, ids }, 0, ids.length)
    return new Set(idsIn(rows))
  })

const make = Effect.gen(function* () {
  const repo = yield* CatalogRepo
  const cursors = makeCursorCodec(yield* repo.cursorKey)
  const places = makePlaceCursors(cursors)

  const limitRows = makeLimitRows(repo)

  const toPage = ({ last, more, rows }: RowPage, binding: CursorBinding) =>
    pageText(rows, more && last !== null ? `"${cursors.encode(binding, last)}"` : "null")

  return {
    /**
     * A page of entities of one kind (null: of all kinds), as JSON text of the rows and the cursor. The entity whose canonical
     * record changed longest ago comes first. With `ids`, a page that is too long names the ids of the other entities in
     * `remaining_ids`. ValidationFailed: the cursor belongs to another list or other filters, or is combined with `ids`.
     */
    list: Effect.fnUntraced(function* (kind: EntityKind | null, query: ListQuery) {
      const { accountId } = yield* CurrentActor
      if (query.ids !== undefined && query.cursor !== undefined) return yield* idsWithCursor
      const pending = query.pending ?? query.pending_publish
      if (query.pending_publish !== undefined && pending !== query.pending_publish) return yield* twoStates
      const needles = query.search === undefined ? [] : terms(query.search)
      const oneOf = (values: ReadonlyArray<string> | undefined) => values && [...new Set(values)].sort().join("\n")
      const binding = {
        list: kind ?? "all",
        accountId,
        filters: {
          updated_since: query.updated_since,
          store_id: query.store_id,
          status: query.status,
          pending: pending === undefined ? undefined : String(pending),
          search: needles.length === 0 ? undefined : needles.join("\n"),
          collection_id: query.collection_id,
          handle: oneOf(query.handle),
          sku: oneOf(query.sku),
          barcode: oneOf(query.barcode)
        }
      }
      const after = query.cursor === undefined ? Option.some(0) : cursors.decode(binding, query.cursor)
      if (Option.isNone(after)) return yield* foreignCursor
      const { stores } = yield* CurrentBounds
      const filters = {
        stores: stores ?? undefined,
        updatedSince: query.updated_since,
        storeId: query.store_id,
        status: query.status,
        isPending: pending,
        needles,
        ids: query.ids
      }
      const limit = query.ids?.length ?? query.limit
      const toListPage = (page: RowPage) =>
        Effect.map(limitRows(accountId, [page.rows], needles), (limited) =>
          toPage({ ...page, rows: limited(page.rows) }, binding)
        )
      if (kind === null) return yield* toListPage(yield* repo.pageOfAll(accountId, filters, after.value, limit))
      const ofKind = {
        ...filters,
        collectionId: query.collection_id,
        handles: query.handle,
        skus: query.sku,
        barcodes: query.barcode
      }
      if (query.include === undefined)
        return yield* toListPage(yield* repo.page(accountId, kind, ofKind, after.value, limit))
      const page = yield* repo.includingPage(accountId, kind, query.include, ofKind, after.value, limit)
      if (query.ids === undefined || !page.more) return toPage(page, binding)
      const all = yield* repo.page(accountId, kind, ofKind, page.last ?? 0, limit)
      return pageText(page.rows, "null", idsIn(all.rows))
    }),
    /** NotFound: no such entity, or it belongs to another account. */
    kindOf: Effect.fnUntraced(function* (id: EntityId) {
      const { accountId } = yield* CurrentActor
      return yield* orNotFound(repo.kindOf(accountId, id))
    }),
    /** Products and collections with this canonical handle, then variants with this canonical SKU, by id. `""` finds nothing. */
    withName: Effect.fnUntraced(function* (name: string) {
      if (name === "") return []
      const { accountId } = yield* CurrentActor
      const withSku = yield* repo.withSku(accountId, name)
      return [...(yield* repo.withHandle(accountId, name)), ...withSku.map((id) => ({ id, kind: "variant" as const }))]
    }),
    /** Products and collections with this canonical handle, ordered by kind, then id. */
    withHandle: (handle: string) => withAccountId((accountId) => repo.withHandle(accountId, handle)),
    /**
     * List rows of the variants, media, collections and products that are related to an entity, as JSON text. One cursor continues
     * through the four lists. NotFound: as for `kindOf`. ValidationFailed: the cursor belongs to another list.
     */
    related: Effect.fnUntraced(function* (id: EntityId, { cursor, limit }: Pick<ListQuery, "limit" | "cursor">) {
      const { accountId } = yield* CurrentActor
      yield* orNotFound(repo.kindOf(accountId, id))
      const after = cursor === undefined ? Option.some(firstRelated) : places.decode(accountId, id, cursor)
      if (Option.isNone(after)) return yield* foreignCursor
      const { last, rows } = yield* repo.related(accountId, id, after.value, limit)
      const limited = yield* limitRows(accountId, Object.values(rows))
      const lists = relatedLists.map((list) => `"${list}":[${limited(rows[list])}]`)
      const next = last === null ? "null" : `"${places.encode(accountId, id, last)}"`
      return new JsonText<Related>(`{${lists.join(",")},"next_cursor":${next}}`)
    }),
    members: makeMembers(repo, places),
    membersAmong: makeMembersAmong(repo),
    /** NotFound: no such entity, or it belongs to another account or kind. */
    get: Effect.fnUntraced(function* (kind: EntityKind, id: EntityId) {
      const { accountId } = yield* CurrentActor
      return yield* orNotFound(repo.find(accountId, kind, id))
    }),
    /** All store versions of an entity, ordered by domain. NotFound: as for `get`. */
    versions: Effect.fnUntraced(function* (kind: EntityKind, id: EntityId) {
      const { accountId } = yield* CurrentActor
      return versionsOf(kind, yield* orNotFound(repo.versions(accountId, kind, id)))
    }),
    /** The store version on one store. NotFound: as for `get`, or the entity is not on that store. */
    version: Effect.fnUntraced(function* (kind: EntityKind, id: EntityId, storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      const [version] = versionsOf(kind, yield* orNotFound(repo.versions(accountId, kind, id, storeId)))
      return version === undefined ? yield* new NotFound() : version
    })
  }
})

/** Reads of the actor's catalog. */
export class Catalog extends Context.Tag("catalog/Catalog")<Catalog, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Catalog, make)
}

const pageText = (rows: string, next: string, remaining?: ReadonlyArray<string>) =>
  new JsonText<Page<unknown>>(
    `{"data":[${rows}],"next_cursor":${next}${remaining === undefined ? "" : `,"remaining_ids":${JSON.stringify(remaining)}`}}`
  )

const idsWithCursor = ValidationFailed.at(
  "cursor",
  "cannot be combined with ids: entities that are named by their ids are on one page; send either of them"
)

const twoStates = ValidationFailed.at(
  "pending_publish",
  "contradicts pending, which is the same filter: send one of them"
)

const foreignCursor = new ValidationFailed({
  issues: [
    {
      path: "cursor",
      message:
        "is not a cursor of this list with these filters; send next_cursor unchanged and repeat the filters of the first page, or start again without a cursor"
    }
  ]
})

const versionsOf = (kind: EntityKind, record: VersionsRecord): ReadonlyArray<StoreVersion> =>
  record.versions.map((version) => ({
    store_id: version.storeId,
    store_domain: version.storeDomain,
    attributes: toTriples(kind, effective(record.attributes, version.overrides)),
    pending_publish: version.pendingPublish,
    last_publish_status: version.lastPublishStatus
  }))
