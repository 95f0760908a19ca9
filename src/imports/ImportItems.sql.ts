import { SqlClient } from "@effect/sql"
import { Array as Arr, Effect, Schema } from "effect"
import { likePattern, type Needle } from "../catalog/SearchText.ts"
import { insertAll } from "../database/Inserts.ts"
import { discardRows, findAll, withoutChecks } from "../database/Rows.ts"
import { StagedChangeJson } from "../drafts/CatalogChange.ts"
import type { AccountId, EntityId, ImportId } from "../model/Ids.ts"
import { PendingEntity } from "../publishing/PublicationRecord.ts"
import { ReviewedEntity } from "./ReviewLists.ts"
import { isPlanned, type ReviewList, type StagedItem, searchedIn } from "./StagedImport.ts"

/** Stages items, with the words by which a search finds them. */
const makeStage =
  (sql: SqlClient.SqlClient) => (accountId: AccountId, id: ImportId, items: ReadonlyArray<StagedItem>) =>
    discardRows(
      insertAll(
        sql`
          INSERT INTO import_item (account_id, run_id, ordinal, entities, changes, list, search_text)
          SELECT own.account_id, ${id}::uuid, r.ordinal, r.entities, r.changes, r.list,
                 concat_ws(E'\\n', r.words, (
                   SELECT string_agg(e.search_text, E'\\n') FROM entity e
                   WHERE e.account_id = ${accountId} AND e.id = ANY (r."entityIds")
                 ))
          FROM account_state own
          CROSS JOIN jsonb_to_recordset(${JSON.stringify(items.map((item) => ({ ...item, ...searchedIn(item) })))}::jsonb) AS r (
            ordinal integer, entities integer, changes jsonb, list text, words text, "entityIds" uuid[]
          )
          WHERE own.account_id = ${accountId}`,
        items.length
      )
    )

/** Whether an item `t` is still planned or was applied. Deleting the others takes time after the end of a large import. */
const makeIsShown = (sql: SqlClient.SqlClient) => (accountId: AccountId, id: ImportId) =>
  sql`
  t.ordinal <= (
    SELECT CASE WHEN r.phase IN ('discarded', 'failed') THEN r.done_through ELSE 2147483647 END
    FROM import_run r WHERE r.account_id = ${accountId} AND r.id = ${id}
  )`

/** The staged changes of imports. */
export const makeImportItemStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const isShown = makeIsShown(sql)
  const findItems = findAll(
    withoutChecks(Schema.Struct({ ordinal: Schema.Int, entities: Schema.Int, changes: Schema.Array(StagedChangeJson) }))
  )
  // The changes are large, so they are read for the chosen items only.
  const nextItems = findItems(
    (accountId: AccountId, id: ImportId, after: number | null, maxEntities: number) => sql`
      SELECT n.ordinal, t.entities, t.changes
      FROM (
        SELECT f.ordinal, sum(f.entities) OVER (ORDER BY f.ordinal) AS total, row_number() OVER (ORDER BY f.ordinal) AS place
        FROM (
          SELECT i.ordinal, i.entities FROM import_item i
          WHERE i.account_id = ${accountId} AND i.run_id = ${id} AND i.ordinal > coalesce(${after}::integer, (
            SELECT r.done_through FROM import_run r WHERE r.account_id = ${accountId} AND r.id = ${id}
          ))
          ORDER BY i.ordinal LIMIT ${maxEntities}
        ) f
      ) n
      CROSS JOIN LATERAL (
        SELECT i.entities, i.changes FROM import_item i
        WHERE i.account_id = ${accountId} AND i.run_id = ${id} AND i.ordinal = n.ordinal OFFSET 0
      ) t
      WHERE n.total <= ${maxEntities} OR n.place = 1
      ORDER BY n.ordinal`
  )
  const removals = findAll(PendingEntity)(
    (accountId: AccountId, id: ImportId, after: number, limit: number) => sql`
      SELECT e.id, e.kind, e.title
      FROM (
        SELECT t.ordinal, (t.changes #>> '{0,entityId}')::uuid AS entity_id
        FROM import_run r
        JOIN import_item t ON t.account_id = ${accountId} AND t.run_id = r.id
        WHERE r.account_id = ${accountId} AND r.id = ${id} AND t.changes #>> '{0,_tag}' = 'RemoveFromStore'
          AND ${isShown(accountId, id)}
        ORDER BY t.ordinal OFFSET ${after} LIMIT ${limit}
      ) x
      JOIN entity e ON e.account_id = ${accountId} AND e.id = x.entity_id
      ORDER BY x.ordinal`
  )

  const listed: (
    accountId: AccountId,
    id: ImportId,
    list: ReviewList,
    needles: ReadonlyArray<Needle>,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<StagedItem>> = findItems(
    (accountId, id, list, needles, after, limit) => sql`
      SELECT t.ordinal, t.entities, t.changes FROM import_item t
      WHERE t.account_id = ${accountId} AND t.run_id = ${id} AND t.list = ${list} AND t.ordinal > ${after}
        AND ${isShown(accountId, id)}
        AND t.search_text LIKE ALL (${needles.map(likePattern)}::text[])
      ORDER BY t.ordinal LIMIT ${limit}`
  )
  const entities = findAll(ReviewedEntity)(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT e.id, e.kind, e.title, p.title AS product,
             coalesce((SELECT jsonb_object_agg(v.key, v.value ->> 'value') FROM jsonb_each(e.attributes) v), '{}') AS values
      FROM entity e LEFT JOIN entity p ON p.account_id = ${accountId} AND p.id = e.parent_id
      WHERE e.account_id = ${accountId} AND e.id = ANY(${ids}::uuid[])`
  )

  return {
    /** The items of a list that contain all needles, with an ordinal above `after` (-1: from the start), in order. */
    listed,
    /** These entities with their canonical values. Missing entities are left out. */
    entities: (accountId: AccountId, ids: ReadonlyArray<EntityId>) =>
      ids.length === 0 ? Effect.succeed([]) : entities(accountId, ids),
    stage: makeStage(sql),
    /**
     * The next items after the ordinal `after` (null: the first that are not applied), in order: as many as write at most
     * `maxEntities` entities, but at least one item.
     */
    nextItems: (
      accountId: AccountId,
      id: ImportId,
      after: number | null,
      maxEntities: number
    ): Effect.Effect<ReadonlyArray<StagedItem>> => nextItems(accountId, id, after, maxEntities),
    /** The entities that the import removes from the store, in the order of the items. Skips the first `after` entities. */
    removals,
    /** Marks these items, and all items before them, as applied. */
    markDone: (accountId: AccountId, id: ImportId, items: Arr.NonEmptyReadonlyArray<StagedItem>) =>
      sql`
        UPDATE import_run
        SET done_through = ${Arr.lastNonEmpty(items).ordinal}, applied = applied + ${items.filter(isPlanned).length},
            -- Earlier interruptions do not count any more: the import makes progress.
            handovers = takeovers
        WHERE account_id = ${accountId} AND id = ${id}`.pipe(discardRows)
  }
})
