import { Effect, Option } from "effect"
import { Users } from "../access/Users.ts"
import { UserRpcs } from "./AdminRpcs.ts"
import { makeChooseAccount } from "./ChosenAccount.ts"

export const UserHandlers = UserRpcs.toLayer(
  Effect.gen(function* () {
    const chooseAccount = yield* makeChooseAccount
    const users = yield* Users
    return {
      serviceAddress: () => Effect.map(users.serviceAddress, Option.getOrNull),
      inviteUser: ({ account, email }) => Effect.flatMap(chooseAccount(account), (id) => users.invite(id, email)),
      listUsers: ({ account }) => Effect.flatMap(chooseAccount(account), users.list),
      disableUser: ({ account, email }) => Effect.flatMap(chooseAccount(account), (id) => users.disable(id, email))
    }
  })
)
