import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { HistoryActor } from "../drafts/History.ts"
import type { AccountId, ConnectionId, EntityId } from "../model/Ids.ts"
import type { UndoRepo } from "./UndoRepo.ts"
import { type UndoWindow, WrittenField } from "./UndoRules.ts"

/** The connection and the window whose writes are read. */
export interface AboutWrites extends UndoWindow {
  readonly accountId: AccountId
  readonly id: ConnectionId
}

const draftChanges = "h.action NOT IN ('publish_asked', 'published', 'publish_failed')"

/** The SQL condition that a history row `h` is a change of a draft by the connection in the window. */
export const makeOfConnection =
  (sql: SqlClient) =>
  ({ accountId, id, since, until }: AboutWrites) =>
    sql`
    h.account_id = ${accountId} AND h.actor_kind = 'connection' AND h.actor_id = ${id}
    AND h.at >= ${since}::timestamptz AND h.at <= ${until}::timestamptz AND ${sql.literal(draftChanges)}`

/** Reads the fields that a connection wrote, with their current and earlier values. */
export const makeUndoFields = (sql: SqlClient): Context.Tag.Service<UndoRepo>["fields"] => {
  const ofConnection = makeOfConnection(sql)
  const isDraftChange = sql.literal(draftChanges)

  // `edge` is the sequence of the last change that stops an undo: an edit of the field by somebody else, or adding the entity to
  // the store or removing it, which clears its overrides. Only the connection's writes after the edge can be undone. The early
  // steps of the query read keys and not values, because values may be long.
  const fields = findAll(
    Schema.Struct({
      ...WrittenField.omit("laterActor").fields,
      laterKind: Schema.NullOr(HistoryActor.fields.kind),
      laterId: Schema.NullOr(Schema.String),
      laterName: Schema.NullOr(Schema.String)
    })
  )(
    (about: AboutWrites, ids: ReadonlyArray<EntityId>) => sql`
      WITH first AS MATERIALIZED (
        SELECT k.id AS entity_id, f.sequence
        FROM unnest(${ids}::uuid[]) AS k (id)
        CROSS JOIN LATERAL (
          SELECT min(h.sequence) AS sequence FROM entity_history h WHERE ${ofConnection(about)} AND h.entity_id = k.id
        ) f
      ), event AS MATERIALIZED (
        SELECT h.entity_id, h.store_id, h.sequence, h.action, c.key,
               h.actor_kind = 'connection' AND h.actor_id = ${about.id} AND h.at <= ${about.until}::timestamptz AS is_own
        FROM first f
        CROSS JOIN LATERAL (
          SELECT * FROM entity_history o
          WHERE o.account_id = ${about.accountId} AND o.entity_id = f.entity_id AND o.sequence >= f.sequence OFFSET 0
        ) h
        LEFT JOIN LATERAL (
          SELECT r.key FROM jsonb_to_recordset(h.changes) AS r (key text, old text, new text)
          WHERE r.old IS DISTINCT FROM r.new
        ) c ON true
        WHERE ${isDraftChange}
      ), field AS (
        SELECT w.entity_id, w.store_id, w.key, w.last_own, greatest(w.last_other, m.sequence) AS edge
        FROM (
          SELECT entity_id, store_id, key, max(sequence) FILTER (WHERE is_own) AS last_own,
                 max(sequence) FILTER (WHERE NOT is_own) AS last_other
          FROM event
          WHERE key IS NOT NULL
          GROUP BY entity_id, store_id, key
          HAVING bool_or(is_own)
        ) w
        LEFT JOIN (
          SELECT entity_id, store_id, max(sequence) AS sequence
          FROM event
          WHERE action IN ('added_to_store', 'removed_from_store')
          GROUP BY entity_id, store_id
        ) m ON m.entity_id = w.entity_id AND m.store_id = w.store_id
      ), found AS (
        SELECT f.entity_id, f.store_id, 'attributes' AS action, f.key, f.edge,
               CASE WHEN f.last_own > coalesce(f.edge, 0) THEN (
                 SELECT min(o.sequence) FROM event o
                 WHERE o.entity_id = f.entity_id AND o.store_id IS NOT DISTINCT FROM f.store_id AND o.key = f.key
                   AND o.is_own AND o.sequence > coalesce(f.edge, 0)
               ) END AS first_own
        FROM field f
        UNION ALL
        SELECT DISTINCT entity_id, store_id, action, '', NULL::bigint, NULL::bigint
        FROM event
        WHERE is_own AND action <> 'attributes'
      )
      SELECT f.entity_id AS "entityId", e.kind, e.title, f.store_id AS "storeId", s.domain AS "storeDomain",
             f.store_id IS NULL OR (s.status = 'linked' AND v.entity_id IS NOT NULL) AS "isThere", f.action, f.key,
             CASE WHEN f.store_id IS NULL THEN e.attributes #>> ARRAY[f.key, 'value']
                  WHEN s.status = 'linked' THEN v.overrides #>> ARRAY[f.key, 'value'] END AS now,
             (
               SELECT r.old
               FROM entity_history o
               CROSS JOIN LATERAL jsonb_to_recordset(o.changes) AS r (key text, old text)
               WHERE o.account_id = ${about.accountId} AND o.entity_id = f.entity_id AND o.sequence = f.first_own
                 AND r.key = f.key
             ) AS before,
             l.actor_kind AS "laterKind", l.actor_id AS "laterId", l.actor_name AS "laterName", l.undo_of AS "laterUndoOf"
      FROM found f
      JOIN entity e ON e.account_id = ${about.accountId} AND e.id = f.entity_id
      LEFT JOIN store s ON s.account_id = ${about.accountId} AND s.id = f.store_id
      LEFT JOIN store_version v ON v.account_id = ${about.accountId} AND v.entity_id = e.id AND v.store_id = f.store_id
      LEFT JOIN entity_history l
        ON l.account_id = ${about.accountId} AND l.entity_id = e.id AND l.sequence = f.edge AND f.first_own IS NULL
      ORDER BY f.entity_id, s.domain COLLATE "C" NULLS FIRST, f.store_id, f.action COLLATE "C", f.key COLLATE "C"
      ${sql.literal(planCustom)}`
  )

  return (accountId, id, window, ids) =>
    Effect.map(fields({ accountId, id, ...window }, ids), (rows) =>
      rows.map(
        ({ laterId, laterKind, laterName, ...field }): WrittenField => ({
          ...field,
          laterActor: laterKind === null ? null : { kind: laterKind, id: laterId, name: laterName }
        })
      )
    )
}
