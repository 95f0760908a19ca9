import type { LeftOut } from "../../drops/Composition.ts"
import type { Drop, DropOutcome, DropRow, DropStatus } from "../../drops/Drop.ts"
import { dayOf } from "../../drops/Zone.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { localeOf } from "../languages/Language.ts"
import type { Sentence, Words } from "../languages/Words.tsx"
import { State } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"

const statusWords = {
  scheduled: { name: "Scheduled", tone: "wait" },
  applying: { name: "Being applied", tone: "wait" },
  applied: { name: "Applied", tone: "good" },
  failed: { name: "Failed", tone: "bad" },
  cancelled: { name: "Cancelled", tone: "idle" },
  reverted: { name: "Ended", tone: "idle" }
} as const satisfies Readonly<Record<DropStatus, { readonly name: Sentence; readonly tone: string }>>

const outcomeNames: Readonly<Record<DropOutcome, Sentence>> = {
  applied: "Applied",
  failed: "Failed",
  reverted: "Restored",
  skipped: "Left alone"
}

const outcomeWords: Readonly<Record<DropOutcome, Sentence>> = {
  ...outcomeNames,
  skipped: "Left alone: somebody edited it. The store keeps the value of the drop until that edit is published."
}

/** The name of an outcome in few words. null: all outcomes. */
export const outcomeName = (t: Words, outcome: DropOutcome | null): string =>
  t(outcome === null ? "All changes" : outcomeNames[outcome])

export const statusOf = (status: DropStatus) => statusWords[status]

/** A sentence about the drop for screen readers. */
export const statusSentence = (t: Words, { name, status }: Pick<Drop, "name" | "status">): string =>
  t("{drop}: {state}.", { drop: name, state: t(statusWords[status].name) })

export const Status = ({ status }: { readonly status: DropStatus }) => <State {...statusWords[status]} />

export const Outcome = ({ outcome }: { readonly outcome: DropOutcome | null }) => {
  const t = useWords()
  return outcome === null ? <span class="quiet">{t("not yet")}</span> : <span>{t(outcomeWords[outcome])}</span>
}

/** Stands for values of one field that differ between stores. */
export const Differs = () => {
  const t = useWords()
  return <span class="quiet">{t("differs between stores")}</span>
}

/** Formats a time in a zone. */
const wordsOf = (t: Words, at: string, timeZone: string, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(localeOf(t.language), { timeZone, hourCycle: "h23", ...options }).format(new Date(at))

/** A day and a time in a zone, such as `Sat, 5 Dec 2026, 00:00`. */
export const dayAndTime = (t: Words, at: string, timeZone: string): string =>
  wordsOf(t, at, timeZone, {
    ...({ weekday: "short", day: "numeric", month: "short", year: "numeric" } as const),
    ...({ hour: "2-digit", minute: "2-digit" } as const)
  })

/** The time of the day in a zone, such as `09:30`. */
export const timeOfDay = (t: Words, at: string, timeZone: string): string =>
  wordsOf(t, at, timeZone, { hour: "2-digit", minute: "2-digit" })

/** A day, such as `Sat 5 December`. */
export const dayWords = (t: Words, day: string): string =>
  wordsOf(t, `${day}T00:00:00Z`, "UTC", { weekday: "short", day: "numeric", month: "long" })

/** A day with its year, such as `Sat, 5 December 2026`. */
export const dayOfYear = (t: Words, day: string): string =>
  wordsOf(t, `${day}T00:00:00Z`, "UTC", { weekday: "short", day: "numeric", month: "long", year: "numeric" })

/** A month, such as `December 2026`. */
export const monthWords = (t: Words, month: string): string =>
  wordsOf(t, `${month}-01T00:00:00Z`, "UTC", { month: "long", year: "numeric" })

/** The days of the week from Monday on. */
export const weekdayWords = (t: Words, length: "long" | "short"): ReadonlyArray<string> =>
  // 1 January 2024 was a Monday.
  [1, 2, 3, 4, 5, 6, 7].map((day) => wordsOf(t, `2024-01-0${day}T00:00:00Z`, "UTC", { weekday: length }))

/** A time in UTC, with the day if it is another one than in the zone. */
const utcOf = (t: Words, at: string, timezone: string) => {
  const isSameDay = dayOf(Date.parse(at), timezone) === at.slice(0, 10)
  return `${isSameDay ? timeOfDay(t, at, "UTC") : wordsOf(t, at, "UTC", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })} UTC`
}

/** A time in the drop's own zone, with UTC below it. */
export const DropTime = ({ at, timezone }: { readonly at: string; readonly timezone: string }) => {
  const t = useWords()
  return (
    <>
      <time dateTime={at}>{dayAndTime(t, at, timezone)}</time>
      <span class="zone">
        {timezone === "UTC" ? (
          "UTC"
        ) : (
          <>
            {/* Isolated: after Latin letters, the digits of an Arabic day would stand on their other side. */}
            <bdi>{timezone}</bdi>
            {t(", ")}
            <bdi>{utcOf(t, at, timezone)}</bdi>
          </>
        )}
      </span>
    </>
  )
}

/** The end of a drop without an end. */
export const NoEnd = () => {
  const t = useWords()
  return <span class="quiet">{t("Never: the new values stay")}</span>
}

/** Why a thing is not changed. */
export const leftOutWords: Readonly<Record<LeftOut["reason"], Sentence>> = {
  no_price: "{thing} has no price",
  not_reduced: "{thing} costs {price}, and its rounded new price would not be lower",
  not_on_store: "{thing} is not on the store"
}

/** Maximum number of fields that a list names. */
const maxFields = 3

/** The fields and the number of entities that a drop changes, such as `Price and Compare-at price of 24 items`. */
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
  return t("{fields} of {count, plural, one {# item} other {# items}}", { fields: t.list(names), count: entities })
}
