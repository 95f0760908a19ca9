import { SqlClient } from "@effect/sql"
import { Effect, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { type AccountId, EntityId } from "../model/Ids.ts"

/** A file and a product that shows it. */
interface ShownFile {
  readonly mediaId: EntityId
  readonly productId: EntityId
}

/** The keys of a batch of an export by which products and files are matched. */
interface ExportedKeys {
  readonly skus: ReadonlyArray<string>
  readonly handles: ReadonlyArray<string>
  /** Addresses of images, without their query. */
  readonly addresses: ReadonlyArray<string>
}

/** Finds the products and files that the lines of an export match. */
export const makeProductMatchStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // One index lookup per key. For a list of keys, the planner would scan the table: it has no statistics for an expression
  // in a partial index, and so expects too many rows.
  const findProducts = (idColumn: string, condition: string) => {
    const find = findAll(Schema.Struct({ key: Schema.String, productId: EntityId }))(
      (accountId: AccountId, keys: ReadonlyArray<string>) => sql`
        SELECT k.key, min(f.id::text) AS "productId"
        FROM (SELECT DISTINCT unnest(${keys}::text[]) AS key) k
        CROSS JOIN LATERAL (
          SELECT ${sql.literal(idColumn)} AS id FROM entity e
          WHERE e.account_id = ${accountId} AND ${sql.literal(condition)}
          LIMIT 2
        ) f
        GROUP BY k.key
        HAVING count(*) = 1`
    )
    return (accountId: AccountId, keys: ReadonlyArray<string>) =>
      Effect.map(find(accountId, keys), (rows) => new Map(rows.map(({ key, productId }) => [key, productId])))
  }
  const findBySku = findProducts("e.parent_id", "e.kind = 'variant' AND e.attributes #>> '{sku,value}' = k.key")
  const findByHandle = findProducts("e.id", "e.kind = 'product' AND e.attributes #>> '{handle,value}' = k.key")

  const FileAtAddress = Schema.Struct({ key: Schema.String, mediaId: EntityId, isShown: Schema.Boolean })
  const findFiles = findAll(FileAtAddress)(
    (accountId: AccountId, addresses: ReadonlyArray<string>) => sql`
      SELECT k.key, f.id AS "mediaId",
             EXISTS (
               SELECT FROM entity_media g WHERE g.account_id = ${accountId} AND g.media_id = f.id
             ) AS "isShown"
      FROM (SELECT DISTINCT unnest(${addresses}::text[]) AS key) k
      CROSS JOIN LATERAL (
        SELECT e.id FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = 'media'
          AND md5(split_part(e.attributes #>> '{url,value}', '?', 1)) = md5(k.key)
        LIMIT 1
      ) f`
  )
  const findByAddress = (accountId: AccountId, addresses: ReadonlyArray<string>) =>
    addresses.length === 0
      ? Effect.succeed(new Map<string, typeof FileAtAddress.Type>())
      : Effect.map(findFiles(accountId, addresses), (rows) => new Map(rows.map((row) => [row.key, row])))

  const findShownElsewhere = findAll(Schema.Struct({ mediaId: EntityId }))(
    (accountId: AccountId, shown: ReadonlyArray<ShownFile>) => sql`
      SELECT DISTINCT k.media_id AS "mediaId"
      FROM unnest(
        ${shown.map(({ mediaId }) => mediaId)}::uuid[], ${shown.map(({ productId }) => productId)}::uuid[]
      ) AS k (media_id, product_id)
      CROSS JOIN LATERAL (
        SELECT g.media_id FROM entity_media g
        CROSS JOIN LATERAL (
          SELECT coalesce(e.parent_id, e.id) AS id FROM entity e
          WHERE e.account_id = ${accountId} AND e.id = g.entity_id OFFSET 0
        ) o
        WHERE g.account_id = ${accountId} AND g.media_id = k.media_id AND o.id <> k.product_id
        LIMIT 1
      ) f ${sql.literal(planCustom)}`
  )

  return {
    /** The files of these that are also in the gallery of another product or of its variants. */
    shownElsewhere: (accountId: AccountId, shown: ReadonlyArray<ShownFile>) =>
      shown.length === 0
        ? Effect.succeed(new Set<EntityId>())
        : Effect.map(findShownElsewhere(accountId, shown), (rows) => new Set(rows.map(({ mediaId }) => mediaId))),
    /**
     * Finds products by the SKUs of their variants and by handle; a key that two entities share matches nothing. Finds files by address,
     * one for each, and tells whether any product or variant shows the file.
     */
    match: (accountId: AccountId, { addresses, handles, skus }: ExportedKeys) =>
      orDie(
        Effect.all({
          bySku: findBySku(accountId, skus),
          byHandle: findByHandle(accountId, handles),
          byAddress: findByAddress(accountId, addresses)
        })
      )
  }
})
