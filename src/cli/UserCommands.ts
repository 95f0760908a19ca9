import { Command } from "@effect/cli"
import { Effect } from "effect"
import type { User } from "../access/User.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { textOption } from "./Flags.ts"
import { account, answer, byFlag, hint, json, Refused } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"
import { withAdmin } from "./Running.ts"

const email = textOption("email", "EMAIL", "E-mail of the user.")

const invite = Command.make("invite", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    const invited = yield* (yield* AdminClient).inviteUser({ account, email })
    const url = yield* passwordLink(invited.token)
    yield* answer(json, { email: invited.email, set_password_url: url }, [
      `Link for ${invited.email} to set a password (valid once, for one day):`,
      url
    ])
  }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Create a one-time link to set a password; adds the user if there is none."))

const disable = Command.make("disable", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).disableUser({ account, email })
    yield* answer(json, { email, disabled: true }, [
      `${email} is signed out and cannot sign in any more. Connections that this user allowed have ended.`
    ])
  }).pipe(
    Effect.catchTag(
      "NotFound",
      () => new Refused({ code: errorCode.NotFound, message: `--email: the account has no user ${email}` })
    ),
    withAdmin
  )
).pipe(Command.withDescription("Disable a user: they are signed out and cannot sign in any more."))

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
).pipe(Command.withDescription("List the users of an account."))

export const userCommand = Command.make("user").pipe(
  Command.withDescription("Users who sign in to the console of an account."),
  Command.withSubcommands([invite, list, disable])
)
