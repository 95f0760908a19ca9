import type { Aggregate } from "../drafts/Aggregate.ts"
import type { MetafieldDefinition, MetafieldRule, MetaobjectDefinition, MetaobjectEntry } from "../model/Definition.ts"
import type { RecordId, StoreId } from "../model/Ids.ts"
import { compareStores } from "../model/Store.ts"
import type { Market } from "../platform/Market.ts"
import {
  type EntityTranslations,
  isOutdated,
  type TranslatableField,
  type Translation
} from "../platform/Translation.ts"
import { type MemoryAccount, type MemoryMirror, noMirror } from "../testing/MemoryStore.ts"
import type { MirrorItem } from "./MirrorRecords.ts"

/** What the linked stores of an account have beside their catalogs, by domain. */
export type OfAccount = ReadonlyArray<{ readonly storeId: StoreId; readonly mirror: MemoryMirror }>

type AccountDefinitions = MemoryAccount["definitions"]

export const ofAccount = (account: MemoryAccount | undefined): OfAccount =>
  [...(account?.stores.values() ?? [])]
    .sort(compareStores)
    .map(({ id }) => ({ storeId: id, mirror: account?.mirrors.get(id) ?? noMirror }))

type Content<Kind extends MirrorItem["kind"]> = Extract<MirrorItem, { readonly kind: Kind }>["content"]

interface OnStore<Kind extends MirrorItem["kind"]> {
  readonly id: RecordId
  readonly storeId: StoreId
  readonly content: Content<Kind>
}

/** Records of a kind, those with one id together, each with the stores that have it. */
const grouped = <Kind extends MirrorItem["kind"]>(
  mirrored: OfAccount,
  kind: Kind
): ReadonlyArray<readonly [OnStore<Kind>, ...ReadonlyArray<OnStore<Kind>>]> => {
  const groups = new Map<RecordId, [OnStore<Kind>, ...Array<OnStore<Kind>>]>()
  for (const { mirror, storeId } of mirrored)
    for (const { id, item } of mirror.records.values()) {
      if (item.kind !== kind) continue
      const one = { id, storeId, content: item.content as Content<Kind> }
      const group = groups.get(id)
      if (group === undefined) groups.set(id, [one])
      else group.push(one)
    }
  return [...groups.values()]
}

/** In the order of what is given of each, part by part. */
const sortedBy = <A>(items: ReadonlyArray<A>, partsOf: (item: A) => ReadonlyArray<string>): ReadonlyArray<A> =>
  items
    .map((item) => ({ item, parts: partsOf(item) }))
    .sort((left, right) => {
      const place = left.parts.findIndex((part, index) => part !== right.parts[index])
      return place < 0 ? 0 : (left.parts[place] ?? "") < (right.parts[place] ?? "") ? -1 : 1
    })
    .map(({ item }) => item)

export const markets = (mirrored: OfAccount): ReadonlyArray<Market> =>
  sortedBy(
    grouped(mirrored, "market").map((group): Market => {
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

/** The definitions in force: of a store whose platform has it, else the account's own, else of a store's file. */
export const metafieldDefinitions = (
  mirrored: OfAccount,
  own: AccountDefinitions = new Map()
): ReadonlyArray<MetafieldDefinition> => {
  const groups = new Map(grouped(mirrored, "metafield_definition").map((group) => [group[0].id, group]))
  const ids = new Set([...groups.keys(), ...own.keys()])
  return sortedBy(
    [...ids].flatMap((id): ReadonlyArray<MetafieldDefinition> => {
      const group = groups.get(id) ?? []
      const said = group.map(({ content }) => content)
      const first = said.find(({ platform_id }) => platform_id !== "") ?? own.get(id) ?? said[0]
      if (first === undefined) return []
      const { description, key, name, namespace, owner_type, type, validations } = first
      return [
        {
          id,
          ...{ owner_type, namespace, key, name, description, type, validations },
          stores: group.map(({ content: { metafields_count, platform_id }, storeId }) => ({
            store_id: storeId,
            platform_id,
            metafields_count
          }))
        }
      ]
    }),
    ({ key, namespace, owner_type }) => [owner_type, namespace, key]
  )
}

/** What keys take by the definitions in force. */
export const metafieldRules = (account: MemoryAccount | undefined): ReadonlyArray<MetafieldRule> =>
  metafieldDefinitions(ofAccount(account), account?.definitions).map(
    ({ key, namespace, owner_type, type, validations }) => ({
      ownerType: owner_type,
      key: `${namespace}.${key}`,
      type,
      validations
    })
  )

export const metaobjectDefinitions = (mirrored: OfAccount): ReadonlyArray<MetaobjectDefinition> =>
  sortedBy(
    grouped(mirrored, "metaobject_definition").map((group): MetaobjectDefinition => {
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
    grouped(mirrored, "metaobject_entry")
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
  for (const { mirror, storeId } of on) {
    for (const { entityId, locale, translation } of mirror.translations.values()) {
      if (entityId !== entity.id) continue
      const stores = byLocale.get(locale) ?? new Map<StoreId, Array<Translation>>()
      const said = stores.get(storeId) ?? []
      const { digest, ...shown } = translation
      said.push({ ...shown, outdated: isOutdated(shown, digest) })
      byLocale.set(locale, stores.set(storeId, said))
    }
    for (const { entityId, field } of mirror.fields.values()) {
      if (entityId !== entity.id) continue
      const same = JSON.stringify([field.key, field.type, field.source_locale, field.source_value, field.digest])
      fields.set(same, { ...field, store_ids: [...(fields.get(same)?.store_ids ?? []), storeId] })
    }
  }
  return {
    data: sortedBy([...byLocale], ([locale]) => [locale]).map(([locale, stores]) => ({
      locale,
      stores: [...stores].map(([store_id, said]) => ({ store_id, translations: sortedBy(said, ({ key }) => [key]) }))
    })),
    // Sorting is stable: of one key, the order of the stores stays.
    translatable_fields: sortedBy([...fields.values()], ({ key }) => [key])
  }
}
