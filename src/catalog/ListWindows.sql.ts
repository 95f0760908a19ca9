import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId } from "../model/Ids.ts"
import { makeMerchantConditions } from "./ListCandidates.sql.ts"
import type { ListOrder } from "./MerchantLists.ts"
import type { Place, WindowFilters, WindowQuery } from "./MerchantListsRepo.ts"

const PlaceRow = Schema.Struct({ key: Schema.Union(Schema.Number, Schema.String), id: EntityId })

export const placeOf = ({ id, key }: typeof PlaceRow.Type): Place => (typeof key === "number" ? key : [key, id])

const decodeWindow = Schema.decodeUnknown(
  Schema.Tuple(
    Schema.Struct({
      /** The rows of the page, and one more if there are more. */
      places: Schema.Array(PlaceRow),
      /** The last entity that was looked at, if the page is not full and there are more entities. */
      last: Schema.NullOr(PlaceRow),
      found: Schema.Number,
      isAll: Schema.Boolean
    })
  )
)

/**
 * The key of the order by title, as in the index `entity_by_title`: the folded title, which is the first line of the search text, cut
 * to 100 characters. Entities without a title come first.
 */
const titleKey = `(CASE WHEN e.title = '' THEN '' ELSE left(split_part(e.search_text, E'\\n', 1), 100) END COLLATE "C")`

export const isDescending = (order: ListOrder) => order === "newest" || order === "title-desc"

/** The statements that read a page of ids. */
export const makeWindowStatements = (sql: SqlClient) => {
  const conditions = makeMerchantConditions(sql)
  const size = (count: number) => sql.literal(String(count))

  /** Compares a key and an id with a place. */
  const compared = (key: Fragment, id: Fragment, sign: "<" | "<=" | ">" | ">=", place: Place | undefined) => {
    if (place === undefined) return sql`true`
    return typeof place === "number"
      ? sql`${key} ${sql.literal(sign)} ${place}`
      : sql`(${key}, ${id}) ${sql.literal(sign)} (${place[0]}::text, ${place[1]}::uuid)`
  }

  return (
    accountId: AccountId,
    kind: EntityKind,
    filters: WindowFilters,
    { from, limit, maxFew, order, windowSize }: WindowQuery
  ) => {
    const isByTitle = order === "title" || order === "title-desc"
    const direction = isDescending(order) ? "DESC" : "ASC"
    const key = sql.literal(isByTitle ? titleKey : "e.change_seq")
    const inOrder = isByTitle ? `key ${direction}, id ${direction}` : `key ${direction}`
    const sorted = sql.literal(`ORDER BY ${inOrder}`)
    const entities = (columns: Fragment, where: Fragment) => sql`
      SELECT ${sql.literal(planCustom)} ${columns} FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = ${sql.literal(`'${kind}'`)} AND ${where}`
    const [after, until] = isDescending(order) ? (["<", ">="] as const) : ([">", "<="] as const)
    const afterFrom = compared(key, sql`e.id`, after, from)
    const places = sql`SELECT coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'key', p.key) ${sorted}), '[]') FROM page p`
    const readOne = (statement: Fragment) => Effect.map(Effect.flatMap(sql`${statement}`, decodeWindow), ([row]) => row)

    const tested = conditions.ofWindow(accountId, filters)
    const fits = tested.length === 0 ? sql`true` : sql.and(tested)
    const candidates = sql.and(conditions.ofCandidates(accountId, kind, filters))
    const { hasOwnValues, missing, needles, productType, state, storeId, tag, vendor } = filters
    const isOfProducts = [missing, productType, tag, vendor].some((value) => value !== undefined)
    const isOnlyOfState = state !== undefined && !isOfProducts && needles.length === 0 && hasOwnValues !== true
    const isOfState = isOnlyOfState && storeId === undefined
    const isInOrder = isOfState && !isByTitle && limit <= maxFew
    // Without an order that an index has, PostgreSQL might scan the table, which has other accounts too. The order of
    // ids does not depend on the age: frequent matches are found early, wherever they are in the list.
    const fewOrder = isInOrder ? inOrder : isOfState ? "e.change_seq" : "e.id"
    // With this order and limit, PostgreSQL reads the account's index and not the table, which has other accounts too.
    const inWindow = sql`${entities(sql`${fits} AS fits`, sql`true`)} ORDER BY ${key} ${sql.literal(direction)} LIMIT ${size(windowSize + 1)}`
    // In a larger list not all would be counted. Then only the number of entities is read, which takes a tenth of the time.
    const counted =
      from === undefined
        ? sql`
          SELECT CASE WHEN s.seen <= ${size(windowSize)} THEN (SELECT count(*) FROM (${inWindow}) c WHERE c.fits)
                      ELSE ${tested.length === 0 ? size(windowSize) : sql`(SELECT count(*) FROM page)`} END AS found,
                 s.seen <= ${size(windowSize)} AS "isAll"
          FROM (SELECT count(*) AS seen FROM (${entities(sql``, sql`true`)} LIMIT ${size(windowSize + 1)}) e) s`
        : sql`SELECT count(*) AS found, false AS "isAll" FROM page`

    return {
      /** Whether indexes find the matches. Only products have an index of some values, and no index has the entities that are absent from a store. */
      hasIndex: tested.length > 0 && (kind === "product" || !isOfProducts) && !(isOnlyOfState && state === "absent"),
      /** Whether `few` is the beginning of all matches, because an index has exactly them in the order of the list. */
      isInOrder,
      /** Up to `maxFew` matches and one more, of which the page takes those after its place: so the time does not depend on the place. */
      few: readOne(sql`
        WITH w AS MATERIALIZED (
          ${entities(sql`e.id, ${key} AS key`, isInOrder ? sql`${candidates} AND ${afterFrom}` : candidates)}
          ORDER BY ${sql.literal(fewOrder)}
          LIMIT ${size(maxFew + 1)}
        ), rest AS (SELECT w.id, w.key FROM w WHERE ${compared(sql`w.key`, sql`w.id`, after, from)}),
        page AS MATERIALIZED (SELECT r.id, r.key FROM rest r ${sorted} LIMIT ${limit + 1})
        SELECT (${places}) AS places, NULL AS last, (SELECT count(*) FROM rest) AS found,
               (SELECT count(*) FROM w) <= ${size(maxFew)} AS "isAll"`),
      /** All matches up to a place; undefined: up to the end. MATERIALIZED: the planner cannot expect to find them early in the order. */
      upTo: (bound: Place | undefined) =>
        readOne(sql`
        WITH w AS MATERIALIZED (
          ${entities(sql`e.id, ${key} AS key`, sql.and([candidates, afterFrom, compared(key, sql`e.id`, until, bound)]))}
        ), page AS MATERIALIZED (SELECT w.id, w.key FROM w ${sorted} LIMIT ${limit + 1})
        SELECT (${places}) AS places, NULL AS last, (SELECT count(*) FROM page) AS found, false AS "isAll"`),
      /** The matches among the next entities of the list. */
      inOrderOf: (looked: number) =>
        readOne(sql`
        WITH page AS MATERIALIZED (
          SELECT w.id, w.key
          FROM (
            ${entities(sql`e.id, ${key} AS key, ${fits} AS fits`, afterFrom)}
            ${sorted}
            LIMIT ${size(looked + 1)}
          ) w
          WHERE w.fits
          LIMIT ${limit + 1}
        )
        SELECT (${places}) AS places,
               CASE WHEN (SELECT count(*) FROM page) <= ${limit} THEN (
                 SELECT jsonb_build_object('id', l.id, 'key', l.key)
                 FROM (${entities(sql`e.id, ${key} AS key`, afterFrom)} ${sorted} LIMIT 1 OFFSET ${size(looked)}) l
               ) END AS last,
               n.found, n."isAll"
        FROM (${counted}) n`)
    }
  }
}
