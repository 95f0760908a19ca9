import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { type EntityId, PublicationId, StoreId } from "../../src/model/Ids.ts"
import { findFirstOption } from "../../src/publishing/FirstOption.ts"
import { isSameContent, toPush } from "../../src/publishing/PublicationContent.ts"
import { attributesOf, newId } from "../../src/testing/platform/Publications.ts"

describe("the publication of a product that gets its first option", () => {
  const [product, former, other] = [newId(), newId(), newId()]
  const firstOption = { name: "Size", former: "S" }
  const values = { attributes: attributesOf({ title: "Mug" }), media: [], variants: [former, other] }
  const versionOf = (own: Readonly<Record<string, string>>) => ({
    platformId: null,
    mayBeLive: false,
    accepted: { attributes: attributesOf(own) }
  })
  const versions = new Map([
    [product, versionOf({ title: "Mug" })],
    [former, versionOf({ option1: "Default Title", sku: "ONE" })],
    [other, versionOf({ option1: "L" })]
  ])
  const sent = (more: object) =>
    Either.map(
      toPush(
        {
          id: PublicationId.make(crypto.randomUUID()),
          entityId: product,
          values,
          content: { _tag: "Draft", kind: "product", productId: null, values, carried: [], revisions: {}, ...more }
        },
        versions,
        new Map()
      ),
      ({ accepted, publication }) => ({
        firstOption: "firstOption" in publication ? publication.firstOption : undefined,
        variants:
          "variants" in publication ? publication.variants.map(({ attributes }) => attributes.option1?.value) : [],
        accepted: accepted.map(({ entityId }) => entityId)
      })
    )

  it("has the value of the variant that had none, which counts as accepted only if the store says that it has it", () => {
    assert.deepStrictEqual(
      sent({ firstOption }),
      Either.right({ firstOption, variants: ["S", "L"], accepted: [product] })
    )
    assert.deepStrictEqual(
      sent({}),
      Either.right({ firstOption: undefined, variants: ["Default Title", "L"], accepted: [product] })
    )
  })
})

describe("the first option of a product that is live without options", () => {
  type Texts = Readonly<Record<string, string>>
  const storeId = StoreId.make(crypto.randomUUID())
  const [productId, formerId, addedId] = [newId(), newId(), newId()]
  const anAggregate = (id: EntityId, position: number | null, own: Texts, accepted: Texts | null): Aggregate => ({
    id,
    kind: position === null ? "product" : "variant",
    parentId: position === null ? null : productId,
    position,
    attributes: attributesOf(own),
    pendingPublish: true,
    lastPublishStatus: "never_published",
    storeIds: [storeId],
    searchText: "",
    versions: [
      {
        storeId,
        overrides: {},
        accepted: accepted === null ? null : { attributes: attributesOf(accepted) },
        pendingPublish: true,
        lastPublishStatus: "never_published",
        publishedAt: null,
        lastPublishError: null,
        mayBeLive: false,
        platformId: null
      }
    ],
    gallery: [],
    members: []
  })
  const foundWith = (options: string, former: Texts, added: Texts) => {
    const product = anAggregate(productId, null, { title: "Mug", options }, { title: "Mug" })
    const variants = [
      anAggregate(formerId, 1, former, { option1: "Default Title" }),
      anAggregate(addedId, 2, added, null)
    ]
    return findFirstOption(new Map([product, ...variants].map((each) => [each.id, each])), product, storeId)
  }
  const size = '[{"name":"Size","values":["S","L"]}]'
  const title = '[{"name":"Title","values":["Default Title"]}]'

  it("has the name and the value of the draft", () => {
    assert.deepStrictEqual(foundWith(size, { option1: "S" }, { option1: "L" }), { name: "Size", former: "S" })
  })
  it("keeps its name if the live variant has no value", () => {
    for (const former of [{}, { option1: "" }, { option1: "Default Title" }])
      assert.deepStrictEqual(foundWith(size, former, { option1: "L" }), { name: "Size", former: "Default Title" })
  })
  it("may be named Title, as that of a product without options", () => {
    const former = { option1: "S" }
    assert.deepStrictEqual(foundWith(title, former, { option1: "L" }), { name: "Title", former: "S" })
    assert.isUndefined(foundWith(title, {}, { option1: "L" }))
    assert.isUndefined(foundWith(title, {}, {}))
  })
  it("makes a request differ from the open one if the name or the former value has changed since", () => {
    const values = { attributes: attributesOf({ option1: "L" }) }
    const content = {
      _tag: "Draft",
      kind: "variant",
      productId,
      values,
      carried: [],
      revisions: { [addedId]: 1 }
    } as const
    const withOption = (name: string, former: string) => ({ ...content, firstOption: { name, former } })
    const open = withOption("Size", "S")
    assert.deepStrictEqual(
      [open, content, withOption("Color", "S"), withOption("Size", "XS")].map((asked) => isSameContent(open, asked)),
      [true, true, false, false]
    )
    assert.isFalse(isSameContent(content, open))
  })
})
