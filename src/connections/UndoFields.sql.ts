import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { makeOfEndedDrop } from "../drafts/EndedDrops.sql.ts"
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

const LaterActor = {
  laterKind: Schema.NullOr(HistoryActor.fields.kind),
  laterId: Schema.NullOr(Schema.String),
  laterName: Schema.NullOr(Schema.String)
}

const withLaterActor = <Row extends Schema.Struct.Type<typeof LaterActor>>({
  laterId,
  laterKind,
  laterName,
  ...field
}: Row) => ({ ...field, laterActor: laterKind === null ? null : { kind: laterKind, id: laterId, name: laterName } })

/** The condition that a change `o` of a product's gallery came with a variant that the connection added to a store in the same write. */
const makeCameWithVariant =
  (sql: SqlClient, ofConnection: ReturnType<typeof makeOfConnection>) => (about: AboutWrites) =>
    sql`EXISTS (
    SELECT FROM (
      SELECT c.id FROM entity c WHERE c.account_id = ${about.accountId} AND c.parent_id = o.entity_id OFFSET 0
    ) c
    CROSS JOIN LATERAL (
      SELECT FROM entity_history h
      WHERE ${ofConnection(about)} AND h.entity_id = c.id AND h.at = o.at AND h.action = 'added_to_store'
      LIMIT 1
    ) with_variant
  )`

/** Reads the fields that a connection wrote, with their current and earlier values. */
export const makeUndoFields = (sql: SqlClient): Context.Tag.Service<UndoRepo>["fields"] => {
  const ofEndedDrop = makeOfEndedDrop(sql)
  const ofConnection = makeOfConnection(sql)
  const cameWithVariant = makeCameWithVariant(sql, ofConnection)

  // `edge` is the sequence of the last change that stops an undo: an edit of the field by somebody else, or adding the entity to
  // the store or removing it, which clears its overrides. Only the connection's writes after the edge can be undone, except those
  // that an earlier undo has undone (`undone`): the writes before it, back to the one whose old value the undo has restored. The
  // early steps of the query read digests and not values, because values may be long. The gallery's change by an addition to a store,
  // of the entity or of a variant of the product, is no change of its own; `makeUndoAdditions` reads the additions. `OFFSET 0`: rows are looked up by their keys, also in an
  // account that PostgreSQL's statistics do not include.
  const fields = findAll(
    Schema.Struct({
      ...WrittenField.omit("hasEditedParts", "isKept", "laterActor").fields,
      ...LaterActor
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
        SELECT h.entity_id, h.store_id, h.sequence, h.at, h.draft_revision, h.action, c.key, md5(c.old) AS old, md5(c.new) AS new,
               coalesce(h.undo_of = ${about.id}, false) AS is_undo,
               h.actor_kind = 'connection' AND h.actor_id = ${about.id} AND h.at <= ${about.until}::timestamptz AS is_own
        FROM first f
        CROSS JOIN LATERAL (
          SELECT * FROM entity_history o
          WHERE o.account_id = ${about.accountId} AND o.entity_id = f.entity_id AND o.sequence >= f.sequence OFFSET 0
        ) h
        LEFT JOIN LATERAL (
          SELECT r.key, r.old, r.new FROM jsonb_to_recordset(h.changes) AS r (key text, old text, new text)
          WHERE r.old IS DISTINCT FROM r.new
        ) c ON true
        WHERE ${sql.literal(draftChanges)}
      ), field AS (
        SELECT w.entity_id, w.store_id, w.key, w.last_undo, greatest(w.last_other, m.sequence, 0) AS edge
        FROM (
          SELECT entity_id, store_id, key, max(sequence) FILTER (WHERE is_undo) AS last_undo,
                 max(sequence) FILTER (WHERE NOT is_own AND NOT is_undo) AS last_other
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
      ), own AS (
        SELECT o.entity_id, o.store_id, o.key, o.sequence, o.old
        FROM event o
        JOIN field f ON f.entity_id = o.entity_id AND f.store_id IS NOT DISTINCT FROM o.store_id AND f.key = o.key
        WHERE o.is_own AND o.sequence > f.edge
      ), undone AS (
        SELECT u.entity_id, u.store_id, u.key, u.sequence, min(o.sequence) AS back_to
        FROM event u
        LEFT JOIN own o ON o.entity_id = u.entity_id AND o.store_id IS NOT DISTINCT FROM u.store_id AND o.key = u.key
          AND o.sequence < u.sequence AND o.old IS NOT DISTINCT FROM u.new
        WHERE u.is_undo AND u.key IS NOT NULL
        GROUP BY u.entity_id, u.store_id, u.key, u.sequence
      ), found AS (
        SELECT f.entity_id, f.store_id, 'attributes' AS action, f.key, greatest(f.edge, f.last_undo) AS later,
               min(o.sequence) AS first_own
        FROM field f
        LEFT JOIN own o
          ON o.entity_id = f.entity_id AND o.store_id IS NOT DISTINCT FROM f.store_id AND o.key = f.key
          AND NOT EXISTS (
            SELECT FROM undone u
            WHERE u.entity_id = o.entity_id AND u.store_id IS NOT DISTINCT FROM o.store_id AND u.key = o.key
              AND u.sequence > o.sequence AND coalesce(u.back_to, 0) <= o.sequence
          )
        GROUP BY f.entity_id, f.store_id, f.key, f.edge, f.last_undo
        UNION ALL
        SELECT DISTINCT entity_id, store_id, action, '', NULL::bigint, NULL::bigint
        FROM event o
        WHERE is_own AND action NOT IN ('attributes', 'added_to_store') AND NOT (action = 'gallery' AND EXISTS (
          SELECT FROM event a
          WHERE a.entity_id = o.entity_id AND a.draft_revision = o.draft_revision AND a.action = 'added_to_store'
        )) AND NOT (action = 'gallery' AND ${cameWithVariant(about)})
      )
      SELECT f.entity_id AS "entityId", e.kind, e.title, f.store_id AS "storeId", s.domain AS "storeDomain",
             f.store_id IS NULL OR (s.status = 'linked' AND v.entity_id IS NOT NULL) AS "isThere", f.action, f.key,
             CASE WHEN f.store_id IS NULL THEN e.attributes #>> ARRAY[f.key, 'value']
                  WHEN s.status = 'linked' THEN v.overrides #>> ARRAY[f.key, 'value'] END AS now,
             CASE WHEN d.override IS NOT NULL THEN d.override ->> 'value' ELSE (
               SELECT r.old
               FROM entity_history o
               CROSS JOIN LATERAL jsonb_to_recordset(o.changes) AS r (key text, old text)
               WHERE o.account_id = ${about.accountId} AND o.entity_id = f.entity_id AND o.sequence = f.first_own
                 AND r.key = f.key
             ) END AS before,
             l.actor_kind AS "laterKind", l.actor_id AS "laterId", l.actor_name AS "laterName", l.undo_of AS "laterUndoOf"
      FROM found f
      CROSS JOIN LATERAL (
        SELECT e.id, e.kind, e.title, e.attributes FROM entity e WHERE e.account_id = ${about.accountId} AND e.id = f.entity_id OFFSET 0
      ) e
      LEFT JOIN store s ON s.account_id = ${about.accountId} AND s.id = f.store_id
      LEFT JOIN LATERAL (
        SELECT v.entity_id, v.overrides FROM store_version v
        WHERE v.account_id = ${about.accountId} AND v.entity_id = f.entity_id AND v.store_id = f.store_id OFFSET 0
      ) v ON true
      LEFT JOIN LATERAL (
        SELECT h.actor_kind, h.actor_id, h.actor_name, h.undo_of FROM entity_history h
        WHERE h.account_id = ${about.accountId} AND h.entity_id = f.entity_id AND h.sequence = f.later AND f.first_own IS NULL OFFSET 0
      ) l ON true
      LEFT JOIN LATERAL (${ofEndedDrop(about.accountId, "f.first_own")}) d ON true
      ${sql.literal(planCustom)}`
  )

  return (accountId, id, window, ids) =>
    Effect.map(fields({ accountId, id, ...window }, ids), (rows) =>
      rows.map((row) => ({ ...withLaterActor(row), isKept: false, hasEditedParts: false }))
    )
}

/** The condition that a history row `h` created the part `p` on the store of the addition `o`: it was not added there later. */
const makeCreatedThere = (sql: SqlClient) => (accountId: AccountId) =>
  sql`
  h.action = 'created' AND EXISTS (
    SELECT FROM store_version k
    WHERE k.account_id = ${accountId} AND k.entity_id = p.id AND k.store_id = o.store_id
  ) AND NOT EXISTS (
    SELECT FROM entity_history a
    WHERE a.account_id = ${accountId} AND a.entity_id = p.id AND a.store_id = o.store_id AND a.action = 'added_to_store'
  )`

/** Reads the additions to stores by a connection, of entities that are still there and did not come along with a product. */
export const makeUndoAdditions = (sql: SqlClient): Context.Tag.Service<UndoRepo>["fields"] => {
  const createdThere = makeCreatedThere(sql)
  const ofConnection = makeOfConnection(sql)

  /** The condition that a history row `h` is neither of the connection until the review, nor an undo of it, and changes a draft. */
  const ofOthers = ({ id, until }: AboutWrites) => sql`
    ${sql.literal(draftChanges)} AND h.undo_of IS DISTINCT FROM ${id}
    AND NOT (h.actor_kind = 'connection' AND h.actor_id = ${id} AND h.at <= ${until}::timestamptz)
    AND (h.action <> 'attributes' OR EXISTS (
      SELECT FROM jsonb_to_recordset(h.changes) AS r (old text, new text) WHERE r.old IS DISTINCT FROM r.new
    ))`

  const additions = findAll(
    Schema.Struct({
      ...WrittenField.pick("entityId", "kind", "title", "storeId", "storeDomain", "isThere", "isKept", "hasEditedParts")
        .fields,
      ...LaterActor
    })
  )(
    (about: AboutWrites, ids: ReadonlyArray<EntityId>) => sql`
      WITH own AS MATERIALIZED (
        SELECT h.entity_id, h.store_id, max(h.sequence) AS sequence, max(h.at) AS at
        FROM unnest(${ids}::uuid[]) AS k (id)
        JOIN entity_history h ON h.entity_id = k.id
        WHERE ${ofConnection(about)} AND h.action = 'added_to_store'
        GROUP BY h.entity_id, h.store_id
      )
      SELECT o.entity_id AS "entityId", e.kind, e.title, o.store_id AS "storeId", s.domain AS "storeDomain",
             s.status = 'linked' AS "isThere",
             EXISTS (
               SELECT FROM (
                 SELECT o.entity_id AS id
                 UNION ALL
                 SELECT c.id FROM entity c WHERE c.account_id = ${about.accountId} AND c.parent_id = o.entity_id
               ) p
               CROSS JOIN LATERAL (
                 SELECT FROM store_version k
                 WHERE k.account_id = ${about.accountId} AND k.entity_id = p.id AND k.store_id = o.store_id
                   AND (k.accepted IS NOT NULL OR k.platform_id IS NOT NULL OR k.last_publish_status = 'pending' OR k.may_be_live)
                 OFFSET 0
               ) kept
             ) AS "isKept",
             EXISTS (
               SELECT FROM (
                 SELECT c.id FROM entity c WHERE c.account_id = ${about.accountId} AND c.parent_id = o.entity_id
                 UNION ALL
                 SELECT g.media_id
                 FROM (
                   SELECT o.entity_id AS id
                   UNION ALL
                   SELECT c.id FROM entity c WHERE c.account_id = ${about.accountId} AND c.parent_id = o.entity_id
                 ) c
                 CROSS JOIN LATERAL (
                   SELECT g.media_id FROM entity_media g
                   WHERE g.account_id = ${about.accountId} AND g.entity_id = c.id AND o.store_id = ANY (g.store_ids)
                   OFFSET 0
                 ) g
                 CROSS JOIN LATERAL (
                   SELECT FROM entity_history h
                   WHERE ${ofConnection(about)} AND h.entity_id = g.media_id AND h.store_id = o.store_id
                     AND h.action = 'added_to_store'
                   LIMIT 1
                 ) came
               ) p
               CROSS JOIN LATERAL (
                 SELECT FROM entity_history h
                 WHERE h.account_id = ${about.accountId} AND h.entity_id = p.id AND h.at > o.at
                   AND (h.store_id = o.store_id OR h.action = 'gallery' OR ${createdThere(about.accountId)}) AND ${ofOthers(about)}
                 OFFSET 0
               ) edited
             ) AS "hasEditedParts",
             l.actor_kind AS "laterKind", l.actor_id AS "laterId", l.actor_name AS "laterName"
      FROM own o
      JOIN entity e ON e.account_id = ${about.accountId} AND e.id = o.entity_id
      JOIN store s ON s.account_id = ${about.accountId} AND s.id = o.store_id
      CROSS JOIN LATERAL (
        SELECT FROM store_version v
        WHERE v.account_id = ${about.accountId} AND v.entity_id = o.entity_id AND v.store_id = o.store_id
        OFFSET 0
      ) v
      LEFT JOIN LATERAL (
        SELECT h.actor_kind, h.actor_id, h.actor_name
        FROM entity_history h
        WHERE h.account_id = ${about.accountId} AND h.entity_id = o.entity_id AND h.sequence > o.sequence
          AND (h.store_id = o.store_id OR h.action = 'gallery') AND ${ofOthers(about)}
        ORDER BY h.sequence DESC
        LIMIT 1
      ) l ON true
      WHERE NOT EXISTS (
        SELECT FROM (
          SELECT e.parent_id AS id
          UNION ALL
          SELECT g.entity_id FROM entity_media g WHERE g.account_id = ${about.accountId} AND g.media_id = o.entity_id
        ) p
        CROSS JOIN LATERAL (
          SELECT FROM entity_history h
          WHERE ${ofConnection(about)} AND h.entity_id = p.id AND h.store_id = o.store_id AND h.action = 'added_to_store'
            AND h.at = o.at
          OFFSET 0
        ) with_product
      ) ${sql.literal(planCustom)}`
  )

  return (accountId, id, window, ids) =>
    Effect.map(additions({ accountId, id, ...window }, ids), (rows) =>
      rows.map((row) => ({
        ...withLaterActor(row),
        action: "added_to_store" as const,
        key: "",
        now: null,
        before: null,
        laterUndoOf: null
      }))
    )
}
