import { Clock, Effect, Layer, Ref } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import { type MemoryAccount, MemoryStore } from "../database/MemoryStore.memory.ts"
import { beforeEndedDrop, type MemoryHistory } from "../drafts/HistoryRepo.memory.ts"
import { holdOf } from "../drafts/StoreMembership.ts"
import { titleOf } from "../model/Attribute.ts"
import type { AccountId, ConnectionId, EntityId, StoreId } from "../model/Ids.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { UndoRepo } from "./UndoRepo.ts"
import { byField, type UndoWindow, type WrittenField } from "./UndoRules.ts"

interface Sequenced extends MemoryHistory {
  readonly sequence: number
}

const isDraftChange = ({ action }: MemoryHistory) =>
  action !== "publish_asked" && action !== "published" && action !== "publish_failed"

const isBy = (id: ConnectionId, { since, until }: UndoWindow, entry: MemoryHistory) =>
  entry.actor.kind === "connection" && entry.actor.id === id && entry.at >= since && entry.at <= until

const additionsIn = (entries: ReadonlyArray<Sequenced>, id: ConnectionId, window: UndoWindow) =>
  entries.filter((entry) => isBy(id, window, entry) && entry.action === "added_to_store")

const domainOf = (account: MemoryAccount, storeId: StoreId | null) =>
  storeId === null ? null : ((account.stores.get(storeId) ?? account.unlinkedStores.get(storeId))?.domain ?? null)

/** The changes of other entities that decide whether an addition is undone. */
interface Others {
  readonly entries: ReadonlyArray<Sequenced>
  /** Whether an entity came to a store with its product, or with an entity whose gallery has it. */
  readonly cameAlong: (aggregate: Aggregate, addition: Sequenced) => boolean
  /** Whether the connection added a variant of the product to a store in the same write. */
  readonly cameWithVariant: (change: Sequenced) => boolean
  /** Whether the connection added an entity to a store in the window. */
  readonly isAdded: (entityId: EntityId, storeId: StoreId) => boolean
}

/**
 * The changed fields of one entity. `events`: the entity's changes, beginning with the connection's first change in the window.
 */
const fieldsOf = (
  account: MemoryAccount,
  entityId: EntityId,
  id: ConnectionId,
  events: ReadonlyArray<Sequenced>,
  isOwn: (event: Sequenced) => boolean,
  others: Others
): ReadonlyArray<WrittenField> => {
  const aggregate = account.entities.get(entityId)?.aggregate
  if (aggregate === undefined) return []
  const layers = [...new Set(events.map(({ store_id }) => store_id))]
  return layers.flatMap((storeId) => {
    const ofLayer = events.filter(({ store_id }) => store_id === storeId)
    const version = aggregate.versions.find((each) => each.storeId === storeId)
    const isThere = storeId === null || (version !== undefined && account.stores.has(storeId))
    const values = storeId === null ? aggregate.attributes : isThere ? (version?.overrides ?? {}) : {}
    const base = {
      entityId,
      kind: aggregate.kind,
      title: titleOf(aggregate.kind, aggregate.attributes),
      storeId,
      storeDomain: domainOf(account, storeId),
      isThere,
      isKept: false,
      hasEditedParts: false
    }
    const isUndo = (event: Sequenced) => event.undo_of?.id === id
    const keys = new Set(
      ofLayer
        .filter(isOwn)
        .flatMap(({ changes }) => changes.flatMap((change) => (change.old === change.new ? [] : [change.key])))
    )
    const addedIn = new Set(
      events.filter(({ action }) => action === "added_to_store").map(({ draft_revision }) => draft_revision)
    )
    const actions = new Set(
      ofLayer
        .filter((event) => isOwn(event) && event.action !== "attributes")
        .filter((event) => event.action !== "gallery" || !addedIn.has(event.draft_revision))
        .filter((event) => event.action !== "gallery" || !others.cameWithVariant(event))
        .map(({ action }) => action)
    )
    return [
      ...[...keys].map((key): WrittenField => {
        const ofKey = ofLayer.flatMap((event) => {
          const change = event.changes.find((each) => each.key === key && each.old !== each.new)
          return change === undefined ? [] : [{ event, ...change }]
        })
        const edge = ofLayer.findLast(
          (event) =>
            (storeId !== null && (event.action === "added_to_store" || event.action === "removed_from_store")) ||
            (ofKey.some((each) => each.event === event) && !isOwn(event) && !isUndo(event))
        )
        const own = ofKey.filter(({ event }) => isOwn(event) && event.sequence > (edge?.sequence ?? 0))
        const undos = ofKey.filter(({ event }) => isUndo(event))
        const isUndone = ({ sequence }: Sequenced) =>
          undos.some((undo) => {
            const before = own.filter(({ event }) => event.sequence < undo.event.sequence)
            const backTo = before.find(({ old }) => old === undo.new)?.event.sequence ?? 0
            return sequence < undo.event.sequence && sequence >= backTo
          })
        const first = own.find(({ event }) => !isUndone(event))
        const before = first?.event.sequence ?? 0
        const earlier = others.entries.filter(({ sequence }) => sequence < before)
        const beforeDrop = beforeEndedDrop(account, earlier, { entityId, storeId, key })
        const lastUndo = undos.at(-1)?.event
        const later = (lastUndo?.sequence ?? 0) > (edge?.sequence ?? 0) ? lastUndo : edge
        return {
          ...base,
          action: "attributes",
          key,
          now: values[key]?.value ?? null,
          before: beforeDrop === undefined ? (first?.old ?? null) : beforeDrop,
          laterActor: first === undefined ? (later?.actor ?? null) : null,
          laterUndoOf: first === undefined ? (later?.undo_of?.id ?? null) : null
        }
      }),
      ...[...actions].flatMap((action): ReadonlyArray<WrittenField> => {
        const change = { ...base, action, key: "", now: null, before: null, laterActor: null, laterUndoOf: null }
        if (action !== "added_to_store" || storeId === null) return [change]
        const own = ofLayer.findLast((event) => isOwn(event) && event.action === action)
        if (version === undefined || own === undefined || others.cameAlong(aggregate, own)) return []
        const since = own.sequence
        /** Whether the entity was on the store from its creation on. */
        const isCreatedThere = ({ action: change, entityId: part }: Sequenced) =>
          change === "created" &&
          account.entities.get(part)?.aggregate.storeIds.includes(storeId) === true &&
          !others.entries.some(
            (each) => each.entityId === part && each.store_id === storeId && each.action === "added_to_store"
          )
        const isOfOthers = (event: Sequenced) =>
          event.sequence > since &&
          (event.store_id === storeId || event.action === "gallery" || isCreatedThere(event)) &&
          !isOwn(event) &&
          !isUndo(event) &&
          (event.action !== "attributes" || event.changes.some((each) => each.old !== each.new))
        const later = events.findLast(isOfOthers)
        const variants = [...account.entities.values()].filter((each) => each.aggregate.parentId === entityId)
        const isKept = [aggregate, ...variants.map((each) => each.aggregate)].some(({ versions }) =>
          versions.some((each) => each.storeId === storeId && holdOf(each) !== undefined)
        )
        const pictures = [aggregate, ...variants.map((each) => each.aggregate)]
          .flatMap(({ gallery }) => gallery)
          .filter(({ mediaId, storeIds }) => storeIds.includes(storeId) && others.isAdded(mediaId, storeId))
        const parts = [...variants.map((each) => each.aggregate.id), ...pictures.map(({ mediaId }) => mediaId)]
        const hasEditedParts = others.entries.some((event) => parts.includes(event.entityId) && isOfOthers(event))
        return [{ ...change, isKept, hasEditedParts, laterActor: later?.actor ?? null }]
      })
    ]
  })
}

/** The in-memory implementation. It passes the contract suite of the SQL implementation. */
export const layerUndoRepoMemory = Layer.effect(
  UndoRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const entriesOf = (accountId: AccountId) =>
      Effect.map(Ref.get(store), (state) =>
        (state.get(accountId)?.history ?? [])
          .map((entry, index): Sequenced => ({ ...entry, sequence: index + 1 }))
          .filter(isDraftChange)
      )
    const written = (accountId: AccountId, id: ConnectionId, window: UndoWindow, after: EntityId) =>
      Effect.map(entriesOf(accountId), (entries) =>
        [...new Set(entries.filter((entry) => isBy(id, window, entry)).map(({ entityId }) => entityId))]
          .filter((entityId) => entityId > after)
          .sort()
      )
    return {
      now: Effect.map(Clock.currentTimeMillis, fromMillis),
      written: (accountId, id, window, after, limit) =>
        Effect.map(written(accountId, id, window, after), (ids) => ids.slice(0, limit)),
      countWritten: (accountId, id, window, after) =>
        Effect.map(written(accountId, id, window, after), (ids) => ids.length),
      fields: (accountId, id, window, entityIds) =>
        Effect.gen(function* () {
          const account = (yield* Ref.get(store)).get(accountId)
          const entries = yield* entriesOf(accountId)
          if (account === undefined) return []
          const isOwn = (entry: MemoryHistory) =>
            entry.actor.kind === "connection" && entry.actor.id === id && entry.at <= window.until
          const additions = additionsIn(entries, id, window)
          const others: Others = {
            entries,
            cameAlong: ({ id: entityId, parentId }, addition) =>
              additions.some(
                (entry) =>
                  entry.store_id === addition.store_id &&
                  entry.at === addition.at &&
                  (entry.entityId === parentId ||
                    account.entities
                      .get(entry.entityId)
                      ?.aggregate.gallery.some(({ mediaId }) => mediaId === entityId) === true)
              ),
            cameWithVariant: ({ at, entityId }) =>
              additions.some(
                (entry) => entry.at === at && account.entities.get(entry.entityId)?.aggregate.parentId === entityId
              ),
            isAdded: (entityId, storeId) =>
              additions.some((entry) => entry.entityId === entityId && entry.store_id === storeId)
          }
          return entityIds
            .flatMap((entityId) => {
              const events = entries.filter((entry) => entry.entityId === entityId)
              const first = events.findIndex((entry) => isBy(id, window, entry))
              return first === -1 ? [] : fieldsOf(account, entityId, id, events.slice(first), isOwn, others)
            })
            .sort(byField)
        }),
      added: (accountId, id, window, storeId, entityIds) =>
        Effect.map(entriesOf(accountId), (entries) => {
          const additions = additionsIn(entries, id, window).filter(({ store_id }) => store_id === storeId)
          return entityIds.filter((entityId) => additions.some((entry) => entry.entityId === entityId))
        })
    }
  })
)
