import { Clock, type Context, Effect, Layer, Option, Ref } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import { linkedStores } from "../catalog/CatalogState.memory.ts"
import type { MemoryAccount, MemorySlices } from "../database/MemoryStore.memory.ts"
import { MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { type PublishCounts, type PublishStatus, rollUp } from "../model/PublishState.ts"
import type { Store } from "../model/Store.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { type CredentialTest, StoresRepo } from "./StoresRepo.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Encrypted credentials of linked stores. */
    readonly credentials: ReadonlyMap<StoreId, Uint8Array>
    /** The last test of each store's credentials. */
    readonly credentialTests: ReadonlyMap<StoreId, CredentialTest>
    /** Domains of stores that are reserved for the account. */
    readonly reservedDomains: ReadonlySet<string>
    /** Time zones of linked and unlinked stores. */
    readonly timeZones: ReadonlyMap<StoreId, string>
    /** Sales channels for new records, of linked and unlinked stores with others than the platform's default. */
    readonly newRecordChannels: ReadonlyMap<StoreId, ReadonlyArray<string>>
  }
}

export const emptyStores: Pick<
  MemorySlices,
  "credentials" | "credentialTests" | "newRecordChannels" | "reservedDomains" | "timeZones"
> = {
  newRecordChannels: new Map(),
  credentials: new Map(),
  credentialTests: new Map(),
  reservedDomains: new Set(),
  timeZones: new Map()
}

const isSameChoice = (left: ReadonlyArray<string> | null, right: ReadonlyArray<string> | null) =>
  JSON.stringify(left) === JSON.stringify(right)

const isSameCredential = Option.getEquivalence<Uint8Array>((left, right) => Buffer.from(left).equals(right))

/** The encrypted credentials of linked stores, and their tests. */
const credentialsIn = (
  memory: Context.Tag.Service<MemoryStore>
): Pick<
  Context.Tag.Service<StoresRepo>,
  "credential" | "credentialTests" | "keepCredential" | "recordCredentialTest" | "replaceCredential"
> => ({
  credential: (accountId, id) =>
    Effect.map(Ref.get(memory), (state) => Option.fromNullable(state.get(accountId)?.credentials.get(id))),
  keepCredential: (accountId, id, sealed) =>
    updateAccount(memory, accountId, (account) =>
      account.stores.has(id)
        ? {
            ...account,
            credentials: new Map(account.credentials).set(id, sealed),
            credentialTests: withoutStore(account.credentialTests, id)
          }
        : account
    ),
  credentialTests: (accountId) =>
    Effect.map(Ref.get(memory), (state) => state.get(accountId)?.credentialTests ?? new Map()),
  recordCredentialTest: (accountId, id, tested, refusal, missingPermissions = []) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      updateAccount(memory, accountId, (account) =>
        account.stores.has(id) && isSameCredential(Option.fromNullable(account.credentials.get(id)), tested)
          ? {
              ...account,
              credentialTests: new Map(account.credentialTests).set(id, {
                testedAt: fromMillis(now),
                refusal,
                missingPermissions
              })
            }
          : account
      )
    ),
  replaceCredential: (accountId, id, from, to) =>
    Effect.gen(function* () {
      const sealed = (yield* Ref.get(memory)).get(accountId)?.credentials.get(id)
      if (sealed === undefined || !Buffer.from(sealed).equals(from)) return false
      yield* updateAccount(memory, accountId, (account) => ({
        ...account,
        credentials: new Map(account.credentials).set(id, to)
      }))
      return true
    })
})

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerStoresRepoMemory = Layer.effect(
  StoresRepo,
  Effect.gen(function* () {
    const memory = yield* MemoryStore
    const list = (accountId: AccountId) => Effect.map(Ref.get(memory), (state) => linkedStores(state.get(accountId)))
    return {
      list,
      find: (accountId, id) =>
        Effect.map(Ref.get(memory), (state) => Option.fromNullable(state.get(accountId)?.stores.get(id))),
      findByDomain: (accountId, domain) =>
        Effect.map(Ref.get(memory), (state) => {
          const among = (stores: ReadonlyMap<StoreId, Store> = new Map()) =>
            Option.fromNullable([...stores.values()].find((store) => store.domain === domain))
          const account = state.get(accountId)
          return Option.orElse(
            Option.map(among(account?.stores), (store) => ({ store, isLinked: true })),
            () => Option.map(among(account?.unlinkedStores), (store) => ({ store, isLinked: false }))
          )
        }),
      ...credentialsIn(memory),
      access: (accountId, id) =>
        Effect.map(Ref.get(memory), (state) => {
          const account = state.get(accountId)
          return Option.map(Option.fromNullable(account?.stores.get(id)), (store) => ({
            store,
            sealed: Option.fromNullable(account?.credentials.get(id)),
            newRecordChannels: account?.newRecordChannels.get(id) ?? null
          }))
        }),
      keepNewRecordChannels: (accountId, id, channels, before) =>
        Effect.gen(function* () {
          const account = (yield* Ref.get(memory)).get(accountId)
          const kept = account?.newRecordChannels.get(id) ?? null
          if (account?.stores.has(id) !== true || (before !== undefined && !isSameChoice(kept, before))) return false
          yield* updateAccount(memory, accountId, ({ newRecordChannels, ...rest }) => ({
            ...rest,
            newRecordChannels:
              channels === null ? withoutStore(newRecordChannels, id) : new Map(newRecordChannels).set(id, channels)
          }))
          return true
        }),
      timeZones: (accountId) =>
        Effect.map(Ref.get(memory), (state) => {
          const account = state.get(accountId)
          return new Map([...(account?.timeZones ?? [])].filter(([id]) => account?.stores.has(id)))
        }),
      keepTimeZone: (accountId, id, timeZone) =>
        updateAccount(memory, accountId, (account) =>
          account.stores.has(id) ? { ...account, timeZones: new Map(account.timeZones).set(id, timeZone) } : account
        ),
      reserveShop: (accountId, domain) =>
        Effect.gen(function* () {
          const accounts = [...(yield* Ref.get(memory)).values()]
          if (accounts.some(({ id, reservedDomains }) => id !== accountId && reservedDomains.has(domain))) return false
          yield* updateAccount(memory, accountId, (account) => ({
            ...account,
            reservedDomains: new Set(account.reservedDomains).add(domain)
          }))
          return true
        }),
      link: (accountId, store) =>
        updateAccount(memory, accountId, (account) => ({
          ...account,
          stores: new Map(account.stores).set(store.id, store),
          unlinkedStores: withoutStore(account.unlinkedStores, store.id)
        })),
      unlink: (accountId, id) =>
        updateAccount(memory, accountId, (account) => {
          const store = account.stores.get(id)
          return store === undefined
            ? account
            : {
                ...account,
                stores: withoutStore(account.stores, id),
                credentials: withoutStore(account.credentials, id),
                credentialTests: withoutStore(account.credentialTests, id),
                reservedDomains: new Set([...account.reservedDomains].filter((domain) => domain !== store.domain)),
                unlinkedStores: new Map(account.unlinkedStores).set(id, store)
              }
        }),
      // Returns every entity as stale, so the caller computes all derived fields again.
      refresh: (accountId, id, after, limit) =>
        Effect.gen(function* () {
          const account = (yield* Ref.get(memory)).get(accountId)
          const next = entitiesOn(account, id)
            .filter((aggregate) => after === null || aggregate.id > after)
            .slice(0, limit)
          const linked = linkedStores(account).map((store) => store.id)
          for (const aggregate of next) yield* updateAccount(memory, accountId, rolledUp(aggregate, linked))
          const owners = next.map(({ id, parentId }) => parentId ?? id)
          const moved = next.map((aggregate) => ({
            kind: aggregate.kind,
            from: aggregate.storeIds,
            to: linked.filter((storeId) => aggregate.versions.some((version) => version.storeId === storeId)),
            ids: [aggregate.id]
          }))
          return { entities: next.length, last: next.at(-1)?.id ?? null, stale: [...new Set(owners)].sort(), moved }
        }),
      completeLink: () => Effect.void,
      countVersions: (accountId, id) =>
        Effect.map(Ref.get(memory), (state) => entitiesOn(state.get(accountId), id).length),
      publishCounts: (accountId) => Effect.map(Ref.get(memory), (state) => countsOf(state.get(accountId))),
      recordImport: (accountId, id) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          updateAccount(memory, accountId, (account) => {
            const store = account.stores.get(id)
            return store === undefined
              ? account
              : {
                  ...account,
                  stores: new Map(account.stores).set(id, { ...store, last_imported_at: fromMillis(now) })
                }
          })
        )
    }
  })
)

/** The numbers of store versions by publish state, for each linked store that has versions. */
const countsOf = (account: MemoryAccount | undefined): ReadonlyMap<StoreId, PublishCounts> => {
  const versions = [...(account?.entities.values() ?? [])].flatMap(({ aggregate }) => aggregate.versions)
  const linked = versions.filter(({ storeId }) => account?.stores.has(storeId))
  return new Map(
    [...new Set(linked.map(({ storeId }) => storeId))].map((id) => {
      const storeVersions = linked.filter(({ storeId }) => storeId === id)
      const countWith = (status: PublishStatus) =>
        storeVersions.filter(({ lastPublishStatus }) => lastPublishStatus === status).length
      return [
        id,
        {
          neverPublished: countWith("never_published"),
          pending: countWith("pending"),
          published: countWith("published"),
          failed: countWith("failed"),
          pendingPublish: storeVersions.filter(({ pendingPublish }) => pendingPublish).length
        }
      ]
    })
  )
}

/** Stores the roll-up of an entity's versions on the linked stores. */
const rolledUp =
  ({ id, versions: all }: Aggregate, linked: ReadonlyArray<StoreId>) =>
  (account: MemoryAccount): MemoryAccount => {
    const entity = account.entities.get(id)
    if (entity === undefined) return account
    const versions = linked.flatMap((storeId) => all.find((version) => version.storeId === storeId) ?? [])
    const storeIds = versions.map(({ storeId }) => storeId)
    // A version of a store that was unlinked comes last until the store is linked again.
    const others = all.filter(({ storeId }) => !linked.includes(storeId))
    const aggregate = { ...entity.aggregate, ...rollUp(versions), versions: [...versions, ...others], storeIds }
    return { ...account, entities: new Map(account.entities).set(id, { ...entity, aggregate }) }
  }

/** The entities with a version on a store, by id. */
const entitiesOn = (account: MemoryAccount | undefined, id: StoreId) =>
  [...(account?.entities.values() ?? [])]
    .map(({ aggregate }) => aggregate)
    .filter(({ versions }) => versions.some(({ storeId }) => storeId === id))
    .sort((left, right) => (left.id < right.id ? -1 : 1))

const withoutStore = <A>(all: ReadonlyMap<StoreId, A>, id: StoreId): ReadonlyMap<StoreId, A> => {
  const others = new Map(all)
  others.delete(id)
  return others
}
