import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { builtInFields, EntityKind } from "../domain/Attribute.ts"
import {
  type CompletenessRules,
  compareFields,
  fieldType,
  type HealthDimension,
  mostShownCharacters
} from "../domain/Health.ts"
import { isWritable, type KeyRules } from "../domain/KeyRules.ts"

/** What a scan is of. */
export interface ScanScope {
  readonly accountId: string
  readonly rules: CompletenessRules
  /** What keys take. */
  readonly keys: KeyRules
}

/**
 * The rows of each dimension as a SELECT of (section, entity_id, entity_type, title, store_id, locale, fields, shown), over
 * the effective values of all versions on linked stores. `linked` names those stores. What they say is domain/HealthScan.ts.
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
    FROM ${versions(accountId)}
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
    level: "required" | "recommended",
    valueOf: (field: string) => Fragment
  ): Fragment => {
    const kinds = EntityKind.literals.filter((kind) => rules[kind][level].length > 0)
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

  const structure = ({ accountId, keys }: ScanScope) => sql`
    SELECT 'structure-no-variants' AS section, e.id AS entity_id, e.kind AS entity_type, e.title, s.id AS store_id,
           NULL::text AS locale, '{variant_ids}'::text[] AS fields, NULL::jsonb AS shown
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'product'
      AND NOT EXISTS (SELECT FROM entity c WHERE c.account_id = ${accountId} AND c.parent_id = e.id)
    UNION ALL
    SELECT 'structure-duplicate-sku', e.id, e.kind, e.title, s.id, NULL, '{sku}', NULL
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'variant'
      AND (e.attributes #>> '{sku,value}') IN (
        SELECT o.attributes #>> '{sku,value}'
        FROM entity o
        WHERE o.account_id = ${accountId} AND o.kind = 'variant'
        GROUP BY o.attributes #>> '{sku,value}'
        HAVING count(*) > 1 AND NOT is_empty_text(o.attributes #>> '{sku,value}')
      )
    UNION ALL
    SELECT 'structure-empty-collection', e.id, e.kind, e.title, s.id, NULL, '{members}', NULL
    FROM entity e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.account_id = ${accountId} AND e.kind = 'collection'
      AND NOT EXISTS (SELECT FROM collection_member m WHERE m.account_id = ${accountId} AND m.collection_id = e.id)
    UNION ALL
    SELECT 'structure-invalid-value', wrong.id, wrong.kind, wrong.title, wrong.store_id, NULL,
           array_agg(wrong.key ORDER BY ${place(sql`wrong.key`)}), NULL
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
      SELECT e.id, e.kind, e.title, on_store.id AS store_id, e.key
      FROM e
      CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
      JOIN linked l ON l.id = on_store.id
      WHERE ${inherits(accountId, sql`AND o.overrides ? e.key`)}
      UNION ALL
      SELECT e.id, e.kind, e.title, v.store_id, a.key
      FROM ${versions(accountId)} AND v.overrides <> '{}'
      JOIN rules r ON r.kind = e.kind
      CROSS JOIN LATERAL jsonb_each(v.overrides) AS a (key, value)
      WHERE NOT key_fits(r.of_keys -> a.key, a.value ->> 'type', a.value ->> 'value')
    ) wrong
    JOIN ${definitions} ON definition.kind = wrong.kind
    GROUP BY wrong.id, wrong.kind, wrong.title, wrong.store_id`

  // A store without a value of its own says the canonical one, so stores disagree on a field where those that have one differ,
  // or are not all of them. Only what is overridden is looked at.
  const divergence = ({ accountId }: ScanScope) => sql`
    SELECT 'divergence' AS section, own.id AS entity_id, own.kind AS entity_type, own.title, own.store_id,
           NULL::text AS locale, array_agg(own.key ORDER BY own.place, own.key COLLATE "C") AS fields,
           jsonb_agg(
             jsonb_build_object('field', own.key, 'value', left(own.value, ${sql.literal(String(mostShownCharacters))}))
             ORDER BY own.place, own.key COLLATE "C"
           ) AS shown
    FROM (
      SELECT e.id, e.kind, e.title, v.store_id, a.key, a.value ->> 'value' AS value,
             coalesce(e.attributes -> a.key ->> 'value', '') AS canonical,
             coalesce(array_position(definition.keys, a.key), 1000) AS place,
             count(*) OVER w < cardinality(e.store_ids) AS some_inherit,
             min(a.value ->> 'value' COLLATE "C") OVER w <> max(a.value ->> 'value' COLLATE "C") OVER w AS differ
      FROM ${versions(accountId)} AND v.overrides <> '{}' AND cardinality(e.store_ids) > 1
      JOIN ${definitions} ON definition.kind = e.kind
      CROSS JOIN LATERAL jsonb_each(v.overrides) AS a (key, value)
      WHERE NOT a.key = ANY(definition.read_only)
      WINDOW w AS (PARTITION BY e.id, a.key)
    ) own
    WHERE own.value <> own.canonical AND (own.some_inherit OR own.differ)
    GROUP BY own.id, own.kind, own.title, own.store_id`

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
