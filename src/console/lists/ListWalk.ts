import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import { windowSize } from "../../catalog/MerchantLists.ts"
import type { Words } from "../languages/Words.tsx"
import { placeText } from "./ListOrder.ts"

/**
 * The way to a page after the first, as the parameter `walk` of its address: the total that the first page counted, the number of the
 * page, and the places of the pages before it, except the first. It only affects what the page shows as total and as links.
 */
interface ListWalk {
  readonly total: number
  /** Whether `total` counts all entities. */
  readonly isAll: boolean
  readonly page: number
  /** Parameters `from`, the nearest last. The farthest are left out if they are too long for an address. */
  readonly before: ReadonlyArray<string>
}

/** Maximum length of the places, in characters. Places of the order by title have up to 500. */
const maxBefore = 2_000

const pattern = /^(\d{1,6})(m?)\.(\d{1,6})((?:\.[\w-]{1,600})*)$/

/** The walk that a page wrote. Undefined: the text is none. */
export const walkIn = (text: string | undefined): ListWalk | undefined => {
  const [, total, more, page, before = ""] = pattern.exec(text ?? "") ?? []
  return total === undefined || before.length > 2 * maxBefore
    ? undefined
    : { total: Number(total), isAll: more === "", page: Number(page), before: before.split(".").slice(1) }
}

const walkText = ({ before, isAll, page, total }: ListWalk) =>
  [`${total}${isAll ? "" : "m"}`, page, ...before].join(".")

/** The parameters of the address of a page: its place, and the way to it. */
interface WalkParameters {
  readonly from?: string
  readonly walk?: string
}

/** The total of a list: of the walk, or on the first page as the page counted it. Undefined: it is unknown. */
export const totalIn = ({ from, walk }: WalkParameters, { found, isAll }: MerchantPage) =>
  from === undefined ? { total: isAll ? found : Math.min(found, windowSize), isAll, page: 1, before: [] } : walkIn(walk)

/** The total as text: with a plus sign if it does not count all entities. */
export const totalTextOf = (t: Words, query: WalkParameters, page: MerchantPage): string | undefined => {
  const counted = totalIn(query, page)
  return counted === undefined ? undefined : `${t.number(counted.total)}${counted.isAll ? "" : "+"}`
}

/** The parameters of the next page. Undefined: this page is the last one. */
export const nextOf = (query: WalkParameters, page: MerchantPage): WalkParameters | undefined => {
  if (page.next === undefined) return undefined
  const walk = totalIn(query, page)
  const from = placeText(page.next)
  if (walk === undefined) return { from }
  const before = query.from === undefined ? [] : [...walk.before, query.from]
  while (before.join(".").length > maxBefore) before.shift()
  return { from, walk: walkText({ ...walk, page: walk.page + 1, before }) }
}

/** The parameters of the previous page; empty for the first page. Undefined: the way to it is unknown. */
export const previousOf = ({ from, walk: text }: WalkParameters): WalkParameters | undefined => {
  const walk = from === undefined ? undefined : walkIn(text)
  if (walk === undefined) return undefined
  const [place] = walk.before.slice(-1)
  if (place === undefined) return walk.page === 2 ? {} : undefined
  return { from: place, walk: walkText({ ...walk, page: walk.page - 1, before: walk.before.slice(0, -1) }) }
}
