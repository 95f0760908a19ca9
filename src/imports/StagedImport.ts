import type { AccountId, ImportId } from "../model/Ids.ts"
import type { FieldConflict, StagedChange } from "./plan/ImportPlan.ts"

/** The staged changes of one product, collection or file, or of one entity to be unlinked. */
export interface StagedItem {
  readonly ordinal: number
  /** Number of entities that the changes write. */
  readonly entities: number
  readonly changes: ReadonlyArray<StagedChange>
}

/** First ordinal of the items that record what the store has after an export. The export's own items come before them. */
export const firstAnswer = 1_000_000_000

/** Whether `plannedOf` counts the item. It does not count items that record the store's values after an export. */
export const isPlanned = ({ ordinal }: StagedItem): boolean => firstAnswer > ordinal

/** A conflict. `ordinal` is the number of the conflict within the import, from 1. */
export interface StagedConflict extends FieldConflict {
  readonly ordinal: number
}

/**
 * An import that a process works on. `takeovers` identifies the lease: each takeover by another process adds one.
 */
export interface LeasedRun {
  readonly accountId: AccountId
  readonly id: ImportId
  readonly phase: "fetching" | "applying"
  readonly takeovers: number
}
