import { Effect, Option } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { CurrentActor } from "../model/Actor.ts"
import { errorCode } from "../model/ErrorCode.ts"
import type { AccountId } from "../model/Ids.ts"
import { Refusal } from "./AdminRpcs.ts"

/** Finds the account of a command: the one with the typed id, or the only account. */
export const makeChooseAccount = Effect.map(
  Accounts,
  (accounts) =>
    (named: Option.Option<string>): Effect.Effect<AccountId, Refusal> =>
      Effect.gen(function* () {
        const all = yield* accounts.list
        const list = all.map(({ id, name }) => `${id} (${name})`).join(", ")
        if (Option.isSome(named)) {
          const found = all.find(({ id }) => id === named.value.toLowerCase())
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

/** Runs the work of a command for its account. The actor is the command line's. */
export const makeForAccount = Effect.map(
  makeChooseAccount,
  (chooseAccount) =>
    (named: Option.Option<string>) =>
    <A, E>(work: Effect.Effect<A, E, CurrentActor>): Effect.Effect<A, E | Refusal> =>
      Effect.flatMap(chooseAccount(named), (accountId) =>
        Effect.provideService(work, CurrentActor, { _tag: "Cli", accountId })
      )
)
