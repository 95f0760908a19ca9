import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { answer, byFlag, json } from "./Output.ts"
import { withAdmin } from "./Running.ts"

const create = Command.make(
  "create",
  { name: Options.text("name").pipe(Options.withDescription("Name of the merchant.")), json },
  ({ json, name }) =>
    Effect.gen(function* () {
      const account = yield* (yield* AdminClient).createAccount({ name })
      yield* answer(json, { account_id: account.id, name: account.name }, [
        `Created the account ${account.name}: ${account.id}`,
        `Next: catalog key create --account ${account.id} --name "My first key" --scopes pim:read`
      ])
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
        : accounts.map(({ createdAt, id, name }) => `${id}  ${createdAt}  ${name}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List merchant accounts."))

export const accountCommand = Command.make("account").pipe(
  Command.withDescription("Merchant accounts."),
  Command.withSubcommands([create, list])
)
