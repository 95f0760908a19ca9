import { Effect, Option, Schema } from "effect"
import { HistoryActor } from "../drafts/History.ts"
import { type Actor, CurrentActor } from "../model/Actor.ts"
import type { AccountId } from "../model/Ids.ts"
import { Role } from "../model/Role.ts"
import { Timestamp } from "../model/Timestamp.ts"

/**
 * The kind of a change of the team. `joined`: an invited user set the first password; `password_set`: a later one, by a link or on the
 * profile. `sessions_ended`: a user ended other sessions of their own. `address_freed`: the operator took the e-mail address from a user.
 */
export const TeamAction = Schema.Literal(
  "invited",
  "link_made",
  "invitation_cancelled",
  "joined",
  "password_set",
  "role_changed",
  "disabled",
  "enabled",
  "address_freed",
  "second_factor_on",
  "second_factor_off",
  "second_factor_reset",
  "recovery_codes_renewed",
  "second_factor_required",
  "second_factor_optional",
  "sessions_ended"
)
export type TeamAction = typeof TeamAction.Type

/** A change of the team, with its author. */
export const TeamEvent = Schema.Struct({
  id: Schema.NumberFromString,
  at: Timestamp,
  actor: HistoryActor,
  action: TeamAction,
  /** The user that the change is about. Null: the change is about the whole account. */
  email: Schema.NullOr(Schema.String),
  /** The role that the change gave. */
  role: Schema.NullOr(Role)
})
export type TeamEvent = typeof TeamEvent.Type

/** A change that is recorded. */
export interface NewTeamEvent {
  readonly action: TeamAction
  readonly email: string | null
  readonly role?: Role | undefined
}

/** The author of a change: the current actor. Without one, the command line: it creates accounts with their first users. */
export const authorIn = (accountId: AccountId): Effect.Effect<Actor> =>
  Effect.map(
    Effect.serviceOption(CurrentActor),
    Option.getOrElse((): Actor => ({ _tag: "Cli", accountId }))
  )
