import { Effect, Option } from "effect"
import { Users } from "../access/Users.ts"
import { CurrentActor } from "../model/Actor.ts"
import { SecretBox } from "../stores/SecretBox.ts"
import { UserRpcs } from "./UserRpcs.ts"

export const UserHandlers = UserRpcs.toLayer(
  Effect.gen(function* () {
    const users = yield* Users
    const box = yield* SecretBox
    return {
      serviceAddress: () => Effect.map(users.serviceAddress, Option.getOrNull),
      inviteUser: ({ email, role }) =>
        Effect.flatMap(CurrentActor, ({ accountId }) => users.invite(accountId, email, { role })),
      listUsers: () => Effect.flatMap(CurrentActor, ({ accountId }) => users.list(accountId)),
      setUserRole: ({ email, role }) =>
        Effect.flatMap(CurrentActor, ({ accountId }) => users.setRole(accountId, email, role)),
      disableUser: ({ email }) => Effect.flatMap(CurrentActor, ({ accountId }) => users.disable(accountId, email)),
      enableUser: ({ email }) => Effect.flatMap(CurrentActor, ({ accountId }) => users.enable(accountId, email)),
      requiresSecondFactor: () =>
        Effect.flatMap(CurrentActor, ({ accountId }) => users.requiresSecondFactor(accountId)),
      // Without a key nobody could set up a second factor, so nobody could sign in.
      requireSecondFactor: ({ isRequired }) =>
        Effect.flatMap(CurrentActor, ({ accountId }) =>
          Effect.zipRight(isRequired ? box.ready : Effect.void, users.requireSecondFactor(accountId, isRequired))
        ),
      showTeamLog: ({ limit }) => Effect.flatMap(CurrentActor, ({ accountId }) => users.log(accountId, limit))
    }
  })
)
