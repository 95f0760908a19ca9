import { Clock, Effect, Option } from "effect"
import type { Job } from "../jobs/Job.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import type { AccountId } from "../model/Ids.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { AutomaticScans, nextNight, nightlySubject } from "./AutomaticScans.ts"

/** The scans that the service begins for an account. */
export interface ScanSchedule {
  /** The job that scans now. */
  readonly running: Option.Option<Job>
  /** The nightly job, if somebody paused it. */
  readonly paused: Option.Option<Job>
  /** When the next nightly scan begins. None: the nightly scans are off or paused. */
  readonly next: Option.Option<Timestamp>
}

/** Number of listed jobs among which a running scan is searched. */
const maxJobs = 100

export const makeReadSchedule = Effect.gen(function* () {
  const { hour, nightly } = yield* AutomaticScans
  const jobs = yield* JobsRepo
  return (accountId: AccountId): Effect.Effect<ScanSchedule> =>
    Effect.gen(function* () {
      const isScan = ({ kind, state }: Job) => kind === "health_scan" && state === "running"
      const running = Option.fromNullable((yield* jobs.list(accountId, maxJobs)).find(isScan))
      const paused = Option.filter(yield* jobs.openOn(accountId, nightlySubject), ({ state }) => state === "paused")
      const isPlanned = nightly && Option.isNone(paused)
      const next = isPlanned
        ? Option.some(fromMillis(nextNight(accountId, yield* Clock.currentTimeMillis, hour)))
        : Option.none()
      return { running, paused, next }
    })
})
