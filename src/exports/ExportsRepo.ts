import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { Transaction } from "../database/Transaction.ts"
import { type CatalogLines, makeCatalogLines } from "./CatalogLines.sql.ts"
import { makeStoreProducts, type StoreProducts } from "./StoreProducts.sql.ts"

/** Reads of exports. All reads of one export are made inside `inSnapshot`. */
export class ExportsRepo extends Context.Tag("catalog/ExportsRepo")<
  ExportsRepo,
  CatalogLines &
    StoreProducts & {
      /** Runs the reads in a transaction that sees the catalog of one moment. Cannot be part of another transaction. */
      readonly inSnapshot: <A, E, R>(reads: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    }
>() {
  static readonly layer = Layer.effect(
    ExportsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const transaction = yield* Transaction
      const begin = orDie(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`)
      return {
        ...makeCatalogLines(sql),
        ...makeStoreProducts(sql),
        inSnapshot: (reads) => transaction.run(Effect.zipRight(begin, reads))
      }
    })
  )
}
