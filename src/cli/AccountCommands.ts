import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { textOption } from "./Flags.ts"
import { answer, byFlag, json, Refused, seconds } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"
import { withAdmin } from "./Running.ts"

const create = Command.make(
  "create",
  {
    name: Options.optional(textOption("name", "NAME", "Name of the merchant. Default: the e-mail.")),
    email: Options.optional(
      textOption("email", "EMAIL", "E-mail of the first user, who gets a one-time link to set a password.")
    ),
    json
  },
  ({ email, json, name }) =>
    Effect.gen(function* () {
      const called = Option.orElse(name, () => email)
      if (Option.isNone(called)) return yield* new Refused({ message: "--name: give a name, an e-mail, or both" })
      const { invitation, ...account } = yield* (yield* AdminClient).createAccount({
        name: called.value,
        email: Option.getOrUndefined(email)
      })
      const link = yield* Effect.transposeMapOption(Option.fromNullable(invitation), ({ token }) => passwordLink(token))
      yield* answer(
        json,
        {
          account_id: account.id,
          name: account.name,
          ...Option.match(link, { onNone: () => ({}), onSome: (set_password_url) => ({ set_password_url }) })
        },
        [
          `Created the account ${account.name}: ${account.id}`,
          ...Option.match(link, {
            onNone: () => [],
            onSome: (url) => [`Link for the account's user to set a password (valid once, for one day):`, url]
          }),
          `Next: catalog key create --account ${account.id} --name "My first key" --scopes pim:read`
        ]
      )
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Create a merchant account."))

const list = Command.make("list", { json }, ({ json }) =>
  Effect.gen(function* () {
    const accounts = yield* (yield* AdminClient).listAccounts()
    yield* answer(
      json,
      { accounts: accounts.map(({ createdAt, id, name }) => ({ account_id: id, name, created_at: createdAt })) },
      accounts.length === 0
        ? ["No accounts yet: create one with `catalog account create --name NAME`."]
        : accounts.map(({ createdAt, id, name }) => `${id}  ${seconds(createdAt)}  ${name}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List merchant accounts."))

export const accountCommand = Command.make("account").pipe(
  Command.withDescription("Merchant accounts."),
  Command.withSubcommands([create, list])
)
