import { Context, Effect, Layer } from "effect"
import { makeImportCleanupStatements } from "./ImportCleanup.sql.ts"
import { makeImportConflictStatements } from "./ImportConflicts.sql.ts"
import { makeImportItemStatements } from "./ImportItems.sql.ts"
import { makeImportRunStatements } from "./ImportRuns.sql.ts"
import { makeProductMatchStatements } from "./ProductMatches.sql.ts"

const make = Effect.gen(function* () {
  return {
    ...(yield* makeImportRunStatements),
    ...(yield* makeImportConflictStatements),
    ...(yield* makeImportItemStatements),
    ...(yield* makeImportCleanupStatements),
    ...(yield* makeProductMatchStatements)
  }
})

/** Imports, their staged changes and their conflicts in the database. */
export class ImportsRepo extends Context.Tag("catalog/ImportsRepo")<ImportsRepo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(ImportsRepo, make)
}
