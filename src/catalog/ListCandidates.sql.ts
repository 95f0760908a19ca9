import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId } from "../model/Ids.ts"
import type { MerchantState, MissingField } from "./MerchantLists.ts"
import type { WindowFilters } from "./MerchantListsRepo.ts"
import { likePattern } from "./SearchText.ts"

/** A value as the function `entity_facets` cuts it (0005_catalog.sql). */
const cut = (value: string) => Array.from(value).slice(0, 100).join("")

/** The facets that all matching products have. */
const facetsOf = ({ missing, productType, tag, vendor }: WindowFilters): ReadonlyArray<string> => [
  ...(vendor === undefined ? [] : [`vendor ${cut(vendor)}`]),
  ...(productType === undefined ? [] : [`type ${cut(productType)}`]),
  ...(tag === undefined
    ? []
    : JSON.stringify(tag)
        .split(",")
        .map((part) => `tag ${cut(part.replace(/^ +| +$/g, ""))}`)),
  ...(missing === undefined ? [] : [`no ${missing}`])
]

const states: Readonly<Record<MerchantState, (alias: string) => string>> = {
  live: (alias) => `${alias}.last_publish_status = 'published' AND NOT ${alias}.pending_publish`,
  changed: (alias) => `${alias}.pending_publish AND ${alias}.last_publish_status = 'published'`,
  publishing: (alias) => `${alias}.last_publish_status = 'pending'`,
  failed: (alias) => `${alias}.last_publish_status = 'failed'`,
  unpublished: (alias) => `${alias}.last_publish_status = 'never_published'`
}

/** The conditions of the filters of pages on an entity `e`. */
export const makeMerchantConditions = (sql: SqlClient) => {
  const inState = (alias: string, state: MerchantState | undefined) =>
    state === undefined ? [] : [sql.literal(states[state](alias))]

  const isEmpty = (key: string) => sql.literal(`coalesce(e.attributes #>> '{${key},value}', '') IN ('', '[]')`)
  const missing: Readonly<Record<MissingField, Fragment>> = {
    description: isEmpty("description_html"),
    vendor: isEmpty("vendor"),
    type: isEmpty("product_type"),
    tags: isEmpty("tags"),
    picture: sql`e.lacks_pictures`
  }

  /** `lookUp`: OFFSET 0 makes PostgreSQL look up each entity by key, instead of joining whole tables. */
  const onEntity = (
    accountId: AccountId,
    filters: WindowFilters,
    lookUp: Fragment,
    valued = (condition: Fragment) => condition
  ): ReadonlyArray<Fragment> => {
    const { hasOwnValues, needles, productType, state, storeId, tag, vendor } = filters
    const hasVersion = (conditions: ReadonlyArray<Fragment>) => sql`EXISTS (
      SELECT FROM store_version v WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND ${sql.and(conditions)} ${lookUp}
    )`
    const onStore = storeId === undefined ? [] : [sql`v.store_id = ${storeId}`]
    return [
      ...(storeId === undefined
        ? inState("e", state)
        : [sql`${storeId} = ANY (e.store_ids)`, hasVersion([...onStore, ...inState("v", state)])]),
      ...needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`),
      ...[
        ...(vendor === undefined ? [] : [sql`e.attributes #>> '{vendor,value}' = ${vendor}`]),
        ...(productType === undefined ? [] : [sql`e.attributes #>> '{product_type,value}' = ${productType}`]),
        ...(tag === undefined ? [] : [sql`position(${JSON.stringify(tag)} IN e.attributes #>> '{tags,value}') > 0`]),
        ...(filters.missing === undefined ? [] : [missing[filters.missing]])
      ].map(valued),
      ...(hasOwnValues !== true ? [] : [hasVersion([sql`v.overrides <> '{}'`, ...onStore])])
    ]
  }

  /** Hides a condition from the planner. The facets say the same; with both, the planner would expect far too few rows. */
  const hidden = (condition: Fragment) => sql`CASE WHEN ${condition} THEN true ELSE false END`

  return {
    /** For entities that are read in the order of the list. Empty without filters. */
    ofWindow: (accountId: AccountId, filters: WindowFilters) => onEntity(accountId, filters, sql`OFFSET 0`),
    /** For entities that an index of the filters finds. */
    ofCandidates: (accountId: AccountId, kind: EntityKind, filters: WindowFilters): ReadonlyArray<Fragment> => {
      const facets = kind === "product" ? facetsOf(filters) : []
      return [
        ...(facets.length === 0
          ? []
          : [sql`entity_facets(e.kind, e.attributes, e.lacks_pictures) @> ${[...facets]}::text[]`]),
        ...onEntity(accountId, filters, sql``, hidden)
      ]
    }
  }
}
