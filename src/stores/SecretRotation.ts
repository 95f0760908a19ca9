import { Effect, Option } from "effect"
import type { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { SecretBox, type SecretOwner } from "./SecretBox.ts"
import { StoresRepo } from "./StoresRepo.ts"

/** The result of encrypting saved secrets again. */
export interface Rotation {
  /** Number of secrets that were encrypted again, with the current key. */
  readonly rotated: number
  /** Number of secrets that were already encrypted with the current key. */
  readonly current: number
  /** Names of those that neither key decrypts: domains of stores, ids of webhooks, e-mails of users. */
  readonly unreadable: ReadonlyArray<string>
}

/** A saved secret. `name`: its name in a list of unreadable ones. */
export interface SavedSecret {
  readonly name: string
  readonly owner: SecretOwner
  readonly sealed: Uint8Array
  /** Saves the secret as it was encrypted again. False: it was replaced meanwhile, and nothing was saved. */
  readonly replace: (again: Uint8Array) => Effect.Effect<boolean>
}

/**
 * Encrypts secrets with the current key. It can be repeated and interrupted: each secret is replaced separately, and only if it has
 * not changed meanwhile. ValidationFailed: SECRET_KEY is not set.
 */
export const makeEncryptAgain = Effect.map(
  SecretBox,
  (box) =>
    (saved: ReadonlyArray<SavedSecret>): Effect.Effect<Rotation, ValidationFailed> =>
      Effect.gen(function* () {
        yield* box.mustBeSetting
        const unreadable: Array<string> = []
        let [rotated, current] = [0, 0]
        for (const { name, owner, replace, sealed } of saved) {
          if (yield* box.isCurrent(sealed, owner)) {
            current++
            continue
          }
          const secret = yield* Effect.option(box.open(sealed, owner))
          if (Option.isNone(secret)) unreadable.push(name)
          // A row that has changed has a new secret, which another process encrypted with its own key.
          else if (yield* replace(yield* box.seal(secret.value, owner))) rotated++
          else current++
        }
        return { rotated, current, unreadable }
      })
)

/** Encrypts all saved tokens of an account with the current key, as `makeEncryptAgain` does. */
export const makeRotateSecrets = Effect.gen(function* () {
  const repo = yield* StoresRepo
  const encryptAgain = yield* makeEncryptAgain

  return (accountId: AccountId): Effect.Effect<Rotation, ValidationFailed> =>
    Effect.gen(function* () {
      const saved: Array<SavedSecret> = []
      for (const { domain, id: storeId } of yield* repo.list(accountId)) {
        const sealed = yield* repo.credential(accountId, storeId)
        if (Option.isSome(sealed))
          saved.push({
            name: domain,
            owner: { accountId, storeId },
            sealed: sealed.value,
            replace: (again) => repo.replaceCredential(accountId, storeId, sealed.value, again)
          })
      }
      return yield* encryptAgain(saved)
    })
})
