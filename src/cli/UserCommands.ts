import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { normalEmail } from "../access/Email.ts"
import type { TeamAction, TeamEvent } from "../access/TeamLog.ts"
import { userState } from "../access/User.ts"
import { AdminClient } from "../admin/AdminClient.ts"
import { errorCode } from "../model/ErrorCode.ts"
import { Role } from "../model/Role.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { integerOption, textOption } from "./Flags.ts"
import { account, answer, authorText, byFlag, hint, json, quoted, Refused, seconds } from "./Output.ts"
import { passwordLink } from "./PasswordLink.ts"

const email = textOption("email", "EMAIL", "E-mail of the user.").pipe(Options.map(normalEmail))
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
        `${email} has the role ${role}. Connections that this user allowed can do no more than this role.`
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

const resetSecondFactor = Command.make("reset-second-factor", { account, email, json }, ({ account, email, json }) =>
  Effect.gen(function* () {
    const isChanged = yield* (yield* AdminClient).resetSecondFactor({ account, email })
    yield* answer(json, { email, reset: isChanged }, [
      isChanged
        ? `The second factor of ${email} is off. The user signs in with the password alone, and can set up a new one.`
        : `${email} has no second factor.`
    ])
  }).pipe(Effect.catchTag("NotFound", unknownUser(email)), withAdmin)
).pipe(
  Command.withDescription(
    "Switch off the second factor of a user who has lost the authenticator app and the recovery codes."
  )
)

const free = Command.make("free", { email, json }, ({ email: address, json }) =>
  Effect.gen(function* () {
    const { account, email } = yield* (yield* AdminClient).freeAddress({ email: address })
    yield* answer(json, { email, account_id: account.id, account_name: account.name, freed: true }, [
      `${email} is free: nobody signs in with it any more.`,
      `Its user in the account ${account.name} (${account.id}) is signed out and disabled, without password and second factor. Connections that this user allowed have ended.`,
      `Next: invite its owner with \`catalog user invite --email ${email} --account ACCOUNT_ID\`. The address belongs to the account whose invitation is accepted first.`
    ])
  }).pipe(
    Effect.catchTag(
      "NotFound",
      () => new Refused({ code: errorCode.NotFound, message: `--email: no user signs in with ${address}` })
    ),
    withAdmin
  )
).pipe(
  Command.withDescription(
    "Free an e-mail address that a user of any account signs in with, so that another account can have it. The user is disabled."
  )
)

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

const actionWords: Readonly<Record<TeamAction, string>> = {
  invited: "invited",
  link_made: "made a password link for",
  invitation_cancelled: "cancelled the invitation of",
  joined: "joined",
  password_set: "set a new password",
  role_changed: "changed the role of",
  disabled: "disabled",
  enabled: "enabled",
  address_freed: "freed the e-mail address of",
  second_factor_on: "switched the second factor on",
  second_factor_off: "switched the second factor off",
  second_factor_reset: "reset the second factor of",
  recovery_codes_renewed: "made new recovery codes",
  second_factor_required: "made the second factor required for all users",
  second_factor_optional: "made the second factor optional",
  sessions_ended: "ended other sessions"
}

const logLine = ({ action, actor, at, email, role }: TeamEvent) =>
  [
    seconds(at),
    "",
    authorText(actor),
    "",
    actionWords[action],
    // Of a change that a user made to themselves, the author is the user.
    ...(email === null || (actor.kind === "user" && actor.name === email) ? [] : [quoted(email)]),
    ...(role === null ? [] : [`(role ${role})`])
  ].join(" ")

const log = Command.make(
  "log",
  {
    account,
    limit: Options.withDefault(integerOption("limit", "ROWS", "Number of changes to show, at most 250.", 1, 250), 50),
    json
  },
  ({ account, json, limit }) =>
    Effect.gen(function* () {
      const changes = yield* (yield* AdminClient).showTeamLog({ account, limit })
      yield* answer(json, { changes }, changes.length === 0 ? ["No changes are recorded."] : changes.map(logLine))
    }).pipe(withAdmin)
).pipe(Command.withDescription("Show who changed the team, when and how, newest first."))

const secondFactor = Command.make(
  "second-factor",
  {
    account,
    required: Options.choice("required", ["yes", "no"]).pipe(
      Options.withDescription("Whether all users need a second factor. Without it the command shows the setting."),
      Options.optional
    ),
    json
  },
  ({ account, json, required }) =>
    Effect.gen(function* () {
      const client = yield* AdminClient
      if (Option.isSome(required)) yield* client.requireSecondFactor({ account, isRequired: required.value === "yes" })
      const isRequired = yield* client.requiresSecondFactor({ account })
      yield* answer(json, { second_factor_required: isRequired }, [
        isRequired
          ? "All users need a second factor. A user without one sets it up at the next sign-in."
          : "The second factor is optional: each user decides."
      ])
    }).pipe(Effect.catchTag("ValidationFailed", byFlag), withAdmin)
).pipe(Command.withDescription("Show or set whether all users of an account need a second factor."))

export const userCommand = Command.make("user").pipe(
  Command.withDescription("Users who sign in to the console of an account."),
  Command.withSubcommands([invite, list, setRole, disable, enable, free, secondFactor, resetSecondFactor, log])
)
