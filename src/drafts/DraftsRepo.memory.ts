import { Array as Arr, Clock, type Context, Effect, Layer, Ref } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { linkedStores, type MemoryEntity } from "../catalog/CatalogState.memory.ts"
import { type MemoryAccount, type MemorySlices, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { Attributes, EntityKind } from "../model/Attribute.ts"
import type { AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { fromMillis, max, plusMicros, type Timestamp } from "../model/Timestamp.ts"
import { skusOf, type VariantSummary } from "./Aggregate.ts"
import type { Plan } from "./CatalogChange.ts"
import { type ChangeNote, emptyNote, noteOf } from "./ChangeNote.ts"
import { newVersion } from "./ChangePlanner.ts"
import { makeForgetDeleted } from "./DeletedEntities.ts"
import { DraftsRepo, type ReadForChange } from "./DraftsRepo.ts"
import { groupAt, type StoredGroup, slicesOf } from "./FeedChanges.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** The changes that are kept, oldest first. The number of the first is `feedFloor` + 1. */
    readonly feed: ReadonlyArray<{ readonly at: Timestamp; readonly id: string; readonly group: StoredGroup }>
    /** The number of deleted changes. */
    readonly feedFloor: number
    /** Names of deleted entities. */
    readonly deletedNames: ReadonlyMap<EntityId, string>
  }
}

export const emptyFeed: Pick<MemorySlices, "deletedNames" | "feed" | "feedFloor"> = {
  deletedNames: new Map(),
  feed: [],
  feedFloor: 0
}

/**
 * Raises the publish times of a plan to `time`, the time of its last change, if they are earlier. So no publish time is before
 * the time at which the same plan created or changed the entity.
 */
const publishedFrom = (plan: Plan, time: Timestamp): Plan => {
  const withTimes = (after: Aggregate, before: Aggregate | undefined): Aggregate => {
    const previous = new Map(before?.versions.map(({ publishedAt, storeId }) => [storeId, publishedAt]))
    const isEarly = ({ publishedAt, storeId }: VersionState) =>
      publishedAt !== null && publishedAt !== previous.get(storeId) && publishedAt < time
    return after.versions.some(isEarly)
      ? {
          ...after,
          versions: after.versions.map((version) => (isEarly(version) ? { ...version, publishedAt: time } : version))
        }
      : after
  }
  return {
    ...plan,
    created: plan.created.map((after) => withTimes(after, undefined)),
    updated: plan.updated.map(({ after, before }) => ({ before, after: withTimes(after, before) }))
  }
}

/** Values in the order of their keys in `jsonb`, so that a history lists several changed fields in the same order as with SQL. */
const asStored = (attributes: Attributes): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).sort(([left], [right]) => left.length - right.length || (left < right ? -1 : 1))
  )

const withStoredValues = (aggregate: Aggregate): Aggregate => ({
  ...aggregate,
  attributes: asStored(aggregate.attributes),
  versions: aggregate.versions.map((version) => ({ ...version, overrides: asStored(version.overrides) }))
})

/** The account without deleted entities and all that belongs to them. */
const withoutEntities = (account: MemoryAccount, plan: Plan): MemoryAccount => {
  const { deleted } = plan
  if (deleted.length === 0) return account
  const { forget, ids } = makeForgetDeleted(plan)
  const forgotten = ids.flatMap((id) => {
    const entity = account.entities.get(id)
    if (entity === undefined) return []
    const versions = entity.aggregate.versions.map((version) =>
      version.accepted !== null && account.unlinkedStores.has(version.storeId)
        ? { ...version, accepted: forget(id, version.accepted) }
        : version
    )
    return [[id, { ...entity, aggregate: { ...entity.aggregate, versions } }] as const]
  })
  const gone = new Set(deleted.map(({ id }) => id))
  const isKept = ({ entityId }: { readonly entityId: EntityId }) => !gone.has(entityId)
  const kept = <Row extends { readonly entityId: EntityId }>(rows: ReadonlyMap<string, Row>) =>
    new Map([...rows].filter(([, row]) => isKept(row)))
  return {
    ...account,
    entities: new Map([...account.entities, ...forgotten].filter(([id]) => !gone.has(id))),
    deletedNames: new Map([...account.deletedNames, ...deleted.map(({ id, name }) => [id, name] as const)]),
    history: account.history.filter(isKept),
    publications: account.publications.filter(isKept),
    mirroredTranslations: new Map(
      [...account.mirroredTranslations].map(([storeId, { fields, translations }]) => [
        storeId,
        { fields: kept(fields), translations: kept(translations) }
      ])
    )
  }
}

/** A new entity. If the plan says so, it is on the unlinked stores of its product too. */
const withUnlinked = (account: MemoryAccount, { toUnlinked }: Plan, created: Aggregate): Aggregate => {
  const product = created.parentId === null ? undefined : account.entities.get(created.parentId)
  if (product === undefined || !toUnlinked.includes(created.id)) return created
  const unlinked = product.aggregate.versions.filter(({ storeId }) => account.unlinkedStores.has(storeId))
  return { ...created, versions: [...created.versions, ...unlinked.map(({ storeId }) => newVersion(storeId))] }
}

/** The in-memory repository. It passes the same contract suite as `layer`. Members are always read, because that costs nothing here. */
export const layerDraftsRepoMemory = Layer.effect(
  DraftsRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const now = Effect.map(Clock.currentTimeMillis, fromMillis)
    const saveAt = (accountId: AccountId, plan: Plan, createdAt: Timestamp) =>
      updateAccount(store, accountId, (account) => {
        const entities = new Map(account.entities)
        for (const aggregate of plan.created)
          entities.set(aggregate.id, {
            aggregate: withStoredValues(withUnlinked(account, plan, aggregate)),
            draftRevision: 0,
            changeSeq: 0,
            canonicalChangedAt: createdAt,
            createdAt
          })
        for (const { after } of plan.updated) {
          const entity = entities.get(after.id)
          if (entity === undefined) continue
          const unlinked = entity.aggregate.versions.filter(({ storeId }) => account.unlinkedStores.has(storeId))
          entities.set(after.id, {
            ...entity,
            aggregate: withStoredValues({ ...after, versions: [...after.versions, ...unlinked] })
          })
        }
        return withoutEntities({ ...account, entities }, plan)
      })
    const raiseAt = (
      accountId: AccountId,
      { drafted, stamped }: Pick<Plan, "drafted" | "stamped">,
      time: Timestamp,
      note: ChangeNote
    ) =>
      updateAccount(store, accountId, (account) => {
        const entities = new Map(account.entities)
        const change = (id: EntityId, how: (entity: MemoryEntity) => MemoryEntity) => {
          const entity = entities.get(id)
          if (entity !== undefined) entities.set(id, how(entity))
        }
        const first = max(plusMicros(account.lastChangedAt, 1), time)
        const lastChangedAt = stamped.length === 0 ? account.lastChangedAt : plusMicros(first, stamped.length - 1)
        for (const id of drafted) change(id, (entity) => ({ ...entity, draftRevision: entity.draftRevision + 1 }))
        stamped.forEach((id, index) => {
          change(id, (entity) => ({
            ...entity,
            draftRevision: entity.draftRevision + 1,
            changeSeq: account.changeSeq + index + 1,
            canonicalChangedAt: plusMicros(first, index)
          }))
        })
        return {
          ...account,
          // The same map without a change: scans of data health compare it.
          entities: drafted.length + stamped.length === 0 ? account.entities : entities,
          version: account.version + 1,
          notedVersion:
            note.changes.length + note.entities.length + note.moved.length > 0
              ? account.version + 1
              : account.notedVersion,
          feed: [
            ...account.feed,
            ...slicesOf(note.changes).flatMap(({ groups, ids }) =>
              ids.map((id, index) => ({ at: time, id, group: groupAt(groups, index) }))
            )
          ],
          changeSeq: account.changeSeq + stamped.length,
          lastChangedAt
        }
      })
    const readForChange: ReadForChange = (accountId, owners, references, extent = "complete") =>
      Effect.gen(function* () {
        const account = (yield* Ref.get(store)).get(accountId)
        const all = [...(account?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
        const ownerIds = new Set(owners)
        const parents = new Set(all.filter(({ id }) => ownerIds.has(id)).map(({ parentId }) => parentId))
        const locked = all.filter(({ id }) => ownerIds.has(id) || parents.has(id))
        const products = new Set<EntityId | null>(locked.filter(({ kind }) => kind === "product").map(({ id }) => id))
        const variants = all.filter(({ parentId }) => parentId !== null && products.has(parentId))
        const storeIds = linkedStores(account).map(({ id }) => id)
        const isSummarized = ({ id }: Aggregate) => extent === "summarized" && !ownerIds.has(id)
        const [complete, summarized] = Arr.partition(variants, isSummarized)
        return {
          now: yield* now,
          storeIds,
          kinds: new Map(
            references.flatMap((id): ReadonlyArray<[EntityId, EntityKind]> => {
              const kind = account?.entities.get(id)?.aggregate.kind
              return kind === undefined ? [] : [[id, kind]]
            })
          ),
          revisions: new Map([...(account?.entities ?? [])].map(([id, { draftRevision }]) => [id, draftRevision])),
          // The history in memory is in the order of its entries, without numbers.
          sequences: new Map(),
          aggregates: new Map([...locked, ...complete].map((each) => [each.id, onStores(storeIds, each)])),
          summaries: new Map(summarized.map((each) => [each.id, summaryOf(onStores(storeIds, each))])),
          unreadMembers: new Map()
        }
      })
    const memory: Context.Tag.Service<DraftsRepo> = {
      lock: readForChange,
      read: readForChange,
      prepareStamped: (accountId, plan) =>
        Effect.succeed(
          Effect.gen(function* () {
            const time = yield* now
            const lastChangedAt = (yield* Ref.get(store)).get(accountId)?.lastChangedAt ?? time
            const first = max(plusMicros(lastChangedAt, 1), time)
            const count = plan.stamped.length
            yield* saveAt(
              accountId,
              publishedFrom(plan, count === 0 ? lastChangedAt : plusMicros(first, count - 1)),
              first
            )
            yield* raiseAt(accountId, plan, time, noteOf(plan))
          })
        ),
      save: (accountId, plan) => Effect.flatMap(now, (time) => saveAt(accountId, plan, time)),
      raise: (accountId, plan, note = plan === undefined ? emptyNote : noteOf(plan)) =>
        Effect.flatMap(now, (time) => raiseAt(accountId, plan ?? { drafted: [], stamped: [] }, time, note))
    }
    return memory
  })
)

/** An entity with its versions on these stores, in their order. Versions on unlinked stores are stored but not returned. */
const onStores = (stores: ReadonlyArray<StoreId>, aggregate: Aggregate): Aggregate => {
  const versions = stores.flatMap((id) => aggregate.versions.find(({ storeId }) => storeId === id) ?? [])
  return { ...aggregate, versions, storeIds: versions.map(({ storeId }) => storeId) }
}

const summaryOf = (variant: Aggregate): VariantSummary => {
  const { id, parentId, position, storeIds } = variant
  return { id, parentId, position, storeIds, skus: skusOf(variant) }
}
