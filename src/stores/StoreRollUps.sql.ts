import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { everySearchedKey } from "../catalog/SearchedFields.ts"
import { readsAll } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, nilUuid, StoreId } from "../model/Ids.ts"
import { PublishCounts } from "../model/PublishState.ts"
import type { StoresRepo } from "./StoresRepo.ts"

type Repo = Context.Tag.Service<StoresRepo>

/**
 * Updates the stores and publish states of the next entities on a store. They are looked up by their keys: while the statistics do not
 * include the account, PostgreSQL would compare each entity with all entities, and these with all again.
 */
export const makeRefreshStore = (sql: SqlClient): Repo["refresh"] => {
  const RefreshedSome = Schema.Struct({
    entities: Schema.Number,
    last: Schema.NullOr(EntityId),
    stale: Schema.Array(EntityId),
    moved: Schema.Array(
      Schema.Struct({
        kind: EntityKind,
        from: Schema.Array(StoreId),
        to: Schema.Array(StoreId),
        ids: Schema.Array(EntityId)
      })
    )
  })
  const refreshSome = findSingle(RefreshedSome)(
    (accountId: AccountId, id: StoreId, after: string, limit: number) => sql`
      WITH here AS (
        SELECT v.entity_id, v.overrides ?| ${everySearchedKey} AS searched
        FROM store_version v
        WHERE v.account_id = ${accountId} AND v.store_id = ${id} AND v.entity_id > ${after}
        ORDER BY v.entity_id LIMIT ${limit}
      ), rolled AS MATERIALIZED (
        SELECT h.entity_id, h.searched, old.store_ids AS "from", r.*
        FROM here h
        CROSS JOIN LATERAL (
          SELECT o.store_ids FROM entity o WHERE o.account_id = ${accountId} AND o.id = h.entity_id OFFSET 0
        ) old
        CROSS JOIN LATERAL (
          SELECT coalesce(array_agg(s.id ORDER BY s.domain COLLATE "C", s.id) FILTER (WHERE s.id IS NOT NULL), '{}') AS store_ids,
                 coalesce(bool_or(v.pending_publish) FILTER (WHERE s.id IS NOT NULL), false) AS pending_publish,
                 CASE WHEN bool_or(s.id IS NOT NULL AND v.last_publish_status = 'failed') THEN 'failed'
                      WHEN bool_or(s.id IS NOT NULL AND v.last_publish_status = 'pending') THEN 'pending'
                      WHEN bool_or(s.id IS NOT NULL AND v.last_publish_status = 'published') THEN 'published'
                      ELSE 'never_published' END AS last_publish_status
          FROM store_version v
          LEFT JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
          WHERE v.account_id = ${accountId} AND v.entity_id = h.entity_id
        ) r
      ), written AS (
        UPDATE entity e
        SET store_ids = r.store_ids, pending_publish = r.pending_publish, last_publish_status = r.last_publish_status
        FROM rolled r
        WHERE e.account_id = ${accountId} AND e.id = ANY(ARRAY(SELECT h.entity_id FROM here h)) AND e.id = r.entity_id
        RETURNING e.id, e.kind, r."from", e.store_ids AS "to", coalesce(e.parent_id, e.id) AS owner,
                  r.searched OR e.change_seq > (
                    SELECT s.unlinked_at_seq FROM store s WHERE s.account_id = ${accountId} AND s.id = ${id}
                  ) AS is_stale
      )
      SELECT count(*) AS entities, max(id::text) AS last,
             coalesce(array_agg(DISTINCT owner) FILTER (WHERE is_stale), '{}') AS stale,
             ARRAY(
               SELECT json_build_object('kind', w.kind, 'from', w."from", 'to', w."to", 'ids', json_agg(w.id))
               FROM written w GROUP BY w.kind, w."from", w."to"
             ) AS moved
      FROM written`
  )

  return (accountId, id, after, limit) => refreshSome(accountId, id, after ?? nilUuid, limit)
}

/** Counts store versions by publish state. */
export const makePublishCounts = (sql: SqlClient): Repo["publishCounts"] => {
  const publishCounts = findAll(Schema.Struct({ id: StoreId, ...PublishCounts.fields }))(
    (accountId: AccountId) => sql`
      ${sql.literal(readsAll)}
      SELECT v.store_id AS id,
             (count(*) FILTER (WHERE v.last_publish_status = 'never_published'))::integer AS "neverPublished",
             (count(*) FILTER (WHERE v.last_publish_status = 'pending'))::integer AS pending,
             (count(*) FILTER (WHERE v.last_publish_status = 'published'))::integer AS published,
             (count(*) FILTER (WHERE v.last_publish_status = 'failed'))::integer AS failed,
             (count(*) FILTER (WHERE v.pending_publish))::integer AS "pendingPublish"
      FROM store_version v
      JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
      WHERE v.account_id = ${accountId}
      GROUP BY v.store_id`
  )

  return (accountId) =>
    Effect.map(publishCounts(accountId), (rows) => new Map(rows.map(({ id, ...counts }) => [id, counts])))
}
