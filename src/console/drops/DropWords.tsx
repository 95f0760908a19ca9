import type { Drop, DropOutcome, DropRow, DropStatus } from "../../drops/Drop.ts"
import { dayOf } from "../../drops/Zone.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { localeOf } from "../languages/Language.ts"
import { english, type Sentence, type Words } from "../languages/Words.tsx"
import { State } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"

const statusWords: Readonly<Record<DropStatus, { readonly name: Sentence; readonly tone: string }>> = {
  scheduled: { name: "Scheduled", tone: "wait" },
  applying: { name: "Being applied", tone: "wait" },
  applied: { name: "Applied", tone: "good" },
  failed: { name: "Failed", tone: "bad" },
  cancelled: { name: "Cancelled", tone: "idle" },
  reverted: { name: "Ended", tone: "idle" }
}

const outcomeWords: Readonly<Record<DropOutcome, Sentence>> = {
  applied: "Applied",
  failed: "Failed",
  reverted: "Restored",
  skipped: "Left alone: somebody edited it meanwhile"
}

export const statusOf = (status: DropStatus) => statusWords[status]

/** A sentence about the drop for screen readers. */
export const statusSentence = (t: Words, { name, status }: Pick<Drop, "name" | "status">): string =>
  t("{drop}: {state}.", { drop: name, state: t(statusWords[status].name) })

export const Status = ({ status }: { readonly status: DropStatus }) => <State {...statusWords[status]} />

export const Outcome = ({ outcome }: { readonly outcome: DropOutcome | null }) => {
  const t = useWords()
  return outcome === null ? <span class="quiet">{t("not yet")}</span> : <span>{t(outcomeWords[outcome])}</span>
}

/** Formats a time in a zone. */
const wordsOf = (at: string, timeZone: string, options: Intl.DateTimeFormatOptions, t = english) =>
  new Intl.DateTimeFormat(localeOf(t.language), { timeZone, hourCycle: "h23", ...options }).format(new Date(at))

/** A day and a time in a zone, such as `Sat, 5 Dec 2026, 00:00`. */
export const dayAndTime = (at: string, timeZone: string, t = english): string =>
  wordsOf(
    at,
    timeZone,
    {
      ...({ weekday: "short", day: "numeric", month: "short", year: "numeric" } as const),
      ...({ hour: "2-digit", minute: "2-digit" } as const)
    },
    t
  )

/** The time of the day in a zone, such as `09:30`. */
export const timeOfDay = (at: string, timeZone: string): string =>
  wordsOf(at, timeZone, { hour: "2-digit", minute: "2-digit" })

/** A day, such as `Sat 5 December`. */
export const dayWords = (day: string, length: "long" | "short" = "long"): string => {
  const part = (options: Intl.DateTimeFormatOptions) => wordsOf(`${day}T00:00:00Z`, "UTC", options)
  return `${part({ weekday: "short" })} ${part({ day: "numeric" })} ${part({ month: length })}`
}

/** A month, such as `December 2026`. */
export const monthWords = (month: string): string =>
  wordsOf(`${month}-01T00:00:00Z`, "UTC", { month: "long", year: "numeric" })

/** A time in UTC, with the day if it is another one than in the zone. */
const utcOf = (at: string, timezone: string) => {
  const isSameDay = dayOf(Date.parse(at), timezone) === at.slice(0, 10)
  return `${isSameDay ? timeOfDay(at, "UTC") : wordsOf(at, "UTC", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })} UTC`
}

/** A time in the drop's own zone, with UTC below it. */
export const DropTime = ({ at, timezone }: { readonly at: string; readonly timezone: string }) => (
  <>
    <time dateTime={at}>{dayAndTime(at, timezone)}</time>
    <span class="zone">{timezone === "UTC" ? "UTC" : `${timezone}, ${utcOf(at, timezone)}`}</span>
  </>
)

/** Maximum number of fields that a list names. */
const maxFields = 3

/** What a drop changes, such as `Price and Price before of 24 things`. */
export const changesIn = (
  t: Words,
  { changes, entities, fields }: Pick<DropRow, "changes" | "entities" | "fields">
): string => {
  if (changes === 0) return t("Nothing: the store is no longer linked")
  const shown = fields.slice(0, maxFields).map((key) => fieldName(t, key))
  const more = fields.length - shown.length
  const names = [
    ...shown,
    ...(more > 0 ? [t("{count, plural, one {# more field} other {# more fields}}", { count: more })] : [])
  ]
  return t("{fields} of {count, plural, one {# thing} other {# things}}", { fields: t.list(names), count: entities })
}
