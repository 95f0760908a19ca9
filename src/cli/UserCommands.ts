import { Command, Options } from "@effect/cli"
import { Effect } from "effect"
import type { User } from "../access/User.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { account, answer, byFlag, hint, json, Refused } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"
import { withAdmin } from "./Running.ts"

const email = Options.text("email").pipe(
  Options.withPseudoName("EMAIL"),
  Options.withDescription("E-mail of the user.")
)

const invite = Command.make("invite", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    const invited = yield* (yield* AdminClient).inviteUser({ account, email })
    const url = yield* passwordLink(invited.token)
    yield* answer(json, { email: invited.email, set_password_url: url }, [
      `${invited.email} sets a password within a day, by this link, which works once:`,
      url
    ])
  }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Make a one-time link by which somebody sets a password; adds the user if need be."))

const disable = Command.make("disable", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).disableUser({ account, email })
    yield* answer(json, { email, disabled: true }, [
      `${email} is signed out and cannot sign in any more; connections that they allowed open nothing.`
    ])
  }).pipe(
    Effect.catchTag(
      "NotFound",
      () => new Refused({ code: errorCode.NotFound, message: `--email: the account has no user ${email}` })
    ),
    withAdmin
  )
).pipe(Command.withDescription("Sign a user out for good."))

const stateOf = ({ disabledAt, hasPassword }: User) =>
  disabledAt !== null ? "disabled" : hasPassword ? "active" : "invited"

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const users = yield* (yield* AdminClient).listUsers({ account })
    yield* answer(
      json,
      {
        users: users.map((user) => ({
          user_id: user.id,
          email: user.email,
          state: stateOf(user),
          created_at: user.createdAt,
          disabled_at: user.disabledAt
        }))
      },
      users.length === 0
        ? [`No users yet: invite one with \`${hint("user invite --email E", account)}\`.`]
        : users.map((user) => `${user.id}  ${stateOf(user).padEnd(8)}  ${user.email}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List who signs in to the pages of an account."))

export const userCommand = Command.make("user").pipe(
  Command.withDescription("Who signs in to the pages of an account."),
  Command.withSubcommands([invite, list, disable])
)
