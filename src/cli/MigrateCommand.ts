import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { readAppConfig } from "../AppConfig.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin, withDatabase } from "./CommandRuntime.ts"
import { answer, json, Refused } from "./Output.ts"

/** Imported only when needed: few commands use the SQL client. */
const migrationsModule = Effect.promise(() => import("../database/Migrations.ts"))

/** Refuses a schema that has other migrations than this version knows: nothing can be said about it. */
const refuseNewer = (existing: ReadonlyArray<string>) =>
  Effect.flatMap(migrationsModule, ({ newerThanCode }) => {
    const message = newerThanCode(existing)
    return message === undefined ? Effect.void : new Refused({ message })
  })

const migrated = Effect.gen(function* () {
  const { applied, run } = yield* migrationsModule
  // If the names of the applied migrations cannot be read, `run` fails too, and reports why.
  yield* refuseNewer(yield* Effect.orElseSucceed(applied, () => []))
  return yield* run
})

/**
 * Reports the migrations if another process holds the embedded database. That process migrated it at its start, but may be another
 * version.
 */
const migratedByHolder = Effect.gen(function* () {
  const Migrations = yield* migrationsModule
  const { migrations, pid } = yield* (yield* AdminClient).hello()
  yield* refuseNewer(migrations)
  const missing = Migrations.names.filter((name) => !migrations.includes(name))
  if (missing.length > 0)
    return yield* new Refused({
      message: `Process ${pid} holds the database and runs an older version, without the migrations ${missing.join(", ")}: restart it.`
    })
  return []
}).pipe(withAdmin)

/** Refused before an embedded database is opened, which has no nodes. */
const requireServer = Effect.gen(function* () {
  if (Option.isNone((yield* readAppConfig).databaseUrl))
    return yield* new Refused({ message: "Only a Citus cluster can be distributed: set DATABASE_URL." })
})

const distributed = Effect.gen(function* () {
  const { distribute } = yield* Effect.promise(() => import("../database/Distribution.ts"))
  return yield* withDatabase(() => distribute).pipe(
    Effect.catchTag("DistributionFailed", ({ message }) => new Refused({ message }))
  )
})

const distribute = Options.boolean("distribute").pipe(
  Options.withDescription("Then distribute the tables of accounts over the nodes of a Citus cluster (docs/scale.md).")
)

export const migrateCommand = Command.make("migrate", { json, distribute }, ({ distribute, json }) =>
  Effect.gen(function* () {
    if (distribute) yield* requireServer
    const applied = yield* withDatabase(() => migrated).pipe(Effect.catchTag("DatabaseInUse", () => migratedByHolder))
    const placed = distribute ? yield* distributed : undefined
    yield* answer(json, placed === undefined ? { applied } : { applied, distributed: placed }, [
      ...(applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `Applied ${name}`)),
      ...(placed === undefined
        ? []
        : placed.length === 0
          ? ["The tables are distributed."]
          : [`Distributed ${placed.length} tables. Restart all processes of the service.`])
    ])
  })
).pipe(Command.withDescription("Bring the database schema up to date."))
