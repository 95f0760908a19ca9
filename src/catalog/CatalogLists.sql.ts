import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { type Context, Effect, Schema } from "effect"
import type { DirectQuery } from "../database/DirectQuery.ts"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { AccountId } from "../model/Ids.ts"
import type { CatalogRepo } from "./CatalogRepo.ts"
import type { ListFilters, RowPage } from "./CatalogRows.ts"
import { likePattern } from "./SearchText.ts"

/** Page sizes that get a prepared statement with the size in its text: the default, the maximum and common ones. */
const preparedLimits: ReadonlySet<number> = new Set([10, 25, 50, 100, 200, 250])

/** Separates rows. Rows have no line break themselves, so the row after the page is cut off at the last separator. */
const rowSeparator = ",\n"

const PageRow = Schema.Struct({ rows: Schema.String, last: Schema.NullOr(Schema.Number), count: Schema.Number })
const decodePage = Schema.decodeUnknown(Schema.Tuple(PageRow))

/** Reads pages of lists. The entity whose canonical record changed longest ago comes first. */
export const makeCatalogLists = (
  sql: SqlClient,
  direct: Context.Tag.Service<DirectQuery>
): Pick<Context.Tag.Service<CatalogRepo>, "page" | "pageOfAll"> => {
  /** Times of change rise with change_seq. So the first entity that changed since then gives a lower bound for the index. */
  const changedSince = (accountId: AccountId, { updatedSince }: ListFilters) =>
    updatedSince === undefined
      ? sql``
      : sql`AND e.change_seq >= (
          SELECT f.change_seq FROM entity f
          WHERE f.account_id = ${accountId} AND f.canonical_changed_at >= ${updatedSince}
          ORDER BY f.canonical_changed_at LIMIT 1
        )`

  const inState = (alias: Fragment, { isPending, status }: ListFilters) => sql`
    ${status === undefined ? sql`` : sql`AND ${alias}.last_publish_status = ${status}`}
    ${isPending === undefined ? sql`` : sql`AND ${alias}.pending_publish = ${sql.literal(String(isPending))}`}`

  /** Planned at each call: for a store with few entities the index of its versions is best, else the change order. */
  const onStore = (accountId: AccountId, { storeId, ...filters }: ListFilters) =>
    storeId === undefined
      ? inState(sql.literal("e"), filters)
      : sql`AND ${sql.literal(planCustom)} ${storeId} = ANY (e.store_ids) AND EXISTS (
          SELECT FROM store_version v
          WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ${storeId}
          ${inState(sql.literal("v"), filters)}
        )`

  const inCollection = (accountId: AccountId, { collectionId }: ListFilters) =>
    collectionId === undefined
      ? sql``
      : sql`AND EXISTS (
          SELECT FROM collection_member m
          WHERE m.account_id = ${accountId} AND m.collection_id = ${collectionId} AND m.product_id = e.id
        )`

  /** Planned at each call: for a rare term the trigram index is best, for a common term the change order. */
  const matching = ({ needles }: ListFilters) =>
    needles === undefined || needles.length === 0
      ? sql``
      : sql`AND ${sql.literal(planCustom)} ${sql.and(
          needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`)
        )}`

  /**
   * Reads one row more than the page, to know whether more rows follow. A number in the SQL text lets PostgreSQL reuse its plan; a
   * parameter would not. Every text stays prepared, so only common sizes are in the text; others are planned at each call.
   */
  const rowsToRead = (limit: number) =>
    preparedLimits.has(limit) ? sql.literal(String(limit + 1)) : sql`${limit} + 1 ${sql.literal(planCustom)}`

  /** `after` is in a subquery. Otherwise a plan for this one value would look cheaper than the reusable plan. */
  const rowsOfKind = (accountId: AccountId, kind: Fragment, filters: ListFilters, after: number, limit: number) => sql`
    SELECT e.change_seq, e.list_row
    FROM entity e
    WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.change_seq > (SELECT ${after}::bigint)
    ${onStore(accountId, filters)}
    ${changedSince(accountId, filters)}
    ${inCollection(accountId, filters)}
    ${matching(filters)}
    ORDER BY e.change_seq
    LIMIT ${rowsToRead(limit)}`

  const pageOf = (ordered: Fragment, limit: number): Effect.Effect<RowPage> =>
    direct(sql`
      -- The aggregates keep the order of the sub-select.
      SELECT coalesce(string_agg(page.list_row, ${rowSeparator}), '') AS rows,
             coalesce((array_agg(page.change_seq))[${limit}], max(page.change_seq)) AS last,
             count(*) AS count
      FROM (${ordered}) page`).pipe(
      Effect.flatMap(decodePage),
      Effect.map(([{ count, last, rows }]) => {
        const more = count > limit
        return { rows: more ? rows.slice(0, rows.lastIndexOf(rowSeparator)) : rows, last, more }
      }),
      orDie
    )

  return {
    page: (accountId, kind, filters, after, limit) =>
      pageOf(rowsOfKind(accountId, sql.literal(`'${kind}'`), filters, after, limit), limit),
    // Reads each kind by the index of its list, and merges the four results.
    pageOfAll: (accountId, filters, after, limit) =>
      pageOf(
        sql`
          SELECT walk.change_seq, walk.list_row
          FROM (VALUES ('product'), ('variant'), ('collection'), ('media')) kinds (kind)
          CROSS JOIN LATERAL (${rowsOfKind(accountId, sql.literal("kinds.kind"), filters, after, limit)}) walk
          ORDER BY walk.change_seq
          LIMIT ${rowsToRead(limit)}`,
        limit
      )
  }
}
