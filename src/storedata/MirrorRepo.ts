import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Ref } from "effect"
import { untilNone } from "../database/Forgetting.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { PlatformMetafieldDefinition } from "../model/Definition.ts"
import type { AccountId, ImportId, RecordId, StoreId } from "../model/Ids.ts"
import {
  entitiesAt,
  type MemoryAccount,
  type MemoryMirrorField,
  type MemoryMirrorRecord,
  type MemoryMirrorTranslation,
  MemoryStore,
  noMirror,
  updateAccount
} from "../testing/MemoryStore.ts"
import { nameOf, type StagedMirrorItem } from "./MirrorRecords.ts"
import { makeMirrorWrites } from "./MirrorWrites.ts"

/** What stores have beside their catalogs: read by an import, then taken over. */
export class MirrorRepo extends Context.Tag("catalog/MirrorRepo")<
  MirrorRepo,
  {
    /** Keeps what an import has read. A record that it read before is replaced. */
    readonly stage: (
      accountId: AccountId,
      importId: ImportId,
      items: ReadonlyArray<StagedMirrorItem>
    ) => Effect.Effect<void>
    /**
     * Makes what is mirrored of a store equal to what the import has read, in the caller's transaction. Only what differs is
     * written; whether anything was. Translations go to the entities that have their platform ids on the store, and those of
     * others nowhere. Nobody else may apply an import of the account meanwhile.
     */
    readonly apply: (accountId: AccountId, importId: ImportId, storeId: StoreId) => Effect.Effect<boolean>
    /** Adds definitions of metafields to a store; `id`: of one that no store had before. One that the store has stays. */
    readonly define: (
      accountId: AccountId,
      storeId: StoreId,
      definitions: ReadonlyArray<{ readonly id: RecordId; readonly definition: PlatformMetafieldDefinition }>
    ) => Effect.Effect<void>
    /** Forgets what an import has read. */
    readonly forget: (accountId: AccountId, importId: ImportId) => Effect.Effect<void>
    /** Forgets what imports read more than 14 days ago; how many records. */
    readonly forgetAbandoned: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    MirrorRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const takeOver = makeMirrorWrites(sql)

      // In statements that do not run long.
      const forgetSome = sql`
        DELETE FROM mirror_item i
        WHERE i.ctid = ANY(ARRAY(
          SELECT o.ctid FROM mirror_item o WHERE o.staged_at <= app_now() - interval '14 days' LIMIT 10000
        ))
        RETURNING i.name`

      return {
        stage: (accountId, importId, items) =>
          items.length === 0
            ? Effect.void
            : sql`
                INSERT INTO mirror_item (account_id, import_id, kind, name, id, content)
                SELECT ${accountId}::uuid, ${importId}::uuid, r.item ->> 'kind', r.name, r.id, r.item -> 'content'
                FROM jsonb_to_recordset(${JSON.stringify([...byKey(items).values()])}::jsonb) AS r (
                  id uuid, name text, item jsonb
                )
                ON CONFLICT (account_id, import_id, kind, name) DO UPDATE
                SET id = excluded.id, content = excluded.content`.pipe(Effect.asVoid, orDie),
        apply: (accountId, importId, storeId) => orDie(takeOver({ accountId, importId, storeId })),
        define: (accountId, storeId, definitions) =>
          Effect.gen(function* () {
            if (definitions.length === 0) return
            const rows = sql`
              jsonb_to_recordset(${JSON.stringify(definitions.map(({ definition, id }) => ({ id, ...definition })))}::jsonb)
                AS r (id uuid, owner_type text, namespace text, key text, name text, type text, platform_id text,
                      validations jsonb, metafields_count bigint)`
            yield* sql`
              INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key)
              SELECT ${accountId}::uuid, r.id, r.owner_type, r.namespace, r.key
              FROM ${rows}
              ON CONFLICT (account_id, owner_type, namespace, key) DO NOTHING`
            yield* sql`
              INSERT INTO metafield_definition_store (account_id, store_id, definition_id, platform_id, name, type, validations,
                                                      metafields_count)
              SELECT d.account_id, ${storeId}::uuid, d.id, r.platform_id, r.name, r.type, r.validations, r.metafields_count
              FROM ${rows}
              JOIN metafield_definition d
                ON d.account_id = ${accountId} AND d.owner_type = r.owner_type AND d.namespace = r.namespace AND d.key = r.key
              ON CONFLICT (account_id, store_id, definition_id) DO NOTHING`
          }).pipe(orDie),
        forget: (accountId, importId) =>
          sql`DELETE FROM mirror_item WHERE account_id = ${accountId} AND import_id = ${importId}`.pipe(
            Effect.asVoid,
            orDie
          ),
        forgetAbandoned: orDie(untilNone(Effect.map(forgetSome, ({ length }) => length)))
      }
    })
  )

  /** The executable specification: it passes the same contract suite as `layer`. */
  static readonly layerMemory = Layer.effect(
    MirrorRepo,
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const twin: Context.Tag.Service<MirrorRepo> = {
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
            if (before === undefined) return false
            const after = takenOver(before, before.staged.get(importId) ?? new Map(), storeId)
            yield* updateAccount(store, accountId, () => after)
            return JSON.stringify(sorted(before, storeId)) !== JSON.stringify(sorted(after, storeId))
          }),
        define: (accountId, storeId, definitions) =>
          updateAccount(store, accountId, (account) => {
            const recordIds = new Map(account.recordIds)
            const mirror = account.mirrors.get(storeId) ?? noMirror
            const records = new Map(mirror.records)
            for (const { definition: content, id } of definitions) {
              const item = { kind: "metafield_definition", content } as const
              const key = keyOf({ id, name: nameOf(item), item })
              const known = recordIds.get(key) ?? id
              recordIds.set(key, known)
              if (!records.has(key)) records.set(key, { id: known, item })
            }
            return { ...account, recordIds, mirrors: new Map(account.mirrors).set(storeId, { ...mirror, records }) }
          }),
        forget: (accountId, importId) =>
          updateAccount(store, accountId, (account) => {
            const staged = new Map(account.staged)
            staged.delete(importId)
            return { ...account, staged }
          }),
        // Nothing grows old in a memory.
        forgetAbandoned: Effect.succeed(0)
      }
      return twin
    })
  )
}

const keyOf = ({ item, name }: StagedMirrorItem) => `${item.kind} ${name}`

/** What is given twice is there once, as it was given last. */
const byKey = (items: ReadonlyArray<StagedMirrorItem>) => new Map(items.map((staged) => [keyOf(staged), staged]))

const sorted = (account: MemoryAccount, storeId: StoreId) => {
  const { fields, records, translations } = account.mirrors.get(storeId) ?? noMirror
  const entries = <A>(map: ReadonlyMap<string, A>) => [...map].sort(([left], [right]) => (left < right ? -1 : 1))
  return [entries(records), entries(fields), entries(translations)]
}

/** An account in which what is mirrored of a store is what was staged. */
const takenOver = (
  account: MemoryAccount,
  staged: ReadonlyMap<string, StagedMirrorItem>,
  storeId: StoreId
): MemoryAccount => {
  const recordIds = new Map(account.recordIds)
  const before = account.mirrors.get(storeId) ?? noMirror
  const records = new Map<string, MemoryMirrorRecord>()
  const fields = new Map<string, MemoryMirrorField>()
  const translations = new Map<string, MemoryMirrorTranslation>()
  const items = [...staged].sort(([left], [right]) => (left < right ? -1 : 1))
  for (const [key, { id, item }] of items) {
    switch (item.kind) {
      case "market":
      case "metafield_definition":
      case "metaobject_definition": {
        const known = recordIds.get(key) ?? id
        recordIds.set(key, known)
        records.set(key, { id: known, item })
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
      records.set(key, { id: before.records.get(key)?.id ?? id, item })
  return { ...account, recordIds, mirrors: new Map(account.mirrors).set(storeId, { records, fields, translations }) }
}
