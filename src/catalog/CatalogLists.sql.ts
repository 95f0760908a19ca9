import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect, Schema } from "effect"
import type { DirectQuery } from "../database/DirectQuery.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId } from "../model/Ids.ts"
import type { CatalogRepo } from "./CatalogRepo.ts"
import { type ListFilters, maxPageBytes, type RowPage } from "./CatalogRows.ts"
import { makeIncludedRows } from "./IncludedRows.sql.ts"
import { makeListFilters } from "./ListFilters.sql.ts"

/** Page sizes that get a prepared statement with the size in its text: the default, the maximum and common ones. */
const preparedLimits: ReadonlySet<number> = new Set([10, 25, 50, 100, 200, 250])

/**
 * Separates rows. A row contains no line break, so the last separator is the place to cut off the row after the page.
 */
const rowSeparator = ",\n"

const pageFields = { rows: Schema.String, last: Schema.NullOr(Schema.Number), count: Schema.Number }
const decodeRows = Schema.decodeUnknown(
  Schema.Array(Schema.Struct({ change_seq: Schema.Number, list_row: Schema.String }))
)
const decodePage = Schema.decodeUnknown(Schema.Tuple(Schema.Struct(pageFields)))
const decodeCutPage = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ ...pageFields, found: Schema.Number })))

/** A page of the rows that were found, of which one may be too many. */
const toPage = (found: Effect.Effect.Success<ReturnType<typeof decodeRows>>, limit: number): RowPage => {
  const rows = found.slice(0, limit)
  return {
    rows: rows.map(({ list_row }) => list_row).join(rowSeparator),
    count: rows.length,
    last: rows.at(-1)?.change_seq ?? null,
    more: found.length > limit
  }
}

/** Reads pages of lists. The entity whose canonical record changed longest ago comes first. */
export const makeCatalogLists = (
  sql: SqlClient,
  direct: Context.Tag.Service<DirectQuery>,
  isDistributed: boolean
): Pick<Context.Tag.Service<CatalogRepo>, "includingPage" | "page" | "pageOfAll"> => {
  const includedRow = makeIncludedRows(sql)

  const { changedSince, chosen, inCollection, matching, onStore, visibleOn } = makeListFilters(sql)

  /**
   * Reads one more row than the page has, to see whether more rows follow. A number in the SQL text lets PostgreSQL
   * reuse its plan; a parameter would not. Each text stays prepared, so only common sizes are written into the text;
   * statements with other sizes are planned at each call.
   */
  const rowsToRead = (limit: number) =>
    preparedLimits.has(limit) ? sql.literal(String(limit + 1)) : sql`${limit} + 1 ${sql.literal(planCustom)}`

  /**
   * `after` is in a subquery. Otherwise a plan for this one value would look cheaper than the reusable plan. A cluster plans at each
   * call, and a statement without subqueries much faster.
   */
  const afterSeq = (after: number) => (isDistributed ? sql`${after}::bigint` : sql`(SELECT ${after}::bigint)`)

  const rowsOfKind = (
    accountId: AccountId,
    kind: EntityKind | null,
    filters: ListFilters,
    after: number,
    limit: number,
    columns = "e.change_seq, e.list_row"
  ) => sql`
    SELECT ${sql.literal(columns)}
    FROM entity e
    WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(kind === null ? "kinds.kind" : `'${kind}'`)}
    AND e.change_seq > ${afterSeq(after)}
    ${chosen(accountId, kind, filters)}
    ${onStore(accountId, filters)}
    ${visibleOn(accountId, filters)}
    ${changedSince(accountId, filters)}
    ${inCollection(accountId, filters)}
    ${matching(filters)}
    ORDER BY e.change_seq
    LIMIT ${rowsToRead(limit)}`

  const pageOf = (accountId: AccountId, ordered: Fragment, limit: number): Effect.Effect<RowPage> =>
    direct(
      sql`
      -- The aggregates keep the order of the sub-select.
      SELECT coalesce(string_agg(page.list_row, ${rowSeparator}), '') AS rows,
             coalesce((array_agg(page.change_seq))[${limit}], max(page.change_seq)) AS last,
             count(*) AS count
      FROM (${ordered}) page`,
      accountId
    ).pipe(
      Effect.flatMap(decodePage),
      Effect.map(([{ count, last, rows }]) => {
        const more = count > limit
        return {
          rows: more ? rows.slice(0, rows.lastIndexOf(rowSeparator)) : rows,
          count: Math.min(count, limit),
          last,
          more
        }
      }),
      orDie
    )

  /** The same without an aggregate, which a cluster plans faster. */
  const pageOfRows = (accountId: AccountId, ordered: Fragment, limit: number): Effect.Effect<RowPage> =>
    direct(sql`${ordered}`, accountId).pipe(
      Effect.flatMap(decodeRows),
      Effect.map((found) => toPage(found, limit)),
      orDie
    )

  return {
    page: (accountId, kind, filters, after, limit) =>
      (isDistributed ? pageOfRows : pageOf)(accountId, rowsOfKind(accountId, kind, filters, after, limit), limit),
    includingPage: (accountId, kind, include, filters, after, limit) =>
      direct(
        sql`
        SELECT coalesce(string_agg(page.list_row, ${rowSeparator} ORDER BY page.change_seq) FILTER (WHERE page.fits), '') AS rows,
               max(page.change_seq) FILTER (WHERE page.fits) AS last, count(*) FILTER (WHERE page.fits) AS count,
               count(*) AS found
        FROM (
          SELECT r.change_seq, r.list_row,
                 r.place <= ${limit} AND (r.place = 1 OR sum(octet_length(r.list_row) + 2) OVER (
                   ORDER BY r.change_seq ROWS UNBOUNDED PRECEDING
                 ) <= ${maxPageBytes}) AS fits
          FROM (
            SELECT e.change_seq, row_number() OVER (ORDER BY e.change_seq) AS place,
                   ${includedRow(accountId, kind, include)} AS list_row
            FROM (${rowsOfKind(accountId, kind, filters, after, limit, "e.*")}) e
          ) r
        ) page`,
        accountId
      ).pipe(
        Effect.flatMap(decodeCutPage),
        Effect.map(([{ count, found, last, rows }]) => ({ rows, count, last, more: found > count })),
        orDie
      ),
    // Reads each kind by the index of its list, and merges the four results.
    pageOfAll: (accountId, filters, after, limit) =>
      pageOf(
        accountId,
        sql`
          SELECT walk.change_seq, walk.list_row
          FROM (VALUES ('product'), ('variant'), ('collection'), ('media')) kinds (kind)
          CROSS JOIN LATERAL (${rowsOfKind(accountId, null, filters, after, limit)}) walk
          ORDER BY walk.change_seq
          LIMIT ${rowsToRead(limit)}`,
        limit
      )
  }
}
