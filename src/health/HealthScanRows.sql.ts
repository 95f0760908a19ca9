import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AccountId, StoreId } from "../model/Ids.ts"
import { KeyRules } from "../model/KeyRules.ts"
import { Platform } from "../model/Store.ts"
import { HealthDimension, HealthRules, isPerStore, kindsWith } from "./Health.ts"
import { populationOf } from "./HealthScan.ts"
import { makeHealthScans } from "./HealthScans.ts"
import { makeLinkedStores } from "./scans/ScanParts.sql.ts"

/** The catalog at the moment of a scan. */
export const WrittenRows = Schema.Struct({
  asOfVersion: Schema.Number,
  /** The linked stores of the scan, by domain. */
  stores: Schema.Array(Schema.Struct({ id: StoreId, platform: Platform })),
  /** The number of entities per kind and set of stores. */
  groups: Schema.Array(Schema.Struct({ kind: EntityKind, storeIds: Schema.Array(StoreId), entities: Schema.Number })),
  /** Files that nothing uses and that are on no store; counted for the dimension media only. */
  unusedOnNoStore: Schema.Number
})
export type WrittenRows = typeof WrittenRows.Type

/** Counts of a scan's rows: of the account (`storeId` null) or of a store, in total or under one name. */
export const RowCount = Schema.Struct({
  storeId: Schema.NullOr(StoreId),
  what: Schema.Literal("all", "section", "field", "locale"),
  name: Schema.String,
  rows: Schema.Number,
  entities: Schema.Number
})
export type RowCount = typeof RowCount.Type

/** Writes the rows of a scan and reads the numbers of the catalog. One statement, so that both are of one moment. */
export const makeWriteRows = (sql: SqlClient) => {
  const scans = makeHealthScans(sql)
  const linkedStores = makeLinkedStores(sql)

  return SqlSchema.single({
    Request: Schema.Struct({
      accountId: AccountId,
      dimension: HealthDimension,
      storeId: Schema.NullOr(StoreId),
      run: Schema.Number,
      rules: Schema.typeSchema(HealthRules),
      keys: Schema.instanceOf(KeyRules)
    }),
    Result: WrittenRows,
    execute: ({ accountId, dimension, keys, rules, run, storeId }) => {
      const hasLocales = dimension === "translations"
      const kinds = new Set([
        ...populationOf(dimension, rules).kinds,
        ...(dimension === "completeness" ? kindsWith("recommended", rules) : [])
      ])
      return sql`
        WITH linked AS MATERIALIZED (
          ${linkedStores(accountId, storeId)}
        ), found AS MATERIALIZED (
          -- Materialized, because numbering sorts the rows: found rows are narrow, entities are wide.
          ${scans[dimension]({ accountId, keys, rules })}
        ), written AS (
          INSERT INTO health_issue (account_id, run, section, ordinal, store_ordinal, locale_ordinal,
                                    store_locale_ordinal, entity_id, entity_type, title, store_id, locale, fields,
                                    shown)
          SELECT ${accountId}::uuid, ${run}::bigint, f.section,
                 row_number() OVER (PARTITION BY f.section ORDER BY f.entity_id, f.store_id, f.locale COLLATE "C"),
                 row_number() OVER (PARTITION BY f.section, f.store_id ORDER BY f.entity_id, f.locale COLLATE "C"),
                 ${
                   hasLocales
                     ? sql`
                 row_number() OVER (PARTITION BY f.section, f.locale ORDER BY f.entity_id, f.store_id),
                 row_number() OVER (PARTITION BY f.section, f.store_id, f.locale ORDER BY f.entity_id),`
                     : sql`NULL, NULL,`
                 }
                 f.entity_id, f.entity_type, f.title, f.store_id, f.locale, f.fields, f.shown
          FROM found f
        )
        SELECT (SELECT a.version FROM account_state a WHERE a.account_id = ${accountId}) AS "asOfVersion",
               ARRAY(
                 SELECT json_build_object('id', l.id, 'platform', l.platform)
                 FROM linked l ORDER BY l.domain COLLATE "C", l.id
               ) AS stores,
               (
                 SELECT coalesce(json_agg(
                          json_build_object('kind', g.kind, 'storeIds', g.store_ids, 'entities', g.entities)
                        ), '[]')
                 FROM (
                   SELECT e.kind, e.store_ids, count(*) AS entities
                   FROM entity e
                   WHERE e.account_id = ${accountId} AND e.kind = ANY(${[...kinds]}::text[])
                   GROUP BY e.kind, e.store_ids
                 ) g
               ) AS groups,
               ${
                 dimension === "media"
                   ? sql`(
                     SELECT count(*) FROM entity e
                     WHERE e.account_id = ${accountId} AND e.kind = 'media' AND e.store_ids = '{}'
                       AND NOT EXISTS (
                         SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = e.id
                       )
                   )`
                   : sql`0`
               } AS "unusedOnNoStore" ${sql.literal(`${planCustom} ${readsAll}`)}`
    }
  })
}

/** Counts the rows of a run. */
export const makeCountRows = (sql: SqlClient) =>
  SqlSchema.findAll({
    Request: Schema.Struct({ accountId: AccountId, run: Schema.Number, dimension: HealthDimension }),
    Result: RowCount,
    execute: ({ accountId, dimension, run }) => {
      const byStore = isPerStore(dimension)
      // Recommended fields have a score of their own and do not make an entity incomplete.
      const scored = dimension === "completeness" ? sql`AND i.section = 'completeness-required'` : sql``
      const rows = sql`health_issue i WHERE i.account_id = ${accountId} AND i.run = ${run}`
      const fields = sql`(
        SELECT DISTINCT i.entity_id, i.store_id, f.name
        FROM health_issue i CROSS JOIN LATERAL unnest(i.fields) AS f (name)
        WHERE i.account_id = ${accountId} AND i.run = ${run}
      ) f`
      return sql`
        SELECT NULL::uuid AS "storeId", 'all' AS what, '' AS name, 0 AS rows, count(DISTINCT i.entity_id) AS entities
        FROM ${rows} ${scored}
        UNION ALL
        SELECT i.store_id, 'all', '', 0, count(DISTINCT i.entity_id) FROM ${rows} ${scored} GROUP BY i.store_id
        UNION ALL
        SELECT NULL, 'section', i.section, count(*), count(DISTINCT i.entity_id) FROM ${rows} GROUP BY i.section
        UNION ALL
        SELECT NULL, 'field', f.name, 0, count(DISTINCT f.entity_id) FROM ${fields} GROUP BY f.name
        ${
          byStore
            ? sql`
        UNION ALL
        SELECT i.store_id, 'section', i.section, count(*), count(DISTINCT i.entity_id)
        FROM ${rows} GROUP BY i.store_id, i.section
        UNION ALL
        SELECT f.store_id, 'field', f.name, 0, count(*) FROM ${fields} GROUP BY f.store_id, f.name`
            : sql``
        }
        ${
          dimension === "translations"
            ? sql`
        UNION ALL
        SELECT NULL, 'locale', i.locale, 0, count(DISTINCT i.entity_id) FROM ${rows} GROUP BY i.locale
        UNION ALL
        SELECT i.store_id, 'locale', i.locale, 0, count(DISTINCT i.entity_id)
        FROM ${rows} GROUP BY i.store_id, i.locale`
            : sql``
        } ${sql.literal(`${planCustom} ${readsAll}`)}`
    }
  })
