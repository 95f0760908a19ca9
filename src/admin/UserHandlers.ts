import { Effect, Option } from "effect"
import { Users } from "../access/Users.ts"
import { CurrentActor } from "../model/Actor.ts"
import { UserRpcs } from "./UserRpcs.ts"

export const UserHandlers = UserRpcs.toLayer(
  Effect.gen(function* () {
    const users = yield* Users
    return {
      serviceAddress: () => Effect.map(users.serviceAddress, Option.getOrNull),
      inviteUser: ({ email, role }) =>
        Effect.flatMap(CurrentActor, ({ accountId }) => users.invite(accountId, email, { role })),
      listUsers: () => Effect.flatMap(CurrentActor, ({ accountId }) => users.list(accountId)),
      setUserRole: ({ email, role }) =>
        Effect.flatMap(CurrentActor, ({ accountId }) => users.setRole(accountId, email, role)),
      disableUser: ({ email }) => Effect.flatMap(CurrentActor, ({ accountId }) => users.disable(accountId, email)),
      enableUser: ({ email }) => Effect.flatMap(CurrentActor, ({ accountId }) => users.enable(accountId, email)),
      showTeamLog: ({ limit }) => Effect.flatMap(CurrentActor, ({ accountId }) => users.log(accountId, limit))
    }
  })
)
