import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { PublicationId } from "../model/Ids.ts"
import { type AttemptEnd, ClaimedPublication } from "./PublicationClaim.ts"
import type { PublicationsRepo } from "./PublicationsRepo.ts"

type Repo = Context.Tag.Service<PublicationsRepo>

const ClaimLimits = Schema.Struct({
  most: Schema.Int,
  mostPerStore: Schema.Int,
  leaseSeconds: Schema.Number,
  only: Schema.NullOr(Schema.Array(PublicationId))
})

/**
 * Claims due publications for the process `holder`. The statement walks from store to store along the queue's index, so its
 * cost does not grow with a store's backlog. Concurrent workers skip locked rows; PostgreSQL checks a row again after it has
 * locked it.
 */
export const makeClaimPublications = (sql: SqlClient, holder: string): Repo["claim"] => {
  const claim = SqlSchema.findAll({
    Request: ClaimLimits,
    Result: ClaimedPublication,
    execute: ({ leaseSeconds, most, mostPerStore, only }) => sql`
      WITH RECURSIVE waiting AS (
        (
          SELECT p.account_id, p.store_id FROM publication p
          WHERE p.state = 'pending'
          ORDER BY p.account_id, p.store_id LIMIT 1
        )
        UNION ALL
        SELECT n.account_id, n.store_id
        FROM waiting w
        CROSS JOIN LATERAL (
          SELECT p.account_id, p.store_id FROM publication p
          WHERE p.state = 'pending' AND (p.account_id, p.store_id) > (w.account_id, w.store_id)
          ORDER BY p.account_id, p.store_id LIMIT 1
        ) n
      ), candidate AS (
        SELECT c.account_id, c.id, c.sequence, c.asked_at,
               row_number() OVER (PARTITION BY c.account_id, c.store_id ORDER BY c.sequence) AS place
        FROM waiting w
        JOIN store s ON s.account_id = w.account_id AND s.id = w.store_id AND s.status = 'linked'
        JOIN import_lock l ON l.account_id = w.account_id AND l.run_id IS NULL
        CROSS JOIN LATERAL (
          SELECT count(*) AS count FROM publication b
          WHERE b.account_id = w.account_id AND b.store_id = w.store_id AND b.claim IS NOT NULL
            AND b.lease_until > app_now()
        ) busy
        CROSS JOIN LATERAL (
          SELECT p.account_id, p.store_id, p.id, p.sequence, p.asked_at
          FROM publication p
          WHERE p.account_id = w.account_id AND p.store_id = w.store_id AND p.state = 'pending'
            AND p.next_attempt_at <= app_now() AND (p.lease_until IS NULL OR p.lease_until <= app_now())
            AND (${only}::uuid[] IS NULL OR p.id = ANY(${only}::uuid[]))
            AND NOT EXISTS (
              SELECT FROM publication q
              WHERE q.account_id = p.account_id AND q.store_id = p.store_id AND q.state = 'pending'
                AND q.sequence < p.sequence AND q.brings && p.brings
            )
          ORDER BY p.sequence
          LIMIT greatest(${mostPerStore}::bigint - busy.count, 0)
          FOR UPDATE SKIP LOCKED
        ) c
      ), chosen AS (
        SELECT account_id, id FROM candidate ORDER BY place, asked_at, sequence LIMIT ${most}
      ), taken AS (
        UPDATE publication p
        SET claim = gen_random_uuid(), lease_until = app_now() + ${leaseSeconds}::float8 * interval '1 second',
            claimed_by = ${holder}, attempts = p.attempts + 1, lost = p.lost + (p.claim IS NOT NULL)::integer
        FROM chosen c
        WHERE p.account_id = c.account_id AND p.id = c.id
        RETURNING p.*
      ), lost AS (
        UPDATE publish_attempt a
        SET ended_at = app_now(), outcome = 'lost'
        FROM taken t
        WHERE a.account_id = t.account_id AND a.publication_id = t.id AND a.ended_at IS NULL
      ), begun AS (
        INSERT INTO publish_attempt (account_id, publication_id, ordinal)
        SELECT t.account_id, t.id, t.attempts FROM taken t
      )
      SELECT t.account_id AS "accountId", t.id, t.claim::text AS claim, t.entity_id AS "entityId",
             t.store_id AS "storeId", t.draft_revision AS "draftRevision", t.content, t.actor, t.drop_id AS "dropId",
             t.attempts, t.given_back AS "givenBack", t.lost, t.error
      FROM taken t
      ORDER BY t.asked_at, t.sequence`
  })

  return (request) => orDie(claim(request))
}

/** Statements that change a claimed publication. They change nothing once another process has taken it over. */
export const makeClaimWrites = (sql: SqlClient): Pick<Repo, "finish" | "giveBack" | "pin" | "postpone" | "renew"> => {
  const isStillClaimed = ({ accountId, claim, id }: ClaimedPublication) =>
    sql`p.account_id = ${accountId} AND p.id = ${id} AND p.claim = ${claim}::uuid AND p.state = 'pending'`

  /** Updates the publication. False: it is no longer claimed by this attempt. */
  const update = (claimed: ClaimedPublication, assignment: Fragment) =>
    sql`
      UPDATE publication p SET ${assignment}
      WHERE ${isStillClaimed(claimed)}
      RETURNING p.id`.pipe(
      Effect.map((rows) => rows.length > 0),
      orDie
    )

  /** Ends the attempt and updates the publication. False: it is no longer claimed by this attempt. */
  const end = (claimed: ClaimedPublication, { outcome, reason }: AttemptEnd, assignment: Fragment) =>
    sql`
      WITH ended AS (
        UPDATE publication p SET claim = NULL, lease_until = NULL, ${assignment}
        WHERE ${isStillClaimed(claimed)}
        RETURNING p.account_id, p.id, p.attempts
      )
      UPDATE publish_attempt a
      SET ended_at = app_now(), outcome = ${outcome}, reason = ${reason}
      FROM ended e
      WHERE a.account_id = e.account_id AND a.publication_id = e.id AND a.ordinal = e.attempts
      RETURNING a.ordinal`.pipe(
      Effect.map((rows) => rows.length > 0),
      orDie
    )

  return {
    renew: (claimed, leaseSeconds) =>
      update(claimed, sql`lease_until = app_now() + ${leaseSeconds}::float8 * interval '1 second'`),
    pin: (claimed, content) => update(claimed, sql`content = ${JSON.stringify(content)}::jsonb`),
    postpone: (claimed, ended, error, delaySeconds) =>
      Effect.asVoid(
        end(
          claimed,
          ended,
          sql`
            error = ${JSON.stringify(error)}::jsonb,
            next_attempt_at = app_now() + ${delaySeconds}::float8 * interval '1 second'`
        )
      ),
    giveBack: (claimed) =>
      Effect.asVoid(end(claimed, { outcome: "interrupted", reason: null }, sql`given_back = p.given_back + 1`)),
    finish: (claimed, ended, state, error) =>
      end(
        claimed,
        ended,
        sql`
          state = ${state}, finished_at = app_now(),
          error = ${error === null ? null : JSON.stringify(error)}::jsonb`
      )
  }
}
