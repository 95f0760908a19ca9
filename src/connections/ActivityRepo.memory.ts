import { Clock, Effect, Layer, Ref } from "effect"
import { type MemorySlices, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { MemoryHistory } from "../drafts/HistoryRepo.memory.ts"
import { titleOf } from "../model/Attribute.ts"
import type { AccountId, ConnectionId } from "../model/Ids.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import type { ActivityDay, ConnectionChange } from "./ActivityRecord.ts"
import { ActivityRepo, keptDays } from "./ActivityRepo.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Number of calls. The key is connection and day: `ID YYYY-MM-DD`. */
    readonly connectionCalls: ReadonlyMap<string, number>
  }
}

export const emptyActivity: Pick<MemorySlices, "connectionCalls"> = { connectionCalls: new Map() }

const dayOf = (at: Timestamp) => at.slice(0, 10)

/** The UTC day that is `days` days ago. */
const dayBefore = (days: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => dayOf(fromMillis(now - days * 86_400_000)))

const isPublish = ({ action }: Pick<MemoryHistory, "action">) =>
  action === "publish_asked" || action === "published" || action === "publish_failed"

/** The in-memory implementation. It passes the contract suite of the SQL implementation. */
export const layerActivityRepoMemory = Layer.effect(
  ActivityRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const accountOf = (accountId: AccountId) => Effect.map(Ref.get(store), (state) => state.get(accountId))
    const isBy =
      (id: ConnectionId) =>
      ({ actor }: MemoryHistory) =>
        actor.kind === "connection" && actor.id === id

    return {
      addCalls: (counts) =>
        Effect.flatMap(Effect.all([dayBefore(0), Ref.get(store)]), ([day, accounts]) =>
          Effect.forEach(
            counts.filter(({ accountId }) => accounts.has(accountId)),
            ({ accountId, calls, connectionId }) =>
              updateAccount(store, accountId, (account) => {
                const key = `${connectionId} ${day}`
                return {
                  ...account,
                  connectionCalls: new Map(account.connectionCalls).set(
                    key,
                    (account.connectionCalls.get(key) ?? 0) + calls
                  )
                }
              }),
            { discard: true }
          )
        ),
      days: (accountId, id, count) =>
        Effect.gen(function* () {
          const account = yield* accountOf(accountId)
          const first = yield* dayBefore(count - 1)
          const history = (account?.history ?? []).filter(isBy(id))
          const called = [...(account?.connectionCalls ?? [])].flatMap(([key, calls]) =>
            key.startsWith(`${id} `) ? [{ day: key.slice(id.length + 1), calls }] : []
          )
          const days = new Set([...history.map(({ at }) => dayOf(at)), ...called.map(({ day }) => day)])
          return [...days]
            .filter((day) => day >= first)
            .sort()
            .reverse()
            .map((day): ActivityDay => {
              const ofDay = history.filter(({ at }) => dayOf(at) === day)
              const writes = ofDay.filter((entry) => !isPublish(entry))
              return {
                day,
                calls: called.find((each) => each.day === day)?.calls ?? 0,
                writes: new Set(writes.map((entry) => `${entry.entityId} ${entry.draft_revision}`)).size,
                publishes: ofDay.filter(({ action }) => action === "publish_asked").length
              }
            })
            .filter(({ calls, publishes, writes }) => calls + publishes + writes > 0)
        }),
      changes: (accountId, id, before, limit) =>
        Effect.map(accountOf(accountId), (account) => {
          const history = account?.history ?? []
          const domainOf = (storeId: MemoryHistory["store_id"]) =>
            storeId === null
              ? null
              : ((account?.stores.get(storeId) ?? account?.unlinkedStores.get(storeId))?.domain ?? null)
          return history
            .map((entry, index) => ({ entry, sequence: index + 1 }))
            .filter(({ entry }) => isBy(id)(entry) && !isPublish(entry))
            .sort((left, right) =>
              left.entry.at === right.entry.at
                ? right.sequence - left.sequence
                : left.entry.at < right.entry.at
                  ? 1
                  : -1
            )
            .filter(
              ({ entry: { at }, sequence }) =>
                before === null || at < before.at || (at === before.at && sequence < before.sequence)
            )
            .slice(0, limit)
            .flatMap(({ entry, sequence }): ReadonlyArray<ConnectionChange> => {
              const aggregate = account?.entities.get(entry.entityId)?.aggregate
              if (aggregate === undefined) return []
              const published = history
                .slice(sequence)
                .filter(
                  (later) =>
                    later.entityId === entry.entityId &&
                    later.action === "published" &&
                    later.draft_revision >= entry.draft_revision &&
                    (entry.store_id === null || later.store_id === entry.store_id)
                )
              return [
                {
                  at: entry.at,
                  sequence,
                  entityId: entry.entityId,
                  kind: aggregate.kind,
                  title: titleOf(aggregate.kind, aggregate.attributes),
                  storeId: entry.store_id,
                  storeDomain: domainOf(entry.store_id),
                  action: entry.action,
                  keys: entry.changes.map(({ key }) => key),
                  publishedOn: [...new Set(published.map(({ store_id }) => domainOf(store_id) ?? ""))].sort()
                }
              ]
            })
        }),
      forget: Effect.gen(function* () {
        const first = yield* dayBefore(keptDays)
        let forgotten = 0
        for (const accountId of (yield* Ref.get(store)).keys())
          yield* updateAccount(store, accountId, (account) => {
            const remaining = [...account.connectionCalls].filter(([key]) => key.slice(-10) >= first)
            forgotten += account.connectionCalls.size - remaining.length
            return { ...account, connectionCalls: new Map(remaining) }
          })
        return forgotten
      })
    }
  })
)
