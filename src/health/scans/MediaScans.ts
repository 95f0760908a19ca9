import type { SqlClient } from "@effect/sql/SqlClient"
import { nilUuid } from "../../model/Ids.ts"
import { unusedOnNoStore } from "../HealthScan.ts"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/** Media that no gallery shows, products without media, and media without an alternative text. */
export const makeMediaScan =
  (sql: SqlClient, { versions }: ScanParts): Scan =>
  ({ accountId }) =>
    sql`
    SELECT CASE WHEN e.store_ids = '{}' THEN ${unusedOnNoStore} ELSE 'media-unused' END AS section, e.id AS entity_id, e.kind AS entity_type, e.title, s.id AS store_id,
           NULL::text AS locale, '{}'::text[] AS fields, NULL::jsonb AS shown
    FROM subject e
    -- Media on no store are only counted: with store id zeros, in a section that requests cannot name.
    CROSS JOIN LATERAL unnest(CASE WHEN e.store_ids = '{}' THEN ${[nilUuid]}::uuid[] ELSE e.store_ids END) AS s (id)
    WHERE e.kind = 'media'
      AND NOT EXISTS (SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = e.id)
    UNION ALL
    SELECT 'media-missing', e.id, e.kind, e.title, s.id, NULL, '{media_ids}', NULL
    FROM subject e CROSS JOIN LATERAL unnest(e.store_ids) AS s (id)
    WHERE e.kind = 'product'
      AND NOT EXISTS (
        SELECT FROM entity_media g
        WHERE g.account_id = ${accountId} AND g.entity_id = e.id AND s.id = ANY(g.store_ids)
      )
    UNION ALL
    SELECT 'media-alt-missing', e.id, e.kind, e.title, v.store_id, NULL, '{alt}', NULL
    FROM ${versions(accountId)}
    WHERE e.kind = 'media' AND is_empty_text(effective_value(e.attributes, v.overrides, 'alt'))
      AND EXISTS (SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = e.id)`
