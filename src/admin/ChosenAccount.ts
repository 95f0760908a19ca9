import type { Context } from "effect"
import { Effect, Option } from "effect"
import type { AccountId } from "../domain/Ids.ts"
import type { Accounts } from "../services/Accounts.ts"
import { Refusal } from "./AdminRpcs.ts"

/** The account a command is about: the one that is named, or the only one. */
export const chooseAccount = (
  accounts: Context.Tag.Service<Accounts>,
  named: Option.Option<string>
): Effect.Effect<AccountId, Refusal> =>
  Effect.gen(function* () {
    const all = yield* accounts.list
    const list = all.map(({ id, name }) => `${id} (${name})`).join(", ")
    if (Option.isSome(named)) {
      const found = all.find(({ id }) => id === named.value.toLowerCase())
      if (found !== undefined) return found.id
      return yield* new Refusal({ message: `There is no account ${named.value}. Accounts: ${list || "none"}.` })
    }
    const [only, ...others] = all
    if (only === undefined)
      return yield* new Refusal({ message: "There is no account yet: create one with `catalog account create`." })
    if (others.length > 0)
      return yield* new Refusal({ message: `There are several accounts: name one with --account. Accounts: ${list}.` })
    return only.id
  })
