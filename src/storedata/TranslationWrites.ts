import type { SqlClient } from "@effect/sql/SqlClient"
import type { MirrorItems, Span } from "./MirrorItems.sql.ts"

/** A table whose rows come from staged items. Each item lists rows of one entity. The values are SQL: `t` is a row, `i` an item, `v` an entity. */
interface EntityRows {
  readonly kind: "translatable_fields" | "translations"
  readonly table: "translatable_field" | "translation"
  /** The condition that an item belongs to an entity. */
  readonly isOfEntity: string
  /** The condition that an item `i` is the one that lists a row `t`, if the store still has that row. */
  readonly isOfRow: string
  /** The member of an item with the list of rows, and the columns of its entries, which the SQL names `n`. */
  readonly member: string
  readonly columns: string
  /** The columns of the table after `account_id`, `store_id` and `entity_id`. */
  readonly keys: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, string>>
}

export const fieldRows: EntityRows = {
  kind: "translatable_fields",
  table: "translatable_field",
  isOfEntity: `i.name = v.platform_id COLLATE "C"`,
  isOfRow: `i.name = v.platform_id COLLATE "C"`,
  member: "fields",
  columns: "key text, type text, source_locale text, source_value text, digest text",
  keys: { key: "n.key" },
  values: {
    type: "n.type",
    source_locale: "n.source_locale",
    source_value: "n.source_value",
    digest: "n.digest"
  }
}

/** The names of these items are the entity's platform id, a blank, and the locale. */
export const translationRows: EntityRows = {
  kind: "translations",
  table: "translation",
  isOfEntity: `i.name > (v.platform_id || ' ') COLLATE "C" AND i.name < (v.platform_id || '!') COLLATE "C"
      AND i.content ->> 'platform_id' = v.platform_id`,
  isOfRow: `i.name = (v.platform_id || ' ' || t.locale) COLLATE "C"`,
  member: "translations",
  columns: "key text, value text, outdated boolean, source_digest text, digest text, updated_at timestamptz",
  keys: { locale: "i.content ->> 'locale'", key: "n.key" },
  values: {
    value: "n.value",
    source_digest: "n.source_digest",
    digest: "n.digest",
    said_outdated: "n.outdated",
    updated_at: "n.updated_at"
  }
}

/** The statements that merge the rows of a store. Each returns the rows that it wrote. */
export const makeEntityRowWrites = (
  sql: SqlClient,
  { mergeSet, ofKind, planned }: MirrorItems,
  { columns, isOfEntity, isOfRow, keys, kind, member, table, values }: EntityRows
) => {
  const list = sql.literal(`i.content -> '${member}'`)

  /**
   * The entities of a range of rows with their staged items. The statements look up each entity's staged items, not the entity of each
   * item: for a lookup by platform id in a table that was just filled, the planner may choose another index and read the whole store
   * per item.
   */
  const itemsIn = (span: Span) => sql`
    FROM (
      SELECT w.entity_id, w.platform_id FROM store_version w
      WHERE w.account_id = ${span.accountId} AND w.store_id = ${span.storeId}
        AND w.entity_id > ${span.after} AND w.entity_id <= ${span.last}
    ) v
    CROSS JOIN LATERAL (
      SELECT i.account_id, i.content FROM mirror_item i
      WHERE ${ofKind(span, kind)} AND ${sql.literal(isOfEntity)}
      OFFSET 0
    ) i`

  /** Deletes the rows of entities without an item for them. */
  const deleteOfOthers = (span: Span) => sql`
    DELETE FROM ${sql(table)} t
    WHERE t.account_id = ${span.accountId} AND t.store_id = ${span.storeId}
      AND t.entity_id > ${span.after} AND t.entity_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM store_version v
        CROSS JOIN LATERAL (
          SELECT FROM mirror_item i
          WHERE ${ofKind(span, kind)} AND ${sql.literal(isOfRow)} OFFSET 0
        ) i
        WHERE v.account_id = ${span.accountId} AND v.entity_id = t.entity_id AND v.store_id = ${span.storeId} OFFSET 0
      )
    RETURNING t.entity_id ${planned}`

  const merge = (span: Span) => [
    // Deletes by ctid, because the planner may turn a join into a scan of the table.
    sql`
      DELETE FROM ${sql(table)} d
      WHERE d.account_id = ${span.accountId} AND d.ctid = ANY(ARRAY(
        SELECT o.ctid
        ${itemsIn(span)}
        CROSS JOIN LATERAL (
          SELECT t.ctid, t.key FROM ${sql(table)} t
          WHERE t.account_id = ${span.accountId} AND t.store_id = ${span.storeId} AND t.entity_id = v.entity_id
            ${sql.literal("locale" in keys ? `AND t.locale = ${keys.locale}` : "")} OFFSET 0
        ) o
        WHERE NOT (${list} @> jsonb_build_array(jsonb_build_object('key', o.key)))
      ))
      RETURNING d.entity_id ${planned}`,
    mergeSet({
      accountId: span.accountId,
      table,
      keys: { store_id: sql`${span.storeId}::uuid`, entity_id: "v.entity_id", ...keys },
      values,
      source: sql`
        ${itemsIn(span)}
        CROSS JOIN LATERAL jsonb_to_recordset(${list}) AS n (${sql.literal(columns)})
        WHERE true`
    })
  ]

  return { kind, deleteOfOthers, merge }
}
