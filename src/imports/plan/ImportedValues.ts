import type { Aggregate } from "../../catalog/Aggregate.ts"
import { builtInFields, type EntityKind, isReservedKey, typeOf, valueOf } from "../../model/Attribute.ts"
import type { StoreId } from "../../model/Ids.ts"
import { noOption, noOptions, optionKeys, titleByOptions } from "../../model/ProductOptions.ts"
import { sameOnPlatform, sameValue } from "../../model/SameValue.ts"
import type { ImportSource, StoreEntity, Values } from "../StoreProduct.ts"
import { sameOptions } from "../StoreValue.ts"
import { effectiveOn, livesOnlyOn, versionOn } from "./StoreVersion.ts"

/** Fields of a media file that the platform sets itself, because it stores files at its own addresses. */
const platformFileKeys: ReadonlyArray<string> = Object.keys(builtInFields.media).filter((key) => key !== "alt")

/** The keys whose values the platform sets itself and does not take from a publish. */
const listPlatformKeys = (entity: Aggregate, { values }: StoreEntity, storeId: StoreId): ReadonlyArray<string> => {
  switch (entity.kind) {
    case "product":
    case "collection":
      return []
    case "media":
      return platformFileKeys
    case "variant": {
      const accepted = versionOn(entity, storeId)?.accepted?.attributes ?? {}
      const isOwn = valueOf(accepted, "title") !== titleByOptions((key) => valueOf(accepted, key))
      return isOwn && values.title === titleByOptions((key) => values[key] ?? "") ? ["title"] : []
    }
  }
}

/** The keys that the source covers. A complete source covers all keys: a key that it lacks is empty in the store. */
const listCoveredKeys = (entity: Aggregate, imported: StoreEntity, { isComplete, storeId }: ImportSource) => {
  const importedKeys = Object.keys(imported.values)
  if (!isComplete) return importedKeys
  const layers = [effectiveOn(entity, storeId), versionOn(entity, storeId)?.accepted?.attributes ?? {}]
  // Files have no metafields on the platforms.
  const metafields = entity.kind === "media" ? [] : layers.flatMap(Object.keys).filter((key) => key.includes("."))
  const platformKeys = imported.isOurs ? listPlatformKeys(entity, imported, storeId) : []
  const all = new Set([...Object.keys(builtInFields[entity.kind]), ...metafields, ...importedKeys])
  return [...all].filter((key) => !platformKeys.includes(key))
}

/**
 * Whether a value counts as unchanged because the file lacks it. A file has no titles of variants, so an import derives them
 * from the options. It has no weight unit for a variant without a weight, and a weight without a unit is in grams.
 */
const isUntold = (
  { kind }: Aggregate,
  key: string,
  candidate: string,
  { values }: StoreEntity,
  now: (key: string) => string
) =>
  kind === "variant" &&
  (key === "title"
    ? optionKeys.every((option) => values[option] === undefined || values[option] === now(option))
    : key === "weight_unit" && candidate === "" && (values.weight === "" || values.weight_unit === "g"))

/** Values that platforms give fields that a publish left empty (recorded from Shopify's Admin API). A vendor is the shop's name. */
const filledByPlatform: Readonly<Record<EntityKind, Values>> = {
  product: { status: "active", options: noOptions },
  variant: { title: noOption.value, option1: noOption.value, price: "0", taxable: "true", requires_shipping: "true" },
  collection: { sort_order: "best-selling" },
  media: {}
}

/** Whether a platform that accepted one value returns the other, without an edit in the store. */
const isAsAccepted = (
  { kind }: Aggregate,
  key: string,
  type: string,
  accepted: string,
  { values }: StoreEntity,
  { storeName }: ImportSource
) => {
  const returned = values[key] ?? ""
  const filled = key === "vendor" ? storeName : filledByPlatform[kind][key]
  if (sameOnPlatform(key, type, accepted, returned)) return true
  // A publish does not send a reserved metafield to a store that lacks it.
  if (isReservedKey(key)) return returned === ""
  if (accepted !== "") return false
  // A weight of 0 has a unit on a platform, though none was sent.
  if (kind === "variant" && key === "weight_unit") return Number(values.weight || 0) === 0
  return filled !== undefined && sameValue(key, type, filled, returned)
}

/**
 * The store's values of an entity. A platform may write an equal value in another form. If a value is equal to the accepted
 * value, or else to the current draft, that form is returned, so that it does not count as a change. `isLater`: whether options
 * differ from those of the store only by values of variants that the store does not have; such options also count as equal.
 */
export const readValues = (
  entity: Aggregate,
  imported: StoreEntity,
  source: ImportSource,
  isLater: (options: string) => boolean = () => false
): Values => {
  const accepted = versionOn(entity, source.storeId)?.accepted?.attributes
  const now = effectiveOn(entity, source.storeId)
  const isOnlyStore = livesOnlyOn(entity, source.storeId)
  return Object.fromEntries(
    listCoveredKeys(entity, imported, source).map((key) => {
      const value = imported.values[key] ?? ""
      const type = imported.types?.[key] ?? typeOf(entity.kind, key, [now, accepted ?? {}])
      if (accepted !== undefined && source.isComplete) {
        const before = valueOf(accepted, key)
        if (isAsAccepted(entity, key, type, before, imported, source)) return [key, before]
      }
      const isSame = (candidate: string) =>
        sameValue(key, type, candidate, value) ||
        (!source.isComplete && isUntold(entity, key, candidate, imported, (option) => valueOf(now, option))) ||
        // Stores share the order of variants, and therefore the order of option values.
        (key === "options" && !isOnlyStore && sameOptions(candidate, value)) ||
        (key === "options" && isLater(candidate))
      const candidates = [...(accepted === undefined ? [] : [valueOf(accepted, key)]), valueOf(now, key)]
      return [key, candidates.find(isSame) ?? value]
    })
  )
}

/** The types of keys that the entity does not have yet. */
export const findNewTypes = (entity: Aggregate, types: Values = {}): Values => {
  const layers = [
    entity.attributes,
    ...entity.versions.flatMap(({ accepted, overrides }) => [overrides, accepted?.attributes ?? {}])
  ]
  return Object.fromEntries(Object.entries(types).filter(([key]) => !layers.some((layer) => layer[key] !== undefined)))
}
