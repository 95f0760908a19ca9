import { Clock, Data, Duration, Effect } from "effect"
import { Unavailable } from "../model/Errors.ts"
import { ApiKeys } from "./ApiKeys.ts"

/** Look-ups fail while the database works: only a new process gets out of it. */
export class LookUpsStuck extends Data.TaggedError("LookUpsStuck")<{ readonly seconds: number }> {
  override get message() {
    return `Look-ups of API keys have failed for ${this.seconds} s while a new connection to the database works: this process ends, so that its supervisor starts another.`
  }
}

/** A look-up by the path of every request, answered within this time or `Unavailable`. */
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
 * Fails once look-ups have failed for so long and a connection of its own, made afresh, works (`connects`). While the
 * database is away, nothing is gained by another process.
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
