import { Context, Duration, Effect, Layer } from "effect"

/** How long a reading of the database is good for, and how long it may take. */
const freshFor = Duration.seconds(10)
const readWithin = Duration.seconds(2)

/** Brings the gauges up to date that need the database. It never fails, and waits no longer than 2 s. */
export class Backlog extends Context.Tag("catalog/Backlog")<Backlog, { readonly refresh: Effect.Effect<void> }>() {
  /**
   * `read`: reads the database and sets the gauges. Readers within 10 s share one reading, so no number of them can load the
   * database. `isRead`: whether the last reading was made in time.
   */
  static readonly layer = <R>(
    read: Effect.Effect<void, never, R>,
    isRead: (isRead: boolean) => void
  ): Layer.Layer<Backlog, never, R> =>
    Layer.effect(
      Backlog,
      Effect.gen(function* () {
        const context = yield* Effect.context<R>()
        const reading = read.pipe(
          Effect.provide(context),
          // The cancellation of a statement may take longer than we wait.
          Effect.disconnect,
          Effect.timeout(readWithin),
          Effect.matchCauseEffect({
            onFailure: (cause) =>
              Effect.zipRight(
                Effect.sync(() => isRead(false)),
                Effect.logDebug("The backlog could not be read in time", cause)
              ),
            onSuccess: () => Effect.sync(() => isRead(true))
          })
        )
        return { refresh: yield* Effect.cachedWithTTL(reading, freshFor) }
      })
    )

  /** Without a database. */
  static readonly layerNone = Layer.succeed(Backlog, { refresh: Effect.void })
}
