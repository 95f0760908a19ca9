import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { Clock, type Context, Effect, Layer } from "effect"
import { CatalogRepo } from "../../../src/catalog/CatalogRepo.ts"
import type * as Database from "../../../src/database/Database.ts"
import { Imports } from "../../../src/imports/Imports.ts"
import { FaultInjector } from "../../../src/runtime/FaultInjector.ts"
import { UuidSource } from "../../../src/runtime/Identifiers.ts"
import { RepositoriesOnDatabase, Services } from "../../../src/Services.ts"
import { MemoryRepositories } from "../../../src/testing/index.ts"
import { moveClock, replaceClock } from "../../support/TestClock.ts"
import { engines } from "../../support/TestDatabase.ts"

const AllServices = Imports.layer.pipe(Layer.provide(FaultInjector.layer), Layer.provideMerge(Services))

/** The services, and the repositories that every implementation has. */
export type Provided =
  | Layer.Layer.Success<typeof AllServices>
  | Extract<Layer.Layer.Success<typeof MemoryRepositories>, Layer.Layer.Success<typeof RepositoriesOnDatabase>>

/** An implementation of the repositories, whose clock is set by the test. */
export interface Side {
  readonly name: string
  readonly context: Context.Context<Provided>
  /** Sets the implementation's clock to the current time of the test. */
  readonly tell: Effect.Effect<void>
}

/** The current time of the test, for all implementations. */
export const time = { millis: Date.UTC(2026, 0, 1) }

const liveClock = Clock.make()

/** A clock that shows this time. Sleeping takes the real time. */
const clock: Clock.Clock = {
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: () => time.millis,
  currentTimeMillis: Effect.sync(() => time.millis),
  unsafeCurrentTimeNanos: () => BigInt(time.millis) * 1_000_000n,
  currentTimeNanos: Effect.sync(() => BigInt(time.millis) * 1_000_000n),
  sleep: (duration) => liveClock.sleep(duration)
}

/** Replaces some of the in-memory repositories by faulty ones. */
export type Plant = Layer.Layer<never, never, Layer.Layer.Success<typeof MemoryRepositories>>

export const memorySide = (name: string, plant: Plant = Layer.empty) =>
  Effect.map(
    Layer.build(Layer.fresh(AllServices.pipe(Layer.provideMerge(plant.pipe(Layer.provideMerge(MemoryRepositories)))))),
    (context): Side => ({ name, context, tell: Effect.void })
  ).pipe(Effect.withClock(clock))

const sinceEpoch = (_: string, millis: string) => `timestamptz 'epoch' + ${millis} * interval '1 millisecond'`

/** Sets the database's clock, and signs cursors with the key of the in-memory implementation. */
const told = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const key = yield* Effect.flatMap(CatalogRepo, ({ cursorKey }) => cursorKey).pipe(
      Effect.provide(Layer.fresh(MemoryRepositories))
    )
    yield* replaceClock(sinceEpoch)
    yield* moveClock(sinceEpoch, time.millis)
    yield* sql`UPDATE installation SET cursor_key = ${Buffer.from(key)}`
  })
)

const sqlSide = (name: string, database: Layer.Layer<Database.Database, unknown>) =>
  Effect.map(
    Layer.build(
      AllServices.pipe(
        Layer.provideMerge(RepositoriesOnDatabase),
        Layer.provideMerge(told),
        Layer.provideMerge(database),
        Layer.orDie
      )
    ),
    (context): Side => ({
      name,
      context,
      tell: Effect.suspend(() => moveClock(sinceEpoch, time.millis)).pipe(Effect.orDie, Effect.provide(context))
    })
  ).pipe(Effect.withClock(clock))

/** The in-memory implementation, and SQL on every available engine. */
export const everySide = Effect.gen(function* () {
  const memory = yield* memorySide("memory")
  const others = yield* Effect.forEach(
    engines.filter(({ absent }) => !absent),
    ({ layer, name }) => sqlSide(name, layer)
  )
  return [memory, ...others]
})

/** Ids derived from a name, so that every implementation creates the same ones. */
export const uuidsOf = (name: string): (() => string) => {
  let count = 0
  return () => {
    const hash = createHash("md5").update(`${name} ${count++}`).digest("hex")
    return [
      hash.slice(0, 8),
      hash.slice(8, 12),
      `4${hash.slice(13, 16)}`,
      `8${hash.slice(17, 20)}`,
      hash.slice(20)
    ].join("-")
  }
}

/** Runs an effect on one implementation, with the ids of that implementation. */
export const runOn =
  (side: Side, uuids: () => string) =>
  <A, E>(effect: Effect.Effect<A, E, Provided>) =>
    effect.pipe(Effect.provide(side.context), Effect.provideService(UuidSource, uuids), Effect.withClock(clock))
