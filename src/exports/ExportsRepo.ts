import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option, Record } from "effect"
import { isDistributed } from "../database/Distribution.ts"
import { makeRunSpare } from "../database/SpareTransaction.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Transaction } from "../database/Transaction.ts"
import { type CatalogLines, makeCatalogLines } from "./CatalogLines.sql.ts"
import { makeSelected, type Selected } from "./Selected.sql.ts"
import { makeStoreProducts, type StoreProducts } from "./StoreProducts.sql.ts"

export type ExportReads = CatalogLines & Selected & StoreProducts

/**
 * Runs a read of an export. While another one runs, it uses a second connection that sees the same moment, if there is a spare one.
 * Otherwise it waits for the export's own connection.
 */
type ReadBeside = <A, E, R>(read: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Reads of exports. All reads of one export are made inside `inSnapshot`. */
export class ExportsRepo extends Context.Tag("catalog/ExportsRepo")<
  ExportsRepo,
  ExportReads & {
    /** Runs the reads in a transaction that sees the catalog of one moment. Cannot be part of another transaction. */
    readonly inSnapshot: <A, E, R>(reads: (beside: ReadBeside) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {
  static readonly layer = Layer.effect(
    ExportsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const transaction = yield* Transaction
      const runSpare = yield* makeRunSpare
      const begin = orDie(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`)
      const exportSnapshot = Effect.map(
        orDie(sql<{ readonly id: string }>`SELECT pg_export_snapshot() AS id`),
        ([row]) => row?.id ?? ""
      )
      const importSnapshot = (id: string) =>
        orDie(sql.unsafe(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '${id}'`))

      /** A snapshot of the coordinator of a cluster does not apply to its nodes, so there the reads run one after the other. */
      const makeBeside = Effect.gen(function* () {
        const own = yield* Effect.makeSemaphore(1)
        const inTurn: ReadBeside = own.withPermits(1)
        if (runSpare === undefined || (yield* isDistributed)) return inTurn
        const id = yield* exportSnapshot
        const beside: ReadBeside = (read) =>
          Effect.flatMap(
            own.withPermitsIfAvailable(1)(read),
            Option.match({
              onSome: Effect.succeed,
              onNone: () =>
                Effect.flatMap(
                  runSpare(Effect.zipRight(importSnapshot(id), read)),
                  Option.match({ onSome: Effect.succeed, onNone: () => inTurn(read) })
                )
            })
          )
        return beside
      }).pipe(Effect.provideService(SqlClient.SqlClient, sql))

      return {
        ...makeCatalogLines(sql),
        ...makeSelected(sql),
        ...makeStoreProducts(sql),
        inSnapshot: (reads) => transaction.run(Effect.zipRight(begin, Effect.flatMap(makeBeside, reads)))
      }
    })
  )
}

/** The reads of the repository, each of them run with `beside`. */
export const readsBeside = (
  { inSnapshot: _, ...reads }: Context.Tag.Service<ExportsRepo>,
  beside: ReadBeside
): ExportReads => {
  type Read = (...parameters: ReadonlyArray<never>) => Effect.Effect<unknown>
  return Record.map(
    reads,
    (read: Read): Read =>
      (...parameters) =>
        beside(read(...parameters))
  ) as ExportReads
}
