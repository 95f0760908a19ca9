import { Schema } from "effect"
import { HealthDimension } from "./Health.ts"
import { scoreOf } from "./HealthScan.ts"

/** Number of days for which the numbers of a day are kept. */
export const keptDays = 400

/** The numbers of a dimension that its score is computed from, as in `HealthResult`. */
export interface DayNumbers {
  readonly checked: number
  readonly affected: number
}

/** The numbers of the last scan of a day. `day`: YYYY-MM-DD, UTC. */
export const HealthDay = Schema.Struct({
  dimension: HealthDimension,
  day: Schema.String,
  checked: Schema.Number,
  affected: Schema.Number
})
export type HealthDay = typeof HealthDay.Type

/** The overall score at the end of a day. */
export interface DayScore {
  readonly day: string
  readonly score: number
}

/**
 * The overall score, 0 to 100: the average of the dimensions' scores, rounded down. 100 means that no dimension has an issue.
 * Sync is left out, because every repair is a draft and would lower it until it is published. A dimension that was never
 * scanned, or that has nothing to check, is left out too. Undefined: there is no other dimension.
 *
 * With the same entities, fewer entities with an issue never lower it.
 */
export const overallScore = (numbers: ReadonlyMap<HealthDimension, DayNumbers>): number | undefined => {
  const scores = [...numbers].flatMap(([dimension, { affected, checked }]) =>
    dimension === "sync" || checked === 0 ? [] : [scoreOf(checked, affected)]
  )
  return scores.length === 0 ? undefined : Math.floor(scores.reduce((sum, score) => sum + score, 0) / scores.length)
}

/** The overall score of each day. A dimension that was not scanned on a day has the numbers of its last scan before. */
export const trendOf = (days: ReadonlyArray<HealthDay>): ReadonlyArray<DayScore> => {
  const numbers = new Map<HealthDimension, DayNumbers>()
  const scores = new Map<string, number>()
  for (const { dimension, day, ...counted } of days) {
    numbers.set(dimension, counted)
    const score = overallScore(numbers)
    if (score !== undefined) scores.set(day, score)
  }
  return [...scores].map(([day, score]) => ({ day, score }))
}
