import { readOptions } from "../model/ProductOptions.ts"

/** Whether a product CSV can name the address. */
export const isWebAddress = (url: string): boolean => /^https?:\/\//i.test(url)

/** Whether two texts contain the same options, each with the same values in any order. */
export const sameOptions = (left: string, right: string): boolean => {
  const [some, others] = [readOptions(left), readOptions(right)]
  return (
    some.length > 0 &&
    some.length === others.length &&
    some.every(
      ({ name, values }, index) =>
        name === others[index]?.name &&
        JSON.stringify([...values].sort()) === JSON.stringify([...(others[index]?.values ?? [])].sort())
    )
  )
}
