import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option } from "effect"
import { forgetByAccount } from "../database/Forgetting.ts"
import { allAccounts, readsAll } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import type { AccountId, WebhookId } from "../model/Ids.ts"
import { maxFailures, SetAside, Webhook } from "./Webhook.ts"
import type { SealedSecrets, WebhooksRepo } from "./WebhooksRepo.ts"

type Repo = Context.Tag.Service<WebhooksRepo>

/** Makes the first waiting change of each entity due if it has no due time. */
export const promote = (sql: SqlClient, accountId: AccountId, id: WebhookId) => sql`
  UPDATE webhook_delivery d SET due_at = app_now()
  WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.state = 'waiting' AND d.due_at IS NULL
    AND NOT EXISTS (
      SELECT FROM webhook_delivery e
      WHERE e.account_id = ${accountId} AND e.webhook_id = ${id} AND e.state = 'waiting'
        AND e.entity_id = d.entity_id AND e.seq < d.seq
    )`

/** The state of webhook `w` of account `a`. */
export const stateOf = (sql: SqlClient) =>
  sql.literal(`CASE WHEN w.position < a.feed_floor THEN 'behind'
                    WHEN w.state = 'active' AND w.failures >= ${maxFailures} THEN 'failing' ELSE w.state END`)

/** Reads webhooks. `id` null: all of the account. */
const makeRead = (sql: SqlClient) =>
  findAll(Webhook)(
    (accountId: string, id: WebhookId | null) => sql`
      SELECT w.id, w.url, w.topics,
             ${stateOf(sql)} AS state,
             w.position, a.feed_seq AS last_seq, coalesce(d.waiting, 0) AS waiting, coalesce(d.parked, 0) AS parked,
             w.problem, rfc3339(w.failing_since) AS failing_since,
             CASE WHEN w.state = 'active' AND w.claim IS NULL AND w.position >= a.feed_floor
               THEN rfc3339(CASE WHEN a.feed_seq > w.position THEN w.due_at
                                 WHEN d.due_at IS NOT NULL THEN greatest(w.due_at, d.due_at) END)
             END AS next_attempt_at,
             rfc3339(w.delivered_at) AS delivered_at,
             CASE WHEN w.previous_until > app_now() THEN rfc3339(w.previous_until) END AS previous_secret_until,
             rfc3339(w.created_at) AS created_at
      FROM webhook w
      JOIN account_state a ON a.account_id = ${accountId}
      LEFT JOIN (
        SELECT s.webhook_id, count(*) FILTER (WHERE s.state = 'waiting') AS waiting,
               count(*) FILTER (WHERE s.state = 'parked') AS parked, min(s.due_at) AS due_at
        FROM webhook_delivery s WHERE s.account_id = ${accountId} GROUP BY s.webhook_id
      ) d ON d.webhook_id = w.id
      WHERE w.account_id = ${accountId} ${id === null ? sql`` : sql`AND w.id = ${id}`}
      ORDER BY w.created_at, w.id`
  )

const makeReadSetAside = (sql: SqlClient) =>
  findAll(SetAside)(
    (accountId: string, id: WebhookId, limit: number) => sql`
      SELECT d.seq, d.state, d.change, d.attempts, rfc3339(d.since) AS since,
             CASE WHEN d.due_at IS NOT NULL
               THEN rfc3339(CASE WHEN w.claim IS NULL THEN greatest(d.due_at, w.due_at) ELSE d.due_at END)
             END AS next_attempt_at, d.problem
      FROM webhook_delivery d JOIN webhook w ON w.account_id = ${accountId} AND w.id = ${id}
      WHERE d.account_id = ${accountId} AND d.webhook_id = ${id}
      ORDER BY d.state, d.seq LIMIT ${limit}`
  )

/** Statements about the webhooks of an account. */
export const makeWebhookRows = (
  sql: SqlClient,
  hints: WorkHints | undefined
): Pick<
  Repo,
  | "delete"
  | "find"
  | "forget"
  | "insert"
  | "list"
  | "positionAt"
  | "replaceSecret"
  | "replay"
  | "rotate"
  | "secrets"
  | "setAside"
> => {
  const read = makeRead(sql)
  const run = makeRunTransaction(sql)
  const hint = (accountId: AccountId) => hints?.add(accountId) ?? Effect.void
  const isAny = Effect.map((rows: ReadonlyArray<unknown>) => rows.length > 0)

  return {
    insert: (accountId, { id, secret, topics, url }, limit) =>
      Effect.gen(function* () {
        // Only creations take this lock, so it delays neither writes nor deliveries.
        yield* sql`
          SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || ${accountId}::text, 0))
          FROM account_state a WHERE a.account_id = ${accountId}`
        const existing = yield* sql<{ readonly id: string }>`
          SELECT w.id FROM webhook w WHERE w.account_id = ${accountId}`
        if (existing.some((webhook) => webhook.id === id)) return "exists" as const
        if (existing.length >= limit) return "full" as const
        yield* sql`
          INSERT INTO webhook (account_id, id, url, topics, secret, position)
          SELECT a.account_id, ${id}::uuid, ${url}, ${topics}::text[], ${secret}::bytea, a.feed_seq
          FROM account_state a WHERE a.account_id = ${accountId}`
        yield* hint(accountId)
        return "inserted" as const
      }).pipe(run, orDie),
    list: (accountId) => read(accountId, null),
    find: (accountId, id) => Effect.map(read(accountId, id), ([row]) => Option.fromNullable(row)),
    delete: (accountId, id) =>
      sql`DELETE FROM webhook w WHERE w.account_id = ${accountId} AND w.id = ${id} RETURNING w.id`.pipe(isAny, orDie),
    setAside: makeReadSetAside(sql),
    secrets: (accountId, id) =>
      sql<SealedSecrets>`
        SELECT w.secret AS current, w.previous_secret AS previous FROM webhook w
        WHERE w.account_id = ${accountId} AND w.id = ${id}`.pipe(
        Effect.map(([row]) => Option.fromNullable(row)),
        orDie
      ),
    rotate: (accountId, id, secret, overlapSeconds, from) =>
      sql`
        UPDATE webhook w
        SET secret = ${secret}::bytea, previous_secret = CASE WHEN ${overlapSeconds}::float8 > 0 THEN w.secret END,
            previous_until = app_now() + ${overlapSeconds}::float8 * interval '1 second'
        WHERE w.account_id = ${accountId} AND w.id = ${id} ${from === null ? sql`` : sql`AND w.secret = ${from}::bytea`}
        RETURNING w.id`.pipe(isAny, orDie),
    replaceSecret: (accountId, id, from, to) =>
      sql`
        UPDATE webhook w
        SET secret = CASE WHEN w.secret = ${from}::bytea THEN ${to}::bytea ELSE w.secret END,
            previous_secret = CASE WHEN w.previous_secret = ${from}::bytea THEN ${to}::bytea ELSE w.previous_secret END
        WHERE w.account_id = ${accountId} AND w.id = ${id}
          AND (w.secret = ${from}::bytea OR w.previous_secret = ${from}::bytea) RETURNING w.id`.pipe(isAny, orDie),
    replay: (accountId, id, position) =>
      Effect.gen(function* () {
        const found = yield* sql`
          UPDATE webhook w
          SET state = 'active', position = coalesce(${position}::bigint, w.position), failures = 0, failing_since = NULL,
              problem = NULL, claim = NULL, claimed_by = NULL, due_at = app_now()
          WHERE w.account_id = ${accountId} AND w.id = ${id} RETURNING w.id`
        if (found.length === 0) return false
        if (position === null)
          yield* sql`
            UPDATE webhook_delivery d SET state = 'waiting', due_at = NULL, since = app_now(), attempts = 0
            WHERE d.account_id = ${accountId} AND d.webhook_id = ${id}`
        else
          yield* sql`
            DELETE FROM webhook_delivery d
            WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.seq > ${position}`
        yield* promote(sql, accountId, id)
        yield* hint(accountId)
        return true
      }).pipe(run, orDie),
    positionAt: (accountId, at) =>
      sql<{ position: number }>`
        SELECT coalesce((
          SELECT n.last_seq - n.rows FROM change_note n
          WHERE n.account_id = ${accountId} AND n.rows > 0 AND n.at >= ${at}::timestamptz AND n.last_seq > a.feed_floor
          ORDER BY n.last_seq LIMIT 1
        ), a.feed_seq) AS position
        FROM account_state a WHERE a.account_id = ${accountId} ${sql.literal(readsAll)}`.pipe(
        Effect.map(([row]) => row?.position ?? 0),
        orDie
      ),
    forget: orDie(
      forgetByAccount(
        sql<{ accountId: string }>`
          SELECT DISTINCT d.account_id AS "accountId" FROM webhook_delivery d
          WHERE d.state = 'parked' AND d.since <= app_now() - interval '33 days' ${sql.literal(allAccounts)}`,
        (accountId) => sql`
          DELETE FROM webhook_delivery x
          WHERE x.account_id = ${accountId} AND x.ctid = ANY(ARRAY(
            SELECT d.ctid FROM webhook_delivery d
            WHERE d.account_id = ${accountId} AND d.state = 'parked' AND d.since <= app_now() - interval '33 days'
            LIMIT 1000
          ))
          RETURNING x.seq`
      )
    )
  }
}
