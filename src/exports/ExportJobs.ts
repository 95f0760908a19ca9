import { Array as Arr, Context, Effect, Layer, Option, Schema } from "effect"
import { variantsByProduct } from "../catalog/Aggregate.ts"
import { publishable, sameOrder } from "../drafts/Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "../drafts/CatalogChange.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { HistoryRepo } from "../drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { JobStopped } from "../jobs/Job.ts"
import { anyKind, type StepResult, waitForImport } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, ExportId, StoreId } from "../model/Ids.ts"
import { filesOnly } from "../model/Store.ts"
import { makeSavePublishStates } from "../publishing/PublishStateChanges.ts"
import { Stores } from "../stores/Stores.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import type { ExportItem } from "./ExportItem.ts"
import { ExportItemsRepo } from "./ExportItemsRepo.ts"

/** `total`: number of the exported products. Jobs of earlier versions have none. */
const Input = Schema.Struct({ storeId: StoreId, exportId: ExportId, total: Schema.optional(Schema.Int) })

const unlinkedProblem = {
  why: "The store is no longer linked.",
  next: "The values that were counted as published before remain published. Link the store again, then resume the job."
}

const withPlatform = {
  why: "The store has a platform now.",
  next: "The values that were counted as published before remain published. Publish to the store."
}

const forgottenProblem = {
  why: "The exported products were kept for 30 days only.",
  next: "The values that were counted as published before remain published. Export the products of the store again."
}

/**
 * Number of counted items. They are deleted, so the next step begins with the first remaining item. `media`: files that earlier steps
 * counted as changed, because other products may show them too.
 */
const Cursor = Schema.Union(Schema.Int, Schema.Struct({ items: Schema.Int, media: Schema.Array(EntityId) }))

/** Maximum number of files in a cursor, which each step writes. Files beyond it are counted once a step. */
const maxRemembered = 1_000

/**
 * Divides the entities of exported products. `exported`: the unpublished draft is still the exported one, so it counts as
 * published. `changed`: the draft was changed since, or the entity is no longer on the store, so its publish state does not
 * change.
 */
export const divideExported = (locked: LockedCatalog, storeId: StoreId, items: ReadonlyArray<ExportItem>) => {
  const variantsOf = variantsByProduct(locked.aggregates.values())
  // A file that several products show occurs several times.
  const exported = new Set<EntityId>()
  const changed = new Set<EntityId>()
  for (const { media, productId, revisions, variants } of items)
    for (const [key, revision] of Object.entries(revisions)) {
      const id = EntityId.make(key)
      const aggregate = locked.aggregates.get(id)
      const version = aggregate?.versions.find((each) => each.storeId === storeId)
      if (aggregate === undefined || version === undefined || locked.revisions.get(id) !== revision) {
        changed.add(id)
        continue
      }
      const now = publishable(aggregate, version, variantsOf.get(id) ?? [])
      // Variants and files can be added to the store or removed from it without a new revision of the product.
      if (id === productId && !(sameOrder(now.variants, variants) && sameOrder(now.media, media))) changed.add(id)
      else if (version.pendingPublish || version.lastPublishStatus !== "published") exported.add(id)
    }
  return { exported: [...exported], changed }
}

/** The kind of job that counts an export as the publish of a store without a platform. */
export const makeExportKinds = Effect.gen(function* () {
  const drafts = yield* DraftsRepo
  const history = yield* HistoryRepo
  const importLock = yield* ImportLockRepo
  const repo = yield* ExportItemsRepo
  const stores = yield* StoresRepo
  const savePublishStates = yield* makeSavePublishStates

  return [
    anyKind({
      name: "export",
      input: Input,
      cursor: Cursor,
      sizes: { first: 10, max: 200 },
      step: ({ accountId, cursor, input: { exportId, storeId, total }, size }) =>
        Effect.gen(function* (): Effect.fn.Return<
          StepResult<typeof Cursor.Type>,
          JobStopped | NotFound | ValidationFailed,
          CurrentActor
        > {
          if (Option.isSome(yield* importLock.share(accountId))) return waitForImport
          const actor = yield* CurrentActor
          const items = yield* repo.take(accountId, exportId, size)
          const counted = cursor === null || typeof cursor === "number" ? { items: cursor ?? 0, media: [] } : cursor
          if (items.length === 0)
            return counted.items < (total ?? 0)
              ? yield* new JobStopped(forgottenProblem)
              : ({ _tag: "Progress", cursor: null, done: 0 } as const)
          const ids = items.flatMap(({ revisions }) => Object.keys(revisions).map((id) => EntityId.make(id)))
          const locked = yield* drafts.lock(accountId, [...new Set(ids)], [])
          if (!locked.storeIds.includes(storeId)) return yield* new JobStopped(unlinkedProblem)
          const store = yield* stores.find(accountId, storeId)
          if (Option.exists(store, ({ platform }) => platform !== filesOnly)) return yield* new JobStopped(withPlatform)
          const divided = divideExported(locked, storeId, items)
          const { exported } = divided
          const changed = Arr.difference(divided.changed, counted.media)
          const files = new Set(items.flatMap((item) => item.media))
          const media = [...counted.media, ...changed.filter((id) => files.has(id))].slice(0, maxRemembered)
          const done = counted.items + items.length
          yield* savePublishStates(
            accountId,
            locked,
            exported.map((entityId) => CatalogChange.AcceptPublish({ entityId, storeId })),
            history.recordPublishes(
              accountId,
              yield* history.nameOf(actor),
              null,
              exported.map((entityId) => ({
                entityId,
                storeId,
                draftRevision: locked.revisions.get(entityId) ?? 0,
                action: "published" as const,
                error: null
              }))
            )
          )
          return {
            _tag: "Progress",
            cursor: media.length === 0 ? done : { items: done, media },
            done: items.length,
            counts: { published: exported.length, changed: changed.length }
          } as const
        }).pipe(
          // The entities are locked and on the store. A change that is refused is therefore a defect.
          Effect.catchTags({ NotFound: Effect.die, ValidationFailed: Effect.die })
        )
    })
  ]
})

const make = Effect.gen(function* () {
  const jobs = yield* Jobs
  const repo = yield* ExportItemsRepo
  const stores = yield* Stores

  const storeOf = (storeId: StoreId) => Effect.tap(stores.find(storeId), refuseWithPlatform)

  return {
    /** The refusal that `publish` would have now. A caller asks for it before the export is written. */
    check: Effect.fn("ExportJobs.check")((storeId: StoreId) => Effect.zipRight(storeOf(storeId), jobs.check(storeId))),
    /**
     * Begins a job that counts what an export contained as published on its store. NotFound: no such store. ValidationFailed: the
     * store has a platform, or another job works on it.
     */
    publish: Effect.fn("ExportJobs.publish")(function* (storeId: StoreId, id: ExportId) {
      const { accountId } = yield* CurrentActor
      const store = yield* storeOf(storeId)
      const total = yield* repo.count(accountId, id)
      return yield* jobs.begin({
        kind: "export",
        title: `Count the export of ${store.domain} as published`,
        subject: storeId,
        input: { storeId, exportId: id, total },
        total
      })
    }),
    /** Deletes the items of exports that were not counted as published within 30 days. Returns the number of products. */
    forget: repo.forget
  }
})

/** Counts exports as published. */
export class ExportJobs extends Context.Tag("catalog/ExportJobs")<ExportJobs, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(ExportJobs, make)
}

/** Refuses to count an export as published on a store that publishes to its platform. */
const refuseWithPlatform = ({ domain, platform }: { readonly domain: string; readonly platform: string }) =>
  platform === filesOnly
    ? Effect.void
    : ValidationFailed.at(
        "publish",
        `${domain} has a platform: publish to it instead. An export counts as a publish only for a store without a platform`
      )
