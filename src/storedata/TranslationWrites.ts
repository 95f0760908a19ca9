import type { SqlClient } from "@effect/sql/SqlClient"
import type { MirrorItems, Span } from "./MirrorItems.sql.ts"

/**
 * The entities of a span. Each is looked up among the staged items, not the other way round: by platform id the planner may
 * choose another index of a table that was just filled, and read all of the store for each item.
 */
const makeEntitiesIn =
  (sql: SqlClient) =>
  ({ accountId, after, last, storeId }: Span) =>
    sql`
    SELECT w.entity_id, w.platform_id FROM store_version w
    WHERE w.account_id = ${accountId} AND w.store_id = ${storeId} AND w.entity_id > ${after} AND w.entity_id <= ${last}`

/** The statements that merge the translatable fields of a store. Each returns the rows that it wrote. */
export const makeFieldWrites = (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) => {
  const entitiesIn = makeEntitiesIn(sql)

  /** The staged fields of an entity. */
  const stagedFields = (span: Span) => sql`
    SELECT i.account_id, i.content FROM mirror_item i
    WHERE ${ofKind(span, "translatable_fields")} AND i.name = v.platform_id COLLATE "C"
    OFFSET 0`

  const deleteFieldsOfOthers = (span: Span) => sql`
    DELETE FROM translatable_field f
    WHERE f.account_id = ${span.accountId} AND f.store_id = ${span.storeId}
      AND f.entity_id > ${span.after} AND f.entity_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM store_version v
        CROSS JOIN LATERAL (
          SELECT FROM mirror_item i
          WHERE ${ofKind(span, "translatable_fields")} AND i.name = v.platform_id COLLATE "C" OFFSET 0
        ) i
        WHERE v.account_id = ${span.accountId} AND v.entity_id = f.entity_id AND v.store_id = ${span.storeId} OFFSET 0
      )
    RETURNING f.entity_id ${planned}`

  const mergeFields = (span: Span) => [
    // By ctid: the planner may turn a join into a scan.
    sql`
      DELETE FROM translatable_field f
      WHERE f.account_id = ${span.accountId} AND f.ctid = ANY(ARRAY(
        SELECT o.ctid
        FROM (${entitiesIn(span)}) v
        CROSS JOIN LATERAL (${stagedFields(span)}) i
        CROSS JOIN LATERAL (
          SELECT t.ctid, t.key FROM translatable_field t
          WHERE t.account_id = ${span.accountId} AND t.store_id = ${span.storeId} AND t.entity_id = v.entity_id OFFSET 0
        ) o
        WHERE NOT (i.content -> 'fields' @> jsonb_build_array(jsonb_build_object('key', o.key)))
      ))
      RETURNING f.entity_id ${planned}`,
    mergeSet({
      accountId: span.accountId,
      table: "translatable_field",
      keys: {
        store_id: sql`${span.storeId}::uuid`,
        entity_id: "v.entity_id",
        key: "f.key"
      },
      values: {
        type: "f.type",
        source_locale: "f.source_locale",
        source_value: "f.source_value",
        digest: "f.digest"
      },
      source: sql`
        FROM (${entitiesIn(span)}) v
        CROSS JOIN LATERAL (${stagedFields(span)}) i
        CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'fields') AS f (
          key text, type text, source_locale text, source_value text, digest text
        )
        WHERE true`
    })
  ]

  return { deleteFieldsOfOthers, mergeFields }
}

/** The same for translations. */
export const makeTranslationWrites = (sql: SqlClient, { mergeSet, ofKind, planned }: MirrorItems) => {
  const entitiesIn = makeEntitiesIn(sql)

  /** The staged translations of an entity: item names begin with its platform id and a blank. */
  const stagedLanguages = (span: Span) => sql`
    SELECT i.account_id, i.content FROM mirror_item i
    WHERE ${ofKind(span, "translations")}
      AND i.name > (v.platform_id || ' ') COLLATE "C" AND i.name < (v.platform_id || '!') COLLATE "C"
      AND i.content ->> 'platform_id' = v.platform_id
    OFFSET 0`

  const deleteTranslationsOfOthers = (span: Span) => sql`
    DELETE FROM translation t
    WHERE t.account_id = ${span.accountId} AND t.store_id = ${span.storeId}
      AND t.entity_id > ${span.after} AND t.entity_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM store_version v
        CROSS JOIN LATERAL (
          SELECT FROM mirror_item i
          WHERE ${ofKind(span, "translations")} AND i.name = (v.platform_id || ' ' || t.locale) COLLATE "C" OFFSET 0
        ) i
        WHERE v.account_id = ${span.accountId} AND v.entity_id = t.entity_id AND v.store_id = ${span.storeId} OFFSET 0
      )
    RETURNING t.entity_id ${planned}`

  const mergeTranslations = (span: Span) => [
    sql`
      DELETE FROM translation t
      WHERE t.account_id = ${span.accountId} AND t.ctid = ANY(ARRAY(
        SELECT o.ctid
        FROM (${entitiesIn(span)}) v
        CROSS JOIN LATERAL (${stagedLanguages(span)}) i
        CROSS JOIN LATERAL (
          SELECT h.ctid, h.key FROM translation h
          WHERE h.account_id = ${span.accountId} AND h.store_id = ${span.storeId} AND h.entity_id = v.entity_id
            AND h.locale = i.content ->> 'locale' OFFSET 0
        ) o
        WHERE NOT (i.content -> 'translations' @> jsonb_build_array(jsonb_build_object('key', o.key)))
      ))
      RETURNING t.entity_id ${planned}`,
    mergeSet({
      accountId: span.accountId,
      table: "translation",
      keys: {
        store_id: sql`${span.storeId}::uuid`,
        entity_id: "v.entity_id",
        locale: "i.content ->> 'locale'",
        key: "t.key"
      },
      values: {
        value: "t.value",
        source_digest: "t.source_digest",
        digest: "t.digest",
        said_outdated: "t.outdated",
        updated_at: "t.updated_at"
      },
      source: sql`
        FROM (${entitiesIn(span)}) v
        CROSS JOIN LATERAL (${stagedLanguages(span)}) i
        CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'translations') AS t (
          key text, value text, outdated boolean, source_digest text, digest text, updated_at timestamptz
        )
        WHERE true`
    })
  ]

  return { deleteTranslationsOfOthers, mergeTranslations }
}
