import { noOption } from "../model/ProductOptions.ts"
import { type ProductFamily, type StoreName, translations, type Values } from "./DemoContent.ts"

/** All combinations of one choice from each list. The last list varies fastest. */
const combinations = (lists: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> =>
  lists.reduce<ReadonlyArray<ReadonlyArray<string>>>(
    (chosen, choices) => chosen.flatMap((before) => choices.map((choice) => [...before, choice])),
    [[]]
  )

const twoDigits = (number: number) => String(number).padStart(2, "0")

/** An EAN-13 from the range for internal use (20 to 29), so that no real product has it. */
const barcodeOf = (...numbers: ReadonlyArray<number>) => {
  const digits = `2900${numbers.map(twoDigits).join("")}00`
  const sum = [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

const skuPart = (choice: string, index: number) =>
  choice
    .replaceAll(/[^A-Za-z0-9]/g, "")
    .slice(0, 3)
    .toUpperCase() || String(index + 1)

/** The values of a product's variants. `familyNumber` and `number`: positions of family and product in the content, from 1. */
export const variantValues = (
  family: ProductFamily,
  familyNumber: number,
  number: number,
  price: number
): ReadonlyArray<Values> => {
  const choices = Object.values(family.options)
  return combinations(choices).map((chosen, index) => {
    const places = chosen.map((choice, option) => choices[option]?.indexOf(choice) ?? 0)
    const steps = places[0] ?? 0
    const parts = chosen.map((choice, option) => skuPart(choice, places[option] ?? 0))
    const [option1 = noOption.value, option2 = null] = chosen
    return {
      title: chosen.join(" / ") || option1,
      sku: [family.code, twoDigits(number), ...parts].join("-"),
      barcode: barcodeOf(familyNumber, number, index + 1),
      price: (price + steps * (family.priceStep ?? 0)).toFixed(2),
      weight: String(family.weightGrams + (number - 1) * 35 + steps * 20),
      weight_unit: "g",
      option1,
      option2,
      taxable: "true",
      requires_shipping: "true"
    }
  })
}

/** A price in a store's currency, rounded as is usual there; null: the store uses the canonical price in euros. */
export const localPrice = (store: StoreName, price: string | null | undefined): string | null => {
  const euros = Number(price ?? Number.NaN)
  if (Number.isNaN(euros) || store === "europe") return null
  return (store === "gulf" ? Math.ceil((euros * 4.2) / 5) * 5 : Math.ceil((euros * 7.8) / 10) * 10 - 1).toFixed(2)
}

/** The local values of a product on a store; null: the store uses the canonical value. */
export const localValues = (handle: string, store: StoreName) => {
  const { text, title, vendor } = translations.local
  const localText = (texts: typeof title) => (store === "europe" ? null : (texts[handle]?.[store] ?? null))
  const description = localText(text)
  return {
    title: localText(title),
    vendor: localText(vendor),
    description_html: description === null ? null : `<p>${description}</p>`
  }
}
