import { Schema } from "effect"

export const text = Schema.optionalWith(Schema.String, { as: "Option" })

/** The filters of a list. `on`: only entities on this store. */
export const listFilters = { search: text, vendor: text, type: text, tag: text, on: text }

const ListFilters = Schema.Struct(listFilters)
export type ListFilters = typeof ListFilters.Type
