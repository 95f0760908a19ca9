import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { EntityKind } from "../../model/Attribute.ts"
import { emptyList } from "../../model/Emptiness.ts"
import { compareFields } from "../../model/FieldOrder.ts"
import { type CompletenessLevel, type CompletenessRules, fieldType, kindsWith } from "../Health.ts"
import type { Scan, ScanParts } from "./ScanParts.sql.ts"

/** Store versions in which a required or recommended field is empty. */
export const makeCompletenessScan = (sql: SqlClient, { inherits, overridden }: ScanParts): Scan => {
  /** As `isEmptyValue`. */
  const isEmpty = (type: string, value: Fragment): Fragment =>
    type === "html"
      ? sql`is_empty_html(${value})`
      : type.startsWith("list.")
        ? sql`(is_empty_text(${value}) OR ${value} ~ ${emptyList})`
        : sql`is_empty_text(${value})`

  /** The required or recommended fields that are empty, by kind. */
  const emptyFields = (
    rules: CompletenessRules,
    level: CompletenessLevel,
    valueOf: (field: string) => Fragment
  ): Fragment => {
    const kinds = kindsWith(level, rules)
    const fieldsOf = (kind: EntityKind) => [...new Set(rules[kind][level])].sort(compareFields(kind))
    return kinds.length === 0
      ? sql`'{}'::text[]`
      : sql`CASE e.kind ${sql.join(
          " ",
          false
        )(
          kinds.map(
            (kind) => sql`
          WHEN ${kind} THEN array_remove(ARRAY[${sql.csv(
            fieldsOf(kind).map(
              (field) => sql`CASE WHEN ${isEmpty(fieldType(kind, field), valueOf(field))} THEN ${field}::text END`
            )
          )}], NULL)`
          )
        )} ELSE '{}'::text[] END`
  }

  // Most versions have no overrides, so the empty canonical fields are computed once per entity.
  return ({ accountId, rules }) => {
    const canonical = (field: string) => sql`coalesce(e.attributes -> ${field}::text ->> 'value', '')`
    const own = (field: string) => sql`effective_value(e.attributes, v.overrides, ${field}::text)`
    const found = (valueOf: (field: string) => Fragment) => sql`
      CROSS JOIN LATERAL (SELECT ${emptyFields(rules, "required", valueOf)} AS required,
                                 ${emptyFields(rules, "recommended", valueOf)} AS recommended OFFSET 0) f`
    const sections = (of: Fragment) => sql`
      CROSS JOIN LATERAL (VALUES
        ('completeness-required', ${of}.required), ('completeness-recommended', ${of}.recommended)
      ) AS s (section, fields)`
    return sql`
      SELECT s.section, e.id AS entity_id, e.kind AS entity_type, e.title, on_store.id AS store_id, NULL::text AS locale,
             s.fields, NULL::jsonb AS shown
      FROM (
        SELECT e.id, e.kind, e.title, e.store_ids, f.required, f.recommended
        FROM subject e ${found(canonical)}
        WHERE f.required <> '{}' OR f.recommended <> '{}'
      ) e
      CROSS JOIN LATERAL unnest(e.store_ids) AS on_store (id)
      JOIN linked l ON l.id = on_store.id
      ${sections(sql`e`)}
      WHERE s.fields <> '{}' AND ${inherits(accountId)}
      UNION ALL
      SELECT s.section, e.id, e.kind, e.title, v.store_id, NULL, s.fields, NULL
      FROM ${overridden(accountId)}
      ${found(own)}
      ${sections(sql`f`)}
      WHERE s.fields <> '{}'`
  }
}
