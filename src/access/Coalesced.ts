import { Effect, Exit, FiberSet, Option, type Scope } from "effect"
import { unwatch, Workload, watch } from "../database/Deadlines.ts"

/**
 * A run that takes longer, in milliseconds, may wait for a connection that will never answer: those who wait for it ask again,
 * in a run beside it, and others no longer wait for it.
 */
const usualPatienceMillis = 100

/** How often one caller asks again: each of these runs may hold a connection. */
const maxRepeats = 4

type Resume<Value> = (answer: Effect.Effect<Option.Option<Value>>) => void

interface Caller<Value> {
  readonly resume: Resume<Value>
  repeats: number
}

/**
 * A look-up that answers many keys at once, for callers that each ask for one: while it runs, callers wait for the next
 * run, which they share. Every answer comes from a run that began after its question, so it is as fresh as one of its own;
 * the busier the process, the fewer runs a caller costs. A run that does not come back holds up its callers for 100 to 200 ms,
 * and nobody after them.
 */
export const makeCoalesced = <Key, Value>(
  lookUp: (keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyMap<Key, Value>>,
  { patienceMillis = usualPatienceMillis } = {}
): Effect.Effect<(key: Key) => Effect.Effect<Option.Option<Value>>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    let waiting = new Map<Key, Array<Caller<Value>>>()
    /** Identifies the run that new callers wait for; undefined: none. */
    let current: object | undefined

    const wait = (key: Key, caller: Caller<Value>) => {
      const callers = waiting.get(key)
      if (callers === undefined) waiting.set(key, [caller])
      else callers.push(caller)
    }

    const begin = () => {
      const asked = waiting
      waiting = new Map()
      const self = {}
      current = self
      // Callers that ask again in another run: a failure of this one is no longer their answer.
      let gone: ReadonlySet<Caller<Value>> | undefined
      const stalled = watch(patienceMillis, () => {
        const repeating = new Set<Caller<Value>>()
        for (const [key, callers] of asked)
          for (const caller of callers)
            if (caller.repeats < maxRepeats) {
              caller.repeats++
              repeating.add(caller)
              wait(key, caller)
            }
        gone = repeating
        if (waiting.size > 0) begin()
      })
      run(
        Effect.map(Effect.exit(lookUp([...asked.keys()])), (exit) => {
          unwatch(stalled)
          for (const [key, callers] of asked) {
            const answer = Exit.map(exit, (found) => Option.fromNullable(found.get(key)))
            for (const caller of callers) {
              if (Exit.isSuccess(exit) || gone?.has(caller) !== true) caller.resume(answer)
            }
          }
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
