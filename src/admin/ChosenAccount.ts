import { Effect, Layer, Option } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { AccountId } from "../model/Ids.ts"
import { type AccountPayload, ForAccount, ForAnyAccount } from "./AccountRpc.ts"
import { Refusal } from "./Refusal.ts"

/**
 * Chooses the account of a command: the named one or, without a name, the only one. `includesDeleted`: accounts that
 * are being deleted can be chosen too.
 */
const makeChoose = (includesDeleted: boolean) =>
  Effect.map(
    Accounts,
    (accounts) =>
      (named: Option.Option<string>): Effect.Effect<AccountId, Refusal> =>
        Effect.gen(function* () {
          const all = (yield* accounts.list).filter(
            ({ deletingSince, id }) =>
              deletingSince === null || includesDeleted || (Option.isSome(named) && id === named.value.toLowerCase())
          )
          const list = all.map(({ id, name }) => `${id} (${name})`).join(", ")
          if (Option.isSome(named)) {
            const found = all.find(({ id }) => id === named.value.toLowerCase())
            if (found !== undefined && found.deletingSince !== null && !includesDeleted)
              return yield* new Refusal({
                code: errorCode.NotFound,
                message: `The account ${found.id} is being deleted: see \`catalog jobs list --account ${found.id}\`.`
              })
            if (found !== undefined) return found.id
            return yield* new Refusal({
              code: errorCode.NotFound,
              message: `There is no account ${named.value}. Accounts: ${list || "none"}.`
            })
          }
          const [only, ...others] = all
          if (only === undefined)
            return yield* new Refusal({ message: "There is no account yet: create one with `catalog account create`." })
          if (others.length > 0)
            return yield* new Refusal({
              message: `There are several accounts: name one with --account. Accounts: ${list}.`
            })
          return only.id
        })
  )

/** Makes the command line the actor. `accountRpc` and `anyAccountRpc` have put the account into the payload. */
const makeActor = (includesDeleted: boolean) =>
  Effect.map(
    makeChoose(includesDeleted),
    (choose) =>
      ({ payload }: { readonly payload: unknown }) =>
        Effect.map(choose((payload as AccountPayload).account), (accountId) => ({ _tag: "Cli" as const, accountId }))
  )

/** Runs each command as the account that it names. */
export const layerChosenAccounts = Layer.mergeAll(
  Layer.effect(ForAccount, makeActor(false)),
  Layer.effect(ForAnyAccount, makeActor(true))
)
