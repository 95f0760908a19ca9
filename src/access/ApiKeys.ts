import { randomBytes } from "node:crypto"
import { Clock, Context, Data, Duration, Effect, FiberSet, Layer, Option, Redacted, Schema } from "effect"
import type { HistoryActor } from "../drafts/History.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, ApiKeyId } from "../model/Ids.ts"
import { nameMisfit } from "../model/Name.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { makeTimedCache } from "../runtime/TimedCache.ts"
import { AccessRepo } from "./AccessRepo.ts"
import type { Credential } from "./ApiKey.ts"
import { fromRandomBytes, isWellFormed, lastFour, Scope } from "./ApiKeyToken.ts"
import { makeCredentialLookUp } from "./CredentialLookUp.ts"
import { hashOf } from "./Secrets.ts"
import { authorIn } from "./TeamLog.ts"

export interface NewKey {
  readonly name: string
  /** The requested scopes. Only `pim:read` and `pim:write` can be granted. */
  readonly scopes: ReadonlyArray<string>
  readonly expiresAt: Timestamp | null
}

/** A key with this id exists already. Its token was shown when it was created. */
class AlreadyCreated extends Data.TaggedError("AlreadyCreated") {}

/** For how long a repeated creation returns the same token, and the maximum number of creations kept for that. */
const repeatWindow = Duration.seconds(30)
const maxRemembered = 1_000

const make = Effect.gen(function* () {
  const access = yield* AccessRepo
  const history = yield* HistoryRepo
  const { find: findCredential, versionOf } = yield* makeCredentialLookUp(access)
  const inBackground = yield* FiberSet.makeRuntime<never>()
  // Keys whose use is being recorded: concurrent requests record it once.
  const recording = new Set<ApiKeyId>()

  const recordUse = ({ accountId, keyId, useUnrecorded }: Credential) => {
    if (!useUnrecorded || recording.has(keyId)) return
    recording.add(keyId)
    inBackground(
      access.recordUse(accountId, keyId).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("The last use of an API key could not be recorded", cause)),
        Effect.ensuring(Effect.sync(() => recording.delete(keyId)))
      )
    )
  }

  const authorOf = (accountId: AccountId) => Effect.flatMap(authorIn(accountId), history.nameOf)

  const create = (accountId: AccountId, id: ApiKeyId, key: NewKey, createdBy: HistoryActor) =>
    Effect.gen(function* () {
      const name = key.name.trim()
      const scopes = yield* parseScopes(key.scopes)
      const misfit = nameMisfit(name)
      if (misfit !== undefined) return yield* ValidationFailed.at("name", misfit)
      if (key.expiresAt !== null && key.expiresAt <= fromMillis(yield* Clock.currentTimeMillis))
        return yield* ValidationFailed.at("expires", "must not be in the past")
      const token = yield* Effect.sync(() => fromRandomBytes((count) => randomBytes(count)))
      const created = { id, name, scopes, lastFour: lastFour(token) }
      const isNew = yield* access.createKey(accountId, {
        ...created,
        hash: hashOf(token),
        expiresAt: key.expiresAt,
        createdBy
      })
      return isNew ? { ...created, token: Redacted.make(token) } : yield* new AlreadyCreated()
    })

  const createRemembered = yield* makeTimedCache({
    capacity: maxRemembered,
    lookup: ({ accountId, createdBy, id, ...key }: Creation) => create(accountId, id, key, createdBy),
    keptFor: () => repeatWindow
  })

  return {
    /** ValidationFailed: the name is blank, too long or multi-line; no scope, or one that cannot be granted; expiry in the past. */
    create: Effect.fn("ApiKeys.create")(function* (accountId: AccountId, key: NewKey) {
      const id = yield* mintId(ApiKeyId)
      const created = create(accountId, id, key, yield* authorOf(accountId))
      // The id is new and random, so no key has it.
      return yield* Effect.catchTag(created, "AlreadyCreated", Effect.die)
    }),
    /**
     * Creates one key per id. A repeat within 30 s, such as a double click, gets the first answer again. AlreadyCreated: the key
     * was created earlier, or by another process.
     */
    createOnce: (accountId: AccountId, id: ApiKeyId, { expiresAt, name, scopes }: NewKey) =>
      // Uninterruptible: a double click aborts the first request, but the second one needs its answer.
      Effect.uninterruptible(
        Effect.flatMap(authorOf(accountId), (createdBy) =>
          createRemembered(
            Data.struct({
              ...{ accountId, expiresAt, id, name },
              scopes: Data.array(scopes),
              createdBy: Data.struct(createdBy)
            })
          )
        )
      ),
    list: access.listKeys,
    /** Revokes a key. A revoked key can be revoked again. NotFound: the account has no such key. */
    revoke: Effect.fn("ApiKeys.revoke")(function* (accountId: AccountId, id: ApiKeyId) {
      if (!(yield* access.revokeKey(accountId, id, yield* authorOf(accountId)))) return yield* new NotFound()
    }),
    /** Looks up a key that does not exist, to test the look-up of `authenticate`. It dies if `authenticate` would die. */
    probe: Effect.asVoid(findCredential(hashOf(""))),
    /** The credential of a token. None: the token is malformed, unknown, expired or revoked. */
    authenticate: (token: string) =>
      isWellFormed(token)
        ? Effect.map(findCredential(hashOf(token)), (credential) => {
            if (Option.isSome(credential)) recordUse(credential.value)
            return credential
          })
        : Effect.succeedNone,
    versionOf
  }
})

/** API keys, the credentials of REST. */
export class ApiKeys extends Context.Tag("catalog/ApiKeys")<ApiKeys, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.scoped(ApiKeys, make)
}

/** The cache key of a creation. Equal creations share one result. */
type Creation = NewKey & {
  readonly accountId: AccountId
  readonly id: ApiKeyId
  readonly createdBy: HistoryActor
}

const isGrantable = Schema.is(Scope)

const parseScopes = (requested: ReadonlyArray<string>) => {
  const scopes = [...new Set(requested)]
  const refused = scopes.filter((scope) => !isGrantable(scope))
  if (refused.includes("pim:delete"))
    return ValidationFailed.at("scopes", "pim:delete cannot be granted to any key; choose from pim:read, pim:write")
  return refused.length > 0 || scopes.length === 0
    ? ValidationFailed.at("scopes", "choose from pim:read, pim:write")
    : Effect.succeed(scopes.filter(isGrantable))
}
