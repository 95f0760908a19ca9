import { assert, it } from "@effect/vitest"
import { actingAs, anAccount, anEntity, Catalog, CatalogChange, CatalogChanges, TestServices } from "catalog/testing"
import { Effect } from "effect"

it.effect("a store publishes its own title", () =>
  Effect.gen(function* () {
    const { actor, stores } = yield* anAccount({ domains: ["shop.example"] })
    const [{ id: storeId }] = stores
    const version = yield* Effect.gen(function* () {
      const entityId = yield* anEntity("product", { title: "Boots" }, { on: stores })
      const change = CatalogChange.SetOverrides({ entityId, storeId, values: { title: "Stiefel" } })
      yield* (yield* CatalogChanges).apply([change])
      return yield* (yield* Catalog).version("product", entityId, storeId)
    }).pipe(actingAs(actor))
    assert.strictEqual(version.attributes[0]?.value, "Stiefel")
  }).pipe(Effect.provide(TestServices))
)
