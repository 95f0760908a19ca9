import { Schema } from "effect"
import { everySearchedKey } from "../catalog/SearchedFields.ts"
import { searchText } from "../catalog/SearchText.ts"
import { type CatalogChange, ownersOf } from "../drafts/CatalogChange.ts"
import { AccountId, type EntityId, ImportId } from "../model/Ids.ts"
import type { FieldConflict, StagedChange } from "./plan/ImportPlan.ts"

/** The lists of a review: new and changed products, collections and files, and entities that the store does not have any more. */
export const ReviewList = Schema.Literal("new", "changed", "leaving")
export type ReviewList = typeof ReviewList.Type

/** The staged changes of one product, collection or file, or of one entity to be unlinked. */
export interface StagedItem {
  readonly ordinal: number
  /** Number of entities that the changes write. */
  readonly entities: number
  readonly changes: ReadonlyArray<StagedChange>
  /** Missing: no list shows the item. */
  readonly list?: ReviewList
}

/** All changes, whatever is decided. */
export const listChanges = (changes: ReadonlyArray<StagedChange>): ReadonlyArray<CatalogChange> =>
  changes.flatMap((change) => (change._tag === "Decided" ? [...change.take, ...change.keep] : [change]))

const keysOf = (change: CatalogChange): ReadonlyArray<string> => {
  switch (change._tag) {
    case "SetAttributes":
    case "SetOverrides":
      return Object.keys(change.values)
    case "SetGallery":
      return ["media_ids"]
    case "OrderVariants":
      return ["variant_ids"]
    default:
      return []
  }
}

/**
 * The entities that the items change, each with the keys of the values that are set. The keys of a new entity are left out. If a
 * conflict is undecided or the draft is kept, the store's value counts too.
 */
export const listChangedKeys = (items: ReadonlyArray<StagedItem>): ReadonlyMap<EntityId, ReadonlySet<string>> => {
  const keys = new Map<EntityId, Set<string>>()
  const changes = items.flatMap((item) => item.changes)
  for (const change of changes.flatMap((each) => (each._tag === "Decided" ? each.take : [each]))) {
    const [owner] = ownersOf(change)
    if (owner === undefined) continue
    keys.set(owner, new Set([...(keys.get(owner) ?? []), ...keysOf(change)]))
  }
  return keys
}

type WithValues = Extract<CatalogChange, { readonly _tag: "CreateEntity" | "SetAttributes" | "SetOverrides" }>

/** Whether the change writes values. */
export const hasValues = (change: StagedChange): change is WithValues =>
  change._tag === "CreateEntity" || change._tag === "SetAttributes" || change._tag === "SetOverrides"

/** Maximum number of an item's entities that pages show and searches read. A product may have thousands of variants. */
export const maxShownEntities = 10

/** By what a search finds an item: the new values, and entities, whose values in the catalog are searched too. */
export const searchedIn = (
  item: StagedItem
): { readonly words: string; readonly entityIds: ReadonlyArray<EntityId> } => {
  const changes = listChanges(item.changes)
  return {
    words: searchText(
      changes.filter(hasValues).flatMap(({ values }) => everySearchedKey.flatMap((key) => values[key] ?? []))
    ),
    entityIds: [...new Set(changes.flatMap(ownersOf))].slice(0, maxShownEntities)
  }
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
const LeasedRun = Schema.Struct({
  accountId: AccountId,
  id: ImportId,
  phase: Schema.Literal("fetching", "applying"),
  takeovers: Schema.Int
})
export type LeasedRun = typeof LeasedRun.Type

/**
 * An import that this process has taken over. `interruptions`: the number of its takeovers after a process was lost, since the last batch
 * that was saved.
 */
export const TakenRun = Schema.Struct({ ...LeasedRun.fields, interruptions: Schema.Int })
export type TakenRun = typeof TakenRun.Type
