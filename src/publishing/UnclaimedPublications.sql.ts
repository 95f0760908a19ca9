import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { allAccounts } from "../database/PlannerHints.ts"
import { findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId, EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { delayedCode, PublishError } from "../model/PublishState.ts"
import { makeIsDue } from "./DuePublications.sql.ts"
import { SilentPublication, UnclaimedStore } from "./PublicationClaim.ts"
import type { PublicationsRepo } from "./PublicationsRepo.ts"

/** Maximum number of stores that one statement finds. */
const maxStores = 1_000

/** Statements about publications that no process claims, and about the reasons why publications wait. */
export const makeUnclaimed = (
  sql: SqlClient
): Pick<Context.Tag.Service<PublicationsRepo>, "delayAhead" | "sayWhy" | "silent" | "unclaimed"> => {
  const isDue = makeIsDue(sql)
  const isFree = sql.literal("(p.lease_until IS NULL OR p.lease_until <= app_now())")

  const unclaimed = findAll(UnclaimedStore)(
    (platforms: ReadonlyArray<string>) => sql`
      SELECT s.account_id AS "accountId", s.id AS "storeId", s.domain, s.platform, d.id, d.attempts
      FROM store s
      JOIN import_lock l ON l.account_id = s.account_id AND l.run_id IS NULL
      CROSS JOIN LATERAL (
        SELECT p.id, p.attempts FROM publication p
        WHERE p.account_id = s.account_id AND p.store_id = s.id AND ${isDue(sql.literal("s.account_id"))}
        ORDER BY p.sequence LIMIT 1
      ) d
      WHERE s.status = 'linked' AND (s.outage_until IS NULL OR s.outage_until <= app_now())
        AND s.platform <> ALL(${platforms}::text[])
        AND NOT EXISTS (
          SELECT FROM publication b
          WHERE b.account_id = s.account_id AND b.store_id = s.id AND b.claim IS NOT NULL AND b.lease_until > app_now()
        )
      ORDER BY s.account_id, s.id LIMIT ${sql.literal(String(maxStores))} ${sql.literal(allAccounts)}`
  )

  const silent = findAll(SilentPublication)(
    (accountId: AccountId, storeId: StoreId, limit: number, ahead?: ReadonlyArray<PublicationId>) => sql`
      SELECT p.id, p.entity_id AS "entityId", p.content FROM publication p
      WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending' AND ${isFree}
        AND p.error ->> 'code' IS DISTINCT FROM ${delayedCode}
        AND ${
          ahead === undefined
            ? sql.literal("true")
            : sql`p.drop_id IS NULL AND p.id = ANY(ARRAY(
          SELECT b.id FROM publication a
          JOIN publication b ON b.account_id = ${accountId} AND b.store_id = ${storeId} AND b.state = 'pending'
            AND b.sequence > a.sequence AND b.brings && a.brings
          WHERE a.account_id = ${accountId} AND a.id = ANY(${ahead}::uuid[])
        ))`
        }
      ORDER BY p.sequence LIMIT ${limit}`
  )

  const delayAhead = findOne(Schema.Struct({ error: PublishError }))(
    (accountId: AccountId, storeId: StoreId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT p.error FROM publication p
      WHERE p.account_id = ${accountId} AND p.store_id = ${storeId} AND p.state = 'pending'
        AND p.brings && ${ids}::uuid[] AND p.error ->> 'code' = ${delayedCode}
      ORDER BY p.sequence
      LIMIT 1`
  )

  return {
    unclaimed,
    delayAhead: (...request) =>
      Effect.map(
        delayAhead(...request),
        Option.map(({ error }) => error)
      ),
    silent,
    sayWhy: (accountId, id, error) =>
      sql`
        UPDATE publication p SET error = ${JSON.stringify(error)}::jsonb
        WHERE p.account_id = ${accountId} AND p.id = ${id} AND p.state = 'pending' AND ${isFree}
        RETURNING p.id`.pipe(hasRows, orDie)
  }
}
