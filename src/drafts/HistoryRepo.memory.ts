import { Clock, Effect, Layer, Ref } from "effect"
import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import { type MemoryAccount, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { AccountId, DropId, EntityId, StoreId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import { authorOf, type HistoryEntry, maxHistoryEntries } from "./History.ts"
import { HistoryRepo } from "./HistoryRepo.ts"

/** A history entry with the id of its entity. */
export interface MemoryHistory extends HistoryEntry {
  readonly entityId: EntityId
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Entries of all entities, oldest first. */
    readonly history: ReadonlyArray<MemoryHistory>
    /** Names of API keys and drops, by id. They never change. */
    readonly names: ReadonlyMap<string, string>
  }
}

/**
 * The override that a field of one store had before a drop wrote it, null if it had none. `earlier`: the entries before the present
 * writer. Undefined: the last of them that wrote the field is not of a drop, or the drop changes the field back at its end.
 */
export const beforeEndedDrop = (
  account: MemoryAccount,
  earlier: ReadonlyArray<MemoryHistory>,
  { entityId, key, storeId }: { readonly entityId: EntityId; readonly storeId: StoreId | null; readonly key: string }
): string | null | undefined => {
  const last = earlier.findLast(
    (entry) =>
      entry.entityId === entityId &&
      entry.store_id === storeId &&
      entry.changes.some((change) => change.key === key && change.old !== change.new)
  )
  const left = [...account.drops.values()]
    .filter(({ id }) => id === last?.drop?.id)
    .flatMap(({ effects }) => effects)
    .find(
      (effect) =>
        effect.entityId === entityId &&
        effect.field === key &&
        effect.storeId === storeId &&
        (effect.outcome === "skipped" || effect.outcome === "failed")
    )
  return left === undefined ? undefined : (left.overrideBefore?.value ?? null)
}

export const emptyHistory: Pick<MemorySlices, "history" | "names"> = { history: [], names: new Map() }

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerHistoryRepoMemory = Layer.effect(
  HistoryRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const append = (
      accountId: AccountId,
      dropId: DropId | null,
      entriesOf: (account: MemoryAccount) => ReadonlyArray<Omit<MemoryHistory, "at" | "drop" | "store_domain">>,
      at?: Timestamp
    ) =>
      Effect.flatMap(Clock.currentTimeMillis, (millis) =>
        updateAccount(store, accountId, (account) => {
          const added = { at: at ?? fromMillis(millis), drop: dropOf(account, dropId), store_domain: null }
          return {
            ...account,
            history: [...account.history, ...entriesOf(account).map((entry) => ({ ...entry, ...added }))]
          }
        })
      )
    return {
      record: (accountId, { by, dropId, importId, undoOf }, changes, _, at) =>
        append(
          accountId,
          dropId,
          (account) =>
            changes.map(({ action, changes, draftRevision, entityId, storeId }) => ({
              entityId,
              draft_revision: draftRevision,
              actor: by,
              import_id: importId,
              undo_of: undoOf === null ? null : { id: undoOf, name: nameIn(account, undoOf) },
              store_id: storeId,
              action,
              changes,
              error: null
            })),
          at
        ),
      // Users and connections are not stored in memory, so their names are null here.
      nameOf: (actor) =>
        Effect.map(Ref.get(store), (state) => {
          const author = authorOf(actor)
          return { ...author, name: nameIn(state.get(actor.accountId), author.id) }
        }),
      recordPublishes: (accountId, by, dropId, events) =>
        append(accountId, dropId, () =>
          events.map(({ action, draftRevision, entityId, error, storeId }) => ({
            entityId,
            draft_revision: draftRevision,
            actor: by,
            import_id: null,
            undo_of: null,
            store_id: storeId,
            action,
            changes: [],
            error
          }))
        ),
      beforeEndedDrops: (accountId, entityId, revision) =>
        Effect.map(Ref.get(store), (state) => {
          const account = state.get(accountId)
          if (account === undefined) return []
          return account.history.flatMap((entry, index) => {
            const { changes, draft_revision, store_id: storeId } = entry
            if (entry.entityId !== entityId || draft_revision !== revision || storeId === null) return []
            return changes.flatMap(({ key }) => {
              const value = beforeEndedDrop(account, account.history.slice(0, index), { entityId, storeId, key })
              return value === undefined ? [] : [{ storeId, key, value }]
            })
          })
        }),
      ofOpenDrops: (accountId, entityIds) =>
        Effect.map(Ref.get(store), (state) =>
          [...(state.get(accountId)?.drops.values() ?? [])]
            .filter(({ nextStep, planned }) => nextStep !== null && planned.ends_at !== null)
            .flatMap(({ effects }) => effects)
            .filter(({ entityId, outcome }) => entityIds.includes(entityId) && (outcome ?? "applied") === "applied")
            .map(({ entityId, field, overrideBefore, storeId, value }) => ({
              entityId,
              storeId,
              key: field,
              value,
              before: overrideBefore
            }))
        ),
      list: (accountId, entityId, limit, { key, revision, storeId }) =>
        Effect.map(Ref.get(store), (state) => {
          const account = state.get(accountId)
          return (account?.history ?? [])
            .filter((entry) => entry.entityId === entityId)
            .reverse()
            .slice(0, Math.max(limit, maxHistoryEntries))
            .filter(
              (entry) =>
                (revision === undefined || entry.draft_revision === revision) &&
                (storeId === undefined || entry.store_id === storeId)
            )
            .flatMap((entry) => {
              if (key === undefined) return [entry]
              const changes = entry.changes.filter((change) => change.key === key)
              return changes.length === 0 ? [] : [{ ...entry, changes }]
            })
            .slice(0, limit)
            .map(({ entityId: _, ...entry }) => ({
              ...entry,
              store_domain: entry.store_id === null ? null : (storeOf(account, entry.store_id)?.domain ?? null)
            }))
        })
    }
  })
)

/** A store, linked or not. */
const storeOf = (account: MemoryAccount | undefined, id: StoreId): Store | undefined =>
  account?.stores.get(id) ?? account?.unlinkedStores.get(id)

const nameIn = (account: MemoryAccount | undefined, id: string | null): string | null =>
  (id === null ? undefined : account?.names.get(id)) ?? null

const dropOf = (account: MemoryAccount, id: DropId | null): HistoryEntry["drop"] =>
  id === null ? null : { id, name: nameIn(account, id) ?? "" }
