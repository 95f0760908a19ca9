import type { Drop, DropOutcome, DropRow, DropStatus } from "../../drops/Drop.ts"
import { dayOf } from "../../drops/Zone.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { counted, State } from "../Naming.tsx"

const statusWords: Readonly<Record<DropStatus, { readonly name: string; readonly tone: string }>> = {
  scheduled: { name: "Scheduled", tone: "wait" },
  applying: { name: "Being applied", tone: "wait" },
  applied: { name: "Applied", tone: "good" },
  failed: { name: "Failed", tone: "bad" },
  cancelled: { name: "Cancelled", tone: "idle" },
  reverted: { name: "Ended", tone: "idle" }
}

const outcomeWords: Readonly<Record<DropOutcome, string>> = {
  applied: "Applied",
  failed: "Failed",
  reverted: "Restored",
  skipped: "Left alone: somebody edited it meanwhile"
}

export const statusOf = (status: DropStatus) => statusWords[status]

/** A sentence about the drop for screen readers. */
export const statusSentence = ({ name, status }: Pick<Drop, "name" | "status">): string =>
  `${name}: ${statusWords[status].name}.`

export const Status = ({ status }: { readonly status: DropStatus }) => <State {...statusWords[status]} />

export const Outcome = ({ outcome }: { readonly outcome: DropOutcome | null }) =>
  outcome === null ? <span class="quiet">not yet</span> : <span>{outcomeWords[outcome]}</span>

/** Formats a time in a zone. */
const wordsOf = (at: string, timeZone: string, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat("en-GB", { timeZone, hourCycle: "h23", ...options }).format(new Date(at))

/** A day and a time in a zone, such as `Sat, 5 Dec 2026, 00:00`. */
export const dayAndTime = (at: string, timeZone: string): string =>
  wordsOf(at, timeZone, {
    ...({ weekday: "short", day: "numeric", month: "short", year: "numeric" } as const),
    ...({ hour: "2-digit", minute: "2-digit" } as const)
  })

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
export const changesIn = ({ changes, entities, fields }: Pick<DropRow, "changes" | "entities" | "fields">): string => {
  if (changes === 0) return "Nothing: the store is no longer linked"
  const shown = fields.slice(0, maxFields).map(fieldName)
  const more = fields.length - shown.length
  const names = [...shown, ...(more > 0 ? [counted(more, "more field")] : [])]
  const last = names.pop() ?? ""
  const list = names.length === 0 ? last : `${names.join(", ")} and ${last}`
  return `${list} of ${counted(entities, "thing")}`
}
