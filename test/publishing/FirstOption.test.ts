import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { PublicationId } from "../../src/model/Ids.ts"
import { toPush } from "../../src/publishing/PublicationContent.ts"
import { attributesOf, newId } from "../../src/testing/platform/Publications.ts"

describe("the publication of a product that gets its first option", () => {
  const [product, former, other] = [newId(), newId(), newId()]
  const firstOption = { name: "Size", former: "S" }
  const values = { attributes: attributesOf({ title: "Mug" }), media: [], variants: [former, other] }
  const versionOf = (own: Readonly<Record<string, string>>) => ({
    platformId: null,
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

  it("has the value of the variant that had none, which counts as accepted after its own publish only", () => {
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
