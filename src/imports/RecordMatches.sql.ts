import { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { EntityId, type StoreId } from "../model/Ids.ts"
import type { MatchedBy, RecordRange } from "./PulledRecord.ts"

interface RangeOfStore extends RecordRange {
  readonly storeId: StoreId
}

/** Statements that match records with entities, one for each rule. */
export const makeRecordMatches = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const isUnmatched = ({ accountId, from, id, through }: RangeOfStore) => sql`
    k.account_id = ${accountId} AND k.run_id = ${id} AND k.root > ${from} AND k.root <= ${through}
    AND k.entity_id IS NULL`
  const findBy = (statement: (range: RangeOfStore) => Fragment) =>
    findAll(Schema.Struct({ root: Schema.Int, ordinal: Schema.Int, entityId: EntityId }))(
      (range: RangeOfStore) => sql`${statement(range)} ${sql.literal(planCustom)}`
    )

  return {
    platformId: findBy(
      (range) => sql`
        SELECT k.root, k.ordinal, min(f.entity_id::text) AS "entityId"
        FROM import_record k
        CROSS JOIN LATERAL (
          SELECT v.entity_id FROM store_version v
          WHERE v.account_id = ${range.accountId} AND v.store_id = ${range.storeId} AND v.platform_id = k.platform_id
          LIMIT 2
        ) f
        CROSS JOIN LATERAL (
          SELECT e.kind FROM entity e WHERE e.account_id = ${range.accountId} AND e.id = f.entity_id OFFSET 0
        ) e
        WHERE ${isUnmatched(range)} AND e.kind = k.kind
        GROUP BY k.root, k.ordinal
        HAVING count(*) = 1`
    ),
    saidId: findBy(
      (range) => sql`
        SELECT k.root, k.ordinal, k.said_id AS "entityId"
        FROM import_record k
        CROSS JOIN LATERAL (
          SELECT e.kind FROM entity e WHERE e.account_id = ${range.accountId} AND e.id = k.said_id OFFSET 0
        ) e
        WHERE ${isUnmatched(range)} AND k.said_id IS NOT NULL AND e.kind = k.kind
        ORDER BY k.ordinal`
    ),
    variants: findBy(
      (range) => sql`
        SELECT k.root, k.ordinal, min(e.parent_id::text) AS "entityId"
        FROM import_record k
        JOIN import_record v ON v.account_id = ${range.accountId} AND v.run_id = k.run_id AND v.root = k.root
        CROSS JOIN LATERAL (
          SELECT e.parent_id FROM entity e WHERE e.account_id = ${range.accountId} AND e.id = v.entity_id OFFSET 0
        ) e
        WHERE ${isUnmatched(range)} AND k.kind = 'product' AND v.kind = 'variant' AND v.entity_id IS NOT NULL
        GROUP BY k.root, k.ordinal
        HAVING count(DISTINCT e.parent_id) = 1
        ORDER BY k.ordinal`
    ),
    sku: findBy(
      (range) => sql`
        SELECT k.root, k.ordinal, f.parent_id AS "entityId"
        FROM import_record k
        JOIN import_record v ON v.account_id = ${range.accountId} AND v.run_id = k.run_id AND v.root = k.root
        CROSS JOIN LATERAL (
          SELECT min(s.parent_id::text) AS parent_id, count(*) AS bearers
          FROM (
            SELECT e.parent_id FROM entity e
            WHERE e.account_id = ${range.accountId} AND e.kind = 'variant' AND e.attributes #>> '{sku,value}' = v.sku
            LIMIT 2
          ) s
        ) f
        WHERE ${isUnmatched(range)} AND k.kind = 'product' AND v.kind = 'variant' AND v.sku IS NOT NULL AND f.bearers = 1
          AND NOT EXISTS (
            SELECT FROM import_record o
            WHERE o.account_id = ${range.accountId} AND o.run_id = v.run_id AND o.sku = v.sku AND o.root <> v.root
          )
        GROUP BY k.root, k.ordinal, f.parent_id
        ORDER BY k.ordinal`
    ),
    handle: findBy(
      (range) => sql`
        SELECT k.root, k.ordinal, min(f.id::text) AS "entityId"
        FROM import_record k
        CROSS JOIN LATERAL (
          (
            SELECT e.id FROM entity e
            WHERE k.kind = 'product' AND e.account_id = ${range.accountId} AND e.kind = 'product'
              AND e.attributes #>> '{handle,value}' = k.handle
            LIMIT 2
          )
          UNION ALL
          (
            SELECT e.id FROM entity e
            WHERE k.kind = 'collection' AND e.account_id = ${range.accountId} AND e.kind = 'collection'
              AND e.attributes #>> '{handle,value}' = k.handle
            LIMIT 2
          )
        ) f
        WHERE ${isUnmatched(range)} AND k.handle IS NOT NULL
        GROUP BY k.root, k.ordinal
        HAVING count(*) = 1
        ORDER BY k.ordinal`
    ),
    address: findBy(
      (range) => sql`
        SELECT k.root, k.ordinal, min(f.id::text) AS "entityId"
        FROM import_record k
        CROSS JOIN LATERAL (
          SELECT e.id FROM entity e
          WHERE e.account_id = ${range.accountId} AND e.kind = 'media'
            AND md5(split_part(e.attributes #>> '{url,value}', '?', 1)) = md5(k.address)
          LIMIT 2
        ) f
        WHERE ${isUnmatched(range)} AND k.kind = 'media' AND k.address IS NOT NULL
        GROUP BY k.root, k.ordinal
        HAVING count(*) = 1
        ORDER BY k.ordinal`
    )
  } satisfies Record<MatchedBy, unknown>
})
