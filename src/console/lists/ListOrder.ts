import { Option, Schema } from "effect"
import { type ListOrder, listOrders } from "../../catalog/MerchantLists.ts"
import type { Place } from "../../catalog/MerchantListsRepo.ts"
import { EntityId } from "../../model/Ids.ts"
import type { Sentence } from "../languages/Words.tsx"

/** The words of each order, for a choice. */
export const orderWords: Readonly<Record<ListOrder, Sentence>> = {
  newest: "Newest change first",
  oldest: "Oldest change first",
  title: "Title, A to Z",
  "title-desc": "Title, Z to A"
}

const isOrder = Schema.is(Schema.Literal(...listOrders))

/** The order that an address names. Default: the newest change first. */
export const orderOf = (order: string | undefined): ListOrder => (isOrder(order) ? order : "newest")

const readTitlePlace = Schema.decodeOption(Schema.parseJson(Schema.Tuple(Schema.String, EntityId)))

/** A place as a parameter of an address. */
export const placeText = (place: Place): string =>
  typeof place === "number" ? String(place) : Buffer.from(JSON.stringify(place)).toString("base64url")

/** The place that `placeText` wrote. Undefined: the text is no place of this order, and the list starts at its first page. */
export const placeIn = (text: string | undefined, order: ListOrder): Place | undefined => {
  if (text === undefined) return undefined
  if (order === "newest" || order === "oldest") return /^\d{1,15}$/.test(text) ? Number(text) : undefined
  const place = Option.getOrUndefined(readTitlePlace(Buffer.from(text, "base64url").toString("utf8")))
  // PostgreSQL takes no text with U+0000.
  return place?.[0].includes("\0") ? undefined : place
}
