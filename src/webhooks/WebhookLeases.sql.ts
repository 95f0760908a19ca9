import { randomUUID } from "node:crypto"
import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { allAccounts } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeRunTransaction } from "../database/Transaction.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import { AccountId } from "../model/Ids.ts"
import { ClaimedWebhook, WaitingDelivery } from "./Webhook.ts"
import { promote } from "./WebhookRows.sql.ts"
import type { DeliveryOutcomes, WebhooksRepo } from "./WebhooksRepo.ts"

type Repo = Context.Tag.Service<WebhooksRepo>

const Place = ClaimedWebhook.pick("accountId", "id")

/** Maximum number of due webhooks to read at once. */
const maxCandidates = 200

/** Statements with which processes claim webhooks. */
const makeClaim = (sql: SqlClient, holder: string, hints: WorkHints | undefined): Repo["claim"] => {
  // null: webhooks of all accounts. A row may change before it is claimed, so the claim checks it again.
  const due = SqlSchema.findAll({
    Request: Schema.NullOr(AccountId),
    Result: Place,
    execute: (accountId) => sql`
      SELECT w.account_id AS "accountId", w.id
      FROM webhook w JOIN account_state a ON a.account_id = w.account_id
      WHERE ${accountId === null ? sql.literal("true") : sql`w.account_id = ${accountId} AND a.account_id = ${accountId}`}
        AND w.state = 'active' AND w.due_at <= app_now() AND w.position >= a.feed_floor
        AND (a.feed_seq > w.position OR EXISTS (
          SELECT FROM webhook_delivery d
          WHERE d.account_id = w.account_id AND d.webhook_id = w.id AND d.due_at <= app_now()
        ))
      ORDER BY w.due_at, w.id
      LIMIT ${sql.literal(String(maxCandidates))} ${sql.literal(accountId === null ? allAccounts : "")}`
  })

  const take = SqlSchema.findOne({
    Request: Schema.Struct({ ...Place.fields, claim: Schema.String, leaseSeconds: Schema.Number }),
    Result: ClaimedWebhook,
    execute: ({ accountId, claim, id, leaseSeconds }) => sql`
      WITH free AS MATERIALIZED (
        SELECT w.id, CASE WHEN w.previous_until > app_now() THEN w.previous_secret END AS previous_secret,
               coalesce(extract(epoch FROM app_now() - w.failing_since), 0)::float8 AS failing_seconds
        FROM webhook w
        WHERE w.account_id = ${accountId} AND w.id = ${id} AND w.state = 'active' AND w.due_at <= app_now()
        FOR UPDATE SKIP LOCKED
      )
      UPDATE webhook w
      SET claim = ${claim}::uuid, claimed_by = ${holder}, due_at = app_now() + ${leaseSeconds}::float8 * interval '1 second'
      FROM free f
      WHERE w.account_id = ${accountId} AND w.id = f.id
      RETURNING w.account_id AS "accountId", w.id, w.claim, w.url, w.topics, w.secret,
        f.previous_secret AS "previousSecret", w.position, w.failures, f.failing_seconds AS "failingSeconds",
        w.problem,
        EXISTS (
          SELECT FROM webhook_delivery d WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.state = 'waiting'
        ) AS "hasWaiting"`
  })

  return (limit, leaseSeconds, begin = () => Effect.void) =>
    Effect.gen(function* () {
      const claimed: Array<ClaimedWebhook> = []
      let free = limit
      /** Claims these webhooks while places are free. */
      const takeAll = (places: ReadonlyArray<typeof Place.Type>) =>
        Effect.gen(function* () {
          for (const place of places) {
            if (free === 0) return
            free--
            const webhook = yield* Effect.onError(take({ ...place, claim: randomUUID(), leaseSeconds }), () =>
              Effect.sync(() => free++)
            )
            if (Option.isNone(webhook)) free++
            else {
              claimed.push(webhook.value)
              yield* begin(webhook.value)
            }
          }
        })
      if (hints === undefined) yield* takeAll(yield* due(null))
      else yield* hints.collectDue((accountId) => Effect.tap(due(accountId), takeAll))
      return claimed
    }).pipe(orDie)
}

const makeSaveSetAside = (sql: SqlClient) => (webhook: ClaimedWebhook, handled: DeliveryOutcomes) =>
  Effect.gen(function* () {
    const { accountId, id } = webhook
    const { accepted, failed, isRepaired, setAside, state } = handled
    if (accepted.length > 0)
      yield* sql`
        DELETE FROM webhook_delivery d
        WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.seq = ANY(${accepted}::bigint[])`
    if (failed.length > 0)
      yield* sql`
        UPDATE webhook_delivery d
        SET attempts = f.attempts, problem = f.problem,
            state = CASE WHEN f."delaySeconds" IS NULL THEN 'parked' ELSE 'waiting' END,
            due_at = f.due_at
        FROM (
          SELECT r.*, app_now() + r."delaySeconds" * interval '1 second' AS due_at
          FROM jsonb_to_recordset(${JSON.stringify(failed)}::jsonb)
            AS r (seq bigint, attempts integer, "delaySeconds" float8, problem text)
        ) f
        WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.seq = f.seq`
    if (setAside.length > 0)
      yield* sql`
        INSERT INTO webhook_delivery (account_id, webhook_id, seq, entity_id, change, state, attempts, due_at, problem)
        SELECT own.account_id, ${id}::uuid, (s.change ->> 'seq')::bigint, (s.change #>> '{entity,id}')::uuid, s.change,
               'waiting', s.attempts, app_now() + s."delaySeconds" * interval '1 second', s.problem
        FROM account_state own
        CROSS JOIN jsonb_to_recordset(${JSON.stringify(setAside)}::jsonb)
          AS s (change jsonb, attempts integer, "delaySeconds" float8, problem text)
        WHERE own.account_id = ${accountId}`
    if (state !== "active")
      yield* sql`
        UPDATE webhook_delivery d SET state = 'parked', due_at = NULL
        WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.state = 'waiting'`
    else if (isRepaired)
      yield* sql`
        UPDATE webhook_delivery d SET due_at = app_now()
        WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.due_at > app_now()`
    yield* promote(sql, accountId, id)
  })

/** Statements that claim webhooks and save the outcomes of deliveries. `holder`: the name of this process. */
export const makeWebhookLeases = (
  sql: SqlClient,
  holder: string,
  hints: WorkHints | undefined
): Pick<Repo, "claim" | "due" | "release" | "save" | "waitingAmong"> => {
  const run = makeRunTransaction(sql)
  const saveSetAside = makeSaveSetAside(sql)
  const due = SqlSchema.findAll({
    Request: Schema.Struct({ ...Place.fields, limit: Schema.Int }),
    Result: WaitingDelivery,
    execute: ({ accountId, id, limit }) => sql`
      WITH first AS MATERIALIZED (
        SELECT f.entity_id FROM webhook_delivery f
        WHERE f.account_id = ${accountId} AND f.webhook_id = ${id} AND f.due_at <= app_now()
        ORDER BY f.due_at LIMIT ${limit}
      )
      SELECT d.change, d.attempts, extract(epoch FROM app_now() - d.since)::float8 AS age
      FROM webhook_delivery d
      WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.state = 'waiting'
        AND d.entity_id IN (SELECT f.entity_id FROM first f)
      ORDER BY d.seq LIMIT ${limit}`
  })

  return {
    claim: makeClaim(sql, holder, hints),
    due: ({ accountId, id }, limit) => orDie(due({ accountId, id, limit })),
    waitingAmong: ({ accountId, id }, entityIds) =>
      sql<{ id: string }>`
        SELECT DISTINCT d.entity_id AS id FROM webhook_delivery d
        WHERE d.account_id = ${accountId} AND d.webhook_id = ${id} AND d.state = 'waiting'
          AND d.entity_id = ANY(${entityIds}::uuid[])`.pipe(
        Effect.map((rows) => new Set(rows.map((row) => row.id))),
        orDie
      ),
    save: (webhook, handled, leaseSeconds) =>
      Effect.gen(function* () {
        const { accepted, failed, failures, isAccepted, isRepaired, position, problem, setAside, state } = handled
        const saved = yield* sql`
          UPDATE webhook w
          SET position = ${position}::bigint, state = ${state}, failures = ${failures}, problem = ${problem},
              failing_since = CASE WHEN ${failures > 0} THEN coalesce(w.failing_since, n.at) END,
              delivered_at = CASE WHEN ${isAccepted} THEN n.at ELSE w.delivered_at END,
              due_at = n.due_at
          FROM (SELECT app_now() AS at, app_now() + ${leaseSeconds}::float8 * interval '1 second' AS due_at) n
          WHERE w.account_id = ${webhook.accountId} AND w.id = ${webhook.id} AND w.claim = ${webhook.claim}::uuid
          RETURNING w.id`
        if (saved.length === 0) return false
        if (accepted.length + failed.length + setAside.length > 0 || isRepaired || state !== "active")
          yield* saveSetAside(webhook, handled)
        return true
      }).pipe(run, orDie),
    release: ({ accountId, claim, id }, delaySeconds) =>
      sql`
        UPDATE webhook w
        SET claim = NULL, claimed_by = NULL, due_at = app_now() + ${delaySeconds}::float8 * interval '1 second'
        WHERE w.account_id = ${accountId} AND w.id = ${id} AND w.claim = ${claim}::uuid`.pipe(
        Effect.zipRight(hints?.add(accountId, delaySeconds) ?? Effect.void),
        orDie
      )
  }
}
