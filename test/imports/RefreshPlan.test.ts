import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "../../src/drafts/CatalogChange.ts"
import { planChanges, stateAfter } from "../../src/drafts/ChangePlan.ts"
import { planCollection } from "../../src/imports/plan/CollectionPlan.ts"
import { type ImportPlan, resolveConflicts } from "../../src/imports/plan/ImportPlan.ts"
import { planFile } from "../../src/imports/plan/MediaPlan.ts"
import { planProduct } from "../../src/imports/plan/ProductPlan.ts"
import type { StoreEntity, Values } from "../../src/imports/StoreProduct.ts"
import { sameOptions } from "../../src/imports/StoreValue.ts"
import { builtInFields, type EntityKind, effective, typeOf, valueOf } from "../../src/model/Attribute.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { sameOnPlatform, sameValue } from "../../src/model/SameValue.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { shopifyMetafields } from "../support/ShopifyMetafields.ts"

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const us = StoreId.make(uuid(1))
const eu = StoreId.make(uuid(2))
const source = { storeId: us, storeName: "Tarn & Tern", isComplete: true }
const ids = {
  product: EntityId.make(uuid(10)),
  variant: EntityId.make(uuid(11)),
  collection: EntityId.make(uuid(12)),
  media: EntityId.make(uuid(13))
}

/** Three different values of a type: the accepted one, the draft's, and the store's. */
const valuesOf = (key: string, type: string): readonly [string, string, string] => {
  if (key === "options")
    return ["S", "M", "L"].map((value) => JSON.stringify([{ name: "Size", values: [value] }])) as [
      string,
      string,
      string
    ]
  if (key === "status") return ["active", "draft", "archived"]
  if (type.startsWith("list.")) return ['["a"]', '["b"]', '["c"]']
  if (type === "boolean") return ["true", "false", ""]
  if (type.startsWith("number")) return ["1.50", "2", "3.25"]
  if (type === "url") return ["https://a.example/1.jpg", "https://a.example/2.jpg", "https://a.example/3.jpg"]
  return ["accepted", "drafted", "sold"]
}

/** Another spelling of an equal value; the same text if there is none. */
const rewritten = (type: string, value: string) =>
  value === ""
    ? ""
    : type === "number_decimal"
      ? `${value.includes(".") ? value : `${value}.`}00`
      : type === "url"
        ? `${value}?v=7`
        : type === "boolean"
          ? value
          : ` ${value}\r\n`

/** A catalog with one entity of each kind on these stores, accepted by all of them. */
const makeCatalog = (stores: ReadonlyArray<StoreId>, values: Partial<Record<EntityKind, Values>> = {}) => {
  let locked: LockedCatalog = {
    now: Timestamp.make("2026-01-01T00:00:00.000000Z"),
    storeIds: [us, eu],
    aggregates: new Map(),
    revisions: new Map(),
    sequences: new Map(),
    kinds: new Map(),
    summaries: new Map(),
    unreadMembers: new Map()
  }
  const apply = (changes: ReadonlyArray<CatalogChange>) => {
    const plan = Either.getOrThrow(planChanges(locked, changes))
    locked = stateAfter(locked, plan)
    return plan
  }
  const kinds = ["media", "product", "variant", "collection"] as const
  const entity = (kind: EntityKind): Aggregate => {
    const found = locked.aggregates.get(ids[kind])
    assert.isDefined(found)
    return found as Aggregate
  }
  apply(
    kinds.flatMap((kind) => [
      CatalogChange.CreateEntity({
        id: ids[kind],
        kind,
        parentId: kind === "variant" ? ids.product : null,
        values: values[kind] ?? {}
      }),
      ...stores.map((storeId) => CatalogChange.AddToStore({ entityId: ids[kind], storeId }))
    ])
  )
  apply(kinds.flatMap((kind) => stores.map((storeId) => CatalogChange.AcceptPublish({ entityId: ids[kind], storeId }))))
  const bring = (kind: EntityKind, held: StoreEntity, keeps: boolean) => {
    const named = { platformId: `platform/${kind}`, ...held }
    const plan = ((): ImportPlan => {
      switch (kind) {
        case "media":
          return planFile(named, entity("media"), source, ids.media)
        case "collection":
          return planCollection({ ...named, members: [] }, entity("collection"), source, ids.collection)
        default: {
          const product = kind === "product" ? named : textsOf(entity("product"))
          const variant = kind === "variant" ? named : textsOf(entity("variant"))
          return planProduct(
            {
              ...product,
              variants: [{ ...variant, entityId: ids.variant, imageUrl: null }],
              images: [],
              media: []
            },
            { product: entity("product"), variants: [entity("variant")], media: [] },
            source,
            () => EntityId.make(uuid(99))
          )
        }
      }
    })()
    const written = apply(resolveConflicts(plan.changes, () => keeps))
    return { plan, stamped: written.stamped, drafted: written.drafted }
  }
  return { apply, bring, entity }
}

const textsOf = (entity: Aggregate): StoreEntity => ({
  values: Object.fromEntries(Object.entries(accepted(entity)).map(([key, { value }]) => [key, value])),
  platformId: `platform/${entity.kind}`
})
const accepted = (entity: Aggregate) =>
  entity.versions.find(({ storeId }) => storeId === us)?.accepted?.attributes ?? {}
const versionOn = (entity: Aggregate, storeId: StoreId) => {
  const version = entity.versions.find((each) => each.storeId === storeId)
  assert.isDefined(version)
  return version as NonNullable<typeof version>
}
const shown = (entity: Aggregate, storeId: StoreId, key: string) =>
  valueOf(effective(entity.attributes, versionOn(entity, storeId).overrides), key)

const fields = (["product", "variant", "collection", "media"] as const).flatMap((kind) =>
  [
    ...Object.entries(builtInFields[kind]),
    ...(kind === "media" ? [] : [["my.fit", "single_line_text_field"] as const])
  ].map(([key, type]) => ({ kind, key, type }))
)

for (const stores of [[us], [us, eu]])
  describe(`a field of an entity on ${stores.length} ${stores.length === 1 ? "store" : "stores"}`, () => {
    it.each(fields)("$kind $key: store edit, local draft, both, neither", ({ key, kind, type }) => {
      const [before, drafted, sold] = valuesOf(key, type)
      // Titles that follow the options are not values of their own. Every entity has other keys that distinguish it.
      const all: Values = { [key]: before }
      const draft = (storeId: StoreId | null) => (catalog: ReturnType<typeof makeCatalog>) =>
        catalog.apply([
          storeId === null
            ? CatalogChange.SetAttributes({ entityId: ids[kind], values: { [key]: drafted } })
            : CatalogChange.SetOverrides({ entityId: ids[kind], storeId, values: { [key]: drafted } })
        ])

      // Neither: only the platform's id is written, and nothing at the next refresh.
      const quiet = makeCatalog(stores, { [kind]: all })
      const first = quiet.bring(kind, { values: { [key]: rewritten(type, before) } }, false)
      assert.deepStrictEqual([first.stamped, first.drafted, first.plan.conflicts], [[], [], []])
      assert.strictEqual(versionOn(quiet.entity(kind), us).platformId, `platform/${kind}`)
      assert.isFalse(versionOn(quiet.entity(kind), us).pendingPublish)
      assert.strictEqual(valueOf(quiet.entity(kind).attributes, key), before)
      const again = quiet.bring(kind, { values: { [key]: rewritten(type, before) } }, false)
      assert.deepStrictEqual(
        again.plan.changes.filter(
          (change) => change._tag !== "Decided" && "entityId" in change && change.entityId === ids[kind]
        ),
        []
      )

      // The store's edit: becomes the canonical value if there is one store, else an override; it is accepted and not
      // pending.
      const edited = makeCatalog(stores, { [kind]: all })
      const edit = edited.bring(kind, { values: { [key]: sold } }, false)
      assert.deepStrictEqual(edit.plan.conflicts, [])
      assert.strictEqual(shown(edited.entity(kind), us, key), sold)
      assert.isFalse(versionOn(edited.entity(kind), us).pendingPublish)
      assert.strictEqual(valueOf(edited.entity(kind).attributes, key), stores.length === 1 ? sold : before)
      assert.strictEqual(Object.hasOwn(versionOn(edited.entity(kind), us).overrides, key), stores.length > 1)
      if (stores.length > 1) {
        assert.strictEqual(shown(edited.entity(kind), eu, key), before)
        assert.isFalse(versionOn(edited.entity(kind), eu).pendingPublish)
      }

      for (const storeId of [null, us]) {
        // Only a local draft: the store still has the accepted value.
        const mine = makeCatalog(stores, { [kind]: all })
        draft(storeId)(mine)
        const kept = mine.bring(kind, { values: { [key]: rewritten(type, before) } }, false)
        assert.deepStrictEqual([kept.stamped, kept.drafted, kept.plan.conflicts], [[], [], []])
        assert.strictEqual(shown(mine.entity(kind), us, key), drafted)
        assert.isTrue(versionOn(mine.entity(kind), us).pendingPublish)

        // The same edit on both sides: the value is accepted.
        const agreed = makeCatalog(stores, { [kind]: all })
        draft(storeId)(agreed)
        const same = agreed.bring(kind, { values: { [key]: rewritten(type, drafted) } }, false)
        assert.deepStrictEqual([same.stamped, same.drafted, same.plan.conflicts], [[], [], []])
        assert.isFalse(versionOn(agreed.entity(kind), us).pendingPublish)

        // Different edits on both sides: a conflict. With either decision the store's value counts as accepted.
        for (const keeps of [true, false]) {
          const both = makeCatalog(stores, { [kind]: all })
          draft(storeId)(both)
          const { plan } = both.bring(kind, { values: { [key]: sold } }, keeps)
          assert.deepStrictEqual(plan.conflicts, [
            { entityId: ids[kind], field: key, accepted: before, draft: drafted, store: sold }
          ])
          assert.strictEqual(shown(both.entity(kind), us, key), keeps ? drafted : sold)
          assert.strictEqual(valueOf(versionOn(both.entity(kind), us).accepted?.attributes ?? {}, key), sold)
          assert.strictEqual(versionOn(both.entity(kind), us).pendingPublish, keeps)
          // After the decision, the next refresh finds no conflict.
          const next = both.bring(kind, { values: { [key]: sold } }, false)
          assert.deepStrictEqual([next.stamped, next.drafted, next.plan.conflicts], [[], [], []])
          assert.strictEqual(versionOn(both.entity(kind), us).pendingPublish, keeps)
        }
      }
    })
  })

describe("published entities", () => {
  it("ignore a file's address, which the platform changes", () => {
    const url = "https://cdn.example/a.jpg"
    const catalog = makeCatalog([us], { media: { url, alt: "A", mime_type: "image/jpeg" } })
    const held = { url: "https://shop.example/files/a-1.webp?v=1", mime_type: "image/webp", width: "4" }
    const { plan } = catalog.bring("media", { values: { ...held, alt: "B" }, isOurs: true }, false)
    assert.deepStrictEqual(plan.conflicts, [])
    const { attributes } = catalog.entity("media")
    assert.deepStrictEqual(
      [valueOf(attributes, "url"), valueOf(attributes, "alt"), valueOf(attributes, "width")],
      [url, "B", ""]
    )
    assert.isFalse(versionOn(catalog.entity("media"), us).pendingPublish)
  })

  it("take the shop's name for an empty vendor, and any other vendor for an edit", () => {
    for (const [vendor, expected] of [
      ["Tarn & Tern", ""],
      ["Fell", "Fell"]
    ] as const) {
      const catalog = makeCatalog([us], { product: { title: "Mug" } })
      const { stamped } = catalog.bring("product", { values: { title: "Mug", vendor } }, false)
      assert.deepStrictEqual(stamped, expected === "" ? [] : [ids.product])
      assert.strictEqual(valueOf(catalog.entity("product").attributes, "vendor"), expected)
      assert.isFalse(versionOn(catalog.entity("product"), us).pendingPublish)
    }
    // A vendor that was published is not left to the shop.
    const catalog = makeCatalog([us], { product: { title: "Mug", vendor: "Fell" } })
    catalog.bring("product", { values: { title: "Mug", vendor: "Tarn & Tern" } }, false)
    assert.strictEqual(valueOf(catalog.entity("product").attributes, "vendor"), "Tarn & Tern")
  })

  it("keep a variant's own title if the platform derives one from options, and follow it if the draft's title was derived too", () => {
    for (const [title, expected] of [
      ["The small one", "The small one"],
      ["S", "Small"]
    ] as const) {
      const catalog = makeCatalog([us], { variant: { title, option1: "S" } })
      catalog.bring("variant", { values: { title: "Small", option1: "Small" }, isOurs: true }, false)
      assert.strictEqual(valueOf(catalog.entity("variant").attributes, "title"), expected)
      assert.strictEqual(valueOf(catalog.entity("variant").attributes, "option1"), "Small")
      assert.isFalse(versionOn(catalog.entity("variant"), us).pendingPublish)
    }
  })
})

describe("metafields", () => {
  it("get the platform's type if they are new, and are removed if the store has none any more", () => {
    const catalog = makeCatalog([us], { product: { title: "Mug" } })
    const held = (values: Values) => ({
      values: { title: "Mug", ...values },
      types: { "specs.grams": "number_integer" }
    })
    catalog.bring("product", held({ "specs.grams": "300" }), false)
    assert.deepStrictEqual(catalog.entity("product").attributes["specs.grams"], {
      value: "300",
      type: "number_integer"
    })
    assert.isFalse(versionOn(catalog.entity("product"), us).pendingPublish)
    const { plan } = catalog.bring("product", held({ "specs.grams": "0300" }), false)
    assert.deepStrictEqual(plan.changes, [])
    catalog.bring("product", held({}), false)
    assert.notProperty(catalog.entity("product").attributes, "specs.grams")
    assert.strictEqual(
      typeOf("product", "specs.grams", [accepted(catalog.entity("product"))]),
      "single_line_text_field"
    )
  })

  it("of other apps and reserved namespaces stay if the store lacks them, because a publish does not send them there", () => {
    for (const key of [
      "app--9--reviews.rank",
      "shopify_standard.price",
      "protected.price",
      "shopify-l10n-fields.price"
    ]) {
      const catalog = makeCatalog([us, eu], { product: { title: "Mug", [key]: "4" } })
      const { drafted, plan } = catalog.bring("product", { values: { title: "Mug" } }, false)
      assert.deepStrictEqual([drafted, plan.conflicts], [[], []])
      assert.strictEqual(shown(catalog.entity("product"), us, key), "4")
      assert.isFalse(versionOn(catalog.entity("product"), us).pendingPublish)
      // The store that has it may change it.
      catalog.bring("product", { values: { title: "Mug", [key]: "5" } }, false)
      assert.deepStrictEqual(
        [us, eu].map((storeId) => shown(catalog.entity("product"), storeId, key)),
        ["5", "4"]
      )
    }
  })
})

describe("equivalent values", () => {
  it.each([
    ["price", "number_decimal", "10.0", "10.00", true],
    ["price", "number_decimal", "010", "10", true],
    ["price", "number_decimal", "-0.0", "0", true],
    ["price", "number_decimal", "10.01", "10.010", true],
    ["price", "number_decimal", "12345678901234567.1", "12345678901234567.2", false],
    ["price", "number_decimal", "10", "", false],
    ["tags", "list.single_line_text_field", '["b","a"]', '["a", "b"]', true],
    ["tags", "list.single_line_text_field", '["b"]', '["a","b"]', false],
    ["my.list", "list.single_line_text_field", '["b","a"]', '["a","b"]', false],
    ["my.list", "list.single_line_text_field", '["b", "a"]', '["b","a"]', true],
    ["my.json", "json", '{"a":1,"b":[2]}', '{ "b": [2], "a": 1 }', true],
    ["my.json", "json", "{", "{ ", true],
    ["my.json", "json", "{", "[", false],
    ["my.when", "date_time", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", true],
    ["my.when", "date_time", "soon", "later", false],
    ["my.width", "dimension", '{"value":25,"unit":"cm"}', '{"value":25.0,"unit":"CENTIMETERS"}', true],
    ["my.width", "dimension", '{"value":25,"unit":"cm"}', '{"value":25,"unit":"m"}', false],
    ["my.width", "dimension", '{"value":25,"unit":"cm"}', '{"value":26,"unit":"cm"}', false],
    ["my.size", "volume", '{"value":"1.50","unit":"us_gal"}', '{"value":1.5,"unit":"GALLONS"}', true],
    ["my.cost", "money", '{"amount":"5.9","currency_code":"CAD"}', '{"amount":"5.90","currency_code":"CAD"}', true],
    ["my.cost", "money", '{"amount":"5.9","currency_code":"CAD"}', '{"amount":"5.9","currency_code":"USD"}', false],
    ["my.sizes", "list.number_integer", "[1,2]", '["1","2"]', true],
    ["my.sizes", "list.number_integer", "[1,2]", "[2,1]", false],
    ["my.sizes", "list.weight", '[{"value":1,"unit":"kg"}]', '[{"value":1,"unit":"lb"}]', false],
    ["my.sizes", "list.number_integer", "[1]", "1", false],
    ["url", "url", "https://a.example/x.jpg?v=1", "https://a.example/x.jpg", true],
    ["my.link", "url", "https://a.example/x?v=1", "https://a.example/x", false],
    ["title", "single_line_text_field", " Mug ", "Mug", true],
    ["title", "single_line_text_field", "Mug", "mug", false],
    ["title", "single_line_text_field", "10.0", "10.00", false]
  ] as const)("%s (%s): %j and %j: %s", (key, type, left, right, isSame) => {
    assert.strictEqual(sameValue(key, type, left, right), isSame)
    assert.strictEqual(sameValue(key, type, right, left), isSame)
  })

  it.each(shopifyMetafields)("%s: %j, and as Shopify returns it: %j", (type, sent, returned) => {
    assert.isTrue(sameValue("my.field", type, sent, returned))
  })

  const tags = "list.single_line_text_field"
  it.each([
    ["tags", tags, '[" Red ","red","RED"," big   sale "]', '["big   sale","Red"]', true],
    ["tags", tags, '["blue,green"]', '["blue","green"]', true],
    ["tags", tags, '["blue"]', '["blue","green"]', false],
    ["handle", "single_line_text_field", "  Another Weird/Handle 300 % ", "another-weird-handle-300", true],
    ["handle", "single_line_text_field", "  Mixed CASE / 東京 100 % ", "mixed-case-東京-100", true],
    ["handle", "single_line_text_field", "summer", "summer-1", false],
    ["weight", "number_decimal", "", "0", true],
    ["weight", "number_decimal", "", "0.5", false],
    ["title", "single_line_text_field", "Mug", "mug", false],
    ["title", "single_line_text_field", "", "Mug", false]
  ] as const)("sent to a platform, %s (%s) %j can come back as %j: %s", (key, type, sent, returned, isSame) => {
    assert.strictEqual(sameOnPlatform(key, type, sent, returned), isSame)
  })

  it("options are equal with the same names and the same values in any order", () => {
    const options = (...values: ReadonlyArray<string>) => JSON.stringify([{ name: "Size", values }])
    assert.isTrue(sameOptions(options("S", "M"), options("M", "S")))
    assert.isFalse(sameOptions(options("S"), options("M", "S")))
    assert.isFalse(sameOptions("", ""))
  })
})
