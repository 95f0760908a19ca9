import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { EntityId, type StoreId } from "../model/Ids.ts"
import { PublishStatus } from "../model/PublishState.ts"
import type { CatalogRepo } from "./CatalogRepo.ts"
import { limitedRowOf } from "./CatalogRows.ts"

/** Reads the states and search texts of entities for a caller that is limited to some stores. */
export const makeLimitedReads = (sql: SqlClient): Pick<Context.Tag.Service<CatalogRepo>, "limitedTo"> => {
  const findLimited = findAll(
    Schema.Struct({
      id: EntityId,
      kind: EntityKind,
      attributes: Attributes,
      productTitle: Schema.String,
      versions: Schema.Array(
        Schema.Struct({ overrides: Attributes, pendingPublish: Schema.Boolean, lastPublishStatus: PublishStatus })
      ),
      skus: Schema.Array(Schema.String)
    })
  )((accountId: string, stores: ReadonlyArray<StoreId>, ids: ReadonlyArray<EntityId>) => {
    const isVisible = (entity: string) =>
      sql`(${sql.literal(entity)}.store_ids = '{}' OR ${sql.literal(entity)}.store_ids && ${[...stores]}::uuid[])`
    const isOnThem = (version: string) => sql`${sql.literal(version)}.store_id = ANY (${[...stores]}::uuid[])`
    return sql`
        SELECT e.id, e.kind, e.attributes, coalesce((
                 SELECT p.attributes #>> '{title,value}' FROM entity p
                 WHERE p.account_id = ${accountId} AND p.id = e.parent_id
               ), '') AS "productTitle", (
                 SELECT coalesce(json_agg(json_build_object(
                   'overrides', v.overrides, 'pendingPublish', v.pending_publish, 'lastPublishStatus', v.last_publish_status
                 )), '[]')
                 FROM store_version v
                 WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ANY (e.store_ids) AND ${isOnThem("v")}
               ) AS versions, ARRAY(
                 SELECT w.attributes #>> '{sku,value}' FROM entity w
                 WHERE w.account_id = ${accountId} AND w.parent_id = e.id AND ${isVisible("w")} AND w.attributes ? 'sku'
                 UNION
                 SELECT o.overrides #>> '{sku,value}'
                 FROM entity w
                 JOIN store_version o ON o.account_id = ${accountId} AND o.entity_id = w.id AND ${isOnThem("o")}
                 WHERE w.account_id = ${accountId} AND w.parent_id = e.id AND ${isVisible("w")} AND o.overrides ? 'sku'
               ) AS skus
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.id = ANY (${[...ids]}::uuid[])
          AND ${isVisible("e")}`
  })

  return {
    limitedTo: (accountId, stores, ids) =>
      orDie(
        Effect.map(
          findLimited(accountId, stores, ids),
          (found) => new Map(found.map((each) => [each.id, limitedRowOf(each)]))
        )
      )
  }
}
