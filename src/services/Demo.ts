import { Context, Effect, Layer } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { demoChanges, demoStores } from "../demo/DemoCatalog.ts"
import { CurrentActor } from "../domain/Actor.ts"
import type { AccountId } from "../domain/Ids.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { StoresRepo } from "../repos/StoresRepo.ts"
import { Accounts } from "./Accounts.ts"
import { ApiKeys, type CreatedKey } from "./ApiKeys.ts"
import { CatalogChanges } from "./CatalogChanges.ts"

/** An account to walk through: three stores, a catalog of the project's own making and a key that opens it. */
export class Demo extends Context.Tag("catalog/Demo")<
  Demo,
  {
    /** Makes another demo account. It is there as a whole, or, whatever interrupts this, not at all. */
    readonly create: Effect.Effect<{
      readonly account: { readonly id: AccountId; readonly name: string }
      readonly key: CreatedKey
    }>
  }
>() {
  static readonly layer = Layer.effect(
    Demo,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const changes = yield* CatalogChanges
      const drafts = yield* DraftsRepo
      const keys = yield* ApiKeys
      const stores = yield* StoresRepo
      const transaction = yield* Transaction

      return {
        create: Effect.gen(function* () {
          const account = yield* accounts.create("Demo: Tarn & Tern")
          const linked = demoStores(account.id)
          yield* Effect.forEach(linked, (store) => stores.link(account.id, store), { discard: true })
          // Linking shows in every answer that lists stores, and stamps no entity.
          yield* drafts.raise(account.id, { stamped: [], drafted: [] })
          yield* Effect.forEach(demoChanges(linked), changes.apply, { discard: true }).pipe(
            Effect.provideService(CurrentActor, { _tag: "Cli", accountId: account.id })
          )
          const key = yield* keys.create(account.id, {
            name: "Demo key",
            scopes: ["pim:read", "pim:write"],
            expiresAt: null
          })
          return { account, key }
        }).pipe(
          // The content is the project's own: a change that cannot hold is a mistake in it.
          Effect.orDie,
          transaction.run,
          Effect.withSpan("Demo.create")
        )
      }
    })
  )
}
