import { Array as Arr, Schema } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { type Attributes, builtInFields, type EntityKind, typeOf, valueOf } from "../model/Attribute.ts"
import { compareFields } from "../model/FieldOrder.ts"
import type { StoreId } from "../model/Ids.ts"
import { isWritable } from "../model/KeyRules.ts"
import type { Store } from "../model/Store.ts"

/** The rules for which stores' values are compared to find divergence. */
export const DivergenceRules = Schema.Struct({
  texts: Schema.Literal("same_language", "all").annotations({
    description: "Texts are compared among the stores of one primary language, or among all stores."
  }),
  prices: Schema.Literal("same_currency", "all").annotations({
    description: "Prices are compared among the stores of one currency, or among all stores."
  })
}).annotations({ identifier: "DivergenceRules" })
export type DivergenceRules = typeof DivergenceRules.Type

/** The rules of a new account. */
export const defaultDivergence: DivergenceRules = { texts: "same_language", prices: "same_currency" }

/** The stores among which a field is compared: stores with the same language, stores with the same currency, or all. */
export type ComparedBy = "language" | "currency" | "all"

/**
 * How built-in fields are compared. A field that is not listed is compared among all stores. Scans pass the same table to SQL.
 *
 * By language: texts for shoppers. A handle is derived from the title. Product types, tags and option values (and a variant's
 * title, which joins the option values) are words that shoppers filter by. A file name is the same in every language.
 * By currency: amounts. All other fields are names, codes, measures and settings, which do not depend on either.
 */
const comparedBy: Readonly<Record<EntityKind, Readonly<Record<string, ComparedBy>>>> = {
  product: {
    title: "language",
    handle: "language",
    description_html: "language",
    product_type: "language",
    tags: "language",
    seo_title: "language",
    seo_description: "language"
  },
  variant: {
    title: "language",
    price: "currency",
    compare_at_price: "currency",
    option1: "language",
    option2: "language",
    option3: "language"
  },
  collection: {
    title: "language",
    handle: "language",
    description_html: "language",
    seo_title: "language",
    seo_description: "language"
  },
  media: { alt: "language" }
}

/** How metafields are compared, by type. A type that is not listed is compared among all stores. */
const comparedByType: Readonly<Record<string, ComparedBy>> = {
  single_line_text_field: "language",
  multi_line_text_field: "language",
  rich_text_field: "language",
  html: "language",
  "list.single_line_text_field": "language",
  money: "currency"
}

const underRules = (by: ComparedBy, { prices, texts }: DivergenceRules): ComparedBy =>
  (by === "language" && texts === "all") || (by === "currency" && prices === "all") ? "all" : by

const namesOf = (table: Readonly<Record<string, ComparedBy>>, by: ComparedBy, rules: DivergenceRules) =>
  Object.keys(table).filter((name) => underRules(table[name] ?? "all", rules) === by)

/** The built-in fields of an entity kind that are compared among all stores, or among the stores with the same language or currency. */
export const fieldsComparedBy = (by: ComparedBy, kind: EntityKind, rules: DivergenceRules): ReadonlyArray<string> =>
  namesOf(comparedBy[kind], by, rules)

/** The metafield types that are compared among all stores, or among the stores with the same language or currency. */
export const metafieldTypesComparedBy = (by: ComparedBy, rules: DivergenceRules): ReadonlyArray<string> =>
  namesOf(comparedByType, by, rules)

/** The stores of an account, and the rules by which their values are compared. */
export interface Comparison {
  readonly stores: ReadonlyMap<StoreId, Pick<Store, "primary_locale" | "currency">>
  readonly rules: DivergenceRules
}

/** A version's own values. */
type OwnValues = Pick<VersionState, "storeId" | "overrides">

/** The values of an entity, canonical and on its stores. `versions`: by domain. */
interface LayeredEntity<V extends OwnValues = OwnValues> extends Pick<Aggregate, "kind" | "attributes"> {
  readonly versions: ReadonlyArray<V>
}

export const layersOf = ({ attributes, versions }: LayeredEntity): ReadonlyArray<Attributes> => [
  attributes,
  ...versions.map(({ overrides }) => overrides)
]

export const comparedByOf = (aggregate: LayeredEntity, key: string, rules: DivergenceRules): ComparedBy => {
  const { kind } = aggregate
  const by = Object.hasOwn(builtInFields[kind], key)
    ? comparedBy[kind][key]
    : comparedByType[typeOf(kind, key, layersOf(aggregate))]
  return underRules(by ?? "all", rules)
}

/** The language of a locale, without region and script. Undefined: the language is unknown. */
const languageOf = (locale: string): string | undefined => {
  const language = /^[A-Za-z]{2,8}(?![A-Za-z0-9])/.exec(locale)?.[0].toLowerCase()
  return language === "und" ? undefined : language
}

/**
 * The currency code in upper case. Undefined: the text is not a currency code, or it is XXX, the ISO 4217 code for "no
 * currency".
 */
const currencyOf = (currency: string): string | undefined =>
  /^[A-Za-z]{3}$/.test(currency) && currency.toUpperCase() !== "XXX" ? currency.toUpperCase() : undefined

/** The group in which a store is compared. A store whose language or currency is unknown has a group of its own. */
const groupOf = (storeId: StoreId, by: ComparedBy, { stores }: Comparison): string => {
  const store = stores.get(storeId)
  switch (by) {
    case "all":
      return ""
    case "language":
      return languageOf(store?.primary_locale ?? "") ?? storeId
    case "currency":
      return currencyOf(store?.currency ?? "") ?? storeId
  }
}

/** The effective value of a key on a store. */
export const effectiveValue = (aggregate: Pick<LayeredEntity, "attributes">, version: OwnValues, key: string): string =>
  version.overrides[key]?.value ?? valueOf(aggregate.attributes, key)

/** The groups of stores within which a field's values differ, each ordered by domain. Empty for a read-only field. */
export const disagreeingGroups = <V extends OwnValues>(
  aggregate: LayeredEntity<V>,
  key: string,
  comparison: Comparison
): ReadonlyArray<ReadonlyArray<V>> => {
  if (!isWritable(aggregate.kind, key)) return []
  const by = comparedByOf(aggregate, key, comparison.rules)
  const groups = Arr.groupBy(aggregate.versions, ({ storeId }) => groupOf(storeId, by, comparison))
  return Object.values(groups).filter(
    (group) => new Set(group.map((version) => effectiveValue(aggregate, version, key))).size > 1
  )
}

/** The stores of all groups within which the values of a field differ. */
export const differingStores = (aggregate: LayeredEntity, key: string, comparison: Comparison): ReadonlySet<StoreId> =>
  new Set(disagreeingGroups(aggregate, key, comparison).flatMap((group) => group.map(({ storeId }) => storeId)))

/** The writable fields with different values on an entity's stores, in definition order. */
export const divergentFields = (aggregate: Aggregate, comparison: Comparison): ReadonlyArray<string> => {
  const overridden = new Set(aggregate.versions.flatMap(({ overrides }) => Object.keys(overrides)))
  return [...overridden]
    .filter((key) => disagreeingGroups(aggregate, key, comparison).length > 0)
    .sort(compareFields(aggregate.kind))
}
