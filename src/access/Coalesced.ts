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

interface Lane<Key, Value> {
  readonly name: string
  waiting: Map<Key, Array<Caller<Value>>>
  /** The run in progress, for which new callers wait. Undefined: no run. */
  current: object | undefined
}

/**
 * Combines look-ups of single keys into look-ups of many keys (runs). Callers that arrive during a run share the next run. Every
 * answer comes from a run that began after the call, so it is as fresh as a separate look-up. A run that never returns delays
 * only its own callers, by 100 to 200 ms. A key whose look-up fails, because its account is on a node that is down, fails only its
 * own callers: if a run fails, each of its keys is looked up alone. Keys with different `laneOf` never share a run. Default: all share.
 */
export const makeCoalesced = <Key, Value>(
  lookUp: (keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyMap<Key, Value>>,
  {
    laneOf = () => "",
    patienceMillis = defaultPatienceMillis
  }: { readonly laneOf?: (key: Key) => string; readonly patienceMillis?: number } = {}
): Effect.Effect<(key: Key) => Effect.Effect<Option.Option<Value>>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    const lanes = new Map<string, Lane<Key, Value>>()

    const wait = (lane: Lane<Key, Value>, key: Key, caller: Caller<Value>) => {
      const callers = lane.waiting.get(key)
      if (callers === undefined) lane.waiting.set(key, [caller])
      else callers.push(caller)
    }

    const begin = (lane: Lane<Key, Value>) => {
      const served = lane.waiting
      lane.waiting = new Map()
      const self = {}
      lane.current = self
      // Callers that were moved to another run. If this run fails, they wait for the other one.
      let moved: ReadonlySet<Caller<Value>> | undefined
      const stalled = watch(patienceMillis, () => {
        const repeating = new Set<Caller<Value>>()
        for (const [key, callers] of served)
          for (const caller of callers)
            if (caller.repeats < maxRepeats) {
              caller.repeats++
              repeating.add(caller)
              wait(lane, key, caller)
            }
        moved = repeating
        if (lane.waiting.size > 0) begin(lane)
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
          if (lane.current !== self) return
          lane.current = undefined
          if (lane.waiting.size > 0) begin(lane)
          else lanes.delete(lane.name)
        })
      )
    }

    return (key: Key) =>
      Effect.async<Option.Option<Value>>((resume) => {
        const name = laneOf(key)
        const lane = lanes.get(name) ?? { name, waiting: new Map(), current: undefined }
        lanes.set(name, lane)
        wait(lane, key, { resume, repeats: 0 })
        if (lane.current === undefined) begin(lane)
      })
  }).pipe(Effect.provideService(Workload, "lookUp"))
