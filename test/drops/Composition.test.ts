import { assert, describe, it } from "@effect/vitest"
import { type Choice, compose, type DropThing, withoutOverlaps } from "../../src/drops/Composition.ts"
import { isSameTime } from "../../src/drops/Drop.ts"
import type { Attributes } from "../../src/model/Attribute.ts"
import { DropId, EntityId, StoreId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const [here, there] = [StoreId.make(uuid(1)), StoreId.make(uuid(2))]

const store: Store = {
  id: here,
  domain: "here.example",
  name: "Here",
  platform: "demo",
  status: "linked",
  primary_locale: "en",
  locales: ["en"],
  currency: "EUR",
  last_imported_at: null
}

const values = (given: Readonly<Record<string, string>>): Attributes =>
  Object.fromEntries(Object.entries(given).map(([key, value]) => [key, { type: "single_line_text_field", value }]))

const product = (id: number, versions: DropThing["versions"] = [on(here)]): DropThing => ({
  id: EntityId.make(uuid(id)),
  kind: "product",
  title: "Tent",
  parentId: null,
  parentTitle: null,
  attributes: values({ title: "Tent" }),
  versions
})

const on = (
  storeId: StoreId,
  accepted: Readonly<Record<string, string>> | null = {},
  own = {},
  restored: Readonly<Record<string, string>> = {}
) => ({
  storeId,
  overrides: values(own),
  accepted: accepted === null ? null : values(accepted),
  restored
})

const variant = (id: number, price: string, versions: DropThing["versions"] = [on(here, { price })]): DropThing => ({
  ...product(id, versions),
  kind: "variant",
  title: "S",
  attributes: values({ price })
})

const nothing: Choice = { store, discount: null, keepsOldPrice: false, values: [] }
const shown = (things: ReadonlyArray<DropThing>, choice: Partial<Choice>) => {
  const { changes, leftOut } = compose(things, { ...nothing, ...choice })
  return {
    changes: changes.map(({ before, field, isUnpublished, store_id, thing, value }) => [
      things.indexOf(thing),
      store_id === null ? "all" : store_id === here ? "here" : "there",
      field,
      before,
      value,
      ...(isUnpublished ? ["unpublished"] : [])
    ]),
    leftOut: leftOut.map(({ reason, thing }) => [things.indexOf(thing), reason])
  }
}

describe("the changes of a choice", () => {
  it("a percentage takes the price that the store accepted, and the old price is kept if that is chosen", () => {
    const things = [
      product(10),
      variant(11, "20.00"),
      // A draft of 30 that is not published, and an override that was never published.
      variant(12, "30.00", [on(here, { price: "19.99", compare_at_price: "25.00" })]),
      variant(13, "30.00", [on(here, null, { price: "40.00" })])
    ]
    assert.deepStrictEqual(shown(things, { discount: 2_000n }), {
      changes: [
        [1, "here", "price", "20.00", "16.00"],
        [2, "here", "price", "19.99", "15.99"],
        [3, "here", "price", "40.00", "32.00", "unpublished"]
      ],
      leftOut: []
    })
    assert.deepStrictEqual(shown(things.slice(0, 3), { discount: 2_000n, keepsOldPrice: true }).changes, [
      [1, "here", "price", "20.00", "16.00"],
      [1, "here", "compare_at_price", "", "20.00"],
      [2, "here", "price", "19.99", "15.99"],
      [2, "here", "compare_at_price", "25.00", "19.99"]
    ])
  })

  it("a percentage takes the price that the end of another drop restores", () => {
    const things = [variant(11, "20.00", [on(here, { price: "16.00" }, { price: "16.00" }, { price: "20.00" })])]
    assert.deepStrictEqual(shown(things, { discount: 2_500n, keepsOldPrice: true }).changes, [
      [0, "here", "price", "16.00", "15.00"],
      [0, "here", "compare_at_price", "", "20.00"]
    ])
  })

  it("things without a price, with one that would not fall, or of another store are left out with the reason", () => {
    const things = [variant(11, ""), variant(12, "0.01"), variant(13, "8.00", [on(there, { price: "8.00" })])]
    assert.deepStrictEqual(shown(things, { discount: 1n }), {
      changes: [],
      leftOut: [
        [0, "no_price"],
        [1, "not_reduced"],
        [2, "not_on_store"]
      ]
    })
  })

  it("several fields change all things of their kind, on one store or on all", () => {
    const both = [on(here, { title: "Tent", vendor: "Fell" }), on(there, { title: "Zelt", vendor: "Fell" })]
    const things = [product(10, both), variant(11, "8.00"), product(12)]
    const fields = [
      { kind: "product", field: "title", value: "Sale" },
      { kind: "product", field: "vendor", value: "Tern" },
      { kind: "variant", field: "sku", value: "S" }
    ] as const
    assert.deepStrictEqual(shown(things, { store: null, values: fields }).changes, [
      [0, "all", "title", null, "Sale"],
      [0, "all", "vendor", "Fell", "Tern"],
      [1, "all", "sku", "", "S"],
      [2, "all", "title", "", "Sale"],
      [2, "all", "vendor", "", "Tern"]
    ])
    assert.deepStrictEqual(shown(things.slice(0, 1), { values: fields }).changes, [
      [0, "here", "title", "Tent", "Sale"],
      [0, "here", "vendor", "Fell", "Tern"]
    ])
    assert.deepStrictEqual(shown([product(10)], { discount: 2_000n }), { changes: [], leftOut: [] })
  })
})

describe("overlaps", () => {
  const at = (hour: number) => Timestamp.make(`2026-12-05T${String(hour).padStart(2, "0")}:00:00.000000Z`)
  const span = (from: number, until: number | null) => ({
    starts_at: at(from),
    ends_at: until === null ? null : at(until)
  })
  for (const [left, right, expected] of [
    [span(1, 3), span(2, 4), true],
    [span(1, 4), span(2, 3), true],
    [span(1, 2), span(2, 3), false],
    [span(1, 2), span(3, null), false],
    [span(1, 4), span(3, null), true],
    [span(1, null), span(3, null), true]
  ] as const)
    it(`${JSON.stringify(left)} and ${JSON.stringify(right)}: ${expected}`, () => {
      assert.strictEqual(isSameTime(left, right), expected)
      assert.strictEqual(isSameTime(right, left), expected)
    })

  it("changes of another drop are left out by their index", () => {
    const { changes } = compose([variant(11, "20.00"), variant(12, "10.00")], { ...nothing, discount: 2_000n })
    const other = { id: DropId.make(uuid(20)), name: "Other", timezone: "UTC", ...span(1, 2) }
    assert.deepStrictEqual(
      withoutOverlaps(changes, [
        { ...other, ordinal: 0 },
        { ...other, ordinal: 0, name: "Third" }
      ]),
      changes.slice(1)
    )
  })
})
