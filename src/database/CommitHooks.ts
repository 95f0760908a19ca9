import { Context, Effect } from "effect"

/** The effects that wait for the commit of the open transaction. Undefined: no transaction is open. @effect-leakable-service */
class CommitHooks extends Context.Reference<CommitHooks>()("catalog/CommitHooks", {
  defaultValue: (): Array<Effect.Effect<void>> | undefined => undefined
}) {}

/** Runs an effect after the open transaction has committed, and not at all when it is rolled back. Now, where none is open. */
export const afterCommit = (effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(CommitHooks, (hooks) => (hooks === undefined ? effect : Effect.sync(() => void hooks.push(effect))))

/** One attempt of a transaction or savepoint, with the effects that it gave to `afterCommit`. */
export const collectHooks = <A, E, R>(attempt: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const hooks: Array<Effect.Effect<void>> = []
    return Effect.map(Effect.provideService(attempt, CommitHooks, hooks), (value) => ({ hooks, value }))
  })

type Collected<A> = Effect.Effect.Success<ReturnType<typeof collectHooks<A, never, never>>>

/** Ends a transaction that has committed, or a savepoint: its effects then wait for the transaction around it. */
export const releaseHooks = <A>({ hooks, value }: Collected<A>): Effect.Effect<A> =>
  Effect.as(Effect.forEach(hooks, afterCommit, { discard: true }), value)
