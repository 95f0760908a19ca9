import { hash, randomBytes } from "node:crypto"
import { Cache, Clock, Context, Data, Duration, Effect, Exit, FiberSet, Layer, Option, Redacted, Schema } from "effect"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, ApiKeyId } from "../model/Ids.ts"
import { misnomerOf } from "../model/Name.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { AccessRepo } from "./AccessRepo.ts"
import type { ApiKey, Credential } from "./ApiKey.ts"
import { fromRandomBytes, isWellFormed, lastFour, Scope } from "./ApiKeyToken.ts"
import { makeCoalesced } from "./Coalesced.ts"

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

/** A creation was repeated: its key is there, and its token was shown when it was made. */
export class AlreadyCreated extends Data.TaggedError("AlreadyCreated") {}

/** How long a repeated creation is answered with the token too, and of how many creations that is remembered. */
const repeats = { within: Duration.seconds(30), most: 1_000 } as const

/** Keys that open an account over REST. */
export class ApiKeys extends Context.Tag("catalog/ApiKeys")<
  ApiKeys,
  {
    /** ValidationFailed: a name that is blank, too long or no line of text, no scope, a scope that cannot be granted, an expiry in the past. */
    readonly create: (accountId: AccountId, key: NewKey) => Effect.Effect<CreatedKey, ValidationFailed>
    /**
     * Creates one key, however often it is asked for under this id. Whoever repeats it at once, as a double click does, gets
     * the answer of the first, which their browser threw away. AlreadyCreated: it was made earlier, or by another process.
     */
    readonly createOnce: (
      accountId: AccountId,
      id: ApiKeyId,
      key: NewKey
    ) => Effect.Effect<CreatedKey, ValidationFailed | AlreadyCreated>
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** NotFound: the account has no such key. Revoking twice is fine. */
    readonly revoke: (accountId: AccountId, id: ApiKeyId) => Effect.Effect<void, NotFound>
    /** The bearer of a token; none when it is malformed, unknown, expired or revoked. Never a slow hash on this path. */
    readonly authenticate: (token: string) => Effect.Effect<Option.Option<Credential>>
    /** Looks up a key that does not exist, on the same path as `authenticate`: dies where that would. */
    readonly probe: Effect.Effect<void>
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

      const create = (accountId: AccountId, id: ApiKeyId, key: NewKey) =>
        Effect.gen(function* () {
          const name = key.name.trim()
          const scopes = yield* grantable(key.scopes)
          const misnomer = misnomerOf(name)
          if (misnomer !== undefined) return yield* ValidationFailed.at("name", misnomer)
          if (key.expiresAt !== null && key.expiresAt <= fromMillis(yield* Clock.currentTimeMillis))
            return yield* ValidationFailed.at("expires", "lies in the past")
          const token = yield* Effect.sync(() => fromRandomBytes((count) => randomBytes(count)))
          const created = { id, name, scopes, lastFour: lastFour(token) }
          const isNew = yield* access.createKey(accountId, {
            ...created,
            hash: hashOf(token),
            expiresAt: key.expiresAt
          })
          return isNew ? { ...created, token: Redacted.make(token) } : yield* new AlreadyCreated()
        })

      const creations = yield* Cache.makeWith({
        capacity: repeats.most,
        lookup: ({ accountId, id, ...key }: Creation) => create(accountId, id, key),
        timeToLive: (exit) => (Exit.isSuccess(exit) ? repeats.within : Duration.zero)
      })

      return {
        create: Effect.fn("ApiKeys.create")(function* (accountId, key) {
          const id = yield* mintId(ApiKeyId)
          // Nobody has an id that was minted just now.
          return yield* Effect.catchTag(create(accountId, id, key), "AlreadyCreated", Effect.die)
        }),
        createOnce: (accountId, id, { expiresAt, name, scopes }) =>
          // Who clicks twice gives up the first request: it must not take the answer of the second with it.
          Effect.uninterruptible(
            creations.get(Data.struct({ accountId, id, name, scopes: Data.array(scopes), expiresAt }))
          ),
        list: access.listKeys,
        revoke: Effect.fn("ApiKeys.revoke")(function* (accountId, id) {
          if (!(yield* access.revokeKey(accountId, id))) return yield* new NotFound()
        }),
        probe: Effect.asVoid(findCredential(hashOf(""))),
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

/** What is asked for under which id: the same twice is one creation. */
type Creation = NewKey & { readonly accountId: AccountId; readonly id: ApiKeyId }

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
