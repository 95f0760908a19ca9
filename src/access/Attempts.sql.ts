import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import type { UsersRepo } from "./UsersRepo.ts"

type AttemptStatements = Pick<Context.Tag.Service<UsersRepo>, "clearAttempts" | "countAttempt" | "uncountAttempt">

/** SQL statements that count attempts per subject in time windows. */
export const makeAttemptStatements = (sql: SqlClient): AttemptStatements => {
  // A window that begins in the future counts as ended: the clock was set back after it began.
  const isOpen = (seconds: number) => sql`a.since > app_now() - make_interval(secs => ${seconds})
    AND a.since < app_now() + make_interval(secs => ${seconds})`

  const countAttempt = SqlSchema.findOne({
    Request: Schema.Struct({
      kind: Schema.String,
      subject: Schema.String,
      maxAttempts: Schema.Int,
      windowSeconds: Schema.Int
    }),
    Result: Schema.Struct({ waitSeconds: Schema.Int }),
    execute: ({ kind, maxAttempts, subject, windowSeconds }) => sql`
      WITH counted AS (
        INSERT INTO attempt AS a (kind, subject) VALUES (${kind}, decode(${subject}, 'hex'))
        ON CONFLICT (kind, subject) DO UPDATE SET
          attempts = CASE WHEN ${isOpen(windowSeconds)} THEN a.attempts + 1 ELSE 1 END,
          since = CASE WHEN ${isOpen(windowSeconds)} THEN a.since ELSE app_now() END
        WHERE a.attempts < ${maxAttempts} OR NOT (${isOpen(windowSeconds)})
        RETURNING 0 AS "waitSeconds"
      )
      SELECT "waitSeconds" FROM counted
      UNION ALL
      SELECT least(${windowSeconds}::int,
                   greatest(1, ceil(extract(epoch FROM since + make_interval(secs => ${windowSeconds}) - app_now()))))::int
      FROM attempt
      WHERE kind = ${kind} AND subject = decode(${subject}, 'hex') AND NOT EXISTS (SELECT FROM counted)`
  })

  return {
    countAttempt: (kind, subject, limits) =>
      Effect.map(orDie(countAttempt({ kind, subject, ...limits })), (found) =>
        // No row: another transaction has just inserted it and has not committed yet, so the window has just begun.
        Option.match(found, { onNone: () => limits.windowSeconds, onSome: ({ waitSeconds }) => waitSeconds })
      ),
    clearAttempts: (kind, subject) =>
      sql`DELETE FROM attempt WHERE kind = ${kind} AND subject = decode(${subject}, 'hex')`.pipe(Effect.asVoid, orDie),
    uncountAttempt: (kind, subject) =>
      sql`
        UPDATE attempt SET attempts = attempts - 1
        WHERE kind = ${kind} AND subject = decode(${subject}, 'hex') AND attempts > 0`.pipe(Effect.asVoid, orDie)
  }
}
