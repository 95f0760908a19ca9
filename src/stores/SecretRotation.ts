import { Effect, Option } from "effect"
import type { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { SecretBox } from "./SecretBox.ts"
import { StoresRepo } from "./StoresRepo.ts"

/** The result of encrypting the saved tokens of an account again. */
export interface Rotation {
  /** Number of tokens that were encrypted again, with the current key. */
  readonly rotated: number
  /** Number of tokens that were already encrypted with the current key. */
  readonly current: number
  /** Domains of stores whose token neither key decrypts. */
  readonly unreadable: ReadonlyArray<string>
}

/**
 * Encrypts all saved tokens of an account with the current key. It can be repeated and interrupted: each token is
 * replaced separately, and only if it has not changed meanwhile. ValidationFailed: SECRET_KEY is not set.
 */
export const makeRotateSecrets = Effect.gen(function* () {
  const repo = yield* StoresRepo
  const secrets = yield* SecretBox

  return (accountId: AccountId): Effect.Effect<Rotation, ValidationFailed> =>
    Effect.gen(function* () {
      yield* secrets.mustBeSetting
      const unreadable: Array<string> = []
      let [rotated, current] = [0, 0]
      for (const { domain, id: storeId } of yield* repo.list(accountId)) {
        const sealed = yield* repo.credential(accountId, storeId)
        if (Option.isNone(sealed)) continue
        const owner = { accountId, storeId }
        if (yield* secrets.isCurrent(sealed.value, owner)) {
          current++
          continue
        }
        const token = yield* Effect.option(secrets.open(sealed.value, owner))
        if (Option.isNone(token)) unreadable.push(domain)
        else {
          const again = yield* secrets.seal(token.value, owner)
          // The row has changed: another process linked the store again and encrypted the new token with its own key.
          if (yield* repo.replaceCredential(accountId, storeId, sealed.value, again)) rotated++
          else current++
        }
      }
      return { rotated, current, unreadable }
    })
})
