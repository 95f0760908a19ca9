import type { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { type Effect, Schema } from "effect"
import { findAll } from "../database/Rows.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type AccountId, StoreId } from "../model/Ids.ts"
import { delayedCode } from "../model/PublishState.ts"

/** Largest number to which versions of a store are counted, so that the time is bounded. */
export const maxCounted = 1_000
/** Maximum number of causes of a store's failures. */
const maxCauses = 3

/** Store versions by publish state. A state whose versions add up to `maxCounted` has at least so many. */
export const StoreCounts = Schema.Struct({
  storeId: StoreId,
  /** Whether no entity is on the store. */
  isEmpty: Schema.Boolean,
  /** Whether a publish was requested in the last 30 days: older publications are deleted. */
  hasPublications: Schema.Boolean,
  /** Counts above 0. The states are those of `MerchantState`; `changed` and `unpublished` are counted together up to `maxCounted`. */
  counts: Schema.Array(
    Schema.Struct({
      state: Schema.Literal("changed", "failed", "publishing", "unpublished"),
      kind: EntityKind,
      count: Schema.Number
    })
  ),
  /** The most frequent causes of the counted failures. */
  causes: Schema.Array(Schema.Struct({ message: Schema.String, count: Schema.Number })),
  /** Number of different causes of the counted failures. */
  causeCount: Schema.Number,
  /** Why publishes to the store wait for its platform. Null: none waits. */
  delay: Schema.NullOr(Schema.String)
})
export type StoreCounts = typeof StoreCounts.Type

/** The number of a store's versions in any of these states. */
export const countIn = (
  { counts }: Pick<StoreCounts, "counts">,
  ...states: ReadonlyArray<StoreCounts["counts"][number]["state"]>
): number => counts.reduce((total, { count, state }) => total + (states.includes(state) ? count : 0), 0)

/** The versions of each state are read from a partial index that has only such versions. */
export const makeStoreCounts = (
  sql: SqlClient.SqlClient
): ((accountId: AccountId) => Effect.Effect<ReadonlyArray<StoreCounts>>) => {
  const versions = (accountId: string, columns: Fragment, condition: string) => sql`
    SELECT ${columns} FROM store_version v
    WHERE v.account_id = ${accountId} AND v.store_id = s.id AND ${sql.literal(condition)}
    LIMIT ${sql.literal(String(maxCounted))}`
  // A join would read all entities of the account.
  const withKind = (accountId: string, state: string) => sql`
    ${sql.literal(state)} AS state,
    (SELECT e.kind FROM entity e WHERE e.account_id = ${accountId} AND e.id = v.entity_id) AS kind`
  const pending = "v.last_publish_status = 'pending'"
  const failed = "v.last_publish_status = 'failed'"
  const toPublish = "v.pending_publish AND v.last_publish_status IN ('never_published', 'published')"
  const publishState = "CASE v.last_publish_status WHEN 'published' THEN 'changed' ELSE 'unpublished' END"
  return findAll(StoreCounts)(
    (accountId: string) => sql`
      SELECT s.id AS "storeId",
             (
               SELECT v.entity_id FROM store_version v WHERE v.account_id = ${accountId} AND v.store_id = s.id
               ORDER BY v.entity_id LIMIT 1
             ) IS NULL AS "isEmpty",
             (
               SELECT p.id FROM publication p WHERE p.account_id = ${accountId} AND p.store_id = s.id
               ORDER BY p.sequence LIMIT 1
             ) IS NOT NULL AS "hasPublications",
             (
               SELECT coalesce(jsonb_agg(jsonb_build_object('state', g.state, 'kind', g.kind, 'count', g.count)), '[]')
               FROM (
                 SELECT o.state, o.kind, count(*) AS count
                 FROM (
                   (${versions(accountId, withKind(accountId, "'failed'"), failed)})
                   UNION ALL
                   (${versions(accountId, withKind(accountId, "'publishing'"), pending)})
                   UNION ALL
                   (${versions(accountId, withKind(accountId, publishState), toPublish)})
                 ) o
                 GROUP BY o.state, o.kind
               ) g
             ) AS counts,
             why.causes, why."causeCount",
             (
               SELECT o.error ->> 'message'
               FROM (${versions(accountId, sql`v.last_publish_error AS error`, pending)}) o
               WHERE o.error ->> 'code' = ${delayedCode} LIMIT 1
             ) AS delay
      FROM store s
      CROSS JOIN LATERAL (
        SELECT coalesce(
                 jsonb_agg(jsonb_build_object('message', g.message, 'count', g.count) ORDER BY g.place)
                   FILTER (WHERE g.place <= ${sql.literal(String(maxCauses))}),
                 '[]'
               ) AS causes,
               count(*)::integer AS "causeCount"
        FROM (
          SELECT o.message, count(*) AS count, row_number() OVER (ORDER BY count(*) DESC, o.message COLLATE "C") AS place
          FROM (${versions(accountId, sql`v.last_publish_error ->> 'message' AS message`, failed)}) o
          WHERE o.message IS NOT NULL
          GROUP BY o.message
        ) g
      ) why
      WHERE s.account_id = ${accountId} AND s.status = 'linked'
      ORDER BY s.domain COLLATE "C", s.id`
  )
}
