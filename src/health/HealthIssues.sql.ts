import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { dimensionOf, HealthDimension, HealthIssue, isPerStore } from "./Health.ts"
import type { HealthRepo, IssueFilter } from "./HealthRepo.ts"

const InSection = Schema.Struct({
  accountId: AccountId,
  dimension: HealthDimension,
  section: Schema.String,
  snapshotOf: Schema.NullOr(StoreId),
  storeId: Schema.NullOr(StoreId),
  locale: Schema.NullOr(Schema.String)
})
type InSection = typeof InSection.Encoded

/** The snapshot that has the rows of a filter (`snapshotOf` is its store), and the conditions on the rows. */
const inSection = (accountId: AccountId, { locale, section, storeId }: IssueFilter): typeof InSection.Type => {
  const dimension = dimensionOf(section)
  return {
    accountId,
    dimension,
    section,
    snapshotOf: isPerStore(dimension) ? storeId : null,
    storeId,
    locale: dimension === "translations" ? locale : null
  }
}

/** Pages of a section's rows, as of its last scan. */
export const makeHealthIssues = (sql: SqlClient): Pick<Context.Tag.Service<HealthRepo>, "countIssues" | "issues"> => {
  /** The column that numbers the rows under these filters. */
  const ordinalOf = ({ locale, storeId }: InSection) =>
    sql.literal(`i.${storeId === null ? "" : "store_"}${locale === null ? "" : "locale_"}ordinal`)

  /** The rows of a snapshot under these filters. */
  const rowsOf = ({ accountId, locale, section, storeId }: InSection) => sql`
                 FROM health_issue i
                 WHERE i.account_id = ${accountId} AND i.run = s.run AND i.section = ${section}
                   ${storeId === null ? sql`` : sql`AND i.store_id = ${storeId}`}
                   ${locale === null ? sql`` : sql`AND i.locale = ${locale}`}`

  /** The snapshot that has the rows. */
  const snapshotOf = ({ accountId, dimension, snapshotOf: storeId }: InSection) => sql`
        FROM health_snapshot s
        WHERE s.account_id = ${accountId} AND s.dimension = ${dimension}
          AND ${storeId === null ? sql`s.store_id IS NULL` : sql`s.store_id = ${storeId}`}`

  const readIssues = SqlSchema.findOne({
    Request: Schema.Struct({
      ...InSection.fields,
      fields: Schema.UndefinedOr(Schema.Array(Schema.String)),
      after: Schema.Number,
      count: Schema.Number
    }),
    Result: Schema.Struct({
      scannedAt: Timestamp,
      compared: Schema.NullOr(Schema.Number),
      rows: Schema.Array(HealthIssue)
    }),
    execute: ({ after, count, fields, ...filter }) => {
      const ordinal = ordinalOf(filter)
      // Rows are numbered without a filter by field, so its pages are counted from the first row.
      const onPage =
        fields === undefined
          ? sql`AND ${ordinal} > ${after}::bigint AND ${ordinal} <= ${after}::bigint + ${count}::bigint
                 ORDER BY ${ordinal}`
          : sql`AND i.fields && ${fields}::text[]
                 ORDER BY ${ordinal}
                 LIMIT ${count}::bigint OFFSET ${after}::bigint`
      return sql`
        SELECT rfc3339(s.scanned_at) AS "scannedAt",
               CASE WHEN s.dimension = 'divergence' THEN (s.result ->> 'compared')::integer END AS compared,
               ARRAY(
                 SELECT jsonb_strip_nulls(jsonb_build_object(
                          'entity_id', i.entity_id, 'entity_type', i.entity_type, 'title', i.title,
                          'store_id', i.store_id, 'fields', i.fields, 'locale', i.locale
                        )
                        -- A variant is read as it is now, because a scan does not read the products of its rows.
                        || CASE WHEN i.entity_type = 'variant' THEN (
                          SELECT jsonb_build_object(
                            'sku', coalesce(e.attributes #>> '{sku,value}', ''), 'product_id', p.id,
                            'product_title', p.title
                          )
                          FROM entity e JOIN entity p ON p.account_id = ${filter.accountId} AND p.id = e.parent_id
                          WHERE e.account_id = ${filter.accountId} AND e.id = i.entity_id
                        ) ELSE '{}' END
                        || CASE jsonb_typeof(i.shown)
                          WHEN 'array' THEN jsonb_build_object('values', i.shown)
                          WHEN 'object' THEN i.shown
                          ELSE '{}'
                        END)
                 ${rowsOf(filter)}
                   ${onPage}
               ) AS rows
        ${snapshotOf(filter)}`
    }
  })

  /** Rows are numbered without gaps, so the number of the last row is their count. */
  const countIssues = SqlSchema.findOne({
    Request: InSection,
    Result: Schema.Struct({ rows: Schema.Number }),
    execute: (filter) => sql`
        SELECT coalesce((SELECT ${ordinalOf(filter)} ${rowsOf(filter)} ORDER BY ${ordinalOf(filter)} DESC LIMIT 1), 0) AS rows
        ${snapshotOf(filter)}`
  })

  return {
    issues: (accountId, { fields, page, pageSize, ...filter }) =>
      Effect.map(
        // Reads one row more, to know whether another page follows.
        orDie(
          readIssues({ ...inSection(accountId, filter), fields, after: (page - 1) * pageSize, count: pageSize + 1 })
        ),
        Option.map(({ rows, ...page }) => ({ ...page, rows: rows.slice(0, pageSize), hasNext: rows.length > pageSize }))
      ),
    countIssues: (accountId, filter) =>
      Effect.map(
        orDie(countIssues(inSection(accountId, filter))),
        Option.match({ onNone: () => 0, onSome: ({ rows }) => rows })
      )
  }
}
