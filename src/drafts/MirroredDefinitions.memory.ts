import { linkedStores } from "../catalog/CatalogState.memory.ts"
import type { MemoryAccount, MemorySlices } from "../database/MemoryStore.memory.ts"
import type {
  AccountMetafieldDefinition,
  MetafieldDefinition,
  MetafieldRule,
  PlatformMetafieldDefinition
} from "../model/Definition.ts"
import type { RecordId, StoreId } from "../model/Ids.ts"

/** A record of a store. If several stores have the same record, it has the same id on each. */
export interface MemoryRecord<Content> {
  readonly id: RecordId
  readonly content: Content
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Metafield definitions of each store, by name as in `recordIds`. Definitions of unlinked stores are kept but not read. */
    readonly mirroredDefinitions: ReadonlyMap<StoreId, ReadonlyMap<string, MemoryRecord<PlatformMetafieldDefinition>>>
    /** Ids of markets and definitions by kind and name. An id stays even if no store has the record any more. */
    readonly recordIds: ReadonlyMap<string, RecordId>
    /** The account's own metafield definitions, by id. */
    readonly definitions: ReadonlyMap<RecordId, AccountMetafieldDefinition>
  }
}

export const emptyDefinitions: Pick<MemorySlices, "mirroredDefinitions" | "recordIds" | "definitions"> = {
  mirroredDefinitions: new Map(),
  recordIds: new Map(),
  definitions: new Map()
}

interface OnStore<Content> extends MemoryRecord<Content> {
  readonly storeId: StoreId
}

/** Records grouped by id. A group has one entry for each store with the record. */
export const groupById = <Content>(
  records: Iterable<OnStore<Content>>
): ReadonlyArray<readonly [OnStore<Content>, ...ReadonlyArray<OnStore<Content>>]> => {
  const groups = new Map<RecordId, [OnStore<Content>, ...Array<OnStore<Content>>]>()
  for (const record of records) {
    const group = groups.get(record.id)
    if (group === undefined) groups.set(record.id, [record])
    else group.push(record)
  }
  return [...groups.values()]
}

/** Sorts items by several keys. The first key that differs decides. */
export const sortedBy = <A>(items: ReadonlyArray<A>, partsOf: (item: A) => ReadonlyArray<string>): ReadonlyArray<A> =>
  items
    .map((item) => ({ item, parts: partsOf(item) }))
    .sort((left, right) => {
      const place = left.parts.findIndex((part, index) => part !== right.parts[index])
      return place < 0 ? 0 : (left.parts[place] ?? "") < (right.parts[place] ?? "") ? -1 : 1
    })
    .map(({ item }) => item)

/**
 * The applicable definitions: of a store's platform, else the account's own, else of a store's imported file. Those that neither
 * the account itself nor one of the visible stores (null: all) has are left out.
 */
export const metafieldDefinitions = (
  account: MemoryAccount | undefined,
  visible: ReadonlyArray<StoreId> | null
): ReadonlyArray<MetafieldDefinition> => {
  const own: MemoryAccount["definitions"] = account?.definitions ?? new Map()
  const onStores = linkedStores(account).flatMap(({ id: storeId }) =>
    [...(account?.mirroredDefinitions.get(storeId)?.values() ?? [])].map((record) => ({ ...record, storeId }))
  )
  const groups = new Map(groupById(onStores).map((group) => [group[0].id, group]))
  const ids = new Set([...groups.keys(), ...own.keys()])
  return sortedBy(
    [...ids].flatMap((id): ReadonlyArray<MetafieldDefinition> => {
      const group = groups.get(id) ?? []
      const contents = group.map(({ content }) => content)
      const first = contents.find(({ platform_id }) => platform_id !== "") ?? own.get(id) ?? contents[0]
      if (first === undefined) return []
      if (visible !== null && !own.has(id) && !group.some(({ storeId }) => visible.includes(storeId))) return []
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

/** `visible` as in `metafieldDefinitions`. */
export const metafieldRules = (
  account: MemoryAccount | undefined,
  visible: ReadonlyArray<StoreId> | null
): ReadonlyArray<MetafieldRule> =>
  metafieldDefinitions(account, visible).map(({ key, namespace, owner_type, type, validations }) => ({
    ownerType: owner_type,
    key: `${namespace}.${key}`,
    type,
    validations
  }))
