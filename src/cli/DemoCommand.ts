import { Command } from "@effect/cli"
import { Effect, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { answer, json } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"

export const demoCommand = Command.make("demo", { json }, ({ json }) =>
  Effect.gen(function* () {
    const { account, invitation, key } = yield* (yield* AdminClient).createDemo()
    const token = Redacted.value(key.token)
    const url = yield* passwordLink(invitation.token)
    yield* answer(
      json,
      {
        account_id: account.id,
        name: account.name,
        key_id: key.id,
        key: token,
        scopes: key.scopes,
        last_four: key.lastFour,
        email: invitation.email,
        set_password_url: url
      },
      [
        `Created the account ${account.name}: ${account.id}`,
        `Its API key (${key.scopes.join(", ")}), shown once:`,
        token,
        `Link for ${invitation.email} to set a password (valid once, for one day):`,
        url
      ]
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("Create a demo account with a catalog on three stores, and an API key."))
