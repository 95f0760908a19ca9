import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Schema } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import { rowsAs, valueOf } from "../database/Inserts.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import { plusMicros, Timestamp } from "../model/Timestamp.ts"
import { type EntityUpdate, entityRow } from "./PlanRows.ts"

/** The counters of an account before they are raised. */
export const Counters = Schema.Struct({ seqBefore: Schema.Int, timeBefore: Timestamp })
export type Counters = typeof Counters.Type

const updatedColumns = {
  id: "uuid",
  position: "integer",
  attributes: "jsonb",
  pendingPublish: "boolean",
  lastPublishStatus: "text",
  storeIds: "uuid[]",
  searchText: "text",
  lacksPictures: "boolean",
  revisions: "integer",
  n: "integer"
}

/** The columns of an update, by the names of its values. */
const renamedColumns = {
  attributes: "attributes",
  position: "position",
  pendingPublish: "pending_publish",
  lastPublishStatus: "last_publish_status",
  storeIds: "store_ids",
  searchText: "search_text",
  lacksPictures: "lacks_pictures"
}

/** Statements that write the rows of entities. */
export const makeEntityRows = (sql: SqlClient) => ({
  /**
   * Builds an INSERT of new entities, which needs the counters only when it runs. `places`: the entities' positions in the change order,
   * counted from 1 after the counters; an entity without a place is not stamped.
   */
  insertEntities: (
    accountId: AccountId,
    created: ReadonlyArray<Aggregate>,
    places: ReadonlyMap<EntityId, number> = new Map()
  ) => {
    const rows = JSON.stringify(
      created.map((aggregate) => ({
        ...entityRow(aggregate),
        kind: aggregate.kind,
        parentId: aggregate.parentId,
        n: places.get(aggregate.id)
      }))
    )
    return ({ seqBefore, timeBefore }: Partial<Counters> = {}) => sql`
    INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, pending_publish, last_publish_status,
                        store_ids, search_text, lacks_pictures, draft_revision, change_seq, canonical_changed_at, created_at,
                        stamped_by)
    SELECT own.account_id, r.id, r.kind, r."parentId", r.position, r.attributes, r."pendingPublish",
           r."lastPublishStatus", r."storeIds", r."searchText", r."lacksPictures",
           CASE WHEN r.n IS NULL THEN 0 ELSE 1 END, ${seqBefore ?? null}::bigint + r.n,
           plus_micros(${timeBefore ?? null}::timestamptz, r.n),
           -- All entities of one transaction have the same time of creation.
           coalesce(plus_micros(${timeBefore ?? null}::timestamptz, 1), t.now),
           CASE WHEN r.n IS NOT NULL THEN t.id END
    FROM account_state own
    CROSS JOIN (SELECT tx_stamp() AS id, app_now() AS now) t
    CROSS JOIN jsonb_to_recordset(${rows}::jsonb) AS r (
      id uuid, kind text, "parentId" uuid, position integer, attributes jsonb, "pendingPublish" boolean,
      "lastPublishStatus" text, "storeIds" uuid[], "searchText" text, "lacksPictures" boolean, n integer
    )
    WHERE own.account_id = ${accountId}`
  },

  /** `raised`: a statement that returns `seq_before` and `time_before`. `insert`: an INSERT that may read `raised`. */
  updateEntities: (
    accountId: AccountId,
    updates: ReadonlyArray<EntityUpdate>,
    raised: Fragment,
    insert?: Fragment
  ) => sql`
    WITH raised AS (${raised}) ${insert === undefined ? sql`` : sql`, inserted AS (${insert})`}
    UPDATE entity e
    SET attributes = coalesce(r.attributes, e.attributes), position = coalesce(r.position, e.position),
        pending_publish = coalesce(r."pendingPublish", e.pending_publish),
        last_publish_status = coalesce(r."lastPublishStatus", e.last_publish_status),
        store_ids = coalesce(r."storeIds", e.store_ids), search_text = coalesce(r."searchText", e.search_text),
        lacks_pictures = coalesce(r."lacksPictures", e.lacks_pictures),
        draft_revision = e.draft_revision + r.revisions,
        change_seq = coalesce(raised.seq_before + r.n, e.change_seq),
        canonical_changed_at = coalesce(plus_micros(raised.time_before, r.n), e.canonical_changed_at),
        stamped_by = CASE WHEN r.n IS NULL THEN e.stamped_by ELSE t.id END
    FROM raised, (SELECT tx_stamp() AS id) t, ${rowsAs(sql, updatedColumns, updates)}
    WHERE e.account_id = ${accountId} AND e.id = r.id`,

  /**
   * Updates one entity on a cluster, which keeps the plan of a statement that names one table and no WITH query. There tx_stamp() is
   * null.
   */
  updateEntity: (accountId: AccountId, { id, n, revisions, ...changed }: EntityUpdate, counters: Counters) => {
    const values = Object.entries(renamedColumns).flatMap(([name, column]) =>
      name in changed
        ? [
            sql`${sql.literal(column)} = ${valueOf(sql, changed, name, updatedColumns[name as keyof typeof updatedColumns])}`
          ]
        : []
    )
    const stamps =
      n === undefined
        ? []
        : [
            sql`change_seq = ${counters.seqBefore + n}::bigint`,
            sql`canonical_changed_at = ${plusMicros(counters.timeBefore, n)}::timestamptz`,
            sql`stamped_by = NULL`
          ]
    return sql`
    UPDATE entity
    SET ${sql.csv([sql`draft_revision = draft_revision + ${revisions}::integer`, ...values, ...stamps])}
    WHERE account_id = ${accountId} AND id = ${id}`
  },

  /** The counters as a statement. Without counters, no change_seq can be set. */
  selectCounters: (counters?: Counters) =>
    sql`SELECT ${counters?.seqBefore ?? null}::bigint AS seq_before,
               ${counters?.timeBefore ?? null}::timestamptz AS time_before`
})
