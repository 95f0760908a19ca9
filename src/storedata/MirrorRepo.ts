import { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer } from "effect"
import { forgetByAccount, makeDeleteSome, untilNone } from "../database/Forgetting.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { countOf, discardRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { PlatformMetafieldDefinition } from "../model/Definition.ts"
import type { AccountId, EntityId, ImportId, RecordId, StoreId } from "../model/Ids.ts"
import type { StagedMirrorItem } from "./MirrorRecords.ts"
import { makeMirrorWrites } from "./MirrorWrites.ts"

/** The result of a merge. `translated`: entities whose translatable fields or translations changed. */
export interface TakenOver {
  readonly isChanged: boolean
  /** Whether markets, definitions or entries changed. */
  readonly isDefined: boolean
  readonly translated: ReadonlyArray<EntityId>
}

/**
 * Markets, definitions, metaobject entries and translations of stores. An import stages them, and then applies them.
 */
export class MirrorRepo extends Context.Tag("catalog/MirrorRepo")<
  MirrorRepo,
  {
    /** Stages records that an import has read. A record of the same kind and name is replaced. */
    readonly stage: (
      accountId: AccountId,
      importId: ImportId,
      items: ReadonlyArray<StagedMirrorItem>
    ) => Effect.Effect<void>
    /**
     * Makes the store's data equal to the staged records, in the caller's transaction. Writes only rows that differ. The caller
     * raises the account's version with a note of the translated entities. A translation is stored with the entity that has its
     * platform id on the store; without such an entity it is left out. No other process may apply an import of the account at the
     * same time.
     */
    readonly apply: (accountId: AccountId, importId: ImportId, storeId: StoreId) => Effect.Effect<TakenOver>
    /** Adds metafield definitions to a store. Definitions that the store has do not change. `id` is used for a new definition. */
    readonly define: (
      accountId: AccountId,
      storeId: StoreId,
      definitions: ReadonlyArray<{ readonly id: RecordId; readonly definition: PlatformMetafieldDefinition }>
    ) => Effect.Effect<void>
    /** Deletes the staged records of an import, 10,000 a statement. Not in a transaction, because it may take minutes. */
    readonly forget: (accountId: AccountId, importId: ImportId) => Effect.Effect<void>
    /**
     * Deletes records that were staged more than 14 days ago, unless their import is still open: it may be paused for any time.
     * Returns the number of records.
     */
    readonly forgetAbandoned: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    MirrorRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const takeOver = makeMirrorWrites(sql)

      const isAbandoned = sql`
        t.staged_at <= app_now() - interval '14 days' AND NOT EXISTS (
          SELECT FROM import_run r
          WHERE r.account_id = t.account_id AND r.id = t.import_id AND r.phase IN ('fetching', 'reviewing', 'applying')
        )`
      const deleteSome = makeDeleteSome(sql)
      const deleteItems = (accountId: string, condition: Fragment) =>
        deleteSome("mirror_item", accountId, sql`FROM mirror_item t WHERE t.account_id = ${accountId} AND ${condition}`)
      const forgetAbandoned = forgetByAccount(
        sql<{ accountId: string }>`
          SELECT DISTINCT t.account_id AS "accountId" FROM mirror_item t WHERE ${isAbandoned} ${sql.literal(allAccounts)}`,
        (accountId) => deleteItems(accountId, isAbandoned)
      )

      return {
        stage: (accountId, importId, items) =>
          items.length === 0
            ? Effect.void
            : sql`
                INSERT INTO mirror_item (account_id, import_id, kind, name, id, content)
                SELECT own.account_id, ${importId}::uuid, r.item ->> 'kind', r.name, r.id, r.item -> 'content'
                FROM account_state own
                CROSS JOIN jsonb_to_recordset(${JSON.stringify([...byKey(items).values()])}::jsonb) AS r (
                  id uuid, name text, item jsonb
                )
                WHERE own.account_id = ${accountId}
                ON CONFLICT (account_id, import_id, kind, name) DO UPDATE
                SET id = excluded.id, content = excluded.content`.pipe(discardRows),
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
              SELECT own.account_id, r.id, r.owner_type, r.namespace, r.key
              FROM account_state own CROSS JOIN ${rows}
              WHERE own.account_id = ${accountId}
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
          Effect.asVoid(untilNone(countOf(deleteItems(accountId, sql`t.import_id = ${importId}`)))),
        forgetAbandoned: orDie(forgetAbandoned)
      }
    })
  )
}

/** The key of a staged record: kind and name, which are unique in a store. */
export const keyOf = ({ item, name }: StagedMirrorItem) => `${item.kind} ${name}`

/** Staged records by key. The last record of a key wins. */
export const byKey = (items: ReadonlyArray<StagedMirrorItem>) => new Map(items.map((staged) => [keyOf(staged), staged]))
