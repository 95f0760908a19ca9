import { complaint } from "./ShopifyOptions.ts"
import type { Input, Product, ShopFile } from "./ShopifyShop.ts"

type Files = ReadonlyMap<string, ShopFile>

/** Why the shop refuses to show a file for a variant of the product: the message and the code. */
const pictureMisfit = (product: Product, files: Files, mediaId: string): readonly [string, string] | undefined => {
  if (!product.gallery.includes(mediaId))
    return ["Media does not exist on the given product.", "MEDIA_DOES_NOT_EXIST_ON_PRODUCT"]
  if ((files.get(mediaId)?.processing ?? 0) > 0) return ["Non-ready media are not supported.", "NON_READY_MEDIA"]
  return undefined
}

/** The refusals of pictures in the input of new variants. */
export const mediaIdErrors = (product: Product, files: Files, variants: ReadonlyArray<Input>) =>
  variants.flatMap(({ mediaId }, index) => {
    const misfit = mediaId == null ? undefined : pictureMisfit(product, files, mediaId)
    if (misfit === undefined) return []
    const [message, code] = misfit
    return complaint(["variants", String(index), "mediaId"], message, code).userErrors
  })

const pairOf = (product: Product | undefined, { variantMedia }: Input) => {
  const [{ mediaIds, variantId }] = variantMedia
  return { mediaId: mediaIds[0] as string, variant: product?.variantList.find(({ id }) => id === variantId) }
}

const noVariant = complaint(
  ["variantMedia", "0", "variantId"],
  "Variant does not exist on the given product.",
  "PRODUCT_VARIANT_DOES_NOT_EXIST_ON_PRODUCT"
)

/** As `productVariantAppendMedia` is documented: a variant can have one picture. */
export const appendPicture = (product: Product | undefined, files: Files, input: Input) => {
  const { mediaId, variant } = pairOf(product, input)
  if (product === undefined || variant === undefined) return noVariant
  const misfit = pictureMisfit(product, files, mediaId)
  if (misfit !== undefined) return complaint(["variantMedia", "0", "mediaIds"], ...misfit)
  if (variant.pictureId !== null)
    return complaint(
      ["variantMedia", "0", "variantId"],
      "Product variant already has attached media.",
      "PRODUCT_VARIANT_ALREADY_HAS_MEDIA"
    )
  variant.pictureId = mediaId
  return { productVariants: [variant], userErrors: [] }
}

export const detachPicture = (product: Product | undefined, input: Input) => {
  const { mediaId, variant } = pairOf(product, input)
  if (variant === undefined) return noVariant
  if (variant.pictureId !== mediaId)
    return complaint(
      ["variantMedia", "0", "mediaIds"],
      "The specified media is not attached to the specified variant.",
      "MEDIA_IS_NOT_ATTACHED_TO_VARIANT"
    )
  variant.pictureId = null
  return { productVariants: [variant], userErrors: [] }
}
