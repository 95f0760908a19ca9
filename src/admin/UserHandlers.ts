import { Effect, Option } from "effect"
import { Users } from "../access/Users.ts"
import { makeChooseAccount } from "./ChosenAccount.ts"
import { UserRpcs } from "./UserRpcs.ts"

export const UserHandlers = UserRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const users = yield* Users
    return {
      serviceAddress: () => Effect.map(users.serviceAddress, Option.getOrNull),
      inviteUser: ({ account, email, role }) =>
        Effect.flatMap(chooseAccount(account), (id) => users.invite(id, email, { role })),
      listUsers: ({ account }) => Effect.flatMap(chooseAccount(account), users.list),
      setUserRole: ({ account, email, role }) =>
        Effect.flatMap(chooseAccount(account), (id) => users.setRole(id, email, role)),
      disableUser: ({ account, email }) => Effect.flatMap(chooseAccount(account), (id) => users.disable(id, email)),
      enableUser: ({ account, email }) => Effect.flatMap(chooseAccount(account), (id) => users.enable(id, email))
    }
  })
)
