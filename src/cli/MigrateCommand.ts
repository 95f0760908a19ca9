import { Command } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { answer, json, Refused } from "./Output.ts"
import { settled, withAdmin } from "./Running.ts"

/** Loads the SQL client: for the commands that migrate only. */
const loaded = Effect.promise(() => import("../database/Migrations.ts"))

/**
 * The process that holds the embedded database migrated it at its start. It may run an older version without the newest
 * migrations.
 */
const migratedByHolder = Effect.gen(function* () {
  const Migrations = yield* loaded
  const { migrations, pid } = yield* (yield* AdminClient).hello()
  const missing = Migrations.names.filter((name) => !migrations.includes(name))
  if (missing.length > 0)
    return yield* new Refused({
      message: `Process ${pid} holds the database and runs an older version without ${missing.join(", ")}: restart it.`
    })
  return []
}).pipe(withAdmin)

export const migrateCommand = Command.make("migrate", { json }, ({ json }) =>
  Effect.gen(function* () {
    const { run } = yield* loaded
    const applied = yield* settled(() => run).pipe(Effect.catchTag("DatabaseInUse", () => migratedByHolder))
    yield* answer(
      json,
      { applied },
      applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `Applied ${name}`)
    )
  })
).pipe(Command.withDescription("Bring the database schema up to date."))
