import { Effect } from "effect"
import { type FirstOption, noOption } from "../../model/ProductOptions.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformRefused } from "../PlatformErrors.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { mutate } from "./Refusals.ts"

/** The option of a product without options: "Title", whose only value is "Default Title". Undefined: the product has options. */
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
