import type { Aggregate } from "../../catalog/Aggregate.ts"
import type { CatalogChange, Locked } from "../../drafts/CatalogChange.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import { isPublishedSince } from "./StoreVersion.ts"

/** The entities of the catalog that one product of the store matches. */
export interface ImportMatch {
  /** None: the product is new. */
  readonly product: Aggregate | undefined
  /** Files of its gallery that only unlinked stores show. They stay in the gallery. */
  readonly heldElsewhere?: ReadonlySet<EntityId>
  readonly variants: ReadonlyArray<Aggregate>
  /** The media files of the product and its variants, if the source names images by address. */
  readonly media: ReadonlyArray<Aggregate>
}

/** A field that was edited here and in the store since the last publish. Lists are JSON in a string. */
export interface FieldConflict {
  readonly entityId: EntityId
  /** An attribute's key, or `media_ids`, `variant_ids` or `members` if only the order differs. */
  readonly field: string
  /** null: the store never accepted a publish. */
  readonly accepted: string | null
  readonly draft: string
  readonly store: string
}

/** The changes of a conflict for each decision. */
export interface Decided {
  readonly _tag: "Decided"
  /** Number of the conflict: within its plan, and once staged within its import. */
  readonly conflict: number
  readonly take: ReadonlyArray<CatalogChange>
  readonly keep: ReadonlyArray<CatalogChange>
}

export type StagedChange = CatalogChange | Decided

/** The result of planning one product, collection or file. */
export interface ImportPlan {
  readonly outcome: "created" | "updated" | "unchanged"
  readonly conflicts: ReadonlyArray<FieldConflict>
  readonly changes: ReadonlyArray<StagedChange>
}

/** A product's plan, with the ids that the product and its variants have once it is applied. */
export interface ProductPlan extends ImportPlan {
  readonly entityId: EntityId
  /** In the order of the store's variants. */
  readonly variantIds: ReadonlyArray<EntityId>
}

/** Replaces each conflict with the changes of its decision. */
export const resolveConflicts = (
  changes: ReadonlyArray<StagedChange>,
  isKept: (conflict: number) => boolean
): ReadonlyArray<CatalogChange> =>
  changes.flatMap((change) =>
    change._tag !== "Decided" ? [change] : isKept(change.conflict) ? change.keep : change.take
  )

/**
 * Leaves out the acceptances and removals of entities that were published to the store after its reading began. The publish
 * is newer than the values that were read.
 */
export const omitOvertaken = (
  { aggregates }: Locked,
  changes: ReadonlyArray<CatalogChange>,
  begunAt: Timestamp
): ReadonlyArray<CatalogChange> =>
  changes.filter(
    (change) =>
      (change._tag !== "AcceptImported" && change._tag !== "RemoveFromStore") ||
      !isPublishedSince(aggregates.get(change.entityId), change.storeId, begunAt)
  )
