import { assert, describe, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { StoreId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { SalesChannels } from "../../src/storedata/SalesChannels.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, anEntity, Catalog, DataHealth, Publishing, Stores } from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const why = "shop.acme.example is on the platform acme, for which this process has no adapter"
const cannotPublish = {
  _tag: "ValidationFailed",
  issues: [{ path: "store_id", message: `${why}: nothing can be published to it` }]
}
const unavailable = {
  _tag: "PlatformUnavailable",
  reason: "missing",
  message: "The store's platform cannot be reached: this process has no adapter for it."
}

/** An account with a product on a store, whose platform has an adapter only in another process. */
const aShop = Effect.gen(function* () {
  const account = yield* anAccount()
  const store: Store = {
    id: StoreId.make(crypto.randomUUID()),
    domain: "shop.acme.example",
    name: "Acme",
    platform: "acme",
    status: "linked",
    primary_locale: "en",
    locales: ["en"],
    currency: "EUR",
    last_imported_at: null
  }
  yield* (yield* StoresRepo).link(account.accountId, store)
  const product = yield* anEntity("product", { title: "Boots" }, { on: [store] }).pipe(actingAs(account.actor))
  return { ...account, store, product }
})

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`a store whose platform has no adapter here, on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("is listed, counted and scanned like every other store", () =>
        Effect.gen(function* () {
          const { actor, product, store } = yield* aShop
          yield* Effect.gen(function* () {
            const stores = yield* Stores
            assert.deepStrictEqual(yield* stores.list, [store])
            assert.strictEqual((yield* stores.publishCounts).get(store.id)?.pendingPublish, 1)
            const { stores: on } = yield* (yield* Catalog).get("product", product)
            assert.deepStrictEqual(
              on.map(({ store_domain }) => store_domain),
              [store.domain]
            )
            yield* (yield* DataHealth).scan("sync")
          }).pipe(actingAs(actor))
        })
      )

      it.effect("refuses publishes, publish jobs and live reads with the same reason", () =>
        Effect.gen(function* () {
          const { accountId, actor, product, store } = yield* aShop
          yield* Effect.gen(function* () {
            const publishing = yield* Publishing
            const jobs = yield* PublishJobs
            for (const refused of [
              Effect.asVoid(publishing.request(product, store.id)),
              Effect.asVoid(jobs.all(store.id)),
              Effect.asVoid(jobs.selected(store.id, [product]))
            ]) {
              const error = yield* Effect.flip(refused)
              assert.deepInclude({ ...error }, cannotPublish as never)
            }
            const channels = yield* Effect.flip((yield* SalesChannels).ofStore(store.id))
            assert.deepInclude(
              { _tag: channels._tag, message: channels.message },
              { _tag: "LiveReadFailed", message: unavailable.message }
            )
            const opened = yield* (yield* StoreAccess).open(accountId, store.id)
            assert.deepStrictEqual(opened.credentials, {})
            const client = yield* PlatformClient
            for (const failure of [
              yield* Effect.flip(client.verify(opened)),
              yield* Effect.flip(client.salesChannels(opened)),
              yield* Effect.flip(Stream.runDrain(client.pull(opened))),
              yield* Effect.flip(Stream.runDrain(client.markets(opened))),
              yield* Effect.flip(Stream.runDrain(client.translations(opened, "product")))
            ])
              assert.deepInclude({ ...failure, message: failure.message }, unavailable as never)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("cannot be linked, but can be unlinked", () =>
        Effect.gen(function* () {
          const { actor, store } = yield* aShop
          yield* Effect.gen(function* () {
            const stores = yield* Stores
            const refused = yield* Effect.flip(stores.link({ domain: "other.acme.example", platform: "acme" }))
            assert.deepInclude({ ...refused }, {
              issues: [{ path: "platform", message: "must be one of shopify, demo, none" }]
            } as never)
            yield* stores.unlink(store.domain)
            assert.deepStrictEqual(yield* stores.list, [])
            // Its platform from before it was unlinked has no adapter either.
            const again = yield* Effect.flip(stores.link({ domain: store.domain }))
            assert.strictEqual(again.message, "platform: must be one of shopify, demo, none")
          }).pipe(actingAs(actor))
        })
      )
    })
  })
}
