import type { SqlClient } from "@effect/sql/SqlClient"
import { jsonOf, type MergedImport, type MirrorItems, type MirrorKind, textsOf } from "./MirrorItems.sql.ts"

type MirrorValues = ReturnType<typeof textsOf>

/** Records that several stores share: a table of names, and a table with what each store has. */
interface SharedRecords {
  /** The kind of the staged items, and the name of the table. The other table is called `<kind>_store`. */
  readonly kind: Extract<MirrorKind, "market" | "metafield_definition" | "metaobject_definition">
  /** The column of `<kind>_store` that refers to a record. */
  readonly reference: string
  /** The columns that name a record. Joined by blanks they are the name of its staged item. */
  readonly names: readonly [string, ...ReadonlyArray<string>]
  readonly values: MirrorValues
}

/** The statements that merge a kind of records: new names, records that the store no longer has, values. */
const makeRecordWrites =
  (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) =>
  ({ kind, names, reference, values }: SharedRecords) => {
    const table = sql.literal(kind)
    const storeTable = `${kind}_store`
    const columns = sql.literal(names.join(", "))
    const itemName = sql.literal(`(${names.map((name) => `d.${name}`).join(" || ' ' || ")}) COLLATE "C"`)
    const isNamed = sql.literal(names.map((name) => `d.${name} = i.content ->> '${name}'`).join(" AND "))
    return (merged: MergedImport) => [
      sql`
        INSERT INTO ${table} (account_id, id, ${columns})
        SELECT i.account_id, i.id, ${sql.csv(Object.values(textsOf(...names)))}
        FROM mirror_item i
        WHERE ${ofKind(merged, kind)}
        ON CONFLICT (account_id, ${columns}) DO NOTHING
        RETURNING id`,
      sql`
        DELETE FROM ${sql.literal(storeTable)} o
        USING ${table} d
        WHERE o.account_id = ${merged.accountId} AND o.store_id = ${merged.storeId}
          AND d.account_id = ${merged.accountId} AND d.id = ${sql.literal(`o.${reference}`)}
          AND NOT EXISTS (SELECT FROM mirror_item i WHERE ${ofKind(merged, kind)} AND i.name = ${itemName} OFFSET 0)
        RETURNING ${sql.literal(`o.${reference}`)} ${planned}`,
      mergeSet({
        accountId: merged.accountId,
        table: storeTable,
        keys: { store_id: sql`${merged.storeId}::uuid`, [reference]: "d.id" },
        values,
        source: sql`
          FROM mirror_item i
          JOIN ${table} d ON d.account_id = ${merged.accountId} AND ${isNamed}
          WHERE ${ofKind(merged, kind)}`
      })
    ]
  }

/** The statements that merge the catalogs of a store's markets. The catalogs of a deleted market are deleted with it. */
const makeMarketCatalogWrites =
  (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) =>
  (merged: MergedImport) => [
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
      accountId: merged.accountId,
      table: "market_catalog",
      keys: { store_id: sql`${merged.storeId}::uuid`, market_id: "m.id", id: "c.id" },
      values: { title: "c.title", status: "c.status", currency: "c.currency", price_adjustment: "c.price_adjustment" },
      source: sql`
        FROM mirror_item i
        JOIN market m ON m.account_id = ${merged.accountId} AND m.handle = i.content ->> 'handle'
        CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'catalogs') AS c (
          id text, title text, status text, currency text, price_adjustment jsonb
        )
        WHERE ${ofKind(merged, "market")}`
    })
  ]

/** The statements that merge a store's markets, their catalogs and its definitions. Each returns the rows that it wrote. */
export const makeDefinitionWrites = (sql: SqlClient, items: MirrorItems) => {
  const recordWrites = makeRecordWrites(sql, items)
  const writes = [
    recordWrites({
      kind: "market",
      reference: "market_id",
      names: ["handle"],
      values: {
        ...textsOf("platform_id", "name", "status", "type", "currency"),
        ...jsonOf("regions", "web_presences")
      }
    }),
    makeMarketCatalogWrites(sql, items),
    recordWrites({
      kind: "metafield_definition",
      reference: "definition_id",
      names: ["owner_type", "namespace", "key"],
      values: {
        ...textsOf("platform_id", "name", "description", "type"),
        ...jsonOf("validations"),
        metafields_count: "(i.content ->> 'metafields_count')::bigint"
      }
    }),
    recordWrites({
      kind: "metaobject_definition",
      reference: "definition_id",
      names: ["type"],
      values: {
        ...textsOf("platform_id", "name", "description", "display_name_key"),
        ...jsonOf("fields"),
        entries_count: "(i.content ->> 'entries_count')::bigint",
        translatable: "(i.content ->> 'translatable')::boolean"
      }
    })
  ]
  return (merged: MergedImport) => writes.flatMap((write) => write(merged))
}
