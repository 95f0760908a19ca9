import { SqlClient } from "@effect/sql"
import type { SqlError } from "@effect/sql/SqlError"
import { Cause, Context, Effect, Layer, Option, Schedule } from "effect"
import { collectHooks, releaseHooks } from "./CommitHooks.ts"
import { Workload } from "./Deadlines.ts"
import { classify, dieUnavailable, isSqlError } from "./SqlErrors.ts"

const sqlErrorIn = (cause: Cause.Cause<unknown>): Option.Option<SqlError> =>
  Cause.find(cause, (part) => {
    const error = part._tag === "Fail" ? part.error : part._tag === "Die" ? part.defect : undefined
    return isSqlError(error) ? Option.some(error) : Option.none()
  })

const mayRepeat = (cause: Cause.Cause<unknown>): boolean =>
  Option.exists(sqlErrorIn(cause), (error) => classify(error) === "retry")

/** Three more attempts, after about 10, 20 and 40 ms. Jitter keeps two transactions from conflicting again. */
const repeats = Schedule.jittered(Schedule.exponential("10 millis")).pipe(Schedule.intersect(Schedule.recurs(3)))

const settle = (cause: Cause.Cause<unknown>): Effect.Effect<never> =>
  Option.match(sqlErrorIn(cause), {
    onNone: () => Effect.failCause(cause as Cause.Cause<never>),
    onSome: (error) => {
      const kind = classify(error)
      return kind === "unavailable" || kind === "retry" ? dieUnavailable(error) : Effect.die(error)
    }
  })

/** A transaction of a request is a write. Other workloads do not change. */
const asWrite = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Workload, (workload) =>
    workload === "request" ? Effect.provideService(effect, Workload, "write") : effect
  )

/** `Transaction.run`, for repositories whose statements belong to transactions of their own. */
export const makeRunTransaction =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (outer) =>
      Option.isSome(outer)
        ? sql.withTransaction(collectHooks(effect)).pipe(Effect.catchIf(isSqlError, Effect.die))
        : asWrite(
            sql
              .withTransaction(collectHooks(effect))
              .pipe(Effect.sandbox, Effect.retry({ while: mayRepeat, schedule: repeats }), Effect.catchAll(settle))
          )
    ).pipe(Effect.flatMap(releaseHooks))

/**
 * Runs a program in one database transaction.
 *
 * A program that conflicts with a concurrent one (40001, 40P01) is run again, at most three times, so it must have no effects
 * outside the database (use `afterCommit` for those). A nested transaction is a savepoint, and is not repeated by itself. Adds no
 * error: dies with `Unavailable` when the database is unavailable or every attempt conflicted, otherwise with the `SqlError`, for
 * example of a constraint that is checked at commit.
 */
export class Transaction extends Context.Tag("catalog/Transaction")<
  Transaction,
  { readonly run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }
>() {
  static readonly layer = Layer.effect(
    Transaction,
    Effect.map(SqlClient.SqlClient, (sql) => ({ run: makeRunTransaction(sql) }))
  )
}
