import { Effect } from "effect"
import type { ValidationFailed } from "../model/Errors.ts"
import type { AccountId } from "../model/Ids.ts"
import { makeEncryptAgain, type Rotation } from "../stores/SecretRotation.ts"
import { SecondFactorsRepo } from "./SecondFactorsRepo.ts"

/** Encrypts the secrets of all second factors of an account with the current key, as `makeEncryptAgain` does. */
export const makeRotateSecondFactors = Effect.gen(function* () {
  const repo = yield* SecondFactorsRepo
  const encryptAgain = yield* makeEncryptAgain

  return (accountId: AccountId): Effect.Effect<Rotation, ValidationFailed> =>
    Effect.flatMap(repo.list(accountId), (all) =>
      encryptAgain(
        all.map(({ email, id, secret }) => ({
          name: email,
          owner: { accountId, userId: id },
          sealed: secret,
          replace: (again) => repo.replaceSecret({ accountId, id }, secret, again)
        }))
      )
    )
})
