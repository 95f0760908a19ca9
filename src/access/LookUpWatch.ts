import { Clock, Data, Duration, Effect } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { ApiKeys } from "./ApiKeys.ts"

/** Look-ups of keys fail although the database works, so the process must be restarted. */
class LookUpsStuck extends Data.TaggedError("LookUpsStuck")<{ readonly seconds: number }> {
  override get message() {
    return `Look-ups of API keys have failed for ${this.seconds} s while a new connection to the database works: this process exits so that its supervisor restarts it.`
  }
}

/** Runs the look-up of keys that every request needs. Unavailable: it took longer than 2.5 s. */
export const lookUpAnswers: Effect.Effect<void, Unavailable, ApiKeys> = Effect.flatMap(ApiKeys, ({ probe }) =>
  probe.pipe(
    Effect.disconnect,
    Effect.timeout("2500 millis"),
    Effect.catchAllCause((cause) =>
      Effect.zipRight(Effect.logDebug("A look-up of an API key failed", cause), Effect.fail(new Unavailable()))
    )
  )
)

const betweenLookUps = Duration.seconds(5)

/**
 * Fails after look-ups have failed for `patience` while a new database connection works (`connects`). It does not fail while the
 * database is unavailable, because a new process would not help then.
 */
export const watchLookUps = (options: {
  readonly patience: Duration.Duration
  readonly connects: Effect.Effect<boolean>
}): Effect.Effect<never, LookUpsStuck, ApiKeys> =>
  Effect.gen(function* () {
    let failingSince: bigint | undefined
    for (;;) {
      yield* Effect.sleep(betweenLookUps)
      const now = yield* Clock.currentTimeNanos
      const answers = yield* Effect.isSuccess(lookUpAnswers)
      if (answers) failingSince = undefined
      else failingSince ??= now
      if (failingSince === undefined) continue
      const failing = Duration.nanos((yield* Clock.currentTimeNanos) - failingSince)
      if (Duration.greaterThanOrEqualTo(failing, options.patience) && (yield* options.connects))
        return yield* new LookUpsStuck({ seconds: Math.round(Duration.toSeconds(failing)) })
    }
  })
