import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Option, Stream } from "effect"
import { EntityKind } from "../../src/model/Attribute.ts"
import { DropId, JobId, StoreId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { demoAdapter } from "../../src/platform/demo/DemoAdapter.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { layerOf } from "../../src/platform/PlatformRegistry.ts"
import { Programs } from "../../src/programs/Programs.ts"
import { firstPlace } from "../../src/publishing/PendingRequests.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { SalesChannels } from "../../src/storedata/SalesChannels.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, anEntity, Catalog, DataHealth, Publishing, Stores } from "../../src/testing/index.ts"
import { warningLog } from "../support/ErrorLog.ts"
import { publishingWith } from "../support/PublishingWith.ts"
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

const quick = { firstDelay: Duration.millis(2), longestDelay: Duration.millis(4), pollEvery: Duration.millis(5) }

/** Publishing in a process that has the adapter of the store. */
const Having = Layer.provide(publishingWith(quick), layerOf([demoAdapter, { ...demoAdapter, name: "acme" }]))

/** Publishing in a process that has not, and that says at its first look which publishes nobody takes. `looked` is called at each claim. */
const lacking = (looked: () => void = () => undefined) =>
  Layer.provide(
    publishingWith({ ...quick, adapterLimit: Duration.zero }),
    Layer.effect(
      PublicationsRepo,
      Effect.map(PublicationsRepo, (repo) => ({
        ...repo,
        claim: (...request) => Effect.ensuring(repo.claim(...request), Effect.sync(looked))
      }))
    )
  )

const request = ({ product, store }: Effect.Effect.Success<typeof aShop>) =>
  Effect.gen(function* () {
    const asked = yield* (yield* Publishing).request(product, store.id)
    assert(asked.outcome === "requested")
    return asked.publicationId
  }).pipe(Effect.provide(Having))

const settle = (id: Effect.Effect.Success<ReturnType<typeof request>>) =>
  Effect.flatMap(Publishing, (publishing) => publishing.settle([id], () => Effect.void))

const silence = "No process with an adapter for the platform acme has taken the publish: it is sent when one runs."

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

      it.effect("leaves its publishes to a process that has the adapter", () =>
        Effect.gen(function* () {
          const shop = yield* aShop
          yield* Effect.gen(function* () {
            const id = yield* request(shop)
            const repo = yield* PublicationsRepo
            const claim = (platforms: ReadonlyArray<string>) =>
              repo.claim({ limit: 9, maxPerStore: 9, leaseSeconds: 0, only: [id], platforms })
            assert.deepStrictEqual(yield* claim(["none", "demo"]), [])
            let looks = 0
            const other = yield* Effect.fork(
              Effect.provide(
                settle(id),
                lacking(() => looks++)
              )
            )
            yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => looks > 3 })
            for (const settled of [Effect.provide(settle(id), Having), Fiber.join(other)])
              assert.deepInclude((yield* settled)[0], { state: "published", attempts: 1, error: null })
          }).pipe(actingAs(shop.actor))
        })
      )

      it.effect("says on the entity, the store and in the log if no process has the adapter", () =>
        Effect.gen(function* () {
          const shop = yield* aShop
          const { accountId, product, store } = shop
          const log = warningLog()
          const look = Effect.flatMap(Publishing, ({ noteUnclaimed }) => noteUnclaimed).pipe(Effect.provide(log.layer))
          yield* Effect.gen(function* () {
            const id = yield* request(shop)
            const repo = yield* PublicationsRepo
            const { delay } = yield* Publishing
            const errorOf = Effect.gen(function* () {
              const { stores } = yield* (yield* Programs).getProduct({ path: { id: product } })
              return stores.map(({ last_publish_error, last_publish_status }) => [
                last_publish_status,
                last_publish_error
              ])
            })
            // A process with the adapter looks after its own publishes, and one without it waits for some minutes.
            yield* Effect.provide(look, Having)
            yield* Effect.provide(look, publishingWith(quick))
            assert.deepStrictEqual(yield* errorOf, [["pending", null]])
            const [claimed = assert.fail()] = yield* repo.claim({
              limit: 1,
              maxPerStore: 9,
              leaseSeconds: 3_600,
              only: [id]
            })
            yield* Effect.provide(look, lacking())
            assert.deepStrictEqual(yield* errorOf, [["pending", null]], "a process works on it")
            yield* repo.giveBack(claimed)

            yield* Effect.provide(look, lacking())
            yield* Effect.provide(look, lacking())
            const error = { code: "PUBLISH_DELAYED", message: silence }
            assert.deepStrictEqual<unknown>(yield* errorOf, [["pending", error]])
            assert.strictEqual(yield* delay(store.id), silence)
            assert.deepStrictEqual<unknown>([...(yield* repo.delaysOf(accountId, product)).values()], [error])
            assert.deepStrictEqual(
              log.warnings.filter((each) => each.includes("PLATFORM_MODULES")),
              [
                "No process has taken the publishes to a store within 0, and this one has no adapter for its platform. PLATFORM_MODULES of at least one process must name the adapter's module"
              ]
            )

            const [record] = yield* Effect.provide(settle(id), Having)
            assert.deepInclude(record, { state: "published", attempts: 2, error: null })
            assert.deepStrictEqual(yield* errorOf, [["published", null]])
          }).pipe(actingAs(shop.actor))
        })
      )

      it.effect("takes requests of drops and jobs for it, because their steps run in any process", () =>
        Effect.gen(function* () {
          const shop = yield* aShop
          const { accountId, product, store } = shop
          yield* Effect.gen(function* () {
            yield* Effect.provide(settle(yield* request(shop)), Having)
            const { requestEach, requestPending, requestValues } = yield* Publishing
            const dropId = DropId.make(crypto.randomUUID())
            const ofDrop = yield* requestValues(product, store.id, { title: "Boots, reduced" }, { dropId })
            assert.strictEqual(ofDrop.outcome, "requested")
            const first = yield* anEntity("product", { title: "Tent" }, { on: [store] })
            const second = yield* anEntity("product", { title: "Tarp" }, { on: [store] })
            const jobId = JobId.make(crypto.randomUUID())
            assert.deepInclude(yield* requestEach(store.id, [first], jobId, EntityKind.literals), {
              requested: 1,
              refused: []
            })
            assert.deepStrictEqual(yield* requestPending(store.id, firstPlace, 9, jobId), {
              requested: 1,
              refused: [],
              next: null
            })
            const repo = yield* PublicationsRepo
            for (const entityId of [first, second])
              assert.isTrue(Option.isSome(yield* repo.newest(accountId, entityId, store.id)))
          }).pipe(actingAs(shop.actor))
        })
      )

      it.effect("cancels its publishes, because this makes no call", () =>
        Effect.gen(function* () {
          const shop = yield* aShop
          yield* Effect.gen(function* () {
            yield* request(shop)
            const { cancelAll } = yield* PublishJobs
            assert.deepInclude(yield* cancelAll(shop.store.id), { kind: "publish_cancel" })
          }).pipe(actingAs(shop.actor))
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
