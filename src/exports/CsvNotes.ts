import { maxImages } from "../imports/StoreProduct.ts"
import { SharedHandles } from "./SharedHandles.ts"
import { type ExportedProduct, handleOf, hasTagWithComma, hasTooManyImages, titleOf } from "./ShopifyCsvWriter.ts"

const countText = (count: number, what: string) =>
  count === 0 ? [] : [`${count.toLocaleString("en")} ${count === 1 ? "product" : "products"} ${what}`]

/**
 * Makes the notes of a product CSV: what an import of the file would refuse or read otherwise. `add`: counts a product of the file.
 * `notes`: `notOnStore`: the number of selected products that the file does not have.
 */
export const makeCsvNotes = () => {
  let [withoutTitle, withoutHandle, withManyImages, withCommas] = [0, 0, 0, 0]
  const sharedHandles = new SharedHandles()
  return {
    add: (product: ExportedProduct): void => {
      if (titleOf(product) === "") withoutTitle += 1
      const handle = handleOf(product)
      if (handle === "") withoutHandle += 1
      else sharedHandles.add(handle)
      if (hasTooManyImages(product)) withManyImages += 1
      if (hasTagWithComma(product)) withCommas += 1
    },
    notes: (notOnStore: number): ReadonlyArray<string> => [
      ...countText(notOnStore, "not on this store: the file does not have them."),
      ...countText(withoutTitle, "without a title: an import refuses the file until they have one."),
      ...countText(
        withoutHandle,
        "without a handle: the file has the id instead, by which an import into this account finds the product."
      ),
      ...countText(
        sharedHandles.count,
        "with the handle of another product: an import refuses the file until handles differ."
      ),
      ...countText(
        withManyImages,
        `with more than ${maxImages} images, those of variants included: an import refuses the file until they have fewer.`
      ),
      ...countText(withCommas, "with a comma in a tag: an import makes several tags of such a tag.")
    ]
  }
}
