import { Duration, Effect, Exit, FiberSet, Random, type Scope } from "effect"

/** Somebody else, in another process, is at work: how long until it is looked at again. */
const betweenLooksMillis = 50

/**
 * Work of which one run at a time is enough, for callers that want one which began after they asked. Whoever asks draws a
 * number first; a run draws its own when it begins, so it serves all whose number is smaller. Callers that come while one
 * runs share the next, those of other processes too: `attempt` answers the number of the last run that is finished, by
 * whomever, and runs itself unless that is larger than `newest` or somebody else is at it. What one caller does, or that it
 * goes away, touches no other.
 */
export const makeSharedRuns = <Work>(options: {
  readonly nameOf: (work: Work) => string
  readonly ticket: Effect.Effect<number>
  readonly attempt: (work: Work, newest: number) => Effect.Effect<number>
}): Effect.Effect<(work: Work) => Effect.Effect<void>, never, Scope.Scope> =>
  Effect.gen(function* () {
    interface Caller {
      readonly ticket: number
      readonly resume: (answer: Exit.Exit<void>) => void
    }
    const run = yield* FiberSet.makeRuntime<never>()
    const waiting = new Map<string, Set<Caller>>()

    const serve = (work: Work, callers: Set<Caller>) =>
      Effect.gen(function* () {
        const asked = [...callers]
        const newest = Math.max(...asked.map(({ ticket }) => ticket))
        const exit = yield* Effect.exit(options.attempt(work, newest))
        const served = Exit.isSuccess(exit) ? [...callers].filter(({ ticket }) => ticket < exit.value) : asked
        for (const caller of served) {
          callers.delete(caller)
          caller.resume(Exit.asVoid(exit))
        }
        if (served.length > 0) return
        const jitter = yield* Random.nextIntBetween(0, betweenLooksMillis)
        yield* Effect.sleep(Duration.millis(betweenLooksMillis + jitter))
      })

    const untilNobodyWaits = (work: Work, callers: Set<Caller>): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (callers.size > 0) return Effect.zipRight(serve(work, callers), untilNobodyWaits(work, callers))
        // In the same step as the last look at who waits: nobody is left behind.
        waiting.delete(options.nameOf(work))
        return Effect.void
      })

    return (work) =>
      Effect.flatMap(options.ticket, (ticket) =>
        Effect.async<void>((resume) => {
          const caller: Caller = { ticket, resume }
          const name = options.nameOf(work)
          const callers = waiting.get(name)
          if (callers !== undefined) {
            callers.add(caller)
          } else {
            const first = new Set([caller])
            waiting.set(name, first)
            run(untilNobodyWaits(work, first))
          }
          return Effect.sync(() => {
            waiting.get(name)?.delete(caller)
          })
        })
      )
  })
