import { SqlClient } from "@effect/sql"
import { Clock, Effect, Layer, Option, Ref } from "effect"
import { moveClock, replaceClock } from "./TestClock.ts"

/** Milliseconds by which the suite's clocks, in the database and in memory, are ahead of the real time. */
export const ahead = Ref.unsafeMake(0)

const own = Clock.make()
const unsafeNow = () => own.unsafeCurrentTimeMillis() + Effect.runSync(Ref.get(ahead))
const movableClock: Clock.Clock = Object.assign(Object.create(own), {
  unsafeCurrentTimeMillis: unsafeNow,
  currentTimeMillis: Effect.sync(unsafeNow)
})

const aheadBy = (_: string, millis: string) => `clock_timestamp() + ${millis} * interval '1 millisecond'`

const movable = Effect.flatMap(Effect.serviceOption(SqlClient.SqlClient), (sql) =>
  Option.isNone(sql) ? Effect.void : Effect.provideService(replaceClock(aheadBy), SqlClient.SqlClient, sql.value)
).pipe(Effect.orDie)

/** Moves the suite's clocks. */
export const advance = (millis: number) =>
  Effect.gen(function* () {
    const total = yield* Ref.updateAndGet(ahead, (before) => before + millis)
    const sql = yield* Effect.serviceOption(SqlClient.SqlClient)
    if (Option.isSome(sql))
      yield* Effect.orDie(Effect.provideService(moveClock(aheadBy, total), SqlClient.SqlClient, sql.value))
  })

/** Sets the clock in memory only, from a callback. */
export const unsafeSetAhead = (millis: number): void => Effect.runSync(Ref.set(ahead, millis))

/** Sets the difference of the clocks to zero. */
export const layerStarted = Layer.effectDiscard(Effect.zipRight(Ref.set(ahead, 0), movable))

export const layerMovableClock = Layer.setClock(movableClock)
