import { setTimeout } from "node:timers/promises"
import { Clock, Effect, Ref } from "effect"
import { MemoryStore } from "../database/MemoryStore.memory.ts"
import { Drops } from "../drops/Drops.ts"
import { callablePlatforms, PlatformRegistry } from "../platform/PlatformRegistry.ts"
import { JobWorker } from "../programs/JobWorker.ts"
import { isOpen } from "../publishing/MemoryPublication.memory.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { isDue } from "../publishing/UnclaimedPublications.memory.ts"

/** A pause that the clock of a test does not stop. */
const pause = Effect.promise(() => setTimeout(1))

/**
 * Carries out everything that is due in all accounts at the present time of the clock: steps of drops, publishes and jobs, with all that
 * follows from them. A publish whose platform does not answer is attempted once, and is due again when the clock was moved. Tests use it
 * in place of the workers of a server, which would wake up every second while the clock moves.
 */
export const runDueWork: Effect.Effect<void, never, Drops | JobWorker | MemoryStore | PlatformRegistry | Publishing> =
  Effect.gen(function* () {
    const drops = yield* Drops
    const jobs = yield* JobWorker
    const { work } = yield* Publishing
    const store = yield* MemoryStore
    const platforms = callablePlatforms(yield* PlatformRegistry)
    /** The number of publications that can be claimed, or that are being sent. */
    const publications = Effect.zipWith(Clock.currentTimeMillis, Ref.get(store), (now, accounts) =>
      [...accounts.values()].flatMap((account) =>
        account.publications.filter(
          (each) =>
            isDue(account, each, now, (platform) => platforms.includes(platform)) ||
            (isOpen(each) && each.claim !== null && each.leaseUntil > now)
        )
      )
    )
    const publish = Effect.flatMap(publications, (due) =>
      due.length === 0
        ? Effect.succeed(0)
        : Effect.raceFirst(
            work,
            Effect.repeat(Effect.zipRight(pause, publications), { until: ({ length }) => length === 0 })
          ).pipe(Effect.as(due.length))
    )
    yield* Effect.repeat(Effect.all([drops.runDue, jobs.runDue, publish]), {
      until: (counts) => counts.every((count) => count === 0)
    })
  })
