import { Array as Arr, Context, Effect, Layer, Schema } from "effect"
import { asBackground } from "../database/Deadlines.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { type EntityId, StoreId } from "../model/Ids.ts"
import { type ListedEntity, MerchantListsRepo, type Place, type WindowPage } from "./MerchantListsRepo.ts"
import { terms } from "./SearchText.ts"

/** The states by which merchants filter: on one store, or the worst of all stores. */
export const merchantStates = ["live", "changed", "publishing", "failed", "unpublished"] as const
export type MerchantState = (typeof merchantStates)[number]

/** Fields that a list can require to be empty. */
export const missingFields = ["description", "vendor", "type", "tags", "picture"] as const
export type MissingField = (typeof missingFields)[number]

/** The orders of a list: by last change, or by title, from A or from Z. */
export const listOrders = ["newest", "oldest", "title", "title-desc"] as const
export type ListOrder = (typeof listOrders)[number]

/** The filters of a list. The input of a job stores them as JSON. */
export const MerchantFilters = Schema.Struct({
  /** All words must occur in the search text. */
  search: Schema.optional(Schema.String),
  storeId: Schema.optional(StoreId),
  /** On the store, or without one the worst state of all stores. `absent`: not on the store. */
  state: Schema.optional(Schema.Literal(...merchantStates, "absent")),
  vendor: Schema.optional(Schema.String),
  productType: Schema.optional(Schema.String),
  tag: Schema.optional(Schema.String),
  /** Only entities with overrides: on the store, or without one on any store. */
  hasOwnValues: Schema.optional(Schema.Boolean),
  missing: Schema.optional(Schema.Literal(...missingFields))
})
export type MerchantFilters = typeof MerchantFilters.Type

interface MerchantQuery extends MerchantFilters {
  /** Only entities that come after this place of the order. */
  readonly from?: Place | undefined
  readonly order: ListOrder
  /** Rows on a page. */
  readonly limit: number
}

export interface MerchantPage extends Omit<WindowPage, "ids"> {
  readonly rows: ReadonlyArray<ListedEntity>
}

/** Number of entities that are read in the order of a list at once. Totals of lists that have at most so many are exact. */
export const windowSize = 10_000

/** Maximum number of entities whose ids a request reads. If filters find more, a job collects them in steps. */
export const maxListedIds = 10_000

/** `maxListedIds`, for tests of longer lists. */
export class MaxListedIds extends Context.Reference<MaxListedIds>()("catalog/MaxListedIds", {
  defaultValue: () => maxListedIds
}) {}

/** The entities of a job: these, or all that filters find. `count`: how many these are when the job is begun. */
export type ChosenEntities =
  | { readonly ids: ReadonlyArray<EntityId> }
  | { readonly filters: MerchantFilters; readonly count: number }

/** The entities that the filters of a list find. `first`: all of them, or as many as were read until the maximum was exceeded. */
export interface FoundList {
  readonly count: number
  readonly first: ReadonlyArray<EntityId>
  readonly chosen: ChosenEntities
}

/** Number of matches that are read by the indexes of filters. */
const maxFew = 1_000

/** Filters with the words of their search as they are compared. */
export const withNeedles = ({ search, ...filters }: MerchantFilters) => ({
  ...filters,
  needles: search === undefined ? [] : terms(search)
})

const make = Effect.gen(function* () {
  const repo = yield* MerchantListsRepo
  const maxIds = yield* MaxListedIds

  /**
   * All entities that these filters find, each once, the oldest change first. Stops when it has more than `max`. An entity that
   * changes meanwhile moves to the end of the order, so it is not missed.
   */
  const ids = Effect.fn("MerchantLists.ids")(function* (kind: EntityKind, filters: MerchantFilters, max: number) {
    const { accountId } = yield* CurrentActor
    const found = new Set<EntityId>()
    for (let from: Place | undefined = 0; from !== undefined && found.size <= max; ) {
      const window: WindowPage = yield* repo.window(accountId, kind, withNeedles(filters), {
        from,
        limit: windowSize,
        order: "oldest",
        windowSize,
        maxFew
      })
      for (const id of window.ids) found.add(id)
      from = window.next
    }
    return [...found]
  })

  /** The number of entities that these filters find. Counting 1,000,000 takes seconds, so it has the deadline of background work. */
  const count = Effect.fn("MerchantLists.count")(function* (kind: EntityKind, filters: MerchantFilters) {
    const { accountId } = yield* CurrentActor
    return yield* asBackground(repo.count(accountId, kind, withNeedles(filters)))
  })

  /**
   * The entities of these kinds that the filters find. Up to `maxListedIds` of them are returned by their ids. If there are more, only
   * their number is read, so that memory does not grow with it.
   */
  const found = Effect.fn("MerchantLists.found")(function* (
    kinds: ReadonlyArray<EntityKind>,
    filters: MerchantFilters
  ) {
    const named: Array<EntityId> = []
    for (const kind of kinds) if (named.length <= maxIds) named.push(...(yield* ids(kind, filters, maxIds)))
    if (named.length <= maxIds) return { count: named.length, first: named, chosen: { ids: named } } satisfies FoundList
    const counts = yield* Effect.forEach(kinds, (kind) => count(kind, filters))
    const all = counts.reduce((sum, each) => sum + each, 0)
    return { count: all, first: named, chosen: { filters, count: all } } satisfies FoundList
  })

  return {
    page: Effect.fn("MerchantLists.page")(function* (
      kind: EntityKind,
      { from, limit, order, ...filters }: MerchantQuery
    ) {
      const { accountId } = yield* CurrentActor
      const place = { from, limit, order, windowSize, maxFew }
      const { ids, ...page } = yield* repo.window(accountId, kind, withNeedles(filters), place)
      return { ...page, rows: yield* repo.rows(accountId, ids) }
    }),
    ids,
    found,
    /** For each linked store, the numbers of failed, publishing and unpublished store versions. */
    storeCounts: withAccountId(repo.storeCounts),
    /** The first `maxOfProduct` variants of each of these products that has several, by the product's id. */
    variantsOf: Effect.fn("MerchantLists.variantsOf")(function* (
      products: ReadonlyArray<ListedEntity>,
      maxOfProduct: number
    ) {
      const { accountId } = yield* CurrentActor
      const several = products.filter(({ variants }) => variants > 1).map(({ id }) => id)
      const rows = yield* repo.rows(accountId, yield* repo.variantIds(accountId, several, maxOfProduct))
      return Arr.groupBy(rows, ({ parentId }) => String(parentId))
    }),
    /** The rows of these entities, in this order. Unknown ids are left out. */
    rows: (ids: ReadonlyArray<EntityId>) => withAccountId((accountId) => repo.rows(accountId, ids))
  }
})

/** The lists of the console's pages. A row has all values that a table shows. */
export class MerchantLists extends Context.Tag("catalog/MerchantLists")<
  MerchantLists,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(MerchantLists, make)
}
