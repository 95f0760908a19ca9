import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { findOne } from "../database/Rows.ts"
import { type AccountId, nilUuid, type StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { dimensionOf, type HealthDimension, HealthIssue, isPerStore } from "./Health.ts"
import type { HealthRepo, IssueFilter } from "./HealthRepo.ts"

interface InSection {
  readonly accountId: AccountId
  readonly dimension: HealthDimension
  readonly section: string
  readonly snapshotOf: StoreId | null
  readonly storeId: StoreId | null
  readonly locale: string | null
}

/** Joins the snapshot that covers a filter (`snapshotOf` is its store), and restricts its rows to the filter. */
const inSection = (accountId: AccountId, { locale, section, storeId }: IssueFilter): InSection => {
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

/** Pages of the issues that the last scan found in a section. */
export const makeHealthIssues = (sql: SqlClient): Pick<Context.Tag.Service<HealthRepo>, "countIssues" | "issues"> => {
  /** The rows of a snapshot under these filters. */
  const rowsOf = ({ accountId, locale, section, storeId }: InSection) => sql`
                 FROM health_issue i
                 WHERE i.account_id = ${accountId} AND i.base = s.base AND i.section = ${section}
                   ${storeId === null ? sql`` : sql`AND i.store_id = ${storeId} AND i.store_id <> ${sql.literal(`'${nilUuid}'`)}`}
                   ${locale === null ? sql`` : sql`AND i.locale = ${locale}`}`

  /** The snapshot that contains the rows. */
  const snapshotOf = ({ accountId, dimension, snapshotOf: storeId }: InSection) => sql`
        FROM health_snapshot s
        WHERE s.account_id = ${accountId} AND s.dimension = ${dimension}
          AND ${storeId === null ? sql`s.store_id IS NULL` : sql`s.store_id = ${storeId}`}`

  /** The list that contains the rows, with the number of rows before each block. */
  const listOf = ({ accountId, locale, section, storeId }: InSection) => sql`
          FROM health_list l
          WHERE l.account_id = ${accountId} AND l.base = s.base AND l.section = ${section}
            AND l.store_id = ${storeId ?? nilUuid}::uuid AND l.locale = ${locale ?? ""}`

  const readIssues = findOne(
    Schema.Struct({
      scannedAt: Timestamp,
      compared: Schema.NullOr(Schema.Number),
      rows: Schema.Array(HealthIssue)
    })
  )((filter: InSection, fields: ReadonlyArray<string> | undefined, after: number, count: number) => {
    // Blocks count the rows of all fields. A page that is filtered by field therefore has to be counted from the
    // first row.
    const onPage =
      fields === undefined
        ? sql`AND i.entity_id >= p.start
                 ORDER BY i.entity_id, i.store_id, i.locale
                 LIMIT ${count}::bigint OFFSET p.skipped`
        : sql`AND i.fields && ${fields}::text[]
                 ORDER BY i.entity_id, i.store_id, i.locale
                 LIMIT ${count}::bigint OFFSET ${after}::bigint`
    // The block that contains the first row of the page.
    const place = sql`(
          SELECT b.starts[k.block] AS start, ${after}::bigint - k.first AS skipped
          FROM (
            SELECT f.block, f.firsts[f.block] AS first
            FROM (SELECT width_bucket(least(${after}::bigint, 2147483647)::integer, l.firsts) AS block, l.firsts ${listOf(filter)}) f
          ) k
          JOIN health_base b ON b.account_id = ${filter.accountId} AND b.base = s.base
        )`
    return sql`
        SELECT rfc3339(s.scanned_at) AS "scannedAt",
               CASE WHEN s.dimension = 'divergence' THEN (s.result ->> 'compared')::integer END AS compared,
               ARRAY(
                 SELECT jsonb_strip_nulls(jsonb_build_object(
                          'entity_id', i.entity_id, 'entity_type', i.entity_type, 'title', i.title,
                          'store_id', i.store_id, 'fields', i.fields, 'locale', nullif(i.locale, '')
                        )
                        -- The title of a variant's product is read now, because the scan did not store it. A variant that was deleted
                        -- since the scan has none.
                        || CASE WHEN i.entity_type = 'variant' THEN coalesce((
                          SELECT jsonb_build_object(
                            'sku', coalesce(e.attributes #>> '{sku,value}', ''), 'product_id', p.id,
                            'product_title', p.title
                          )
                          FROM entity e JOIN entity p ON p.account_id = ${filter.accountId} AND p.id = e.parent_id
                          WHERE e.account_id = ${filter.accountId} AND e.id = i.entity_id
                        ), '{}') ELSE '{}' END
                        || CASE jsonb_typeof(i.shown)
                          WHEN 'array' THEN jsonb_build_object('values', i.shown)
                          WHEN 'object' THEN i.shown
                          ELSE '{}'
                        END)
                 ${rowsOf(filter)}
                   ${onPage}
               ) AS rows
        FROM (SELECT s.* ${snapshotOf(filter)}) s
        ${fields === undefined ? sql`LEFT JOIN LATERAL ${place} p ON true` : sql``}`
  })

  const countIssues = findOne(Schema.Struct({ rows: Schema.Number }))(
    (filter: InSection) => sql`
        SELECT coalesce((SELECT l.total ${listOf(filter)}), 0) AS rows
        ${snapshotOf(filter)}`
  )

  return {
    issues: (accountId, { fields, page, pageSize, ...filter }) =>
      Effect.map(
        // Reads one more row than a page has, to see whether another page follows. The command line takes a page of any number.
        readIssues(
          inSection(accountId, filter),
          fields,
          Math.min((page - 1) * pageSize, Number.MAX_SAFE_INTEGER),
          pageSize + 1
        ),
        Option.map(({ rows, ...page }) => ({ ...page, rows: rows.slice(0, pageSize), hasNext: rows.length > pageSize }))
      ),
    countIssues: (accountId, filter) =>
      Effect.map(
        countIssues(inSection(accountId, filter)),
        Option.match({ onNone: () => 0, onSome: ({ rows }) => rows })
      )
  }
}
