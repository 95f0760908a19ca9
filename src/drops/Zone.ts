import { fromMillis, type Timestamp } from "../model/Timestamp.ts"

const formatters = new Map<string, Intl.DateTimeFormat>()

/** The Swedish form is that of ISO 8601: 2026-11-22 06:41:05. */
const formatterOf = (timeZone: string) => {
  const formatter =
    formatters.get(timeZone) ??
    new Intl.DateTimeFormat("sv-SE", {
      timeZone,
      ...({ year: "numeric", month: "2-digit", day: "2-digit" } as const),
      ...({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const)
    })
  formatters.set(timeZone, formatter)
  return formatter
}

/** The local time of an instant in an IANA time zone: `YYYY-MM-DDTHH:MM:SS`. `millis`: since 1970. */
export const localTimeOf = (millis: number, timeZone: string): string =>
  formatterOf(timeZone).format(new Date(millis)).replace(" ", "T")

/** The day of an instant in an IANA time zone: `YYYY-MM-DD`. */
export const dayOf = (millis: number, timeZone: string): string => localTimeOf(millis, timeZone).slice(0, 10)

/** The instants of a local time. */
type Instants =
  /** The text is not a date and a time. */
  | { readonly _tag: "Unreadable" }
  | { readonly _tag: "Once"; readonly at: Timestamp }
  /** This local time does not exist, because the clocks skip it. `to`: the first local time after the skipped hour, `YYYY-MM-DDTHH:MM`. */
  | { readonly _tag: "Never"; readonly from: string; readonly to: string }
  /** This local time exists twice, because the clocks are turned back over it. */
  | { readonly _tag: "Twice"; readonly first: Timestamp; readonly second: Timestamp }

const local = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,3})?)?$/
const dayMillis = 86_400_000

/** The text as if it were UTC, in milliseconds. Undefined: it is not an existing date and time of the years 1 to 9998. */
const millisOf = (text: string) => {
  if (!local.test(text)) return undefined
  const withSeconds = `${text.slice(0, 16)}:${text.slice(17, 19) || "00"}`
  const millis = Date.parse(`${withSeconds}Z`)
  return Number.isNaN(millis) ||
    new Date(millis).toISOString().slice(0, 19) !== withSeconds ||
    /^(?:0000|9999)/.test(text)
    ? undefined
    : millis
}

/** The offset of the zone from UTC at an instant, in milliseconds. */
const offsetAt = (millis: number, timeZone: string) => Date.parse(`${localTimeOf(millis, timeZone)}Z`) - millis

/** The first instant after `before` that has the other offset. `after` is a later instant with that offset. */
const findTransition = (before: number, after: number, timeZone: string) => {
  const old = offsetAt(before, timeZone)
  let [low, high] = [before, after]
  while (high - low > 1_000) {
    const middle = Math.floor((low + high) / 2_000) * 1_000
    if (offsetAt(middle, timeZone) === old) low = middle
    else high = middle
  }
  return high
}

/**
 * Finds the instants of a local time as a `datetime-local` field gives it. Zones change their clocks at most once within two days,
 * so the offsets a day before and a day after are the only possible ones.
 */
export const instantsOf = (text: string, timeZone: string): Instants => {
  const asUtc = millisOf(text)
  if (asUtc === undefined) return { _tag: "Unreadable" }
  const [before, after] = [asUtc - dayMillis, asUtc + dayMillis]
  const offsets = new Set([offsetAt(before, timeZone), offsetAt(after, timeZone)])
  const [first, second] = [...offsets]
    .map((offset) => asUtc - offset)
    .filter((at) => at + offsetAt(at, timeZone) === asUtc)
    .sort((left, right) => left - right)
  if (first === undefined) {
    const at = findTransition(before, after, timeZone)
    const minute = (millis: number) => new Date(millis).toISOString().slice(0, 16)
    return {
      _tag: "Never",
      from: minute(at + offsetAt(before, timeZone)),
      to: minute(at + offsetAt(after, timeZone))
    }
  }
  return second === undefined
    ? { _tag: "Once", at: fromMillis(first) }
    : { _tag: "Twice", first: fromMillis(first), second: fromMillis(second) }
}
