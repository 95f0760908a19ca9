import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll, findSingle, mapByKey, withoutChecks } from "../database/Rows.ts"
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

/** The last of the entities that one statement walked (null: there are none), and those of them that no record matches. */
const Walked = Schema.Struct({ last: Schema.NullOr(EntityId), missing: Schema.Array(EntityId) })
export type Walked = typeof Walked.Type

/** The columns of `PulledRecord`. */
const columns = `
  r.root, r.ordinal, r.kind, r.platform_id AS "platformId", r.said_id AS "saidId", r.attributes, r.related, r.entity_id AS "entityId"`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The tables grow during an import, so a cached plan would soon be wrong: each statement is planned anew.
  const grown = sql.literal(planCustom)
  const statements = yield* makePulledRecordStatements
  const matches = yield* makeRecordMatches

  const page = findAll(PulledRecord)(
    (accountId: AccountId, id: ImportId, root: number, ordinal: number, limit: number) => sql`
      SELECT ${sql.literal(columns)}
      FROM import_record r
      WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND (r.root, r.ordinal) > (${root}, ${ordinal})
      ORDER BY r.root, r.ordinal LIMIT ${limit} ${grown}`
  )

  const matching = findAll(PulledRecord)(
    (accountId: AccountId, id: ImportId, entityIds: ReadonlyArray<EntityId>) => sql`
      SELECT ${sql.literal(columns)}
      FROM (
        SELECT DISTINCT m.root
        FROM unnest(${entityIds}::uuid[]) AS k (id)
        CROSS JOIN LATERAL (
          SELECT coalesce(e.parent_id, e.id) AS id FROM entity e
          WHERE e.account_id = ${accountId} AND e.id = k.id OFFSET 0
        ) o
        CROSS JOIN LATERAL (
          SELECT i.root FROM import_record i
          WHERE i.account_id = ${accountId} AND i.run_id = ${id} AND i.entity_id = o.id OFFSET 0
        ) m
      ) f
      JOIN import_record r ON r.account_id = ${accountId} AND r.run_id = ${id} AND r.root = f.root
      ORDER BY r.root, r.ordinal ${grown}`
  )

  const Resolved = withoutChecks(Schema.Struct({ entityIds: Schema.Array(Schema.NullOr(EntityId)) }))
  const resolve = findSingle(Resolved)(
    (accountId: AccountId, id: ImportId, platformIds: ReadonlyArray<string>) => sql`
      SELECT json_agg(r.entity_id ORDER BY k.place) AS "entityIds"
      FROM jsonb_array_elements_text(${JSON.stringify(platformIds)}::jsonb) WITH ORDINALITY AS k (platform_id, place)
      LEFT JOIN LATERAL (
        SELECT o.entity_id FROM import_record o
        WHERE o.account_id = ${accountId} AND o.run_id = ${id} AND o.platform_id = k.platform_id
        OFFSET 0
      ) r ON true ${grown}`
  )

  // OFFSET 0 keeps the look-ups of each entity: the planner would otherwise join whole tables if their statistics are old.
  const missing = findSingle(Walked)(
    ({ accountId, begunAt, id, storeId }: StoreReading, after: string, looked: number) => sql`
      WITH walked AS MATERIALIZED (
        SELECT v.entity_id, v.accepted IS NOT NULL AS is_accepted, v.published_at
        FROM store_version v
        WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.entity_id > ${after}::uuid
        ORDER BY v.entity_id LIMIT ${looked}
      )
      SELECT (SELECT w.entity_id FROM walked w ORDER BY w.entity_id DESC LIMIT 1) AS last,
             ARRAY(
               SELECT w.entity_id FROM walked w
               WHERE NOT EXISTS (
                   SELECT FROM import_record r
                   WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.entity_id = w.entity_id OFFSET 0
                 )
                 AND (
                   w.is_accepted AND coalesce(w.published_at, '-infinity') < ${begunAt}::timestamptz
                   OR NOT w.is_accepted AND EXISTS (
                     SELECT FROM entity e
                     JOIN store_version p
                       ON p.account_id = ${accountId} AND p.entity_id = e.parent_id AND p.store_id = ${storeId}
                     WHERE e.account_id = ${accountId} AND e.id = w.entity_id AND p.accepted IS NOT NULL
                       AND coalesce(p.published_at, '-infinity') < ${begunAt}::timestamptz
                       AND NOT EXISTS (
                         SELECT FROM import_record r
                         WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.entity_id = e.parent_id OFFSET 0
                       )
                     OFFSET 0
                   )
                 )
               ORDER BY w.entity_id
             ) AS missing ${grown}`
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
     * The records that match these entities, in the order in which they were read. For a product or a variant: the record of the product
     * and those of all its variants.
     */
    matching: (accountId: AccountId, id: ImportId, entityIds: ReadonlyArray<EntityId>) =>
      entityIds.length === 0 ? Effect.succeed([]) : matching(accountId, id, entityIds),
    /**
     * The entities that records match by one rule. For a product whose SKUs belong to different products of the catalog, `sku` returns
     * several entities. A platform id, SKU, handle or address that two entities share matches nothing.
     */
    find: (by: MatchedBy, range: RecordRange, storeId: StoreId) => matches[by]({ ...range, storeId }),
    /** The matched entities of the records with these platform ids, by platform id. */
    resolve: (accountId: AccountId, id: ImportId, platformIds: ReadonlyArray<string>) =>
      platformIds.length === 0
        ? Effect.succeed<ReadonlyMap<string, EntityId>>(new Map())
        : Effect.map(resolve(accountId, id, platformIds), ({ entityIds }) => mapByKey(platformIds, entityIds)),
    /**
     * Walks the store's next `looked` entities by id, after `after` (the nil UUID: from the start). Missing: entities that the store
     * accepted before its reading began and that no record matches. If a product is missing, its variants that were never accepted are
     * missing too.
     */
    missing: (read: StoreReading, after: string, looked: number) => missing(read, after, looked)
  }
})

/** The records of stores that are being compared with the catalog. */
export class PulledRecordsRepo extends Context.Tag("catalog/PulledRecordsRepo")<
  PulledRecordsRepo,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(PulledRecordsRepo, make)
}
