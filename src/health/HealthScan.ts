import { Option } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { publishable } from "../drafts/Aggregate.ts"
import { type Comparison, differingStores, divergentFields, effectiveValue } from "../drafts/Divergence.ts"
import { type Attributes, EntityKind, titleOf, valueOf } from "../model/Attribute.ts"
import { isEmptyValue } from "../model/Emptiness.ts"
import { compareAnyFields, compareFields } from "../model/FieldOrder.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import type { Store } from "../model/Store.ts"
import {
  completenessLevels,
  type FieldValue,
  fieldType,
  type HealthDimension,
  type HealthIssue,
  type HealthResult,
  type HealthRules,
  type HealthSection,
  isPerStore,
  kindsWith,
  maxDuplicates,
  mostShownCharacters,
  sectionsOf
} from "./Health.ts"

// What a scan finds, as plain functions: the in-memory repository runs these, the database says the same in sets, and random catalogs
// through both agree on every number and row.

/** What a store can say of a field in other languages. */
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

/** A catalog as a scan reads it. */
export interface ScannedCatalog {
  /** With their versions on linked stores only. */
  readonly aggregates: ReadonlyArray<Aggregate>
  /** Linked ones, by domain. */
  readonly stores: ReadonlyArray<Pick<Store, "id" | "platform" | "locales" | "primary_locale" | "currency">>
  readonly rules: HealthRules
  /** What keys take. */
  readonly keys: KeyRules
  readonly sources: ReadonlyArray<TranslatableSource>
  readonly translations: ReadonlyArray<TranslatedValue>
}

/** A row of a section. */
export interface Finding {
  readonly section: HealthSection
  readonly entityId: EntityId
  readonly entityType: EntityKind
  readonly title: string
  readonly storeId: StoreId
  readonly locale: string | null
  readonly fields: ReadonlyArray<string>
  readonly values: ReadonlyArray<FieldValue> | null
  /** Members that only some sections have. */
  readonly more?: Pick<HealthIssue, "sku" | "duplicates" | "duplicates_count" | "reasons">
}

/** The entities that a dimension looks at. */
export const populationOf = (
  dimension: HealthDimension,
  rules: HealthRules
): { readonly kinds: ReadonlyArray<EntityKind>; readonly leastStores: number } => {
  switch (dimension) {
    case "completeness":
      return { kinds: kindsWith("required", rules), leastStores: 1 }
    case "media":
      return { kinds: ["product", "media"], leastStores: 1 }
    case "divergence":
      return { kinds: EntityKind.literals, leastStores: 2 }
    case "translations":
      return { kinds: ["product", "collection"], leastStores: 1 }
    case "sync":
    case "structure":
      return { kinds: EntityKind.literals, leastStores: 1 }
  }
}

const sortedFields = (kind: EntityKind, fields: Iterable<string>) => [...new Set(fields)].sort(compareFields(kind))

const sameIds = (left: ReadonlyArray<string> = [], right: ReadonlyArray<string> = []) =>
  left.length === right.length && left.every((id, index) => id === right[index])

const differingKeys = (left: Attributes, right: Attributes) =>
  [...Object.keys(left), ...Object.keys(right)].filter(
    (key) => left[key]?.value !== right[key]?.value || left[key]?.type !== right[key]?.type
  )

/** The fields in which a store differs from what it accepted; of one that accepted nothing, all that it would get. */
export const unpublishedFields = (
  aggregate: Aggregate,
  version: VersionState,
  variants: ReadonlyArray<Aggregate>
): ReadonlyArray<string> => {
  const now = publishable(aggregate, version, variants)
  const accepted = version.accepted ?? { attributes: {} }
  return sortedFields(aggregate.kind, [
    ...differingKeys(now.attributes, accepted.attributes),
    ...(sameIds(now.variants, accepted.variants) ? [] : ["variant_ids"]),
    ...(sameIds(now.media, accepted.media) ? [] : ["media_ids"]),
    ...(sameIds(now.members, accepted.members) ? [] : ["members"])
  ])
}

/**
 * Whether a dimension looks at entities on this store. A store without a platform cannot be published to: nothing there is
 * in step or out of step.
 */
export const isScanned = (dimension: HealthDimension, { platform }: Pick<Store, "platform">): boolean =>
  dimension !== "sync" || platform !== "none"

/** Whether an entity on these stores is checked: of the account (storeId null), or of one store. */
export const isChecked = (
  storeIds: ReadonlyArray<StoreId>,
  leastStores: number,
  scanned: ReadonlySet<StoreId>,
  storeId: StoreId | null
): boolean =>
  storeId === null
    ? storeIds.filter((id) => scanned.has(id)).length >= leastStores
    : scanned.has(storeId) && storeIds.includes(storeId)

/** A price of nothing, in any notation of a decimal number. */
const isZero = (value: string): boolean => /^-?0+(?:\.0+)?$/.test(value)

const cut = (value: string) => {
  const characters = [...value]
  return characters.length <= mostShownCharacters ? value : characters.slice(0, mostShownCharacters).join("")
}

type Rows = ReadonlyArray<Omit<Finding, "entityId" | "entityType" | "title">>

const row = (
  section: HealthSection,
  storeId: StoreId,
  fields: ReadonlyArray<string>,
  more: Partial<Pick<Finding, "locale" | "values" | "more">> = {}
): Rows => (fields.length === 0 ? [] : [{ section, storeId, fields, locale: null, values: null, ...more }])

/** What the aggregates say of each other. */
interface Surroundings {
  readonly variantsOf: (id: EntityId) => ReadonlyArray<Aggregate>
  readonly usedMedia: ReadonlySet<EntityId>
  readonly productOf: (variant: Aggregate) => Aggregate | undefined
  /** The other variants with the SKU of a variant, by id; none where it has no SKU. */
  readonly duplicatesOf: (variant: Aggregate) => ReadonlyArray<Aggregate>
  readonly comparison: Comparison
}

const surroundingsOf = ({ aggregates, rules, stores }: ScannedCatalog): Surroundings => {
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
    usedMedia: new Set(aggregates.flatMap(({ gallery }) => gallery.map(({ mediaId }) => mediaId))),
    productOf: ({ parentId }) => (parentId === null ? undefined : products.get(parentId)),
    duplicatesOf: ({ attributes, id }) =>
      (skus.get(valueOf(attributes, "sku")) ?? [])
        .filter((other) => other.id !== id)
        .sort((left, right) => (left.id < right.id ? -1 : 1)),
    comparison: { stores: new Map(stores.map((store) => [store.id, store])), rules: rules.divergence }
  }
}

const duplicateSku = (variant: Aggregate, { duplicatesOf, productOf }: Surroundings): NonNullable<Finding["more"]> => {
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

/** Whether a store would sell a variant of an active product for nothing. */
const isFreeOn = (variant: Aggregate, version: VersionState, { productOf }: Surroundings): boolean => {
  const product = productOf(variant)
  if (product === undefined || !isZero(effectiveValue(variant, version, "price"))) return false
  const there = product.versions.find(({ storeId }) => storeId === version.storeId)
  return (
    (there === undefined ? valueOf(product.attributes, "status") : effectiveValue(product, there, "status")) ===
    "active"
  )
}

/** The rows of one entity, by dimension. */
const rowsOf: Readonly<
  Record<HealthDimension, (aggregate: Aggregate, catalog: ScannedCatalog, around: Surroundings) => Rows>
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
      // One that failed may have been undone since: it has a row without fields.
      return sections.map((section) => ({ section, storeId: version.storeId, fields, locale: null, values: null }))
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
      // No field of its own is wrong.
      if (!usedMedia.has(aggregate.id))
        return [{ section: "media-unused", storeId: version.storeId, fields: [], locale: null, values: null }]
      return isEmptyValue("single_line_text_field", effectiveValue(aggregate, version, "alt"))
        ? row("media-alt-missing", version.storeId, ["alt"])
        : []
    }),
  structure: (aggregate, { keys, rules }, around) => {
    const { attributes, kind } = aggregate
    return aggregate.versions.flatMap((version) => {
      const values = Object.entries({ ...attributes, ...version.overrides })
      const free =
        kind === "variant" && rules.structure.zero_price === "issue" && isFreeOn(aggregate, version, around)
          ? [{ field: "price", reason: "zero_price" as const }]
          : []
      return [
        ...(kind === "product" && around.variantsOf(aggregate.id).length === 0
          ? row("structure-no-variants", version.storeId, ["variant_ids"])
          : []),
        ...(kind === "variant" && around.duplicatesOf(aggregate).length > 0
          ? row("structure-duplicate-sku", version.storeId, ["sku"], { more: duplicateSku(aggregate, around) })
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
      const values = fields.map((field) => ({ field, value: cut(effectiveValue(aggregate, version, field)) }))
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
  const [those, these] = [left, right].map(({ entityId, locale, storeId }) => `${entityId} ${storeId} ${locale ?? ""}`)
  return String(those) < String(these) ? -1 : 1
}

/** The rows of a dimension's sections, each section by entity, store and locale. `storeId`: of that store alone. */
export const findingsOf = (
  dimension: HealthDimension,
  catalog: ScannedCatalog,
  storeId: Option.Option<StoreId>
): ReadonlyArray<Finding> => {
  const around = surroundingsOf(catalog)
  return catalog.aggregates
    .flatMap((aggregate) =>
      rowsOf[dimension](aggregate, catalog, around).map((found) => ({
        entityId: aggregate.id,
        entityType: aggregate.kind,
        title: titleOf(aggregate.kind, aggregate.attributes),
        ...found
      }))
    )
    .filter((finding) => Option.isNone(storeId) || finding.storeId === storeId.value)
    .sort(inOrder)
}

/** What a scan counted, of the account or of one store; nothing is in an order yet, and what is none may be missing. */
export interface Counts {
  readonly checked: number
  /** Of completeness: with a required field empty. */
  readonly affected: number
  readonly onNoStore: number
  /** Completeness alone: entities of kinds with a recommended field. */
  readonly recommendedChecked: number
  readonly byStore: ReadonlyMap<StoreId, { readonly checked: number; readonly affected: number }>
  /** Entities by field. */
  readonly byField: ReadonlyMap<string, number>
  readonly bySection: ReadonlyMap<string, { readonly rows: number; readonly entities: number }>
  /** Entities by locale. */
  readonly byLocale: ReadonlyMap<string, number>
  /** Unused media on no store; of other dimensions 0. */
  readonly unusedOnNoStore: number
}

/** 100 x (checked - affected) / checked, rounded down. */
export const scoreOf = (checked: number, affected: number): number =>
  checked === 0 ? 100 : Math.floor((100 * (checked - affected)) / checked)

/** Counts in the shape of an answer. `storeIds`: the linked ones that it is about, by domain. */
export const resultOf = (
  dimension: HealthDimension,
  counts: Counts,
  storeIds: ReadonlyArray<StoreId>,
  { divergence, structure, ...rules }: HealthRules
): HealthResult => {
  const { affected, byField, byLocale, bySection, byStore, checked, onNoStore } = counts
  const entities = (section: HealthSection) => bySection.get(section)?.entities ?? 0
  const head = {
    checked,
    affected,
    score: scoreOf(checked, affected),
    on_no_store: onNoStore,
    by_store: storeIds.map((id) => ({ store_id: id, ...(byStore.get(id) ?? { checked: 0, affected: 0 }) })),
    by_field: [...byField]
      .map(([field, affected]) => ({ field, affected }))
      .sort((left, right) => compareAnyFields(left.field, right.field)),
    by_section: sectionsOf(dimension).map((section) => ({ section, rows: bySection.get(section)?.rows ?? 0 }))
  }
  switch (dimension) {
    case "sync":
      return {
        ...head,
        failed: entities("sync-failed"),
        pending: entities("sync-pending"),
        never_published: entities("sync-never-published")
      }
    case "completeness":
      return {
        ...head,
        required: entities("completeness-required"),
        recommended: entities("completeness-recommended"),
        by_level: completenessLevels.map((level) => {
          const checkedOfLevel = level === "required" ? checked : counts.recommendedChecked
          const affectedOfLevel = entities(`completeness-${level}`)
          return {
            level,
            checked: checkedOfLevel,
            affected: affectedOfLevel,
            score: scoreOf(checkedOfLevel, affectedOfLevel)
          }
        }),
        rules
      }
    case "media":
      return {
        ...head,
        unused: entities("media-unused"),
        missing: entities("media-missing"),
        alt_missing: entities("media-alt-missing"),
        unused_on_no_store: counts.unusedOnNoStore
      }
    case "structure":
      return {
        ...head,
        no_variants: entities("structure-no-variants"),
        duplicate_sku: entities("structure-duplicate-sku"),
        empty_collection: entities("structure-empty-collection"),
        invalid_value: entities("structure-invalid-value"),
        rules: structure
      }
    case "divergence":
      return { ...head, compared: checked, rules: divergence }
    case "translations":
      return {
        ...head,
        untranslated: entities("translations-untranslated"),
        outdated: entities("translations-outdated"),
        by_locale: [...byLocale]
          .map(([locale, affected]) => ({ locale, affected }))
          .sort((left, right) => (left.locale < right.locale ? -1 : 1))
      }
  }
}

const countBy = <A>(items: ReadonlyArray<A>, keysOf: (item: A) => ReadonlyArray<string>, idOf: (item: A) => string) => {
  const ids = new Map<string, Set<string>>()
  for (const item of items) for (const key of keysOf(item)) ids.set(key, (ids.get(key) ?? new Set()).add(idOf(item)))
  return new Map([...ids].map(([key, all]) => [key, all.size]))
}

/** The numbers of a scan: of the account, or of one store. */
export const countsOf = (
  dimension: HealthDimension,
  catalog: ScannedCatalog,
  findings: ReadonlyArray<Finding>,
  storeId: Option.Option<StoreId>
): Counts => {
  const { kinds, leastStores } = populationOf(dimension, catalog.rules)
  const { usedMedia } = surroundingsOf(catalog)
  const scanned = new Set(catalog.stores.filter((store) => isScanned(dimension, store)).map(({ id }) => id))
  const asked = catalog.aggregates.filter(({ kind }) => kinds.includes(kind))
  const checkedOf = (aggregates: ReadonlyArray<Aggregate>, of: StoreId | null) =>
    aggregates.filter(({ storeIds }) => isChecked(storeIds, leastStores, scanned, of))
  const checked = checkedOf(asked, Option.getOrNull(storeId))
  const recommended = kindsWith("recommended", catalog.rules)
  const nowhere = Option.isSome(storeId) ? [] : asked.filter(({ storeIds }) => storeIds.length === 0)
  const idOf = ({ entityId }: Finding) => entityId
  const scored =
    dimension === "completeness" ? findings.filter(({ section }) => section === "completeness-required") : findings
  const affectedBy = countBy(scored, (finding) => [finding.storeId], idOf)
  const entitiesBy = countBy(findings, ({ section }) => [section], idOf)
  const rowsBy = (section: HealthSection) => findings.filter((finding) => finding.section === section).length
  return {
    checked: checked.length,
    affected: new Set(scored.map(idOf)).size,
    onNoStore: nowhere.length,
    recommendedChecked: checkedOf(
      catalog.aggregates.filter(({ kind }) => recommended.includes(kind)),
      Option.getOrNull(storeId)
    ).length,
    byStore: new Map(
      catalog.stores.map(({ id }) => [
        id,
        {
          checked: scanned.has(id) ? checked.filter(({ storeIds }) => storeIds.includes(id)).length : 0,
          affected: affectedBy.get(id) ?? 0
        }
      ])
    ),
    byField: countBy(findings, ({ fields }) => fields, idOf),
    bySection: new Map(
      sectionsOf(dimension).map((section) => [
        section,
        { rows: rowsBy(section), entities: entitiesBy.get(section) ?? 0 }
      ])
    ),
    byLocale: countBy(findings, ({ locale }) => (locale === null ? [] : [locale]), idOf),
    unusedOnNoStore:
      dimension === "media" ? nowhere.filter(({ id, kind }) => kind === "media" && !usedMedia.has(id)).length : 0
  }
}

/** What a scan writes: the snapshot of the account, or of one store, and its rows. */
export interface ScannedSnapshot {
  readonly dimension: HealthDimension
  /** null: of the account. */
  readonly storeId: StoreId | null
  readonly result: HealthResult
  readonly findings: ReadonlyArray<Finding>
}

/**
 * The snapshots that a scan gives: that of one store, or that of the account and, where stores have their own, those of
 * all stores.
 */
export const scan = (
  dimension: HealthDimension,
  catalog: ScannedCatalog,
  storeId: Option.Option<StoreId>
): ReadonlyArray<ScannedSnapshot> => {
  const all = findingsOf(dimension, catalog, storeId)
  const snapshot = (of: Option.Option<StoreId>): ScannedSnapshot => {
    const findings = all.filter((finding) => Option.isNone(of) || finding.storeId === of.value)
    const storeIds = Option.match(of, {
      onNone: () => catalog.stores.map(({ id }) => id),
      onSome: (id) => [id]
    })
    return {
      dimension,
      storeId: Option.getOrNull(of),
      result: resultOf(dimension, countsOf(dimension, catalog, findings, of), storeIds, catalog.rules),
      findings
    }
  }
  return Option.isSome(storeId)
    ? [snapshot(storeId)]
    : [
        snapshot(Option.none()),
        ...(isPerStore(dimension) ? catalog.stores.map(({ id }) => snapshot(Option.some(id))) : [])
      ]
}
