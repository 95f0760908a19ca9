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

/** Three more attempts, about 10, 20 and 40 ms apart: two transactions that met once should not meet again. */
const repeats = Schedule.jittered(Schedule.exponential("10 millis")).pipe(Schedule.intersect(Schedule.recurs(3)))

const settle = (cause: Cause.Cause<unknown>): Effect.Effect<never> =>
  Option.match(sqlErrorIn(cause), {
    onNone: () => Effect.failCause(cause as Cause.Cause<never>),
    onSome: (error) => {
      const kind = classify(error)
      return kind === "unavailable" || kind === "retry" ? dieUnavailable(error) : Effect.die(error)
    }
  })

/** The transaction of a request is a write; other work stays what it is. */
const asWrite = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Workload, (workload) =>
    workload === "request" ? Effect.provideService(effect, Workload, "write") : effect
  )

/**
 * Runs a program in one database transaction: all of its writes are visible together, or none.
 *
 * A program that loses to a concurrent one (40001, 40P01) is run again from its beginning, at most three times: it must
 * do nothing outside the database (`afterCommit` is for that). A program inside another's transaction is a savepoint of it, and is never repeated on
 * its own. Adds no error: dies with `Unavailable` when the database cannot serve or every attempt lost, with the
 * `SqlError` otherwise (a constraint checked at commit, for one).
 */
export class Transaction extends Context.Tag("catalog/Transaction")<
  Transaction,
  { readonly run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }
>() {
  static readonly layer = Layer.effect(
    Transaction,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      run: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (outer) =>
          Option.isSome(outer)
            ? sql.withTransaction(collectHooks(effect)).pipe(Effect.catchIf(isSqlError, Effect.die))
            : asWrite(
                sql
                  .withTransaction(collectHooks(effect))
                  .pipe(Effect.sandbox, Effect.retry({ while: mayRepeat, schedule: repeats }), Effect.catchAll(settle))
              )
        ).pipe(Effect.flatMap(releaseHooks))
    }))
  )
}
