import type { Aggregate } from "../../catalog/Aggregate.ts"
import type { CatalogChange, LockedCatalog } from "../../drafts/CatalogChange.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import { isPublishedSince } from "./StoreVersion.ts"

export interface MatchedFile {
  readonly file: Aggregate
  readonly isShared: boolean
  readonly isNew: boolean
}

/** How the other products of the source and of the account use the addresses of images. */
export interface ImageAddresses {
  /** Whether a product of the source names the address. */
  readonly isNamed: (address: string) => boolean
  /**
   * A file of the account with this address on the store. `isShared`: other products show it, or will after the import. `isNew`: no
   * earlier product adds it to the store.
   */
  readonly findFile: (address: string) => MatchedFile | undefined
  /**
   * The new file of an address that several products of the source name. `isNew`: no earlier product creates it. undefined: only one
   * product names the address.
   */
  readonly share: (address: string) => { readonly id: EntityId; readonly isNew: boolean } | undefined
}

/** The entities of the catalog that one product of the store matches. */
export interface ImportMatch {
  /** undefined: the product is new. */
  readonly product: Aggregate | undefined
  /** Files of the product's gallery that an unlinked store shows. They stay in the gallery when linked stores drop them. */
  readonly heldElsewhere?: ReadonlySet<EntityId>
  readonly variants: ReadonlyArray<Aggregate>
  /** The media files of the product and its variants, if the source names images by address. */
  readonly media: ReadonlyArray<Aggregate>
  /** Those of `media` that another product shows too. */
  readonly sharedMedia?: ReadonlySet<EntityId>
  readonly addresses?: ImageAddresses
}

/** A field that was edited in the catalog and in the store since the store last accepted it. Lists are JSON in a string. */
export interface FieldConflict {
  readonly entityId: EntityId
  /** An attribute's key. `media_ids`, `variant_ids` or `members`: the order of that list differs. */
  readonly field: string
  /** null: the store has not accepted any values of the entity yet. */
  readonly accepted: string | null
  readonly draft: string
  readonly store: string
}

/** A conflict and its changes for each decision: `take` the store's value, or `keep` the draft. */
export interface Decided {
  readonly _tag: "Decided"
  /** Index of the conflict in the plan, from 0; once it is staged, its number in the import, from 1. */
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

/** The plan of a product, with the ids that the product and its variants get by it. */
export interface ProductPlan extends ImportPlan {
  readonly entityId: EntityId
  /** In the order of the store's variants. */
  readonly variantIds: ReadonlyArray<EntityId>
}

/** Replaces each conflict with the changes that the decision needs. */
export const resolveConflicts = (
  changes: ReadonlyArray<StagedChange>,
  isKept: (conflict: number) => boolean
): ReadonlyArray<CatalogChange> =>
  changes.flatMap((change) =>
    change._tag !== "Decided" ? [change] : isKept(change.conflict) ? change.keep : change.take
  )

/**
 * Leaves out accepted values and removals of entities that were published to the store after its reading began, because
 * the publish is newer than the values that were read.
 */
export const omitOvertaken = (
  { aggregates }: LockedCatalog,
  changes: ReadonlyArray<CatalogChange>,
  begunAt: Timestamp
): ReadonlyArray<CatalogChange> =>
  changes.filter(
    (change) =>
      (change._tag !== "AcceptImported" && change._tag !== "RemoveFromStore") ||
      !isPublishedSince(aggregates.get(change.entityId), change.storeId, begunAt)
  )
