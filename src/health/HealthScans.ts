import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { fieldsComparedBy, metafieldTypesComparedBy } from "../drafts/Divergence.ts"
import { builtInFields, EntityKind } from "../model/Attribute.ts"
import { compareFields } from "../model/FieldOrder.ts"
import { isWritable, type KeyRules } from "../model/KeyRules.ts"
import {
  type CompletenessLevel,
  type CompletenessRules,
  fieldType,
  type HealthDimension,
  type HealthRules,
  kindsWith,
  maxDuplicates,
  mostShownCharacters
} from "./Health.ts"

/** What a scan is of. */
export interface ScanScope {
  readonly accountId: string
  readonly rules: HealthRules
  /** What keys take. */
  readonly keys: KeyRules
}

/**
 * The linked stores that a scan looks at, each with the group in which its texts and its prices are compared: one whose
 * language or currency is unknown is a group of its own (drafts/Divergence.ts).
 */
export const makeLinkedStores = (sql: SqlClient) => (accountId: string, storeId: string | null) =>
  sql`
  SELECT s.id, s.domain, s.platform,
         coalesce(nullif(lower(substring(s.primary_locale from '^[A-Za-z]{2,8}(?![A-Za-z0-9])') COLLATE "C"), 'und'),
                  s.id::text) AS language,
         coalesce(nullif(upper(substring(s.currency from '^[A-Za-z]{3}$') COLLATE "C"), 'XXX'), s.id::text) AS currency
  FROM store s
  WHERE s.account_id = ${accountId} AND s.status = 'linked' AND (${storeId}::uuid IS NULL OR s.id = ${storeId})`

/**
 * The rows of each dimension as a SELECT of (section, entity_id, entity_type, title, store_id, locale, fields, shown), over
 * the effective values of all versions on linked stores. `linked` (`makeLinkedStores`) names those stores. `shown` is a list,
 * the `values` of an issue, or an object of other members of it. What they say is health/HealthScan.ts.
 */
export const makeHealthScans = (sql: SqlClient) => {
  /** Of each kind: the keys in definition order, and those that drafts may not write. */
  const definitions = sql`
    (VALUES ${sql.csv(
      EntityKind.literals.map((kind) => {
        const keys = Object.keys(builtInFields[kind])
        return sql`(${kind}, ${keys}::text[], ${keys.filter((key) => !isWritable(kind, key))}::text[])`
      })
    )}) AS definition (kind, keys, read_only)`

  const place = (key: Fragment) => sql`coalesce(array_position(definition.keys, ${key}), 1000), ${key} COLLATE "C"`

  /** Every version on a linked store, with its entity. */
  const versions = (accountId: string) => sql`
    store_version v
    JOIN linked l ON l.id = v.store_id
    JOIN entity e ON e.account_id = v.account_id AND e.id = v.entity_id
      AND v.account_id = ${accountId} AND e.account_id = ${accountId}`

  const sync = ({ accountId }: ScanScope) => sql`
    SELECT s.section, e.id AS entity_id, e.kind AS entity_type, e.title, v.store_id, NULL::text AS locale, d.fields,
           NULL::jsonb AS shown
    FROM ${versions(accountId)} AND l.platform <> 'none'
    JOIN ${definitions} ON definition.kind = e.kind
    CROSS JOIN LATERAL (
      SELECT ARRAY(
        SELECT k.key
        FROM (
          SELECT key, array_position(definition.keys, key) AS place
          FROM jsonb_object_keys(e.attributes || v.overrides || coalesce(v.accepted -> 'attributes', '{}')) AS key
          WHERE CASE WHEN coalesce(v.overrides -> key, e.attributes -> key) ->> 'value' <> ''
                  THEN coalesce(v.overrides -> key, e.attributes -> key)
                END IS DISTINCT FROM v.accepted -> 'attributes' -> key
          UNION ALL
          SELECT 'variant_ids', 2000
          WHERE e.kind = 'product' AND coalesce(v.accepted -> 'variants', '[]') <> to_jsonb(ARRAY(
            SELECT c.id FROM entity c
            WHERE c.account_id = ${accountId} AND c.parent_id = e.id AND v.store_id = ANY(c.store_ids)
            ORDER BY c.position, c.id
          ))
          UNION ALL
          SELECT 'media_ids', 2001
          WHERE e.kind = 'product' AND coalesce(v.accepted -> 'media', '[]') <> to_jsonb(ARRAY(
            SELECT g.media_id FROM entity_media g
            WHERE g.account_id = ${accountId} AND g.entity_id = e.id AND v.store_id = ANY(g.store_ids)
            ORDER BY g.position, g.media_id
          ))
          UNION ALL
          SELECT 'members', 2002
          WHERE e.kind = 'collection' AND coalesce(v.accepted -> 'members', '[]') <> to_jsonb(ARRAY(
            SELECT m.product_id FROM collection_member m
            WHERE m.account_id = ${accountId} AND m.collection_id = e.id
            ORDER BY m.position, m.product_id
          ))
        ) k
        ORDER BY coalesce(k.place, 1000), k.key COLLATE "C"
      ) AS fields
    ) d
    CROSS JOIN LATERAL (VALUES
      ('sync-failed', v.last_publish_status = 'failed'),
      ('sync-pending', v.pending_publish),
      ('sync-never-published', v.last_publish_status = 'never_published')
    ) AS s (section, is_so)
    WHERE (v.pending_publish OR v.last_publish_status IN ('failed', 'never_published')) AND s.is_so`

  /** The empty ones among the fields that rules name, by kind. */
  const emptyOf = (
    rules: CompletenessRules,
    level: CompletenessLevel,
    valueOf: (field: string) => Fragment
  ): Fragment => {
    const kinds = kindsWith(level, rules)
    const fieldsOf = (kind: EntityKind) => [...new Set(rules[kind][level])].sort(compareFields(kind))
    return kinds.length === 0
      ? sql`'{}'::text[]`
      : sql`CASE e.kind ${sql.join(
          " ",
          false
        )(
          kinds.map(
            (kind) => sql`
          WHEN ${kind} THEN array_remove(ARRAY[${sql.csv(
            fieldsOf(kind).map((field) =>
              fieldType(kind, field) === "html"
                ? sql`CASE WHEN is_empty_html(${valueOf(field)}) THEN ${field}::text END`
                : sql`CASE WHEN is_empty_text(${valueOf(field)}) THEN ${field}::text END`
            )
          )}], NULL)`
          )
        )} ELSE '{}'::text[] END`
  }

  /** That no version of the entity `e` on the store `on_store` has values of its own; `which`: of what key. */
  const inherits = (accountId: string, which: Fragment = sql``) => sql`
    NOT EXISTS (
      SELECT FROM store_version o
      WHERE o.account_id = ${accountId} AND o.entity_id = e.id AND o.store_id = on_store.id AND o.overrides <> '{}' ${which}
    )`

  // Most versions have no value of their own: what is empty of the canonical record is looked for once an entity.
  const completeness = ({ accountId, rules }: ScanScope) => {
    const canonical = (field: string) => sql`coalesce(e.attributes -> ${field}::text ->> 'value', '')`
    const own = (field: string) => sql`effective_value(e.attributes, v.overrides, ${field}::text)`
    const found = (valueOf: (field: string) => Fragment) => sql`
      CROSS JOIN LATERAL (SELECT ${emptyOf(rules, "required", valueOf)} AS required,
                                 ${emptyOf(rules, "recommended", valueOf)} AS recommended OFFSET 0) f`
    const sections = (of: Fragment) => sql`
      CROSS JOIN LATERAL (VALUES
        ('completeness-required', ${of}.required), ('completeness-recommended', ${of}.recommended)
      ) AS s (section, fields)`
    return sql`
      SELECT s.section, e.id AS entity_id, e.kind AS entity_type, e.title, on_store.id AS store_id, NULL::text AS locale,
             s.fields, NULL::jsonb AS shown
      FROM (
        SELECT e.id, e.kind, e.title, e.store_ids, f.required, f.recommended
        FROM entity e ${found(canonical)}
        WHERE e.account_id = ${accountId} AND (f.required <> '{}' OR f.recommended <> '{}')
      ) e
      CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
      JOIN linked l ON l.id = on_store.id
      ${sections(sql`e`)}
      WHERE s.fields <> '{}' AND ${inherits(accountId)}
      UNION ALL
      SELECT s.section, e.id, e.kind, e.title, v.store_id, NULL, s.fields, NULL
      FROM ${versions(accountId)} AND v.overrides <> '{}'
      ${found(own)}
      ${sections(sql`f`)}
      WHERE s.fields <> '{}'`
  }

  const media = ({ accountId }: ScanScope) => sql`
    SELECT 'media-unused' AS section, e.id AS entity_id, e.kind AS entity_type, e.title, s.id AS store_id,
           NULL::text AS locale, '{}'::text[] AS fields, NULL::jsonb AS shown
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'media'
      AND NOT EXISTS (SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = e.id)
    UNION ALL
    SELECT 'media-missing', e.id, e.kind, e.title, s.id, NULL, '{media_ids}', NULL
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'product'
      AND NOT EXISTS (
        SELECT FROM (
          SELECT g.entity_id, shown.id AS store_id
          FROM entity_media g CROSS JOIN LATERAL unnest(g.store_ids) AS shown (id)
          WHERE g.account_id = ${accountId}
        ) g
        WHERE g.entity_id = e.id AND g.store_id = s.id
      )
    UNION ALL
    SELECT 'media-alt-missing', e.id, e.kind, e.title, v.store_id, NULL, '{alt}', NULL
    FROM ${versions(accountId)}
    WHERE e.kind = 'media' AND is_empty_text(effective_value(e.attributes, v.overrides, 'alt'))
      AND EXISTS (SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = e.id)`

  /** Variants that share their SKU with others, on every store: each row with the others, of which the first are listed. */
  const duplicateSkus = (accountId: string) => sql`
    SELECT 'structure-duplicate-sku' AS section, b.id AS entity_id, 'variant' AS entity_type, b.title, s.id AS store_id,
           NULL::text AS locale, '{sku}'::text[] AS fields, b.shown
    FROM (
      WITH bearer AS MATERIALIZED (
        SELECT e.id, e.title, e.parent_id, e.store_ids, e.attributes #>> '{sku,value}' AS sku
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = 'variant'
          AND (e.attributes #>> '{sku,value}') IN (
            SELECT o.attributes -> 'sku' ->> 'value'
            FROM entity o
            WHERE o.account_id = ${accountId} AND o.kind = 'variant'
            GROUP BY o.attributes -> 'sku' ->> 'value'
            HAVING count(*) > 1 AND NOT is_empty_text(o.attributes -> 'sku' ->> 'value')
          )
      ), shared AS MATERIALIZED (
        -- One more than is listed: a row leaves itself out.
        SELECT b.sku, count(*) AS bearers, (array_agg(b.id ORDER BY b.id))[1:${sql.literal(String(maxDuplicates + 1))}] AS first
        FROM bearer b GROUP BY b.sku
      )
      SELECT b.id, b.title, b.store_ids,
             jsonb_build_object('sku', b.sku, 'duplicates_count', g.bearers - 1, 'duplicates', ARRAY(
               SELECT jsonb_build_object('entity_id', o.id, 'title', o.title, 'product_id', p.id, 'product_title', p.title)
               FROM unnest(array_remove(g.first, b.id)) WITH ORDINALITY AS other (id, place)
               -- Look-ups by key: without statistics a join would read all entities for each variant.
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
      FROM bearer b JOIN shared g ON g.sku = b.sku
      OFFSET 0
    ) b
    CROSS JOIN LATERAL unnest(b.store_ids) AS s (id)`

  /** A price of nothing of a variant: on each store whose version of its product is active. */
  const zeroPrices = (accountId: string) => {
    const isZero = (value: Fragment) => sql`${value} ~ '^-?0+([.]0+)?$'`
    return sql`
      SELECT free.id, free.kind, free.title, free.store_id, 'price' AS key, 'zero_price' AS reason
      FROM (
        SELECT e.id, e.kind, e.title, e.parent_id, on_store.id AS store_id
        FROM entity e
        CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
        JOIN linked l ON l.id = on_store.id
        WHERE e.account_id = ${accountId} AND e.kind = 'variant' AND ${isZero(sql`e.attributes -> 'price' ->> 'value'`)}
          AND ${inherits(accountId, sql`AND o.overrides ? 'price'`)}
        UNION ALL
        SELECT e.id, e.kind, e.title, e.parent_id, v.store_id
        FROM ${versions(accountId)} AND v.overrides <> '{}'
        WHERE e.kind = 'variant' AND ${isZero(sql`v.overrides -> 'price' ->> 'value'`)}
      ) free
      JOIN entity p ON p.account_id = ${accountId} AND p.id = free.parent_id
      LEFT JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = p.id AND v.store_id = free.store_id
      WHERE effective_value(p.attributes, v.overrides, 'status') = 'active'`
  }

  const structure = ({ accountId, keys, rules }: ScanScope) => sql`
    SELECT 'structure-no-variants' AS section, e.id AS entity_id, e.kind AS entity_type, e.title, s.id AS store_id,
           NULL::text AS locale, '{variant_ids}'::text[] AS fields, NULL::jsonb AS shown
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'product'
      AND NOT EXISTS (SELECT FROM entity c WHERE c.account_id = ${accountId} AND c.parent_id = e.id)
    UNION ALL
    ${duplicateSkus(accountId)}
    UNION ALL
    SELECT 'structure-empty-collection', e.id, e.kind, e.title, s.id, NULL, '{members}', NULL
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'collection'
      AND NOT EXISTS (SELECT FROM collection_member m WHERE m.account_id = ${accountId} AND m.collection_id = e.id)
    UNION ALL
    SELECT 'structure-invalid-value', wrong.id, wrong.kind, wrong.title, wrong.store_id, NULL,
           array_agg(wrong.key ORDER BY ${place(sql`wrong.key`)}),
           CASE WHEN count(wrong.reason) > 0 THEN jsonb_build_object('reasons',
             jsonb_agg(jsonb_build_object('field', wrong.key, 'reason', wrong.reason) ORDER BY ${place(sql`wrong.key`)})
               FILTER (WHERE wrong.reason IS NOT NULL)
           ) END
    FROM (
      -- Once, however it is joined: without statistics it would be found anew for every version.
      WITH rules AS MATERIALIZED (SELECT key AS kind, value AS of_keys FROM jsonb_each(${keys.toJson()}::jsonb)), e AS MATERIALIZED (
        SELECT e.id, e.kind, e.title, e.store_ids, a.key
        FROM entity e
        JOIN rules r ON r.kind = e.kind
        CROSS JOIN LATERAL jsonb_each(e.attributes) AS a (key, value)
        WHERE e.account_id = ${accountId} AND e.store_ids <> '{}'
          AND NOT key_fits(r.of_keys -> a.key, a.value ->> 'type', a.value ->> 'value')
      )
      SELECT e.id, e.kind, e.title, on_store.id AS store_id, e.key, NULL::text AS reason
      FROM e
      CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
      JOIN linked l ON l.id = on_store.id
      WHERE ${inherits(accountId, sql`AND o.overrides ? e.key`)}
      UNION ALL
      SELECT e.id, e.kind, e.title, v.store_id, a.key, NULL
      FROM ${versions(accountId)} AND v.overrides <> '{}'
      JOIN rules r ON r.kind = e.kind
      CROSS JOIN LATERAL jsonb_each(v.overrides) AS a (key, value)
      WHERE NOT key_fits(r.of_keys -> a.key, a.value ->> 'type', a.value ->> 'value')
      ${rules.structure.zero_price === "issue" ? sql`UNION ALL ${zeroPrices(accountId)}` : sql``}
    ) wrong
    JOIN ${definitions} ON definition.kind = wrong.kind
    GROUP BY wrong.id, wrong.kind, wrong.title, wrong.store_id`

  // A store without a value of its own says the canonical one, so the stores of a group disagree on a field where those that
  // have one differ, or are not all of the group that the entity lives on. Only what is overridden is looked at.
  const divergence = ({ accountId, rules }: ScanScope) => {
    const fields = sql.csv(
      EntityKind.literals.map((kind) => {
        const texts = fieldsComparedBy("language", kind, rules.divergence)
        const prices = fieldsComparedBy("currency", kind, rules.divergence)
        return sql`(${kind}, ${texts}::text[], ${prices}::text[])`
      })
    )
    const textTypes = metafieldTypesComparedBy("language", rules.divergence)
    const priceTypes = metafieldTypesComparedBy("currency", rules.divergence)
    const type = sql`coalesce(e.attributes -> a.key, a.value) ->> 'type'`
    const groupOf = (by: Fragment) =>
      sql`CASE ${by} WHEN 'language' THEN l.language WHEN 'currency' THEN l.currency ELSE '' END`
    return sql`
    SELECT 'divergence' AS section, own.id AS entity_id, own.kind AS entity_type, own.title, own.store_id,
           NULL::text AS locale, array_agg(own.key ORDER BY own.place, own.key COLLATE "C") AS fields,
           jsonb_agg(
             jsonb_build_object('field', own.key, 'value', left(own.value, ${sql.literal(String(mostShownCharacters))}))
             ORDER BY own.place, own.key COLLATE "C"
           ) AS shown
    FROM (
      SELECT e.id, e.kind, e.title, e.store_ids, v.store_id, a.key, a.value ->> 'value' AS value,
             coalesce(e.attributes -> a.key ->> 'value', '') AS canonical,
             coalesce(array_position(definition.keys, a.key), 1000) AS place,
             compared.by, ${groupOf(sql`compared.by`)} AS store_group,
             count(*) OVER w AS own_values,
             min(a.value ->> 'value' COLLATE "C") OVER w <> max(a.value ->> 'value' COLLATE "C") OVER w AS differ
      FROM ${versions(accountId)} AND v.overrides <> '{}' AND cardinality(e.store_ids) > 1
      JOIN ${definitions} ON definition.kind = e.kind
      JOIN (VALUES ${fields}) AS field (kind, texts, prices) ON field.kind = e.kind
      CROSS JOIN LATERAL jsonb_each(v.overrides) AS a (key, value)
      CROSS JOIN LATERAL (
        SELECT CASE
          WHEN a.key = ANY(field.texts) THEN 'language'
          WHEN a.key = ANY(field.prices) THEN 'currency'
          WHEN a.key = ANY(definition.keys) THEN NULL
          WHEN ${type} = ANY(${textTypes}::text[]) THEN 'language'
          WHEN ${type} = ANY(${priceTypes}::text[]) THEN 'currency'
        END
      ) AS compared (by)
      WHERE NOT a.key = ANY(definition.read_only)
      WINDOW w AS (PARTITION BY e.id, a.key, ${groupOf(sql`compared.by`)})
    ) own
    WHERE own.value <> own.canonical
      AND (
        own.differ OR own.own_values < (
          SELECT count(*) FROM linked l
          WHERE l.id = ANY(own.store_ids) AND ${groupOf(sql`own.by`)} = own.store_group
        )
      )
    GROUP BY own.id, own.kind, own.title, own.store_id`
  }

  const translations = ({ accountId }: ScanScope) => sql`
    SELECT 'translations-untranslated' AS section, e.id AS entity_id, e.kind AS entity_type, e.title, v.store_id,
           sold.locale, array_agg(f.key ORDER BY f.key COLLATE "C") AS fields, NULL::jsonb AS shown
    FROM ${versions(accountId)}
    JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id
    CROSS JOIN LATERAL (SELECT DISTINCT unnest(s.locales)) AS sold (locale)
    JOIN translatable_field f ON f.account_id = ${accountId} AND f.store_id = v.store_id AND f.entity_id = e.id
      AND f.source_value <> '' AND f.source_locale <> sold.locale
    WHERE e.kind IN ('product', 'collection')
      AND NOT EXISTS (
        SELECT FROM translation t
        WHERE t.account_id = ${accountId} AND t.store_id = v.store_id AND t.entity_id = e.id AND t.locale = sold.locale
          AND t.key = f.key AND t.value <> ''
      )
    GROUP BY e.id, e.kind, e.title, v.store_id, sold.locale
    UNION ALL
    SELECT 'translations-outdated', e.id, e.kind, e.title, v.store_id, t.locale, array_agg(t.key ORDER BY t.key COLLATE "C"),
           NULL
    FROM ${versions(accountId)}
    JOIN translation t ON t.account_id = ${accountId} AND t.store_id = v.store_id AND t.entity_id = e.id
      AND t.outdated AND t.value <> ''
    WHERE e.kind IN ('product', 'collection')
    GROUP BY e.id, e.kind, e.title, v.store_id, t.locale`

  const found: Readonly<Record<HealthDimension, (scope: ScanScope) => Fragment>> = {
    sync,
    completeness,
    media,
    structure,
    divergence,
    translations
  }
  return found
}
