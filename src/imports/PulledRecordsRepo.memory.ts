import { type Context, Effect, Layer, Ref } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import {
  type MemoryAccount,
  type MemorySlices,
  type MemoryState,
  MemoryStore,
  updateAccount
} from "../database/MemoryStore.memory.ts"
import { valueOf } from "../model/Attribute.ts"
import type { AccountId, EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { addressOf } from "../model/SameValue.ts"
import type { FoundEntity, MatchedBy, PulledRecord, RecordRange } from "./PulledRecord.ts"
import { PulledRecordsRepo } from "./PulledRecordsRepo.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** The staged records of imports, in the order in which they were read. */
    readonly pulledRecords: ReadonlyMap<ImportId, ReadonlyArray<PulledRecord>>
  }
}

export const emptyPulledRecords: Pick<MemorySlices, "pulledRecords"> = { pulledRecords: new Map() }

const isIn = ({ from, through }: RecordRange, { root }: PulledRecord) => root > from && root <= through

const isAt = (left: FoundEntity, right: PulledRecord) => left.root === right.root && left.ordinal === right.ordinal

const byPlace = (left: FoundEntity | PulledRecord, right: FoundEntity | PulledRecord) =>
  left.root - right.root || left.ordinal - right.ordinal

const keyOf = ({ attributes }: Pick<Aggregate, "attributes">, key: string) => attributes[key]?.value

/** The only item of a list; undefined: it has none or several. */
const only = <A>(items: ReadonlyArray<A>): A | undefined => (items.length === 1 ? items[0] : undefined)

/** The entities that a record matches by each rule. */
const makeFindBy = (
  account: MemoryAccount,
  records: ReadonlyArray<PulledRecord>,
  storeId: StoreId
): Readonly<Record<MatchedBy, (record: PulledRecord) => ReadonlyArray<EntityId>>> => {
  const all = [...account.entities.values()].map(({ aggregate }) => aggregate)
  const entityOf = (id: EntityId | null) => (id === null ? undefined : account.entities.get(id)?.aggregate)
  const variantsOf = ({ root }: PulledRecord) => records.filter((each) => each.root === root && each.kind === "variant")
  const idOf = (entity: Pick<Aggregate, "id"> | undefined) => (entity === undefined ? [] : [entity.id])
  const productWith = (sku: string) => only(all.filter((each) => each.kind === "variant" && keyOf(each, "sku") === sku))
  return {
    platformId: ({ kind, platformId }) =>
      idOf(
        only(
          all.filter(
            (each) =>
              each.kind === kind &&
              each.versions.some((version) => version.storeId === storeId && version.platformId === platformId)
          )
        )
      ),
    saidId: ({ kind, saidId }) => {
      const entity = entityOf(saidId)
      return entity?.kind === kind ? [entity.id] : []
    },
    variants: (record) => {
      if (record.kind !== "product") return []
      const products = variantsOf(record).flatMap(({ entityId }) => entityOf(entityId)?.parentId ?? [])
      const product = only([...new Set(products)])
      return product === undefined ? [] : [product]
    },
    sku: (record) => {
      if (record.kind !== "product") return []
      const products = variantsOf(record).flatMap((variant) => {
        const sku = keyOf(variant, "sku")
        const isShared = records.some((other) => other.root !== variant.root && keyOf(other, "sku") === sku)
        return sku === undefined || isShared ? [] : (productWith(sku)?.parentId ?? [])
      })
      return [...new Set(products)].sort()
    },
    handle: (record) => {
      const handle = keyOf(record, "handle")
      const isNamed = record.kind === "product" || record.kind === "collection"
      return !isNamed || handle === undefined
        ? []
        : idOf(only(all.filter((each) => each.kind === record.kind && keyOf(each, "handle") === handle)))
    },
    address: (record) => {
      const url = keyOf(record, "url")
      return record.kind !== "media" || url === undefined
        ? []
        : idOf(
            only(
              all.filter(
                (each) => each.kind === "media" && addressOf(valueOf(each.attributes, "url")) === addressOf(url)
              )
            )
          )
    }
  }
}

const makeAccess = (store: Ref.Ref<MemoryState>) => {
  const read = <A>(
    accountId: AccountId,
    id: ImportId,
    use: (records: ReadonlyArray<PulledRecord>, account: MemoryAccount | undefined) => A
  ): Effect.Effect<A> =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      return use(account?.pulledRecords.get(id) ?? [], account)
    })
  const update = (
    accountId: AccountId,
    id: ImportId,
    change: (records: ReadonlyArray<PulledRecord>, account: MemoryAccount) => ReadonlyArray<PulledRecord>
  ) =>
    updateAccount(store, accountId, (account) => ({
      ...account,
      pulledRecords: new Map(account.pulledRecords).set(id, change(account.pulledRecords.get(id) ?? [], account))
    }))

  return { read, update }
}
type Access = ReturnType<typeof makeAccess>
type Repo = Context.Tag.Service<PulledRecordsRepo>

const makeWrites = ({ read, update }: Access): Omit<Repo, keyof ReturnType<typeof makeReads>> => ({
  keep: (accountId, id, records) =>
    update(accountId, id, (kept) => {
      const byPlatformId = new Map(kept.map((record) => [record.platformId, record]))
      for (const record of records)
        if (!byPlatformId.has(record.platformId)) byPlatformId.set(record.platformId, { ...record, entityId: null })
      return [...byPlatformId.values()].sort(byPlace)
    }),
  measure: Effect.void,
  claim: (range, found) =>
    update(range.accountId, range.id, (records) => {
      const claimed = new Map<EntityId, FoundEntity>()
      for (const each of found.toSorted((left, right) => left.ordinal - right.ordinal))
        if (!claimed.has(each.entityId) && records.every(({ entityId }) => entityId !== each.entityId))
          claimed.set(each.entityId, each)
      return records.map((record) => {
        const match = [...claimed.values()].find((each) => isAt(each, record))
        return match === undefined || !isIn(range, record) ? record : { ...record, entityId: match.entityId }
      })
    }),
  disown: (range) =>
    update(range.accountId, range.id, (records, { entities }) =>
      records.map((record) => {
        const product = records.find(({ kind, root }) => root === record.root && kind === "product")
        const entity = record.entityId === null ? undefined : entities.get(record.entityId)?.aggregate
        const isElsewhere =
          record.kind === "variant" &&
          isIn(range, record) &&
          product !== undefined &&
          entity !== undefined &&
          entity.parentId !== product.entityId
        return isElsewhere ? { ...record, entityId: null } : record
      })
    ),
  assign: (accountId, id, assigned) =>
    update(accountId, id, (records) =>
      records.map((record) => {
        const found = assigned.find((each) => isAt(each, record))
        return found === undefined ? record : { ...record, entityId: found.entityId }
      })
    ),
  unmatch: (accountId, id) =>
    read(accountId, id, (records) => records.filter(({ entityId }) => entityId !== null).length).pipe(
      Effect.zipLeft(update(accountId, id, (records) => records.map((record) => ({ ...record, entityId: null }))))
    ),
  // All records at once, so that none are left for a second time.
  forgetSome: (accountId, id) =>
    Effect.as(
      update(accountId, id, () => []),
      0
    )
})

const makeReads = ({ read }: Access): Pick<Repo, "find" | "matching" | "missing" | "page" | "resolve"> => ({
  page: (accountId, id, after, limit) =>
    read(accountId, id, (records) =>
      records
        .filter(
          ({ ordinal, root }) => after === null || root > after.root || (root === after.root && ordinal > after.ordinal)
        )
        .slice(0, limit)
    ),
  matching: (accountId, id, entityIds) =>
    read(accountId, id, (records, account) => {
      const owners = new Set(
        entityIds.flatMap((entityId) => {
          const entity = account?.entities.get(entityId)?.aggregate
          return entity === undefined ? [] : [entity.parentId ?? entity.id]
        })
      )
      const roots = new Set(
        records.flatMap(({ entityId, root }) => (entityId !== null && owners.has(entityId) ? [root] : []))
      )
      return records.filter(({ root }) => roots.has(root))
    }),
  find: (by, range, storeId) =>
    read(range.accountId, range.id, (records, account): ReadonlyArray<FoundEntity> => {
      if (account === undefined) return []
      const find = makeFindBy(account, records, storeId)[by]
      return records
        .filter((record) => isIn(range, record) && record.entityId === null)
        .flatMap((record) => find(record).map((entityId) => ({ root: record.root, ordinal: record.ordinal, entityId })))
    }),
  resolve: (accountId, id, platformIds) =>
    read(
      accountId,
      id,
      (records) =>
        new Map(
          records.flatMap(({ entityId, platformId }) =>
            entityId !== null && platformIds.includes(platformId) ? [[platformId, entityId] as const] : []
          )
        )
    ),
  missing: ({ accountId, begunAt, id, storeId }, after, looked) =>
    read(accountId, id, (records, account) => {
      const matched = new Set(records.map(({ entityId }) => entityId))
      const entityOf = (entityId: EntityId | null) =>
        entityId === null ? undefined : account?.entities.get(entityId)?.aggregate
      const versionOf = (entity: Aggregate | undefined) =>
        entity?.versions.find((version) => version.storeId === storeId)
      /** Whether the store accepted the entity before its reading began, and no record matches it. */
      const isGone = (entity: Aggregate | undefined) => {
        const version = versionOf(entity)
        if (entity === undefined || matched.has(entity.id) || version === undefined) return false
        return version.accepted !== null && (version.publishedAt === null || version.publishedAt < begunAt)
      }
      const walked = [...(account?.entities.values() ?? [])]
        .map(({ aggregate }) => aggregate)
        .filter((entity) => versionOf(entity) !== undefined && entity.id > after)
        .sort((left, right) => (left.id < right.id ? -1 : 1))
        .slice(0, looked)
      const missing = walked.filter(
        (entity) =>
          isGone(entity) ||
          (versionOf(entity)?.accepted === null && !matched.has(entity.id) && isGone(entityOf(entity.parentId)))
      )
      return { last: walked.at(-1)?.id ?? null, missing: missing.map(({ id: entityId }) => entityId) }
    })
})

export const layerPulledRecordsRepoMemory = Layer.effect(
  PulledRecordsRepo,
  Effect.map(MemoryStore, (store) => {
    const access = makeAccess(store)
    return { ...makeWrites(access), ...makeReads(access) }
  })
)
