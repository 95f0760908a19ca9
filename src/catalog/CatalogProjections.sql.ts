import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect } from "effect"
import { findAll, findOne } from "../database/Rows.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { EntityId } from "../model/Ids.ts"
import type { CatalogRepo } from "./CatalogRepo.ts"
import { IdentifiedProjections, ProjectionsRecord, type VersionsRequest } from "./CatalogRows.ts"
import { mediaIdsOf, memberIdsOf, variantIdsOf } from "./OrderedIds.sql.ts"

/** Reads drafts for each store, with the values that the store accepted last. */
export const makeCatalogProjections = (
  sql: SqlClient
): Pick<Context.Tag.Service<CatalogRepo>, "projections" | "projectionsOfAll"> => {
  // A collection can have hundreds of thousands of members, so only whether they differ is returned. OFFSET 0 lets PostgreSQL read them
  // once, and not for each store.
  const members = (accountId: string): Fragment => sql`
      CROSS JOIN LATERAL (
        SELECT CASE WHEN e.kind = 'collection' THEN to_jsonb(ARRAY(${memberIdsOf(sql, accountId, sql`e.id`)})) END AS ids OFFSET 0
      ) members`

  /** The columns of a row `e`, joined with its `members`. */
  const columns = (accountId: string, storeId: string | null): Fragment => sql`e.attributes,
             (
               SELECT coalesce(json_agg(json_build_object('mediaId', g.media_id, 'storeIds', g.store_ids)
                               ORDER BY g.position, g.media_id), '[]')
               FROM entity_media g WHERE g.account_id = ${accountId} AND g.entity_id = e.id
             ) AS gallery,
             (
               SELECT coalesce(json_agg(json_build_object(
                 'storeId', s.id, 'storeDomain', s.domain, 'overrides', v.overrides,
                 'pendingPublish', v.pending_publish, 'lastPublishStatus', v.last_publish_status,
                 'accepted', v.accepted - 'members', 'publishedAt', rfc3339(v.published_at),
                 'lastPublishError', v.last_publish_error,
                 'membersDiffer', coalesce(coalesce(v.accepted -> 'members', '[]') <> members.ids, false),
                 'media', ARRAY(${mediaIdsOf(sql, accountId, sql`v.entity_id`)}),
                 'variants', ARRAY(${variantIdsOf(sql, accountId, sql`v.entity_id`)})
               ) ORDER BY s.domain COLLATE "C", s.id), '[]')
               FROM store_version v
               JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
               WHERE v.account_id = ${accountId} AND v.entity_id = e.id
                 AND (${storeId}::uuid IS NULL OR v.store_id = ${storeId}::uuid)
             ) AS versions`

  const findProjections = findOne(ProjectionsRecord)(
    ({ accountId, id, kind, storeId }: typeof VersionsRequest.Type) => sql`
      SELECT ${columns(accountId, storeId)}
      FROM entity e ${members(accountId)}
      WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind}`
  )

  const findIdentified = findAll(IdentifiedProjections)(
    (accountId: string, kind: EntityKind, ids: ReadonlyArray<EntityId>) => sql`
      SELECT e.id, e.title, e.draft_revision AS "draftRevision", ${columns(accountId, null)}
      FROM unnest(${[...ids]}::uuid[]) WITH ORDINALITY AS asked (id, place)
      JOIN entity e ON e.account_id = ${accountId} AND e.id = asked.id AND e.kind = ${kind}
      ${members(accountId)}
      ORDER BY asked.place`
  )

  return {
    projections: (accountId, kind, id, storeId) => findProjections({ accountId, kind, id, storeId: storeId ?? null }),
    projectionsOfAll: (accountId, kind, ids) =>
      ids.length === 0 ? Effect.succeed([]) : findIdentified(accountId, kind, ids)
  }
}
