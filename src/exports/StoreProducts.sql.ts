import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { findAll, findSingle } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { builtInFields } from "../model/Attribute.ts"
import { type AccountId, EntityId, type StoreId } from "../model/Ids.ts"
import { inPart, jsonList, jsonObject, type Part } from "./CatalogLines.sql.ts"
import { csvKeys, type ExportedProduct, type MetafieldColumn } from "./ShopifyCsvWriter.ts"

const MetafieldKey = Schema.Struct({ owner: Schema.Literal("product", "variant"), key: Schema.String })
export type MetafieldKey = typeof MetafieldKey.Type
const MetafieldName = Schema.Struct({ ...MetafieldKey.fields, name: Schema.String })

/** Keys that are no metafields. Leaving them out first is faster than listing the keys of each entity. */
const builtInKeys = Object.keys({ ...builtInFields.product, ...builtInFields.variant })

/** Revisions of a product's entities when they were read. */
const Revision = Schema.Struct({ id: EntityId, revision: Schema.Number })

/** A product on the store. `images`: the files of its gallery; a file with `revision` null is not on the store itself. */
export interface StoreProductRow extends ExportedProduct {
  readonly revision: number
  readonly id: EntityId
  readonly variants: ReadonlyArray<ExportedProduct["variants"][number] & typeof Revision.Type>
  readonly images: ReadonlyArray<
    ExportedProduct["images"][number] & { readonly id: EntityId; readonly revision: number | null }
  >
}

export interface StoreProducts {
  /** The number of the products of a part that are on the store. */
  readonly countProducts: (accountId: AccountId, storeId: StoreId, part: Part) => Effect.Effect<number>
  /** The metafields with a value on those entities of a part that are on the store. */
  readonly metafieldKeys: (
    accountId: AccountId,
    storeId: StoreId,
    owner: MetafieldKey["owner"],
    part: Part
  ) => Effect.Effect<ReadonlyArray<MetafieldKey>>
  /** The names that the store has for its metafields, by their definitions. */
  readonly metafieldNames: (
    accountId: AccountId,
    storeId: StoreId
  ) => Effect.Effect<ReadonlyArray<typeof MetafieldName.Type>>
  /** The products of a part that are on the store, in the order of their last change. */
  readonly products: (
    accountId: AccountId,
    storeId: StoreId,
    part: Part,
    metafields: ReadonlyArray<MetafieldColumn>
  ) => Effect.Effect<ReadonlyArray<StoreProductRow>>
}

/**
 * What the store has of an entity. OFFSET 0: it is looked up by its key. While the tables have no statistics, after a first import or on
 * the embedded engine, PostgreSQL would compare each entity with all entities of the store.
 */
const makeVersionOf =
  (sql: SqlClient) =>
  (accountId: AccountId, storeId: StoreId, id: Fragment, condition = sql`true`) =>
    sql`(
      SELECT o.entity_id, o.overrides FROM store_version o
      WHERE o.account_id = ${accountId} AND o.entity_id = ${id} AND o.store_id = ${storeId} AND ${condition} OFFSET 0
    )`

/** The list `Valued.values` of an entity with these values (jsonb). OFFSET 0: they are merged once, not once for each key. */
const makeValued =
  (sql: SqlClient) => (values: Fragment, owner: keyof typeof csvKeys, metafields: ReadonlyArray<MetafieldColumn>) => {
    const texts = [
      ...csvKeys[owner].map((key) => sql.literal(`o.merged -> '${key}' ->> 'value'`)),
      ...metafields
        .filter((column) => column.owner === owner)
        .flatMap(({ key }) => [sql`o.merged -> ${key}::text ->> 'value'`, sql`o.merged -> ${key}::text ->> 'type'`])
    ]
    return sql`(SELECT to_json(ARRAY[${sql.csv(texts)}]) FROM (SELECT ${values} AS merged OFFSET 0) o)`
  }

/**
 * Makes the statement that reads the products of a part. The rows are not decoded by a schema, because only this statement makes them,
 * and decoding took a third of an export's time.
 */
const makeReadProducts = (sql: SqlClient): StoreProducts["products"] => {
  const valued = makeValued(sql)
  const versionOf = makeVersionOf(sql)
  return (accountId, storeId, part, metafields) => {
    const fileVersion = versionOf(accountId, storeId, sql`m.id`)
    const imageUrl = sql`
      SELECT coalesce(mv.overrides #>> '{url,value}', m.attributes #>> '{url,value}')
      FROM entity_media g
      JOIN entity m ON m.account_id = ${accountId} AND m.id = g.media_id
      LEFT JOIN LATERAL ${fileVersion} mv ON true
      WHERE g.account_id = ${accountId} AND g.entity_id = c.id AND ${storeId}::uuid = ANY(g.store_ids)
      ORDER BY g.position, g.media_id
      LIMIT 1`
    const variant = {
      id: sql`'"' || c.id || '"'`,
      revision: sql`c.draft_revision`,
      values: valued(sql`c.attributes || cv.overrides`, "variant", metafields),
      imageUrl: sql`to_json((${imageUrl}))`
    }
    const image = {
      id: sql`'"' || m.id || '"'`,
      revision: sql`CASE WHEN mv.entity_id IS NOT NULL THEN m.draft_revision END`,
      values: valued(sql`m.attributes || coalesce(mv.overrides, '{}')`, "image", [])
    }
    const product = jsonObject(sql, {
      id: sql`'"' || e.id || '"'`,
      revision: sql`e.draft_revision`,
      values: valued(sql`e.attributes || v.overrides`, "product", metafields),
      variants: sql`
        SELECT ${jsonList(sql, variant, sql`c.position, c.id`)}
        FROM entity c
        CROSS JOIN LATERAL ${versionOf(accountId, storeId, sql`c.id`)} cv
        WHERE c.account_id = ${accountId} AND c.parent_id = e.id`,
      images: sql`
        SELECT ${jsonList(sql, image, sql`g.position, g.media_id`)}
        FROM entity_media g
        JOIN entity m ON m.account_id = ${accountId} AND m.id = g.media_id
        LEFT JOIN LATERAL ${fileVersion} mv ON true
        WHERE g.account_id = ${accountId} AND g.entity_id = e.id AND ${storeId}::uuid = ANY(g.store_ids)`
    })
    return Effect.map(
      orDie(sql<{ readonly product: string }>`
        SELECT ${product} AS product
        FROM entity e
        CROSS JOIN LATERAL ${versionOf(accountId, storeId, sql`e.id`)} v
        WHERE e.account_id = ${accountId} AND e.kind = 'product' AND ${inPart(sql, part)}`),
      (rows) => rows.map(({ product }): StoreProductRow => JSON.parse(product))
    )
  }
}

export const makeStoreProducts = (sql: SqlClient): StoreProducts => {
  const versionOf = makeVersionOf(sql)

  const readCount = findSingle(Schema.Struct({ count: Schema.Int }))(
    (accountId: AccountId, storeId: StoreId, part: Part) => sql`
      SELECT count(*)::integer AS count
      FROM (SELECT e.id FROM entity e WHERE e.account_id = ${accountId} AND e.kind = 'product' AND ${inPart(sql, part)}) e
      CROSS JOIN LATERAL ${versionOf(accountId, storeId, sql`e.id`)} v`
  )

  // Most entities have no metafields. Only for those that have some, the statement looks whether they are on the store; the versions with
  // overrides have an index of their own.
  const readKeys = findAll(MetafieldKey)(
    (accountId: AccountId, storeId: StoreId, owner: MetafieldKey["owner"], part: Part) => sql`
      SELECT DISTINCT e.kind AS owner, k.key
      FROM (
        SELECT e.id, e.kind, e.attributes - ${builtInKeys}::text[] AS more
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = ${owner} AND ${inPart(sql, part)}
      ) e
      LEFT JOIN LATERAL ${versionOf(accountId, storeId, sql`e.id`, sql`o.overrides <> '{}'`)} v ON true
      CROSS JOIN LATERAL jsonb_object_keys(e.more || coalesce(v.overrides, '{}')) AS k (key)
      WHERE strpos(k.key, '.') > 0
      AND EXISTS (SELECT FROM ${versionOf(accountId, storeId, sql`e.id`)} o)`
  )

  const readNames = findAll(MetafieldName)(
    (accountId: AccountId, storeId: StoreId) => sql`
      SELECT d.owner_type AS owner, d.namespace || '.' || d.key AS key, coalesce(h.name, d.own ->> 'name', '') AS name
      FROM metafield_definition d
      LEFT JOIN metafield_definition_store h
        ON h.account_id = ${accountId} AND h.store_id = ${storeId} AND h.definition_id = d.id
      WHERE d.account_id = ${accountId} AND d.owner_type IN ('product', 'variant')`
  )

  return {
    countProducts: (accountId, storeId, part) => Effect.map(readCount(accountId, storeId, part), ({ count }) => count),
    metafieldKeys: readKeys,
    metafieldNames: readNames,
    products: makeReadProducts(sql)
  }
}
