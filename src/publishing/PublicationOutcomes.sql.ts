import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { forgetByAccount } from "../database/Forgetting.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll, findOne } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, type EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { delayedCode, PublishError } from "../model/PublishState.ts"
import { PublicationContent } from "./PublicationContent.ts"
import { AttemptError, FailedPublication, keptDays, PublicationRecord, PublishAttempt } from "./PublicationRecord.ts"
import type { PublicationsRepo } from "./PublicationsRepo.ts"

/** Maximum number of publications that one statement deletes. */
const maxDeleted = 10_000

export type PublicationOutcomes = Pick<
  Context.Tag.Service<PublicationsRepo>,
  "attempts" | "contents" | "delaysOf" | "failures" | "find" | "forget" | "outage"
>

/** Statements that read publications, their outcomes and outages, and delete old publications. */
export const makePublicationOutcomes = (sql: SqlClient): PublicationOutcomes => {
  const Ids = Schema.Struct({ accountId: AccountId, ids: Schema.Array(PublicationId) })

  const find = findAll(PublicationRecord)(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT p.id, p.entity_id AS "entityId", p.store_id AS "storeId", s.domain AS "storeDomain",
             p.draft_revision AS "draftRevision", p.state, p.attempts, rfc3339(p.asked_at) AS "requestedAt",
             rfc3339(p.finished_at) AS "finishedAt", p.error
      FROM publication p
      JOIN store s ON s.account_id = ${accountId} AND s.id = p.store_id
      WHERE p.account_id = ${accountId} AND p.id = ANY(${ids}::uuid[])
      ORDER BY p.asked_at, p.sequence, p.id`
  )

  const contents = findAll(Schema.Struct({ id: PublicationId, content: PublicationContent }))(
    ({ accountId, ids }: typeof Ids.Type) => sql`
      SELECT p.id, p.content FROM publication p
      WHERE p.account_id = ${accountId} AND p.id = ANY(${ids}::uuid[])`
  )

  // The newest publication of every entity is found in one pass. A look-up for each failed version was quadratic: PostgreSQL expects
  // many publications of an entity, so it walked those of the store.
  const failures = findAll(FailedPublication)(
    (accountId: AccountId, limit: number) => sql`
      WITH newest AS (
        SELECT DISTINCT ON (b.entity_id, p.store_id) b.entity_id, p.store_id, p.attempts, p.finished_at, p.sequence
        FROM publication p
        CROSS JOIN LATERAL unnest(p.brings) AS b (entity_id)
        WHERE p.account_id = ${accountId} AND p.state = 'failed'
        ORDER BY b.entity_id, p.store_id, p.sequence DESC
      ), failed AS (
        SELECT v.entity_id, v.store_id, s.domain, v.last_publish_error, p.attempts, p.finished_at, p.sequence
        FROM store_version v
        JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
        LEFT JOIN newest p ON p.entity_id = v.entity_id AND p.store_id = v.store_id
        WHERE v.account_id = ${accountId} AND v.last_publish_status = 'failed'
        ORDER BY p.finished_at DESC NULLS LAST, p.sequence DESC, v.entity_id, v.store_id
        LIMIT ${limit}
      )
      SELECT n.entity_id AS "entityId", e.kind AS "entityType", e.title, n.store_id AS "storeId",
             n.domain AS "storeDomain", n.attempts, rfc3339(n.finished_at) AS "finishedAt", n.last_publish_error AS error
      FROM failed n
      JOIN entity e ON e.account_id = ${accountId} AND e.id = n.entity_id
      ORDER BY n.finished_at DESC NULLS LAST, n.sequence DESC, n.entity_id, n.store_id`
  )

  const attempts = findAll(PublishAttempt)(
    (accountId: AccountId, id: PublicationId) => sql`
      SELECT rfc3339(a.started_at) AS "startedAt", rfc3339(a.ended_at) AS "endedAt", a.outcome, a.reason
      FROM publish_attempt a
      WHERE a.account_id = ${accountId} AND a.publication_id = ${id}
      ORDER BY a.ordinal`
  )

  const outage = findOne(Schema.Struct({ error: AttemptError }))(
    (accountId: AccountId, storeId: StoreId) => sql`
      SELECT s.outage_error AS error FROM store s
      WHERE s.account_id = ${accountId} AND s.id = ${storeId} AND s.outage_until > app_now()
        AND s.outage_error IS NOT NULL`
  )

  const delaysOf = findAll(Schema.Struct({ storeId: StoreId, error: PublishError }))(
    (accountId: AccountId, entityId: EntityId) => sql`
      WITH RECURSIVE line AS (
        SELECT p.id, p.store_id, p.sequence, p.brings FROM publication p
        WHERE p.account_id = ${accountId} AND p.state = 'pending' AND p.brings @> ARRAY[${entityId}::uuid]
        UNION
        SELECT q.id, q.store_id, q.sequence, q.brings
        FROM line l
        JOIN publication q ON q.account_id = ${accountId} AND q.store_id = l.store_id AND q.state = 'pending'
          AND q.sequence < l.sequence AND q.brings && l.brings
      )
      SELECT DISTINCT ON (d.store_id) d.store_id AS "storeId", d.error
      FROM (
        SELECT l.store_id, p.error, l.sequence FROM line l
        JOIN publication p ON p.account_id = ${accountId} AND p.id = l.id AND p.error ->> 'code' = ${delayedCode}
        UNION ALL
        SELECT l.store_id, s.outage_error, l.sequence FROM line l
        JOIN store s ON s.account_id = ${accountId} AND s.id = l.store_id
          AND s.outage_met_by IS NOT NULL AND s.outage_error IS NOT NULL
      ) d
      ORDER BY d.store_id, d.sequence`
  )

  const isOld = sql`p.state <> 'pending' AND p.finished_at <= app_now() - ${keptDays} * interval '1 day'`

  const forget = forgetByAccount(
    sql<{ accountId: string }>`
      SELECT DISTINCT p.account_id AS "accountId" FROM publication p WHERE ${isOld} ${sql.literal(allAccounts)}`,
    (accountId) => sql`
      DELETE FROM publication d
      WHERE d.account_id = ${accountId} AND d.id = ANY(ARRAY(
        SELECT p.id FROM publication p WHERE p.account_id = ${accountId} AND ${isOld} LIMIT ${maxDeleted}
      ))
      RETURNING d.id`
  )

  return {
    find: (accountId, ids) => find({ accountId, ids }),
    contents: (accountId, ids) =>
      Effect.map(contents({ accountId, ids }), (rows) => new Map(rows.map(({ content, id }) => [id, content]))),
    failures,
    attempts,
    outage: (accountId, storeId) =>
      Effect.map(
        outage(accountId, storeId),
        Option.map(({ error }) => error)
      ),
    delaysOf: (accountId, entityId) =>
      Effect.map(delaysOf(accountId, entityId), (rows) => new Map(rows.map(({ error, storeId }) => [storeId, error]))),
    forget: orDie(forget)
  }
}
