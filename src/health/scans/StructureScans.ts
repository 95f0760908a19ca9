import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { EntityKind } from "../../model/Attribute.ts"
import type { KeyRules } from "../../model/KeyRules.ts"
import { maxDuplicates } from "../Health.ts"
import type { Scan, ScanParts, ScanScope } from "./ScanParts.sql.ts"

/** Products without variants, duplicate SKUs, empty collections, invalid values and prices of zero. */
export const makeStructureScan = (sql: SqlClient, parts: ScanParts): Scan => {
  const duplicateSkus = makeDuplicateSkus(sql)
  const invalidValues = makeInvalidValues(sql, parts)

  return ({ accountId, keys, rules }) => sql`
    SELECT 'structure-no-variants' AS section, e.id AS entity_id, e.kind AS entity_type, e.title, s.id AS store_id,
           NULL::text AS locale, '{variant_ids}'::text[] AS fields, NULL::jsonb AS shown
    FROM subject e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.kind = 'product'
      AND NOT EXISTS (SELECT FROM entity c WHERE c.account_id = ${accountId} AND c.parent_id = e.id)
    UNION ALL
    ${duplicateSkus(accountId)}
    UNION ALL
    SELECT 'structure-empty-collection', e.id, e.kind, e.title, s.id, NULL, '{members}', NULL
    FROM subject e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.kind = 'collection'
      AND NOT EXISTS (SELECT FROM collection_member m WHERE m.account_id = ${accountId} AND m.collection_id = e.id)
    UNION ALL
    ${invalidValues({ accountId, keys, rules })}`
}

/** The names (kind and key) of the texts of these types that may have at least `bytes` bytes and are not limited otherwise. */
const textsOf = (keys: KeyRules, types: ReadonlyArray<string>, bytes: number): ReadonlyArray<string> =>
  EntityKind.literals.flatMap((kind) =>
    [...keys.ofKind(kind)]
      .filter(
        ([, { choices, maxLength = bytes, minLength, type }]) =>
          types.includes(type) && maxLength >= bytes && minLength === undefined && choices === undefined
      )
      .map(([key]) => `${kind} ${key}`)
  )

/**
 * Values that do not fit the rule of their key, and prices of zero where the product is active. A value of the catalog is
 * checked once, and found on each store that inherits it.
 */
const makeInvalidValues = (sql: SqlClient, { definitions, inherits, keyOrder, overridden }: ScanParts) => {
  const fits = sql`key_fits(w.rule, w.stored ->> 'type', w.value)`
  const isTextOf = (keys: KeyRules, types: ReadonlyArray<string>, bytes: number) => sql`
    octet_length(t.value) <= ${sql.literal(`${bytes}`)} AND t.name = ANY(${textsOf(keys, types, bytes)}::text[])`
  /** Whether `key_fits`, which takes several times as long, certainly accepts a value: no text has more characters than bytes. */
  const isShortText = (keys: KeyRules) => sql`coalesce(
    ${isTextOf(keys, ["single_line_text_field"], 255)} AND strpos(t.value, E'\\n') = 0 AND strpos(t.value, E'\\r') = 0
    OR ${isTextOf(keys, ["html", "multi_line_text_field"], 65_536)}, false)`
  const isZero = sql`(w.key = 'price' AND w.kind = 'variant' AND w.value ~ '^-?0+([.]0+)?$')`
  const statusOfProduct = (accountId: string) => sql`(
    SELECT effective_value(p.attributes, v.overrides, 'status')
    FROM entity p
    LEFT JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = p.id AND v.store_id = on_store.id
    WHERE p.account_id = ${accountId} AND p.id = e.parent_id
  )`

  return ({ accountId, keys, rules }: ScanScope): Fragment => {
    const isFree = rules.structure.zero_price === "issue" ? isZero : sql`false`
    return sql`
    SELECT 'structure-invalid-value', wrong.id, wrong.kind, wrong.title, wrong.store_id, NULL,
           array_agg(wrong.key ORDER BY ${keyOrder(sql`wrong.key`)}),
           CASE WHEN count(wrong.reason) > 0 THEN jsonb_build_object('reasons',
             jsonb_agg(jsonb_build_object('field', wrong.key, 'reason', wrong.reason) ORDER BY ${keyOrder(sql`wrong.key`)})
               FILTER (WHERE wrong.reason IS NOT NULL)
           ) END
    FROM (
      WITH suspect AS MATERIALIZED (
        SELECT e.id, e.title, e.parent_id, e.store_ids, e.is_inherited, w.*
        FROM (
          SELECT e.id, e.kind, e.title, e.parent_id, e.store_ids, true AS is_inherited, e.attributes FROM subject e
          WHERE e.store_ids <> '{}'
          UNION ALL
          SELECT e.id, e.kind, e.title, e.parent_id, ARRAY[v.store_id], false, v.overrides
          FROM ${overridden(accountId)}
        ) e
        CROSS JOIN LATERAL jsonb_each(e.attributes) AS a (key, value)
        -- OFFSET 0: each expression is computed once, although its value is used several times.
        CROSS JOIN LATERAL (SELECT a.value ->> 'value' AS value, e.kind || ' ' || a.key AS name OFFSET 0) t
        CROSS JOIN LATERAL (
          SELECT e.kind, a.key, a.value AS stored, t.value, ${keys.toJson()}::jsonb -> t.name AS rule
          WHERE NOT ${isShortText(keys)}
          OFFSET 0
        ) w
        WHERE NOT ${fits} OR ${isFree}
      )
      SELECT e.id, e.kind, e.title, on_store.id AS store_id, e.key, r.reason
      FROM suspect e
      CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
      JOIN linked l ON l.id = on_store.id
      CROSS JOIN LATERAL (SELECT e.*) w
      CROSS JOIN LATERAL (VALUES (NULL, NOT ${fits}), ('zero_price', ${isFree} AND ${statusOfProduct(accountId)} = 'active'))
        AS r (reason, is_so)
      WHERE r.is_so AND (NOT e.is_inherited OR ${inherits(accountId, sql`AND o.overrides ? e.key`)})
    ) wrong
    JOIN ${definitions} ON definition.kind = wrong.kind
    GROUP BY wrong.id, wrong.kind, wrong.title, wrong.store_id`
  }
}

/** Variants that share their SKU. Each row lists the first of the other variants. */
const makeDuplicateSkus = (sql: SqlClient) => (accountId: string) =>
  sql`
    SELECT 'structure-duplicate-sku' AS section, b.id AS entity_id, 'variant' AS entity_type, b.title, s.id AS store_id,
           NULL::text AS locale, '{sku}'::text[] AS fields, b.shown
    FROM (
      WITH bearer AS MATERIALIZED (
        SELECT e.id, e.sku
        FROM (
          SELECT e.id, e.attributes #>> '{sku,value}' AS sku FROM subject e
          WHERE e.kind = 'variant' AND e.store_ids <> '{}' OFFSET 0
        ) e
        WHERE NOT is_empty_text(e.sku) AND EXISTS (
          SELECT FROM entity o
          WHERE o.account_id = ${accountId} AND o.kind = 'variant' AND (o.attributes #>> '{sku,value}') = e.sku AND o.id <> e.id
          OFFSET 0
        )
      ), shared AS MATERIALIZED (
        -- The variants with a SKU are looked up once per SKU.
        SELECT own.sku, own.ids, g.bearers, g.first
        FROM (SELECT b.sku, array_agg(b.id) AS ids FROM bearer b GROUP BY b.sku) own
        CROSS JOIN LATERAL (
          -- One more than the list shows, because a variant is not listed in its own row.
          SELECT count(*) AS bearers, (array_agg(o.id ORDER BY o.id))[1:${sql.literal(String(maxDuplicates + 1))}] AS first
          FROM entity o
          WHERE o.account_id = ${accountId} AND o.kind = 'variant' AND (o.attributes #>> '{sku,value}') = own.sku
        ) g
      )
      SELECT b.id, b.title, b.store_ids,
             jsonb_build_object('sku', g.sku, 'duplicates_count', g.bearers - 1, 'duplicates', ARRAY(
               SELECT jsonb_build_object('entity_id', o.id, 'title', o.title, 'product_id', p.id, 'product_title', p.title)
               FROM unnest(array_remove(g.first, b.id)) WITH ORDINALITY AS other (id, place)
               -- Looks up by key: without statistics a join would read all entities for each variant.
               CROSS JOIN LATERAL (
                 SELECT o.id, o.title, o.parent_id FROM entity o
                 WHERE o.account_id = ${accountId} AND o.id = other.id OFFSET 0
               ) o
               CROSS JOIN LATERAL (
                 SELECT p.id, p.title FROM entity p WHERE p.account_id = ${accountId} AND p.id = o.parent_id OFFSET 0
               ) p
               ORDER BY other.place
               LIMIT ${sql.literal(String(maxDuplicates))}
             )) AS shown
      FROM shared g
      CROSS JOIN unnest(g.ids) AS own (id)
      CROSS JOIN LATERAL (
        SELECT e.id, e.title, e.store_ids FROM entity e WHERE e.account_id = ${accountId} AND e.id = own.id OFFSET 0
      ) b
      OFFSET 0
    ) b
    CROSS JOIN LATERAL unnest(b.store_ids) AS s (id)`
