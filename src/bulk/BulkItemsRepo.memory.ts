import { Effect, Layer, Ref } from "effect"
import { type MemorySlices, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import { publishActions } from "../drafts/History.ts"
import type { EntityId, JobId } from "../model/Ids.ts"
import { type BulkItem, noRevision } from "./BulkChange.ts"
import { BulkItemsRepo } from "./BulkItemsRepo.ts"

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** The remaining entities of each bulk change, in order. */
    readonly bulkItems: ReadonlyMap<JobId, ReadonlyArray<BulkItem>>
  }
}

export const emptyBulkItems: Pick<MemorySlices, "bulkItems"> = { bulkItems: new Map() }

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerBulkItemsRepoMemory = Layer.effect(
  BulkItemsRepo,
  Effect.map(MemoryStore, (store) => ({
    stage: (accountId, jobId, { asOfBegin, ids, kind }) =>
      Effect.gen(function* () {
        const account = (yield* Ref.get(store)).get(accountId)
        const begun = account?.jobs.get(jobId)?.job.created_at ?? ""
        const revisionAtBegin = (id: EntityId) =>
          account?.history.findLast(
            ({ action, at, entityId }) => entityId === id && !publishActions.includes(action) && at <= begun
          )?.draft_revision
        const added = ids.map((id): BulkItem => {
          const entity = account?.entities.get(id)
          if (entity?.aggregate.kind !== kind) return { id, revision: noRevision }
          return { id, revision: (asOfBegin ? revisionAtBegin(id) : undefined) ?? entity.draftRevision }
        })
        yield* updateAccount(store, accountId, (each) => ({
          ...each,
          bulkItems: new Map(each.bulkItems).set(jobId, [...(each.bulkItems.get(jobId) ?? []), ...added])
        }))
        return added.filter(({ revision }) => revision !== noRevision).length
      }),
    take: (accountId, jobId, limit) =>
      Effect.gen(function* () {
        const items = (yield* Ref.get(store)).get(accountId)?.bulkItems.get(jobId) ?? []
        yield* updateAccount(store, accountId, (each) => ({
          ...each,
          bulkItems: new Map(each.bulkItems).set(jobId, items.slice(limit))
        }))
        return items.slice(0, limit)
      })
  }))
)
