import type { SqlClient } from "@effect/sql/SqlClient"
import { maxShownCharacters } from "../Health.ts"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/** Versions whose draft is not published, was never published, or failed to publish. */
export const makeSyncScan =
  (sql: SqlClient, { definitions, versions }: ScanParts): Scan =>
  ({ accountId }) =>
    sql`
    SELECT s.section, e.id AS entity_id, e.kind AS entity_type, e.title, v.store_id, NULL::text AS locale, d.fields,
           CASE WHEN s.section = 'sync-failed' AND jsonb_typeof(v.last_publish_error) = 'object'
             THEN jsonb_build_object('last_publish_error', jsonb_build_object(
               'code', v.last_publish_error -> 'code',
               'message', left(v.last_publish_error ->> 'message', ${maxShownCharacters})
             ))
           END AS shown
    FROM ${versions(accountId, sql`AND (v.pending_publish OR v.last_publish_status IN ('failed', 'never_published'))`)}
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
    WHERE l.platform <> 'none' AND s.is_so`
