import { Effect } from "effect"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import type { FeedChange } from "../../src/feed/FeedChange.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { Catalog, StoreData, Stores } from "../../src/testing/index.ts"

const include = ["attributes", "stores", "relationships"] as const
const atOnce = 250

export interface Row {
  readonly id: EntityId
  readonly [member: string]: unknown
}

interface Page {
  readonly data: ReadonlyArray<Row>
  readonly next_cursor: string | null
  readonly remaining_ids?: ReadonlyArray<EntityId>
}

/**
 * A copy of an account: entities and their store versions by id, stores, definitions. Plain data, so that it can be
 * saved.
 */
export interface Copy {
  entities: Record<string, { readonly row: Row; readonly versions: unknown }>
  stores: unknown
  definitions: unknown
  cursor: string
}

const whole = (
  kind: EntityKind,
  query: { readonly cursor?: string | undefined; readonly ids?: ReadonlyArray<EntityId> }
) =>
  Effect.map(
    Effect.flatMap(Catalog, ({ list }) => list(kind, { limit: atOnce, include, ...query })),
    ({ text }): Page => JSON.parse(text)
  )

const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

const keep = (copy: Copy, kind: EntityKind, rows: ReadonlyArray<Row>) =>
  Effect.forEach(rows, (row) =>
    Effect.map(
      Effect.flatMap(Catalog, ({ versions }) => versions(kind, row.id)),
      (versions) => {
        copy.entities[row.id] = { row, versions: plain(versions) }
      }
    )
  )

const readStores = Effect.map(
  Effect.flatMap(Stores, ({ list }) => list),
  plain
)
const readDefinitions = Effect.map(
  Effect.flatMap(StoreData, ({ metafieldDefinitions }) => metafieldDefinitions(null)),
  plain
)

/** A page of the feed. */
export const feedPage = (cursor: string | undefined, limit: number) =>
  Effect.map(
    Effect.flatMap(ChangeFeed, ({ page }) => page({ cursor, limit })),
    ({ text }): { readonly data: ReadonlyArray<FeedChange>; readonly next_cursor: string } => JSON.parse(text)
  )

/** Reads the whole account. The cursor is read first, so that the feed has all changes from then on. */
export const copyAll = Effect.gen(function* () {
  const { next_cursor: cursor } = yield* feedPage("latest", 1)
  const copy: Copy = { entities: {}, stores: yield* readStores, definitions: yield* readDefinitions, cursor }
  for (const kind of EntityKind.literals)
    for (let next: string | null | undefined; next !== null; ) {
      const page: Page = yield* whole(kind, { cursor: next })
      yield* keep(copy, kind, page.data)
      next = page.next_cursor
    }
  return copy
})

/** Reads the records that a page of changes names. */
const readChanged = (copy: Copy, changes: ReadonlyArray<FeedChange>) =>
  Effect.gen(function* () {
    if (changes.some(({ entity }) => entity.type === "store")) copy.stores = yield* readStores
    if (changes.some(({ type }) => type === "definitions.updated")) copy.definitions = yield* readDefinitions
    for (const kind of EntityKind.literals) {
      const ids = [
        ...new Set(changes.flatMap(({ entity }) => (entity.type === kind ? [EntityId.make(entity.id)] : [])))
      ]
      // An entity that is not found again was deleted.
      for (const id of ids) delete copy.entities[id]
      for (let left: ReadonlyArray<EntityId> = ids; left.length > 0; ) {
        const page = yield* whole(kind, { ids: left.slice(0, atOnce) })
        yield* keep(copy, kind, page.data)
        left = [...(page.remaining_ids ?? []), ...left.slice(atOnce)]
      }
    }
  })

/** Follows the feed until a page is not full. `saved` is called after each page. Returns the number of changes. */
export const follow = (copy: Copy, limit: number, saved: (copy: Copy) => Effect.Effect<void> = () => Effect.void) =>
  Effect.gen(function* () {
    let total = 0
    for (;;) {
      const { data, next_cursor } = yield* feedPage(copy.cursor, limit)
      yield* readChanged(copy, data)
      copy.cursor = next_cursor
      total += data.length
      yield* saved(copy)
      if (data.length < limit) return total
    }
  })

/** The contents of a copy without its cursor, in a fixed order, for comparison. */
export const contents = ({ definitions, entities, stores }: Copy) => ({
  definitions,
  stores,
  entities: Object.fromEntries(Object.entries(entities).sort(([left], [right]) => (left < right ? -1 : 1)))
})
