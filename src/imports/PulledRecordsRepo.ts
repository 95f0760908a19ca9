import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { type AccountId, EntityId, type ImportId, type StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { type MatchedBy, PulledRecord, type RecordRange } from "./PulledRecord.ts"
import { makePulledRecordStatements } from "./PulledRecords.sql.ts"
import { makeRecordMatches } from "./RecordMatches.sql.ts"

/** The reading of a store by an import. */
interface StoreReading {
  readonly accountId: AccountId
  readonly id: ImportId
  readonly storeId: StoreId
  readonly begunAt: Timestamp
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The tables grow during an import, so a cached plan would soon be wrong: each statement is planned anew.
  const grown = sql.literal(planCustom)
  const statements = yield* makePulledRecordStatements
  const matches = yield* makeRecordMatches

  const page = findAll(PulledRecord)(
    (accountId: AccountId, id: ImportId, root: number, ordinal: number, limit: number) => sql`
      SELECT root, ordinal, kind, platform_id AS "platformId", said_id AS "saidId", attributes, related,
             entity_id AS "entityId"
      FROM import_record
      WHERE account_id = ${accountId} AND run_id = ${id} AND (root, ordinal) > (${root}, ${ordinal})
      ORDER BY root, ordinal LIMIT ${limit} ${grown}`
  )

  const Resolved = Schema.Struct({ platformId: Schema.String, entityId: EntityId })
  const resolve = findAll(Resolved)(
    (accountId: AccountId, id: ImportId, platformIds: ReadonlyArray<string>) => sql`
      SELECT r.platform_id AS "platformId", r.entity_id AS "entityId"
      FROM (SELECT DISTINCT unnest(${platformIds}::text[]) AS platform_id) k
      CROSS JOIN LATERAL (
        SELECT o.platform_id, o.entity_id FROM import_record o
        WHERE o.account_id = ${accountId} AND o.run_id = ${id} AND o.platform_id = k.platform_id
          AND o.entity_id IS NOT NULL
      ) r ${grown}`
  )

  const missing = findAll(Schema.Struct({ entityId: EntityId }))(
    ({ accountId, begunAt, id, storeId }: StoreReading, after: string, limit: number) => sql`
      SELECT v.entity_id AS "entityId"
      FROM store_version v
      WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.entity_id > ${after}::uuid
        AND NOT EXISTS (
          SELECT FROM import_record r
          WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.entity_id = v.entity_id
        )
        AND (
          v.accepted IS NOT NULL AND coalesce(v.published_at, '-infinity') < ${begunAt}::timestamptz
          OR v.accepted IS NULL AND EXISTS (
            SELECT FROM entity e
            JOIN store_version p ON p.account_id = ${accountId} AND p.entity_id = e.parent_id AND p.store_id = v.store_id
            WHERE e.account_id = ${accountId} AND e.id = v.entity_id AND p.accepted IS NOT NULL
              AND coalesce(p.published_at, '-infinity') < ${begunAt}::timestamptz
              AND NOT EXISTS (
                SELECT FROM import_record r
                WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.entity_id = e.parent_id
              )
          )
        )
      ORDER BY v.entity_id LIMIT ${limit} ${grown}`
  )

  return {
    ...statements,
    /** Records in the order in which they were read, after a position (null: from the start). */
    page: (
      accountId: AccountId,
      id: ImportId,
      after: { readonly root: number; readonly ordinal: number } | null,
      limit: number
    ) => page(accountId, id, after?.root ?? -1, after?.ordinal ?? -1, limit),
    /**
     * The entities that records match by one rule. For a product whose SKUs belong to different products of the catalog, `sku` returns
     * several entities. A platform id, SKU, handle or address that two entities share matches nothing.
     */
    find: (by: MatchedBy, range: RecordRange, storeId: StoreId) => matches[by]({ ...range, storeId }),
    /** The matched entities of the records with these platform ids, by platform id. */
    resolve: (accountId: AccountId, id: ImportId, platformIds: ReadonlyArray<string>) =>
      platformIds.length === 0
        ? Effect.succeed(new Map<string, EntityId>())
        : Effect.map(
            resolve(accountId, id, platformIds),
            (rows) => new Map(rows.map(({ entityId, platformId }) => [platformId, entityId]))
          ),
    /**
     * Entities that the store accepted before the reading of the store began and that no record matches. If a product is missing,
     * its variants that were never accepted are included. Ordered by id, starting after `after` (the nil UUID: from the start).
     */
    missing: (read: StoreReading, after: string, limit: number) =>
      Effect.map(missing(read, after, limit), (rows) => rows.map(({ entityId }) => entityId))
  }
})

/** The records of stores that are being compared with the catalog. */
export class PulledRecordsRepo extends Context.Tag("catalog/PulledRecordsRepo")<
  PulledRecordsRepo,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(PulledRecordsRepo, make)
}
