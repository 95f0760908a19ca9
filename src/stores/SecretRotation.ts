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
  readonly replace: (reencrypted: Uint8Array) => Effect.Effect<boolean>
}

/**
 * Encrypts the secrets of a list with the current key. It can be repeated and interrupted: each secret is replaced separately, and only
 * if it has not changed meanwhile. If one has, the list is read again, because the process that replaced it may have an earlier key.
 * ValidationFailed: SECRET_KEY is not set.
 */
export const makeEncryptAgain = Effect.map(
  SecretBox,
  (box) =>
    (list: Effect.Effect<ReadonlyArray<SavedSecret>>): Effect.Effect<Rotation, ValidationFailed> =>
      Effect.gen(function* () {
        yield* box.mustBeSetting
        const unreadable: Array<string> = []
        const done = new Set<string>()
        let [rotated, current] = [0, 0]
        for (let hasLost = true; hasLost; ) {
          hasLost = false
          for (const { name, owner, replace, sealed } of yield* list) {
            if (done.has(textOf(sealed))) continue
            const isCurrent = yield* box.isCurrent(sealed, owner)
            const secret = isCurrent ? Option.none() : yield* Effect.option(box.open(sealed, owner))
            const again = Option.isNone(secret) ? sealed : yield* box.seal(secret.value, owner)
            if (isCurrent) current++
            else if (Option.isNone(secret)) unreadable.push(name)
            else if (yield* replace(again)) rotated++
            else {
              hasLost = true
              continue
            }
            done.add(textOf(again))
          }
        }
        return { rotated, current, unreadable }
      })
)

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

/** Encrypts all saved tokens of an account with the current key, as `makeEncryptAgain` does. */
export const makeRotateSecrets = Effect.gen(function* () {
  const repo = yield* StoresRepo
  const encryptAgain = yield* makeEncryptAgain

  return (accountId: AccountId): Effect.Effect<Rotation, ValidationFailed> =>
    encryptAgain(
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
        return saved
      })
    )
})
