import { Clock, Effect, Layer, Option, Ref } from "effect"
import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import { MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { AccessRepo } from "./AccessRepo.ts"
import type { ApiKey, Credential } from "./ApiKey.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** API keys, each with the hash of its token in hexadecimal. */
    readonly keys: ReadonlyArray<ApiKey & { readonly hash: string }>
  }
}

export const emptyAccess: Pick<MemorySlices, "keys"> = { keys: [] }

/** The in-memory implementation. It passes the contract suite of the SQL implementation. `empty`: the fields of a new account. */
export const layerAccessRepoMemory = (empty: MemorySlices) =>
  Layer.effect(
    AccessRepo,
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const now = Effect.map(Clock.currentTimeMillis, fromMillis)
      return {
        createAccount: ({ id, name }) =>
          Effect.flatMap(now, (createdAt) =>
            Ref.update(store, (state) =>
              new Map(state).set(id, {
                ...empty,
                id,
                name,
                createdAt,
                version: 0,
                changeSeq: 0,
                notedVersion: 0,
                lastChangedAt: createdAt
              })
            )
          ),
        accounts: Effect.map(Ref.get(store), (state) =>
          [...state.values()]
            .map(({ createdAt, deletingSince, id, name }) => ({ id, name, createdAt, deletingSince }))
            .sort(oldestFirst)
        ),
        accountName: (id) => Effect.map(Ref.get(store), (state) => Option.fromNullable(state.get(id)?.name)),
        createKey: (accountId, key) =>
          Effect.gen(function* () {
            const createdAt = yield* now
            if ((yield* Ref.get(store)).get(accountId)?.keys.some(({ id }) => id === key.id)) return false
            yield* updateAccount(store, accountId, (account) => ({
              ...account,
              keys: [...account.keys, { ...key, createdAt, lastUsedAt: null, revokedAt: null, revokedBy: null }],
              names: new Map(account.names).set(key.id, key.name)
            }))
            return true
          }),
        listKeys: (accountId) =>
          Effect.map(Ref.get(store), (state) =>
            (state.get(accountId)?.keys ?? []).map(({ hash: _, ...key }) => key).sort(oldestFirst)
          ),
        revokeKey: (accountId, id, revokedBy) =>
          Effect.gen(function* () {
            const revokedAt = yield* now
            if (!(yield* Ref.get(store)).get(accountId)?.keys.some((key) => key.id === id)) return false
            yield* updateAccount(store, accountId, (account) => ({
              ...account,
              keys: account.keys.map((key) =>
                key.id === id && key.revokedAt === null ? { ...key, revokedAt, revokedBy } : key
              )
            }))
            return true
          }),
        findVersions: undefined,
        findCredentials: (hashes) =>
          Effect.gen(function* () {
            const time = yield* now
            const found = new Map<string, Credential>()
            for (const account of (yield* Ref.get(store)).values())
              for (const key of account.keys)
                if (
                  hashes.includes(key.hash) &&
                  key.revokedAt === null &&
                  (key.expiresAt === null || key.expiresAt > time)
                )
                  found.set(key.hash, {
                    accountId: account.id,
                    keyId: key.id,
                    scopes: key.scopes,
                    accountVersion: account.version,
                    useUnrecorded: key.lastUsedAt === null || minuteOf(key.lastUsedAt) < minuteOf(time)
                  })
            return found
          }),
        recordUse: (accountId, id) =>
          Effect.flatMap(now, (lastUsedAt) =>
            updateAccount(store, accountId, (account) => ({
              ...account,
              keys: account.keys.map((key) =>
                key.id === id && (key.lastUsedAt === null || minuteOf(key.lastUsedAt) < minuteOf(lastUsedAt))
                  ? { ...key, lastUsedAt }
                  : key
              )
            }))
          )
      }
    })
  )

interface Created {
  readonly createdAt: Timestamp
  readonly id: string
}

/** Compares by time of creation, then by id. */
const oldestFirst = (left: Created, right: Created) => {
  const [earlier, later] = [`${left.createdAt} ${left.id}`, `${right.createdAt} ${right.id}`]
  return earlier < later ? -1 : earlier > later ? 1 : 0
}

const minuteOf = (timestamp: Timestamp) => timestamp.slice(0, "2026-01-01T00:00".length)
