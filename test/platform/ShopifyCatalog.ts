import { EntityId, PublicationId } from "../../src/model/Ids.ts"
import { Publication } from "../../src/platform/Publication.ts"
import { attributesOf } from "../../src/testing/platform/Publications.ts"
import type { ShopifyShop } from "./ShopifyShop.ts"

/** Fills a shop with products (two variants, a picture and a metafield each) and a collection of all of them. */
export const fillShop = (shop: ShopifyShop, products: number): void => {
  const members: Array<string> = []
  for (let index = 0; index < products; index++) {
    const file = shop.makeFile({
      alt: `Product ${index} from the side`,
      contentType: "IMAGE",
      originalSource: `https://origin.example/${index}.jpg`
    })
    const { product } = shop.productSet({
      identifier: { handle: `product-${index}` },
      input: {
        title: `Product ${index}`,
        handle: `product-${index}`,
        vendor: "Fell",
        descriptionHtml: `<p>${"Made to last, in a hundred words of its own. ".repeat(8)}</p>`,
        tags: ["outdoor", "steel"],
        files: [{ id: file.id }],
        productOptions: [{ name: "Size", values: [{ name: "S" }, { name: "M" }] }],
        metafields: [{ namespace: "specs", key: "grams", type: "number_integer", value: "300" }],
        variants: ["S", "M"].map((name) => ({
          price: 10,
          inventoryItem: { sku: `SKU-${index}-${name}` },
          optionValues: [{ optionName: "Size", name }]
        }))
      }
    })
    if (product !== null) members.push(product.id)
  }
  const { collection } = shop.collectionCreate({ collection: { title: "All", handle: "all" } })
  if (collection !== null) collection.memberIds.push(...members)
}

/** The ids of new products of a shop. */
export const productsOf = (shop: ShopifyShop, count: number): Array<string> =>
  Array.from({ length: count }, (_, index) => {
    const handle = `product-${index}`
    return shop.productSet({ identifier: { handle }, input: { title: handle, handle } }).product?.id ?? ""
  })

/** A publication of a collection that the shop does not have. */
export const aCollection = (
  members: ReadonlyArray<string>,
  values: Readonly<Record<string, string>> = { title: "Tents" }
) =>
  Publication.Collection({
    key: PublicationId.make(crypto.randomUUID()),
    entityId: EntityId.make(crypto.randomUUID()),
    platformId: null,
    attributes: attributesOf(values),
    members
  })
