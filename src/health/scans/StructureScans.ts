import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { maxDuplicates } from "../Health.ts"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/** Products without variants, duplicate SKUs, empty collections, invalid values and prices of zero. */
export const makeStructureScan = (sql: SqlClient, parts: ScanParts): Scan => {
  const { definitions, inherits, keyOrder, versions } = parts
  const duplicateSkus = makeDuplicateSkus(sql)
  const zeroPrices = makeZeroPrices(sql, parts)

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
    SELECT 'structure-invalid-value', wrong.id, wrong.kind, wrong.title, wrong.store_id, NULL,
           array_agg(wrong.key ORDER BY ${keyOrder(sql`wrong.key`)}),
           CASE WHEN count(wrong.reason) > 0 THEN jsonb_build_object('reasons',
             jsonb_agg(jsonb_build_object('field', wrong.key, 'reason', wrong.reason) ORDER BY ${keyOrder(sql`wrong.key`)})
               FILTER (WHERE wrong.reason IS NOT NULL)
           ) END
    FROM (
      -- MATERIALIZED: without statistics the planner would repeat it for every version.
      WITH rules AS MATERIALIZED (SELECT key AS kind, value AS of_keys FROM jsonb_each(${keys.toJson()}::jsonb)), e AS MATERIALIZED (
        SELECT e.id, e.kind, e.title, e.store_ids, a.key
        FROM subject e
        JOIN rules r ON r.kind = e.kind
        CROSS JOIN LATERAL jsonb_each(e.attributes) AS a (key, value)
        WHERE e.store_ids <> '{}'
          AND NOT key_fits(r.of_keys -> a.key, a.value ->> 'type', a.value ->> 'value')
      )
      SELECT e.id, e.kind, e.title, on_store.id AS store_id, e.key, NULL::text AS reason
      FROM e
      CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
      JOIN linked l ON l.id = on_store.id
      WHERE ${inherits(accountId, sql`AND o.overrides ? e.key`)}
      UNION ALL
      SELECT e.id, e.kind, e.title, v.store_id, a.key, NULL
      FROM ${versions(accountId, sql`AND v.overrides <> '{}'`)}
      JOIN rules r ON r.kind = e.kind
      CROSS JOIN LATERAL jsonb_each(v.overrides) AS a (key, value)
      WHERE NOT key_fits(r.of_keys -> a.key, a.value ->> 'type', a.value ->> 'value')
      ${rules.structure.zero_price === "issue" ? sql`UNION ALL ${zeroPrices(accountId)}` : sql``}
    ) wrong
    JOIN ${definitions} ON definition.kind = wrong.kind
    GROUP BY wrong.id, wrong.kind, wrong.title, wrong.store_id`
}

/** Variants that share their SKU. Each row lists the first of the other variants. */
const makeDuplicateSkus = (sql: SqlClient) => (accountId: string) =>
  sql`
    SELECT 'structure-duplicate-sku' AS section, b.id AS entity_id, 'variant' AS entity_type, b.title, s.id AS store_id,
           NULL::text AS locale, '{sku}'::text[] AS fields, b.shown
    FROM (
      WITH bearer AS MATERIALIZED (
        SELECT e.id, e.attributes #>> '{sku,value}' AS sku
        FROM subject e
        WHERE e.kind = 'variant' AND e.store_ids <> '{}' AND NOT is_empty_text(e.attributes #>> '{sku,value}')
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
        WHERE g.bearers > 1
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

/** Variants with a price of zero, on each store where their product is active. */
const makeZeroPrices =
  (sql: SqlClient, { inherits, versions }: ScanParts) =>
  (accountId: string) => {
    const isZero = (value: Fragment) => sql`${value} ~ '^-?0+([.]0+)?$'`
    return sql`
      SELECT free.id, free.kind, free.title, free.store_id, 'price' AS key, 'zero_price' AS reason
      FROM (
        SELECT e.id, e.kind, e.title, e.parent_id, on_store.id AS store_id
        FROM subject e
        CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
        JOIN linked l ON l.id = on_store.id
        WHERE e.kind = 'variant' AND ${isZero(sql`e.attributes -> 'price' ->> 'value'`)}
          AND ${inherits(accountId, sql`AND o.overrides ? 'price'`)}
        UNION ALL
        SELECT e.id, e.kind, e.title, e.parent_id, v.store_id
        FROM ${versions(accountId, sql`AND v.overrides <> '{}'`)}
        WHERE e.kind = 'variant' AND ${isZero(sql`v.overrides -> 'price' ->> 'value'`)}
      ) free
      JOIN entity p ON p.account_id = ${accountId} AND p.id = free.parent_id
      LEFT JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = p.id AND v.store_id = free.store_id
      WHERE effective_value(p.attributes, v.overrides, 'status') = 'active'`
  }
