import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** A record of a store's platform as a refresh keeps it until it is compared with the catalog. */
export const PulledRecord = Schema.Struct({
  /** The record's own ordinal, of a variant that of its product. */
  root: Schema.Int,
  /** In the order of the pull. */
  ordinal: Schema.Int,
  kind: EntityKind,
  platformId: Schema.String,
  /** The entity that the record says it was published from. */
  saidId: Schema.NullOr(EntityId),
  attributes: Attributes,
  /** What the platform calls the files of a product, or the members of a collection. */
  related: Schema.Array(Schema.String),
  /** The entity that it is; null: none is known yet. */
  entityId: Schema.NullOr(EntityId)
})
export type PulledRecord = typeof PulledRecord.Type

/** A record's place and an entity that it may be. */
export interface FoundEntity {
  readonly root: number
  readonly ordinal: number
  readonly entityId: EntityId
}

/** By what an entity was found: each only for records of which nothing before found one. */
export type MatchedBy = "platformId" | "saidId" | "variants" | "sku" | "handle" | "address"

/** Which records of which refresh: those with roots after `from`, up to `through`. */
export interface RecordRange {
  readonly accountId: AccountId
  readonly id: ImportId
  readonly from: number
  readonly through: number
}

const Range = Schema.Struct({ accountId: AccountId, id: ImportId, from: Schema.Int, through: Schema.Int })

/** What refreshes read of stores. Only SQL: a test that needs it runs on the embedded database in memory. */
export class PulledRecordsRepo extends Context.Tag("catalog/PulledRecordsRepo")<
  PulledRecordsRepo,
  {
    /** Keeps records; one whose platform id is there already says nothing new. */
    readonly keep: (accountId: AccountId, id: ImportId, records: ReadonlyArray<PulledRecord>) => Effect.Effect<void>
    /**
     * Tells the planner what lies in the tables by which records are matched. Without that it takes one of an account's
     * thousands of rows for as good as any key, and reads all of them for each. Not part of a transaction: its locks would stay.
     */
    readonly measure: Effect.Effect<void>
    /** In the order of the pull, after a place in it (null: from the start), at most so many. */
    readonly page: (
      accountId: AccountId,
      id: ImportId,
      after: { readonly root: number; readonly ordinal: number } | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PulledRecord>>
    /**
     * The entities that records are by one rule. `sku` may give a product several: its variants' SKUs lead to different
     * products then. A platform id, SKU, handle or address that names two entities leads nowhere.
     */
    readonly find: (by: MatchedBy, range: RecordRange, storeId: StoreId) => Effect.Effect<ReadonlyArray<FoundEntity>>
    /** Writes which entities records are: one that another record is already stays with that one. */
    readonly claim: (range: RecordRange, found: ReadonlyArray<FoundEntity>) => Effect.Effect<void>
    /** Forgets of variants the entities that belong to another product than theirs. */
    readonly disown: (range: RecordRange) => Effect.Effect<void>
    /** Writes which entities records are, once it is decided. */
    readonly assign: (accountId: AccountId, id: ImportId, records: ReadonlyArray<FoundEntity>) => Effect.Effect<void>
    /** The entities that the records with these platform ids are; of those that were not pulled, or are none yet, none. */
    readonly resolve: (
      accountId: AccountId,
      id: ImportId,
      platformIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, EntityId>>
    /**
     * Entities that the store accepted before its reading began and that no record is, with every variant of such a product; by
     * id, after one (the nil UUID: from the start), at most so many.
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
    /** Forgets which entities the records are: the catalog changed since. */
    readonly unmatch: (accountId: AccountId, id: ImportId) => Effect.Effect<void>
    /** Forgets what a refresh read. */
    readonly forget: (accountId: AccountId, id: ImportId) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    PulledRecordsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // The tables grow while they are read: a look-up a key, planned each time, as everywhere in an import.
      const grown = sql.literal(planCustom)

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

      const Found = Schema.Struct({ root: Schema.Int, ordinal: Schema.Int, entityId: EntityId })
      interface Asked {
        readonly accountId: string
        readonly id: string
        readonly from: number
        readonly through: number
        readonly storeId: string
      }
      const open = ({ accountId, from, id, through }: Asked) => sql`
        k.account_id = ${accountId} AND k.run_id = ${id} AND k.root > ${from} AND k.root <= ${through}
        AND k.entity_id IS NULL`
      const finding = (statement: (asked: Asked) => Fragment) =>
        SqlSchema.findAll({
          Request: Schema.Struct({ ...Range.fields, storeId: StoreId }),
          Result: Found,
          execute: (asked) => sql`${statement(asked)} ${grown}`
        })

      const finders = {
        platformId: finding(
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
            WHERE ${open(range)} AND e.kind = k.kind
            GROUP BY k.root, k.ordinal
            HAVING count(*) = 1`
        ),
        saidId: finding(
          (range) => sql`
            SELECT k.root, k.ordinal, k.said_id AS "entityId"
            FROM import_record k
            CROSS JOIN LATERAL (
              SELECT e.kind FROM entity e WHERE e.account_id = ${range.accountId} AND e.id = k.said_id OFFSET 0
            ) e
            WHERE ${open(range)} AND k.said_id IS NOT NULL AND e.kind = k.kind
            ORDER BY k.ordinal`
        ),
        variants: finding(
          (range) => sql`
            SELECT k.root, k.ordinal, min(e.parent_id::text) AS "entityId"
            FROM import_record k
            JOIN import_record v ON v.account_id = k.account_id AND v.run_id = k.run_id AND v.root = k.root
            CROSS JOIN LATERAL (
              SELECT e.parent_id FROM entity e WHERE e.account_id = ${range.accountId} AND e.id = v.entity_id OFFSET 0
            ) e
            WHERE ${open(range)} AND k.kind = 'product' AND v.kind = 'variant' AND v.entity_id IS NOT NULL
            GROUP BY k.root, k.ordinal
            HAVING count(DISTINCT e.parent_id) = 1
            ORDER BY k.ordinal`
        ),
        sku: finding(
          (range) => sql`
            SELECT k.root, k.ordinal, f.parent_id AS "entityId"
            FROM import_record k
            JOIN import_record v ON v.account_id = k.account_id AND v.run_id = k.run_id AND v.root = k.root
            CROSS JOIN LATERAL (
              SELECT min(s.parent_id::text) AS parent_id, count(*) AS bearers
              FROM (
                SELECT e.parent_id FROM entity e
                WHERE e.account_id = ${range.accountId} AND e.kind = 'variant' AND e.attributes #>> '{sku,value}' = v.sku
                LIMIT 2
              ) s
            ) f
            WHERE ${open(range)} AND k.kind = 'product' AND v.kind = 'variant' AND v.sku IS NOT NULL AND f.bearers = 1
              AND NOT EXISTS (
                SELECT FROM import_record o
                WHERE o.account_id = v.account_id AND o.run_id = v.run_id AND o.sku = v.sku AND o.root <> v.root
              )
            GROUP BY k.root, k.ordinal, f.parent_id
            ORDER BY k.ordinal`
        ),
        handle: finding(
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
            WHERE ${open(range)} AND k.handle IS NOT NULL
            GROUP BY k.root, k.ordinal
            HAVING count(*) = 1
            ORDER BY k.ordinal`
        ),
        address: finding(
          (range) => sql`
            SELECT k.root, k.ordinal, min(f.id::text) AS "entityId"
            FROM import_record k
            CROSS JOIN LATERAL (
              SELECT e.id FROM entity e
              WHERE e.account_id = ${range.accountId} AND e.kind = 'media'
                AND md5(split_part(e.attributes #>> '{url,value}', '?', 1)) = md5(k.address)
              LIMIT 2
            ) f
            WHERE ${open(range)} AND k.kind = 'media' AND k.address IS NOT NULL
            GROUP BY k.root, k.ordinal
            HAVING count(*) = 1
            ORDER BY k.ordinal`
        )
      } satisfies Record<MatchedBy, unknown>

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
                JOIN store_version p ON p.account_id = e.account_id AND p.entity_id = e.parent_id AND p.store_id = v.store_id
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

      const places = (found: ReadonlyArray<FoundEntity>) => sql`
        unnest(
          ${found.map(({ root }) => root)}::integer[], ${found.map(({ ordinal }) => ordinal)}::integer[],
          ${found.map(({ entityId }) => entityId)}::uuid[]
        ) AS f (root, ordinal, entity_id)`

      return {
        keep: (accountId, id, records) =>
          sql`
            INSERT INTO import_record (account_id, run_id, root, ordinal, kind, platform_id, said_id, sku, handle, address,
                                       attributes, related)
            SELECT ${accountId}::uuid, ${id}::uuid, r.root, r.ordinal, r.kind, r."platformId", r."saidId",
                   r.attributes #>> '{sku,value}', r.attributes #>> '{handle,value}',
                   split_part(r.attributes #>> '{url,value}', '?', 1), r.attributes, r.related
            FROM jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS r (
              root integer, ordinal integer, kind text, "platformId" text, "saidId" uuid, attributes jsonb, related text[]
            )
            ON CONFLICT (account_id, run_id, platform_id) DO NOTHING`.pipe(Effect.asVoid, orDie),
        measure: sql`ANALYZE import_record (account_id, run_id, root, ordinal, platform_id, sku, handle, address)`.pipe(
          Effect.zipRight(sql`ANALYZE store_version (account_id, store_id, entity_id, platform_id)`),
          // Somebody else may be at it, or keep the tables for long: what is to be done is slower then.
          Effect.catchAllCause((cause) => Effect.logWarning("A refresh could not measure its tables", cause)),
          Effect.asVoid
        ),
        page: (accountId, id, after, limit) =>
          orDie(page({ accountId, id, root: after?.root ?? -1, ordinal: after?.ordinal ?? -1, limit })),
        find: (by, range, storeId) => orDie(finders[by]({ ...range, storeId })),
        claim: ({ accountId, from, id, through }, found) =>
          found.length === 0
            ? Effect.void
            : sql`
                UPDATE import_record r SET entity_id = c.entity_id
                FROM (
                  SELECT DISTINCT ON (f.entity_id) f.root, f.ordinal, f.entity_id
                  FROM ${places(found)}
                  WHERE NOT EXISTS (
                    SELECT FROM import_record t
                    WHERE t.account_id = ${accountId} AND t.run_id = ${id} AND t.entity_id = f.entity_id
                  )
                  ORDER BY f.entity_id, f.ordinal
                ) c
                WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.root > ${from} AND r.root <= ${through}
                  AND r.root = c.root AND r.ordinal = c.ordinal ${grown}`.pipe(Effect.asVoid, orDie),
        disown: ({ accountId, from, id, through }) =>
          sql`
            UPDATE import_record r SET entity_id = NULL
            FROM import_record p, entity e
            WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.root > ${from} AND r.root <= ${through}
              AND r.kind = 'variant' AND r.entity_id IS NOT NULL
              AND p.account_id = r.account_id AND p.run_id = r.run_id AND p.root = r.root AND p.kind = 'product'
              AND e.account_id = r.account_id AND e.id = r.entity_id
              AND e.parent_id IS DISTINCT FROM p.entity_id ${grown}`.pipe(Effect.asVoid, orDie),
        assign: (accountId, id, records) =>
          records.length === 0
            ? Effect.void
            : sql`
                UPDATE import_record r SET entity_id = f.entity_id
                FROM ${places(records)}
                WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.root = f.root AND r.ordinal = f.ordinal
                  AND r.root >= ${Math.min(...records.map(({ root }) => root))}
                  AND r.root <= ${Math.max(...records.map(({ root }) => root))} ${grown}`.pipe(Effect.asVoid, orDie),
        resolve: (accountId, id, platformIds) =>
          platformIds.length === 0
            ? Effect.succeed(new Map())
            : Effect.map(
                orDie(resolve({ accountId, id, platformIds })),
                (rows) => new Map(rows.map(({ entityId, platformId }) => [platformId, entityId]))
              ),
        missing: (read, after, limit) =>
          Effect.map(orDie(missing({ ...read, after, limit })), (rows) => rows.map(({ entityId }) => entityId)),
        unmatch: (accountId, id) =>
          sql`
            UPDATE import_record SET entity_id = NULL
            WHERE account_id = ${accountId} AND run_id = ${id} AND entity_id IS NOT NULL`.pipe(Effect.asVoid, orDie),
        forget: (accountId, id) =>
          sql`DELETE FROM import_record WHERE account_id = ${accountId} AND run_id = ${id}`.pipe(Effect.asVoid, orDie)
      }
    })
  )
}
