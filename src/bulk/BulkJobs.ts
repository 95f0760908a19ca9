import { Array as Arr, Context, Effect, Layer, Option, Schema } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { LockedCatalog } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { JobStopped } from "../jobs/Job.ts"
import { anyKind, type StepResult } from "../jobs/JobKind.ts"
import { Jobs } from "../jobs/Jobs.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { misfitOfField } from "../model/AttributeRules.ts"
import { NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, type EntityId, JobId } from "../model/Ids.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { Stores } from "../stores/Stores.ts"
import { type BulkChange, BulkInput, type BulkItem, decideStep } from "./BulkChange.ts"
import { BulkItemsRepo } from "./BulkItemsRepo.ts"

/** Maximum number of entities of one job, because one transaction begins it. */
export const maxBulkEntities = 100_000

/** Entities that one statement adds to a job. */
const stagedAtOnce = 10_000

/** The entities of a bulk change. Each id occurs once. */
export interface BulkSelection {
  readonly kind: EntityKind
  readonly ids: ReadonlyArray<EntityId>
}

/** The kind of job that changes the drafts of a selection. */
export const makeBulkKinds = Effect.gen(function* () {
  const changes = yield* CatalogChanges
  const definitions = yield* MetafieldDefinitions
  const importLock = yield* ImportLockRepo
  const repo = yield* BulkItemsRepo

  /** Writes the changes of these entities. The number of changed drafts is that of the revisions that rose. */
  const write = (accountId: AccountId, input: BulkInput, items: ReadonlyArray<BulkItem>) =>
    Effect.gen(function* () {
      const { change, kind } = input
      const { locked, remedy } = yield* Effect.orDie(
        changes.applyRemedy(
          items.map(({ id }) => id),
          (before: LockedCatalog) =>
            Effect.gen(function* () {
              const isGone = change.storeId !== null && !before.storeIds.includes(change.storeId)
              const rules = yield* definitions.rulesFor(accountId, kind, change._tag === "SetField" ? [change.key] : [])
              const step = isGone ? { changes: [], refused: [] } : decideStep(input, items, rules)(before)
              return { ...step, isGone, before: before.revisions }
            })
        )
      )
      if (remedy.isGone)
        return yield* new JobStopped({
          why: "The store is no longer linked.",
          next: "What was changed before stays changed. Link the store again, then resume the job."
        })
      const changed = items.filter(({ id }) => locked.revisions.get(id) !== remedy.before.get(id)).length
      return { changed, refused: remedy.refused }
    })

  return [
    anyKind({
      name: "bulk_change",
      input: BulkInput,
      // The number of processed entities. They are removed from the job, so the next step begins with the first remaining one.
      cursor: Schema.Int,
      sizes: { first: 10, max: 200 },
      step: ({ accountId, cursor, id, input, size }) =>
        Effect.gen(function* (): Effect.fn.Return<StepResult<number>, JobStopped, CurrentActor> {
          if (Option.isSome(yield* importLock.share(accountId)))
            return { _tag: "Wait", why: "the end of an import or of its review" }
          const items = yield* repo.take(accountId, id, size)
          if (items.length === 0) return { _tag: "Progress", cursor: null, done: 0 }
          const { changed, refused } = yield* write(accountId, input, items)
          return {
            _tag: "Progress",
            cursor: (cursor ?? 0) + items.length,
            done: items.length,
            counts: { changed, unchanged: items.length - changed - refused.length, refused: refused.length },
            errors: refused
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
  if (change._tag === "AddToStore") return `Add ${entities} to ${domain}`
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
    if (change.storeId !== null) yield* stores.find(change.storeId)
    if (change._tag === "AddToStore") return
    const rules = yield* definitions.rulesFor(accountId, kind, [change.key])
    const misfit = misfitOfField(kind, change.key, change.value ?? "", rules, [])
    if (misfit !== undefined) return yield* ValidationFailed.at(misfit.at, misfit.message)
  })

  const insert = ({ ids, kind }: BulkSelection, change: BulkChange, id: JobId) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      if (Option.isSome(yield* importLock.share(accountId))) return yield* new PimLocked()
      const domain = change.storeId === null ? undefined : (yield* stores.find(change.storeId)).domain
      const input: BulkInput = { kind, change }
      const job = yield* jobs.begin({
        id,
        kind: "bulk_change",
        title: titleOf(change, countedEntities(kind, ids.length), domain),
        subject: null,
        input,
        total: ids.length
      })
      let staged = 0
      for (const some of Arr.chunksOf(ids, stagedAtOnce))
        staged += yield* repo.stage(accountId, id, { kind, ids: some, after: staged })
      return staged === ids.length ? job : yield* new NotFound()
    })

  return {
    /** The rules of the fields that a change can set. */
    rules: Effect.flatMap(CurrentActor, ({ accountId }) => definitions.rules(accountId)),
    /**
     * Checks everything about a change that does not depend on the entities. NotFound: no such store is linked. ValidationFailed: an
     * unknown or read-only field, or a value that does not fit it; the path is `field` or `value`.
     */
    check,
    /**
     * Begins a job with these entities and the current revisions of their drafts. Later changes of a draft are not overwritten. `id`:
     * the id of the job; if the account has it already, that job is returned, so a form that is sent twice begins one job. Errors as for
     * `check`. NotFound: also an unknown entity, or one of another kind. ValidationFailed: also no or too many entities. PimLocked: an
     * import of the account is under review or being applied.
     */
    begin: Effect.fn("BulkJobs.begin")(function* (selection: BulkSelection, change: BulkChange, given?: JobId) {
      const { kind } = selection
      const ids = [...new Set(selection.ids)]
      if (ids.length === 0) return yield* ValidationFailed.at("", `no ${nouns[kind][0]} is selected`)
      if (ids.length > maxBulkEntities)
        return yield* ValidationFailed.at(
          "",
          `${countedEntities(kind, ids.length)} are selected: one job changes at most ${maxBulkEntities.toLocaleString("en")}`
        )
      yield* check(kind, change)
      const id = given ?? (yield* mintId(JobId))
      return yield* transaction
        .run(insert({ kind, ids }, change, id))
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
