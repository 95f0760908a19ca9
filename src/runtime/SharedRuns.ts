import { Duration, Effect, Exit, FiberSet, Random, type Scope } from "effect"

/** Time between attempts while another process runs the work. */
const retryMillis = 50

/**
 * Shares runs of some work between callers and processes. Each caller needs a run that began after its call. A caller draws a
 * ticket, and a run draws one when it begins, so a run serves all callers with smaller tickets. Callers that come during a run
 * share the next one. `attempt` returns the ticket of the last finished run of any process. It runs the work first, unless that
 * ticket is larger than `newest` or another process is running the work. An interrupted caller does not affect others. `isWanted`:
 * whether a caller is left; an attempt that has to wait before it begins returns 0 if none is.
 */
export const makeSharedRuns = <Work>(options: {
  readonly nameOf: (work: Work) => string
  readonly ticket: Effect.Effect<number>
  readonly attempt: (work: Work, newest: number, isWanted: () => boolean) => Effect.Effect<number>
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
        const current = [...callers]
        const newest = Math.max(...current.map(({ ticket }) => ticket))
        const exit = yield* Effect.exit(options.attempt(work, newest, () => callers.size > 0))
        const served = Exit.isSuccess(exit) ? [...callers].filter(({ ticket }) => ticket < exit.value) : current
        for (const caller of served) {
          callers.delete(caller)
          caller.resume(Exit.asVoid(exit))
        }
        if (served.length > 0) return
        const jitter = yield* Random.nextIntBetween(0, retryMillis)
        yield* Effect.sleep(Duration.millis(retryMillis + jitter))
      })

    const serveAll = (work: Work, callers: Set<Caller>): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (callers.size > 0) return Effect.zipRight(serve(work, callers), serveAll(work, callers))
        // Synchronous after the check of `callers.size`, so no caller can be added in between.
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
            run(serveAll(work, first))
          }
          return Effect.sync(() => {
            waiting.get(name)?.delete(caller)
          })
        })
      )
  })
