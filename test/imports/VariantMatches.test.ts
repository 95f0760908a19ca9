import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { matchVariants } from "../../src/imports/plan/VariantPlan.ts"
import type { StoreVariant } from "../../src/imports/StoreProduct.ts"
import { type Attributes, effective, valueOf } from "../../src/model/Attribute.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const us = StoreId.make(uuid(1))
const eu = StoreId.make(uuid(2))
const idOf = (number: number) => EntityId.make(uuid(100 + number))

const optionKeys = ["option1", "option2", "option3"]
const toAttributes = (values: Readonly<Record<string, string>>): Attributes =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { value, type: "single_line_text_field" } as Attributes[string]])
  )

const aVariant = (id: EntityId, attributes: Attributes, overrides: ReadonlyMap<StoreId, Attributes>): Aggregate => ({
  id,
  kind: "variant",
  parentId: EntityId.make(uuid(3)),
  position: 1,
  attributes,
  pendingPublish: false,
  lastPublishStatus: "never_published",
  storeIds: [...overrides.keys()],
  searchText: "",
  versions: [...overrides].map(([storeId, own]) => ({
    storeId,
    overrides: own,
    accepted: null,
    pendingPublish: false,
    lastPublishStatus: "never_published",
    publishedAt: null,
    lastPublishError: null,
    mayBeLive: false,
    platformId: null
  })),
  gallery: [],
  members: []
})

/** The rule, read literally: each imported variant looks at all unpaired variants. */
const matchByScans = (imported: ReadonlyArray<StoreVariant>, here: ReadonlyArray<Aggregate>) => {
  const free = new Set(here)
  const layersOf = ({ attributes, versions }: Aggregate) => [
    attributes,
    effective(attributes, versions.find(({ storeId }) => storeId === us)?.overrides ?? {})
  ]
  const joined = (values: ReadonlyArray<string>) =>
    values.join("") === "Default Title" ? "[]" : JSON.stringify(values.every((value) => value === "") ? [] : values)
  const found: Array<Aggregate | undefined> = imported.map(() => undefined)
  const pair = (isMatch: (one: StoreVariant, variant: Aggregate) => boolean) => {
    for (const [index, one] of imported.entries()) {
      if (found[index] !== undefined) continue
      const [only, other] = [...free].filter((variant) => isMatch(one, variant))
      if (only === undefined || other !== undefined) continue
      free.delete(only)
      found[index] = only
    }
  }
  pair(({ entityId }, { id }) => entityId === id)
  pair(
    ({ values: { sku } }, variant) =>
      !!sku && layersOf(variant).some((attributes) => valueOf(attributes, "sku") === sku)
  )
  pair(({ values }, variant) =>
    layersOf(variant).some(
      (attributes) =>
        joined(optionKeys.map((key) => valueOf(attributes, key))) === joined(optionKeys.map((key) => values[key] ?? ""))
    )
  )
  return found
}

describe("the variants of an imported product", () => {
  it("are paired by id, else by SKU, else by options, here or on the store, if exactly one unpaired variant matches", () => {
    // Few values, so that most of them are shared by several variants.
    const values = fc.record(
      {
        sku: fc.constantFrom("", "A", "B", "C"),
        option1: fc.constantFrom("", "S", "M", "Default Title"),
        option2: fc.constantFrom("", "S"),
        option3: fc.constantFrom("", "Default Title")
      },
      { requiredKeys: [] }
    )
    const overrides = fc.array(fc.tuple(fc.constantFrom(us, eu), values.map(toAttributes)), { maxLength: 2 })
    const here = fc
      .array(fc.tuple(values, overrides), { maxLength: 6 })
      .map((all) => all.map(([own, each], index) => aVariant(idOf(index), toAttributes(own), new Map(each))))
    const entityId = fc.option(fc.nat(6).map(idOf))
    const imported = fc.array(fc.record({ values, imageUrl: fc.constant(null), entityId }), { maxLength: 6 })
    let paired = 0
    fc.assert(
      fc.property(imported, here, (theirs, ours) => {
        const found = matchVariants(theirs, ours, us)
        assert.deepStrictEqual(
          found.map((variant) => variant?.id),
          matchByScans(theirs, ours).map((variant) => variant?.id)
        )
        paired += found.filter((variant) => variant !== undefined).length
      }),
      { numRuns: 3_000 }
    )
    assert.isAbove(paired, 1_000)
  })

  it("are read a fixed number of times each, however many there are", () => {
    const row = (sku: string, index: number) => ({ sku, option1: `Size ${index}` })
    const products = {
      "a file without SKUs": [(index: number) => row(`OLD-${index}`, index), (index: number) => row("", index)],
      "a file with other SKUs": [
        (index: number) => row(`OLD-${index}`, index),
        (index: number) => row(`NEW-${index}`, index)
      ],
      "equal variants": [() => row("OLD", 0), () => row("OLD", 0)]
    } as const
    for (const [name, [ours, theirs]] of Object.entries(products)) {
      const readsOf = (count: number) => {
        let reads = 0
        const indexes = Array.from({ length: count }, (_, index) => index)
        const here = indexes.map((index) => {
          const attributes = new Proxy(toAttributes(ours(index)), {
            get: (target, key, receiver) => {
              reads++
              return Reflect.get(target, key, receiver)
            }
          })
          return aVariant(idOf(index), attributes, new Map([[us, toAttributes({ option2: "Red" })]]))
        })
        const imported = indexes.toReversed().map((index) => ({ values: theirs(index), imageUrl: null }))
        matchVariants(imported, here, us)
        return reads
      }
      assert.strictEqual(readsOf(200), 10 * readsOf(20), name)
    }
  })
})
