import type { SqlClient } from "@effect/sql/SqlClient"
import { jsonOf, type MergedImport, type MirrorItems, textsOf } from "./MirrorItems.sql.ts"

/** The statements that merge a store's markets and their catalogs. Each returns the rows that it wrote. */
export const makeMarketWrites =
  (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) =>
  (merged: MergedImport) => [
    sql`
      INSERT INTO market (account_id, id, handle)
      SELECT i.account_id, i.id, i.content ->> 'handle'
      FROM mirror_item i
      WHERE ${ofKind(merged, "market")}
      ON CONFLICT (account_id, handle) DO NOTHING
      RETURNING id`,
    // The catalogs of a market are deleted with it.
    sql`
      DELETE FROM market_store o
      USING market m
      WHERE o.account_id = ${merged.accountId} AND o.store_id = ${merged.storeId}
        AND m.account_id = o.account_id AND m.id = o.market_id
        AND NOT EXISTS (
          SELECT FROM mirror_item i WHERE ${ofKind(merged, "market")} AND i.name = m.handle COLLATE "C" OFFSET 0
        )
      RETURNING o.market_id ${planned}`,
    mergeSet({
      table: "market_store",
      keys: { account_id: "i.account_id", store_id: sql`${merged.storeId}::uuid`, market_id: "m.id" },
      values: {
        ...textsOf("platform_id", "name", "status", "type", "currency"),
        ...jsonOf("regions", "web_presences")
      },
      source: sql`
        FROM mirror_item i
        JOIN market m ON m.account_id = i.account_id AND m.handle = i.content ->> 'handle'
        WHERE ${ofKind(merged, "market")}`
    }),
    sql`
      DELETE FROM market_catalog c
      WHERE c.account_id = ${merged.accountId} AND c.store_id = ${merged.storeId}
        AND NOT EXISTS (
          SELECT FROM market m
          CROSS JOIN LATERAL (
            SELECT FROM mirror_item i
            WHERE ${ofKind(merged, "market")} AND i.name = m.handle COLLATE "C"
              AND i.content -> 'catalogs' @> jsonb_build_array(jsonb_build_object('id', c.id))
            OFFSET 0
          ) i
          WHERE m.account_id = ${merged.accountId} AND m.id = c.market_id OFFSET 0
        )
      RETURNING c.id ${planned}`,
    mergeSet({
      table: "market_catalog",
      keys: { account_id: "i.account_id", store_id: sql`${merged.storeId}::uuid`, market_id: "m.id", id: "c.id" },
      values: { title: "c.title", status: "c.status", currency: "c.currency", price_adjustment: "c.price_adjustment" },
      source: sql`
        FROM mirror_item i
        JOIN market m ON m.account_id = i.account_id AND m.handle = i.content ->> 'handle'
        CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'catalogs') AS c (
          id text, title text, status text, currency text, price_adjustment jsonb
        )
        WHERE ${ofKind(merged, "market")}`
    })
  ]

/** The same for metafield definitions. */
export const makeMetafieldDefinitionWrites =
  (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) =>
  (merged: MergedImport) => [
    sql`
      INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key)
      SELECT i.account_id, i.id, i.content ->> 'owner_type', i.content ->> 'namespace', i.content ->> 'key'
      FROM mirror_item i
      WHERE ${ofKind(merged, "metafield_definition")}
      ON CONFLICT (account_id, owner_type, namespace, key) DO NOTHING
      RETURNING id`,
    sql`
      DELETE FROM metafield_definition_store o
      USING metafield_definition d
      WHERE o.account_id = ${merged.accountId} AND o.store_id = ${merged.storeId}
        AND d.account_id = o.account_id AND d.id = o.definition_id
        AND NOT EXISTS (
          SELECT FROM mirror_item i
          WHERE ${ofKind(merged, "metafield_definition")}
            AND i.name = (d.owner_type || ' ' || d.namespace || ' ' || d.key) COLLATE "C" OFFSET 0
        )
      RETURNING o.definition_id ${planned}`,
    mergeSet({
      table: "metafield_definition_store",
      keys: { account_id: "i.account_id", store_id: sql`${merged.storeId}::uuid`, definition_id: "d.id" },
      values: {
        ...textsOf("platform_id", "name", "description", "type"),
        ...jsonOf("validations"),
        metafields_count: "(i.content ->> 'metafields_count')::bigint"
      },
      source: sql`
        FROM mirror_item i
        JOIN metafield_definition d
          ON d.account_id = i.account_id AND d.owner_type = i.content ->> 'owner_type'
         AND d.namespace = i.content ->> 'namespace' AND d.key = i.content ->> 'key'
        WHERE ${ofKind(merged, "metafield_definition")}`
    })
  ]

/** The same for metaobject definitions. */
export const makeMetaobjectDefinitionWrites =
  (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) =>
  (merged: MergedImport) => [
    sql`
      INSERT INTO metaobject_definition (account_id, id, type)
      SELECT i.account_id, i.id, i.content ->> 'type'
      FROM mirror_item i
      WHERE ${ofKind(merged, "metaobject_definition")}
      ON CONFLICT (account_id, type) DO NOTHING
      RETURNING id`,
    sql`
      DELETE FROM metaobject_definition_store o
      USING metaobject_definition d
      WHERE o.account_id = ${merged.accountId} AND o.store_id = ${merged.storeId}
        AND d.account_id = o.account_id AND d.id = o.definition_id
        AND NOT EXISTS (
          SELECT FROM mirror_item i
          WHERE ${ofKind(merged, "metaobject_definition")} AND i.name = d.type COLLATE "C" OFFSET 0
        )
      RETURNING o.definition_id ${planned}`,
    mergeSet({
      table: "metaobject_definition_store",
      keys: { account_id: "i.account_id", store_id: sql`${merged.storeId}::uuid`, definition_id: "d.id" },
      values: {
        ...textsOf("platform_id", "name", "description", "display_name_key"),
        ...jsonOf("fields"),
        entries_count: "(i.content ->> 'entries_count')::bigint",
        translatable: "(i.content ->> 'translatable')::boolean"
      },
      source: sql`
        FROM mirror_item i
        JOIN metaobject_definition d ON d.account_id = i.account_id AND d.type = i.content ->> 'type'
        WHERE ${ofKind(merged, "metaobject_definition")}`
    })
  ]
