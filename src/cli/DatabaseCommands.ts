import { Command } from "@effect/cli"
import { Effect, Redacted } from "effect"
import * as Migrations from "../database/Migrations.ts"
import { Demo } from "../services/Demo.ts"
import { answer, json } from "./Output.ts"
import { settled, withServices } from "./Running.ts"

export const migrateCommand = Command.make("migrate", { json }, ({ json }) =>
  Effect.gen(function* () {
    const applied = yield* settled(() => Migrations.run)
    yield* answer(
      json,
      { applied },
      applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `Applied ${name}`)
    )
  })
).pipe(Command.withDescription("Bring the database schema up to date."))

export const demoCommand = Command.make("demo", { json }, ({ json }) =>
  Effect.gen(function* () {
    const { account, key } = yield* (yield* Demo).create
    const token = Redacted.value(key.token)
    yield* answer(
      json,
      {
        account_id: account.id,
        name: account.name,
        key_id: key.id,
        key: token,
        scopes: key.scopes,
        last_four: key.lastFour
      },
      [
        `Created the account ${account.name}: ${account.id}`,
        `Its API key (${key.scopes.join(", ")}), shown once:`,
        token
      ]
    )
  }).pipe(withServices)
).pipe(Command.withDescription("Create a demo account with a catalog on three stores, and a key to it."))
