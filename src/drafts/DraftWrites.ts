import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Statement } from "@effect/sql/Statement"
import { type Context, Effect, Schema } from "effect"
import { insertAll } from "../database/Inserts.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId } from "../model/Ids.ts"
import { plusMicros } from "../model/Timestamp.ts"
import { emptyNote, noteOf } from "./ChangeNote.ts"
import { makeInsertNote, makeInsertNoteAfter, type NoteRows, noteRows, RaisedCounters } from "./ChangeNotes.sql.ts"
import { publishedFrom } from "./ChangePlan.ts"
import type { DraftsRepo } from "./DraftsRepo.ts"
import { makeWriteParts, runUnlessEmpty } from "./EntityParts.sql.ts"
import { Counters, makeEntityRows } from "./EntityRows.sql.ts"
import { derivedUpdates, placesOf, risenUpdates } from "./PlanRows.ts"

/** Writes plans. */
export const makeDraftWrites = (
  sql: SqlClient,
  isDistributed: boolean
): Pick<Context.Tag.Service<DraftsRepo>, "raise" | "save" | "saveStamped"> => {
  const { insertEntities, selectCounters, updateEntities } = makeEntityRows(sql)
  const writeParts = makeWriteParts(sql)
  const insertNote = makeInsertNote(sql)
  const insertNoteAfter = makeInsertNoteAfter(sql)

  const raiseAccount = (accountId: string, count: number, { changes }: NoteRows) => sql`
    UPDATE account_state a
    SET version = a.version + 1,
        feed_seq = a.feed_seq + ${changes},
        change_seq = a.change_seq + ${count},
        last_changed_at = ${
          count === 0
            ? sql`a.last_changed_at`
            : sql`plus_micros(greatest(plus_micros(a.last_changed_at, 1), app_now()), ${count}::integer - 1)`
        }
    WHERE a.account_id = ${accountId}`

  /**
   * Raises the account and then inserts the note. On a cluster, one statement for both would run in five pieces, because Citus does
   * not put the names of shards into a WITH query of an INSERT; its last piece read all entities of the account.
   */
  const raiseInSteps = <Raised extends RaisedCounters, I>(
    accountId: AccountId,
    raise: Statement<object>,
    note: NoteRows,
    row: Schema.Schema<Raised, I>
  ) =>
    Effect.gen(function* () {
      const [raised] = yield* Effect.orDie(Effect.flatMap(raise, Schema.decodeUnknown(Schema.NonEmptyArray(row))))
      yield* insertNoteAfter(accountId, note, raised)
      return raised
    })

  const raiseAndNote = SqlSchema.single({
    Request: Schema.Struct({
      accountId: Schema.typeSchema(AccountId),
      count: Schema.Int,
      note: Schema.Any as Schema.Schema<NoteRows>
    }),
    Result: Counters,
    execute: ({ accountId, count, note }) => sql`
      WITH raised AS (
        ${raiseAccount(accountId, count, note)}
        RETURNING a.version, a.feed_seq - ${note.changes} AS feed_before, a.change_seq - ${count} AS seq_before,
                  stamp_text(plus_micros(a.last_changed_at, -(${count}::integer))) AS time_before
      ), noted AS (${insertNote(accountId, note)})
      SELECT raised.seq_before AS "seqBefore", raised.time_before AS "timeBefore" FROM raised`
  })

  const raiseFirst = (accountId: AccountId, count: number, note: NoteRows) =>
    isDistributed
      ? raiseInSteps(
          accountId,
          sql`
            ${raiseAccount(accountId, count, note)}
            RETURNING a.version, a.feed_seq - ${note.changes} AS "feedBefore", a.change_seq - ${count} AS "seqBefore",
                      stamp_text(plus_micros(a.last_changed_at, -(${count}::integer))) AS "timeBefore"`,
          note,
          Schema.Struct({ ...RaisedCounters.fields, ...Counters.fields })
        )
      : raiseAndNote({ accountId, count, note })

  return {
    save: (accountId, plan) =>
      Effect.gen(function* () {
        yield* runUnlessEmpty(plan.created, (rows) => insertAll(insertEntities(accountId, rows), rows.length))
        yield* runUnlessEmpty(derivedUpdates(plan), (rows) => updateEntities(accountId, rows, selectCounters()))
        yield* writeParts(accountId, plan)
      }).pipe(orDie),
    raise: (accountId, plan, changed = plan === undefined ? emptyNote : noteOf(plan)) => {
      const note = noteRows(changed)
      const updates = plan === undefined ? [] : risenUpdates(plan)
      const count = plan?.stamped.length ?? 0
      const raised = raiseAccount(accountId, count, note)
      const counters = sql`
        ${raised}
        RETURNING a.version, a.feed_seq - ${note.changes} AS feed_before, a.change_seq - ${count} AS seq_before,
                  plus_micros(a.last_changed_at, -(${count}::integer)) AS time_before`
      if (isDistributed && note.rows.length > 0) {
        const raise =
          updates.length > 0
            ? sql`
              ${updateEntities(accountId, updates, counters)}
              RETURNING raised.version, raised.feed_before AS "feedBefore"`
            : sql`${raised} RETURNING a.version, a.feed_seq - ${note.changes} AS "feedBefore"`
        return orDie(Effect.asVoid(raiseInSteps(accountId, raise, note, RaisedCounters)))
      }
      const statement =
        updates.length > 0
          ? updateEntities(accountId, updates, counters, insertNote(accountId, note))
          : note.rows.length === 0
            ? raised
            : sql`WITH raised AS (${counters}), noted AS (${insertNote(accountId, note)}) SELECT FROM raised`
      return orDie(Effect.asVoid(statement))
    },
    saveStamped: (accountId, planned) =>
      Effect.gen(function* () {
        const counters = yield* Effect.orDie(raiseFirst(accountId, planned.stamped.length, noteRows(noteOf(planned))))
        const plan = publishedFrom(planned, plusMicros(counters.timeBefore, planned.stamped.length))
        const created = new Set(plan.created.map(({ id }) => id))
        const updates = [...derivedUpdates(plan), ...risenUpdates(plan).filter(({ id }) => !created.has(id))]
        yield* runUnlessEmpty(plan.created, (rows) =>
          insertAll(insertEntities(accountId, rows, { places: placesOf(plan), counters }), rows.length)
        )
        yield* runUnlessEmpty(updates, (rows) => updateEntities(accountId, rows, selectCounters(counters)))
        yield* writeParts(accountId, plan)
      }).pipe(orDie)
  }
}
