import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Ref, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, StoreId } from "../domain/Ids.ts"
import { compareStores, Store } from "../domain/Store.ts"
import { MemoryStore, updateAccount } from "./MemoryStore.ts"

/** The linked stores of an account, by domain. */
export class StoresRepo extends Context.Tag("catalog/StoresRepo")<
  StoresRepo,
  {
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Store>>
    readonly find: (accountId: AccountId, id: StoreId) => Effect.Effect<Option.Option<Store>>
    readonly link: (accountId: AccountId, store: Store) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    StoresRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = SqlSchema.findAll({
        Request: AccountId,
        Result: Store,
        execute: (accountId) => sql`
          SELECT id, domain, name, platform, status, primary_locale, locales, currency,
                 rfc3339(last_imported_at) AS last_imported_at
          FROM store
          WHERE account_id = ${accountId} AND status = 'linked'
          ORDER BY domain COLLATE "C", id`
      })

      const find = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, id: StoreId }),
        Result: Store,
        execute: ({ accountId, id }) => sql`
          SELECT id, domain, name, platform, status, primary_locale, locales, currency,
                 rfc3339(last_imported_at) AS last_imported_at
          FROM store
          WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`
      })

      return {
        list: (accountId) => orDie(list(accountId)),
        find: (accountId, id) => orDie(find({ accountId, id })),
        link: (accountId, store) =>
          sql`
            INSERT INTO store (account_id, id, domain, name, platform, status, primary_locale, locales, currency, last_imported_at)
            VALUES (${accountId}, ${store.id}, ${store.domain}, ${store.name}, ${store.platform}, ${store.status},
                    ${store.primary_locale}, ${store.locales}, ${store.currency}, ${store.last_imported_at})`.pipe(
            Effect.asVoid,
            orDie
          )
      }
    })
  )

  /** The executable specification: it passes the same contract suite as `layer`. */
  static readonly layerMemory = Layer.effect(
    StoresRepo,
    Effect.gen(function* () {
      const memory = yield* MemoryStore
      const list = (accountId: AccountId) =>
        Effect.map(Ref.get(memory), (state) => [...(state.get(accountId)?.stores.values() ?? [])].sort(compareStores))
      return {
        list,
        find: (accountId, id) =>
          Effect.map(Ref.get(memory), (state) => Option.fromNullable(state.get(accountId)?.stores.get(id))),
        link: (accountId, store) =>
          updateAccount(memory, accountId, (account) => ({
            ...account,
            stores: new Map(account.stores).set(store.id, store)
          }))
      }
    })
  )
}
