import { minutesLeft, type Pace } from "../runtime/TimeLeft.ts"
import type { Words } from "./languages/Words.tsx"

/** A sentence about work under way, with the time left if it is known. */
export const withTimeLeft = (t: Words, progress: string, pace: Pace): string => {
  const minutes = minutesLeft(pace)
  if (minutes === undefined) return progress
  return minutes === 0
    ? t("{progress}, less than a minute left", { progress })
    : t("{progress}, about {minutes, plural, one {# minute} other {# minutes}} left", { progress, minutes })
}
