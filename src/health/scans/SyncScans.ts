import type { SqlClient } from "@effect/sql/SqlClient"
import { mediaIdsOf, memberIdsOf, variantIdsOf } from "../../catalog/OrderedIds.sql.ts"
import { maxShownCharacters } from "../Health.ts"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/**
 * Versions whose draft is not published, was never published, or failed to publish. A version that was never published is
 * pending. Entities have the states of their versions, so the versions of all other entities are not read.
 */
export const makeSyncScan =
  (sql: SqlClient, { definitions, versions }: ScanParts): Scan =>
  ({ accountId }) =>
    sql`
    SELECT s.section, d.id AS entity_id, d.kind AS entity_type, d.title, d.store_id, NULL::text AS locale, d.fields,
           CASE WHEN s.section = 'sync-failed' AND jsonb_typeof(d.last_publish_error) = 'object'
             THEN jsonb_build_object('last_publish_error', jsonb_build_object(
               'code', d.last_publish_error -> 'code',
               'message', left(d.last_publish_error ->> 'message', ${maxShownCharacters})
             ))
           END AS shown
    FROM (
      SELECT e.id, e.kind, e.title, v.store_id, v.last_publish_error, v.last_publish_status, v.pending_publish, ARRAY(
        SELECT k.key
        FROM (
          SELECT key, array_position(definition.keys, key) AS place
          FROM jsonb_object_keys(draft.attributes || coalesce(draft.accepted, '{}')) AS key
          WHERE CASE WHEN draft.attributes -> key ->> 'value' <> '' THEN draft.attributes -> key END
            IS DISTINCT FROM draft.accepted -> key
          UNION ALL
          SELECT 'variant_ids', 2000
          WHERE e.kind = 'product'
            AND coalesce(v.accepted -> 'variants', '[]') <> to_jsonb(ARRAY(${variantIdsOf(sql, accountId, sql`e.id`)}))
          UNION ALL
          SELECT 'media_ids', 2001
          WHERE e.kind = 'product'
            AND coalesce(v.accepted -> 'media', '[]') <> to_jsonb(ARRAY(${mediaIdsOf(sql, accountId, sql`e.id`)}))
          UNION ALL
          SELECT 'media_ids', 2001
          WHERE e.kind = 'variant'
            AND coalesce(v.accepted -> 'media', '[]')
              <> to_jsonb((ARRAY(${mediaIdsOf(sql, accountId, sql`e.id`)}))[:1])
          UNION ALL
          SELECT 'members', 2002
          WHERE e.kind = 'collection'
            AND coalesce(v.accepted -> 'members', '[]') <> to_jsonb(ARRAY(${memberIdsOf(sql, accountId, sql`e.id`)}))
        ) k
        ORDER BY coalesce(k.place, 1000), k.key COLLATE "C"
      ) AS fields
      FROM ${versions(
        accountId,
        sql`AND (e.pending_publish OR e.last_publish_status = 'failed')
            AND (v.pending_publish OR v.last_publish_status = 'failed')`
      )}
      JOIN ${definitions} ON definition.kind = e.kind
      -- OFFSET 0, here and below: each value is computed once.
      CROSS JOIN LATERAL (
        SELECT e.attributes || v.overrides AS attributes, v.accepted -> 'attributes' AS accepted OFFSET 0
      ) draft
      WHERE l.platform <> 'none'
      OFFSET 0
    ) d
    CROSS JOIN LATERAL (VALUES
      ('sync-failed', d.last_publish_status = 'failed'),
      ('sync-pending', d.pending_publish),
      ('sync-never-published', d.last_publish_status = 'never_published')
    ) AS s (section, is_so)
    WHERE s.is_so`
