import { hash } from "node:crypto"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { planCustom } from "../database/PlannerHints.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { statusesByPrecedence } from "../model/PublishState.ts"
import type { ListFilters } from "./CatalogRows.ts"
import { likePattern } from "./SearchText.ts"

/** Canonical values that an index finds. Barcodes are hashed in the index, because an import may have written a long one. */
const indexedValue = {
  handle: (alias: string) => `${alias}.attributes #>> '{handle,value}'`,
  sku: (alias: string) => `${alias}.attributes #>> '{sku,value}'`,
  barcode: (alias: string) => `md5(${alias}.attributes #>> '{barcode,value}')`
} as const

const soughtValue = (key: keyof typeof indexedValue, value: string) =>
  key === "barcode" ? hash("md5", value, "hex") : value

/** The conditions of lists on an entity `e`. */
export const makeListFilters = (sql: SqlClient) => {
  /**
   * An entity with a later time of change has a higher change_seq. So the change_seq of the first entity that changed since the
   * given time is a lower bound, which the index can use.
   */
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

  /** The state of an entity on these stores together, as `rollUp` computes it. */
  const inStateOn = (accountId: AccountId, stores: ReadonlyArray<StoreId>, { isPending, status }: ListFilters) =>
    status === undefined && isPending === undefined
      ? sql``
      : sql`AND (
          SELECT ${sql.and([
            ...(status === undefined
              ? []
              : [
                  sql`coalesce((array_agg(v.last_publish_status ORDER BY array_position(${[...statusesByPrecedence]}::text[], v.last_publish_status)))[1], 'never_published') = ${status}`
                ]),
            ...(isPending === undefined ? [] : [sql`coalesce(bool_or(v.pending_publish), false) = ${isPending}`])
          ])}
          FROM store_version v
          WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ANY (e.store_ids)
            AND v.store_id = ANY (${[...stores]}::uuid[])
        )`

  const visibleOn = (accountId: AccountId, { stores, ...filters }: ListFilters) =>
    stores === undefined
      ? sql``
      : sql`AND ${sql.literal(planCustom)} (e.store_ids = '{}' OR e.store_ids && ${[...stores]}::uuid[])
          ${filters.storeId === undefined ? inStateOn(accountId, stores, filters) : sql``}`

  /** Planned at each call: for a store with few entities the index of its versions is best, else the change order. */
  const onStore = (accountId: AccountId, { storeId, ...filters }: ListFilters) =>
    storeId === undefined
      ? filters.stores === undefined
        ? inState(sql.literal("e"), filters)
        : sql``
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

  /** Planned at each call: few entities match, and their index is better than the change order. */
  const oneOf = (column: Fragment, values: ReadonlyArray<string>) =>
    sql`AND ${sql.literal(planCustom)} ${column} = ANY (${[...values]})`

  const withValue = (kind: string, key: keyof typeof indexedValue, alias: string, values: ReadonlyArray<string>) =>
    sql`${sql.literal(`${alias}.kind = '${kind}'`)} ${oneOf(
      sql.literal(indexedValue[key](alias)),
      values.map((value) => soughtValue(key, value))
    )}`

  /** A product has the SKUs and barcodes of its variants. */
  const withKeys = (
    accountId: AccountId,
    kind: EntityKind,
    key: keyof typeof indexedValue,
    values: ReadonlyArray<string> | undefined
  ) =>
    values === undefined
      ? sql``
      : kind === "product" && key !== "handle"
        ? sql`AND e.id IN (
            SELECT v.parent_id FROM entity v WHERE v.account_id = ${accountId} AND ${withValue("variant", key, "v", values)}
          )`
        : sql`AND ${withValue(kind, key, "e", values)}`

  const exactFilters = (
    accountId: AccountId,
    kind: EntityKind | null,
    { barcodes, handles, ids, skus }: ListFilters
  ) => sql`
    ${ids === undefined ? sql`` : oneOf(sql`e.id`, ids)}
    ${kind === null ? sql`` : withKeys(accountId, kind, "handle", handles)}
    ${kind === null ? sql`` : withKeys(accountId, kind, "sku", skus)}
    ${kind === null ? sql`` : withKeys(accountId, kind, "barcode", barcodes)}`

  /** Planned at each call: for a rare term the trigram index is best, for a common term the change order. */
  const matching = ({ needles }: ListFilters) =>
    needles === undefined || needles.length === 0
      ? sql``
      : sql`AND ${sql.literal(planCustom)} ${sql.and(
          needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`)
        )}`

  return { changedSince, chosen: exactFilters, inCollection, matching, onStore, visibleOn }
}
