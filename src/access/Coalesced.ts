import { Effect, Exit, FiberSet, Option, type Scope } from "effect"
import { unwatch, Workload, watch } from "../database/Deadlines.ts"

/**
 * How long a run may take, in milliseconds. A slower run may wait for a database connection that never answers, so its keys are
 * looked up again in another run, and new callers do not wait for it.
 */
const defaultPatienceMillis = 100

/** Maximum repeated look-ups per caller, because each of them may hold a database connection. */
const maxRepeats = 4

type Resume<Value> = (answer: Effect.Effect<Option.Option<Value>>) => void

interface Caller<Value> {
  readonly resume: Resume<Value>
  repeats: number
}

/**
 * Combines look-ups of single keys into look-ups of many keys (runs). Callers that arrive during a run share the next run. Every
 * answer comes from a run that began after the call, so it is as fresh as a separate look-up. A run that never returns delays
 * only its own callers, by 100 to 200 ms. A key whose look-up fails, because its account is on a node that is down, fails only its
 * own callers: if a run fails, each of its keys is looked up alone.
 */
export const makeCoalesced = <Key, Value>(
  lookUp: (keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyMap<Key, Value>>,
  { patienceMillis = defaultPatienceMillis } = {}
): Effect.Effect<(key: Key) => Effect.Effect<Option.Option<Value>>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    let waiting = new Map<Key, Array<Caller<Value>>>()
    /** The run in progress, for which new callers wait. Undefined: no run. */
    let current: object | undefined

    const wait = (key: Key, caller: Caller<Value>) => {
      const callers = waiting.get(key)
      if (callers === undefined) waiting.set(key, [caller])
      else callers.push(caller)
    }

    const begin = () => {
      const served = waiting
      waiting = new Map()
      const self = {}
      current = self
      // Callers that were moved to another run. If this run fails, they wait for the other one.
      let moved: ReadonlySet<Caller<Value>> | undefined
      const stalled = watch(patienceMillis, () => {
        const repeating = new Set<Caller<Value>>()
        for (const [key, callers] of served)
          for (const caller of callers)
            if (caller.repeats < maxRepeats) {
              caller.repeats++
              repeating.add(caller)
              wait(key, caller)
            }
        moved = repeating
        if (waiting.size > 0) begin()
      })
      const resume = (key: Key, callers: ReadonlyArray<Caller<Value>>, exit: Exit.Exit<ReadonlyMap<Key, Value>>) => {
        const answer = Exit.map(exit, (found) => Option.fromNullable(found.get(key)))
        for (const caller of callers) if (Exit.isSuccess(exit) || moved?.has(caller) !== true) caller.resume(answer)
      }
      run(
        Effect.map(Effect.exit(lookUp([...served.keys()])), (exit) => {
          unwatch(stalled)
          // A run that failed late has waited for a deadline. Repeating its look-ups would make its callers wait for a second deadline.
          const isFinal = Exit.isSuccess(exit) || served.size === 1 || moved !== undefined
          for (const [key, callers] of served)
            if (isFinal) resume(key, callers, exit)
            else run(Effect.map(Effect.exit(lookUp([key])), (alone) => resume(key, callers, alone)))
          if (current !== self) return
          current = undefined
          if (waiting.size > 0) begin()
        })
      )
    }

    return (key: Key) =>
      Effect.async<Option.Option<Value>>((resume) => {
        wait(key, { resume, repeats: 0 })
        if (current === undefined) begin()
      })
  }).pipe(Effect.provideService(Workload, "lookUp"))
