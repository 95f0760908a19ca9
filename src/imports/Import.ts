import { Schema } from "effect"
import { HistoryActor } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { ExportedMetafield } from "../model/Definition.ts"
import { EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { MirrorSummary } from "../storedata/MirrorRecords.ts"
import { ImportProblem } from "./ImportedProduct.ts"

/** fetching -> reviewing -> applying -> applied | discarded | failed. The account is locked while reviewing and applying. */
export const ImportPhase = Schema.Literal("fetching", "reviewing", "applying", "applied", "discarded", "failed")
export type ImportPhase = typeof ImportPhase.Type

/** Where what is imported comes from: a product export, or the store itself, read through its platform. */
export const ImportOrigin = Schema.Literal("csv", "refresh")
export type ImportOrigin = typeof ImportOrigin.Type

const counts = { created: Schema.Int, updated: Schema.Int, unchanged: Schema.Int }
const Counts = Schema.Struct(counts)
const noCounts = { created: 0, updated: 0, unchanged: 0 }
const laterCounts = Schema.optionalWith(Counts, { default: () => noCounts })
const laterCount = Schema.optionalWith(Schema.Int, { default: () => 0 })

/**
 * What the platform of a store said after an export was applied to it. `entities`: how many of those that the export changed the
 * store holds; `error`: why it could not be read, so that nothing counts as accepted.
 */
const StoreAnswer = Schema.Union(
  Schema.Struct({ entities: Schema.Int, begun_at: Timestamp }),
  Schema.Struct({ error: Schema.String })
)
export type StoreAnswer = typeof StoreAnswer.Type

/**
 * What an import will do, or did: `created`, `updated` and `unchanged` count products. `variants` and `images`: those of a
 * file; of a refresh the store's variants and files. `collections` and `files` are those that a refresh brings by
 * themselves; `unlinked`, entities that the store does not hold any more; `beside`, what it has beside its catalog, null of a
 * file. `metafields`, those that a file has columns of. `ignored_columns` are not kept, with how many of
 * their cells say something. `problems`: the first of a file that was refused, `problem_count` how many there are.
 * `unpublished`: active products that are not published to the online store, which are imported as drafts.
 */
export const ImportSummary = Schema.Struct({
  ...counts,
  conflicts: Schema.Int,
  variants: Schema.Int,
  images: Schema.Int,
  collections: laterCounts,
  files: laterCounts,
  unlinked: laterCount,
  beside: Schema.optionalWith(Schema.NullOr(MirrorSummary), { default: () => null }),
  metafields: Schema.optionalWith(Schema.Array(ExportedMetafield), { default: () => [] }),
  /** Of an export for a store with a platform, once it is applied; else null. */
  answer: Schema.optionalWith(Schema.NullOr(StoreAnswer), { default: () => null }),
  ignored_columns: Schema.Array(Schema.Struct({ name: Schema.String, filled_cells: Schema.Int })),
  problems: Schema.optionalWith(Schema.Array(ImportProblem), { default: () => [] }),
  problem_count: laterCount,
  unpublished: laterCount
})

/** Columns of a product export that are not kept and mean most to a merchant: they are named first. */
const tellingColumns = ["Product Category", "Cost per item", "Gift Card", "Variant Inventory Policy"]

/** The columns with values that are not kept, the telling ones first: as many as are named, and how many more there are. */
export const columnsNotKept = (
  { ignored_columns }: ImportSummary,
  most: number
): { readonly named: ReadonlyArray<string>; readonly more: number } => {
  const filled = ignored_columns.filter(({ filled_cells }) => filled_cells > 0)
  const isTelling = ({ name }: { readonly name: string }) => tellingColumns.includes(name)
  const ordered = [...filled.filter(isTelling), ...filled.filter((column) => !isTelling(column))]
  return {
    named: ordered.slice(0, most).map(({ filled_cells, name }) => `${name} (${filled_cells})`),
    more: Math.max(0, filled.length - most)
  }
}
export type ImportSummary = typeof ImportSummary.Type

export const nothingPlanned: ImportSummary = {
  ...noCounts,
  collections: noCounts,
  files: noCounts,
  unlinked: 0,
  beside: null,
  conflicts: 0,
  variants: 0,
  images: 0,
  metafields: [],
  answer: null,
  ignored_columns: [],
  problems: [],
  problem_count: 0,
  unpublished: 0
}

/** An import of one store's catalog, and what became of it. */
export const ImportRun = Schema.Struct({
  id: ImportId,
  storeId: StoreId,
  storeDomain: Schema.String,
  source: ImportOrigin,
  /** Of an export. */
  fileName: Schema.NullOr(Schema.String),
  phase: ImportPhase,
  summary: ImportSummary,
  /** Of products, collections and files to be written, and entities to be unlinked, those that are. */
  applied: Schema.Int,
  /** Why it failed. */
  error: Schema.NullOr(Schema.String),
  /** The person who began it, and once it is accepted the one who accepted it: its changes are theirs. */
  actor: HistoryActor,
  createdAt: Timestamp,
  updatedAt: Timestamp
})
export type ImportRun = typeof ImportRun.Type

/** Everything of an import that is staged to be written, in the unit of `applied`. */
export const plannedOf = ({ collections, created, files, unlinked, updated }: ImportSummary): number =>
  created + updated + collections.created + collections.updated + files.created + files.updated + unlinked

/** Whether a refresh found nothing at all in a store that held something: all of that would be taken from it. */
export const findsNothing = ({ collections, files, unlinked, ...products }: ImportSummary): boolean =>
  unlinked > 0 && [products, collections, files].every((each) => each.created + each.updated + each.unchanged === 0)

/** What becomes of a field that was edited here and in the store: this draft stays, or the store's value is taken. */
export const ConflictDecision = Schema.Literal("keep_draft", "take_store")
export type ConflictDecision = typeof ConflictDecision.Type

/** A field that was edited here and in the store since the last publish; lists are JSON in a string. */
export const ImportConflict = Schema.Struct({
  /** Its number in its import, from 1. */
  conflict: Schema.Int,
  entity_id: EntityId,
  entity_type: EntityKind,
  /** The entity's name here. */
  title: Schema.String,
  store_id: StoreId,
  store_domain: Schema.String,
  /** An attribute's key, or `media_ids`, `variant_ids` or `members` where their order is meant. */
  field: Schema.String,
  /** null: the store never accepted a publish. */
  accepted: Schema.NullOr(Schema.String),
  draft_value: Schema.String,
  store_value: Schema.String,
  decision: Schema.NullOr(ConflictDecision),
  decided_by: Schema.NullOr(HistoryActor),
  decided_at: Schema.NullOr(Timestamp)
})
export type ImportConflict = typeof ImportConflict.Type

/** How a person accepts an import that is under review. */
export interface Acceptance {
  /** Decisions by the numbers of conflicts; each replaces an earlier one. */
  readonly decisions?: ReadonlyMap<number, ConflictDecision>
  /** Decides the conflicts that are undecided after that. Without it, an undecided conflict refuses the acceptance. */
  readonly rest?: ConflictDecision | undefined
  /** Confirms that the entities which are no longer in the store are taken off it. */
  readonly confirmsRemovals?: boolean
}

/** An import that takes more entities off its store than this is accepted only with an explicit confirmation. */
export const maxUnconfirmedRemovals = 10

/** Whether an import takes so much off its store, or all that the store had, that a person has to confirm it. */
export const isRemovalToConfirm = (summary: ImportSummary): boolean =>
  summary.unlinked > maxUnconfirmedRemovals || findsNothing(summary)

/** The conflicts that a refused acceptance names. */
export const maxNamedConflicts = 10

/** The acceptance leaves something open that only a person can decide: nothing was written. */
export class ReviewIncomplete extends Schema.TaggedError<ReviewIncomplete>()("ReviewIncomplete", {
  id: ImportId,
  storeDomain: Schema.String,
  /** How many conflicts have no decision. */
  undecided: Schema.Int,
  /** The numbers of the first of them. */
  conflicts: Schema.Array(Schema.Int),
  /** How many entities would be taken off the store without a confirmation; 0: none, or it was given. */
  removals: Schema.Int
}) {
  override get message() {
    return [
      ...(this.undecided > 0 ? [`${this.undecided} conflicts are undecided`] : []),
      ...(this.removals > 0 ? [`taking ${this.removals} entities off ${this.storeDomain} is not confirmed`] : [])
    ].join("; ")
  }
}

/** The import that locks its account, among the imports of that. */
export const holderOf = (runs: ReadonlyArray<ImportRun>): ImportRun | undefined =>
  runs.find(({ phase }) => phase === "reviewing" || phase === "applying")

/** The import that locks its account, and what ends the lock: for a person at the command line. */
export const whyLocked = ({ id, phase }: Pick<ImportRun, "id" | "phase">): string =>
  phase === "applying"
    ? `import ${id} is being applied: see \`catalog import show ${id}\`, and try again when it is done`
    : `import ${id} is under review: accept it with \`catalog import accept ${id}\` or discard it with \`catalog import discard ${id}\` first`
