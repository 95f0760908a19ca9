import { Effect, Option } from "effect"
import { AccountDeletion } from "../access/AccountDeletion.ts"
import { Accounts } from "../access/Accounts.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { makeRotateSecondFactors } from "../access/SecondFactors.ts"
import { Users } from "../access/Users.ts"
import { Transaction } from "../database/Transaction.ts"
import { makeDemoWithUser } from "../demo/DemoUser.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import type { AccountId } from "../model/Ids.ts"
import { SecretBox } from "../stores/SecretBox.ts"
import { Stores } from "../stores/Stores.ts"
import { Webhooks } from "../webhooks/Webhooks.ts"
import { AccessRpcs } from "./AccessRpcs.ts"
import { makeFindKey } from "./FindByName.ts"
import { Refusal } from "./Refusal.ts"

export const AccessHandlers = AccessRpcs.toLayer(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const box = yield* SecretBox
    const deletion = yield* AccountDeletion
    const demoWithUser = yield* makeDemoWithUser
    const findKey = yield* makeFindKey
    const keys = yield* ApiKeys
    const transaction = yield* Transaction
    const users = yield* Users
    const secretOwners = {
      store: yield* Stores,
      webhook: yield* Webhooks,
      user: { rotateSecrets: yield* makeRotateSecondFactors }
    }

    return {
      createAccount: ({ email, name }) =>
        Effect.gen(function* () {
          const account = yield* accounts.create(name)
          return email === undefined ? account : { ...account, invitation: yield* users.invite(account.id, email) }
          // If `invite` refuses the e-mail, the transaction rolls the account back.
        }).pipe(transaction.run),
      deleteAccount: ({ name }) => deletion.begin(name),
      listAccounts: () => accounts.list,
      createDemo: () => demoWithUser,

      createKey: ({ expiresAt, name, scopes }) =>
        withAccountId((accountId) => keys.create(accountId, { expiresAt, name, scopes })),
      listKeys: () => withAccountId(keys.list),
      revokeKey: Effect.fnUntraced(function* ({ key }) {
        const { accountId } = yield* CurrentActor
        const id = yield* findKey(accountId, key)
        yield* keys.revoke(accountId, id)
        return { id }
      }),

      serviceAddress: () => Effect.map(users.serviceAddress, Option.getOrNull),
      inviteUser: ({ email, role }) => withAccountId((accountId) => users.invite(accountId, email, { role })),
      listUsers: () => withAccountId(users.list),
      setUserRole: ({ email, role }) => withAccountId((accountId) => users.setRole(accountId, email, role)),
      disableUser: ({ email }) => withAccountId((accountId) => users.disable(accountId, email)),
      // The command line is the operator, who can enable every user.
      enableUser: ({ email }) =>
        withAccountId((accountId) => Effect.catchTag(users.enable(accountId, email), "ValidationFailed", Effect.die)),
      resetSecondFactor: ({ email }) => withAccountId((accountId) => users.resetSecondFactor(accountId, email)),
      freeAddress: Effect.fnUntraced(function* (payload) {
        const holder = yield* users.findHolder(payload.email)
        const { accountId, email } = holder
        const account = { id: accountId, name: Option.getOrElse(yield* accounts.nameOf(accountId), () => "") }
        yield* Effect.catchTag(
          users.freeAddress(holder),
          "ValidationFailed",
          () =>
            new Refusal({
              message: `${email} is the last administrator of the account ${account.name} (${account.id}). First make somebody else administrator: \`catalog user invite --email E --role admin --account ${account.id}\`; they must set a password. Or delete the account: \`catalog account delete ${account.id}\`.`
            })
        )
        return { account, email }
      }),
      requiresSecondFactor: () => withAccountId(users.requiresSecondFactor),
      // Without a key nobody could set up a second factor, so nobody could sign in.
      requireSecondFactor: ({ isRequired }) =>
        withAccountId((accountId) =>
          Effect.zipRight(isRequired ? box.ready : Effect.void, users.requireSecondFactor(accountId, isRequired))
        ),
      showTeamLog: ({ limit }) => withAccountId((accountId) => users.log(accountId, limit)),

      rotateSecrets: Effect.fnUntraced(function* ({ keyDigest }) {
        if (keyDigest !== null && !(yield* box.hasDigest(keyDigest)))
          return yield* new Refusal({
            message: `SECRET_KEY: is not the key of the process ${process.pid}, which holds the database and encrypts secrets with its own key: restart that process with this SECRET_KEY, and with the key before it as SECRET_KEY_PREVIOUS, then repeat`
          })
        const unreadable: Array<{
          readonly accountId: AccountId
          readonly kind: keyof typeof secretOwners
          readonly name: string
        }> = []
        let [rotated, current] = [0, 0]
        for (const { id: accountId } of yield* accounts.list)
          for (const kind of ["store", "webhook", "user"] as const) {
            const done = yield* secretOwners[kind].rotateSecrets(accountId)
            rotated += done.rotated
            current += done.current
            unreadable.push(...done.unreadable.map((name) => ({ accountId, kind, name })))
          }
        return { rotated, current, unreadable }
      })
    }
  })
)
