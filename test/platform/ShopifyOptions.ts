import type { Input, Owner, Product } from "./ShopifyShop.ts"

/** The options of a product in a shop, as strict as Shopify: what it documents, and the words and codes of its schema. */

export const complaint = (field: ReadonlyArray<string>, message: string, code: string) => ({
  userErrors: [{ field, message, code }]
})

export const optionIdOf = ({ id }: Owner, position: number) => `${id}/options/${position}`

export const optionValueIdOf = (product: Owner, position: number, at: number) =>
  `${optionIdOf(product, position)}/values/${at}`

export const namesOf = ({ optionList }: Pick<Product, "optionList">) => new Set(optionList.map(({ name }) => name))

/** Refusals of option values whose option is not among the options of the product. */
export const optionErrors = (
  names: ReadonlySet<string>,
  variants: ReadonlyArray<Input>,
  code: string,
  path: ReadonlyArray<string> = []
) =>
  variants.flatMap(({ optionValues = [] }, index) =>
    optionValues.flatMap(({ optionName }: Input, at: number) =>
      names.has(optionName)
        ? []
        : [
            {
              field: [...path, "variants", String(index), "optionValues", String(at)],
              message: "Option does not exist",
              code
            }
          ]
    )
  )

/** Refusals of names of option values that are linked to a metafield. */
export const linkedErrors = ({ isLinked = false }: Product, variants: ReadonlyArray<Input>) =>
  variants.flatMap(({ optionValues = [] }, index) =>
    isLinked && optionValues.length > 0
      ? [
          {
            field: ["variants", String(index), "optionValues", "0", "name"],
            message: "Cannot set name for an option value linked to a metafield.",
            code: "CANNOT_SET_NAME_FOR_LINKED_OPTION_VALUE"
          }
        ]
      : []
  )

/** Refusals of variants with the option values of another variant. */
export const takenErrors = ({ variantList }: Product, variants: ReadonlyArray<Input>) =>
  variants.flatMap(({ id, optionValues }, index) => {
    if (optionValues === undefined) return []
    const title = optionValues.map(({ name }: Input) => name).join(" / ")
    const isTaken = variantList.some(
      (other) => other.id !== id && other.options.map(({ value }) => value).join(" / ") === title
    )
    const message = `The variant '${title}' already exists. Please change at least one option value.`
    return isTaken ? [{ field: ["variants", String(index)], message, code: "VARIANT_ALREADY_EXISTS" }] : []
  })

/** Adds the values of new and changed variants to the options of their product. */
export const addValues = (product: Product) => {
  product.optionList = product.optionList.map(({ name, values }) => {
    const used = product.variantList.flatMap(({ options }) => options.filter((option) => option.name === name))
    return { name, values: [...new Set([...values, ...used.map(({ value }) => value)])] }
  })
}

/** As `productOptionUpdate` is documented: a value keeps its variants. */
export const updateOption = (product: Product | undefined, { option, optionValuesToUpdate }: Input) => {
  if (product === undefined) return complaint(["productId"], "Product does not exist", "PRODUCT_DOES_NOT_EXIST")
  const index = product.optionList.findIndex((_, position) => optionIdOf(product, position) === option.id)
  const before = product.optionList[index]
  if (before === undefined) return complaint(["option", "id"], "Option does not exist", "OPTION_DOES_NOT_EXIST")
  const name: string = option.name ?? before.name
  if (product.optionList.some((other) => other !== before && other.name === name))
    return complaint(["option", "name"], "Option already exists", "OPTION_ALREADY_EXISTS")
  const renamed = new Map<string, string>()
  for (const [at, value] of optionValuesToUpdate.entries()) {
    const place = before.values.findIndex((_, position) => optionValueIdOf(product, index, position) === value.id)
    const old = before.values[place]
    const field = ["optionValuesToUpdate", String(at), "id"]
    if (old === undefined) return complaint(field, "Option value does not exist", "OPTION_VALUE_DOES_NOT_EXIST")
    renamed.set(old, value.name)
  }
  const values = before.values.map((value) => renamed.get(value) ?? value)
  if (new Set(values).size < values.length)
    return complaint(["optionValuesToUpdate"], "Option value already exists", "OPTION_VALUE_ALREADY_EXISTS")
  product.optionList = product.optionList.map((other) => (other === before ? { name, values } : other))
  for (const variant of product.variantList)
    variant.options = variant.options.map((own) =>
      own.name === before.name ? { name, value: renamed.get(own.value) ?? own.value } : own
    )
  return { userErrors: [] }
}
