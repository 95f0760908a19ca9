import { assert, it } from "@effect/vitest"
import { Either } from "effect"
import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "../../src/drafts/CatalogChange.ts"
import { planChanges, stateAfter } from "../../src/drafts/ChangePlan.ts"
import { divideExported } from "../../src/exports/ExportJobs.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const idOf = (number: number) => EntityId.make(uuid(number))
const storeId = StoreId.make(uuid(1))

/** Counts the entities that are read when all are gone through. */
class Counted extends Map<EntityId, Aggregate> {
  gone = 0

  override *values(): MapIterator<Aggregate> {
    for (const each of super.values()) {
      this.gone++
      yield each
    }
  }
}

it("a step of an export's job goes through the locked entities once, however many products it has", () => {
  const empty: LockedCatalog = {
    now: Timestamp.make("2026-01-01T00:00:00.000000Z"),
    storeIds: [storeId],
    aggregates: new Map(),
    revisions: new Map(),
    sequences: new Map(),
    kinds: new Map(),
    summaries: new Map(),
    unreadMembers: new Map()
  }
  const products = [100, 200, 300].map((number) => ({
    productId: idOf(number),
    variants: [2, 1, 3].map((variant) => idOf(number + variant)),
    media: []
  }))
  const changes = products.flatMap(({ productId, variants }) => [
    CatalogChange.CreateEntity({ id: productId, kind: "product", parentId: null, values: {} }),
    ...variants.map((id) => CatalogChange.CreateEntity({ id, kind: "variant", parentId: productId, values: {} })),
    ...[productId, ...variants].map((entityId) => CatalogChange.AddToStore({ entityId, storeId }))
  ])
  const after = stateAfter(empty, Either.getOrThrow(planChanges(empty, changes)))
  const aggregates = new Counted(after.aggregates)
  const items = products.map((product) => ({
    ...product,
    revisions: Object.fromEntries(
      [product.productId, ...product.variants].map((id) => [id, after.revisions.get(id) ?? 0] as const)
    )
  }))
  const [first, second, third] = items
  if (first === undefined || second === undefined || third === undefined) return assert.fail("too few products")
  const reordered = { ...second, variants: [...second.variants].sort() }
  const { changed, exported } = divideExported({ ...after, aggregates }, storeId, [first, reordered, third])
  assert.strictEqual(aggregates.gone, 12)
  assert.deepStrictEqual([...changed], [second.productId], "its variants have another order now")
  assert.sameMembers(exported, [
    first.productId,
    ...first.variants,
    ...second.variants,
    third.productId,
    ...third.variants
  ])
})
