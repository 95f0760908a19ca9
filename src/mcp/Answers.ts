import { isObject, toSafeText } from "./Vocabulary.ts"

/** Maximum characters of an answer's JSON. A batch, which has up to 500 results, may be longer. */
export const maxCharacters = 60_000
export const maxBatchCharacters = 160_000
/** Maximum characters of a value. Longer values are cut, unless the call selects `attributes` or `fields`. */
export const longestValue = 4_000
/** Maximum characters of a value if the call selects it. It still fits an answer, with the rest of its record. */
export const longestSelectedValue = 50_000
/** Maximum characters of the error message of a failed operation in a batch. */
const longestMessage = 120
/** Maximum characters of an answer's other members, so that its rows have room. */
const maxHeadCharacters = 30_000

type Json = { readonly [member: string]: unknown }

/** Maximum characters of each text, and maximum items of each list. */
interface Caps {
  readonly text: number
  readonly items: number
}

const everything = Number.POSITIVE_INFINITY

/** The caps to try in turn until the JSON is short enough. The smallest still fits a UUID (36 characters). */
const capsToTry: ReadonlyArray<Caps> = [
  { text: longestSelectedValue, items: everything },
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

const capsFrom = (text: number) => capsToTry.filter((caps) => caps.text <= text)

/** The beginning of a text. A surrogate pair is not split. */
const beginning = (text: string, length: number) => {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

/** Members that hold a value of the attribute that the member `key` of the same object names. */
const valueMembers: ReadonlyArray<string> = ["value", "live", "new"]

/** Cuts a value to the caps, and adds to `cut` what was shortened: an attribute by its key, anything else by its member's name. */
const cutToCaps = (value: unknown, caps: Caps, name: string, cut: Set<string>): unknown => {
  if (typeof value === "string") {
    if (value.length <= caps.text) return value
    cut.add(name)
    return beginning(value, caps.text)
  }
  if (Array.isArray(value)) {
    if (value.length > caps.items) cut.add(name)
    return value.slice(0, caps.items).map((item) => cutToCaps(item, caps, name, cut))
  }
  if (!isObject(value)) return value
  const key = typeof value.key === "string" ? value.key : undefined
  return Object.fromEntries(
    Object.entries(value).map(([member, item]) => [
      member,
      cutToCaps(item, caps, valueMembers.includes(member) && key !== undefined ? key : member, cut)
    ])
  )
}

const withinCaps = (record: Json, caps: Caps): Json => {
  const cut = new Set<string>()
  const value = cutToCaps(record, caps, "", cut) as Json
  return cut.size === 0 ? value : { ...value, truncated_keys: [...cut].map((name) => beginning(name, 320)) }
}

/** Joins members that are JSON text already. To serialize a row takes longer than to query it, so each row is serialized once. */
const joinMembers = (members: ReadonlyMap<string, string>) =>
  `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`

interface FittedRecord {
  readonly record: Json
  readonly text: string
}

const writtenOut = (record: Json): FittedRecord => ({ record, text: JSON.stringify(record) })

/** Cuts a record until its JSON has at most `characters`. Values longer than `longest` are cut in any case. */
const fitRecord = (record: Json, characters: number, longest: number): FittedRecord => {
  const unshortened = writtenOut(record)
  // A record shorter than `longest` has no longer value.
  if (unshortened.text.length <= Math.min(characters, longest)) return unshortened
  let smallest = unshortened
  for (const caps of capsFrom(longest)) {
    smallest = writtenOut(withinCaps(record, caps))
    if (smallest.text.length <= characters) break
  }
  return smallest
}

/** Maximum characters of a value in an answer. `isSelected`: the call selects the value by `attributes` or `fields`. */
export const longestOf = (isSelected: boolean): number => (isSelected ? longestSelectedValue : longestValue)

/** The JSON of one record. If it is too long, it is cut, and `truncated_keys` names what was cut. */
export const cutRecord = (record: Json, longest: number): string => fitRecord(record, maxCharacters, longest).text

/** Maximum characters of a record's other members if one value is returned in parts. */
const maxAround = 10_000
/** Sizes of a part, in characters, largest first. Two parts of the smallest size fit an answer even if all of it is escaped. */
const partSizes = [longestSelectedValue, 20_000, 8_000, 4_000]

/**
 * The JSON of a record with one selected attribute: the part of the attribute's values from `offset` on that fits. Where the next
 * part begins is in `next_value_offset`. Offsets count code points, so that no character is split.
 */
export const cutValue = (record: Json, key: string, offset: number): string => {
  const json = JSON.stringify(record)
  if (offset === 0 && json.length <= maxCharacters) return json
  const { attributes, ...others } = record
  const selected = (Array.isArray(attributes) ? attributes : []).find((each) => isObject(each) && each.key === key)
  if (!isObject(selected)) return cutRecord(record, longestSelectedValue)
  const values = Object.entries(selected).flatMap(([member, value]) =>
    valueMembers.includes(member) && typeof value === "string" ? [[member, [...value]] as const] : []
  )
  const length = Math.max(...values.map(([, characters]) => characters.length))
  const around = fitRecord(others, maxAround, longestValue).record
  let smallest = ""
  for (const size of partSizes) {
    const end = offset + size
    const parts = values.map(([member, characters]) => [member, characters.slice(offset, end).join("")])
    smallest = JSON.stringify({
      ...around,
      attributes: [{ ...selected, ...Object.fromEntries(parts) }],
      ...(end < length && { next_value_offset: end })
    })
    if (smallest.length <= maxCharacters) break
  }
  return smallest
}

/**
 * The JSON of an answer that must keep all its rows: the values of every row are shortened until the answer fits. If there are so many rows
 * that no values fit, rows are left out too, and `truncated_keys` names their list.
 */
export const cutPage = (answer: Json, rows: ReadonlyArray<string>, longest: number): string => {
  const uncut = JSON.stringify(answer)
  if (uncut.length <= Math.min(maxCharacters, longest)) return uncut
  for (const caps of capsFrom(longest)) {
    const lists = rows.map((name) => {
      const list = answer[name]
      return [name, Array.isArray(list) ? list.map((row) => (isObject(row) ? withinCaps(row, caps) : row)) : list]
    })
    const cut = JSON.stringify({ ...answer, ...Object.fromEntries(lists) })
    if (cut.length <= maxCharacters) return cut
  }
  return cutRecord(answer, longest)
}

/** An answer with as many rows as fit, in paging order. `taken`: their number; `more`: some rows are left. */
interface CutRows {
  /** Serializes the answer. `ending`: members that replace the answer's own, or are added after them. */
  readonly written: (ending?: Json) => string
  readonly taken: number
  readonly more: boolean
}

/** The rows of an answer's lists, in paging order. */
export const rowsIn = (answer: Json, names: ReadonlyArray<string>) =>
  names.flatMap((name) => ((answer[name] as ReadonlyArray<unknown> | undefined) ?? []).map((row) => ({ name, row })))

/** Takes as many rows as fit from position `from` on, and at least one. Members that are not lists of rows are always included. */
export const cutRows = (
  answer: Json,
  names: ReadonlyArray<string>,
  { from, limit, longest }: { readonly from: number; readonly limit: number; readonly longest: number }
): CutRows => {
  const head = fitRecord(
    Object.fromEntries(Object.entries(answer).filter(([name]) => !names.includes(name))),
    maxHeadCharacters,
    longest
  )
  const all = rowsIn(answer, names)
  const lists = new Map(names.map((name) => [name, [] as string[]]))
  // Reserves 400 characters for a cursor, and room for the lists' names.
  let room = maxCharacters - head.text.length - joinMembers(new Map(names.map((name) => [name, "[]"]))).length - 400
  let rowCount = 0
  for (const { name, row } of all.slice(from, from + limit)) {
    const text = isObject(row) ? fitRecord(row, rowCount === 0 ? room : everything, longest).text : JSON.stringify(row)
    if (text.length + 1 > room && rowCount > 0) break
    lists.get(name)?.push(text)
    room -= text.length + 1
    rowCount += 1
  }
  return {
    written: (ending = {}) => {
      const members = new Map<string, string>()
      // Members keep the order of the answer.
      for (const name of new Set([...Object.keys(answer), "truncated_keys", ...Object.keys(ending)])) {
        const list = lists.get(name)
        const value = Object.hasOwn(ending, name) ? ending[name] : head.record[name]
        if (list !== undefined) members.set(name, `[${list.join()}]`)
        else if (value !== undefined) members.set(name, JSON.stringify(value))
      }
      return joinMembers(members)
    },
    taken: rowCount,
    more: from + rowCount < all.length
  }
}

/**
 * The JSON of all results of a batch. Error messages are shortened; if the answer is still too long, all other texts are too,
 * such as very long names of fields.
 */
export const cutBatch = (answer: Json): string => {
  const results = Array.isArray(answer.results) ? answer.results : []
  const shortenTo = (characters: number) =>
    results.map((result) =>
      isObject(result) && isObject(result.error) && typeof result.error.message === "string"
        ? { ...result, error: { ...result.error, message: toSafeText(result.error.message, characters) } }
        : result
    )
  let smallest = JSON.stringify({ ...answer, results: shortenTo(longestMessage) })
  for (const text of [60, 40]) {
    if (smallest.length <= maxBatchCharacters) break
    const rows = shortenTo(text).map((row) => (isObject(row) ? withinCaps(row, { text, items: everything }) : row))
    smallest = JSON.stringify({ ...answer, results: rows })
  }
  return smallest
}

const chosenMembers = (row: unknown, members: ReadonlyArray<string>) =>
  isObject(row) ? Object.fromEntries(Object.entries(row).filter(([name]) => members.includes(name))) : row

/** An answer whose rows keep only these members. `rows`: the names of the lists of rows. */
export const chooseMembers = (answer: Json, rows: ReadonlyArray<string>, members: ReadonlyArray<string>): Json => ({
  ...answer,
  ...Object.fromEntries(
    rows.flatMap((name) => {
      const list = answer[name]
      return Array.isArray(list) ? [[name, list.map((row) => chosenMembers(row, members))]] : []
    })
  )
})
