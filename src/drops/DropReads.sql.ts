import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect, Schema } from "effect"
import { findAll, findOne } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId, DropId, EntityId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { DropThing, type ThingsQuery } from "./Composition.ts"
import { Drop, DropRow, EarlierValue } from "./Drop.ts"
import type { DropsRepo } from "./DropsRepo.ts"

const decodeRows = Schema.decodeUnknown(Schema.Array(DropRow))

type Reads = Context.Tag.Service<DropsRepo>

/**
 * Whether a drop `d` starts or ends between two times, or has a step left that was due before the first. Finds a failed drop also if it
 * has any step left, or started in the 7 days before the first time. Leaves out cancelled and reverted drops.
 */
const isDueBetween = (sql: SqlClient, accountId: AccountId, from: Timestamp, until: Timestamp) => sql`
    d.status NOT IN ('cancelled', 'reverted') AND d.id IN (
      SELECT o.id FROM drop o
      WHERE o.account_id = ${accountId} AND o.starts_at >= ${from}::timestamptz AND o.starts_at < ${until}::timestamptz
      UNION ALL
      SELECT o.id FROM drop o
      WHERE o.account_id = ${accountId} AND coalesce(o.ends_at, o.starts_at) >= ${from}::timestamptz
        AND coalesce(o.ends_at, o.starts_at) < ${until}::timestamptz
      UNION ALL
      SELECT o.id FROM drop o
      WHERE o.account_id = ${accountId} AND o.next_step IS NOT NULL AND o.starts_at < ${from}::timestamptz
        AND (o.next_step <> 'end' OR o.ends_at < ${from}::timestamptz)
      UNION ALL
      SELECT o.id FROM drop o
      WHERE o.account_id = ${accountId} AND o.next_step IS NOT NULL AND o.status = 'failed'
      UNION ALL
      SELECT o.id FROM drop o
      WHERE o.account_id = ${accountId} AND o.starts_at >= ${from}::timestamptz - interval '7 days'
        AND o.starts_at < ${from}::timestamptz AND o.status = 'failed'
    )`

/** The id and the kind of the entity of a change `c`: a row `e`, or a deleted entity, which the change keeps. */
export const changedId = (sql: SqlClient) => sql.literal("coalesce(c.entity_id, (c.deleted ->> 'id')::uuid)")
export const changedKind = (sql: SqlClient) => sql.literal("coalesce(e.kind, c.deleted ->> 'kind')")

/** Statements that read drops. */
export const makeDropReads = (
  sql: SqlClient
): Pick<Context.Tag.Service<DropsRepo>, "between" | "dueBetween" | "find" | "list" | "openOf" | "page"> => {
  const columns = sql`
    d.id, d.name, d.status, rfc3339(d.starts_at) AS starts_at, rfc3339(d.ends_at) AS ends_at, d.timezone`

  const changesOf = (accountId: string, entityId: string | null) => sql`
    SELECT json_agg(json_build_object(
             'entity_id', ${changedId(sql)}, 'entity_type', ${changedKind(sql)}, 'store_id', c.store_id,
             'field', c.field, 'value', c.value, 'outcome', c.outcome, 'error', c.error,
             'deleted_name', c.deleted ->> 'name'
           ) ORDER BY c.ordinal) AS list
    FROM drop_change c
    LEFT JOIN entity e ON e.account_id = ${accountId} AND e.id = c.entity_id
    LEFT JOIN store s ON s.account_id = ${accountId} AND s.id = c.store_id
    WHERE c.account_id = ${accountId} AND c.drop_id = d.id AND (c.store_id IS NULL OR s.status = 'linked')
      AND (${entityId}::uuid IS NULL OR c.entity_id = ${entityId}::uuid)`

  const list = findAll(Drop)(
    (accountId: AccountId) => sql`
      SELECT ${columns}, coalesce(changes.list, '[]') AS changes
      FROM drop d CROSS JOIN LATERAL (${changesOf(accountId, null)}) changes
      WHERE d.account_id = ${accountId}
      ORDER BY d.starts_at, d.id`
  )

  const ofEntity = findAll(Drop)(
    (accountId: AccountId, entityId: EntityId) => sql`
      SELECT ${columns}, changes.list AS changes
      FROM (
        SELECT DISTINCT c.drop_id FROM drop_change c
        WHERE c.account_id = ${accountId} AND c.entity_id = ${entityId}
      ) k
      JOIN drop d ON d.account_id = ${accountId} AND d.id = k.drop_id
      CROSS JOIN LATERAL (${changesOf(accountId, entityId)}) changes
      WHERE changes.list IS NOT NULL
      ORDER BY d.starts_at, d.id`
  )

  const find = findOne(Drop)(
    (accountId: AccountId, id: DropId) => sql`
      SELECT ${columns}, coalesce(changes.list, '[]') AS changes
      FROM drop d CROSS JOIN LATERAL (${changesOf(accountId, null)}) changes
      WHERE d.account_id = ${accountId} AND d.id = ${id}`
  )

  /** Drops as rows. `chosen`: which of the drops `d`, in which order; `counted`: which of the changes `c` count. */
  const rowsOf = (accountId: AccountId, chosen: Fragment, counted: Fragment) =>
    Effect.flatMap(
      sql`
        SELECT ${columns}, d.next_step IS NOT NULL AS "isOpen", own.changes, own.entities, own.fields
        FROM drop d
        CROSS JOIN LATERAL (
          SELECT count(*)::integer AS changes, count(DISTINCT ${changedId(sql)})::integer AS entities,
                 coalesce(array_agg(DISTINCT c.field COLLATE "C" ORDER BY c.field COLLATE "C"), '{}') AS fields
          FROM drop_change c
          LEFT JOIN store s ON s.account_id = ${accountId} AND s.id = c.store_id
          WHERE c.account_id = ${accountId} AND c.drop_id = d.id AND (c.store_id IS NULL OR s.status = 'linked')
            AND ${counted}
        ) own
        WHERE d.account_id = ${accountId} AND ${chosen}`,
      decodeRows
    )

  const page: Reads["page"] = (accountId, { after, isOpen, limit }) => {
    const beyond = sql.literal(isOpen ? ">" : "<")
    const direction = sql.literal(isOpen ? "ASC" : "DESC")
    return orDie(
      rowsOf(
        accountId,
        sql`
          d.next_step IS ${sql.literal(isOpen ? "NOT NULL" : "NULL")}
          ${after === null ? sql`` : sql`AND (d.starts_at, d.id) ${beyond} (${after.starts_at}::timestamptz, ${after.id}::uuid)`}
          ORDER BY d.starts_at ${direction}, d.id ${direction} LIMIT ${limit}`,
        sql`true`
      )
    )
  }

  const openOf: Reads["openOf"] = (accountId, entityId, limit) => {
    const isOwn = sql`
      c.entity_id IN (
        SELECT e.id FROM entity e
        WHERE e.account_id = ${accountId} AND (e.id = ${entityId} OR e.parent_id = ${entityId})
      )`
    return orDie(
      rowsOf(
        accountId,
        sql`
          d.next_step IS NOT NULL AND own.changes > 0 AND d.id IN (
            SELECT c.drop_id FROM drop_change c WHERE c.account_id = ${accountId} AND ${isOwn}
          )
          ORDER BY d.starts_at, d.id LIMIT ${limit}`,
        isOwn
      )
    )
  }

  const byStart = (accountId: AccountId, condition: Fragment, limit: number) =>
    orDie(rowsOf(accountId, sql`${condition} ORDER BY d.starts_at, d.id LIMIT ${limit}`, sql`true`))

  return {
    page,
    openOf,
    between: (accountId, from, until, limit) =>
      byStart(
        accountId,
        sql`d.starts_at < ${until}::timestamptz AND coalesce(d.ends_at, d.starts_at) >= ${from}::timestamptz`,
        limit
      ),
    dueBetween: (accountId, from, until, limit) => byStart(accountId, isDueBetween(sql, accountId, from, until), limit),
    list: (accountId, entityId) => (entityId === null ? list(accountId) : ofEntity(accountId, entityId)),
    find
  }
}

/**
 * The statement that reads the values that a drop has replaced. At the end of a drop, effects without an outcome have started too. OFFSET 0:
 * without statistics, PostgreSQL would read all effects of the drop for each change.
 */
export const makeReadEarlierValues = (sql: SqlClient): Pick<Context.Tag.Service<DropsRepo>, "earlierValues"> => ({
  earlierValues: findAll(EarlierValue)(
    (accountId: AccountId, id: DropId) => sql`
      SELECT ${changedId(sql)} AS entity_id, c.store_id, c.field,
             CASE WHEN count(DISTINCT f.accepted_before) = 1 THEN min(f.accepted_before) END AS value
      FROM drop d
      JOIN drop_change c ON c.account_id = ${accountId} AND c.drop_id = d.id
      CROSS JOIN LATERAL (
        SELECT f.* FROM drop_effect f
        WHERE f.account_id = ${accountId} AND f.drop_id = d.id AND f.ordinal = c.ordinal OFFSET 0
      ) f
      JOIN store s ON s.account_id = ${accountId} AND s.id = f.store_id AND s.status = 'linked'
      WHERE d.account_id = ${accountId} AND d.id = ${id} AND f.publication_id IS NOT NULL
        AND (f.outcome IS NOT NULL OR d.next_step IN ('end', 'settle_end'))
      GROUP BY c.ordinal, c.entity_id, c.deleted, c.store_id, c.field
      ORDER BY c.ordinal`
  )
})

/** The statement that reads things to choose for a drop. */
export const makeReadThings = (sql: SqlClient): Pick<Context.Tag.Service<DropsRepo>, "things"> => {
  const things = findAll(DropThing)((accountId: AccountId, { fields, ids, limit, withVariants }: ThingsQuery) => {
    const only = (attributes: string) => sql`
        coalesce((
          SELECT jsonb_object_agg(f.key, ${sql.literal(attributes)} -> f.key) FROM unnest(${fields}::text[]) AS f (key)
          WHERE ${sql.literal(attributes)} ? f.key
        ), '{}')`
    // At the end, fields that were edited meanwhile stay as they are.
    const restored = sql`
      (
        SELECT coalesce(jsonb_object_agg(c.field, f.accepted_before), '{}')
        FROM drop_change c
        JOIN drop d ON d.account_id = ${accountId} AND d.id = c.drop_id AND d.ends_at IS NOT NULL AND d.next_step IS NOT NULL
        JOIN drop_effect f ON f.account_id = ${accountId} AND f.drop_id = c.drop_id AND f.ordinal = c.ordinal
          AND f.store_id = v.store_id
        WHERE c.account_id = ${accountId} AND c.entity_id = e.id AND c.field = ANY(${fields}::text[])
          AND (f.outcome IS NULL OR f.outcome = 'applied' AND v.overrides -> c.field ->> 'value' = c.value)
      )`
    const variants = sql`
          UNION ALL
          SELECT k.place, c.position, c.id FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS k (id, place)
          JOIN entity c ON c.account_id = ${accountId} AND c.parent_id = k.id
          WHERE c.id <> ALL(${ids}::uuid[])`
    return sql`
        SELECT e.id, e.kind, e.title, e.parent_id AS "parentId", p.title AS "parentTitle",
               ${only("e.attributes")} AS attributes, (
                 SELECT coalesce(jsonb_agg(jsonb_build_object(
                          'storeId', v.store_id, 'overrides', ${only("v.overrides")},
                          'accepted', CASE WHEN v.accepted IS NOT NULL THEN ${only("(v.accepted -> 'attributes')")} END,
                          'restored', ${restored}
                        ) ORDER BY s.domain COLLATE "C", s.id), '[]')
                 FROM store_version v
                 JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
                 WHERE v.account_id = ${accountId} AND v.entity_id = e.id
               ) AS versions
        FROM (
          SELECT k.place, NULL::integer AS position, k.id FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS k (id, place)
          ${withVariants ? variants : sql``}
        ) chosen
        JOIN entity e ON e.account_id = ${accountId} AND e.id = chosen.id
        LEFT JOIN entity p ON p.account_id = ${accountId} AND p.id = e.parent_id
        ORDER BY chosen.place, chosen.position NULLS FIRST, e.id
        LIMIT ${limit}`
  })
  return { things }
}
