import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { userState } from "../access/User.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { Role } from "../model/Role.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { textOption } from "./Flags.ts"
import { account, answer, byFlag, hint, json, Refused } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"

const email = textOption("email", "EMAIL", "E-mail of the user.")
const role = Options.choice("role", Role.literals)

const invite = Command.make(
  "invite",
  {
    account,
    email,
    role: role.pipe(
      Options.withDescription("What the user may do. Default: admin for the first user, view for other new users."),
      Options.optional
    ),
    json
  },
  ({ account, email, json, role }) =>
    Effect.gen(function* () {
      const invited = yield* (yield* AdminClient).inviteUser({ account, email, role: Option.getOrUndefined(role) })
      const url = yield* passwordLink(invited.token)
      yield* answer(json, { email: invited.email, set_password_url: url }, [
        `Link for ${invited.email} to set a password (valid once, for one day):`,
        url
      ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Create a one-time link to set a password; adds the user if there is none."))

const unknownUser = (email: string) => () =>
  new Refused({ code: errorCode.NotFound, message: `--email: the account has no user ${email}` })

const setRole = Command.make(
  "role",
  { account, email, role: role.pipe(Options.withDescription("What the user may do from now on.")), json },
  ({ account, email, json, role }) =>
    Effect.gen(function* () {
      yield* (yield* AdminClient).setUserRole({ account, email, role })
      yield* answer(json, { email, role }, [
        `${email} has the role ${role}. It also bounds the connections that this user allowed.`
      ])
    }).pipe(Effect.catchTags({ NotFound: unknownUser(email), ValidationFailed: byFlag }), withAdmin)
).pipe(Command.withDescription("Change what a user may do: view, edit, publish or admin."))

const disable = Command.make("disable", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).disableUser({ account, email })
    yield* answer(json, { email, disabled: true }, [
      `${email} is signed out and cannot sign in any more. Connections that this user allowed have ended.`
    ])
  }).pipe(Effect.catchTags({ NotFound: unknownUser(email), ValidationFailed: byFlag }), withAdmin)
).pipe(Command.withDescription("Disable a user: they are signed out and cannot sign in any more."))

const enable = Command.make("enable", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    yield* (yield* AdminClient).enableUser({ account, email })
    yield* answer(json, { email, disabled: false }, [`${email} can sign in again, with the same password and role.`])
  }).pipe(Effect.catchTag("NotFound", unknownUser(email)), withAdmin)
).pipe(Command.withDescription("Let a disabled user sign in again."))

const list = Command.make("list", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const users = yield* (yield* AdminClient).listUsers({ account })
    yield* answer(
      json,
      {
        users: users.map((user) => ({
          user_id: user.id,
          email: user.email,
          role: user.role,
          state: userState(user),
          created_at: user.createdAt,
          last_seen_at: user.lastSeenAt,
          disabled_at: user.disabledAt
        }))
      },
      users.length === 0
        ? [`No users yet: invite one with \`${hint("user invite --email E", account)}\`.`]
        : users.map((user) => `${user.id}  ${user.role.padEnd(7)}  ${userState(user).padEnd(8)}  ${user.email}`)
    )
  }).pipe(withAdmin)
).pipe(Command.withDescription("List the users of an account."))

export const userCommand = Command.make("user").pipe(
  Command.withDescription("Users who sign in to the console of an account."),
  Command.withSubcommands([invite, list, setRole, disable, enable])
)
