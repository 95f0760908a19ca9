import { randomUUID } from "node:crypto"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Array as Arr, type Context, Effect, Option, Order, Schema } from "effect"
import { allAccounts } from "../database/PlannerHints.ts"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import type { AccountId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { automaticKinds, ClaimedJob, claimedKinds, type JobClaim, maxJobItems, ownedKinds } from "./Job.ts"
import type { JobsRepo } from "./JobsRepo.ts"
import { makeJobTurns } from "./JobTurns.ts"

type Repo = Context.Tag.Service<JobsRepo>

/** Maximum number of due jobs to read at once. Other processes may claim some of them first. */
const maxCandidates = 20

const Place = ClaimedJob.pick("accountId", "id")

/** A due job. `turn`: greater if the account's last turn is newer; 0: it had none. */
const Candidate = Schema.Struct({
  ...Place.fields,
  isAutomatic: Schema.Boolean,
  turn: Schema.Int,
  dueAt: Timestamp
})

/** The order of the statement, for candidates that several nodes returned. */
const byTurn = Order.tuple(Order.boolean, Order.number, Order.string)
const orderOf = ({ dueAt, isAutomatic, turn }: typeof Candidate.Type) => [isAutomatic, turn, dueAt] as const

/** Statements that claim jobs, save their steps and release them. `holder`: the name of this process. */
export const makeJobLeases = (
  sql: SqlClient,
  holder: string,
  hints: WorkHints | undefined
): Pick<Repo, "claim" | "claimOwned" | "fail" | "lockClaimed" | "release" | "save"> => {
  const turns = makeJobTurns()

  // Reads without a lock; the claim checks each row again. null: jobs of all accounts. With 7,400 due jobs, looking up their turns in an
  // object takes 6 ms, and a join with a list of the accounts 107 ms.
  const due = findAll(Candidate)(
    (accountId: AccountId | null) => sql`
      SELECT j.account_id AS "accountId", j.id, j.kind = ANY(${automaticKinds}::text[]) AS "isAutomatic",
             coalesce((${JSON.stringify(turns.latest())}::jsonb ->> j.account_id::text)::int, 0) AS turn,
             rfc3339(j.due_at) AS "dueAt"
      FROM job j
      WHERE ${accountId === null ? sql.literal("true") : sql`j.account_id = ${accountId}`}
        AND j.state IN ('queued', 'running') AND j.due_at <= app_now()
        -- During an upgrade, newer processes begin jobs of kinds that this one does not know.
        AND j.kind = ANY(${claimedKinds}::text[])
      ORDER BY "isAutomatic", turn, j.due_at, j.id
      LIMIT ${sql.literal(String(maxCandidates))} ${sql.literal(accountId === null ? allAccounts : "")}`
  )
  const candidates =
    hints === undefined
      ? Effect.suspend(() => due(null))
      : Effect.map(hints.collectDue(due), Arr.sort(Order.mapInput(byTurn, orderOf)))

  const take = findOne(ClaimedJob)(
    ({ accountId, id }: typeof Place.Type, claim: string, leaseSeconds: number) => sql`
      WITH free AS MATERIALIZED (
        SELECT j.id, app_now() AS now FROM job j
        WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.state IN ('queued', 'running') AND j.due_at <= app_now()
          AND j.kind <> ALL(${ownedKinds}::text[])
        FOR UPDATE SKIP LOCKED
      )
      UPDATE job j
      SET state = 'running', claim = ${claim}, claimed_by = ${holder}, attempts = j.attempts + 1,
          due_at = app_now() + ${leaseSeconds}::float8 * interval '1 second',
          started_at = coalesce(j.started_at, f.now)
      FROM free f
      WHERE j.account_id = ${accountId} AND j.id = f.id
      RETURNING j.account_id AS "accountId", j.id, j.kind, j.claim, j.attempts, j.actor`
  )

  const lockClaimed = findOne(Schema.Struct({ input: Schema.Unknown, cursor: Schema.Unknown }))(
    ({ accountId, claim, id }: JobClaim) => sql`
      SELECT j.input, j.cursor FROM job j
      WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.claim = ${claim}
      FOR UPDATE OF j`
  )

  /** A list of the job with these items at its end, up to the maximum. */
  const withItems = (column: "errors" | "deleted", items: ReadonlyArray<unknown>) => {
    const list = sql`j.${sql.literal(column)}`
    return sql`CASE WHEN jsonb_array_length(${list}) >= ${maxJobItems} THEN ${list} ELSE jsonb_path_query_array(
      ${list} || ${JSON.stringify(items)}::jsonb, ${`$[0 to ${maxJobItems - 1}]`}::jsonpath) END`
  }

  return {
    claim: (only, leaseSeconds) =>
      Effect.gen(function* () {
        if (only !== null) return yield* take(only, randomUUID(), leaseSeconds)
        const places = yield* candidates
        if (places.length === 0) turns.forget()
        for (const place of places) {
          const claim = take(place, randomUUID(), leaseSeconds)
          const job = yield* hints === undefined ? claim : hints.orSkip(place.accountId, claim, Option.none())
          if (Option.isNone(job)) continue
          turns.add(place.accountId)
          return job
        }
        return Option.none()
      }),
    claimOwned: ({ accountId, claim, id }) =>
      sql`
        UPDATE job j
        SET state = 'running', claim = ${claim}, started_at = coalesce(j.started_at, n.at)
        FROM (SELECT app_now() AS at) n
        WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.state IN ('queued', 'running')
          AND j.kind = ANY(${ownedKinds}::text[])
        RETURNING j.id`.pipe(hasRows),
    lockClaimed,
    save: ({ accountId, claim, id }, { counts, cursor, deleted = [], done, errors, total }, leaseSeconds) =>
      sql`
        UPDATE job j
        SET cursor = ${cursor === null ? null : JSON.stringify(cursor)}::jsonb, attempts = 0, waiting_for = NULL,
            ${total === undefined ? sql`done = j.done + ${done}` : sql`done = ${done}, total = ${total}`},
            result = j.result || (
              SELECT coalesce(jsonb_object_agg(c.key, c.value::numeric + coalesce((j.result ->> c.key)::numeric, 0)), '{}')
              FROM jsonb_each_text(${JSON.stringify(counts)}::jsonb) AS c (key, value)
            ),
            errors = ${withItems("errors", errors)}, deleted = ${withItems("deleted", deleted)},
            error_count = j.error_count + ${errors.length},
            state = ${cursor === null ? "done" : "running"},
            claim = CASE WHEN ${cursor !== null} THEN j.claim END,
            claimed_by = CASE WHEN ${cursor !== null} THEN j.claimed_by END,
            ended_at = ${cursor === null ? sql`app_now()` : sql`NULL::timestamptz`},
            due_at = app_now() + ${leaseSeconds}::float8 * interval '1 second'
        WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.claim = ${claim}`.pipe(discardRows),
    release: ({ accountId, claim, id }, { delaySeconds, isAttempt, isForPlatform = false, waitingFor }) =>
      sql`
        UPDATE job j
        SET state = 'queued', claim = NULL, claimed_by = NULL, waiting_for = ${waitingFor},
            waits_for_platform = ${isForPlatform},
            attempts = CASE WHEN ${isAttempt} THEN j.attempts ELSE 0 END,
            due_at = app_now() + ${delaySeconds}::float8 * interval '1 second'
        WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.claim = ${claim}`.pipe(
        Effect.zipRight(hints?.add(accountId, delaySeconds) ?? Effect.void),
        orDie
      ),
    fail: ({ accountId, claim, id }, problem) =>
      sql`
        UPDATE job j
        SET state = 'failed', claim = NULL, claimed_by = NULL, problem = ${JSON.stringify(problem)}::jsonb,
            waiting_for = NULL, ended_at = app_now()
        WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.claim = ${claim}`.pipe(discardRows)
  }
}
