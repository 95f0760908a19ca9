import { assert, it } from "@effect/vitest"
import { Array as Arr, Effect, Layer, Logger, Option, TestClock } from "effect"
import { Sessions } from "../../src/access/Sessions.ts"
import { Activity } from "../../src/connections/Activity.ts"
import { Authorization } from "../../src/connections/Authorization.ts"
import { LeasesRepo } from "../../src/database/LeasesRepo.ts"
import { ExportJobs } from "../../src/exports/ExportJobs.ts"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { DataHealth } from "../../src/health/DataHealth.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import * as Sweeper from "../../src/programs/Sweeper.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { Mirror } from "../../src/storedata/Mirror.ts"
import { Webhooks } from "../../src/webhooks/Webhooks.ts"

const nothingMirrored = Layer.merge(
  Layer.mock(Mirror, { forgetAbandoned: Effect.succeed(0) }),
  Layer.mock(DataHealth, { forget: Effect.succeed(0) })
)

const noJobs = Layer.mergeAll(
  Layer.mock(Jobs, { forget: Effect.succeed(0) }),
  Layer.mock(ChangeFeed, { forget: Effect.succeed(0) }),
  Layer.mock(ExportJobs, { forget: Effect.succeed(0) }),
  Layer.mock(Webhooks, { forget: Effect.succeed(0) })
)

const noLeases = Layer.succeed(LeasesRepo, { repairHints: Effect.void, endOfGone: Effect.succeed(0) })

const silent = Logger.remove(Logger.defaultLogger)

it.scoped("looks for lost leases every 10 s and sweeps every hour, also after failures", () =>
  Effect.gen(function* () {
    const asked = { resume: 0, discardAbandoned: 0, forgetStaged: 0, sessions: 0, tokens: 0, forget: 0, calls: 0 }
    const count = (what: keyof typeof asked) =>
      Effect.suspend(() => {
        asked[what]++
        // The database is unavailable every second time.
        return asked[what] % 2 === 0 ? Effect.dieMessage("away") : Effect.succeed(1)
      })
    yield* Layer.build(
      Sweeper.layer.pipe(
        Layer.provide(
          Layer.mock(Imports, {
            resume: (accountId) => {
              assert.isTrue(Option.isNone(accountId))
              return count("resume")
            },
            discardAbandoned: count("discardAbandoned"),
            forgetStaged: count("forgetStaged")
          })
        ),
        Layer.provide(Layer.mock(Sessions, { forget: count("sessions") })),
        Layer.provide(Layer.mock(Authorization, { forget: count("tokens") })),
        Layer.provide(Layer.mock(Publishing, { forget: count("forget") })),
        Layer.provide(Layer.mock(Activity, { forget: count("calls") })),
        Layer.provide([nothingMirrored, noJobs, noLeases])
      )
    )
    const after = (seconds: number) =>
      Effect.map(TestClock.adjust(seconds * 1_000), () => [asked.resume, asked.discardAbandoned])
    assert.deepStrictEqual(yield* after(0), [1, 1])
    assert.deepStrictEqual(yield* after(9), [1, 1])
    assert.deepStrictEqual(yield* after(1), [2, 1])
    assert.deepStrictEqual(yield* after(50), [7, 1])
    assert.deepStrictEqual(yield* after(3_539), [360, 1])
    assert.deepStrictEqual(yield* after(1), [361, 2])
    assert.deepStrictEqual(yield* after(3_600), [721, 3])
    assert.deepStrictEqual([asked.forgetStaged, asked.forget, asked.calls], [3, 3, 3])
    assert.deepStrictEqual([asked.sessions, asked.tokens], [3, 3])
  }).pipe(Effect.provide(silent))
)

it.scoped("a sweep that fails is named in the log, and does not stop the later ones", () =>
  Effect.gen(function* () {
    const messages: Array<unknown> = []
    const logger = Logger.make(({ message }) => messages.push(...Arr.ensure(message)))
    yield* Layer.build(
      Sweeper.layer.pipe(
        Layer.provide(
          Layer.mock(Imports, {
            resume: () => Effect.succeed(0),
            discardAbandoned: Effect.succeed(0),
            forgetStaged: Effect.dieMessage("locked")
          })
        ),
        Layer.provide(Layer.mock(Sessions, { forget: Effect.dieMessage("locked") })),
        Layer.provide(Layer.mock(Authorization, { forget: Effect.as(Effect.logInfo("Tokens are swept"), 0) })),
        Layer.provide(Layer.mock(Publishing, { forget: Effect.succeed(2) })),
        Layer.provide(Layer.mock(Activity, { forget: Effect.succeed(0) })),
        Layer.provide([nothingMirrored, noJobs, noLeases, Logger.replace(Logger.defaultLogger, logger)])
      )
    )
    yield* TestClock.adjust(0)
    assert.sameMembers(
      messages.filter((message) => typeof message === "string"),
      [
        `The sweep "Deleted products staged by imports" failed`,
        "Deleted old publications: 2",
        "Sweeping sessions failed",
        "Tokens are swept"
      ]
    )
  })
)

it.scoped("no account waits for the import of another", () =>
  Effect.gen(function* () {
    let begun = 0
    yield* Layer.build(
      Sweeper.layer.pipe(
        Layer.provide(
          Layer.mock(Imports, {
            resume: () => Effect.suspend(() => (begun++ === 0 ? Effect.never : Effect.succeed(0))),
            discardAbandoned: Effect.succeed(0),
            forgetStaged: Effect.succeed(0)
          })
        ),
        Layer.provide(Layer.mock(Sessions, { forget: Effect.succeed(0) })),
        Layer.provide(Layer.mock(Authorization, { forget: Effect.succeed(0) })),
        Layer.provide(Layer.mock(Publishing, { forget: Effect.succeed(0) })),
        Layer.provide(Layer.mock(Activity, { forget: Effect.succeed(0) })),
        Layer.provide([nothingMirrored, noJobs, noLeases])
      )
    )
    yield* TestClock.adjust("20 seconds")
    assert.strictEqual(begun, 3)
  }).pipe(Effect.provide(silent))
)
