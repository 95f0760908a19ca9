import { Effect } from "effect"
import { type CatalogChange, ownersOf } from "../drafts/CatalogChange.ts"
import type { AccountId, ImportId, StoreId } from "../model/Ids.ts"
import { type ImportSummary, nothingPlanned } from "./Import.ts"
import type { ImportPlan, StagedChange } from "./ImportPlan.ts"
import type { ImportsRepo, StagedConflict, StagedItem } from "./ImportsRepo.ts"

/**
 * How far an import is: bytes of the file while it is checked and compared, records while a store is read (how many there
 * are is not known: `total` 0) and compared, and what `plannedOf` counts while it is applied.
 */
export interface ImportProgress {
  readonly step: "checking" | "fetching" | "comparing" | "applying"
  readonly done: number
  readonly total: number
}

export type ReportProgress = (progress: ImportProgress) => Effect.Effect<void>

/** What an import will do to an account's catalog, and the account's version from before it was compared. */
export interface Compared {
  readonly version: number
  readonly summary: ImportSummary
}

/** Products, variants and files that are matched and planned together: a product may have thousands. */
export const partsAtOnce = 500

const changesIn = (changes: ReadonlyArray<StagedChange>): ReadonlyArray<CatalogChange> =>
  changes.flatMap((change) => (change._tag === "Decided" ? [...change.take, ...change.keep] : [change]))

const entitiesOf = (changes: ReadonlyArray<StagedChange>) => new Set(changesIn(changes).flatMap(ownersOf)).size

/** Which counts of a summary a plan belongs to. */
type Counted = "products" | "collections" | "files"

/** What an import stages, numbered through, and what it adds up to. */
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
    const raised = <A extends ImportSummary["files"]>(counts: A): A => ({ ...counts, [outcome]: counts[outcome] + 1 })
    this.summary =
      counted === "products" ? raised(this.summary) : { ...this.summary, [counted]: raised(this.summary[counted]) }
  }

  /** Stages plans in their order; those that change nothing take their number and no row. */
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
        if (changes.length > 0) items.push({ ordinal: this.ordinal, entities: entitiesOf(changes), changes })
        this.ordinal += 1
      }
      return this.write(items, conflicts)
    })
  }

  /** Stages that entities leave the store, each by itself. */
  unlink(changes: ReadonlyArray<CatalogChange>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.summary = { ...this.summary, unlinked: this.summary.unlinked + changes.length }
      return this.write(
        changes.map((change) => ({ ordinal: this.ordinal++, entities: 1, changes: [change] })),
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
