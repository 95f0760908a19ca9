import { Clock, Effect, Option, Ref } from "effect"
import type { MemoryState } from "../database/MemoryStore.memory.ts"
import { titleOf } from "../model/Attribute.ts"
import { isDelayed } from "../model/PublishState.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { isOpen, lineOf, type MemoryPublication, publicationsOf } from "./MemoryPublication.memory.ts"
import type { PublicationOutcomes } from "./PublicationOutcomes.sql.ts"
import { type FailedPublication, keptDays, toShownError } from "./PublicationRecord.ts"

/** Reads publications, their outcomes and outages, and deletes old publications. */
export const makePublicationOutcomes = (store: Ref.Ref<MemoryState>): PublicationOutcomes => ({
  outage: (accountId, storeId) =>
    Effect.map(Effect.all([Ref.get(store), Clock.currentTimeMillis]), ([state, millis]) =>
      Option.fromNullable(state.get(accountId)?.outages.get(storeId)).pipe(
        Option.filter(({ until }) => until > millis),
        Option.flatMapNullable(({ error }) => error)
      )
    ),
  delaysOf: (accountId, entityId) =>
    Effect.map(Ref.get(store), (state) => {
      const { outages, publications = [] } = state.get(accountId) ?? {}
      const line = lineOf(publications, (each) => isOpen(each) && each.entityIds.includes(entityId))
      return new Map(
        [...line].reverse().flatMap(({ error, storeId }) => {
          const outage = outages?.get(storeId)
          const why = isDelayed(error) ? error : outage?.metBy === null ? null : (outage?.error ?? null)
          return why === null ? [] : [[storeId, toShownError(why)] as const]
        })
      )
    }),
  find: (accountId, ids) =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      return (account?.publications ?? [])
        .filter(({ id }) => ids.includes(id))
        .map((each) => ({
          id: each.id,
          entityId: each.entityId,
          storeId: each.storeId,
          storeDomain: (account?.stores.get(each.storeId) ?? account?.unlinkedStores.get(each.storeId))?.domain ?? "",
          draftRevision: each.draftRevision,
          state: each.state,
          attempts: each.attempts.length,
          requestedAt: fromMillis(each.requestedAt),
          finishedAt: each.finishedAt === null ? null : fromMillis(each.finishedAt),
          error: each.error === null ? null : toShownError(each.error)
        }))
    }),
  contents: (accountId, ids) =>
    Effect.map(
      publicationsOf(store, accountId),
      (all) => new Map(all.filter(({ id }) => ids.includes(id)).map(({ content, id }) => [id, content]))
    ),
  failures: (accountId, limit) =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      return [...(account?.entities.values() ?? [])]
        .flatMap(({ aggregate }) => aggregate.versions.map((version) => ({ aggregate, version })))
        .flatMap(({ aggregate, version }) => {
          const { id, kind } = aggregate
          const { lastPublishError: error, lastPublishStatus, storeId } = version
          const storeDomain = account?.stores.get(storeId)?.domain
          if (lastPublishStatus !== "failed" || error === null || storeDomain === undefined) return []
          const place = account?.publications.findLastIndex(
            (each) => each.storeId === storeId && each.state === "failed" && each.entityIds.includes(id)
          )
          const publication = account?.publications[place ?? -1]
          const finishedAt = publication?.finishedAt ?? null
          const row: FailedPublication = {
            entityId: id,
            entityType: kind,
            title: titleOf(kind, aggregate.attributes),
            storeId,
            storeDomain,
            attempts: publication?.attempts.length ?? null,
            finishedAt: finishedAt === null ? null : fromMillis(finishedAt),
            error
          }
          return [{ row, finishedAt: finishedAt ?? 0, place: place ?? -1 }]
        })
        .sort(
          (left, right) =>
            right.finishedAt - left.finishedAt ||
            right.place - left.place ||
            (left.row.entityId < right.row.entityId ? -1 : 1)
        )
        .map(({ row }) => row)
        .slice(0, limit)
    }),
  attempts: (accountId, id) =>
    Effect.map(publicationsOf(store, accountId), (all) => all.find((each) => each.id === id)?.attempts ?? []),
  forget: Effect.flatMap(Clock.currentTimeMillis, (millis) =>
    Ref.modify(store, (state) => {
      const isKept = ({ finishedAt }: MemoryPublication) =>
        finishedAt === null || finishedAt > millis - keptDays * 86_400_000
      const gone = [...state.values()].flatMap(({ publications }) => publications.filter((each) => !isKept(each)))
      const next = [...state].map(
        ([id, account]) => [id, { ...account, publications: account.publications.filter(isKept) }] as const
      )
      return [gone.length, new Map(next)]
    })
  )
})
