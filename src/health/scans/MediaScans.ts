import type { SqlClient } from "@effect/sql/SqlClient"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/** Files that no gallery shows, products without a file, and files without an alternative text. */
export const makeMediaScan =
  (sql: SqlClient, { versions }: ScanParts): Scan =>
  ({ accountId }) =>
    sql`
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
