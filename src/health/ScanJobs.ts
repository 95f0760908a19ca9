import { Clock, Effect, Option, Schema } from "effect"
import { afterCommit } from "../database/CommitHooks.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { anyKind, type StepResult } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { JobsRepo } from "../jobs/JobsRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import { AccountId, nilUuid } from "../model/Ids.ts"
import { type AutomaticScanSettings, AutomaticScans, dayMillis, nextNight, nightlySubject } from "./AutomaticScans.ts"
import { HealthDimension } from "./Health.ts"
import { HealthRepo } from "./HealthRepo.ts"
import { measureScan } from "./ScanMetrics.ts"

/** Why the service begins scans, and the title of the job that runs them. */
const titles = {
  nightly: "Scan data health every night",
  import: "Scan data health after an import",
  link: "Scan data health after a store was linked again",
  unlink: "Scan data health after a store was unlinked"
}
type Cause = keyof typeof titles

/** `dimensions`: those that are scanned; default: all. */
const Input = Schema.Struct({
  cause: Schema.Literal("nightly", "import", "link", "unlink"),
  dimensions: Schema.optionalWith(Schema.Array(HealthDimension), { default: () => HealthDimension.literals })
})

/** Whether the settings want these scans. Unlinking a store has deleted results that somebody asked for, so they are always scanned again. */
const isWanted = ({ afterImports, nightly }: AutomaticScanSettings, cause: Cause): boolean =>
  cause === "unlink" || (cause === "nightly" ? nightly : afterImports)

/**
 * `place`: the dimension that is scanned next. `due`: when the scans begin, in milliseconds. `began`: when the scan of the dimension
 * began; null: it has not. `checked`: number of entities in all dimensions before, each counted once per dimension.
 */
const Cursor = Schema.Struct({
  place: Schema.Int,
  due: Schema.Number,
  began: Schema.NullOr(Schema.Number),
  checked: Schema.optionalWith(Schema.Int, { default: () => 0 })
})
type Cursor = typeof Cursor.Type

/** Number of accounts that one statement checks. */
const accountsAtOnce = 1_000
/** Pause before the next check of a dimension that another process scans. */
const lookSeconds = 5

/**
 * The kind of job that scans dimensions of an account, once or every night. A dimension in which nothing changed since its last
 * scan is left out. A nightly job never ends: after its scans it waits for the next night. If the setting no longer wants its
 * scans, a job ends without them.
 */
export const makeScanJobKinds = Effect.gen(function* () {
  const settings = yield* AutomaticScans
  const drafts = yield* DraftsRepo
  const health = yield* HealthRepo

  const nextScans = (accountId: AccountId, after: number): StepResult<Cursor> => ({
    _tag: "Progress",
    cursor: { place: 0, due: nextNight(accountId, after, settings.hour), began: null, checked: 0 },
    done: 0
  })

  /** Does one step of the scan of a dimension. */
  const scan = (accountId: AccountId, dimension: HealthDimension, cause: Cause, earlier: number) =>
    Effect.gen(function* () {
      const { entities, run, scanned } = yield* health.scan(accountId, dimension, null, cause)
      if (run === null) return { isFinished: false, entities, scanned }
      yield* drafts.raise(accountId)
      yield* afterCommit(Effect.asVoid(health.tidy(accountId)))
      return { isFinished: true, entities, scanned: entities }
    }).pipe((step) => measureScan(dimension, step, earlier))

  return [
    anyKind({
      name: "health_scan",
      input: Input,
      cursor: Cursor,
      sizes: { first: 1, max: 1 },
      workload: "scan",
      step: ({ accountId, cursor, input: { cause, dimensions } }) =>
        Effect.gen(function* (): Effect.fn.Return<StepResult<Cursor>> {
          const isNightly = cause === "nightly"
          const now = yield* Clock.currentTimeMillis
          if (!isWanted(settings, cause)) return { _tag: "Progress", cursor: null, done: 0 }
          if (cursor === null && isNightly) return nextScans(accountId, now)
          const { began, checked, due, place } = cursor ?? { due: now, place: 0, began: null, checked: 0 }
          // The clock of the process that set the time was far ahead. One day is left for a clock that is a little behind.
          if (isNightly && due > nextNight(accountId, now, settings.hour) + dayMillis) return nextScans(accountId, now)
          if (now < due) {
            const why = `the next night (${new Date(due).toISOString().slice(0, 16).replace("T", " ")} UTC)`
            return { _tag: "Wait", why, seconds: Math.ceil((due - now) / 1_000) }
          }
          const scannedDimensions = HealthDimension.literals.filter((each) => dimensions.includes(each))
          const dimension = scannedDimensions[place]
          if (dimension === undefined)
            // The clock of this process can be behind that of the one that began these scans.
            return isNightly ? nextScans(accountId, Math.max(now, due)) : { _tag: "Progress", cursor: null, done: 0 }
          if (!(yield* health.tryLock(accountId, dimension)))
            return { _tag: "Wait", why: `the end of another scan of ${dimension}`, seconds: lookSeconds }
          // Entities are created and deleted meanwhile, so the total is corrected with each dimension.
          const progress = (scanned: number, entities: number) => ({
            _tag: "Progress" as const,
            done: checked + scanned,
            total: checked + Math.max(scanned, entities) * (scannedDimensions.length - place)
          })
          const next = (entities: number) => ({ due, place: place + 1, began: null, checked: checked + entities })
          const current = yield* health.current(accountId, dimension)
          if (Option.isSome(current))
            return {
              ...progress(current.value, current.value),
              cursor: next(current.value),
              counts: { unchanged: 1 }
            }
          const earlier = began === null ? 0 : now - began
          const { entities, isFinished, scanned } = yield* scan(accountId, dimension, cause, earlier)
          return {
            ...progress(scanned, entities),
            cursor: isFinished ? next(entities) : { due, place, began: began ?? now, checked }
          }
        })
    })
  ]
})

const asService = (accountId: AccountId) => Effect.provideService(CurrentActor, { _tag: "Cli" as const, accountId })

/**
 * Begins a job that scans these dimensions once (default: all), if the setting asks for it. Part of the last transaction of an
 * import, or of the job that links a store again or unlinks it.
 */
export const makeScanAfter = Effect.gen(function* () {
  const settings = yield* AutomaticScans
  const jobs = yield* Jobs
  return (
    accountId: AccountId,
    cause: Exclude<Cause, "nightly">,
    dimensions: ReadonlyArray<HealthDimension> = HealthDimension.literals
  ): Effect.Effect<void> =>
    dimensions.length > 0 && isWanted(settings, cause)
      ? jobs
          .begin({
            kind: "health_scan",
            title: titles[cause],
            subject: null,
            input: { cause, dimensions },
            total: null
          })
          .pipe(asService(accountId), Effect.orDie, Effect.asVoid)
      : Effect.void
})

/**
 * Begins the nightly job of each account that has none, if the setting asks for it. Returns the number of begun jobs.
 * If several processes do this at once, only one of them begins the job of an account.
 */
export const makeBeginNightly = Effect.map(
  Effect.all([AutomaticScans, Jobs, JobsRepo]),
  ([{ nightly }, jobs, repo]) => {
    /** Returns the number of begun jobs: 1 or 0. */
    const begin = (accountId: AccountId): Effect.Effect<number> =>
      jobs
        .begin({
          kind: "health_scan",
          title: titles.nightly,
          subject: nightlySubject,
          input: { cause: "nightly" },
          total: null
        })
        .pipe(
          asService(accountId),
          Effect.as(1),
          // Another process has begun the job already.
          Effect.catchTag("ValidationFailed", () => Effect.succeed(0))
        )

    return Effect.gen(function* () {
      let begun = 0
      for (let after: AccountId | null = nightly ? AccountId.make(nilUuid) : null; after !== null; ) {
        const next: Effect.Effect.Success<ReturnType<typeof repo.accountsWithout>> = yield* repo.accountsWithout(
          nightlySubject,
          after,
          accountsAtOnce
        )
        for (const accountId of next.accounts) begun += yield* begin(accountId)
        after = next.last
      }
      return begun
    })
  }
)
