import { Command, Options, Prompt } from "@effect/cli"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import { Console, Effect, Option, Redacted } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { argument, textOption } from "./Flags.ts"
import { followToTheEnd } from "./JobCommands.ts"
import { lockedBy } from "./LockedBy.ts"
import { answer, byFlag, json, Refused, seconds } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"

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

/** Ends the command as Ctrl-C does elsewhere. While a question is open, the terminal sends no signal for it. */
const interruptSelf = Effect.zipRight(
  Effect.sync(() => process.kill(process.pid, "SIGINT")),
  Effect.never
)

/** Asks for the name on the terminal. */
const askName = (id: string) =>
  process.stdin.isTTY && process.stdout.isTTY
    ? Prompt.text({
        message: `This deletes the account ${id} with all its data, for good. Type its name to confirm:`
      }).pipe(
        Effect.catchTag("QuitException", () => interruptSelf),
        Effect.onInterrupt(() => Console.error("Interrupted: nothing was deleted.")),
        Effect.provide(NodeTerminal.layer)
      )
    : new Refused({ message: "--yes: give the name of the account. This deletes it with all its data, for good." })

const list = Command.make("list", { json }, ({ json }) =>
  Effect.gen(function* () {
    const accounts = yield* (yield* AdminClient).listAccounts()
    yield* answer(
      json,
      {
        accounts: accounts.map(({ createdAt, deletingSince, id, name }) => ({
          account_id: id,
          name,
          created_at: createdAt,
          deleting_since: deletingSince
        }))
      },
      accounts.length === 0
        ? ["No accounts yet: create one with `catalog account create --name NAME`."]
        : accounts.map(
            ({ createdAt, deletingSince, id, name }) =>
              `${id}  ${seconds(createdAt)}  ${name}${deletingSince === null ? "" : "  (is being deleted)"}`
          )
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List merchant accounts."))

const remove = Command.make(
  "delete",
  {
    id: argument("ACCOUNT_ID", "Id of the account, from `account list`."),
    yes: Options.optional(
      textOption("yes", "NAME", "Name of the account, which confirms the deletion. Without it the command asks for it.")
    ),
    json
  },
  ({ id, json, yes }) =>
    Effect.gen(function* () {
      const name = yield* Option.match(yes, { onSome: Effect.succeed, onNone: () => askName(id) })
      const begun = yield* (yield* AdminClient).deleteAccount({ account: Option.some(id), name })
      yield* followToTheEnd(Option.some(id), begun)
      yield* answer(json, { account_id: id.toLowerCase(), name: name.trim(), deleted: true }, [
        `Deleted the account ${name.trim()} (${id.toLowerCase()}) and everything in it.`,
        "Only a record remains: its id and name, the time, and who deleted it."
      ])
    }).pipe(
      Effect.catchTags({
        NotFound: () =>
          new Refused({
            code: errorCode.NotFound,
            message: `There is no account ${id}: see \`catalog account list\`.`
          }),
        ValidationFailed: ({ issues }) =>
          new Refused({
            message: issues.map(({ message, path }) => (path === "name" ? `--yes: ${message}` : message)).join("; "),
            details: issues
          }),
        PimLocked: () => lockedBy(Option.some(id))
      }),
      withAdmin
    )
).pipe(Command.withDescription("Delete an account with all its data. This cannot be undone."))

export const accountCommand = Command.make("account").pipe(
  Command.withDescription("Merchant accounts."),
  Command.withSubcommands([create, list, remove])
)

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
