import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { CatalogChange } from "../../src/drafts/CatalogChange.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { EntityId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs, anAccount, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { held } from "./ShopRecords.ts"

const quiet = () => Effect.void
const domain = "shop.example"

/** An import under review with this number of conflicts: the vendor of each product was edited here and in the shop. */
export const aConflictReview = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    return yield* Effect.gen(function* () {
      const imports = yield* Imports
      const shops = yield* DemoShops
      const sql = yield* SqlClient.SqlClient
      const { store } = yield* (yield* Stores).link({ domain, platform: "demo" })
      const sell = (vendor: string) =>
        shops.put(
          { accountId, storeId: store.id },
          Array.from({ length: count }, (_, n) =>
            held("product", `product/${n}`, { title: `Product ${n}`, handle: `product-${n}`, vendor })
          )
        )
      yield* sell("Fell")
      const { id: first } = yield* imports.refresh(domain, quiet)
      yield* imports.accept(first, quiet)
      const ids = yield* sql`SELECT id FROM entity WHERE account_id = ${accountId} AND kind = 'product'`
      yield* (yield* CatalogChanges).apply(
        ids.map(({ id }) =>
          CatalogChange.SetAttributes({ entityId: EntityId.make(String(id)), values: { vendor: "Tarn" } })
        )
      )
      yield* sell("Tern")
      const { id, summary } = yield* imports.refresh(domain, quiet)
      assert.strictEqual(summary.conflicts, count)
      return { actor, id }
    }).pipe(actingAs(actor))
  })
