import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Option, Schema } from "effect"
import { discardRows, findOne } from "../database/Rows.ts"
import type { AttemptKind } from "./UsersRepo.ts"

/** SQL statements that count attempts per subject in time windows. */
export const makeAttemptStatements = (sql: SqlClient) => {
  // A window that begins in the future counts as ended: the clock was set back after it began.
  const isOpen = (seconds: number) => sql`a.since > app_now() - make_interval(secs => ${seconds})
    AND a.since < app_now() + make_interval(secs => ${seconds})`

  const countAttempt = findOne(Schema.Struct({ waitSeconds: Schema.Int }))(
    (kind: string, subject: string, maxAttempts: number, windowSeconds: number) => sql`
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
  )

  return {
    /**
     * Counts an attempt in one step. Returns 0 if it is allowed, else the seconds until the window ends. An attempt that is
     * not allowed is not counted.
     */
    countAttempt: (
      kind: AttemptKind,
      subject: string,
      { maxAttempts, windowSeconds }: { readonly maxAttempts: number; readonly windowSeconds: number }
    ) =>
      Effect.map(countAttempt(kind, subject, maxAttempts, windowSeconds), (found) =>
        // No row: another transaction has just inserted it and has not committed yet, so the window has just begun.
        Option.match(found, { onNone: () => windowSeconds, onSome: ({ waitSeconds }) => waitSeconds })
      ),
    clearAttempts: (kind: AttemptKind, subject: string) =>
      sql`DELETE FROM attempt WHERE kind = ${kind} AND subject = decode(${subject}, 'hex')`.pipe(discardRows),
    /** Subtracts one attempt from the count, because it succeeded. */
    uncountAttempt: (kind: AttemptKind, subject: string) =>
      sql`
        UPDATE attempt SET attempts = attempts - 1
        WHERE kind = ${kind} AND subject = decode(${subject}, 'hex') AND attempts > 0`.pipe(discardRows)
  }
}
