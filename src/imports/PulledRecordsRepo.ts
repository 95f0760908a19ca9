import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type FoundEntity, type MatchedBy, PulledRecord, type RecordRange } from "./PulledRecord.ts"
import { makePulledRecordStatements, type PulledRecordStatements } from "./PulledRecords.sql.ts"
import { makeRecordMatches } from "./RecordMatches.sql.ts"

/** The records of stores that are being compared with the catalog. */
export class PulledRecordsRepo extends Context.Tag("catalog/PulledRecordsRepo")<
  PulledRecordsRepo,
  PulledRecordStatements & {
    /** Records in the order in which they were read, after a position (null: from the start). */
    readonly page: (
      accountId: AccountId,
      id: ImportId,
      after: { readonly root: number; readonly ordinal: number } | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PulledRecord>>
    /**
     * The entities that records match by one rule. For a product whose SKUs belong to different products of the catalog, `sku` returns
     * several entities. A platform id, SKU, handle or address that two entities share matches nothing.
     */
    readonly find: (by: MatchedBy, range: RecordRange, storeId: StoreId) => Effect.Effect<ReadonlyArray<FoundEntity>>
    /** The matched entities of the records with these platform ids, by platform id. */
    readonly resolve: (
      accountId: AccountId,
      id: ImportId,
      platformIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, EntityId>>
    /**
     * Entities that the store accepted before the reading of the store began and that no record matches. If a product is missing,
     * its variants that were never accepted are included. Ordered by id, starting after `after` (the nil UUID: from the start).
     */
    readonly missing: (
      read: {
        readonly accountId: AccountId
        readonly id: ImportId
        readonly storeId: StoreId
        readonly begunAt: Timestamp
      },
      after: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<EntityId>>
  }
>() {
  static readonly layer = Layer.effect(
    PulledRecordsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // The tables grow during an import, so a cached plan would soon be wrong: each statement is planned anew.
      const grown = sql.literal(planCustom)
      const statements = yield* makePulledRecordStatements
      const matches = yield* makeRecordMatches

      const page = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          id: ImportId,
          root: Schema.Int,
          ordinal: Schema.Int,
          limit: Schema.Int
        }),
        Result: PulledRecord,
        execute: ({ accountId, id, limit, ordinal, root }) => sql`
          SELECT root, ordinal, kind, platform_id AS "platformId", said_id AS "saidId", attributes, related,
                 entity_id AS "entityId"
          FROM import_record
          WHERE account_id = ${accountId} AND run_id = ${id} AND (root, ordinal) > (${root}, ${ordinal})
          ORDER BY root, ordinal LIMIT ${limit} ${grown}`
      })

      const Resolved = Schema.Struct({ platformId: Schema.String, entityId: EntityId })
      const resolve = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, id: ImportId, platformIds: Schema.Array(Schema.String) }),
        Result: Resolved,
        execute: ({ accountId, id, platformIds }) => sql`
          SELECT r.platform_id AS "platformId", r.entity_id AS "entityId"
          FROM (SELECT DISTINCT unnest(${platformIds}::text[]) AS platform_id) k
          CROSS JOIN LATERAL (
            SELECT o.platform_id, o.entity_id FROM import_record o
            WHERE o.account_id = ${accountId} AND o.run_id = ${id} AND o.platform_id = k.platform_id
              AND o.entity_id IS NOT NULL
          ) r ${grown}`
      })

      const missing = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          id: ImportId,
          storeId: StoreId,
          begunAt: Timestamp,
          after: Schema.String,
          limit: Schema.Int
        }),
        Result: Schema.Struct({ entityId: EntityId }),
        execute: ({ accountId, after, begunAt, id, limit, storeId }) => sql`
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
      })

      return {
        ...statements,
        page: (accountId, id, after, limit) =>
          orDie(page({ accountId, id, root: after?.root ?? -1, ordinal: after?.ordinal ?? -1, limit })),
        find: (by, range, storeId) => orDie(matches[by]({ ...range, storeId })),
        resolve: (accountId, id, platformIds) =>
          platformIds.length === 0
            ? Effect.succeed(new Map())
            : Effect.map(
                orDie(resolve({ accountId, id, platformIds })),
                (rows) => new Map(rows.map(({ entityId, platformId }) => [platformId, entityId]))
              ),
        missing: (read, after, limit) =>
          Effect.map(orDie(missing({ ...read, after, limit })), (rows) => rows.map(({ entityId }) => entityId))
      }
    })
  )
}
