import { Context, Effect, Layer, Option } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { type ChosenEntities, maxListedIds } from "../catalog/MerchantLists.ts"
import { Transaction } from "../database/Transaction.ts"
import type { LockedCatalog } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { makeDecideDeletions } from "../drafts/Deletion.ts"
import { EntityUsesRepo } from "../drafts/EntityUsesRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { makeDecideRemovals } from "../drafts/StoreMembership.ts"
import { lookedPerItem } from "../jobs/FoundEntities.ts"
import { FoundEntitiesRepo } from "../jobs/FoundEntitiesRepo.ts"
import { JobStopped, noneExists } from "../jobs/Job.ts"
import { anyKind, type StepInput, type StepResult, waitForImport } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { misfitOfField } from "../model/AttributeRules.ts"
import { type NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, EntityId, JobId, nilUuid } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { makeAwaitFilterStore } from "../stores/FilterStore.ts"
import { Stores } from "../stores/Stores.ts"
import {
  additionDecision,
  type BulkChange,
  BulkCursor,
  BulkInput,
  type BulkItem,
  type BulkWork,
  decideStep,
  deletedBy,
  deletionDecision,
  fieldDecision,
  nameOf,
  noRevision,
  removalDecision,
  removesUndefined,
  storeOf
} from "./BulkChange.ts"
import { BulkItemsRepo } from "./BulkItemsRepo.ts"

/** Maximum number of entities that are named one by one, because one transaction adds them to their job. */
export const maxNamedEntities = maxListedIds

/** The entities of a bulk change. */
export type BulkSelection = { readonly kind: EntityKind } & ChosenEntities

const collectingFirst = { _tag: "Collecting", after: EntityId.make(nilUuid), place: 0, collected: 0 } as const

type CollectedInput = Exclude<BulkInput, BulkWork>

const workOf = (input: BulkInput): BulkWork =>
  "found" in input ? { kind: input.found.kinds[0], change: input.change } : input

const storeGone = () =>
  new JobStopped({
    why: "The store is no longer linked.",
    next: "The changes that were made before remain. Link the store again, then resume the job."
  })

/** Whether the change writes the variants and media of a product too. */
const writesParts = (change: BulkChange) => change._tag !== "SetField"

/** What a step reads before it decides. */
const makeReads = Effect.gen(function* () {
  const catalog = yield* CatalogRepo
  const definitions = yield* MetafieldDefinitions
  const entityUses = yield* EntityUsesRepo
  const decideDeletions = makeDecideDeletions(catalog, entityUses)
  const decideRemovals = makeDecideRemovals(catalog)

  /** `decide`: changes or refuses each entity of a step. `along`: further changes of the step. `kept`: media that it does not delete. */
  const decisionsOf = (
    accountId: AccountId,
    { change, kind }: BulkWork,
    items: ReadonlyArray<BulkItem>,
    locked: LockedCatalog
  ) =>
    Effect.gen(function* () {
      const unchanged = items.filter(({ id, revision }) => locked.revisions.get(id) === revision).map(({ id }) => id)
      switch (change._tag) {
        case "SetField": {
          const rules = yield* definitions.rulesFor(accountId, kind, [change.key])
          return { decide: fieldDecision(kind, change, rules, locked), along: [], kept: [] }
        }
        case "AddToStore":
          return { decide: additionDecision(kind, change, locked), along: [], kept: [] }
        case "RemoveFromStore": {
          const removals = yield* decideRemovals(accountId, unchanged, change.storeId, locked)
          return { decide: removalDecision(kind, change, removals, locked), along: removals.along, kept: [] }
        }
        case "Delete": {
          const deletions = yield* decideDeletions(accountId, unchanged, change.withMedia === true, locked)
          const kept = [...deletions.keptMedia].map(([id, message]) => ({ item: nameOf("media", id, locked), message }))
          return { decide: deletionDecision(deletions, locked), along: deletions.along, kept }
        }
      }
    })

  /** The entities that a change reads or writes along with these. */
  const partsOf = (accountId: AccountId, change: BulkChange, ids: ReadonlyArray<EntityId>) => {
    switch (change._tag) {
      case "SetField":
        return Effect.succeed([])
      case "AddToStore":
      case "RemoveFromStore":
        return catalog.partsOnStore(accountId, change.storeId, ids, change._tag === "RemoveFromStore")
      case "Delete":
        return entityUses.partsOf(accountId, ids)
    }
  }

  return { decisionsOf, partsOf, isImporting: entityUses.isImporting }
})

/** The kind of job that changes the drafts of a selection. */
export const makeBulkKinds = Effect.gen(function* () {
  const awaitFilterStore = yield* makeAwaitFilterStore
  const changes = yield* CatalogChanges
  const importLock = yield* ImportLockRepo
  const found = yield* FoundEntitiesRepo
  const repo = yield* BulkItemsRepo
  const { decisionsOf, isImporting, partsOf } = yield* makeReads

  /** Adds the next entities that the filters find to the job. Their number is known when all are collected. */
  const collect = (
    { accountId, id, size }: Pick<StepInput<BulkInput, BulkCursor>, "accountId" | "id" | "size">,
    filtered: CollectedInput["found"],
    { after, collected, place }: Omit<Extract<BulkCursor, { readonly _tag: "Collecting" }>, "_tag">
  ): Effect.Effect<StepResult<BulkCursor>, NotFound> =>
    Effect.gen(function* () {
      const wait = yield* awaitFilterStore(accountId, filtered.filters.storeId)
      if (wait !== undefined) return wait
      const looked = lookedPerItem * size
      const { ids, next } = yield* found.next(accountId, id, filtered, { after, looked, limit: looked })
      const [kind] = filtered.kinds
      if (ids.length > 0) yield* repo.stage(accountId, id, { kind, ids, after: place, asOfBegin: true })
      const all = collected + ids.length
      if (next !== null)
        return {
          _tag: "Progress",
          cursor: { _tag: "Collecting", after: next, place: place + ids.length, collected: all },
          done: 0
        }
      const counts = { changed: 0, unchanged: 0, refused: 0 }
      return { _tag: "Progress", cursor: all === 0 ? null : 0, total: all, done: 0, counts }
    })

  /**
   * Writes the changes of these entities. `changed`: the number of revisions that rose, or of deleted entities and media. `refused`: first
   * the items that it refuses, then media. `unchanged`: the number of the other items.
   */
  const write = (accountId: AccountId, input: BulkWork, items: ReadonlyArray<BulkItem>) =>
    Effect.gen(function* () {
      const { change, kind } = input
      const storeId = storeOf(change)
      // An id without a revision may be that of an entity of another kind, which this job must not lock or count.
      const existing = items.filter(({ revision }) => revision !== noRevision)
      const ids = existing.map(({ id }) => id)
      const parts = yield* partsOf(accountId, change, ids)
      const { locked, remedy } = yield* Effect.orDie(
        changes.applyRemedy([...ids, ...parts], (before: LockedCatalog) =>
          Effect.gen(function* () {
            const isGone = storeId !== null && !before.storeIds.includes(storeId)
            if (isGone) return { changes: [], refused: [], kept: [], isGone, before }
            const { along, decide, kept } = yield* decisionsOf(accountId, input, items, before)
            const step = decideStep(kind, items, before, decide)
            return { ...step, changes: [...step.changes, ...along], kept, isGone, before }
          })
        )
      )
      if (remedy.isGone) return yield* storeGone()
      const { before, kept, refused } = remedy
      const deleted = deletedBy(existing, before, locked)
      const isChanged = ({ id }: BulkItem) => locked.revisions.get(id) !== before.revisions.get(id)
      const changed = change._tag === "Delete" ? deleted.length : existing.filter(isChanged).length
      const unchanged = change._tag === "Delete" ? 0 : items.length - changed - refused.length
      return { changed, unchanged, deleted, refused: [...refused, ...kept] }
    })

  return [
    anyKind({
      name: "bulk_change",
      input: BulkInput,
      cursor: BulkCursor,
      sizes: { first: 10, max: 200 },
      step: ({ accountId, cursor, id, input, size }) =>
        Effect.gen(function* (): Effect.fn.Return<StepResult<BulkCursor>, JobStopped, CurrentActor> {
          if (Option.isSome(yield* importLock.share(accountId))) return waitForImport
          const start = "found" in input ? collectingFirst : 0
          const place = cursor ?? start
          if (typeof place === "object")
            return "found" in input
              ? yield* Effect.catchTag(collect({ accountId, id, size }, input.found, place), "NotFound", storeGone)
              : yield* Effect.dieMessage("The job has a list of entities already.")
          const work = workOf(input)
          // The comparison of an import may refer to any entity. While this step shares the import lock, no import begins.
          if (work.change._tag === "Delete" && (yield* isImporting(accountId))) return waitForImport
          const itemCount = writesParts(work.change) ? Math.ceil(size / 4) : size
          const items = yield* repo.take(accountId, id, itemCount)
          if (items.length === 0) return { _tag: "Progress", cursor: null, done: 0 }
          const { changed, deleted, refused, unchanged } = yield* write(accountId, work, items)
          return {
            _tag: "Progress",
            cursor: place + items.length,
            done: items.length,
            counts: { changed, unchanged, refused: refused.length },
            errors: refused,
            deleted
          }
        })
    })
  ]
})

const nouns: Readonly<Record<EntityKind, readonly [one: string, many: string]>> = {
  product: ["product", "products"],
  variant: ["variant", "variants"],
  collection: ["collection", "collections"],
  media: ["media file", "media files"]
}

/** The number and the noun of a selection, for example "1,200 products". */
const countedEntities = (kind: EntityKind, count: number): string =>
  `${count.toLocaleString("en")} ${nouns[kind][count === 1 ? 0 : 1]}`

/** `domain`: of the store of the change. */
const titleOf = (change: BulkChange, entities: string, domain: string | undefined): string => {
  if (change._tag === "Delete") return `Delete ${entities}${change.withMedia === true ? ", with pictures" : ""}`
  if (change._tag === "AddToStore") return `Add ${entities} to ${domain}`
  if (change._tag === "RemoveFromStore") return `Take ${entities} off ${domain}`
  const on = domain === undefined ? "" : ` on ${domain}`
  return `${change.value === null ? "Clear" : "Set"} ${change.key} of ${entities}${on}`
}

const make = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
  const importLock = yield* ImportLockRepo
  const jobs = yield* Jobs
  const repo = yield* BulkItemsRepo
  const stores = yield* Stores
  const transaction = yield* Transaction

  const check = Effect.fn("BulkJobs.check")(function* (kind: EntityKind, change: BulkChange) {
    const { accountId } = yield* CurrentActor
    const storeId = storeOf(change)
    if (storeId !== null) yield* stores.find(storeId)
    if (change._tag !== "SetField") return
    const rules = yield* definitions.rulesFor(accountId, kind, [change.key])
    if (removesUndefined(kind, change, rules)) return
    const misfit = misfitOfField(kind, change.key, change.value ?? "", rules, [])
    if (misfit !== undefined) return yield* ValidationFailed.at(misfit.at, misfit.message)
  })

  const insert = (selection: BulkSelection, change: BulkChange, id: JobId) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const { kind } = selection
      const isNamed = "ids" in selection
      // A job that collects compares the times of drafts with that of its begin. The exclusive lock waits for writes in flight, so that
      // none of them has an earlier time and is committed later.
      const lock = isNamed ? importLock.share : importLock.take
      if (Option.isSome(yield* lock(accountId))) return yield* new PimLocked()
      const storeId = storeOf(change)
      const domain = storeId === null ? undefined : (yield* stores.find(storeId)).domain
      const total = isNamed ? selection.ids.length : selection.count
      const input: BulkInput = isNamed
        ? { kind, change }
        : { change, found: { kinds: [kind], filters: selection.filters } }
      const job = yield* jobs.begin({
        id,
        kind: "bulk_change",
        title: titleOf(change, countedEntities(kind, total), domain),
        subject: null,
        input,
        total
      })
      if (!isNamed) return job
      const { ids } = selection
      const existing = yield* repo.stage(accountId, id, { kind, ids, after: 0, asOfBegin: false })
      return existing > 0 ? job : yield* ValidationFailed.at("", noneExists)
    })

  return {
    /** The rules of the fields that a change can set. */
    rules: withAccountId(definitions.rules),
    /**
     * Checks everything about a change that does not depend on the entities. NotFound: no such store is linked. ValidationFailed: an
     * unknown or read-only field, or a value that does not fit it; the path is `field` or `value`.
     */
    check,
    /**
     * Begins a job with these entities, or with all that the filters find. Drafts that are changed after the begin are not overwritten.
     * `id`: the id of the job; if the account has it already, that job is returned, so a form that is sent twice begins one job. Errors
     * as for `check`. ValidationFailed: also no entities, too many that are named, or none that exists. If some of the named do not exist,
     * or are of another kind, the job reports them and changes the others. PimLocked: an import locks the account.
     */
    begin: Effect.fn("BulkJobs.begin")(function* (rawSelection: BulkSelection, change: BulkChange, jobId?: JobId) {
      const { kind } = rawSelection
      const selection = "ids" in rawSelection ? { kind, ids: [...new Set(rawSelection.ids)] } : rawSelection
      const count = "ids" in selection ? selection.ids.length : selection.count
      if (count === 0) return yield* ValidationFailed.at("", `no ${nouns[kind][0]} is selected`)
      if ("ids" in selection && count > maxNamedEntities)
        return yield* ValidationFailed.at(
          "",
          `${countedEntities(kind, count)} are named: name at most ${maxNamedEntities.toLocaleString("en")} one by one, or filter the list`
        )
      yield* check(kind, change)
      const id = jobId ?? (yield* mintId(JobId))
      return yield* transaction
        .run(insert(selection, change, id))
        .pipe(
          Effect.catchTag("ValidationFailed", (refusal) => Effect.catchTag(jobs.get(id), "NotFound", () => refusal))
        )
    })
  }
})

/** Begins jobs that change the drafts of a selection of entities. */
export class BulkJobs extends Context.Tag("catalog/BulkJobs")<BulkJobs, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(BulkJobs, make)
}
