import { Command } from "@effect/cli"
import { Effect, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { answer, json } from "./Output.ts"
import { withAdmin } from "./Running.ts"

export const demoCommand = Command.make("demo", { json }, ({ json }) =>
  Effect.gen(function* () {
    const { account, key } = yield* (yield* AdminClient).createDemo()
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
  }).pipe(withAdmin)
).pipe(Command.withDescription("Create a demo account with a catalog on three stores, and a key to it."))
