import type { Aggregate } from "../catalog/Aggregate.ts"
import { linkedStores } from "../catalog/CatalogState.memory.ts"
import type { MemoryAccount } from "../database/MemoryStore.memory.ts"
import { groupById, sortedBy } from "../drafts/MirroredDefinitions.memory.ts"
import type { MetaobjectDefinition, MetaobjectEntry } from "../model/Definition.ts"
import type { StoreId } from "../model/Ids.ts"
import type { Market } from "../platform/Market.ts"
import {
  type EntityTranslations,
  isOutdated,
  type TranslatableField,
  type Translation
} from "../platform/Translation.ts"
import { type MemoryTranslations, noTranslations } from "../platform/Translations.memory.ts"
import type { MirrorItem } from "./MirrorRecords.ts"
import type { MemoryMirrorRecord } from "./StoreDataState.memory.ts"

/** The store data of an account's linked stores (records, translatable fields and translations), ordered by domain. */
export type OfAccount = ReadonlyArray<
  { readonly storeId: StoreId; readonly records: ReadonlyMap<string, MemoryMirrorRecord> } & MemoryTranslations
>

export const ofAccount = (account: MemoryAccount | undefined): OfAccount =>
  linkedStores(account).map(({ id }) => ({
    storeId: id,
    records: account?.mirrors.get(id) ?? new Map(),
    ...(account?.mirroredTranslations.get(id) ?? noTranslations)
  }))

type Content<Kind extends MirrorItem["kind"]> = Extract<MirrorItem, { readonly kind: Kind }>["content"]

/** Records of a kind, grouped by id. A group has one entry for each store with the record. */
const ofKind = <Kind extends MirrorItem["kind"]>(mirrored: OfAccount, kind: Kind) =>
  groupById(
    mirrored.flatMap(({ records, storeId }) =>
      [...records.values()].flatMap(({ id, item }) =>
        item.kind === kind ? [{ id, storeId, content: item.content as Content<Kind> }] : []
      )
    )
  )

export const markets = (mirrored: OfAccount): ReadonlyArray<Market> =>
  sortedBy(
    ofKind(mirrored, "market").map((group): Market => {
      const [{ content: first, id }] = group
      return {
        id,
        handle: first.handle,
        name: first.name,
        status: group.some(({ content }) => content.status === "active") ? "active" : "draft",
        type: first.type,
        stores: group.map(({ content: { catalogs: _, handle: __, type: ___, ...content }, storeId }) => ({
          store_id: storeId,
          ...content
        })),
        catalogs: group.flatMap(({ content, storeId }) =>
          sortedBy(content.catalogs, ({ id, title }) => [title, id]).map((catalog) => ({
            store_id: storeId,
            ...catalog
          }))
        )
      }
    }),
    ({ handle }) => [handle]
  )

export const metaobjectDefinitions = (mirrored: OfAccount): ReadonlyArray<MetaobjectDefinition> =>
  sortedBy(
    ofKind(mirrored, "metaobject_definition").map((group): MetaobjectDefinition => {
      const [{ content, id }] = group
      const { platform_id: _, ...first } = content
      return {
        id,
        ...first,
        entries_count: group.reduce((sum, { content }) => sum + content.entries_count, 0),
        translatable: group.some(({ content }) => content.translatable),
        stores: group.map(({ content: { platform_id }, storeId }) => ({ store_id: storeId, platform_id }))
      }
    }),
    ({ type }) => [type]
  )

export const metaobjectEntries = (mirrored: OfAccount, type: string): ReadonlyArray<MetaobjectEntry> => {
  const places = new Map(mirrored.map(({ storeId }, index) => [storeId, String(index).padStart(9, "0")]))
  return sortedBy(
    ofKind(mirrored, "metaobject_entry")
      .flat()
      .filter(({ content }) => content.type === type)
      .map(
        ({ content: { platform_id: _, type: __, ...content }, id, storeId }): MetaobjectEntry => ({
          id,
          ...content,
          store_id: storeId
        })
      ),
    ({ handle, id, store_id }) => [handle, places.get(store_id) ?? "", id]
  )
}

export const translations = (mirrored: OfAccount, entity: Aggregate): EntityTranslations => {
  const on = mirrored.filter(({ storeId }) => entity.versions.some((version) => version.storeId === storeId))
  const byLocale = new Map<string, Map<StoreId, Array<Translation>>>()
  const fields = new Map<string, TranslatableField>()
  for (const { fields: ownFields, storeId, translations } of on) {
    for (const { entityId, locale, translation } of translations.values()) {
      if (entityId !== entity.id) continue
      const stores = byLocale.get(locale) ?? new Map<StoreId, Array<Translation>>()
      const storeTranslations = stores.get(storeId) ?? []
      const { digest, ...shown } = translation
      storeTranslations.push({ ...shown, outdated: isOutdated(shown, digest) })
      byLocale.set(locale, stores.set(storeId, storeTranslations))
    }
    for (const { entityId, field } of ownFields.values()) {
      if (entityId !== entity.id) continue
      const same = JSON.stringify([field.key, field.type, field.source_locale, field.source_value, field.digest])
      fields.set(same, { ...field, store_ids: [...(fields.get(same)?.store_ids ?? []), storeId] })
    }
  }
  return {
    data: sortedBy([...byLocale], ([locale]) => [locale]).map(([locale, stores]) => ({
      locale,
      stores: [...stores].map(([store_id, storeTranslations]) => ({
        store_id,
        translations: sortedBy(storeTranslations, ({ key }) => [key])
      }))
    })),
    // The sort is stable: fields with the same key stay in the order of the stores.
    translatable_fields: sortedBy([...fields.values()], ({ key }) => [key])
  }
}
