import { Option } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { publishable } from "../drafts/Aggregate.ts"
import { differencesOf } from "../drafts/Difference.ts"
import { type Comparison, differingStores, divergentFields, effectiveValue } from "../drafts/Divergence.ts"
import { type EntityKind, titleOf, valueOf } from "../model/Attribute.ts"
import { isEmptyValue } from "../model/Emptiness.ts"
import { compareFields } from "../model/FieldOrder.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import type { Store } from "../model/Store.ts"
import {
  type FieldValue,
  fieldType,
  type HealthDimension,
  type HealthIssue,
  type HealthRules,
  type HealthSection,
  maxDuplicates,
  maxShownCharacters
} from "./Health.ts"
import { isScanned } from "./HealthScan.ts"

// The rules of every section as plain functions. `scans/` has the same rules in SQL. A test with random catalogs
// compares their rows.

/** A field of an entity that a store can translate. */
export interface TranslatableSource {
  readonly storeId: StoreId
  readonly entityId: EntityId
  readonly key: string
  readonly sourceLocale: string
  readonly sourceValue: string
}

export interface TranslatedValue {
  readonly storeId: StoreId
  readonly entityId: EntityId
  readonly locale: string
  readonly key: string
  readonly value: string
  readonly outdated: boolean
}

/** The part of an account's catalog that a scan reads. */
export interface ScannedCatalog {
  /** Entities, with their versions on linked stores only. */
  readonly aggregates: ReadonlyArray<Aggregate>
  /** The linked stores, by domain. */
  readonly stores: ReadonlyArray<Pick<Store, "id" | "platform" | "locales" | "primary_locale" | "currency">>
  readonly rules: HealthRules
  readonly keys: KeyRules
  readonly sources: ReadonlyArray<TranslatableSource>
  readonly translations: ReadonlyArray<TranslatedValue>
}

/** An issue on one store. */
export interface Finding {
  readonly section: HealthSection
  readonly entityId: EntityId
  readonly entityType: EntityKind
  readonly title: string
  readonly storeId: StoreId
  readonly locale: string | null
  readonly fields: ReadonlyArray<string>
  readonly values: ReadonlyArray<FieldValue> | null
  readonly more?: Pick<HealthIssue, "sku" | "duplicates" | "duplicates_count" | "reasons" | "last_publish_error">
}

const sortedFields = (kind: EntityKind, fields: Iterable<string>) => [...new Set(fields)].sort(compareFields(kind))

/**
 * The fields whose draft differs from the value that the store accepted last. If the store never accepted the entity:
 * all fields with a value.
 */
const unpublishedFields = (
  aggregate: Aggregate,
  version: VersionState,
  variants: ReadonlyArray<Aggregate>
): ReadonlyArray<string> =>
  differencesOf(aggregate.kind, version.accepted, publishable(aggregate, version, variants)).map(({ key }) => key)

/** Matches the number zero in any decimal notation. */
const isZero = (value: string): boolean => /^-?0+(?:\.0+)?$/.test(value)

const shorten = (value: string) => {
  const characters = [...value]
  return characters.length <= maxShownCharacters ? value : characters.slice(0, maxShownCharacters).join("")
}

type Rows = ReadonlyArray<Omit<Finding, "entityId" | "entityType" | "title">>

const row = (
  section: HealthSection,
  storeId: StoreId,
  fields: ReadonlyArray<string>,
  more: Partial<Pick<Finding, "locale" | "values" | "more">> = {}
): Rows => (fields.length === 0 ? [] : [{ section, storeId, fields, locale: null, values: null, ...more }])

/** Lookups of related aggregates. */
interface Relations {
  readonly variantsOf: (id: EntityId) => ReadonlyArray<Aggregate>
  readonly usedMedia: ReadonlySet<EntityId>
  readonly productOf: (variant: Aggregate) => Aggregate | undefined
  /** The other variants with the SKU of a variant, by id. Empty if it has no SKU. */
  readonly duplicatesOf: (variant: Aggregate) => ReadonlyArray<Aggregate>
  readonly comparison: Comparison
}

/** Media that at least one gallery shows. */
export const usedMedia = (aggregates: ReadonlyArray<Aggregate>): ReadonlySet<EntityId> =>
  new Set(aggregates.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId)))

const relationsOf = ({ aggregates, rules, stores }: ScannedCatalog): Relations => {
  const variants = new Map<EntityId, Array<Aggregate>>()
  const skus = new Map<string, Array<Aggregate>>()
  const products = new Map(aggregates.flatMap((each) => (each.kind === "product" ? [[each.id, each]] : [])))
  for (const aggregate of aggregates) {
    if (aggregate.parentId === null) continue
    variants.set(aggregate.parentId, [...(variants.get(aggregate.parentId) ?? []), aggregate])
    const sku = valueOf(aggregate.attributes, "sku")
    if (!isEmptyValue("single_line_text_field", sku)) skus.set(sku, [...(skus.get(sku) ?? []), aggregate])
  }
  for (const siblings of variants.values())
    siblings.sort((left, right) => (left.position ?? 0) - (right.position ?? 0) || (left.id < right.id ? -1 : 1))
  return {
    variantsOf: (id) => variants.get(id) ?? [],
    usedMedia: usedMedia(aggregates),
    productOf: ({ parentId }) => (parentId === null ? undefined : products.get(parentId)),
    duplicatesOf: ({ attributes, id }) =>
      (skus.get(valueOf(attributes, "sku")) ?? [])
        .filter((other) => other.id !== id)
        .sort((left, right) => (left.id < right.id ? -1 : 1)),
    comparison: { stores: new Map(stores.map((store) => [store.id, store])), rules: rules.divergence }
  }
}

const duplicateSku = (variant: Aggregate, { duplicatesOf, productOf }: Relations): NonNullable<Finding["more"]> => {
  const others = duplicatesOf(variant)
  return {
    sku: valueOf(variant.attributes, "sku"),
    duplicates: others.slice(0, maxDuplicates).flatMap((other) => {
      const product = productOf(other)
      return product === undefined
        ? []
        : [
            {
              entity_id: other.id,
              title: titleOf(other.kind, other.attributes),
              product_id: product.id,
              product_title: titleOf(product.kind, product.attributes)
            }
          ]
    }),
    duplicates_count: others.length
  }
}

/** Whether a variant of an active product costs nothing on the store of this version. */
const isFreeOn = (variant: Aggregate, version: VersionState, { productOf }: Relations): boolean => {
  const product = productOf(variant)
  if (product === undefined || !isZero(effectiveValue(variant, version, "price"))) return false
  const productVersion = product.versions.find(({ storeId }) => storeId === version.storeId)
  return (
    (productVersion === undefined
      ? valueOf(product.attributes, "status")
      : effectiveValue(product, productVersion, "status")) === "active"
  )
}

/** Finds the issues of one entity, by dimension. */
const rowsOf: Readonly<
  Record<HealthDimension, (aggregate: Aggregate, catalog: ScannedCatalog, relations: Relations) => Rows>
> = {
  sync: (aggregate, { stores }, { variantsOf }) =>
    aggregate.versions.flatMap((version): Rows => {
      const store = stores.find(({ id }) => id === version.storeId)
      if (store === undefined || !isScanned("sync", store)) return []
      const sections: ReadonlyArray<HealthSection> = [
        ...(version.lastPublishStatus === "failed" ? (["sync-failed"] as const) : []),
        ...(version.pendingPublish ? (["sync-pending"] as const) : []),
        ...(version.lastPublishStatus === "never_published" ? (["sync-never-published"] as const) : [])
      ]
      const fields = sections.length === 0 ? [] : unpublishedFields(aggregate, version, variantsOf(aggregate.id))
      // A row may have no fields: an edit after a failed publish can restore the accepted values.
      const error = version.lastPublishError
      return sections.map((section) => ({
        section,
        storeId: version.storeId,
        fields,
        locale: null,
        values: null,
        ...(section === "sync-failed" &&
          error !== null && { more: { last_publish_error: { code: error.code, message: shorten(error.message) } } })
      }))
    }),
  completeness: (aggregate, { rules }) =>
    aggregate.versions.flatMap((version) => {
      const missing = (fields: ReadonlyArray<string>) =>
        sortedFields(
          aggregate.kind,
          fields.filter((field) =>
            isEmptyValue(fieldType(aggregate.kind, field), effectiveValue(aggregate, version, field))
          )
        )
      return [
        ...row("completeness-required", version.storeId, missing(rules[aggregate.kind].required)),
        ...row("completeness-recommended", version.storeId, missing(rules[aggregate.kind].recommended))
      ]
    }),
  media: (aggregate, _, { usedMedia }) =>
    aggregate.versions.flatMap((version) => {
      if (aggregate.kind === "product")
        return aggregate.gallery.some(({ storeIds }) => storeIds.includes(version.storeId))
          ? []
          : row("media-missing", version.storeId, ["media_ids"])
      if (aggregate.kind !== "media") return []
      if (!usedMedia.has(aggregate.id))
        return [{ section: "media-unused", storeId: version.storeId, fields: [], locale: null, values: null }]
      return isEmptyValue("single_line_text_field", effectiveValue(aggregate, version, "alt"))
        ? row("media-alt-missing", version.storeId, ["alt"])
        : []
    }),
  structure: (aggregate, { keys, rules }, relations) => {
    const { attributes, kind } = aggregate
    return aggregate.versions.flatMap((version) => {
      const values = Object.entries({ ...attributes, ...version.overrides })
      const free =
        kind === "variant" && rules.structure.zero_price === "issue" && isFreeOn(aggregate, version, relations)
          ? [{ field: "price", reason: "zero_price" as const }]
          : []
      return [
        ...(kind === "product" && relations.variantsOf(aggregate.id).length === 0
          ? row("structure-no-variants", version.storeId, ["variant_ids"])
          : []),
        ...(kind === "variant" && relations.duplicatesOf(aggregate).length > 0
          ? row("structure-duplicate-sku", version.storeId, ["sku"], { more: duplicateSku(aggregate, relations) })
          : []),
        ...(kind === "collection" && aggregate.members.length === 0
          ? row("structure-empty-collection", version.storeId, ["members"])
          : []),
        ...row(
          "structure-invalid-value",
          version.storeId,
          sortedFields(kind, [
            ...values.flatMap(([key, value]) => (keys.fits(kind, key, value) ? [] : [key])),
            ...free.map(({ field }) => field)
          ]),
          free.length === 0 ? {} : { more: { reasons: free } }
        )
      ]
    })
  },
  divergence: (aggregate, _, { comparison }) => {
    const divergent = divergentFields(aggregate, comparison).map((key) => ({
      key,
      storeIds: differingStores(aggregate, key, comparison)
    }))
    return aggregate.versions.flatMap((version) => {
      const fields = divergent.flatMap(({ key, storeIds }) =>
        storeIds.has(version.storeId) && effectiveValue(aggregate, version, key) !== valueOf(aggregate.attributes, key)
          ? [key]
          : []
      )
      const values = fields.map((field) => ({ field, value: shorten(effectiveValue(aggregate, version, field)) }))
      return row("divergence", version.storeId, fields, { values })
    })
  },
  translations: (aggregate, { sources, stores, translations }) =>
    aggregate.kind !== "product" && aggregate.kind !== "collection"
      ? []
      : aggregate.versions.flatMap(({ storeId }) => {
          const isHere = (other: { readonly storeId: StoreId; readonly entityId: EntityId }) =>
            other.storeId === storeId && other.entityId === aggregate.id
          const translated = translations.filter(isHere)
          const translatable = sources.filter((source) => isHere(source) && source.sourceValue !== "")
          const locales = new Set([
            ...(stores.find(({ id }) => id === storeId)?.locales ?? []),
            ...translated.map(({ locale }) => locale)
          ])
          const isSold = (locale: string) => stores.find(({ id }) => id === storeId)?.locales.includes(locale) ?? false
          return [...locales].flatMap((locale) => {
            const inLocale = translated.filter((translation) => translation.locale === locale)
            const without = translatable.filter(
              ({ key, sourceLocale }) =>
                sourceLocale !== locale && !inLocale.some((other) => other.key === key && other.value !== "")
            )
            const byKey = (keys: ReadonlyArray<string>) => [...new Set(keys)].sort()
            const outdated = inLocale.filter((translation) => translation.outdated && translation.value !== "")
            return [
              ...(isSold(locale)
                ? row("translations-untranslated", storeId, byKey(without.map(({ key }) => key)), { locale })
                : []),
              ...row("translations-outdated", storeId, byKey(outdated.map(({ key }) => key)), { locale })
            ]
          })
        })
}

const inOrder = (left: Finding, right: Finding): number => {
  const [a, b] = [left, right].map(({ entityId, locale, storeId }) => `${entityId} ${storeId} ${locale ?? ""}`)
  return String(a) < String(b) ? -1 : 1
}

/** The issues of a dimension on all stores or on one, ordered by entity, store and locale. */
export const findingsOf = (
  dimension: HealthDimension,
  catalog: ScannedCatalog,
  storeId: Option.Option<StoreId>
): ReadonlyArray<Finding> => {
  const relations = relationsOf(catalog)
  return catalog.aggregates
    .flatMap((aggregate) =>
      rowsOf[dimension](aggregate, catalog, relations).map((found) => ({
        entityId: aggregate.id,
        entityType: aggregate.kind,
        title: titleOf(aggregate.kind, aggregate.attributes),
        ...found
      }))
    )
    .filter((finding) => Option.isNone(storeId) || finding.storeId === storeId.value)
    .sort(inOrder)
}
