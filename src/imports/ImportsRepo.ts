import { Context, Effect, Layer } from "effect"
import { type ImportCleanupStatements, makeImportCleanupStatements } from "./ImportCleanup.sql.ts"
import { type ImportConflictStatements, makeImportConflictStatements } from "./ImportConflicts.sql.ts"
import { type ImportItemStatements, makeImportItemStatements } from "./ImportItems.sql.ts"
import { type ImportRunStatements, makeImportRunStatements } from "./ImportRuns.sql.ts"
import { makeProductMatchStatements, type ProductMatchStatements } from "./ProductMatches.sql.ts"

/** Imports, their staged changes and their conflicts in the database. */
export class ImportsRepo extends Context.Tag("catalog/ImportsRepo")<
  ImportsRepo,
  ImportRunStatements &
    ImportConflictStatements &
    ImportItemStatements &
    ImportCleanupStatements &
    ProductMatchStatements
>() {
  static readonly layer = Layer.effect(
    ImportsRepo,
    Effect.gen(function* () {
      return {
        ...(yield* makeImportRunStatements),
        ...(yield* makeImportConflictStatements),
        ...(yield* makeImportItemStatements),
        ...(yield* makeImportCleanupStatements),
        ...(yield* makeProductMatchStatements)
      }
    })
  )
}
