import { Effect, Exit, FiberSet, Option, type Scope } from "effect"

/**
 * A look-up that answers many keys at once, for callers that each ask for one: while it runs, callers wait for the next
 * run, which they share. Every answer comes from a run that began after its question, so it is as fresh as one of its own;
 * the busier the process, the fewer runs a caller costs.
 */
export const makeCoalesced = <Key, Value>(
  lookUp: (keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyMap<Key, Value>>
): Effect.Effect<(key: Key) => Effect.Effect<Option.Option<Value>>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    type Resume = (answer: Effect.Effect<Option.Option<Value>>) => void
    let waiting = new Map<Key, Array<Resume>>()
    let running = false

    // Not `Effect.repeat`: its schedule takes fifty steps, and this runs for nearly every request.
    const untilNobodyWaits: Effect.Effect<void> = Effect.suspend(() => {
      const asked = waiting
      waiting = new Map()
      return Effect.flatMap(Effect.exit(lookUp([...asked.keys()])), (exit) => {
        for (const [key, callers] of asked) {
          const answer = Exit.map(exit, (found) => Option.fromNullable(found.get(key)))
          for (const resume of callers) resume(answer)
        }
        running = waiting.size > 0
        return running ? untilNobodyWaits : Effect.void
      })
    })

    return (key) =>
      Effect.async((resume) => {
        const callers = waiting.get(key)
        if (callers === undefined) waiting.set(key, [resume])
        else callers.push(resume)
        if (!running) {
          running = true
          run(untilNobodyWaits)
        }
      })
  })
