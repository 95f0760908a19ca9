/** Seconds after which the time left is estimated. Earlier estimates would be too inexact. */
const minSeconds = 3

/** Work under way. `seconds`: how long it has taken so far. `from`: the items that were done before that time began. */
export interface Pace {
  readonly done: number
  readonly total: number
  readonly seconds: number
  readonly from?: number
}

/** Estimates the minutes until all items are done, rounded up; 0: less than one. Undefined: unknown, or all items are done. */
export const minutesLeft = ({ done, from = 0, seconds, total }: Pace): number | undefined => {
  const processed = done - from
  if (seconds < minSeconds || processed <= 0 || done >= total) return undefined
  const left = Math.ceil((seconds * (total - done)) / processed)
  return left < 60 ? 0 : Math.ceil(left / 60)
}
