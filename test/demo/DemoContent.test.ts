import { assert, describe, it } from "@effect/vitest"
import { families, shops, stories, translations } from "../../src/demo/DemoContent.ts"

// Importing the content checks it against its schemas.

describe("the content of the demo", () => {
  const products = families.flatMap((family) => Object.keys(family.products))
  const { english, german, local } = translations

  it("refers only to products that exist", () => {
    const named = [
      ...Object.keys(stories.productGaps),
      ...Object.keys(stories.firstVariantGaps),
      ...stories.withoutVariants,
      ...stories.withoutGallery,
      ...stories.withoutAlt,
      ...Object.values(stories.moreMedia).flatMap(({ product }) => product ?? []),
      ...Object.keys(stories.firstPublishes),
      ...stories.edits.map(({ product }) => product),
      ...Object.values(stories.laterMembers).flat(),
      ...stories.laterPublishes.map(({ product }) => product),
      ...Object.values(local).flatMap((texts) => Object.keys(texts)),
      ...Object.keys(german.products),
      ...Object.keys(english.products),
      ...Object.keys(english.outdatedSources),
      ...english.missing
    ]
    assert.includeMembers(products, named)
  })

  it("refers only to collections and tags that exist", () => {
    const named = [german.collections, english.collections, stories.laterMembers].flatMap((texts) => Object.keys(texts))
    assert.includeMembers(Object.keys(stories.collections), named)
    assert.includeMembers(
      families.flatMap(({ tags }) => tags),
      Object.values(stories.collections).map(({ tag }) => tag)
    )
  })

  it("refers only to files that exist", () => {
    const files = [...products.map((handle) => `${handle}.jpg`), ...Object.keys(stories.moreMedia)]
    assert.includeMembers(files, Object.keys(stories.laterAlts))
  })

  it("has each product once, and a definition of every metafield of the products", () => {
    assert.strictEqual(new Set(products).size, products.length)
    assert.includeMembers(
      Object.keys(shops.metafields.product),
      families.flatMap(({ metafields }) => Object.keys(metafields))
    )
  })

  it("has a value for every field of a metaobject entry", () => {
    for (const { entries, fields } of Object.values(shops.metaobjects))
      for (const { values } of Object.values(entries)) assert.lengthOf(values, fields.length)
  })
})
