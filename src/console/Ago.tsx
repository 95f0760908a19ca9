import { useContext } from "preact/hooks"
import { localeOf } from "./languages/Language.ts"
import { wordsIn } from "./languages/Words.tsx"
import { dayIn, timeIn } from "./Times.ts"
import { Viewer, type ViewerOf } from "./Viewer.tsx"

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000]
] as const

/** The distance of a time from now, in words: "5 minutes ago", "yesterday", "in 3 hours". After 30 days: the date. */
export const distance = (at: string, now: number, reader: Pick<ViewerOf, "pageLanguage" | "timeZone">): string => {
  const millis = Date.parse(at) - now
  if (Math.abs(millis) > 30 * 86_400_000) return dayIn(at, reader)
  const [unit, length] = units.find(([, length]) => Math.abs(millis) >= length) ?? ["minute", 60_000]
  const count = Math.round(millis / length)
  return unit === "minute" && count === 0
    ? wordsIn(reader.pageLanguage)("just now")
    : new Intl.RelativeTimeFormat(localeOf(reader.pageLanguage), { numeric: "auto" }).format(count, unit)
}

/** A time relative to now; the exact time is its title. */
export const Ago = ({ at, now }: { readonly at: string; readonly now: number }) => {
  const reader = useContext(Viewer)
  return (
    <time dateTime={at} title={timeIn(at, reader)}>
      {distance(at, now, reader)}
    </time>
  )
}
