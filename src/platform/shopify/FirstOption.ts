import { Effect } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import { type FirstOption, noOption } from "../../model/ProductOptions.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import type { Published, PublishedEntity, VariantPublication } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { mutate } from "./Refusals.ts"

/** Shopify's option of a product without options: "Title", whose only value is "Default Title". Undefined if the product has options. */
const namelessOption = ({ options }: Answers.LiveProduct) => {
  const [option, ...others] = options
  const [value, ...more] = option?.optionValues ?? []
  const isNameless =
    others.length === 0 && more.length === 0 && option?.name === noOption.name && value?.name === noOption.value
  return isNameless ? { option, value } : undefined
}

/** Whether a product has no option yet, although this is published as its first one. */
export const lacksOption = (product: Answers.LiveProduct, firstOption: FirstOption | undefined): boolean =>
  firstOption !== undefined && namelessOption(product) !== undefined

/**
 * The first option of a publication, if the product has exactly this option, with the value of its live variant and no others than those
 * of `variants`. Otherwise it is not known which value the live variant has.
 */
export const firstOptionIn = (
  { options: [option, ...others] }: Answers.LiveProduct,
  firstOption: FirstOption | undefined,
  variants: ReadonlyArray<PublishedEntity>
): Pick<Published, "firstOption"> => {
  if (firstOption === undefined || option === undefined || others.length > 0) return {}
  const values = option.optionValues.map(({ name }) => name)
  const expected = [firstOption.former, ...variants.map(({ attributes }) => valueOf(attributes, "option1"))]
  const isGiven =
    option.name === firstOption.name &&
    values.includes(firstOption.former) &&
    values.every((value) => expected.includes(value))
  return isGiven ? { firstOption } : {}
}

/**
 * As `firstOptionIn`, of the product of a variant. Nothing is read if the publication has no first option. If the read fails, the option
 * is unknown, because the publish itself has succeeded.
 */
export const readFirstOption = (client: ShopifyClient, store: PlatformStore, publication: VariantPublication) =>
  Effect.gen(function* () {
    const { firstOption, productPlatformId: id } = publication
    if (firstOption === undefined) return {}
    const { product } = yield* client.read(store, Documents.productById, Answers.ProductById, { id })
    return product === null ? {} : firstOptionIn(product, firstOption, [publication])
  }).pipe(Effect.orElseSucceed((): Pick<Published, "firstOption"> => ({})))

const otherOptions = new PlatformRefused({
  code: "OTHER_OPTIONS",
  message: "The product has other options in the store. Refresh the store, then publish again.",
  field: null
})

/** Fails if a product does not have exactly this option: a new value would come under another one. */
export const failIfOtherOptions = (names: ReadonlyArray<string>, firstOption: FirstOption | undefined) =>
  firstOption === undefined || (names.length === 1 && names[0]?.trim() === firstOption.name.trim())
    ? Effect.void
    : otherOptions

/**
 * Gives a product without options its first one: renames the option "Title" and its value "Default Title" in one call. The variant
 * stays the same, with its id and stock, because the documentation of Shopify's `productOptionUpdate` and its strategy `LEAVE_AS_IS`
 * says that no variants are created or deleted. Returns the names of the options that the product has then. A product that has options
 * is left as it is.
 */
export const giveFirstOption = (
  client: ShopifyClient,
  store: PlatformStore,
  product: Answers.LiveProduct,
  firstOption: FirstOption | undefined
) =>
  Effect.gen(function* () {
    const nameless = namelessOption(product)
    if (firstOption === undefined || nameless === undefined) return product.options.map(({ name }) => name)
    yield* mutate(client, store, Documents.updateOption, Answers.UpdateOption, {
      productId: product.id,
      option: { id: nameless.option.id, name: firstOption.name },
      values: [{ id: nameless.value.id, name: firstOption.former }]
    })
    return [firstOption.name]
  })
