import { hash, randomBytes } from "node:crypto"
import { Clock, Context, Effect, FiberSet, Layer, Option, Redacted, Schema } from "effect"
import type { ApiKey, Credential } from "../domain/ApiKey.ts"
import { fromRandomBytes, isWellFormed, lastFour, Scope } from "../domain/ApiKeyToken.ts"
import { NotFound, ValidationFailed } from "../domain/Errors.ts"
import { type AccountId, ApiKeyId } from "../domain/Ids.ts"
import { misnomerOf } from "../domain/Name.ts"
import { fromMillis, type Timestamp } from "../domain/Timestamp.ts"
import { AccessRepo } from "../repos/AccessRepo.ts"
import { makeCoalesced } from "./Coalesced.ts"
import { mintId } from "./Identifiers.ts"

export interface NewKey {
  readonly name: string
  /** As asked for; only `pim:read` and `pim:write` can be granted. */
  readonly scopes: ReadonlyArray<string>
  readonly expiresAt: Timestamp | null
}

export interface CreatedKey {
  readonly id: ApiKeyId
  /** Shown to the account holder once; only its hash is kept. */
  readonly token: Redacted.Redacted
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  readonly lastFour: string
}

/** Keys that open an account over REST. */
export class ApiKeys extends Context.Tag("catalog/ApiKeys")<
  ApiKeys,
  {
    /** ValidationFailed: a name that is blank, too long or no line of text, no scope, a scope that cannot be granted, an expiry in the past. */
    readonly create: (accountId: AccountId, key: NewKey) => Effect.Effect<CreatedKey, ValidationFailed>
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** NotFound: the account has no such key. Revoking twice is fine. */
    readonly revoke: (accountId: AccountId, id: ApiKeyId) => Effect.Effect<void, NotFound>
    /** The bearer of a token; none when it is malformed, unknown, expired or revoked. Never a slow hash on this path. */
    readonly authenticate: (token: string) => Effect.Effect<Option.Option<Credential>>
  }
>() {
  static readonly layer = Layer.scoped(
    ApiKeys,
    Effect.gen(function* () {
      const access = yield* AccessRepo
      const findCredential = yield* makeCoalesced(access.findCredentials)
      const inBackground = yield* FiberSet.makeRuntime<never>()
      // One write a key and minute from this process, however many requests come before the first one is through.
      const recording = new Set<ApiKeyId>()

      const recordUse = ({ accountId, keyId, useUnrecorded }: Credential) => {
        if (!useUnrecorded || recording.has(keyId)) return
        recording.add(keyId)
        inBackground(
          access.recordUse(accountId, keyId).pipe(
            Effect.catchAllCause((cause) =>
              Effect.logWarning("The last use of an API key could not be recorded", cause)
            ),
            Effect.ensuring(Effect.sync(() => recording.delete(keyId)))
          )
        )
      }

      return {
        create: Effect.fn("ApiKeys.create")(function* (accountId, key) {
          const name = key.name.trim()
          const scopes = yield* grantable(key.scopes)
          const misnomer = misnomerOf(name)
          if (misnomer !== undefined) return yield* ValidationFailed.at("name", misnomer)
          if (key.expiresAt !== null && key.expiresAt <= fromMillis(yield* Clock.currentTimeMillis))
            return yield* ValidationFailed.at("expires", "lies in the past")
          const token = yield* Effect.sync(() => fromRandomBytes((count) => randomBytes(count)))
          const id = yield* mintId(ApiKeyId)
          const created = { id, name, scopes, lastFour: lastFour(token) }
          yield* access.createKey(accountId, { ...created, hash: hashOf(token), expiresAt: key.expiresAt })
          return { ...created, token: Redacted.make(token) }
        }),
        list: access.listKeys,
        revoke: Effect.fn("ApiKeys.revoke")(function* (accountId, id) {
          if (!(yield* access.revokeKey(accountId, id))) return yield* new NotFound()
        }),
        authenticate: (token) =>
          isWellFormed(token)
            ? Effect.map(findCredential(hashOf(token)), (credential) => {
                if (Option.isSome(credential)) recordUse(credential.value)
                return credential
              })
            : Effect.succeedNone
      }
    })
  )
}

const hashOf = (token: string) => hash("sha256", token, "hex")

const isGrantable = Schema.is(Scope)

const grantable = (asked: ReadonlyArray<string>) => {
  const scopes = [...new Set(asked)]
  const refused = scopes.filter((scope) => !isGrantable(scope))
  if (refused.includes("pim:delete"))
    return ValidationFailed.at("scopes", "pim:delete cannot be granted to any key; choose from pim:read, pim:write")
  return refused.length > 0 || scopes.length === 0
    ? ValidationFailed.at("scopes", "choose from pim:read, pim:write")
    : Effect.succeed(scopes.filter(isGrantable))
}
