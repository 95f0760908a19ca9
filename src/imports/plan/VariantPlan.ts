import type { Aggregate } from "../../catalog/Aggregate.ts"
import { effective, valueOf } from "../../model/Attribute.ts"
import type { EntityId, StoreId } from "../../model/Ids.ts"
import { joinOptions, optionKeys, readOptions } from "../../model/ProductOptions.ts"
import type { StoreProduct, StoreVariant, Values } from "../StoreProduct.ts"
import { sameOptions } from "../StoreValue.ts"
import type { ImportMatch } from "./ImportPlan.ts"
import { effectiveOn, versionOn } from "./StoreVersion.ts"

/** The keys by which an existing variant is found: its entity id, and its canonical and effective SKUs and option values. */
const keysOf = (variant: Aggregate, storeId: StoreId) => {
  const layers = [variant.attributes, effectiveOn(variant, storeId)]
  return [
    `id:${variant.id}`,
    ...layers.map((attributes) => `sku:${valueOf(attributes, "sku")}`),
    ...layers.map((attributes) => `options:${joinOptions((key) => valueOf(attributes, key))}`)
  ]
}

/**
 * Pairs each variant of the store with an existing variant: by entity id if the source has it, else by SKU, else by options. A key
 * that several unpaired variants have pairs none of them.
 */
export const matchVariants = (
  imported: ReadonlyArray<StoreVariant>,
  here: ReadonlyArray<Aggregate>,
  storeId: StoreId
) => {
  const keys = new Map(here.map((variant) => [variant, keysOf(variant, storeId)]))
  const free = new Map<string, Set<Aggregate>>()
  for (const [variant, own] of keys)
    for (const key of own) {
      const variants = free.get(key)
      if (variants === undefined) free.set(key, new Set([variant]))
      else variants.add(variant)
    }
  const take = (key: string) => {
    const candidates = free.get(key)
    const [only] = candidates?.size === 1 ? candidates : []
    if (only !== undefined) for (const each of keys.get(only) ?? []) free.get(each)?.delete(only)
    return only
  }
  const byId = imported.map(({ entityId }) => (entityId ? take(`id:${entityId}`) : undefined))
  const bySku = imported.map(({ values }, index) => byId[index] ?? (values.sku ? take(`sku:${values.sku}`) : undefined))
  return imported.map(({ values }, index) => bySku[index] ?? take(`options:${joinOptions((key) => values[key] ?? "")}`))
}

/**
 * A variant of the source, by its index, that gets option values which a variant outside the source has on the store. undefined: none
 * does. A shop takes no two variants with the same option values.
 */
export const findSameOptions = (
  imported: StoreProduct,
  variantIds: ReadonlyArray<EntityId>,
  { variants }: ImportMatch,
  storeId: StoreId
): { readonly index: number; readonly other: Aggregate } | undefined => {
  const now = new Map(
    variants
      .filter((variant) => versionOn(variant, storeId) !== undefined)
      .map((variant) => [variant.id, { variant, attributes: effectiveOn(variant, storeId) }])
  )
  const optionsNow = (id: EntityId) => joinOptions((key) => valueOf(now.get(id)?.attributes ?? {}, key))
  const inSource = new Set(variantIds)
  const others = new Map(
    [...now.values()].flatMap(({ variant }) => (inSource.has(variant.id) ? [] : [[optionsNow(variant.id), variant]]))
  )
  for (const [index, { values }] of imported.variants.entries()) {
    const id = variantIds[index]
    if (id === undefined) continue
    const before = now.get(id)?.attributes ?? {}
    const options = joinOptions((key) => values[key] ?? valueOf(before, key))
    const other = others.get(options)
    if (other !== undefined && !(now.has(id) && optionsNow(id) === options)) return { index, other }
  }
  return undefined
}

/** The values that the product's variants have on the store after the import, in the order of `ids`. */
export const valuesOnStore = (
  imported: StoreProduct,
  variantIds: ReadonlyArray<EntityId>,
  ids: ReadonlyArray<EntityId>,
  { variants }: ImportMatch,
  storeId: StoreId
): ReadonlyArray<Values> => {
  const before = new Map(variants.map((variant) => [variant.id, variant]))
  const fromFile = new Map(imported.variants.map(({ values }, index) => [variantIds[index], values]))
  return ids.flatMap((id) => {
    const variant = before.get(id)
    const values = fromFile.get(id)
    const version = variant === undefined ? undefined : versionOn(variant, storeId)
    if (values === undefined && version === undefined) return []
    const now = effective(variant?.attributes ?? {}, version?.overrides ?? {})
    return [{ ...Object.fromEntries(optionKeys.map((key) => [key, valueOf(now, key)])), ...values }]
  })
}

/**
 * The values of an existing product in the file. If variants stay on the store without being in the file, their option values
 * are added to the options. Unless the variants follow the order of the file, existing option values keep their order.
 */
export const withOptions = (
  imported: StoreProduct,
  product: Aggregate,
  variants: ReadonlyArray<Values>,
  { isOrdered, storeId }: { readonly isOrdered: boolean; readonly storeId: StoreId }
): Values => {
  const { options } = imported.values
  if (options === undefined) return imported.values
  const fromFile = [...readOptions(options)]
  const here = readOptions(valueOf(effectiveOn(product, storeId), "options"))
  const all = optionKeys.flatMap((key, index) => {
    const used = new Set(variants.flatMap((values) => values[key] || []))
    const usedInFile = new Set(imported.variants.flatMap(({ values }) => values[key] || []))
    // A file may name its second option without the first.
    const isNamed = JSON.stringify(fromFile[0]?.values) === JSON.stringify([...usedInFile])
    const name = isNamed ? fromFile.shift()?.name : used.size > 0 ? here[index]?.name : undefined
    const first = isOrdered ? [] : (here[index]?.values ?? []).filter((value) => used.has(value))
    return name === undefined ? [] : [{ name, values: [...new Set([...first, ...used])] }]
  })
  return { ...imported.values, options: all.length === 0 ? "" : JSON.stringify(all) }
}

/**
 * Returns whether options of the product are those of the store, in any order of their values, apart from values of variants that are
 * not in the store: they wait for their first publish there, or were taken off the store.
 */
export const makeIsLater = (
  { values: { options = "" } }: StoreProduct,
  variantIds: ReadonlyArray<EntityId>,
  { variants }: ImportMatch,
  storeId: StoreId
): ((candidate: string) => boolean) => {
  const absent = variants.filter(
    (variant) => !variantIds.includes(variant.id) && (versionOn(variant, storeId)?.accepted ?? null) === null
  )
  const isWaiting = absent.some((variant) => versionOn(variant, storeId) !== undefined)
  const drafts = absent.map((variant) => effectiveOn(variant, storeId))
  const inStore = readOptions(options)
  return (candidate) => {
    const missing = readOptions(candidate).map(({ values }, index) =>
      values.filter((value) => !inStore[index]?.values.includes(value))
    )
    const later = inStore.map(({ name, values }, index) => ({ name, values: [...values, ...(missing[index] ?? [])] }))
    return (
      (isWaiting || missing.some((values) => values.length > 0)) &&
      sameOptions(candidate, JSON.stringify(later)) &&
      missing.every((values, index) =>
        values.every((value) => drafts.some((draft) => valueOf(draft, optionKeys[index] ?? "") === value))
      )
    )
  }
}
