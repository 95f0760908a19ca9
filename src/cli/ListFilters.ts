import { Options } from "@effect/cli"
import { Option } from "effect"
import { textOption } from "./Flags.ts"

export const filter = (name: string, value: string, description: string) =>
  Options.optional(textOption(name, value, description))

/** The filters of a list, as options. */
export const listFilters = {
  search: filter("search", "WORDS", "Only entities whose title, SKU, vendor or tags have all these words."),
  vendor: filter("vendor", "NAME", "Only entities of this vendor."),
  type: filter("type", "NAME", "Only entities of this product type."),
  tag: filter("tag", "NAME", "Only entities with this tag."),
  on: filter("on", "DOMAIN", "Only entities on this store.")
}

export interface GivenFilters {
  readonly search: Option.Option<string>
  readonly vendor: Option.Option<string>
  readonly type: Option.Option<string>
  readonly tag: Option.Option<string>
  readonly on: Option.Option<string>
}

export const isFiltered = ({ on, search, tag, type, vendor }: GivenFilters): boolean =>
  [on, search, tag, type, vendor].some(Option.isSome)
