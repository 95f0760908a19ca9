import { Context, Effect } from "effect"

/** The effects to run after the open transaction commits. Undefined: no transaction is open. @effect-leakable-service */
class CommitHooks extends Context.Reference<CommitHooks>()("catalog/CommitHooks", {
  defaultValue: (): Array<Effect.Effect<void>> | undefined => undefined
}) {}

/** Runs an effect after the open transaction commits, not after a rollback. Runs it now if no transaction is open. */
export const afterCommit = (effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(CommitHooks, (hooks) => (hooks === undefined ? effect : Effect.sync(() => void hooks.push(effect))))

/** Runs one attempt of a transaction or savepoint and collects its effects of `afterCommit`. */
export const collectHooks = <A, E, R>(attempt: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const hooks: Array<Effect.Effect<void>> = []
    return Effect.map(Effect.provideService(attempt, CommitHooks, hooks), (value) => ({ hooks, value }))
  })

type Collected<A> = Effect.Effect.Success<ReturnType<typeof collectHooks<A, never, never>>>

/** After a commit, runs the collected effects. After a savepoint, passes them on to the outer transaction. */
export const releaseHooks = <A>({ hooks, value }: Collected<A>): Effect.Effect<A> =>
  Effect.as(Effect.forEach(hooks, afterCommit, { discard: true }), value)
