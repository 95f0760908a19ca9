import { Schema } from "effect"
import { ImportId, StoreId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** fetching -> reviewing -> applying -> applied | discarded | failed. The account is locked while reviewing and applying. */
export const ImportPhase = Schema.Literal("fetching", "reviewing", "applying", "applied", "discarded", "failed")
export type ImportPhase = typeof ImportPhase.Type

/** What an import will do, or did, counted in products; columns that are not kept, with how many of their cells say something. */
export const ImportSummary = Schema.Struct({
  created: Schema.Int,
  updated: Schema.Int,
  unchanged: Schema.Int,
  conflicts: Schema.Int,
  variants: Schema.Int,
  images: Schema.Int,
  ignored_columns: Schema.Array(Schema.Struct({ name: Schema.String, filled_cells: Schema.Int }))
})
export type ImportSummary = typeof ImportSummary.Type

export const noProducts: ImportSummary = {
  created: 0,
  updated: 0,
  unchanged: 0,
  conflicts: 0,
  variants: 0,
  images: 0,
  ignored_columns: []
}

/** An import of one store's catalog, and what became of it. */
export const ImportRun = Schema.Struct({
  id: ImportId,
  storeId: StoreId,
  storeDomain: Schema.String,
  fileName: Schema.String,
  phase: ImportPhase,
  summary: ImportSummary,
  /** Products of those to be written that are written. */
  applied: Schema.Int,
  /** Why it failed. */
  error: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  updatedAt: Timestamp
})
export type ImportRun = typeof ImportRun.Type

/** The import that locks its account, and what ends the lock: for a person at the command line. */
export const whyLocked = ({ id, phase }: Pick<ImportRun, "id" | "phase">): string =>
  phase === "applying"
    ? `import ${id} is being applied: see \`catalog import show ${id}\`, and try again when it is done`
    : `import ${id} is under review: accept it with \`catalog import accept ${id}\` or discard it with \`catalog import discard ${id}\` first`
