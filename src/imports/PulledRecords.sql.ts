import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { makeDeleteSome, rowsAtOnce, untilNone } from "../database/Forgetting.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { countOf, discardRows } from "../database/Rows.ts"
import type { AccountId, ImportId } from "../model/Ids.ts"
import type { FoundEntity, PulledRecord, RecordRange } from "./PulledRecord.ts"

/** Writes of staged records. */
export const makePulledRecordStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The tables grow during an import, so a cached plan would soon be wrong: each statement is planned anew.
  const grown = sql.literal(planCustom)
  const deleteSome = makeDeleteSome(sql)

  const places = (found: ReadonlyArray<FoundEntity>) => sql`
    unnest(
      ${found.map(({ root }) => root)}::integer[], ${found.map(({ ordinal }) => ordinal)}::integer[],
      ${found.map(({ entityId }) => entityId)}::uuid[]
    ) AS f (root, ordinal, entity_id)`

  return {
    /** Stages records. A record whose platform id is staged already is skipped. */
    keep: (accountId: AccountId, id: ImportId, records: ReadonlyArray<PulledRecord>) =>
      sql`
        INSERT INTO import_record (account_id, run_id, root, ordinal, kind, platform_id, said_id, sku, handle, address,
                                   attributes, related)
        SELECT own.account_id, ${id}::uuid, r.root, r.ordinal, r.kind, r."platformId", r."saidId",
               r.attributes #>> '{sku,value}', r.attributes #>> '{handle,value}',
               split_part(r.attributes #>> '{url,value}', '?', 1), r.attributes, r.related
        FROM account_state own
        CROSS JOIN jsonb_to_recordset(${JSON.stringify(records)}::jsonb) AS r (
          root integer, ordinal integer, kind text, "platformId" text, "saidId" uuid, attributes jsonb, related text[]
        )
        WHERE own.account_id = ${accountId}
        ON CONFLICT (account_id, run_id, platform_id) DO NOTHING`.pipe(discardRows),
    /**
     * Updates the planner's statistics of the tables by which records are matched. Without them, the planner reads all rows of
     * the account for each key. Runs outside a transaction, because a transaction would hold the locks of ANALYZE until it ends.
     */
    measure: sql`ANALYZE import_record (account_id, run_id, root, ordinal, platform_id, sku, handle, address)`.pipe(
      Effect.zipRight(sql`ANALYZE store_version (account_id, store_id, entity_id, platform_id)`),
      // ANALYZE fails if another process has locked the tables. Matching then works, but is slower.
      Effect.catchAllCause((cause) =>
        Effect.logWarning("The statistics for matching a store could not be updated", cause)
      ),
      Effect.asVoid
    ),
    /** Assigns matched entities to records. If another record has the entity already, that record keeps it. */
    claim: ({ accountId, from, id, through }: RecordRange, found: ReadonlyArray<FoundEntity>) =>
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
              AND r.root = c.root AND r.ordinal = c.ordinal ${grown}`.pipe(discardRows),
    /** Removes the match of variants whose entity belongs to another product. */
    disown: ({ accountId, from, id, through }: RecordRange) =>
      sql`
        UPDATE import_record r SET entity_id = NULL
        FROM import_record p, entity e
        WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.root > ${from} AND r.root <= ${through}
          AND r.kind = 'variant' AND r.entity_id IS NOT NULL
          AND p.account_id = ${accountId} AND p.run_id = r.run_id AND p.root = r.root AND p.kind = 'product'
          AND e.account_id = ${accountId} AND e.id = r.entity_id
          AND e.parent_id IS DISTINCT FROM p.entity_id ${grown}`.pipe(discardRows),
    /** Assigns entities to records after planning, which also gives ids to new entities. */
    assign: (accountId: AccountId, id: ImportId, records: ReadonlyArray<FoundEntity>) =>
      records.length === 0
        ? Effect.void
        : sql`
            UPDATE import_record r SET entity_id = f.entity_id
            FROM ${places(records)}
            WHERE r.account_id = ${accountId} AND r.run_id = ${id} AND r.root = f.root AND r.ordinal = f.ordinal
              AND r.root >= ${Math.min(...records.map(({ root }) => root))}
              AND r.root <= ${Math.max(...records.map(({ root }) => root))} ${grown}`.pipe(discardRows),
    /** Removes all matches, because the catalog changed. Not in a transaction, because it may take minutes. */
    unmatch: (accountId: AccountId, id: ImportId) =>
      untilNone(
        countOf(sql`
          UPDATE import_record r SET entity_id = NULL
          WHERE r.account_id = ${accountId} AND r.ctid = ANY(ARRAY(
            SELECT t.ctid FROM import_record t
            WHERE t.account_id = ${accountId} AND t.run_id = ${id} AND t.entity_id IS NOT NULL LIMIT ${rowsAtOnce}
          ))
          RETURNING r.ordinal ${grown}`)
      ),
    /** Deletes some of the import's staged records. Returns their number. */
    forgetSome: (accountId: AccountId, id: ImportId) =>
      countOf(
        deleteSome(
          "import_record",
          accountId,
          sql`FROM import_record t WHERE t.account_id = ${accountId} AND t.run_id = ${id}`
        )
      )
  }
})
