import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"

/** A publication `p` that no attempt holds, and that can be attempted now. `accountId`: its account. */
export const makeIsDue = (sql: SqlClient) => (accountId: Fragment) =>
  sql`
  p.state = 'pending' AND p.next_attempt_at <= app_now() AND (p.lease_until IS NULL OR p.lease_until <= app_now())
  AND NOT EXISTS (
    SELECT FROM publication q
    WHERE q.account_id = ${accountId} AND q.store_id = p.store_id AND q.state = 'pending'
      AND q.sequence < p.sequence AND q.brings && p.brings
  )`

/** A linked store `s` on one of these platforms, whose publishes do not wait for the end of an outage. */
export const makeCanPublish = (sql: SqlClient) => (platforms: ReadonlyArray<string> | undefined) =>
  sql`s.status = 'linked' AND (s.outage_until IS NULL OR s.outage_until <= app_now())
      AND ${platforms === undefined ? sql.literal("true") : sql`s.platform = ANY(${platforms}::text[])`}`
