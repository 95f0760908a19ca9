import type { SqlClient } from "@effect/sql/SqlClient"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/** Fields without a translation, or with an outdated one, in a language of their store. */
export const makeTranslationScan =
  (sql: SqlClient, { versions }: ScanParts): Scan =>
  ({ accountId }) =>
    sql`
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
