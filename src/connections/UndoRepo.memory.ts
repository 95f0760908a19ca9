import { Clock, Effect, Layer, Ref } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import { type MemoryAccount, MemoryStore } from "../database/MemoryStore.memory.ts"
import type { MemoryHistory } from "../drafts/HistoryRepo.memory.ts"
import { whyKept } from "../drafts/StoreMembership.ts"
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

const domainOf = (account: MemoryAccount, storeId: StoreId | null) =>
  storeId === null ? null : ((account.stores.get(storeId) ?? account.unlinkedStores.get(storeId))?.domain ?? null)

/**
 * The changed fields of one entity. `events`: the entity's changes, beginning with the connection's first change in the window.
 */
const fieldsOf = (
  account: MemoryAccount,
  entityId: EntityId,
  id: ConnectionId,
  events: ReadonlyArray<Sequenced>,
  isOwn: (event: Sequenced) => boolean,
  cameAlong: (aggregate: Aggregate, storeId: StoreId) => boolean
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
    const others = new Set(
      ofLayer
        .filter((event) => isOwn(event) && event.action !== "attributes")
        .filter(({ action, draft_revision }) => action !== "gallery" || !addedIn.has(draft_revision))
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
        const lastUndo = undos.at(-1)?.event
        const later = (lastUndo?.sequence ?? 0) > (edge?.sequence ?? 0) ? lastUndo : edge
        return {
          ...base,
          action: "attributes",
          key,
          now: values[key]?.value ?? null,
          before: first?.old ?? null,
          laterActor: first === undefined ? (later?.actor ?? null) : null,
          laterUndoOf: first === undefined ? (later?.undo_of?.id ?? null) : null
        }
      }),
      ...[...others].flatMap((action): ReadonlyArray<WrittenField> => {
        const change = { ...base, action, key: "", now: null, before: null, laterActor: null, laterUndoOf: null }
        if (action !== "added_to_store" || storeId === null) return [change]
        if (version === undefined || cameAlong(aggregate, storeId)) return []
        const own = ofLayer.findLast((event) => isOwn(event) && event.action === action)
        const later = ofLayer.findLast(
          (event) => event.sequence > (own?.sequence ?? 0) && !isOwn(event) && !isUndo(event)
        )
        const variants = [...account.entities.values()].filter((each) => each.aggregate.parentId === entityId)
        const isKept = [aggregate, ...variants.map((each) => each.aggregate)].some(({ versions }) =>
          versions.some((each) => each.storeId === storeId && whyKept(each) !== undefined)
        )
        const parts = [...variants.map((each) => each.aggregate.id), ...aggregate.gallery.map(({ mediaId }) => mediaId)]
        const hasEditedParts = account.history.some(
          (entry) =>
            parts.includes(entry.entityId) &&
            entry.store_id === storeId &&
            entry.action === "attributes" &&
            entry.undo_of?.id !== id &&
            !(entry.actor.kind === "connection" && entry.actor.id === id)
        )
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
          const cameAlong = ({ id: entityId, parentId }: Aggregate, storeId: StoreId) =>
            entries.some(
              (entry) =>
                isBy(id, window, entry) &&
                entry.action === "added_to_store" &&
                entry.store_id === storeId &&
                (entry.entityId === parentId ||
                  account.entities
                    .get(entry.entityId)
                    ?.aggregate.gallery.some(({ mediaId }) => mediaId === entityId) === true)
            )
          return entityIds
            .flatMap((entityId) => {
              const events = entries.filter((entry) => entry.entityId === entityId)
              const first = events.findIndex((entry) => isBy(id, window, entry))
              return first === -1 ? [] : fieldsOf(account, entityId, id, events.slice(first), isOwn, cameAlong)
            })
            .sort(byField)
        })
    }
  })
)
