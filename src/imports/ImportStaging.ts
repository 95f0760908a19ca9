import { Effect } from "effect"
import { type CatalogChange, ownersOf } from "../drafts/CatalogChange.ts"
import type { AccountId, ImportId, StoreId } from "../model/Ids.ts"
import { type ImportSummary, nothingPlanned } from "./Import.ts"
import type { ImportsRepo } from "./ImportsRepo.ts"
import type { ImportPlan, StagedChange } from "./plan/ImportPlan.ts"
import { listChanges, type StagedConflict, type StagedItem } from "./StagedImport.ts"

/**
 * The progress of an import. The unit depends on the step: bytes of a file that is checked, rows of a file or records of a
 * store that is compared, or items as `plannedOf` counts them while applying. `total` is 0 while a store is read, because the number of
 * records is unknown.
 */
export interface ImportProgress {
  readonly step: "checking" | "fetching" | "comparing" | "applying"
  readonly done: number
  readonly total: number
}

export type ReportProgress = (progress: ImportProgress) => Effect.Effect<void>

/** The summary of the planned changes, and the account's version before the comparison. */
export interface Compared {
  readonly version: number
  readonly summary: ImportSummary
}

/** Number of products, variants and files that one batch plans. A single product may have more. */
export const partsAtOnce = 500

const entitiesOf = (changes: ReadonlyArray<StagedChange>) => new Set(listChanges(changes).flatMap(ownersOf)).size

/** The counter of the summary that a plan adds to. */
export type Counted = "products" | "collections" | "files"

/** Stages the plans of an import under ascending ordinals and counts them. */
export class ImportStaging {
  readonly repo: ImportsRepo["Type"]
  readonly accountId: AccountId
  readonly id: ImportId
  readonly storeId: StoreId
  summary: ImportSummary = nothingPlanned
  ordinal = 0

  constructor(repo: ImportsRepo["Type"], accountId: AccountId, id: ImportId, storeId: StoreId) {
    this.repo = repo
    this.accountId = accountId
    this.id = id
    this.storeId = storeId
  }

  count(counted: Counted, { outcome }: ImportPlan): void {
    const increment = <A extends ImportSummary["files"]>(counts: A): A => ({
      ...counts,
      [outcome]: counts[outcome] + 1
    })
    this.summary =
      counted === "products"
        ? increment(this.summary)
        : { ...this.summary, [counted]: increment(this.summary[counted]) }
  }

  /** Stages plans in their order. A plan without changes uses an ordinal but no row. */
  stage(plans: ReadonlyArray<readonly [Counted, ImportPlan]>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const items: Array<StagedItem> = []
      const conflicts: Array<StagedConflict> = []
      for (const [counted, plan] of plans) {
        this.count(counted, plan)
        const first = this.summary.conflicts + 1
        conflicts.push(...plan.conflicts.map((conflict, index) => ({ ...conflict, ordinal: first + index })))
        this.summary = { ...this.summary, conflicts: this.summary.conflicts + plan.conflicts.length }
        const changes = plan.changes.map((change) =>
          change._tag === "Decided" ? { ...change, conflict: first + change.conflict } : change
        )
        if (changes.length > 0)
          items.push({
            ordinal: this.ordinal,
            entities: entitiesOf(changes),
            changes,
            // An item that only records accepted values is in no list, because it changes nothing that a person sees.
            ...(plan.outcome !== "unchanged" && { list: plan.outcome === "created" ? "new" : "changed" })
          })
        this.ordinal += 1
      }
      return this.write(items, conflicts)
    })
  }

  /** Stages the removal of entities from the store, one item for each. */
  unlink(changes: ReadonlyArray<CatalogChange>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.summary = { ...this.summary, unlinked: this.summary.unlinked + changes.length }
      return this.write(
        changes.map((change) => ({ ordinal: this.ordinal++, entities: 1, changes: [change], list: "leaving" })),
        []
      )
    })
  }

  private write(items: ReadonlyArray<StagedItem>, conflicts: ReadonlyArray<StagedConflict>): Effect.Effect<void> {
    const { accountId, id, repo, storeId } = this
    return Effect.zipRight(
      items.length === 0 ? Effect.void : repo.stage(accountId, id, items),
      conflicts.length === 0 ? Effect.void : repo.stageConflicts(accountId, id, storeId, conflicts)
    )
  }
}
