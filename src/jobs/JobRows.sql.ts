import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { isAmongFirst } from "../database/FirstItems.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll, findOne } from "../database/Rows.ts"
import { orDie, uniqueAsConflict } from "../database/SqlErrors.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import { ActorJson } from "../model/Actor.ts"
import { AccountId, JobId } from "../model/Ids.ts"
import { automaticKinds, Job, type JobKindName, unlistedStates } from "./Job.ts"
import type { JobsRepo } from "./JobsRepo.ts"

type Repo = Context.Tag.Service<JobsRepo>

const encodeActor = Schema.encodeSync(ActorJson)

/** Entities of an old list that one statement deletes. */
const forgottenAtOnce = 1_000

/** Statements that insert, read, move and delete jobs. */
export const makeJobRows = (
  sql: SqlClient,
  hints: WorkHints | undefined
): Pick<Repo, "accountsWithout" | "find" | "forget" | "insert" | "list" | "move" | "newestOn" | "openOn"> => {
  const tell = (accountId: AccountId) => hints?.add(accountId) ?? Effect.void

  const columns = sql`
    j.id, j.kind, j.title, j.state, j.done, j.total, j.result, j.errors,
    j.error_count, j.deleted, j.problem, j.waiting_for,
    j.waits_for_platform AND j.waiting_for IS NOT NULL AS waits_for_platform, j.author, rfc3339(j.created_at) AS created_at,
    rfc3339(j.started_at) AS started_at, rfc3339(j.ended_at) AS ended_at`

  const find = findOne(Job)(
    (accountId: AccountId, id: JobId) =>
      sql`SELECT ${columns} FROM job j WHERE j.account_id = ${accountId} AND j.id = ${id}`
  )

  const openOn = findOne(Job)(
    (accountId: AccountId, subject: string) => sql`
      SELECT ${columns} FROM job j
      WHERE j.account_id = ${accountId} AND j.subject = ${subject} AND j.state IN ('queued', 'running', 'paused')`
  )

  const newestOn = findOne(Job)(
    (accountId: AccountId, subject: string, kinds: ReadonlyArray<JobKindName>) => sql`
      SELECT ${columns} FROM job j
      WHERE j.account_id = ${accountId} AND j.subject = ${subject} AND j.kind = ANY(${[...kinds]}::text[])
      ORDER BY j.created_at DESC, j.id LIMIT 1`
  )

  const list = findAll(Job)(
    (accountId: AccountId, limit: number) => sql`
      SELECT ${columns} FROM job j
      WHERE j.account_id = ${accountId}
        AND NOT (j.kind = ANY(${automaticKinds}::text[]) AND j.state = ANY(${unlistedStates}::text[]))
      ORDER BY j.created_at DESC, j.id
      LIMIT ${limit}`
  )

  const nextAccounts = findAll(Schema.Struct({ accountId: AccountId, isWithout: Schema.Boolean }))(
    (subject: string, after: AccountId, limit: number) => sql`
      SELECT a.account_id AS "accountId", j.id IS NULL AS "isWithout" FROM account_state a
      JOIN account c ON c.id = a.account_id AND c.deleting_since IS NULL
      LEFT JOIN job j
        ON j.account_id = a.account_id AND j.subject = ${subject} AND j.state IN ('queued', 'running', 'paused')
      WHERE a.account_id > ${after}
      ORDER BY a.account_id
      LIMIT ${limit} ${sql.literal(allAccounts)}`
  )

  const forgetLists = makeForgetLists(sql)

  const forgettable = findAll(Schema.Struct({ accountId: AccountId }))(
    () => sql`
      SELECT DISTINCT j.account_id AS "accountId" FROM job j
      WHERE j.state IN ('cancelled', 'done', 'failed') AND j.ended_at < app_now() - interval '30 days'
      ${sql.literal(allAccounts)}`
  )

  return {
    insert: (accountId, { actor, author, id, input, kind, subject, title, total }) =>
      sql`
        INSERT INTO job (account_id, id, kind, title, subject, input, total, actor, author)
        VALUES (${accountId}, ${id}, ${kind}, ${title}, ${subject}, ${JSON.stringify(input)}::jsonb, ${total},
                ${JSON.stringify(encodeActor(actor))}::jsonb, ${JSON.stringify(author)}::jsonb)
        ON CONFLICT DO NOTHING
        RETURNING id`.pipe(
        Effect.map((rows) => rows.length > 0),
        Effect.zipLeft(tell(accountId)),
        orDie
      ),
    accountsWithout: (subject, after, limit) =>
      Effect.map(nextAccounts(subject, after, limit), (rows) => ({
        accounts: rows.flatMap(({ accountId, isWithout }) => (isWithout ? [accountId] : [])),
        last: rows.length < limit ? null : (rows.at(-1)?.accountId ?? null)
      })),
    find,
    openOn,
    newestOn,
    list,
    move: (accountId, id, from, to) =>
      sql`
        UPDATE job j
        SET state = ${to}, claim = NULL, claimed_by = NULL, attempts = 0, due_at = app_now(), problem = NULL,
            waiting_for = NULL, ended_at = ${to === "cancelled" ? sql`app_now()` : sql`NULL::timestamptz`}
        WHERE j.account_id = ${accountId} AND j.id = ${id} AND j.state = ANY(${from}::text[])
          AND NOT (${to} = 'queued' AND EXISTS (
            SELECT FROM job o
            WHERE o.account_id = ${accountId} AND o.subject = j.subject AND o.id <> j.id
              AND o.state IN ('queued', 'running', 'paused')
          ))
          AND (${to} <> 'queued' OR j.ended_at IS NULL OR j.ended_at >= app_now() - interval '30 days')
        RETURNING j.id`.pipe(
        // Two failed jobs of one subject can be resumed at the same time: neither sees the other one open.
        uniqueAsConflict,
        Effect.map((rows) => rows.length > 0),
        Effect.zipLeft(tell(accountId)),
        orDie
      ),
    forget: Effect.gen(function* () {
      let count = 0
      for (const { accountId } of yield* forgettable()) {
        yield* forgetLists(accountId)
        count += (yield* sql`
          DELETE FROM job j
          WHERE j.account_id = ${accountId} AND j.state IN ('cancelled', 'done', 'failed')
            AND j.ended_at < app_now() - interval '30 days'
          RETURNING j.id`).length
      }
      return count
    }).pipe(orDie)
  }
}

/** A list may have 1,000,000 entities, so it is deleted in parts. Deleting the job would delete it in one statement. */
const makeForgetLists = (sql: SqlClient) => {
  /** Ended jobs whose lists of entities are left over, because they were cancelled or failed. */
  const leftLists = findAll(Schema.Struct({ id: JobId }))(
    (accountId: AccountId) => sql`
      SELECT j.id FROM job j
      WHERE j.account_id = ${accountId} AND j.state IN ('cancelled', 'done', 'failed')
        AND j.ended_at < app_now() - interval '30 days'
        AND EXISTS (SELECT FROM bulk_item i WHERE i.account_id = ${accountId} AND i.job_id = j.id)`
  )

  return (accountId: AccountId) =>
    Effect.gen(function* () {
      for (const { id } of yield* leftLists(accountId))
        for (let rows = 1; rows > 0; )
          rows = (yield* sql`
            DELETE FROM bulk_item d
            WHERE ${isAmongFirst(sql, { table: "bulk_item", owner: "job_id" }, { accountId, id, limit: forgottenAtOnce })}
            RETURNING d.place`).length
    })
}
