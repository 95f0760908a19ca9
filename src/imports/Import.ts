import { Schema } from "effect"
import { HistoryActor } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { ExportedMetafield } from "../model/Definition.ts"
import { EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { MirrorSummary } from "../storedata/MirrorRecords.ts"
import { ImportProblem } from "./ImportedProduct.ts"

/**
 * fetching -> reviewing -> applying -> applied | discarded | failed. The account is locked while reviewing and applying, and while
 * fetching if the catalog kept changing during the comparison.
 */
export const ImportPhase = Schema.Literal("fetching", "reviewing", "applying", "applied", "discarded", "failed")
export type ImportPhase = typeof ImportPhase.Type

/** The source of an import: a product export, or the store itself, read through its platform. */
export const ImportOrigin = Schema.Literal("csv", "refresh")
export type ImportOrigin = typeof ImportOrigin.Type

const counts = { created: Schema.Int, updated: Schema.Int, unchanged: Schema.Int }
const Counts = Schema.Struct(counts)
const noCounts = { created: 0, updated: 0, unchanged: 0 }
const laterCounts = Schema.optionalWith(Counts, { default: () => noCounts })
const laterCount = Schema.optionalWith(Schema.Int, { default: () => 0 })

/**
 * The result of reading the store after an export was applied. `entities`: number of entities whose values were accepted.
 * `error`: why the store could not be read. In that case no values are accepted.
 */
const StoreAnswer = Schema.Union(
  Schema.Struct({ entities: Schema.Int, begun_at: Timestamp }),
  Schema.Struct({ error: Schema.String })
)
export type StoreAnswer = typeof StoreAnswer.Type

/**
 * The planned or applied changes of an import.
 *
 * - `created`, `updated` and `unchanged` count products.
 * - `variants` and `images` count variants and images of the file; for a refresh, variants and media files of the store.
 * - `collections` and `files` count collections and media files. Only a refresh has them.
 * - `unlinked` counts entities that the store does not have any more.
 * - `beside` counts markets, definitions, metaobject entries and translations of a refresh; null for a file.
 * - `metafields` are the metafield columns of a file.
 * - `ignored_columns` are columns that are not imported; `filled_cells` counts the cells of a column that have a value.
 * - `problems` are the first problems of a refused file; `problem_count` is the number of all problems.
 * - `unpublished` counts active products that are not published to the online store. They are imported as drafts.
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
  /** null: this is not an applied CSV import, or the store has no platform that can be read. */
  answer: Schema.optionalWith(Schema.NullOr(StoreAnswer), { default: () => null }),
  ignored_columns: Schema.Array(Schema.Struct({ name: Schema.String, filled_cells: Schema.Int })),
  problems: Schema.optionalWith(Schema.Array(ImportProblem), { default: () => [] }),
  problem_count: laterCount,
  unpublished: laterCount
})

/** Ignored columns that matter most to a merchant. They are named first. */
const importantColumns = ["Product Category", "Cost per item", "Gift Card", "Variant Inventory Policy"]

/** At most `maxNamed` ignored columns that have values, the most important first, and the number of the others. */
export const columnsNotKept = (
  { ignored_columns }: ImportSummary,
  maxNamed: number
): { readonly named: ReadonlyArray<string>; readonly more: number } => {
  const filled = ignored_columns.filter(({ filled_cells }) => filled_cells > 0)
  const isImportant = ({ name }: { readonly name: string }) => importantColumns.includes(name)
  const ordered = [...filled.filter(isImportant), ...filled.filter((column) => !isImportant(column))]
  return {
    named: ordered.slice(0, maxNamed).map(({ filled_cells, name }) => `${name} (${filled_cells})`),
    more: Math.max(0, filled.length - maxNamed)
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

/** An import of one store's catalog. */
export const ImportRun = Schema.Struct({
  id: ImportId,
  storeId: StoreId,
  storeDomain: Schema.String,
  storeName: Schema.String,
  source: ImportOrigin,
  /** null: a refresh. */
  fileName: Schema.NullOr(Schema.String),
  phase: ImportPhase,
  summary: ImportSummary,
  /** Number of applied items, counted as in `plannedOf`. */
  applied: Schema.Int,
  /** Whether applying it is paused. The account is locked meanwhile. */
  isPaused: Schema.Boolean,
  /** Whether a process took it over, or it was paused. Then `applied` counts items from before `updatedAt`. */
  wasTakenOver: Schema.Boolean,
  /** Whether it locks the account: only this import changes its catalog. */
  isLocking: Schema.Boolean,
  /** Why the import failed, or why it was discarded automatically. */
  error: Schema.NullOr(Schema.String),
  /** The user who started the import; after acceptance, the user who accepted it. History names this user as author. */
  actor: HistoryActor,
  createdAt: Timestamp,
  updatedAt: Timestamp
})
export type ImportRun = typeof ImportRun.Type

/** The progress of reading an import. `total` null: unknown. `seconds`: time since the step began. */
export const ReadingProgress = Schema.Struct({
  step: Schema.Literal("checking", "fetching", "comparing"),
  done: Schema.Number,
  total: Schema.NullOr(Schema.Number),
  seconds: Schema.Number
})
export type ReadingProgress = typeof ReadingProgress.Type

/** Number of products, collections and files to be written, plus the number of entities to be unlinked. */
export const plannedOf = ({ collections, created, files, unlinked, updated }: ImportSummary): number =>
  created + updated + collections.created + collections.updated + files.created + files.updated + unlinked

/** Whether a refresh found an empty store that had entities before. Accepting it would unlink all of them. */
const findsNothing = ({ collections, files, unlinked, ...products }: ImportSummary): boolean =>
  unlinked > 0 && [products, collections, files].every((each) => each.created + each.updated + each.unchanged === 0)

/** The decision on a field that was edited in the catalog and in the store: keep the draft, or take the store's value. */
export const ConflictDecision = Schema.Literal("keep_draft", "take_store")
export type ConflictDecision = typeof ConflictDecision.Type

/** A field that was edited in the catalog and in the store since the store last accepted it. Lists are JSON in a string. */
export const ImportConflict = Schema.Struct({
  /** Number of the conflict within the import, from 1. */
  conflict: Schema.Int,
  entity_id: EntityId,
  entity_type: EntityKind,
  /** The entity's title in the catalog. */
  title: Schema.String,
  store_id: StoreId,
  store_domain: Schema.String,
  /** An attribute's key. `media_ids`, `variant_ids` or `members`: the order of that list differs. */
  field: Schema.String,
  /** null: the store has not accepted any values of the entity yet. */
  accepted: Schema.NullOr(Schema.String),
  draft_value: Schema.String,
  store_value: Schema.String,
  /** Of `media_ids`: the names of the pictures in these lists, by id. Left out are pictures that the import would create. */
  pictures: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { exact: true }),
  decision: Schema.NullOr(ConflictDecision),
  decided_by: Schema.NullOr(HistoryActor),
  decided_at: Schema.NullOr(Timestamp)
})
export type ImportConflict = typeof ImportConflict.Type

/** Decisions of a person on single conflicts, by the number of the conflict. */
export interface Choices {
  /** A new decision replaces an earlier one. */
  readonly decisions: ReadonlyMap<number, ConflictDecision>
  /**
   * The decisions that the person saw; null: undecided. If a decision has changed since, and is not the person's
   * choice, everything is refused with DecidedMeanwhile.
   */
  readonly seen: ReadonlyMap<number, ConflictDecision | null>
}

/** The number of conflicts with each decision. */
export const DecisionTally = Schema.Struct({
  undecided: Schema.Int,
  /** The numbers of the first undecided conflicts. */
  first: Schema.Array(Schema.Int),
  keep_draft: Schema.Int,
  take_store: Schema.Int,
  /** A digest of all decisions: another set of decisions has another digest. */
  digest: Schema.String
})
export type DecisionTally = typeof DecisionTally.Type

/** One decision for all conflicts of an import. `choices` come first. */
export interface BulkDecision {
  readonly decision: ConflictDecision
  readonly choices: Choices
  /**
   * The digest of the decisions that the person allows to be replaced. If it is missing, only undecided conflicts are
   * decided. If other decisions would be replaced now, everything is refused with DecidedMeanwhile.
   */
  readonly replaces?: string | undefined
}

/** The choices with which a person accepts an import. */
export interface Acceptance extends Partial<Choices> {
  /** The decision on all other undecided conflicts. If it is missing and a conflict is undecided, the acceptance is refused. */
  readonly rest?: ConflictDecision | undefined
  /** Confirms the unlinking of entities that the store does not have any more. */
  readonly confirmsRemovals?: boolean
}

/** Unlinking more entities than this needs a confirmation. */
const maxUnconfirmedRemovals = 10

/** Whether a person must confirm the removals: more than the maximum, or every entity of the store. */
export const isRemovalToConfirm = (summary: ImportSummary): boolean =>
  summary.unlinked > maxUnconfirmedRemovals || findsNothing(summary)

/** Maximum number of conflicts that a refused acceptance names. */
export const maxNamedConflicts = 10

/**
 * These conflicts got other decisions than the person chose, after the person had seen them. Without conflicts: the
 * decisions that the person wanted to replace have changed. Nothing was written.
 */
export class DecidedMeanwhile extends Schema.TaggedError<DecidedMeanwhile>()("DecidedMeanwhile", {
  conflicts: Schema.Array(Schema.Int)
}) {
  override get message() {
    return this.conflicts.length === 0
      ? "other decisions were made meanwhile"
      : `these conflicts were decided meanwhile: ${this.conflicts.join(", ")}`
  }
}

/** The acceptance leaves conflicts undecided or removals unconfirmed. Nothing was written. */
export class ReviewIncomplete extends Schema.TaggedError<ReviewIncomplete>()("ReviewIncomplete", {
  id: ImportId,
  storeDomain: Schema.String,
  /** Number of undecided conflicts. */
  undecided: Schema.Int,
  /** Numbers of the first undecided conflicts. */
  conflicts: Schema.Array(Schema.Int),
  /** Number of removals that are not confirmed. */
  removals: Schema.Int
}) {
  override get message() {
    return [
      ...(this.undecided > 0 ? [`${this.undecided} conflicts are undecided`] : []),
      ...(this.removals > 0
        ? [`the removal of ${this.removals} entities from ${this.storeDomain} is not confirmed`]
        : [])
    ].join("; ")
  }
}

/** Explains the lock of the account and how to end it, for the command line. */
export const whyLocked = ({ id, isPaused, phase }: Pick<ImportRun, "id" | "isPaused" | "phase">): string =>
  isPaused
    ? `import ${id} is paused while it is applied: continue it with \`catalog jobs resume ${id}\` or end it with \`catalog jobs cancel ${id}\` first`
    : phase === "applying"
      ? `import ${id} is being applied: see \`catalog import show ${id}\`, and try again when it is done`
      : phase === "fetching"
        ? `import ${id} is being compared with the catalog: see \`catalog import show ${id}\`, and accept or discard it when it is under review`
        : `import ${id} is under review: accept it with \`catalog import accept ${id}\` or discard it with \`catalog import discard ${id}\` first`
