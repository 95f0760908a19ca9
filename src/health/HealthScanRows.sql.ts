import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { findSingle } from "../database/Rows.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, nilUuid, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { PlatformName } from "../model/Store.ts"
import { type HealthDimension, type HealthRules, isPerStore, sectionsOf } from "./Health.ts"
import { unusedOnNoStore } from "./HealthScan.ts"
import { makeHealthScans } from "./HealthScans.ts"
import { makeAffected } from "./scans/Affected.sql.ts"
import { makeLinkedStores } from "./scans/ScanParts.sql.ts"

/** The settings of a linked store that scans read. */
export const LinkedStore = Schema.Struct({
  id: StoreId,
  domain: Schema.String,
  platform: PlatformName,
  locales: Schema.Array(Schema.String),
  language: Schema.String,
  currency: Schema.String
})
export type LinkedStore = typeof LinkedStore.Type

/** Number of entities of one kind that are on exactly these stores. In a `StepResult`: the change of this number. */
export const Population = Schema.Struct({
  kind: EntityKind,
  storeIds: Schema.Array(StoreId),
  entities: Schema.Number
})
export type Population = typeof Population.Type

/**
 * Number of rows and affected entities, of the account (`storeId` null) or of a store, in total or for one name. In a `StepResult`: the
 * changes of these numbers.
 */
export const RowCount = Schema.Struct({
  storeId: Schema.NullOr(StoreId),
  what: Schema.Literal("all", "section", "field", "locale"),
  name: Schema.String,
  rows: Schema.Number,
  entities: Schema.Number
})
export type RowCount = typeof RowCount.Type

/**
 * Number of rows that one block of a list gained. Blocks are numbered from 1. `storeId` zeros: all stores. `locale` '':
 * all languages.
 */
export const BlockCount = Schema.Struct({
  section: Schema.String,
  storeId: StoreId,
  locale: Schema.String,
  block: Schema.Number,
  rows: Schema.Number
})
export type BlockCount = typeof BlockCount.Type

/** The data that one step of a scan read, the rows that it found, and the changes of the counts. */
export const StepResult = Schema.Struct({
  version: Schema.Number,
  /** The linked stores of the scan, by domain. */
  stores: Schema.Array(LinkedStore),
  population: Schema.Array(Population),
  counts: Schema.Array(RowCount),
  /** Changes of the blocks below `reached`. */
  blocks: Schema.Array(BlockCount),
  /** Number of entities in the new range. */
  scanned: Schema.Number,
  /** The new rows as JSON, for `makeInsertRows`. Null: there are none, or they were inserted. */
  found: Schema.NullOr(Schema.String)
})
export type StepResult = typeof StepResult.Type

/** The sections in which a dimension has rows, including those whose rows are only counted. */
const sectionsIn = (dimension: HealthDimension): ReadonlyArray<string> => [
  ...sectionsOf(dimension),
  ...(dimension === "media" ? [unusedOnNoStore] : [])
]

/** The lists that include a row `r`: the list of its section, of its store, of its language, and of both. */
const listsOf = (sql: SqlClient, dimension: HealthDimension) => sql`
  CROSS JOIN LATERAL (
    VALUES (${nilUuid}::uuid, ''), (r.store_id, '')
    ${dimension === "translations" ? sql`, (${nilUuid}::uuid, r.locale), (r.store_id, r.locale)` : sql``}
  ) AS l (store_id, locale)`

/**
 * Changes of the counts: rows of `signed` (sign, section, entity_id, store_id, locale, fields) count with their sign, 1
 * or -1. `field` has the distinct fields of each entity and store.
 */
const countsOf = (sql: SqlClient, dimension: HealthDimension): Fragment => {
  const byStore = isPerStore(dimension)
  // Missing recommended fields have a separate score; they do not make an entity incomplete.
  const scored =
    dimension === "completeness"
      ? sql`WHERE r.section = 'completeness-required'`
      : dimension === "media"
        ? sql`WHERE r.section <> ${unusedOnNoStore}`
        : sql``
  return sql`
    SELECT c.store_id AS "storeId", c.what, c.name, sum(c.sign * c.rows) AS rows, sum(c.sign * c.entities) AS entities
    FROM (
      SELECT r.sign, NULL::uuid AS store_id, 'all' AS what, '' AS name, 0 AS rows, count(DISTINCT r.entity_id) AS entities
      FROM signed r ${scored} GROUP BY r.sign
      UNION ALL
      SELECT r.sign, r.store_id, 'all', '', 0, count(DISTINCT r.entity_id) FROM signed r ${scored} GROUP BY r.sign, r.store_id
      UNION ALL
      SELECT r.sign, NULL, 'section', r.section, count(*), count(DISTINCT r.entity_id)
      FROM signed r GROUP BY r.sign, r.section
      UNION ALL
      SELECT f.sign, NULL, 'field', f.name, 0, count(DISTINCT f.entity_id) FROM field f GROUP BY f.sign, f.name
      ${
        byStore
          ? sql`
      UNION ALL
      SELECT r.sign, r.store_id, 'section', r.section, count(*), count(DISTINCT r.entity_id)
      FROM signed r GROUP BY r.sign, r.store_id, r.section
      UNION ALL
      SELECT f.sign, f.store_id, 'field', f.name, 0, count(*) FROM field f GROUP BY f.sign, f.store_id, f.name`
          : sql``
      }
      ${
        dimension === "translations"
          ? sql`
      UNION ALL
      SELECT r.sign, NULL, 'locale', r.locale, 0, count(DISTINCT r.entity_id) FROM signed r GROUP BY r.sign, r.locale
      UNION ALL
      SELECT r.sign, r.store_id, 'locale', r.locale, 0, count(DISTINCT r.entity_id)
      FROM signed r GROUP BY r.sign, r.store_id, r.locale`
          : sql``
      }
    ) c
    GROUP BY c.store_id, c.what, c.name`
}

/** The columns of an entity that scans read. */
const subjectColumns =
  "e.id, e.kind, e.title, e.parent_id, e.attributes, e.store_ids, e.pending_publish, e.last_publish_status"

/**
 * The entities that a step reads, those of `dirty` and those of the new range (`subject`); their versions with overrides
 * (`overridden`); and the numbers of entities in the new range (`arrived`).
 */
const subjectsOf = (sql: SqlClient, accountId: string, reached: string | null, end: string | null): Fragment => {
  const inRange = (id: Fragment) =>
    sql`${id} >= ${reached}::uuid AND ${end === null ? sql`true` : sql`${id} < ${end}::uuid`}`
  const orInRange = (rows: Fragment, id: Fragment) =>
    reached === null ? sql`` : sql`UNION ALL ${rows} AND ${inRange(id)}`
  // Look-ups by key from `dirty`: the planner does not know how many there are.
  return sql`
    subject AS MATERIALIZED (
      SELECT ${sql.literal(subjectColumns)}
      FROM dirty d
      CROSS JOIN LATERAL (SELECT e.* FROM entity e WHERE e.account_id = ${accountId} AND e.id = d.id OFFSET 0) e
      ${orInRange(sql`SELECT ${sql.literal(subjectColumns)} FROM entity e WHERE e.account_id = ${accountId}`, sql`e.id`)}
    ), overridden AS MATERIALIZED (
      SELECT v.entity_id, v.store_id, v.overrides
      FROM dirty d
      CROSS JOIN LATERAL (
        SELECT v.* FROM store_version v
        WHERE v.account_id = ${accountId} AND v.entity_id = d.id AND v.overrides <> '{}' OFFSET 0
      ) v
      ${orInRange(
        sql`SELECT v.entity_id, v.store_id, v.overrides FROM store_version v WHERE v.account_id = ${accountId} AND v.overrides <> '{}'`,
        sql`v.entity_id`
      )}
    ), arrived AS MATERIALIZED (
      -- Ids in dirty are below the range. With a condition on its end the planner would expect few rows, and sort them.
      SELECT s.kind, s.store_ids, count(*) AS entities
      FROM subject s WHERE ${reached === null ? sql`false` : sql`s.id >= ${reached}::uuid`}
      GROUP BY s.kind, s.store_ids
    )`
}

/** Inserts rows `f`. */
const makeInserting = (sql: SqlClient) => (accountId: string, base: number, rows: Fragment) =>
  sql`
  INSERT INTO health_issue (account_id, base, section, entity_id, entity_type, title, store_id, locale, fields, shown)
  SELECT own.account_id, ${base}::bigint, f.section, f.entity_id, f.entity_type, f.title, f.store_id,
         coalesce(f.locale, ''), f.fields, f.shown
  FROM account_state own CROSS JOIN ${rows}
  WHERE own.account_id = ${accountId}`

interface Step {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly storeId: StoreId | null
  readonly base: number
  readonly version: number
  /** Null: all entities were reached. */
  readonly reached: EntityId | null
  /** Null: no end. */
  readonly end: EntityId | null
  readonly rules: HealthRules
  readonly keys: KeyRules
}

/**
 * One step of a scan in one statement, so that all its reads see the same moment. It deletes the rows of the entities below
 * `reached` that notes after `version` name, and inserts their new rows and those of the entities from `reached` up to `end`.
 *
 * A Citus cluster runs a statement with an INSERT in WITH in pieces, which see different moments. There the step returns the rows as
 * JSON, and `makeInsertRows` inserts them.
 */
export const makeStep = (sql: SqlClient, isDistributed: boolean) => {
  const scans = makeHealthScans(sql)
  const linkedStores = makeLinkedStores(sql)
  const affected = makeAffected(sql)
  const inserting = makeInserting(sql)
  // After the deletion, because some of these rows are the same.
  const found = sql`found f CROSS JOIN (SELECT count(*) FROM removed) AS done`

  return findSingle(StepResult)(({ accountId, base, dimension, end, keys, reached, rules, storeId, version }: Step) => {
    const below = (id: Fragment) => (reached === null ? sql`true` : sql`${id} < ${reached}::uuid`)
    const moves = (stores: Fragment, sign: Fragment) => sql`
        SELECT m.kind, ${stores} AS store_ids, ${sign} * (
                 SELECT count(*) FROM jsonb_array_elements_text(m.ids) AS i (id) WHERE ${below(sql`i.id::uuid`)}
               ) AS entities
        FROM note n
        CROSS JOIN LATERAL jsonb_to_recordset(n.moved) AS m (kind text, "from" jsonb, "to" jsonb, ids jsonb)
        WHERE jsonb_typeof(${stores}) = 'array'`
    return sql`
        WITH linked AS MATERIALIZED (
          ${linkedStores(accountId, storeId)}
        ), note AS MATERIALIZED (
          SELECT n.entities, n.skus, n.moved FROM change_note n WHERE n.account_id = ${accountId} AND n.version > ${version}
        ), changed AS MATERIALIZED (
          SELECT DISTINCT c.id FROM note n CROSS JOIN LATERAL unnest(n.entities) AS c (id)
        ), dirty AS MATERIALIZED (
          SELECT a.id FROM (${affected[dimension](accountId)}) a WHERE ${below(sql`a.id`)}
        ), ${subjectsOf(sql, accountId, reached, end)}, found AS MATERIALIZED (
          ${scans[dimension]({ accountId, keys, rules })}
        ), removed AS (
          DELETE FROM health_issue i
          WHERE i.account_id = ${accountId} AND i.ctid = ANY(ARRAY(
            SELECT o.ctid
            FROM dirty d
            CROSS JOIN unnest(${[...sectionsIn(dimension)]}::text[]) AS s (name)
            CROSS JOIN LATERAL (
              SELECT o.ctid FROM health_issue o
              WHERE o.account_id = ${accountId} AND o.base = ${base} AND o.section = s.name AND o.entity_id = d.id OFFSET 0
            ) o
          ))
          RETURNING i.section, i.entity_id, i.store_id, i.locale, i.fields
        ), ${isDistributed ? sql`` : sql`written AS (${inserting(accountId, base, found)}), `}signed AS MATERIALIZED (
          SELECT -1 AS sign, r.section, r.entity_id, r.store_id, r.locale, r.fields FROM removed r
          UNION ALL
          SELECT 1, f.section, f.entity_id, f.store_id, coalesce(f.locale, ''), f.fields FROM found f
        ), field AS MATERIALIZED (
          SELECT DISTINCT r.sign, r.entity_id, r.store_id, f.name FROM signed r CROSS JOIN LATERAL unnest(r.fields) AS f (name)
        )
        SELECT (SELECT a.version FROM account_state a WHERE a.account_id = ${accountId}) AS version,
               ARRAY(SELECT to_json(l) FROM linked l ORDER BY l.domain COLLATE "C", l.id) AS stores,
               ARRAY(
                 SELECT json_build_object('kind', p.kind, 'storeIds', p.store_ids, 'entities', sum(p.entities))
                 FROM (
                   ${moves(sql`m."to"`, sql`1`)}
                   UNION ALL
                   ${moves(sql`m."from"`, sql`-1`)}
                   UNION ALL
                   SELECT r.kind, to_jsonb(r.store_ids), r.entities FROM arrived r
                 ) p
                 GROUP BY p.kind, p.store_ids
               ) AS population,
               ARRAY(SELECT to_json(c) FROM (${countsOf(sql, dimension)}) c) AS counts,
               ARRAY(
                 SELECT json_build_object(
                   'section', r.section, 'storeId', l.store_id, 'locale', l.locale, 'block', r.block, 'rows', sum(r.sign)
                 )
                 FROM (
                   SELECT r.*, width_bucket(r.entity_id, (
                            SELECT b.starts FROM health_base b WHERE b.account_id = ${accountId} AND b.base = ${base}
                          )) AS block
                   FROM signed r WHERE ${below(sql`r.entity_id`)}
                 ) r
                 ${listsOf(sql, dimension)}
                 GROUP BY r.section, l.store_id, l.locale, r.block
                 HAVING sum(r.sign) <> 0
               ) AS blocks,
               (SELECT coalesce(sum(r.entities), 0) FROM arrived r)::bigint AS scanned,
               ${isDistributed ? sql`(SELECT json_agg(f)::text FROM found f)` : sql`NULL`} AS found
        ${sql.literal(`${planCustom} ${readsAll}`)}`
  })
}

/** Inserts the rows that a step returned as JSON. */
export const makeInsertRows = (sql: SqlClient) => {
  const inserting = makeInserting(sql)
  return (accountId: AccountId, base: number, found: string) =>
    inserting(
      accountId,
      base,
      sql`
        json_to_recordset(${found}::json) AS f (
          section text, entity_id uuid, entity_type text, title text, store_id uuid, locale text, fields text[], shown jsonb
        )`
    )
}

/**
 * Divides the rows of a range into blocks of `rowsPerBlock` rows, and counts the rows by block and list. The first
 * block begins with the first entity of the range.
 */
export const makeDivideRows = (sql: SqlClient, rowsPerBlock: number) =>
  findSingle(Schema.Struct({ starts: Schema.Array(EntityId), blocks: Schema.Array(BlockCount) }))(
    (accountId: AccountId, base: number, dimension: HealthDimension, from: EntityId, end: EntityId | null) => sql`
      WITH placed AS MATERIALIZED (
        SELECT i.section, i.entity_id, i.store_id, i.locale, row_number() OVER (ORDER BY i.entity_id) AS place
        FROM health_issue i
        WHERE i.account_id = ${accountId} AND i.base = ${base} AND i.section = ANY(${[...sectionsIn(dimension)]}::text[])
          AND i.entity_id >= ${from}::uuid AND ${end === null ? sql`true` : sql`i.entity_id < ${end}::uuid`}
      ), start AS MATERIALIZED (
        SELECT ${from}::uuid || ARRAY(
          SELECT DISTINCT r.entity_id FROM placed r
          WHERE r.place % ${sql.literal(String(rowsPerBlock))} = 0 AND r.entity_id > ${from}::uuid ORDER BY r.entity_id
        ) AS ids
      )
      SELECT (SELECT s.ids FROM start s) AS starts,
             ARRAY(
               SELECT json_build_object(
                 'section', r.section, 'storeId', l.store_id, 'locale', l.locale, 'block', r.block, 'rows', count(*)
               )
               FROM (SELECT r.*, width_bucket(r.entity_id, (SELECT s.ids FROM start s)) AS block FROM placed r) r
               ${listsOf(sql, dimension)}
               GROUP BY r.section, l.store_id, l.locale, r.block
             ) AS blocks
      ${sql.literal(`${planCustom} ${readsAll}`)}`
  )
