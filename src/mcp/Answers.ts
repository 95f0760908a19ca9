import { isObject } from "./Vocabulary.ts"

/** Most characters of an answer's JSON, and of that of a batch of 500 operations. */
export const maxCharacters = 60_000
export const maxBatchCharacters = 160_000
/** Longest value that is given whole beside others. */
export const longestValue = 4_000
/** Longest value that is given whole when it is asked for by name: with its surroundings it must fit an answer. */
export const longestAskedValue = 50_000
/** Most characters of why an operation of a batch failed. */
const longestMessage = 120
/** What stands before the rows of a list leaves this much for them. */
const maxHeadCharacters = 30_000

type Json = { readonly [member: string]: unknown }

/** How much of texts and lists is given. */
interface Caps {
  readonly text: number
  readonly items: number
}

const everything = Number.POSITIVE_INFINITY

/** From what is given at most down to what fits anything: a UUID is never cut. */
const ladder: ReadonlyArray<Caps> = [
  { text: longestAskedValue, items: everything },
  { text: 20_000, items: everything },
  { text: longestValue, items: everything },
  { text: longestValue, items: 1_000 },
  { text: 1_000, items: 1_000 },
  { text: 1_000, items: 200 },
  { text: 200, items: 100 },
  { text: 200, items: 40 },
  { text: 60, items: 10 },
  { text: 40, items: 3 }
]

const capsFrom = (text: number) => ladder.filter((caps) => caps.text <= text)

/** The beginning of a text; no character is cut in two. */
const beginning = (text: string, length: number) => {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

/** Members with a value of the attribute that `key` names. */
const valueMembers: ReadonlyArray<string> = ["value", "live", "new"]

/** A value within its caps. `cut` takes the name of what was cut: of a value its key, of anything else its member. */
const within = (value: unknown, caps: Caps, name: string, cut: Set<string>): unknown => {
  if (typeof value === "string") {
    if (value.length <= caps.text) return value
    cut.add(name)
    return beginning(value, caps.text)
  }
  if (Array.isArray(value)) {
    if (value.length > caps.items) cut.add(name)
    return value.slice(0, caps.items).map((item) => within(item, caps, name, cut))
  }
  if (!isObject(value)) return value
  const key = typeof value.key === "string" ? value.key : undefined
  return Object.fromEntries(
    Object.entries(value).map(([member, item]) => [
      member,
      within(item, caps, valueMembers.includes(member) && key !== undefined ? key : member, cut)
    ])
  )
}

const withinCaps = (record: Json, caps: Caps): Json => {
  const cut = new Set<string>()
  const value = within(record, caps, "", cut) as Json
  return cut.size === 0 ? value : { ...value, truncated_keys: [...cut].map((name) => beginning(name, 320)) }
}

/** JSON that is what its members' texts say: to write a row out takes longer than to find it, so nobody does it twice. */
const joined = (members: ReadonlyMap<string, string>) =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`

interface Fitted {
  readonly record: Json
  readonly text: string
}

const writtenOut = (record: Json): Fitted => ({ record, text: JSON.stringify(record) })

/** A record, cut until it has so many characters at most; `longest`: the longest value that is given in any case. */
const fitted = (record: Json, characters: number, longest: number): Fitted => {
  const whole = writtenOut(record)
  // Nothing in a small record is too long.
  if (whole.text.length <= Math.min(characters, longest)) return whole
  let smallest = whole
  for (const caps of capsFrom(longest)) {
    smallest = writtenOut(withinCaps(record, caps))
    if (smallest.text.length <= characters) break
  }
  return smallest
}

/** Longest value of an answer, by whether it was asked for by name. */
export const longestOf = (isAsked: boolean): number => (isAsked ? longestAskedValue : longestValue)

/** The JSON of one record, whole or with what was cut of it. */
export const cutRecord = (record: Json, longest: number): string => fitted(record, maxCharacters, longest).text

/** What stands around a value that is given in parts leaves the rest of an answer for it. */
const maxAround = 10_000
/** Parts in which a value is given, in characters. Two of the last fit an answer, whatever JSON makes of them. */
const partSizes = [longestAskedValue, 20_000, 8_000, 4_000]

/**
 * The JSON of a record of which one attribute was asked for: the part of its values from a character on that fits, and in
 * `next_value_offset` where the next part begins. Characters are code points, so that none is cut in two.
 */
export const cutValue = (record: Json, key: string, offset: number): string => {
  const whole = JSON.stringify(record)
  if (offset === 0 && whole.length <= maxCharacters) return whole
  const { attributes, ...others } = record
  const asked = (Array.isArray(attributes) ? attributes : []).find((each) => isObject(each) && each.key === key)
  if (!isObject(asked)) return cutRecord(record, longestAskedValue)
  const values = Object.entries(asked).flatMap(([member, value]) =>
    valueMembers.includes(member) && typeof value === "string" ? [[member, [...value]] as const] : []
  )
  const length = Math.max(...values.map(([, characters]) => characters.length))
  const around = fitted(others, maxAround, longestValue).record
  let smallest = ""
  for (const size of partSizes) {
    const end = offset + size
    const parts = values.map(([member, characters]) => [member, characters.slice(offset, end).join("")])
    smallest = JSON.stringify({
      ...around,
      attributes: [{ ...asked, ...Object.fromEntries(parts) }],
      ...(end < length && { next_value_offset: end })
    })
    if (smallest.length <= maxCharacters) break
  }
  return smallest
}

/** The JSON of rows of which none may be left out: all are cut until they fit together. */
export const cutPage = (answer: Json, rows: ReadonlyArray<string>, longest: number): string => {
  let smallest = JSON.stringify(answer)
  if (smallest.length <= Math.min(maxCharacters, longest)) return smallest
  for (const caps of capsFrom(longest)) {
    const lists = rows.map((name) => {
      const list = answer[name]
      return [name, Array.isArray(list) ? list.map((row) => (isObject(row) ? withinCaps(row, caps) : row)) : list]
    })
    smallest = JSON.stringify({ ...answer, ...Object.fromEntries(lists) })
    if (smallest.length <= maxCharacters) break
  }
  return smallest
}

/** Rows in the order in which a cursor passes them, and how many of them an answer holds. */
export interface CutRows {
  /** The answer's JSON. `ending`: members that take the place of its own, or come after them. */
  readonly written: (ending?: Json) => string
  readonly taken: number
  readonly more: boolean
}

/** As many rows from a place on as fit, at least one; what is no list of rows is given with each answer. */
export const cutRows = (
  answer: Json,
  names: ReadonlyArray<string>,
  { from, limit, longest }: { readonly from: number; readonly limit: number; readonly longest: number }
): CutRows => {
  const head = fitted(
    Object.fromEntries(Object.entries(answer).filter(([name]) => !names.includes(name))),
    maxHeadCharacters,
    longest
  )
  const all = names.flatMap((name) =>
    ((answer[name] as ReadonlyArray<unknown> | undefined) ?? []).map((row) => ({ name, row }))
  )
  const lists = new Map(names.map((name) => [name, [] as string[]]))
  // A cursor, and the names of the lists.
  let room = maxCharacters - head.text.length - joined(new Map(names.map((name) => [name, "[]"]))).length - 400
  let taken = 0
  for (const { name, row } of all.slice(from, from + limit)) {
    const text = isObject(row) ? fitted(row, taken === 0 ? room : everything, longest).text : JSON.stringify(row)
    if (text.length + 1 > room && taken > 0) break
    lists.get(name)?.push(text)
    room -= text.length + 1
    taken += 1
  }
  return {
    written: (ending = {}) => {
      const members = new Map<string, string>()
      // They keep the order of the definition.
      for (const name of new Set([...Object.keys(answer), "truncated_keys", ...Object.keys(ending)])) {
        const list = lists.get(name)
        const value = Object.hasOwn(ending, name) ? ending[name] : head.record[name]
        if (list !== undefined) members.set(name, `[${list.join()}]`)
        else if (value !== undefined) members.set(name, JSON.stringify(value))
      }
      return joined(members)
    },
    taken,
    more: from + taken < all.length
  }
}

/**
 * The JSON of all results of a batch; what failed says why in short. Of fields with very long names, only the beginning is
 * repeated.
 */
export const cutBatch = (answer: Json): string => {
  const results = Array.isArray(answer.results) ? answer.results : []
  const shortened = (characters: number) =>
    results.map((result) =>
      isObject(result) && isObject(result.error) && typeof result.error.message === "string"
        ? { ...result, error: { ...result.error, message: beginning(result.error.message, characters) } }
        : result
    )
  let smallest = JSON.stringify({ ...answer, results: shortened(longestMessage) })
  for (const text of [60, 40]) {
    if (smallest.length <= maxBatchCharacters) break
    const rows = shortened(text).map((row) => (isObject(row) ? withinCaps(row, { text, items: everything }) : row))
    smallest = JSON.stringify({ ...answer, results: rows })
  }
  return smallest
}

/** A row with the members that were asked for, and those that it always has. */
const chosenMembers = (row: unknown, members: ReadonlyArray<string>) =>
  isObject(row) ? Object.fromEntries(Object.entries(row).filter(([name]) => members.includes(name))) : row

/** The rows of an answer with what `fields` asked for of them. */
export const chooseMembers = (answer: Json, rows: ReadonlyArray<string>, members: ReadonlyArray<string>): Json => ({
  ...answer,
  ...Object.fromEntries(
    rows.flatMap((name) => {
      const list = answer[name]
      return Array.isArray(list) ? [[name, list.map((row) => chosenMembers(row, members))]] : []
    })
  )
})
