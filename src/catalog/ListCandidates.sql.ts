import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId } from "../model/Ids.ts"
import type { MerchantState, MissingField } from "./MerchantLists.ts"
import type { WindowFilters } from "./MerchantListsRepo.ts"
import { likePattern } from "./SearchText.ts"

/** The number of characters to which the function `entity_facets` cuts a value (0004_catalog.sql). */
const facetLength = 100

type ValueFilter = "vendor" | "productType" | "tag" | "missing"

const wholeValue = (value: string): ReadonlyArray<string> => [value]

/** The word of a filter's facets, and the parts of a value that have a facet each: a tag with commas has several. */
const facets: Readonly<Record<ValueFilter, { readonly word: string; readonly parts: typeof wholeValue }>> = {
  vendor: { word: "vendor", parts: wholeValue },
  productType: { word: "type", parts: wholeValue },
  tag: {
    word: "tag",
    parts: (tag) =>
      JSON.stringify(tag)
        .split(",")
        .map((part) => part.replace(/^ +| +$/g, ""))
  },
  missing: { word: "no", parts: wholeValue }
}

/** The facets that all products with a value have, and whether only they have them: values that are cut to the same text share one. */
const facetsOf = (key: ValueFilter, value: string) => {
  const { parts, word } = facets[key]
  const texts = parts(value).map((part) => Array.from(part))
  return {
    found: texts.map((text) => `${word} ${text.slice(0, facetLength).join("")}`),
    isExact: texts.length === 1 && texts.every((text) => text.length < facetLength)
  }
}

const states: Readonly<Record<MerchantState, (alias: string) => string>> = {
  live: (alias) => `${alias}.last_publish_status = 'published' AND NOT ${alias}.pending_publish`,
  changed: (alias) => `${alias}.pending_publish AND ${alias}.last_publish_status = 'published'`,
  publishing: (alias) => `${alias}.last_publish_status = 'pending'`,
  failed: (alias) => `${alias}.last_publish_status = 'failed'`,
  unpublished: (alias) => `${alias}.last_publish_status = 'never_published'`
}

/** The conditions of the filters of pages on an entity `e`. */
export const makeMerchantConditions = (sql: SqlClient) => {
  const inState = (alias: string, state: WindowFilters["state"]) =>
    state === undefined || state === "absent" ? [] : [sql.literal(states[state](alias))]

  const isEmpty = (key: string) => sql.literal(`coalesce(e.attributes #>> '{${key},value}', '') IN ('', '[]')`)
  const missing: Readonly<Record<MissingField, Fragment>> = {
    description: isEmpty("description_html"),
    vendor: isEmpty("vendor"),
    type: isEmpty("product_type"),
    tags: isEmpty("tags"),
    picture: sql`e.lacks_pictures`
  }

  const conditionOf: Readonly<Record<Exclude<ValueFilter, "missing">, (value: string) => Fragment>> = {
    vendor: (value) => sql`e.attributes #>> '{vendor,value}' = ${value}`,
    productType: (value) => sql`e.attributes #>> '{product_type,value}' = ${value}`,
    tag: (value) => sql`position(${JSON.stringify(value)} IN e.attributes #>> '{tags,value}') > 0`
  }

  /** The filters by values of a product. */
  const valuesOf = ({ missing: field, ...filters }: WindowFilters) => [
    ...(["vendor", "productType", "tag"] as const).flatMap((key) => {
      const value = filters[key]
      return value === undefined ? [] : [{ ...facetsOf(key, value), condition: conditionOf[key](value) }]
    }),
    ...(field === undefined ? [] : [{ ...facetsOf("missing", field), condition: missing[field] }])
  ]

  /** `lookUp`: OFFSET 0 makes PostgreSQL look up each entity by key, instead of joining whole tables. */
  const onEntity = (
    accountId: AccountId,
    { hasOwnValues, needles, state, storeId }: WindowFilters,
    lookUp: Fragment,
    values: ReadonlyArray<Fragment>
  ): ReadonlyArray<Fragment> => {
    const hasVersion = (conditions: ReadonlyArray<Fragment>) => sql`EXISTS (
      SELECT FROM store_version v WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND ${sql.and(conditions)} ${lookUp}
    )`
    const onStore = storeId === undefined ? [] : [sql`v.store_id = ${storeId}`]
    return [
      ...(storeId === undefined
        ? inState("e", state)
        : state === "absent"
          ? [sql`NOT ${storeId} = ANY (e.store_ids)`]
          : [sql`${storeId} = ANY (e.store_ids)`, hasVersion([...onStore, ...inState("v", state)])]),
      ...needles.map((needle) => sql`e.search_text LIKE ${likePattern(needle)}`),
      ...values,
      ...(hasOwnValues !== true ? [] : [hasVersion([sql`v.overrides <> '{}'`, ...onStore])])
    ]
  }

  /** Hides a condition from the planner. The facets say the same; with both, the planner would expect far too few rows. */
  const hideFromPlanner = (condition: Fragment) => sql`CASE WHEN ${condition} THEN true ELSE false END`

  return {
    /** For entities that are read in the order of the list. Empty without filters. */
    ofWindow: (accountId: AccountId, filters: WindowFilters) =>
      onEntity(
        accountId,
        filters,
        sql`OFFSET 0`,
        valuesOf(filters).map(({ condition }) => condition)
      ),
    /**
     * For entities that an index of the filters finds. Reading the values of many products takes most of the time, so values are
     * checked only if other values share their facets.
     */
    ofCandidates: (accountId: AccountId, kind: EntityKind, filters: WindowFilters): ReadonlyArray<Fragment> => {
      const values = valuesOf(filters)
      const hasFacets = kind === "product" && values.length > 0
      const checked = values
        .filter(({ isExact }) => !(hasFacets && isExact))
        .map(({ condition }) => hideFromPlanner(condition))
      return [
        ...(hasFacets
          ? [
              sql`entity_facets(e.kind, e.attributes, e.lacks_pictures) @> ${values.flatMap(({ found }) => found)}::text[]`
            ]
          : []),
        ...onEntity(accountId, filters, sql``, checked)
      ]
    }
  }
}
