import { useContext } from "preact/hooks"
import { timeIn } from "./Times.ts"
import { Viewer } from "./Viewer.tsx"

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000]
] as const

const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

/** The distance of a time from now, in words: "5 minutes ago", "yesterday", "in 3 hours". After 30 days: the date. */
export const distance = (at: string, now: number): string => {
  const millis = Date.parse(at) - now
  if (Math.abs(millis) > 30 * 86_400_000) return at.slice(0, 10)
  const [unit, length] = units.find(([, length]) => Math.abs(millis) >= length) ?? ["minute", 60_000]
  const count = Math.round(millis / length)
  return unit === "minute" && count === 0 ? "just now" : format.format(count, unit)
}

/** A time relative to now; the exact time is its title. */
export const Ago = ({ at, now }: { readonly at: string; readonly now: number }) => (
  <time dateTime={at} title={timeIn(at, useContext(Viewer).timeZone)}>
    {distance(at, now)}
  </time>
)
