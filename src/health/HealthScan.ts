import { EntityKind } from "../model/Attribute.ts"
import { compareAnyFields } from "../model/FieldOrder.ts"
import type { StoreId } from "../model/Ids.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import {
  completenessLevels,
  type HealthDimension,
  type HealthResult,
  type HealthRules,
  type HealthSection,
  kindsWith,
  sectionsOf
} from "./Health.ts"

/** The section of unused files on no store. Its rows are counted and never listed. */
export const unusedOnNoStore = "media-unused-on-no-store"

/** The kinds that a dimension checks, and the minimum number of stores of a checked entity. */
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

/** Whether a dimension includes this store. The sync dimension leaves out stores without a platform. */
export const isScanned = (dimension: HealthDimension, { platform }: Pick<Store, "platform">): boolean =>
  dimension !== "sync" || platform !== filesOnly

/** Whether the snapshot of the account (`storeId` null) or of a store checks an entity that is on these stores. */
export const isChecked = (
  storeIds: ReadonlyArray<StoreId>,
  leastStores: number,
  scanned: ReadonlySet<StoreId>,
  storeId: StoreId | null
): boolean =>
  storeId === null
    ? storeIds.filter((id) => scanned.has(id)).length >= leastStores
    : scanned.has(storeId) && storeIds.includes(storeId)

/** The counts of one snapshot. Maps are unordered, and may leave out zeros. */
export interface Counts {
  readonly checked: number
  /** Entities with an issue. Completeness: entities with an empty required field. */
  readonly affected: number
  readonly onNoStore: number
  /** Checked entities of kinds with a recommended field. Only completeness uses it. */
  readonly recommendedChecked: number
  readonly byStore: ReadonlyMap<StoreId, { readonly checked: number; readonly affected: number }>
  /** Entities by field. */
  readonly byField: ReadonlyMap<string, number>
  readonly bySection: ReadonlyMap<string, { readonly rows: number; readonly entities: number }>
  /** Entities by locale. */
  readonly byLocale: ReadonlyMap<string, number>
  /** Unused media on no store. 0 in other dimensions. */
  readonly unusedOnNoStore: number
}

/** 100 x (checked - affected) / checked, rounded down. */
export const scoreOf = (checked: number, affected: number): number =>
  checked === 0 ? 100 : Math.floor((100 * (checked - affected)) / checked)

/** The result of a scan from its counts. `storeIds`: the linked stores in the snapshot, by domain. */
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
