import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { fieldsComparedBy, metafieldTypesComparedBy } from "../../drafts/Divergence.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { maxShownCharacters } from "../Health.ts"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/**
 * Fields with different values on the stores of a group (drafts/Divergence.ts). A store without an override has the
 * canonical value. The values therefore differ when two overrides differ, or when only some stores of the group that
 * have the entity have an override. So it is enough to read the overrides.
 */
export const makeDivergenceScan =
  (sql: SqlClient, { definitions, overridden }: ScanParts): Scan =>
  ({ accountId, rules }) => {
    const fields = sql.csv(
      EntityKind.literals.map((kind) => {
        const texts = fieldsComparedBy("language", kind, rules.divergence)
        const prices = fieldsComparedBy("currency", kind, rules.divergence)
        return sql`(${kind}, ${texts}::text[], ${prices}::text[])`
      })
    )
    const textTypes = metafieldTypesComparedBy("language", rules.divergence)
    const priceTypes = metafieldTypesComparedBy("currency", rules.divergence)
    const type = sql`coalesce(e.attributes -> a.key, a.value) ->> 'type'`
    const groupOf = (by: Fragment) =>
      sql`CASE ${by} WHEN 'language' THEN l.language WHEN 'currency' THEN l.currency ELSE '' END`
    return sql`
    SELECT 'divergence' AS section, own.id AS entity_id, own.kind AS entity_type, own.title, own.store_id,
           NULL::text AS locale, array_agg(own.key ORDER BY own.place, own.key COLLATE "C") AS fields,
           jsonb_agg(
             jsonb_build_object('field', own.key, 'value', left(own.value, ${sql.literal(String(maxShownCharacters))}))
             ORDER BY own.place, own.key COLLATE "C"
           ) AS shown
    FROM (
      SELECT e.id, e.kind, e.title, e.store_ids, v.store_id, a.key, a.value ->> 'value' AS value,
             coalesce(e.attributes -> a.key ->> 'value', '') AS canonical,
             coalesce(array_position(definition.keys, a.key), 1000) AS place,
             compared.by, ${groupOf(sql`compared.by`)} AS store_group,
             count(*) OVER w AS own_values,
             min(a.value ->> 'value' COLLATE "C") OVER w <> max(a.value ->> 'value' COLLATE "C") OVER w AS differ
      FROM ${overridden(accountId, sql`AND cardinality(e.store_ids) > 1`)}
      JOIN ${definitions} ON definition.kind = e.kind
      JOIN (VALUES ${fields}) AS field (kind, texts, prices) ON field.kind = e.kind
      CROSS JOIN LATERAL jsonb_each(v.overrides) AS a (key, value)
      CROSS JOIN LATERAL (
        SELECT CASE
          WHEN a.key = ANY(field.texts) THEN 'language'
          WHEN a.key = ANY(field.prices) THEN 'currency'
          WHEN a.key = ANY(definition.keys) THEN NULL
          WHEN ${type} = ANY(${textTypes}::text[]) THEN 'language'
          WHEN ${type} = ANY(${priceTypes}::text[]) THEN 'currency'
        END
      ) AS compared (by)
      WHERE NOT a.key = ANY(definition.read_only)
      WINDOW w AS (PARTITION BY e.id, a.key, ${groupOf(sql`compared.by`)})
    ) own
    WHERE own.value <> own.canonical
      AND (
        own.differ OR own.own_values < (
          SELECT count(*) FROM linked l
          WHERE l.id = ANY(own.store_ids) AND ${groupOf(sql`own.by`)} = own.store_group
        )
      )
    GROUP BY own.id, own.kind, own.title, own.store_id`
  }
