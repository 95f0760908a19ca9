import type { DropRow } from "./Drop.ts"
import { dayOf } from "./Zone.ts"

const dayMillis = 86_400_000
/** Maximum offset of a time zone from UTC, in milliseconds, rounded up. */
const maxOffset = 15 * 3_600_000

const millisOf = (day: string) => Date.parse(`${day}T00:00:00Z`)
const toDay = (millis: number) => new Date(millis).toISOString().slice(0, 10)

/** Days are `YYYY-MM-DD`, months `YYYY-MM`: the order of the texts is the order in time. */
type Day = string
type Month = string

/** The month that a text names. Undefined: it names none of the years 1970 to 9989. */
export const parseMonth = (text: string): Month | undefined =>
  /^(?:19[7-9]\d|[2-9]\d{3})-(?:0[1-9]|1[0-2])$/.test(text) && text < "9990" ? text : undefined

export const shiftMonth = (month: Month, by: number): Month => {
  const count = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + by
  return `${String(Math.floor(count / 12)).padStart(4, "0")}-${String((count % 12) + 1).padStart(2, "0")}`
}

/** The weeks that a month touches, from Monday. */
export const weeksOf = (month: Month): ReadonlyArray<ReadonlyArray<Day>> => {
  const first = millisOf(`${month}-01`)
  const next = millisOf(`${shiftMonth(month, 1)}-01`)
  const monday = first - ((new Date(first).getUTCDay() + 6) % 7) * dayMillis
  const count = Math.ceil((next - monday) / (7 * dayMillis))
  return Array.from({ length: count }, (_, week) =>
    Array.from({ length: 7 }, (_, day) => toDay(monday + (week * 7 + day) * dayMillis))
  )
}

/** The earliest and the latest instant, in milliseconds, that can be on one of these days in any time zone. */
export const boundsOf = (weeks: ReadonlyArray<ReadonlyArray<Day>>) => ({
  from: millisOf(weeks[0]?.[0] ?? "1970-01-01") - maxOffset,
  until: millisOf(weeks.at(-1)?.[6] ?? "1970-01-01") + dayMillis + maxOffset
})

/** The first and the last day of a drop, in its own time zone. A drop without an end has one day. */
export const daysOf = ({
  ends_at,
  starts_at,
  timezone
}: Pick<DropRow, "ends_at" | "starts_at" | "timezone">): { readonly first: Day; readonly last: Day } => {
  const first = dayOf(Date.parse(starts_at), timezone)
  // A drop that ends at midnight is not on the day that begins then.
  return {
    first,
    last: ends_at === null ? first : dayOf(Math.max(Date.parse(ends_at) - 1, Date.parse(starts_at)), timezone)
  }
}

/** A cell in a line of a week. It spans one or more days: those of a drop, or days without a drop. */
export interface Slot<A> {
  readonly days: number
  readonly item: A | undefined
  /** Whether the drop began before the week, and whether it goes on after it. */
  readonly isContinued: boolean
  readonly continues: boolean
}

interface Span {
  readonly first: Day
  readonly last: Day
}

/** Divides the drops of a week into lines. Each drop is in the first line with room for it; longer and earlier drops come first. */
export const linesOf = <A extends Span>(
  week: ReadonlyArray<Day>,
  items: ReadonlyArray<A>
): ReadonlyArray<ReadonlyArray<Slot<A>>> => {
  const [monday = "", sunday = ""] = [week[0], week.at(-1)]
  const placed = items
    .filter(({ first, last }) => first <= sunday && last >= monday)
    .map((item) => ({
      item,
      from: item.first < monday ? 0 : week.indexOf(item.first),
      to: item.last > sunday ? week.length - 1 : week.indexOf(item.last)
    }))
    .sort((left, right) => left.from - right.from || right.to - left.to)
  const lines: Array<Array<(typeof placed)[number]>> = []
  for (const each of placed) {
    const free = lines.find((line) => (line.at(-1)?.to ?? -1) < each.from)
    if (free === undefined) lines.push([each])
    else free.push(each)
  }
  return lines.map((line) => {
    const slots: Array<Slot<A>> = []
    let day = 0
    const leaveFree = (until: number) => {
      if (until > day) slots.push({ days: until - day, item: undefined, isContinued: false, continues: false })
    }
    for (const { from, item, to } of line) {
      leaveFree(from)
      slots.push({ days: to - from + 1, item, isContinued: item.first < monday, continues: item.last > sunday })
      day = to + 1
    }
    leaveFree(week.length)
    return slots
  })
}
