import { assert, describe, it } from "@effect/vitest"
import { Array as Arr } from "effect"
import {
  type DropEffect,
  maxFailedParts,
  notLinkedCode,
  type StepTarget,
  takePart,
  targetsToEnd,
  targetsToStart,
  unlinkedCode,
  unsettledCode
} from "../../src/drops/DropStep.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const entityId = (number: number) => EntityId.make(uuid(number))
const storeId = (number: number) => StoreId.make(uuid(1_000 + number))

const store = (number: number, platform = "demo"): Store => ({
  id: storeId(number),
  domain: `store-${number}.example`,
  name: "Store",
  platform,
  status: "linked",
  primary_locale: "en",
  locales: ["en"],
  currency: "EUR",
  last_imported_at: null
})

const targets = (entities: number, stores: number): ReadonlyArray<StepTarget> =>
  Arr.makeBy(entities, (ordinal) => ordinal).flatMap((ordinal) =>
    Arr.makeBy(stores, (number) => ({ ordinal, entityId: entityId(ordinal), storeId: storeId(number) }))
  )

const parts = (all: ReadonlyArray<StepTarget>, failedParts = 0) => {
  const found: Array<ReadonlyArray<StepTarget>> = []
  for (let left = all; left.length > 0; left = left.slice(found.at(-1)?.length)) found.push(takePart(left, failedParts))
  return found
}

describe("the parts of a step of a drop", () => {
  it("have at most 50 publishes, and together every target once", () => {
    for (const [entities, stores, sizes] of [
      [1, 1, [1]],
      [50, 1, [50]],
      [120, 1, [50, 50, 20]],
      [30, 3, [48, 42]],
      [2, 60, [60, 60]]
    ] as const) {
      const all = targets(entities, stores)
      const found = parts(all)
      assert.deepStrictEqual(
        found.map((part) => part.length),
        [...sizes]
      )
      assert.deepStrictEqual(found.flat(), [...all])
    }
  })

  it("are half as large after each part that failed, down to one publish or one entity", () => {
    for (const [failedParts, sizes] of [
      [1, [25, 25, 10]],
      [2, [12, 12, 12, 12, 12]],
      [maxFailedParts, Arr.replicate(1, 60)]
    ] as const)
      assert.deepStrictEqual(
        parts(targets(60, 1), failedParts).map((part) => part.length),
        [...sizes]
      )
    assert.deepStrictEqual(
      parts(targets(3, 2), maxFailedParts).map((part) => part.length),
      [2, 2, 2]
    )
  })

  it("keep the fields of an entity together: they are one publish on each store", () => {
    const fields = ["price", "title"].flatMap((_, field) =>
      targets(60, 1).map((target) => ({ ...target, ordinal: target.ordinal + 60 * field }))
    )
    const part = takePart(fields, 0)
    assert.strictEqual(part.length, 100)
    assert.strictEqual(new Set(part.map((target) => target.entityId)).size, 50)
  })
})

const change = (number: number, at: StoreId | null, outcome: "failed" | null = null) => ({
  entity_id: entityId(number),
  entity_type: "product" as const,
  store_id: at,
  field: "title",
  value: "Sale",
  outcome
})

const effect = (ordinal: number, number: number, outcome: DropEffect["outcome"], code?: string): DropEffect => ({
  ordinal,
  entityId: entityId(ordinal),
  isDeleted: false,
  storeId: storeId(number),
  field: "title",
  value: "Sale",
  overrideBefore: null,
  acceptedBefore: "Tent",
  publicationId: null,
  outcome,
  error: code === undefined ? null : { code, message: "" }
})

const places = (found: ReadonlyArray<StepTarget>) => found.map(({ ordinal, storeId }) => [ordinal, storeId])

describe("what a drop has still to start", () => {
  const stores = [store(1), store(2), store(3, "none")]

  it("is each change at first, on its store or on all stores with a platform", () => {
    const changes = [change(0, null), change(1, storeId(2)), change(2, storeId(9))]
    assert.deepStrictEqual(places(targetsToStart({ changes, effects: [] }, stores)), [
      [0, storeId(1)],
      [0, storeId(2)],
      [1, storeId(2)],
      [2, storeId(9)]
    ])
  })

  it("is without changes of earlier parts, also those that no store has", () => {
    const changes = [change(0, null), change(1, null, "failed"), change(2, storeId(1))]
    const effects = [effect(0, 1, null)]
    assert.deepStrictEqual(places(targetsToStart({ changes, effects }, stores)), [[2, storeId(1)]])
  })

  it("is a change that has started on a store that is linked since, and on no other", () => {
    const changes = [change(0, storeId(1)), change(1, storeId(9)), change(2, null)]
    const effects = [
      effect(0, 1, "failed", notLinkedCode),
      effect(1, 9, "failed", notLinkedCode),
      effect(2, 1, "applied")
    ]
    assert.deepStrictEqual(places(targetsToStart({ changes, effects }, stores)), [[0, storeId(1)]])
  })
})

describe("what a drop has still to end", () => {
  it("is each applied effect, and those of a store that is linked again", () => {
    const effects = [
      effect(0, 1, "applied"),
      effect(1, 2, "applied"),
      effect(2, 1, "failed", unlinkedCode),
      effect(3, 2, "failed", unlinkedCode),
      effect(4, 1, "failed", unsettledCode),
      effect(5, 1, null),
      effect(6, 1, "skipped"),
      effect(7, 1, "failed", notLinkedCode)
    ]
    assert.deepStrictEqual(places(targetsToEnd(effects, new Set([storeId(1)]))), [
      [0, storeId(1)],
      [1, storeId(2)],
      [2, storeId(1)],
      [4, storeId(1)]
    ])
  })
})
