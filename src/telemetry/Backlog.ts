import { Clock, Context, Duration, Effect, Layer } from "effect"

/** How long a reading of the database is reused, and how long a reading may take. */
const freshFor = Duration.seconds(10)
const readWithin = Duration.seconds(2)

/** Updates the gauges that are read from the database. Never fails, and waits at most 2 s. */
export class Backlog extends Context.Tag("catalog/Backlog")<Backlog, { readonly refresh: Effect.Effect<void> }>() {
  /**
   * `read`: reads the database and sets the gauges. Callers within 10 s share one reading, so that many scrapes do not
   * load the database. `isRead`: whether the last reading succeeded in time.
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
          // Cancelling a statement may take longer than the timeout.
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
        const [cached, invalidate] = yield* Effect.cachedInvalidateWithTTL(reading, Duration.infinity)
        let until = 0n
        // A limit of the cache would be a time of day: after the system's clock is set back, old numbers would stay for as long.
        const refresh = Effect.flatMap(Clock.currentTimeNanos, (now) => {
          if (now < until) return cached
          until = now + Duration.unsafeToNanos(freshFor)
          return Effect.zipRight(invalidate, cached)
        })
        return { refresh }
      })
    )

  /** For processes without a database. */
  static readonly layerNone = Layer.succeed(Backlog, { refresh: Effect.void })
}
