import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { insertAll } from "../database/Inserts.ts"
import { findSingle } from "../database/Rows.ts"
import { orDie, referenceAsConflict, uniqueAsConflict } from "../database/SqlErrors.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import { plusMicros } from "../model/Timestamp.ts"
import { giveWay } from "../runtime/Pause.ts"
import type { Plan } from "./CatalogChange.ts"
import { emptyNote, noteOf } from "./ChangeNote.ts"
import { makeInsertNote, makeInsertNoteAfter, type NoteRows, noteRows, RaisedCounters } from "./ChangeNotes.sql.ts"
import type { DraftsRepo } from "./DraftsRepo.ts"
import { makeWriteParts, runUnlessEmpty } from "./EntityParts.sql.ts"
import { Counters, makeEntityRows } from "./EntityRows.sql.ts"
import { derivedUpdates, type EntityUpdate, placesOf, risenUpdates } from "./PlanRows.ts"

/** Writes plans. */
export const makeDraftWrites = (
  sql: SqlClient,
  isDistributed: boolean
): Pick<Context.Tag.Service<DraftsRepo>, "raise" | "save" | "prepareStamped"> => {
  const { insertEntities, selectCounters, updateEntities, updateEntity } = makeEntityRows(sql)
  const writeParts = makeWriteParts(sql)
  const insertNote = makeInsertNote(sql)
  const insertNoteAfter = makeInsertNoteAfter(sql)

  /** Builds the statement that inserts the created entities of a plan. */
  const insertCreated = (accountId: AccountId, { created }: Plan, places?: ReadonlyMap<EntityId, number>) => {
    if (created.length === 0) return () => Effect.void
    const insert = insertEntities(accountId, created, places)
    return (counters?: Counters) => insertAll(insert(counters), created.length)
  }

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

  /** `count`: the number of entities that get a new place in the change order. */
  const raiseAndNote = findSingle(Counters)(
    (accountId: AccountId, count: number, note: NoteRows) => sql`
      WITH raised AS (
        ${raiseAccount(accountId, count, note)}
        RETURNING a.version, a.feed_seq - ${note.changes} AS feed_before, a.change_seq - ${count} AS seq_before,
                  stamp_text(plus_micros(a.last_changed_at, -(${count}::integer))) AS time_before
      ), noted AS (${insertNote(accountId, note)})
      SELECT raised.seq_before AS "seqBefore", raised.time_before AS "timeBefore" FROM raised`
  )

  /**
   * Raises the account. On a cluster the note is inserted afterwards: one statement for both would run in five pieces, because Citus
   * does not put the names of shards into a WITH query of an INSERT; its last piece read all entities of the account.
   */
  const raise = findSingle(Schema.Struct({ ...RaisedCounters.fields, ...Counters.fields }))(
    (accountId: AccountId, count: number, note: NoteRows) => sql`
      ${raiseAccount(accountId, count, note)}
      RETURNING a.version, a.feed_seq - ${note.changes} AS "feedBefore", a.change_seq - ${count} AS "seqBefore",
                stamp_text(plus_micros(a.last_changed_at, -(${count}::integer))) AS "timeBefore"`
  )

  /** Updates entities after the account was raised. */
  const updateRows = (accountId: AccountId, updates: ReadonlyArray<EntityUpdate>, counters: Counters) => {
    const [first] = updates
    return isDistributed && updates.length === 1 && first !== undefined
      ? updateEntity(accountId, first, counters)
      : runUnlessEmpty(updates, (rows) => updateEntities(accountId, rows, selectCounters(counters)))
  }

  const raiseFirst = (accountId: AccountId, count: number, note: NoteRows) =>
    isDistributed
      ? Effect.tap(raise(accountId, count, note), (raised) => insertNoteAfter(accountId, note, raised))
      : raiseAndNote(accountId, count, note)

  /** Builds the statements of a plan in short steps. */
  const buildStamped = (accountId: AccountId, plan: Plan) =>
    Effect.gen(function* () {
      const created = new Set(plan.created.map(({ id }) => id))
      const updates = [...derivedUpdates(plan), ...risenUpdates(plan).filter(({ id }) => !created.has(id))]
      yield* giveWay
      const insert = insertCreated(accountId, plan, placesOf(plan))
      yield* giveWay
      const write = writeParts(accountId, plan)
      yield* giveWay
      const note = noteRows(noteOf(plan))
      yield* giveWay
      return { count: plan.stamped.length, insert, note, updates, write }
    })

  return {
    save: (accountId, plan) =>
      Effect.gen(function* () {
        // Another request created an entity with this id meanwhile: the repeated transaction finds it.
        yield* uniqueAsConflict(insertCreated(accountId, plan)())
        yield* runUnlessEmpty(derivedUpdates(plan), (rows) => updateEntities(accountId, rows, selectCounters()))
        yield* writeParts(accountId, plan)(null)
        // Another transaction deleted a media file or product that the plan refers to, or refers to an entity that it deletes.
      }).pipe(referenceAsConflict, orDie),
    raise: (accountId, plan, changed = plan === undefined ? emptyNote : noteOf(plan)) => {
      const note = noteRows(changed)
      const updates = plan === undefined ? [] : risenUpdates(plan)
      const count = plan?.stamped.length ?? 0
      if (isDistributed && note.rows.length > 0)
        return Effect.orDie(
          Effect.flatMap(raiseFirst(accountId, count, note), (counters) => updateRows(accountId, updates, counters))
        ).pipe(Effect.asVoid)
      const raised = raiseAccount(accountId, count, note)
      const counters = sql`
        ${raised}
        RETURNING a.version, a.feed_seq - ${note.changes} AS feed_before, a.change_seq - ${count} AS seq_before,
                  plus_micros(a.last_changed_at, -(${count}::integer)) AS time_before`
      const statement =
        updates.length > 0
          ? updateEntities(accountId, updates, counters, insertNote(accountId, note))
          : note.rows.length === 0
            ? raised
            : sql`WITH raised AS (${counters}), noted AS (${insertNote(accountId, note)}) SELECT FROM raised`
      return orDie(Effect.asVoid(statement))
    },
    prepareStamped: (accountId, plan) =>
      Effect.map(buildStamped(accountId, plan), ({ count, insert, note, updates, write }) =>
        Effect.gen(function* () {
          const counters = yield* raiseFirst(accountId, count, note)
          yield* insert(counters)
          yield* updateRows(accountId, updates, counters)
          yield* write(plusMicros(counters.timeBefore, count))
        }).pipe(Effect.orDie)
      )
  }
}
