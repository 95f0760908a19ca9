import type { SqlClient } from "@effect/sql/SqlClient"
import { Array as Arr, Chunk, type Context, Effect, Option, Order, Schema, Stream, Struct } from "effect"
import { findAll, findOne } from "../../database/Rows.ts"
import type { EntityId } from "../../model/Ids.ts"
import { PlatformRecord } from "../PlatformRecord.ts"
import { type DemoEffect, type DemoRecord, type SameKeys, sameKeysOf } from "./DemoRecords.ts"
import type { DemoShop } from "./DemoShop.ts"
import type { DemoShops } from "./DemoShops.ts"

const pageSize = 500

/** The position of a record in the order in which a pull returns records. */
const Place = Schema.Struct({
  rank: Schema.Int,
  owner: Schema.String,
  depth: Schema.Int,
  place: Schema.Int,
  platformId: Schema.String
})
const Row = Schema.Struct({ ...PlatformRecord.fields, ...Place.fields })
const SameRow = Schema.Struct({
  platformId: Schema.String,
  name: Schema.String,
  key: Schema.Literal("handle", "SKU")
})
const first: typeof Place.Type = { rank: -1, owner: "", depth: 0, place: 0, platformId: "" }

/** Reads the records of a shop. */
export const makeDemoRecordReads = (
  sql: SqlClient
): Pick<Context.Tag.Service<DemoShops>, "find" | "records" | "same"> => {
  // The media of a variant are its picture.
  const relations = sql.literal(`
    CASE WHEN kind = 'variant' THEN '{}' ELSE media END AS media, members,
    CASE WHEN kind = 'variant' THEN media[1] END AS picture`)

  const page = findAll(Row)(
    (shop: DemoShop, after: typeof Place.Type) => sql`
      SELECT * FROM (
        SELECT kind, platform_id AS "platformId", entity_id AS "entityId", parent_id AS "parentId",
               attributes, ${relations},
               CASE kind WHEN 'media' THEN 0 WHEN 'collection' THEN 2 ELSE 1 END AS rank,
               coalesce(parent_id, platform_id) COLLATE "C" AS owner,
               (kind = 'variant')::int AS depth,
               coalesce(position, 2147483647) AS place
        FROM demo_shop_record
        WHERE account_id = ${shop.accountId} AND store_id = ${shop.storeId}
      ) AS record
      WHERE (rank, owner, depth, place, "platformId" COLLATE "C")
        > (${after.rank}::int, ${after.owner}::text, ${after.depth}::int, ${after.place}::int, ${after.platformId}::text)
      ORDER BY rank, owner, depth, place, "platformId" COLLATE "C"
      LIMIT ${pageSize}`
  )

  const find = findOne(PlatformRecord)(
    ({ accountId, storeId }: DemoShop, entityId: EntityId) => sql`
      SELECT kind, platform_id AS "platformId", entity_id AS "entityId", parent_id AS "parentId", attributes, ${relations}
      FROM demo_shop_record
      WHERE account_id = ${accountId} AND store_id = ${storeId} AND entity_id = ${entityId}
      ORDER BY platform_id COLLATE "C" LIMIT 1`
  )

  const same = findAll(SameRow)(
    ({ accountId, storeId }: DemoShop, entityId: EntityId, { handle, kind, parentId, skus }: SameKeys) => sql`
      SELECT DISTINCT ON (r.platform_id COLLATE "C") r.platform_id AS "platformId", same.key,
             coalesce(r.attributes #>> '{title,value}', r.platform_id) AS name
      FROM (
        SELECT h.platform_id, 'handle' AS key FROM demo_shop_record h
        WHERE h.account_id = ${accountId} AND h.store_id = ${storeId} AND h.entity_id IS NULL AND ${handle} <> ''
          AND h.attributes #>> '{handle,value}' = ${handle}
        UNION ALL
        SELECT CASE ${kind}::text WHEN 'product' THEN v.parent_id ELSE v.platform_id END, 'SKU' FROM demo_shop_record v
        WHERE v.account_id = ${accountId} AND v.store_id = ${storeId} AND v.entity_id IS NULL AND v.kind = 'variant'
          AND v.attributes #>> '{sku,value}' = ANY(${skus}::text[]) AND coalesce(v.parent_id = ${parentId}::text, true)
      ) same
      JOIN demo_shop_record r
        ON r.account_id = ${accountId} AND r.store_id = ${storeId} AND r.platform_id = same.platform_id
      WHERE r.kind = ${kind} AND r.entity_id IS NULL AND NOT EXISTS (
        SELECT FROM demo_shop_record e
        WHERE e.account_id = ${accountId} AND e.store_id = ${storeId} AND e.entity_id = ${entityId}
      )
      ORDER BY r.platform_id COLLATE "C", same.key COLLATE "C" DESC`
  )

  return {
    same: (shop, publication) => {
      const keys = sameKeysOf(publication)
      return keys === null ? Effect.succeed([]) : same(shop, publication.entityId, keys)
    },
    records: (shop) =>
      Stream.paginateChunkEffect(first, (after) =>
        Effect.map(page(shop, after), (rows) => [
          Chunk.unsafeFromArray(rows.map(Struct.omit("rank", "owner", "depth", "place"))),
          rows.length < pageSize ? Option.none() : Arr.last(rows)
        ])
      ),
    find
  }
}

/** Writes records of a shop. The picture of a variant is stored as its media: `{NULL}` if it is not given. */
export const makeDemoRecordWrites = (sql: SqlClient) => {
  const rowsOf = (records: ReadonlyArray<DemoRecord>) =>
    // Sorted by id, so that concurrent publications to one shop lock rows in the same order and cannot deadlock.
    JSON.stringify(
      Arr.sort(
        records,
        Order.mapInput(Order.string, ({ platformId }: DemoRecord) => platformId)
      ).map(({ picture, ...record }) =>
        record.kind === "variant" ? { ...record, media: picture === null ? [] : [picture] } : record
      )
    )

  const recordset = (records: ReadonlyArray<DemoRecord>) => sql`
    jsonb_to_recordset(${rowsOf(records)}::jsonb) AS given (
      kind text, "platformId" text, "entityId" uuid, "parentId" text, position integer, attributes jsonb,
      media text[], members text[]
    )`

  const insert = ({ accountId, storeId }: DemoShop, records: ReadonlyArray<DemoRecord>) => sql`
    INSERT INTO demo_shop_record
      (account_id, store_id, platform_id, kind, entity_id, parent_id, position, attributes, media, members)
    SELECT own.account_id, ${storeId}::uuid, "platformId", kind, "entityId", "parentId", position, attributes,
           media, members
    FROM account_state own CROSS JOIN ${recordset(records)}
    WHERE own.account_id = ${accountId}`

  return {
    /** Inserts records, or overwrites them. A record without a position, or a variant without a picture, keeps its old one. */
    write: (shop: DemoShop, records: ReadonlyArray<DemoRecord>) => sql`
      ${insert(shop, records)}
      ON CONFLICT (account_id, store_id, platform_id) DO UPDATE
      SET entity_id = EXCLUDED.entity_id, parent_id = EXCLUDED.parent_id, attributes = EXCLUDED.attributes,
          position = coalesce(EXCLUDED.position, demo_shop_record.position),
          media = coalesce(nullif(EXCLUDED.media, '{NULL}'), demo_shop_record.media), members = EXCLUDED.members`,
    /** Takes pictures off variants. */
    takeOff: ({ accountId, storeId }: DemoShop, { media, variants }: NonNullable<DemoEffect["gallery"]>) => sql`
      UPDATE demo_shop_record r SET media = '{}'
      WHERE r.account_id = ${accountId} AND r.store_id = ${storeId} AND r.platform_id = ANY(${variants}::text[])
        AND r.kind = 'variant' AND NOT r.media <@ ${media}::text[]`,
    /** Inserts missing records. In existing records it writes only the position. */
    place: (shop: DemoShop, records: ReadonlyArray<DemoRecord>) => sql`
      ${insert(shop, records)}
      ON CONFLICT (account_id, store_id, platform_id) DO UPDATE
      SET position = coalesce(EXCLUDED.position, demo_shop_record.position)`
  }
}
