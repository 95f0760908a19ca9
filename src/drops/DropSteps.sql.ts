import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Array as Arr, type Context, Effect, Option, Order, Predicate, Schema } from "effect"
import { insertAll } from "../database/Inserts.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll, findOne } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import { type AccountId, DropId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { changedId, changedKind } from "./DropReads.sql.ts"
import {
  DropEffect,
  DueStep,
  LockedChange,
  LockedDrop,
  maxFailedParts,
  notLinkedCode,
  unlinkedCode,
  unrevertedCode,
  unsettledCode
} from "./DropStep.ts"
import type { DropsRepo } from "./DropsRepo.ts"

type Repo = Context.Tag.Service<DropsRepo>

/** A due step and its time. */
const DueAt = Schema.Struct({ ...DueStep.fields, at: Timestamp })
type DueAt = typeof DueAt.Type

const byTime = Order.mapInput(Order.tuple(Order.string, Order.string), ({ at, id }: DueAt) => [at, id] as const)

// Effects are joined with their changes here: without statistics, PostgreSQL reads all changes of the account for each effect.
const LockedRow = Schema.Struct({
  ...LockedDrop.fields,
  changes: Schema.Array(Schema.Struct({ ...LockedChange.fields, isDeleted: Schema.Boolean })),
  effects: Schema.Array(DropEffect.omit("entityId", "isDeleted", "field", "value"))
})
type LockedRow = typeof LockedRow.Type

const withChange =
  (changes: LockedRow["changes"]) =>
  (effect: LockedRow["effects"][number]): ReadonlyArray<DropEffect> => {
    const change = changes[effect.ordinal]
    if (change === undefined) return []
    const { entity_id: entityId, field, isDeleted, value } = change
    return [{ ...effect, entityId, isDeleted, field, value }]
  }

/** Stands for the due steps of an account that was not asked, because it is busy. Its hint stays as it is. */
const notAsked = null

/** Whether every earlier drop that writes a field of `d` has ended, or has been applied if it has no end. */
const isFree = (sql: SqlClient, accountId: Fragment) => sql`
  NOT EXISTS (
    SELECT FROM drop_change c
    JOIN drop_change b ON b.account_id = ${accountId} AND b.entity_id = c.entity_id AND b.field = c.field
      AND b.drop_id <> c.drop_id AND (b.store_id IS NULL OR c.store_id IS NULL OR b.store_id = c.store_id)
    JOIN drop before ON before.account_id = ${accountId} AND before.id = b.drop_id
    WHERE c.account_id = ${accountId} AND c.drop_id = d.id
      AND before.next_step IN ('start', 'settle_start', 'end')
      AND (before.ends_at <= d.starts_at OR (before.ends_at IS NULL AND before.starts_at < d.starts_at))
  )`

/**
 * Whether a publish of `effects`, which are effects `f` of `d`, is pending to a linked store. OFFSET 0 makes PostgreSQL look up each publish
 * by its id: without statistics it would read all pending publishes of the account for each effect.
 */
const isPublishing = (sql: SqlClient, accountId: Fragment, effects: Fragment) => sql`
  EXISTS (
    SELECT FROM drop_effect f
    CROSS JOIN LATERAL (
      SELECT p.state FROM publication p WHERE p.account_id = ${accountId} AND p.id = f.publication_id OFFSET 0
    ) p
    JOIN store s ON s.account_id = ${accountId} AND s.id = f.store_id AND s.status = 'linked'
    WHERE f.account_id = ${accountId} AND f.drop_id = d.id AND ${effects} AND p.state = 'pending'
  )`

/** Whether the start of each effect of `d` on a linked store can be settled. */
const canEnd = (sql: SqlClient, accountId: Fragment) =>
  sql`NOT ${isPublishing(sql, accountId, sql`f.error->>'code' = ${unsettledCode}`)}`

/**
 * Makes the statement that reads a locked drop. It is a statement of its own, because the one that locks may have begun before the previous
 * part was saved, and would not see its effects.
 */
const makeReadLocked = (sql: SqlClient) => {
  const readRow = findOne(LockedRow)(
    ({ accountId, id }: DueStep) => sql`
      SELECT d.actor, d.status, rfc3339(d.ends_at) AS "endsAt",
             (
               SELECT json_agg(json_build_object(
                        'entity_id', ${changedId(sql)}, 'entity_type', ${changedKind(sql)}, 'store_id', c.store_id,
                        'field', c.field, 'value', c.value, 'outcome', c.outcome, 'isDeleted', c.entity_id IS NULL
                      ) ORDER BY c.ordinal)
               FROM drop_change c
               LEFT JOIN entity e ON e.account_id = ${accountId} AND e.id = c.entity_id
               WHERE c.account_id = ${accountId} AND c.drop_id = d.id
             ) AS changes,
             (
               SELECT coalesce(json_agg(json_build_object(
                        'ordinal', f.ordinal, 'storeId', f.store_id, 'overrideBefore', f.override_before,
                        'acceptedBefore', f.accepted_before, 'publicationId', f.publication_id, 'outcome', f.outcome,
                        'error', f.error
                      ) ORDER BY f.ordinal, f.store_id), '[]')
               FROM drop_effect f
               WHERE f.account_id = ${accountId} AND f.drop_id = d.id
             ) AS effects
      FROM drop d
      WHERE d.account_id = ${accountId} AND d.id = ${id}`
  )

  return (step: DueStep) =>
    Effect.map(
      readRow(step),
      Option.map(
        ({ effects, ...drop }): LockedDrop => ({ ...drop, effects: effects.flatMap(withChange(drop.changes)) })
      )
    )
}

/** Statements that find due steps and lock drops. */
export const makeDueSteps = (
  sql: SqlClient,
  hints: WorkHints | undefined
): Pick<Repo, "beginPart" | "due" | "lock"> => {
  const due = findAll(DueAt)(
    (accountId: AccountId | null, limit: number, except: ReadonlyArray<DropId>, busy: ReadonlyArray<AccountId>) => {
      const account = accountId === null ? sql.literal("d.account_id") : sql`${accountId}`
      const isOwn = accountId === null ? sql`d.account_id <> ALL(${busy}::uuid[])` : sql`d.account_id = ${accountId}`
      return sql`
      SELECT k.account_id AS "accountId", k.id, k.step, rfc3339(k.at) AS at
      FROM (
        (SELECT d.account_id, d.id, 'end' AS step, d.ends_at AS at FROM drop d
         JOIN import_lock l ON l.account_id = ${account} AND l.run_id IS NULL
         WHERE ${isOwn} AND d.next_step = 'end' AND d.ends_at <= app_now() AND d.id <> ALL(${except}::uuid[])
           AND ${canEnd(sql, account)}
         ORDER BY d.ends_at LIMIT ${limit})
        UNION ALL
        (SELECT d.account_id, d.id, 'start', d.starts_at FROM drop d
         JOIN import_lock l ON l.account_id = ${account} AND l.run_id IS NULL
         WHERE ${isOwn} AND d.next_step = 'start' AND d.starts_at <= app_now() AND d.id <> ALL(${except}::uuid[])
           AND ${isFree(sql, account)}
         ORDER BY d.starts_at LIMIT ${limit})
        UNION ALL
        (SELECT d.account_id, d.id, d.next_step, coalesce(d.ends_at, d.starts_at) FROM drop d
         JOIN import_lock l ON l.account_id = ${account} AND l.run_id IS NULL
         WHERE ${isOwn} AND d.next_step IN ('settle_start', 'settle_end') AND d.id <> ALL(${except}::uuid[])
           AND NOT ${isPublishing(sql, account, sql`f.outcome IS NULL`)}
         LIMIT ${limit})
      ) k
      ORDER BY k.at, k.id
      LIMIT ${limit} ${sql.literal(accountId === null ? allAccounts : "")}`
    }
  )

  const beginPart = findOne(Schema.Struct({ before: Schema.Int }))(
    ({ accountId, id, step }: DueStep) => sql`
      WITH free AS MATERIALIZED (
        SELECT d.id, d.failed_parts FROM drop d
        WHERE d.account_id = ${accountId} AND d.id = ${id} AND d.next_step = ${step}
        FOR UPDATE SKIP LOCKED
      )
      UPDATE drop d SET failed_parts = least(f.failed_parts + 1, ${maxFailedParts})
      FROM free f
      WHERE d.account_id = ${accountId} AND d.id = f.id
      RETURNING f.failed_parts AS before`
  )

  const lock = findOne(Schema.Struct({ id: DropId }))(
    ({ accountId, id, step }: DueStep) => sql`
      SELECT d.id FROM drop d
      WHERE d.account_id = ${accountId} AND d.id = ${id} AND d.next_step = ${step}
        AND CASE d.next_step
          WHEN 'start' THEN d.starts_at <= app_now() AND ${isFree(sql, sql`${accountId}`)}
          WHEN 'end' THEN d.ends_at <= app_now() AND ${canEnd(sql, sql`${accountId}`)}
          ELSE true
        END
      FOR UPDATE OF d SKIP LOCKED`
  )

  const readLocked = makeReadLocked(sql)

  return {
    due: (limit, except, busy = [], begin = () => Effect.void) => {
      const begun = (accountId: AccountId | null) => Effect.tap(due(accountId, limit, except, busy), begin)
      if (hints === undefined) return begun(null)
      const ofAccount = (accountId: AccountId) =>
        busy.includes(accountId) ? Effect.succeed([notAsked]) : begun(accountId)
      return Effect.map(hints.collectDue<DueAt | null, never, never>(ofAccount), (steps) =>
        Arr.take(Arr.sort(Arr.filter(steps, Predicate.isNotNull), byTime), limit)
      )
    },
    beginPart: (step) =>
      Effect.map(
        beginPart(step),
        Option.map(({ before }) => before)
      ),
    lock: (step) =>
      Effect.gen(function* () {
        if (Option.isNone(yield* lock(step))) return Option.none()
        if (step.step === "start" || step.step === "end")
          yield* sql`
            INSERT INTO drop_claim (account_id, drop_id, step)
            VALUES (${step.accountId}, ${step.id}, ${step.step})
            ON CONFLICT DO NOTHING`
        return yield* readLocked(step)
      }).pipe(orDie)
  }
}

/** Statements that reopen the drops of a store. */
const makeReopen =
  (sql: SqlClient, hints: WorkHints | undefined): Repo["reopen"] =>
  (accountId, storeId) => {
    const hasFailed = (...codes: ReadonlyArray<string>) => sql`
      f.account_id = ${accountId} AND f.store_id = ${storeId} AND f.outcome = 'failed'
      AND f.error->>'code' = ANY(${codes}::text[]) AND EXISTS (
        SELECT FROM drop_change k
        WHERE k.account_id = ${accountId} AND k.drop_id = f.drop_id AND k.ordinal = f.ordinal AND k.entity_id IS NOT NULL
      )`
    const isUnlinked = hasFailed(unlinkedCode, unsettledCode)
    const isUnended = sql`
      NOT EXISTS (
        SELECT FROM drop_claim c WHERE c.account_id = ${accountId} AND c.drop_id = f.drop_id AND c.step = 'end'
      )`
    const clearOutcomes = sql`
      UPDATE drop_change c SET outcome = NULL, error = NULL
      FROM reopened r
      WHERE c.account_id = ${accountId} AND c.drop_id = r.drop_id AND c.ordinal = r.ordinal`
    return Effect.gen(function* () {
      const started = yield* sql`
        WITH reopened AS (
          UPDATE drop_effect f SET outcome = NULL, error = f.error->'refusal'
          WHERE ${isUnlinked} AND ${isUnended}
          RETURNING f.drop_id, f.ordinal
        ), changed AS (${clearOutcomes})
        UPDATE drop d
        SET status = 'applying', next_step = CASE d.next_step WHEN 'start' THEN 'start' ELSE 'settle_start' END
        WHERE d.account_id = ${accountId} AND d.id IN (SELECT r.drop_id FROM reopened r)
        RETURNING d.id`
      // The effects keep their outcomes: the start replaces them.
      const unstarted = yield* sql`
        WITH reopened AS (
          SELECT f.drop_id, f.ordinal FROM drop_effect f
          JOIN drop d ON d.account_id = ${accountId} AND d.id = f.drop_id
          WHERE ${hasFailed(notLinkedCode)} AND ${isUnended} AND (d.ends_at IS NULL OR d.ends_at > app_now())
        ), changed AS (${clearOutcomes})
        UPDATE drop d SET status = 'applying', next_step = 'start'
        WHERE d.account_id = ${accountId} AND d.id IN (SELECT r.drop_id FROM reopened r)
        RETURNING d.id`
      const unreverted = yield* sql`
        WITH reopened AS (
          UPDATE drop_effect f SET outcome = NULL, error = NULL
          WHERE ${hasFailed(unrevertedCode)}
          RETURNING f.drop_id
        )
        UPDATE drop d SET next_step = 'settle_end'
        WHERE d.account_id = ${accountId} AND d.id IN (SELECT r.drop_id FROM reopened r) AND d.next_step IS NULL
        RETURNING d.id`
      const ended = yield* sql`
        UPDATE drop d SET next_step = 'end'
        WHERE d.account_id = ${accountId} AND d.id IN (SELECT f.drop_id FROM drop_effect f WHERE ${isUnlinked})
        RETURNING d.id`
      const reopened = started.length + unstarted.length + unreverted.length + ended.length
      if (hints !== undefined && reopened > 0) yield* hints.add(accountId)
    }).pipe(orDie)
  }

/** Statements that save the result of a step. */
export const makeStepWrites = (sql: SqlClient, hints: WorkHints | undefined): Pick<Repo, "move" | "reopen"> => ({
  reopen: makeReopen(sql, hints),
  move: ({ accountId, id }, { effects, failedParts = 0, next, outcomes, status }) =>
    Effect.gen(function* () {
      yield* insertAll(
        sql`
        INSERT INTO drop_effect (account_id, drop_id, ordinal, store_id, override_before, accepted_before,
                                 publication_id, outcome, error)
        SELECT own.account_id, ${id}::uuid, n.ordinal, n."storeId", nullif(n."overrideBefore", 'null'),
               n."acceptedBefore", n."publicationId", n.outcome, nullif(n.error, 'null')
        FROM account_state own
        CROSS JOIN jsonb_to_recordset(${JSON.stringify(effects)}::jsonb) AS n (
          ordinal integer, "storeId" uuid, "overrideBefore" jsonb, "acceptedBefore" text, "publicationId" uuid,
          outcome text, error jsonb
        )
        WHERE own.account_id = ${accountId}
        ON CONFLICT (account_id, drop_id, ordinal, store_id) DO UPDATE
        SET override_before = excluded.override_before, accepted_before = excluded.accepted_before,
            publication_id = excluded.publication_id, outcome = excluded.outcome, error = excluded.error`,
        effects.length
      )
      yield* sql`
        UPDATE drop_change c SET outcome = n.outcome, error = nullif(n.error, 'null')
        FROM jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb) AS n (ordinal integer, outcome text, error jsonb)
        WHERE c.account_id = ${accountId} AND c.drop_id = ${id} AND c.ordinal = n.ordinal`
      yield* sql`
        UPDATE drop SET status = ${status}, next_step = ${next}, failed_parts = ${failedParts}
        WHERE account_id = ${accountId} AND id = ${id}`
    }).pipe(orDie)
})
