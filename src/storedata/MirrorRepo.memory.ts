import { type Context, Effect, Layer, Ref } from "effect"
import { type MemoryAccount, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { MemoryRecord } from "../drafts/MirroredDefinitions.memory.ts"
import type { PlatformMetafieldDefinition } from "../model/Definition.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import {
  type MemoryMirrorField,
  type MemoryMirrorTranslation,
  noTranslations
} from "../platform/Translations.memory.ts"
import { nameOf, type StagedMirrorItem } from "./MirrorRecords.ts"
import { byKey, keyOf, MirrorRepo } from "./MirrorRepo.ts"
import type { MemoryMirrorRecord } from "./StoreDataState.memory.ts"

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerMirrorRepoMemory = Layer.effect(
  MirrorRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const memory: Context.Tag.Service<MirrorRepo> = {
      stage: (accountId, importId, items) =>
        updateAccount(store, accountId, (account) => ({
          ...account,
          staged: new Map(account.staged).set(
            importId,
            new Map([...(account.staged.get(importId) ?? []), ...byKey(items)])
          )
        })),
      apply: (accountId, importId, storeId) =>
        Effect.gen(function* () {
          const before = (yield* Ref.get(store)).get(accountId)
          if (before === undefined) return { isChanged: false, isDefined: false, translated: [] }
          const after = takenOver(before, before.staged.get(importId) ?? new Map(), storeId)
          yield* updateAccount(store, accountId, () => after)
          const isChanged = JSON.stringify(sorted(before, storeId)) !== JSON.stringify(sorted(after, storeId))
          // Scans in memory read everything, so they need no note of the translated entities.
          return { isChanged, isDefined: isChanged, translated: [] }
        }),
      define: (accountId, storeId, definitions) =>
        updateAccount(store, accountId, (account) => {
          const recordIds = new Map(account.recordIds)
          const mirrored = new Map(account.mirroredDefinitions.get(storeId))
          for (const { definition: content, id } of definitions) {
            const item = { kind: "metafield_definition", content } as const
            const key = keyOf({ id, name: nameOf(item), item })
            const recordId = recordIds.get(key) ?? id
            recordIds.set(key, recordId)
            if (!mirrored.has(key)) mirrored.set(key, { id: recordId, content })
          }
          return {
            ...account,
            recordIds,
            mirroredDefinitions: new Map(account.mirroredDefinitions).set(storeId, mirrored)
          }
        }),
      forget: (accountId, importId) =>
        updateAccount(store, accountId, (account) => {
          const staged = new Map(account.staged)
          staged.delete(importId)
          return { ...account, staged }
        }),
      // In memory, staged records have no time, so none of them counts as abandoned.
      forgetAbandoned: Effect.succeed(0)
    }
    return memory
  })
)

const sorted = (account: MemoryAccount, storeId: StoreId) => {
  const { fields, translations } = account.mirroredTranslations.get(storeId) ?? noTranslations
  const entries = <A>(map: ReadonlyMap<string, A> = new Map()) =>
    [...map].sort(([left], [right]) => (left < right ? -1 : 1))
  return [
    entries(account.mirroredDefinitions.get(storeId)),
    entries(account.mirrors.get(storeId)),
    entries(fields),
    entries(translations)
  ]
}

/** Replaces a store's records with the staged records. */
const takenOver = (
  account: MemoryAccount,
  staged: ReadonlyMap<string, StagedMirrorItem>,
  storeId: StoreId
): MemoryAccount => {
  const recordIds = new Map(account.recordIds)
  const before = account.mirrors.get(storeId)
  const definitions = new Map<string, MemoryRecord<PlatformMetafieldDefinition>>()
  const records = new Map<string, MemoryMirrorRecord>()
  const fields = new Map<string, MemoryMirrorField>()
  const translations = new Map<string, MemoryMirrorTranslation>()
  const items = [...staged].sort(([left], [right]) => (left < right ? -1 : 1))
  for (const [key, { id, item }] of items) {
    switch (item.kind) {
      case "market":
      case "metaobject_definition": {
        const recordId = recordIds.get(key) ?? id
        recordIds.set(key, recordId)
        records.set(key, { id: recordId, item })
        break
      }
      case "metafield_definition": {
        const recordId = recordIds.get(key) ?? id
        recordIds.set(key, recordId)
        definitions.set(key, { id: recordId, content: item.content })
        break
      }
      case "translatable_fields":
        for (const entityId of entitiesAt(account, storeId, item.content.platform_id))
          for (const field of item.content.fields) fields.set(`${entityId} ${field.key}`, { entityId, field })
        break
      case "translations":
        for (const entityId of entitiesAt(account, storeId, item.content.platform_id))
          for (const translation of item.content.translations) {
            const { locale } = item.content
            translations.set(`${entityId} ${locale} ${translation.key}`, { entityId, locale, translation })
          }
    }
  }
  for (const [key, { id, item }] of items)
    if (item.kind === "metaobject_entry" && recordIds.has(`metaobject_definition ${item.content.type}`))
      records.set(key, { id: before?.get(key)?.id ?? id, item })
  return {
    ...account,
    recordIds,
    mirroredDefinitions: new Map(account.mirroredDefinitions).set(storeId, definitions),
    mirrors: new Map(account.mirrors).set(storeId, records),
    mirroredTranslations: new Map(account.mirroredTranslations).set(storeId, { fields, translations })
  }
}

/** The entities that have this platform id on the store. */
const entitiesAt = (account: MemoryAccount, storeId: StoreId, platformId: string): ReadonlyArray<EntityId> =>
  [...account.entities.values()]
    .map(({ aggregate }) => aggregate)
    .filter(({ versions }) =>
      versions.some((version) => version.storeId === storeId && version.platformId === platformId)
    )
    .map(({ id }) => id)
