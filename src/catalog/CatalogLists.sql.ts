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

/** Page sizes with a prepared statement each: the default, the maximum and common ones. */
const preparedLimits: ReadonlySet<number> = new Set([10, 25, 50, 100, 200, 250])

/** Separates rows. JSON text has no other line break, so the row after the page can be cut off at the last one. */
const rowSeparator = ",\n"

const PageRow = Schema.Struct({ rows: Schema.String, last: Schema.NullOr(Schema.Number), count: Schema.Number })
const decodePage = Schema.decodeUnknown(Schema.Tuple(PageRow))

/** Pages of lists, oldest canonical change first. */
export const makeCatalogLists = (
  sql: SqlClient,
  direct: Context.Tag.Service<DirectQuery>
): Pick<Context.Tag.Service<CatalogRepo>, "page" | "pageOfAll"> => {
  /** Stamps rise with change_seq, so the first one since that time bounds the walk by its own index. */
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

  /** The best plan depends on the store: by its versions if it has few, in the change order if it has many. */
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

  /** The best plan depends on the term: the trigram index for a rare one, the change order for a common one. */
  const matching = ({ needles }: ListFilters) =>
    needles === undefined || needles.length === 0
      ? sql``
      : sql`AND ${sql.literal(planCustom)} ${sql.and(
          needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`)
        )}`

  /**
   * One row more than the page tells whether more follow. A number in the text lets PostgreSQL keep its plan, which a
   * parameter would not. Other sizes are planned at each call: each text stays prepared.
   */
  const rowsToRead = (limit: number) =>
    preparedLimits.has(limit) ? sql.literal(String(limit + 1)) : sql`${limit} + 1 ${sql.literal(planCustom)}`

  /** `after` is in a sub-select, so that a plan for this one value looks no better than the kept plan. */
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
    // Each kind is read by the index of its list, and the four are merged.
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
