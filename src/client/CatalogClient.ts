import type { HttpClient } from "@effect/platform"
import { Chunk, Duration, Effect, Option, Stream } from "effect"
import type { CollectionRow, MediaRow, ProductRow, VariantRow } from "../api/Answers.ts"
import type { Collection, Include, IncludedMember, Media, Product, Variant } from "../catalog/Entity.ts"
import type { FeedChange } from "../feed/FeedChange.ts"
import { type CatalogError, invalid } from "./CatalogError.ts"
import type { Plain } from "./Plain.ts"
import { type ClientSettings, type Endpoints, makeEndpoints } from "./Requests.ts"

/** The endpoints of each kind of entity. */
export const endpointsOf = {
  products: { list: "listProducts", get: "getProduct", versions: "listProductVersions", version: "getProductVersion" },
  variants: { list: "listVariants", get: "getVariant", versions: "listVariantVersions", version: "getVariantVersion" },
  collections: {
    list: "listCollections",
    get: "getCollection",
    versions: "listCollectionVersions",
    version: "getCollectionVersion"
  },
  media: { list: "listMedia", get: "getMedia", versions: "listMediaVersions", version: "getMediaVersion" }
} as const

/** A kind of entity, as the name of its list. */
export type Kind = keyof typeof endpointsOf

interface Details {
  readonly products: typeof Product.Type
  readonly variants: typeof Variant.Type
  readonly collections: typeof Collection.Type
  readonly media: typeof Media.Type
}

interface Rows {
  readonly products: typeof ProductRow.Type
  readonly variants: typeof VariantRow.Type
  readonly collections: typeof CollectionRow.Type
  readonly media: typeof MediaRow.Type
}

type ListParams<K extends Kind> = Parameters<Endpoints["catalog"][(typeof endpointsOf)[K]["list"]]>[0]["urlParams"]

/**
 * The filters of a walk, and the groups of members that its rows include. `ids`: any number of them. `limit`: rows of a page, by
 * default 250.
 */
export type WalkParams<K extends Kind> = Partial<Plain<Omit<ListParams<K>, "cursor">>>

/** A row of a walk: short, or with the members of the groups that `include` names. */
export type WalkRow<K extends Kind, Params> = K extends Kind
  ? Params extends { readonly include: ReadonlyArray<infer Group extends Include> }
    ? Omit<Details[K], IncludedMember<Exclude<Include, Group>>>
    : Rows[K]
  : never

/** A page of changes. `next_cursor`: save it after the changes are handled, and follow from it later. */
export interface ChangePage {
  readonly data: ReadonlyArray<FeedChange>
  readonly next_cursor: string
}

/** A change, and the cursor to save after it is handled. Following from `cursor` may give changes of the same page again. */
export interface FollowedChange extends FeedChange {
  readonly cursor: string | undefined
}

export interface FollowOptions {
  /** The cursor to follow from. Undefined: from the oldest change that is kept. */
  readonly after?: string | undefined
  /** Changes of a page, by default 250. */
  readonly limit?: number | undefined
  /** Seconds between requests after the last change, by default 5. `false`: the stream ends after the last change. */
  readonly poll?: number | false | undefined
}

/** Maximum rows of a page, and ids of a request. */
const maxRows = 250

/** A client of the service. Its streams end with the first error. */
export interface CatalogClient {
  /** Every endpoint of the API. */
  readonly endpoints: Endpoints
  /** All entities of a kind that match, page by page. */
  readonly walk: <K extends Kind, const Params extends WalkParams<K> = {}>(
    kind: K,
    params?: Params
  ) => Stream.Stream<WalkRow<K, Params>, CatalogError>
  /** The cursor after the last change. */
  readonly latest: Effect.Effect<string, CatalogError>
  /** The feed of changes by page, oldest first. Pages are never empty. */
  readonly changePages: (options?: FollowOptions) => Stream.Stream<ChangePage, CatalogError>
  /** The feed of changes, oldest first. */
  readonly follow: (options?: FollowOptions) => Stream.Stream<FollowedChange, CatalogError>
}

interface AnyPage {
  readonly data: ReadonlyArray<unknown>
  readonly next_cursor: string | null
  readonly remaining_ids?: ReadonlyArray<string>
}

type ListAny = (request: { readonly urlParams: object }) => Effect.Effect<AnyPage, CatalogError>

/** Rows of a walk by filters: page after page. */
const walkPages = (list: ListAny, { limit = maxRows, ...params }: { readonly limit?: number | undefined }) =>
  Stream.paginateChunkEffect(undefined as string | undefined, (cursor) =>
    Effect.map(list({ urlParams: { limit, ...params, ...(cursor !== undefined && { cursor }) } }), (page) => [
      Chunk.fromIterable(page.data),
      Option.fromNullable(page.next_cursor)
    ])
  )

/** Rows of a walk by ids: request after request, with the ids that did not fit on a page. */
const walkIds = (list: ListAny, params: object, ids: ReadonlyArray<string>) =>
  Stream.paginateChunkEffect(ids, (left) =>
    left.length === 0
      ? Effect.succeed([Chunk.empty<unknown>(), Option.none<ReadonlyArray<string>>()])
      : Effect.map(list({ urlParams: { limit: maxRows, ...params, ids: left.slice(0, maxRows) } }), (page) => [
          Chunk.fromIterable(page.data),
          Option.some([...(page.remaining_ids ?? []), ...left.slice(maxRows)])
        ])
  )

/** Makes a client of the service at `url`. */
export const makeClient = (settings: ClientSettings): Effect.Effect<CatalogClient, never, HttpClient.HttpClient> =>
  Effect.map(makeEndpoints(settings), (endpoints) => {
    const walk = (kind: Kind, { ids, ...params }: { readonly ids?: ReadonlyArray<string> } = {}) => {
      if (!Object.hasOwn(endpointsOf, kind))
        return Stream.fail(invalid("kind", `must be one of ${Object.keys(endpointsOf).join(", ")}`))
      if (ids !== undefined && !Array.isArray(ids)) return Stream.fail(invalid("ids", "must be an array"))
      // A cast: the kind is known only at run time, and the parameters were checked against it by the type of `walk`.
      const list = endpoints.catalog[endpointsOf[kind].list] as unknown as ListAny
      return ids === undefined ? walkPages(list, params) : walkIds(list, params, [...new Set(ids)])
    }
    const listChanges = (limit: number, cursor: string | undefined) =>
      endpoints.changes.listChanges({ urlParams: { limit, ...(cursor !== undefined && { cursor }) } })

    const changePages = ({ after, limit: rows = maxRows, poll = 5 }: FollowOptions = {}) => {
      if (poll !== false && !(typeof poll === "number" && poll >= 0))
        return Stream.fail(invalid("poll", "must be a number of seconds, or false"))
      // A page with fewer rows than this is the last one.
      if (!(Number.isInteger(rows) && rows >= 1))
        return Stream.fail(invalid("limit", "must be a whole number of 1 or more"))
      const limit = Math.min(rows, maxRows)
      return Stream.paginateEffect({ cursor: after, isLast: false }, ({ cursor, isLast }) =>
        listChanges(limit, cursor).pipe(
          Effect.delay(isLast && poll !== false ? Duration.seconds(poll) : Duration.zero),
          Effect.map((page) => {
            const next = { cursor: page.next_cursor, isLast: page.data.length < limit }
            return [page, next.isLast && poll === false ? Option.none() : Option.some(next)]
          })
        )
      ).pipe(Stream.filter(({ data }) => data.length > 0))
    }

    const follow = (options: FollowOptions = {}) =>
      Stream.mapAccum(changePages(options), options.after, (before, { data, next_cursor: after }) => [
        after,
        data.map((change, index) => ({ ...change, cursor: index === data.length - 1 ? after : before }))
      ]).pipe(Stream.mapConcat((changes) => changes))

    return {
      endpoints,
      // A cast: the type of the rows follows from the kind and `include`, which only the declaration knows.
      walk: walk as unknown as CatalogClient["walk"],
      latest: Effect.map(listChanges(1, "latest"), ({ next_cursor }) => next_cursor),
      changePages,
      follow
    }
  })
