import { Schema } from "effect"

export const optionalText = Schema.optionalWith(Schema.String, { as: "Option" })

/** The filters of a list. `on`: only entities on this store. */
export const listFilters = {
  search: optionalText,
  vendor: optionalText,
  type: optionalText,
  tag: optionalText,
  on: optionalText
}

const ListFilters = Schema.Struct(listFilters)
export type ListFilters = typeof ListFilters.Type
