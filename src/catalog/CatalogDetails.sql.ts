import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Schema } from "effect"
import { findOne } from "../database/Rows.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId, type StoreId } from "../model/Ids.ts"
import { PublishStatus } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { CatalogRepo } from "./CatalogRepo.ts"
import { VersionsRecord, type VersionsRequest } from "./CatalogRows.ts"
import { StorePublishState } from "./Entity.ts"

/** Reads of one entity. */
export const makeCatalogDetails = (
  sql: SqlClient
): Pick<Context.Tag.Service<CatalogRepo>, "find" | "onStore" | "versions"> => {
  const findEntity = findOne(
    Schema.Struct({
      id: EntityId,
      title: Schema.String,
      attributes: Attributes,
      draftRevision: Schema.Number,
      pendingPublish: Schema.Boolean,
      lastPublishStatus: PublishStatus,
      createdAt: Timestamp,
      updatedAt: Timestamp,
      parentId: Schema.NullOr(EntityId),
      variantIds: Schema.Array(EntityId),
      mediaIds: Schema.Array(EntityId),
      collectionIds: Schema.Array(EntityId),
      productsCount: Schema.Number,
      usedBy: Schema.Array(Schema.Struct({ id: EntityId, kind: EntityKind })),
      stores: Schema.Array(StorePublishState)
    })
  )(
    (accountId: string, kind: EntityKind, id: EntityId) => sql`
      SELECT e.id, e.title, e.attributes, e.draft_revision AS "draftRevision", e.pending_publish AS "pendingPublish",
             e.last_publish_status AS "lastPublishStatus", rfc3339(e.created_at) AS "createdAt",
             rfc3339(e.canonical_changed_at) AS "updatedAt", e.parent_id AS "parentId",
             ARRAY(
               SELECT v.id FROM entity v
               WHERE v.account_id = ${accountId} AND v.parent_id = e.id
               ORDER BY v.position, v.id
             ) AS "variantIds",
             ARRAY(
               SELECT g.media_id FROM entity_media g
               WHERE g.account_id = ${accountId} AND g.entity_id = e.id
               ORDER BY g.position, g.media_id
             ) AS "mediaIds",
             ARRAY(
               SELECT m.collection_id FROM collection_member m
               WHERE m.account_id = ${accountId} AND m.product_id = e.id
               ORDER BY m.collection_id
             ) AS "collectionIds",
             (
               SELECT count(*) FROM collection_member m
               WHERE m.account_id = ${accountId} AND m.collection_id = e.id
             ) AS "productsCount",
             (
               SELECT coalesce(json_agg(json_build_object('id', u.id, 'kind', u.kind) ORDER BY u.id), '[]')
               FROM entity_media g
               JOIN entity u ON u.account_id = ${accountId} AND u.id = g.entity_id
               WHERE g.account_id = ${accountId} AND g.media_id = e.id
             ) AS "usedBy",
             (
               SELECT coalesce(json_agg(json_build_object(
                 'store_id', s.id, 'store_domain', s.domain, 'pending_publish', v.pending_publish,
                 'last_publish_status', v.last_publish_status, 'published_at', rfc3339(v.published_at),
                 'last_publish_error', v.last_publish_error
               ) ORDER BY s.domain COLLATE "C", s.id), '[]')
               FROM store_version v
               JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
               WHERE v.account_id = ${accountId} AND v.entity_id = e.id
             ) AS stores
      FROM entity e
      WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind}`
  )

  const findVersions = findOne(VersionsRecord)(
    ({ accountId, id, kind, storeId }: typeof VersionsRequest.Type) => sql`
      SELECT e.attributes,
             (
               SELECT coalesce(json_agg(json_build_object(
                 'storeId', s.id, 'storeDomain', s.domain, 'overrides', v.overrides,
                 'pendingPublish', v.pending_publish, 'lastPublishStatus', v.last_publish_status
               ) ORDER BY s.domain COLLATE "C", s.id), '[]')
               FROM store_version v
               JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
               WHERE v.account_id = ${accountId} AND v.entity_id = e.id
                 AND (${storeId}::uuid IS NULL OR v.store_id = ${storeId}::uuid)
             ) AS versions
      FROM entity e
      WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind}`
  )

  const findOnStore = findOne(Schema.Struct({ platformId: Schema.NullOr(Schema.String) }))(
    (accountId: string, kind: EntityKind, id: EntityId, storeId: StoreId) => sql`
      SELECT v.platform_id AS "platformId"
      FROM entity e
      JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = e.id
      JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
      WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind} AND v.store_id = ${storeId}`
  )

  return {
    find: findEntity,
    versions: (accountId, kind, id, storeId) => findVersions({ accountId, kind, id, storeId: storeId ?? null }),
    onStore: findOnStore
  }
}
