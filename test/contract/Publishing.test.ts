import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Option, Stream } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { CurrentActor } from "../../src/model/Actor.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { PimLocked, RevisionConflict } from "../../src/model/Errors.ts"
import { type AccountId, EntityId, ImportId, nilUuid, type PublicationId, StoreId } from "../../src/model/Ids.ts"
import { delayedCode } from "../../src/model/PublishState.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { demoPlatformId } from "../../src/platform/demo/DemoRecords.ts"
import type { DemoFailure } from "../../src/platform/demo/DemoShop.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PlatformAnswers } from "../../src/platform/PlatformAnswers.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import {
  PlatformOutcomeUnknown,
  PlatformRefused,
  PlatformUnavailable,
  type PlatformWriteError
} from "../../src/platform/PlatformErrors.ts"
import type { Publication } from "../../src/platform/Publication.ts"
import { WriteDeadline } from "../../src/platform/WriteDeadline.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import type { BeginAttempts, ClaimRequest } from "../../src/publishing/PublicationClaim.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import {
  defaultPublishingOptions,
  firstPlace,
  layerWorkers,
  Publishing,
  type PublishingOptions
} from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { monotonicMillis } from "../../src/runtime/MonotonicClock.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Programs,
  Stores
} from "../../src/testing/index.ts"
import { publishingWith } from "../support/PublishingWith.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const nobody = EntityId.make(nilUuid)
const nowhere = StoreId.make(nilUuid)

const quickly = (options: Partial<PublishingOptions>) =>
  publishingWith({
    firstDelay: Duration.millis(2),
    longestDelay: Duration.millis(4),
    pollEvery: Duration.millis(10),
    ...options
  })

/** The service as in production, but with short delays before further attempts. */
const Quick = quickly({})

/** The same, but attempts count also while the whole platform does not answer. */
const Counting = quickly({ outageLimit: Duration.zero })

/** The same, but a publish that fails alone does not wait. */
const Impatient = quickly({ aloneLimit: Duration.zero })

/** The same, but the first pause of an outage is longer than a test. */
const Patient = quickly({ firstDelay: Duration.hours(1), longestDelay: Duration.hours(1) })

/** The error of a publication while the demo's shop fails. */
const delayed = {
  code: "PUBLISH_DELAYED",
  message:
    "The store's platform cannot be reached: it reports an internal error. The publish is tried again for up to 24 hours."
}

/** The number of attempts that count, after which a publication on a platform that does not answer fails. */
const mostCounted = defaultPublishingOptions.maxPushes + defaultPublishingOptions.maxReadings

const quiet = () => Effect.void

/** An account with a demo store, which has a product with all related entities, and a store without a platform. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const { store } = yield* link({ domain: "tern.demo.example", platform: "demo" })
    const { store: other } = yield* link({ domain: "other.demo.example", platform: "demo" })
    const { store: files } = yield* link({ domain: "files.example" })
    const on = [store]
    const product = yield* anEntity("product", { title: "Tent", vendor: "Tern", "spec.made": "here" }, { on })
    const small = yield* anEntity("variant", { sku: "T-S", price: "1.00" }, { on, of: product })
    const large = yield* anEntity("variant", { sku: "T-L", price: "2.00" }, { on, of: product })
    const picture = yield* anEntity("media", { url: "https://cdn.example/a.png", alt: "A tent" }, { on })
    const collection = yield* anEntity("collection", { title: "Tents" }, { on })
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: picture, storeIds: [store.id] }] }),
      CatalogChange.SetMembers({ collectionId: collection, productIds: [product] })
    ])
    const shop = { accountId, storeId: store.id }
    return { accountId, actor, store, other, files, shop, product, small, large, picture, collection }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const ask = (id: EntityId, store: { readonly id: StoreId }, revision?: number) =>
  Effect.flatMap(Publishing, (publishing) => publishing.request(id, store.id, revision))

const idOf = (asked: { readonly outcome: string; readonly publicationId?: PublicationId }) => {
  assert(asked.publicationId !== undefined, asked.outcome)
  return asked.publicationId
}

/** Waits for the outcome of this one. */
const settled = (id: PublicationId) =>
  Effect.gen(function* () {
    const [record] = yield* (yield* Publishing).settle([id], quiet)
    assert(record !== undefined)
    return record
  })

const publish = (id: EntityId, store: { readonly id: StoreId }) =>
  Effect.flatMap(ask(id, store), (asked) => settled(idOf(asked)))

const set = (id: EntityId, values: Readonly<Record<string, string | null>>) =>
  Effect.orDie(
    Effect.flatMap(CatalogChanges, ({ apply }) => apply([CatalogChange.SetAttributes({ entityId: id, values })]))
  )

/** Whether the version is pending, and its publish status. */
const stateOf = (id: EntityId, store: { readonly id: StoreId }) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.get(id, store.id)),
    (draft) => [draft.pending_publish, draft.last_publish_status] as const
  )

const liveOf = ({ shop }: Shop, id: string) =>
  Effect.map(
    Effect.flatMap(DemoShops, (shops) => Stream.runCollect(shops.records(shop))),
    (records) => [...records].find(({ entityId }) => entityId === id)
  )
const titleOf = (shop: Shop, id: EntityId) => Effect.map(liveOf(shop, id), (live) => live?.attributes.title?.value)

const fail = ({ shop }: Shop, kind: DemoFailure["kind"], percent = 100) =>
  Effect.flatMap(DemoShops, (shops) => shops.fail(shop, { kind, percent, delayMillis: 0 }))
const repair = ({ shop }: Shop) => Effect.flatMap(DemoShops, (shops) => shops.repair(shop))
const effects = ({ shop }: Shop) => Effect.flatMap(DemoShops, (shops) => shops.effects(shop))

const refusedBy = (code: string) => new PlatformRefused({ code, message: "No.", field: null })

/** Waits for the outcome of a publication to a store that answers each write with a failure, and never has the publication. */
const settledBy = (id: PublicationId, failure: () => PlatformWriteError) =>
  Effect.flatMap(PlatformClient, (platform) => {
    const failing = Layer.succeed(PlatformClient, {
      ...platform,
      publish: () => Effect.failSync(failure),
      readBack: () => Effect.succeedNone
    })
    return Effect.provide(settled(id), Layer.provide(Impatient, failing))
  })

const publishBy = (id: EntityId, store: { readonly id: StoreId }, failure: () => PlatformWriteError) =>
  Effect.flatMap(ask(id, store), (asked) => settledBy(idOf(asked), failure))

const refusal = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

const outcomes = (id: PublicationId) =>
  Effect.map(
    Effect.flatMap(Publishing, (publishing) => publishing.attempts(id)),
    (attempts) => attempts.map(({ outcome, reason }) => [outcome, reason])
  )

/** Waits until so many attempts of this one began, or it has ended. */
const untilTried = ({ accountId }: Shop, id: PublicationId, attempts: number) =>
  Effect.flatMap(PublicationsRepo, (repo) =>
    Effect.map(repo.find(accountId, [id]), ([record]) => {
      assert(record !== undefined)
      return record
    })
  ).pipe(
    Effect.delay("5 millis"),
    Effect.repeat({ until: (record) => record.state !== "pending" || record.attempts >= attempts })
  )

/** Waits until an attempt of each has ended because the platform did not answer. */
const untilDelayed = ({ accountId }: Shop, ids: ReadonlyArray<PublicationId>) =>
  Effect.flatMap(PublicationsRepo, (repo) => repo.find(accountId, ids)).pipe(
    Effect.delay("5 millis"),
    Effect.repeat({ until: (records) => records.every(({ error }) => error?.code === delayed.code) })
  )

/** Claims publications as a process that dies afterwards. */
const claimAndDie = (leaseSeconds: number, ...only: ReadonlyArray<PublicationId>) =>
  Effect.flatMap(PublicationsRepo, (repo) => repo.claim({ limit: 100, maxPerStore: 100, leaseSeconds, only }))

/**
 * Claims one publication that is due, as a process that dies afterwards. On a cluster a claim takes nothing while a busy node does not
 * answer in time, so it is repeated.
 */
const claimOneAndDie = (leaseSeconds: number, id: PublicationId) =>
  Effect.map(
    Effect.repeat(Effect.delay(claimAndDie(leaseSeconds, id), "5 millis"), { until: (claimed) => claimed.length > 0 }),
    ([claimed]) => {
      assert(claimed?.id === id)
      return claimed
    }
  )

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`publishing on ${engine.name}`, () => {
    layer(Quick.pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })((it) => {
      it.effect("the first publish of a product includes its variants and media, which get the same outcome", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, large, picture, product, small, store } = shop
            const all = [product, small, large, picture]
            const asked = yield* ask(product, store)
            assert.strictEqual(asked.outcome, "requested")
            for (const id of all) assert.deepStrictEqual(yield* stateOf(id, store), [true, "pending"])
            const record = yield* settled(idOf(asked))
            assert.deepInclude(record, {
              entityId: product,
              storeId: store.id,
              storeDomain: store.domain,
              state: "published",
              attempts: 1,
              error: null,
              draftRevision: asked.draftRevision
            })
            assert.isNotNull(record.finishedAt)
            for (const id of all) assert.deepStrictEqual(yield* stateOf(id, store), [false, "published"])
            const live = yield* liveOf(shop, product)
            assert.deepStrictEqual(live?.media, [demoPlatformId("media", picture)])
            assert.strictEqual(live?.attributes.title?.value, "Tent")
            assert.strictEqual((yield* liveOf(shop, large))?.attributes.price?.value, "2.00")
            const known = yield* (yield* PublicationsRepo).storeVersions(accountId, store.id, all)
            assert.deepStrictEqual(
              all.map((id) => known.get(id)?.platformId),
              [
                demoPlatformId("product", product),
                demoPlatformId("variant", small),
                demoPlatformId("variant", large),
                demoPlatformId("media", picture)
              ]
            )
            const { recordsOfOthers } = yield* PublicationsRepo
            const [ofProduct, ofVariant] = [demoPlatformId("product", product), demoPlatformId("variant", small)]
            const records = [ofProduct, ofVariant, "demo://product/0"]
            assert.deepStrictEqual(yield* recordsOfOthers(accountId, store.id, product, records), new Set([ofVariant]))
            assert.deepStrictEqual(yield* recordsOfOthers(accountId, nowhere, product, records), new Set<string>())
            assert.deepStrictEqual(yield* outcomes(record.id), [["published", null]])
          })
        )
      )

      it.effect("a later publish sends only the product; drafts of its variants stay drafts", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, small, store } = shop
            yield* publish(product, store)
            yield* set(product, { title: "Tent 2" })
            yield* set(small, { price: "9.00" })
            yield* publish(product, store)
            assert.strictEqual(yield* titleOf(shop, product), "Tent 2")
            assert.strictEqual((yield* liveOf(shop, small))?.attributes.price?.value, "1.00")
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
            assert.deepStrictEqual(yield* stateOf(small, store), [true, "published"])
            yield* publish(small, store)
            assert.strictEqual((yield* liveOf(shop, small))?.attributes.price?.value, "9.00")
            assert.deepStrictEqual(yield* stateOf(small, store), [false, "published"])
          })
        )
      )

      it.effect("a variant added after the first publish is published alone, then put in its position", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { large, product, small, store } = shop
            yield* publish(product, store)
            const medium = yield* anEntity("variant", { title: "M", price: "1.50" }, { on: [store], of: product })
            const { apply } = yield* CatalogChanges
            yield* apply([CatalogChange.OrderVariants({ productId: product, variantIds: [small, medium, large] })])
            const places = Effect.map(
              Effect.flatMap(DemoShops, (shops) => Stream.runCollect(shops.records(shop.shop))),
              (records) => [...records].filter(({ kind }) => kind === "variant").map(({ entityId }) => entityId)
            )
            // The store does not have the new variant yet, so it has no position there either.
            yield* publish(product, store)
            assert.deepStrictEqual(yield* places, [small, large])
            assert.deepStrictEqual(yield* stateOf(medium, store), [true, "never_published"])
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "published"])
            yield* publish(medium, store)
            assert.deepStrictEqual(yield* places, [small, large, medium])
            yield* publish(product, store)
            assert.deepStrictEqual(yield* places, [small, medium, large])
            for (const id of [product, medium]) assert.deepStrictEqual(yield* stateOf(id, store), [false, "published"])
          })
        )
      )

      it.effect("edits after the request stay drafts", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, small, store } = shop
            const asked = yield* ask(product, store)
            yield* set(product, { title: "Later" })
            yield* set(small, { price: "7.00" })
            yield* settled(idOf(asked))
            assert.strictEqual(yield* titleOf(shop, product), "Tent")
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "published"])
            assert.deepStrictEqual(yield* stateOf(small, store), [true, "published"])
            yield* set(product, { title: "Tent" })
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("an equal request joins the open one; a newer request runs after it", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const publishing = yield* Publishing
            const first = yield* ask(product, store)
            assert.deepStrictEqual<unknown>(yield* ask(product, store), { ...first, outcome: "joined", delay: null })
            yield* set(product, { title: "Tent 2" })
            const second = yield* ask(product, store)
            assert.strictEqual(second.outcome, "requested")
            assert.notStrictEqual(idOf(second), idOf(first))
            yield* set(product, { title: "Tent" })
            // The accepted values are older than the open publications, so there is something to publish.
            const third = yield* ask(product, store)
            const taken = yield* claimAndDie(0, ...[first, second, third].map(idOf))
            assert.deepStrictEqual(
              taken.map(({ id }) => id),
              [idOf(first)]
            )
            const records = yield* publishing.settle([first, second, third].map(idOf), quiet)
            assert.deepStrictEqual(
              records.map(({ id, state }) => [id, state]),
              [first, second, third].map((asked) => [idOf(asked), "published"])
            )
            assert.strictEqual(yield* titleOf(shop, product), "Tent")
            assert.strictEqual(yield* effects(shop), 3)
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("the state stays pending while a newer request is open, for every outcome of the older one", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, small, store } = shop
            const first = yield* ask(product, store)
            yield* set(product, { title: "" })
            const second = yield* ask(product, store)
            yield* settled(idOf(first))
            assert.strictEqual((yield* stateOf(small, store))[1], "published")
            const refused = yield* settled(idOf(second))
            assert.deepStrictEqual(refused.error, { code: "INVALID_INPUT", message: "Title can't be blank" })
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
            assert.strictEqual((yield* stateOf(small, store))[1], "published")
          })
        )
      )

      it.effect("entities of a waiting publish are published by themselves if their product went live meanwhile", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, large, product, small, store } = shop
            const repo = yield* PublicationsRepo
            const first = yield* ask(product, store)
            const extra = yield* anEntity("variant", { sku: "T-X", price: "3.00" }, { on: [store], of: product })
            yield* set(small, { price: "7.00" })
            yield* set(large, { price: "8.00" })
            const second = yield* ask(product, store)
            // An edit after the request stays a draft. A newer request publishes its own values.
            yield* set(extra, { price: "4.00" })
            yield* set(small, { price: "7.50" })
            const newer = yield* ask(small, store).pipe(Effect.flip)
            assert.strictEqual(newer._tag, "ValidationFailed")
            yield* settled(idOf(first))
            const newest = yield* ask(small, store)
            yield* settled(idOf(second))
            const following = yield* Effect.forEach([extra, large, small], (id) =>
              Effect.map(repo.newest(accountId, id, store.id), (open) => Option.getOrThrow(open).id)
            )
            assert.strictEqual(following[2], idOf(newest))
            assert.deepStrictEqual(
              (yield* Effect.forEach(following, settled)).map(({ state }) => state),
              ["published", "published", "published"]
            )
            const live = yield* Effect.forEach([extra, large, small], (id) => liveOf(shop, id))
            assert.deepStrictEqual(
              live.map((record) => record?.attributes.price?.value),
              ["3.00", "8.00", "7.50"]
            )
            assert.deepStrictEqual(yield* Effect.forEach([extra, large, small], (id) => stateOf(id, store)), [
              [true, "published"],
              [false, "published"],
              [false, "published"]
            ])
            const history = yield* (yield* Drafts).history(extra, 10)
            assert.deepStrictEqual(
              history.flatMap(({ action }) => (action.startsWith("publish") ? [action] : [])),
              ["published", "publish_asked"]
            )
          })
        )
      )

      it.effect("a variant that was removed from the store before the first publish of its product is not sent", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { large, product, small, store } = shop
            const asked = yield* ask(product, store)
            yield* (yield* CatalogChanges).apply([
              CatalogChange.RemoveFromStore({ entityId: large, storeId: store.id })
            ])
            assert.strictEqual((yield* settled(idOf(asked))).state, "published")
            assert.isDefined(yield* liveOf(shop, small))
            assert.isUndefined(yield* liveOf(shop, large))
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("a collection stays unpublished until the store has all its products", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, collection, product, store } = shop
            const repo = yield* PublicationsRepo
            const second = yield* anEntity("product", { title: "Stove" }, { on: [store] })
            yield* publish(product, store)
            // Its values come from a file, so the platform's id is not known.
            yield* (yield* CatalogChanges).apply([
              CatalogChange.AcceptImported({
                entityId: second,
                storeId: store.id,
                values: {},
                media: [],
                variants: []
              }),
              CatalogChange.SetMembers({ collectionId: collection, productIds: [product, second] })
            ])
            const waiting = yield* anEntity("product", { title: "Lamp" }, { on: [store] })
            const elsewhere = yield* anEntity("product", { title: "Axe" }, { on: [shop.other] })
            assert.deepStrictEqual(
              yield* repo.memberVersions(accountId, store.id, [product, second, waiting, elsewhere]),
              new Map([
                [product, { platformId: demoPlatformId("product", product), isLive: true }],
                [second, { platformId: null, isLive: true }],
                [waiting, { platformId: null, isLive: false }]
              ])
            )
            const asked = yield* ask(collection, store)
            const first = Option.getOrThrow(yield* repo.newest(accountId, second, store.id)).id
            yield* fail(shop, "refuse")
            assert.strictEqual((yield* settled(first)).state, "failed")
            yield* repair(shop)
            assert.strictEqual((yield* settled(idOf(asked))).state, "published")
            assert.deepStrictEqual((yield* liveOf(shop, collection))?.members, [demoPlatformId("product", product)])
            assert.deepStrictEqual(yield* stateOf(collection, store), [true, "published"])
            const again = yield* ask(collection, store)
            assert.strictEqual((yield* settled(idOf(again))).state, "published")
            assert.lengthOf((yield* liveOf(shop, collection))?.members ?? [], 2)
            assert.deepStrictEqual(yield* stateOf(collection, store), [false, "published"])
          })
        )
      )

      it.effect("a request with nothing to publish says so and changes nothing", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* publish(product, store)
            const before = yield* (yield* Drafts).history(product, 250)
            assert.deepStrictEqual(yield* ask(product, store), {
              outcome: "nothing_to_publish",
              title: "Tent",
              draftRevision: before[0]?.draft_revision ?? 0,
              waiting: []
            })
            assert.deepStrictEqual(yield* (yield* Drafts).history(product, 250), before)
          })
        )
      )

      it.effect("imported values count as accepted, and variants of such products can be published", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { large, picture, product, small, store } = shop
            const imported = (entityId: EntityId, variants: ReadonlyArray<EntityId> = []) =>
              CatalogChange.AcceptImported({
                entityId,
                storeId: store.id,
                values: {},
                media: variants.length === 0 ? [] : [picture],
                variants
              })
            yield* (yield* CatalogChanges).apply([
              imported(product, [small, large]),
              ...[small, large, picture].map((id) => imported(id))
            ])
            assert.strictEqual((yield* ask(product, store)).outcome, "nothing_to_publish")
            yield* set(small, { price: "9.00" })
            yield* set(product, { title: "Not asked for" })
            const record = yield* publish(small, store)
            assert.strictEqual(record.state, "published")
            assert.strictEqual((yield* liveOf(shop, small))?.attributes.price?.value, "9.00")
            assert.strictEqual((yield* liveOf(shop, large))?.attributes.price?.value, "2.00")
            assert.strictEqual(yield* titleOf(shop, product), "Tent")
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "published"])
          })
        )
      )

      it.effect(
        "an import keeps the state of a publish that waits, and of one that failed while the draft still differs",
        () =>
          inShop(({ product, store }) =>
            Effect.gen(function* () {
              const { apply } = yield* CatalogChanges
              const onStore = { entityId: product, storeId: store.id }
              const imported = (title: string) =>
                CatalogChange.AcceptImported({ ...onStore, values: { title }, media: [], variants: [] })
              const stateAfterImport = (title: string) =>
                Effect.gen(function* () {
                  yield* apply([imported(title)])
                  const detail = yield* (yield* Programs).getProduct({ path: { id: product } })
                  const version = detail.stores.find(({ store_id }) => store_id === store.id)
                  return [version?.pending_publish, version?.last_publish_status, version?.last_publish_error?.code]
                })
              yield* publish(product, store)
              yield* set(product, { title: "Draft" })
              yield* ask(product, store)
              assert.deepStrictEqual(yield* stateAfterImport("Of the store"), [true, "pending", undefined])
              yield* apply([
                CatalogChange.RefusePublish({ ...onStore, error: { code: "SERVER", message: "It failed." } })
              ])
              assert.deepStrictEqual(yield* stateAfterImport("Changed again"), [true, "failed", "SERVER"])
              assert.deepStrictEqual(yield* stateAfterImport("Draft"), [false, "published", undefined])
            })
          )
      )

      it.effect("a deleted metafield is deleted on the store", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* publish(product, store)
            assert.strictEqual((yield* liveOf(shop, product))?.attributes["spec.made"]?.value, "here")
            const sent: Array<unknown> = []
            yield* set(product, { "spec.made": null })
            const asked = yield* ask(product, store)
            const platform = yield* PlatformClient
            const watching = Layer.succeed(PlatformClient, {
              ...platform,
              publish: (to, publication) => {
                sent.push(publication.attributes["spec.made"])
                return platform.publish(to, publication)
              }
            })
            yield* Effect.provide(settled(idOf(asked)), Layer.provide(Quick, watching))
            assert.deepStrictEqual(sent, [{ value: "", type: "single_line_text_field" }])
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("all unpublished drafts are requested: products first, then entities that refer to them", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, collection, files, other, picture, product, store } = shop
            const { requestPending, pending } = yield* Publishing
            const one = (kind: EntityKind, waiting: number, underWay = 0) => ({ kind, waiting, underWay })
            const all = [one("collection", 1), one("media", 1), one("product", 1), one("variant", 2)]
            assert.deepStrictEqual(yield* pending(store.id), all)
            assert.deepStrictEqual(yield* pending(other.id), [])
            const loose = yield* anEntity("collection", { title: "Loose" }, { on: [store] })
            const begun = { requested: 1, refused: [], next: { ...firstPlace, part: "others" } as const }
            assert.deepStrictEqual(yield* requestPending(store.id, firstPlace, 200), begun)
            // Its variants and its picture are published with the product, so a second request finds nothing.
            assert.deepStrictEqual(yield* pending(store.id), [
              one("collection", 2),
              one("media", 0, 1),
              one("product", 0, 1),
              one("variant", 0, 2)
            ])
            assert.deepStrictEqual(yield* requestPending(store.id, firstPlace, 200), { ...begun, requested: 0 })
            // The product is not live yet, so entities that need it are refused and stay pending.
            const early = yield* requestPending(store.id, begun.next, 200)
            assert.deepStrictEqual(early, {
              requested: 1,
              refused: [
                {
                  id: collection,
                  kind: "collection",
                  title: "Tents",
                  message: `product ${product} is not live on this store: publish it first, or take it out of the collection`
                }
              ],
              next: null
            })
            const asked = yield* ask(product, store)
            assert.strictEqual(asked.outcome, "joined")
            yield* settled(idOf(asked))
            assert.deepStrictEqual(yield* requestPending(store.id, begun.next, 200), {
              requested: 1,
              refused: [],
              next: null
            })
            for (const id of [collection, loose]) yield* settled(idOf(yield* ask(id, store)))
            assert.deepStrictEqual(yield* pending(store.id), [])
            assert.deepStrictEqual(yield* stateOf(picture, store), [false, "published"])
            // Pages list only publications of this store and account.
            const repo = yield* PublicationsRepo
            yield* set(product, { title: "Tent 2" })
            yield* set(collection, { title: "Tents 2" })
            const after = (account: AccountId, id: EntityId, limit = 10) =>
              Effect.map(repo.pendingAfter(account, store.id, ["product", "collection"], id, limit), (found) =>
                found.map((each) => each.id)
              )
            const [first = nobody, second = nobody] = [product, collection].sort()
            assert.deepStrictEqual(yield* after(accountId, nobody), [first, second])
            assert.deepStrictEqual(yield* after(accountId, nobody, 1), [first])
            assert.deepStrictEqual(yield* after(accountId, first), [second])
            assert.deepStrictEqual(yield* after(accountId, second), [])
            assert.deepStrictEqual(yield* repo.pendingAfter(accountId, store.id, ["media"], nobody, 10), [])
            const stranger = yield* anAccount()
            assert.deepStrictEqual(yield* after(stranger.accountId, nobody), [])
            const theirs = actingAs(stranger.actor)
            assert.strictEqual((yield* Effect.flip(pending(store.id)).pipe(theirs))._tag, "NotFound")
            assert.strictEqual(
              (yield* Effect.flip(requestPending(store.id, firstPlace, 200)).pipe(theirs))._tag,
              "NotFound"
            )
            assert.strictEqual((yield* Effect.flip(requestPending(files.id, firstPlace, 200)))._tag, "ValidationFailed")
          })
        )
      )

      it.effect("collections send their members; variants and members whose product is not live are refused", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { collection, product, small, store } = shop
            assert.strictEqual(
              yield* refusal(ask(small, store)),
              `entity_id: its product ${product} is not live on this store: publish the product first`
            )
            assert.strictEqual(
              yield* refusal(ask(collection, store)),
              `members: product ${product} is not live on this store: publish it first, or take it out of the collection`
            )
            assert.deepStrictEqual(yield* stateOf(collection, store), [true, "never_published"])
            yield* publish(product, store)
            yield* publish(collection, store)
            assert.deepStrictEqual((yield* liveOf(shop, collection))?.members, [demoPlatformId("product", product)])
            assert.deepStrictEqual(yield* stateOf(collection, store), [false, "published"])
          })
        )
      )

      it.effect("a job requests what refers to selected products when these are live, whatever the order", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { collection, picture, product, small, store } = shop
            const { id } = yield* (yield* PublishJobs).selected(store.id, [collection, small, picture, product])
            const ended = yield* Effect.raceFirst(
              Effect.flatMap(JobWorker, ({ settle }) => settle(id, quiet)),
              Effect.flatMap(Publishing, ({ work }) => work)
            )
            assert.deepInclude(Option.getOrThrow(ended), {
              state: "done",
              done: 4,
              error_count: 0,
              // The first publish of the product includes its variants and its picture.
              result: { requested: 2, refused: 0 }
            })
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("a job lists the selected entities that do not exist, whatever their ids are of", () =>
        inShop(({ picture, product, small, store }) =>
          Effect.gen(function* () {
            const jobs = yield* PublishJobs
            const stranger = yield* aShop
            const gone = [nobody, stranger.picture]
            const begun = yield* jobs.chosen(store.id, ["media"], { ids: [...gone, picture, small, product] })
            const ended = yield* Effect.flatMap(JobWorker, ({ settle }) => settle(begun.id, quiet))
            assert.deepInclude(Option.getOrThrow(ended), {
              state: "done",
              done: 5,
              result: { requested: 1, refused: 4 },
              errors: [...gone, small, product].map((id) => ({ item: `media ${id}`, message: "it no longer exists" }))
            })
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "never_published"])
            const none = yield* Effect.flip(jobs.chosen(store.id, ["media"], { ids: [...gone, product] }))
            assert.deepInclude(none, { issues: [{ path: "", message: "nothing that was selected exists any more" }] })
            const any = yield* jobs.selected(store.id, [...gone, picture])
            const all = yield* Effect.flatMap(JobWorker, ({ settle }) => settle(any.id, quiet))
            assert.deepStrictEqual(
              Option.getOrThrow(all).errors.map(({ item }) => item),
              gone.map((id) => `entity ${id}`)
            )
          })
        )
      )

      it.effect("a job that publishes all drafts counts those of its publishes that failed", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const resultOfAll = Effect.gen(function* () {
              const { all, withOutcomes } = yield* PublishJobs
              const { id } = yield* all(store.id)
              const ended = yield* Effect.raceFirst(
                Effect.flatMap(JobWorker, ({ settle }) => settle(id, quiet)),
                Effect.flatMap(Publishing, ({ work }) => work)
              )
              return (yield* withOutcomes(Option.getOrThrow(ended))).result
            })
            yield* fail(shop, "refuse")
            const { failed, requested } = yield* resultOfAll
            assert.isAtLeast(requested ?? 0, 1)
            assert.strictEqual(failed, requested)
            yield* repair(shop)
            assert.notProperty(yield* resultOfAll, "failed")
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("a job that publishes all drafts does not count publishes that others request meanwhile", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { store } = shop
            const { runDue, settle } = yield* JobWorker
            yield* fail(shop, "refuse")
            const { id } = yield* (yield* PublishJobs).all(store.id)
            // The job has requested the products, and waits for their outcomes before it requests the collections.
            yield* runDue
            const theirs = yield* anEntity("product", { title: "Stove" }, { on: [store] })
            const asked = yield* ask(theirs, store)
            const ended = yield* Effect.raceFirst(
              settle(id, quiet),
              Effect.flatMap(Publishing, ({ work }) => work)
            )
            assert.strictEqual((yield* settled(idOf(asked))).state, "failed")
            const { failed, requested } = (yield* (yield* PublishJobs).withOutcomes(Option.getOrThrow(ended))).result
            assert.isAtLeast(requested ?? 0, 1)
            assert.strictEqual(failed, requested)
          })
        )
      )

      it.effect("a job that publishes a selection counts its publishes that fail after it is done", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const { selected, withOutcomes } = yield* PublishJobs
            const jobs = yield* Jobs
            const { settle } = yield* JobWorker
            const theirs = yield* anEntity("product", { title: "Stove" }, { on: [store] })
            yield* fail(shop, "refuse")
            const { id } = yield* selected(store.id, [product])
            const result = Effect.map(Effect.flatMap(jobs.get(id), withOutcomes), (job) => job.result)
            yield* settle(id, quiet)
            // Nothing has been pushed yet.
            assert.deepInclude(yield* jobs.get(id), { state: "done", result: { requested: 1, refused: 0 } })
            assert.deepStrictEqual(yield* result, { requested: 1, refused: 0 })
            assert.strictEqual((yield* publish(theirs, store)).state, "failed")
            // The same request again gets the publish that the job requested.
            assert.strictEqual((yield* publish(product, store)).state, "failed")
            assert.deepStrictEqual(yield* result, { requested: 1, refused: 0, failed: 1 })
            // A later publish with success does not change what this job did.
            yield* repair(shop)
            yield* publish(product, store)
            assert.deepStrictEqual(yield* result, { requested: 1, refused: 0, failed: 1 })
          })
        )
      )

      it.effect("unknown entities, stores without a platform and outdated revisions are refused", () =>
        inShop(({ files, other, picture, product, store }) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            const gone = "No such record."
            for (const [id, where] of [
              [nobody, store],
              [product, { id: nowhere }],
              [product, other],
              [theirs.product, store],
              [theirs.product, theirs.store],
              [product, theirs.store]
            ] as const)
              assert.strictEqual(yield* refusal(ask(id, where)), gone)
            yield* (yield* CatalogChanges).apply([CatalogChange.AddToStore({ entityId: picture, storeId: files.id })])
            assert.strictEqual(
              yield* refusal(ask(picture, files)),
              "store_id: files.example has no platform: nothing can be published to it"
            )
            const revision = (yield* (yield* Drafts).get(picture, null)).draft_revision
            assert.strictEqual(
              yield* refusal(ask(picture, store, revision - 1)),
              new RevisionConflict({ entityId: picture, currentRevision: revision }).message
            )
            assert.strictEqual((yield* ask(picture, store, revision)).outcome, "requested")
          })
        )
      )

      it.effect("during the review of an import no request or attempt starts, and running attempts end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, store } = shop
            const importLock = yield* ImportLockRepo
            const asked = yield* ask(product, store)
            yield* importLock.keep(accountId, ImportId.make(nilUuid))
            assert.deepStrictEqual(yield* claimAndDie(0, idOf(asked)), [])
            assert.strictEqual(yield* refusal(ask(product, store)), new PimLocked().message)
            assert.strictEqual(yield* refusal(ask(nobody, store)), "No such record.")
            yield* importLock.keep(accountId, null)
            assert.strictEqual((yield* settled(idOf(asked))).state, "published")
          })
        )
      )

      it.effect(
        "a refusal fails at once with the platform's reason, and a repaired store accepts the next publish",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { picture, product, small, store } = shop
              yield* fail(shop, "refuse")
              const record = yield* publish(product, store)
              const error = {
                code: "DEMO_REFUSED",
                message:
                  "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
              }
              assert.deepInclude(record, { state: "failed", attempts: 1, error })
              for (const id of [product, small, picture])
                assert.deepStrictEqual(yield* stateOf(id, store), [true, "failed"])
              assert.deepStrictEqual(yield* outcomes(record.id), [["refused", "DEMO_REFUSED"]])
              assert.isUndefined(yield* liveOf(shop, product))
              const told = yield* (yield* Drafts).history(product, 2)
              assert.deepStrictEqual(
                told.map((entry) => [entry.action, entry.error, entry.store_domain]),
                [
                  ["publish_failed", error, store.domain],
                  ["publish_asked", null, store.domain]
                ]
              )
              yield* repair(shop)
              assert.strictEqual((yield* publish(product, store)).state, "published")
              assert.deepStrictEqual(yield* stateOf(small, store), [false, "published"])
              for (const id of [product, small])
                assert.deepStrictEqual(
                  (yield* (yield* Drafts).history(id, 4)).map(({ action }) => action),
                  ["published", "publish_asked", "publish_failed", "publish_asked"]
                )
            })
          )
      )

      it.effect("a failed version is sent even if its draft was undone: the state of the store is unknown", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* publish(product, store)
            yield* fail(shop, "refuse")
            yield* set(product, { title: "Tent 2" })
            yield* publish(product, store)
            yield* set(product, { title: "Tent" })
            yield* repair(shop)
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "failed"])
            assert.strictEqual((yield* publish(product, store)).state, "published")
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("after the last attempt on a failing platform the publication fails, with the number of attempts", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* fail(shop, "error")
            const record = yield* Effect.provide(publish(product, store), Counting)
            // The first attempt sends; each further one reads the store back first, which fails too.
            assert.deepInclude(record, {
              state: "failed",
              attempts: mostCounted,
              error: {
                code: "PLATFORM_UNAVAILABLE",
                message: "The store's platform cannot be reached: it reports an internal error. Tried 12 times."
              }
            })
            assert.deepStrictEqual(
              yield* outcomes(record.id),
              Array.from({ length: mostCounted }, () => ["unavailable", "server"])
            )
            assert.strictEqual(yield* effects(shop), 0)
          })
        )
      )

      it.effect("an outage of the whole platform only delays the publish, and the versions say why", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, small, store } = shop
            const statesOf = Effect.gen(function* () {
              const { getProduct, getVariant } = yield* Programs
              const details = [yield* getProduct({ path: { id: product } }), yield* getVariant({ path: { id: small } })]
              return details.flatMap(({ stores }) =>
                stores.map(({ last_publish_error, last_publish_status }) => [last_publish_status, last_publish_error])
              )
            })
            yield* fail(shop, "error")
            const id = idOf(yield* ask(product, store))
            const settling = yield* Effect.fork(settled(id))
            const record = yield* untilTried(shop, id, mostCounted + 2)
            assert.deepInclude(record, { state: "pending", error: delayed })
            assert.deepStrictEqual(yield* statesOf, [
              ["pending", delayed],
              ["pending", delayed]
            ])
            yield* repair(shop)
            assert.deepInclude(yield* Fiber.join(settling), { state: "published", error: null })
            assert.deepStrictEqual(yield* statesOf, [
              ["published", null],
              ["published", null]
            ])
            assert.strictEqual(yield* effects(shop), 1)
          })
        )
      )

      it.effect(
        "a publish that is requested again in an outage is tried at once; when one succeeds, so are all others",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { store } = shop
              const media = yield* Effect.forEach(["a", "b", "c"], (name) =>
                anEntity("media", { url: `https://cdn.example/${name}.png` }, { on: [store] })
              )
              const [first] = media
              assert(first !== undefined)
              yield* fail(shop, "error")
              const ids = yield* Effect.forEach(media, (id) => Effect.map(ask(id, store), idOf))
              const settling = yield* Effect.fork(
                Effect.provide(
                  Effect.flatMap(Publishing, ({ settle }) => settle(ids, quiet)),
                  Patient
                )
              )
              yield* untilDelayed(shop, ids)
              yield* repair(shop)
              assert.deepInclude<object>(yield* ask(first, store), {
                outcome: "joined",
                publicationId: ids[0],
                delay: delayed.message
              })
              assert.deepStrictEqual<unknown>(
                (yield* Fiber.join(settling)).map(({ attempts, error, state }) => [attempts, error, state]),
                ids.map(() => [2, null, "published"])
              )
              assert.strictEqual(yield* effects(shop), 3)
            })
          )
      )

      it.effect("in an outage a newer request of an entity is sent after the one that waits, without its pause", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* fail(shop, "error")
            const older = idOf(yield* ask(product, store))
            const waiting = yield* Effect.fork(Effect.provide(settled(older), Patient))
            yield* untilDelayed(shop, [older])
            yield* set(product, { title: "Tent 2" })
            yield* repair(shop)
            const newer = yield* ask(product, store)
            assert.strictEqual(newer.outcome, "requested")
            assert.deepInclude(yield* Effect.provide(settled(idOf(newer)), Patient), {
              state: "published",
              attempts: 1
            })
            assert.deepInclude(yield* Fiber.join(waiting), { state: "published", attempts: 2 })
            assert.strictEqual(yield* titleOf(shop, product), "Tent 2")
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect(
        "only publications of the store that wait for its platform, and of the entity if one is named, are hastened",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, other, store } = shop
              const repo = yield* PublicationsRepo
              const requestOn = (to: { readonly id: StoreId }) =>
                Effect.gen(function* () {
                  const id = yield* anEntity("media", { url: "https://cdn.example/a.png" }, { on: [store, other] })
                  return [id, idOf(yield* ask(id, to))] as const
                })
              const end = { outcome: "unavailable", reason: "server" } as const
              const failing = { code: "PLATFORM_UNAVAILABLE", message: "It failed." }
              const [entity, waits] = yield* requestOn(store)
              const [, waitsToo] = yield* requestOn(store)
              const [, counts] = yield* requestOn(store)
              const [, elsewhere] = yield* requestOn(other)
              yield* repo.postpone(yield* claimOneAndDie(3_600, counts), end, failing, 3_600)
              const taken = yield* Effect.forEach([waits, waitsToo, elsewhere], (id) => claimOneAndDie(3_600, id))
              for (const each of taken)
                assert.isTrue(
                  yield* repo.meetOutage(each, { outcome: "unavailable", reason: "server" }, delayed, 3_600)
                )
              assert.isTrue(Option.isSome(yield* repo.outage(accountId, store.id)))
              const all = [waits, waitsToo, counts, elsewhere]
              const due = Effect.map(claimAndDie(3_600, ...all), (claimed) => claimed.map(({ id }) => id))
              assert.deepStrictEqual(yield* due, [])
              yield* repo.hasten(accountId, store.id, entity)
              assert.isTrue(Option.isNone(yield* repo.outage(accountId, store.id)))
              assert.deepStrictEqual(yield* due, [waits])
              yield* repo.hasten(accountId, store.id, null)
              assert.deepStrictEqual(yield* due, [waitsToo])
              assert.deepStrictEqual(yield* due, [])
            })
          )
      )

      it.effect("a job says that its publishes wait for the store's platform", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { store } = shop
            const { id } = yield* (yield* PublishJobs).all(store.id)
            const { runDue } = yield* JobWorker
            const why = Effect.map(
              Effect.flatMap(Jobs, (jobs) => jobs.get(id)),
              ({ waiting_for, waits_for_platform }) => [waiting_for, waits_for_platform] as const
            )
            yield* runDue
            assert.deepStrictEqual(yield* why, ["the outcomes of publishes (1 left)", false])
            yield* fail(shop, "error")
            const settling = yield* Effect.fork(
              Effect.provide(
                Effect.flatMap(Publishing, ({ work }) => work),
                Patient
              )
            )
            yield* Effect.repeat(Effect.zipRight(runDue, Effect.delay(why, "20 millis")), {
              until: ([words, isForPlatform]) =>
                words === "the outcomes of publishes (1 left); the store's platform does not answer" && isForPlatform
            })
            assert.strictEqual(yield* (yield* Publishing).delay(store.id), delayed.message)
            assert.isNull(yield* (yield* Publishing).delay(shop.other.id))
            yield* Fiber.interrupt(settling)
          })
        )
      )

      it.effect("after the longest wait for a platform its attempts count, and the publication fails", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* fail(shop, "error")
            const id = idOf(yield* ask(product, store))
            const settling = yield* Effect.fork(settled(id))
            yield* untilTried(shop, id, 3)
            yield* Fiber.interrupt(settling)
            const before = (yield* outcomes(id)).length
            const aDayLater = Layer.effect(
              PublicationsRepo,
              Effect.map(PublicationsRepo, (repo) => ({
                ...repo,
                claim: (request: ClaimRequest, begin: BeginAttempts = () => Effect.void) =>
                  repo.claim(request, (claimed, at) =>
                    begin(
                      claimed.map((each) => ({ ...each, requestedAt: plusMicros(each.claimedAt, -86_400_000_000) })),
                      at
                    )
                  )
              }))
            )
            const record = yield* Effect.provide(settled(id), Layer.provide(Quick, aDayLater))
            assert.deepInclude(record, {
              state: "failed",
              attempts: before + mostCounted,
              error: {
                code: "PLATFORM_UNAVAILABLE",
                message: "The store's platform cannot be reached: it reports an internal error. Tried for 24 hours."
              }
            })
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
          })
        )
      )

      for (const reason of ["suspended", "throttled", "transport"] as const)
        it.effect(`an attempt does not count if no write was possible (${reason}), although the platform is read`, () =>
          inShop(({ product, store }) =>
            Effect.gen(function* () {
              const platform = yield* PlatformClient
              let calls = 0
              const busy = Layer.succeed(PlatformClient, {
                ...platform,
                publish: (to, publication) =>
                  ++calls <= mostCounted + 1 ? new PlatformUnavailable({ reason }) : platform.publish(to, publication)
              })
              const id = idOf(yield* ask(product, store))
              const record = yield* Effect.provide(settled(id), Layer.provide(Quick, busy))
              assert.deepInclude(record, { state: "published", attempts: mostCounted + 2 })
            })
          )
        )

      it.effect("an attempt counts if the platform can be read, but fails to take the publication", () =>
        inShop(({ product, store }) =>
          Effect.gen(function* () {
            const record = yield* publishBy(product, store, () => new PlatformUnavailable({ reason: "server" }))
            // The first attempt reads nothing, so it may have met an outage.
            assert.deepInclude(record, {
              state: "failed",
              attempts: defaultPublishingOptions.maxPushes + 1,
              error: {
                code: "PLATFORM_UNAVAILABLE",
                message: "The store's platform cannot be reached: it reports an internal error. Tried 6 times."
              }
            })
          })
        )
      )

      it.effect(
        "an attempt counts if the platform has answered one of its calls, also if it can never be read back",
        () =>
          inShop(({ product, store }) =>
            Effect.gen(function* () {
              const platform = yield* PlatformClient
              const failing = Effect.zipRight(
                Effect.flatMap(PlatformAnswers, ({ note }) => note),
                new PlatformUnavailable({ reason: "timeout" })
              )
              const halting = Layer.succeed(PlatformClient, {
                ...platform,
                publish: () => failing,
                readBack: () => failing
              })
              const id = idOf(yield* ask(product, store))
              assert.deepInclude(yield* Effect.provide(settled(id), Layer.provide(Impatient, halting)), {
                state: "failed",
                attempts: mostCounted,
                error: {
                  code: "PLATFORM_UNAVAILABLE",
                  message: "The store's platform cannot be reached: it did not answer in time. Tried 12 times."
                }
              })
            })
          )
      )

      it.effect("a claim has the number of attempts that do not count, its time and that of the request", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const repo = yield* PublicationsRepo
            const id = idOf(yield* ask(product, store))
            const first = yield* claimOneAndDie(3_600, id)
            assert.deepInclude(first, { attempts: 1, givenBack: 0, lost: 0, outageUntil: null })
            const error = { code: "SERVER", message: "It failed." }
            assert.isTrue(yield* repo.meetOutage(first, { outcome: "unavailable", reason: "server" }, error, 0))
            const second = yield* claimOneAndDie(3_600, id)
            assert.deepInclude(second, { attempts: 2, givenBack: 1, lost: 0, error, requestedAt: first.requestedAt })
            assert.isAbove(Date.parse(second.claimedAt), Date.parse(first.claimedAt))
            assert.isAtLeast(Date.parse(second.outageUntil ?? ""), Date.parse(first.claimedAt))
            assert.isAtMost(Date.parse(second.outageUntil ?? ""), Date.parse(second.claimedAt))
            assert.isTrue(yield* repo.postpone(second, { outcome: "unavailable", reason: "server" }, error, 0))
            assert.deepInclude(yield* claimOneAndDie(0, id), { attempts: 3, givenBack: 1, lost: 0 })
            assert.isFalse(yield* repo.meetOutage(second, { outcome: "unavailable", reason: "server" }, error, 3_600))
            assert.isTrue(Option.isNone(yield* repo.outage(shop.accountId, store.id)))
          })
        )
      )

      it.effect("an outage pauses all publishes to its store, and those that are requested meanwhile say why", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, other, store } = shop
            const aTarp = anEntity("product", { title: "Tarp" }, { on: [store, other] })
            const [one, two, three, four] = [yield* aTarp, yield* aTarp, yield* aTarp, yield* aTarp]
            const repo = yield* PublicationsRepo
            const met = idOf(yield* ask(one, store))
            const before = idOf(yield* ask(two, store))
            const underWay = idOf(yield* ask(three, store))
            const error = { code: delayedCode, message: "It does not answer." }
            const first = yield* claimOneAndDie(3_600, met)
            // A platform may fail for one record, so the first publication alone does not pause the store.
            assert.isTrue(yield* repo.meetOutage(first, { outcome: "unavailable", reason: "server" }, error, 0))
            const again = yield* claimOneAndDie(3_600, met)
            assert.isTrue(yield* repo.meetOutage(again, { outcome: "unavailable", reason: "server" }, error, 3_600))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.none())
            const [second, third] = [yield* claimOneAndDie(3_600, before), yield* claimOneAndDie(3_600, underWay)]
            assert.isTrue(yield* repo.meetOutage(second, { outcome: "unavailable", reason: "server" }, error, 3_600))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.some(error))
            assert.deepStrictEqual(yield* repo.outage(accountId, other.id), Option.none())

            const during = idOf(yield* ask(four, store))
            const elsewhere = idOf(yield* ask(one, other))
            const { getProduct } = yield* Programs
            for (const [id, why] of [
              [three, null],
              [four, error]
            ] as const) {
              const { stores } = yield* getProduct({ path: { id } })
              const { last_publish_error, last_publish_status } =
                stores.find((each) => each.store_id === store.id) ?? assert.fail()
              assert.deepStrictEqual([last_publish_status, last_publish_error], ["pending", why])
            }
            assert.deepStrictEqual(
              (yield* repo.find(accountId, [met, before, underWay, during])).map((record) => [
                record.state,
                record.error
              ]),
              [
                ["pending", error],
                ["pending", error],
                ["pending", null],
                ["pending", error]
              ]
            )
            yield* claimOneAndDie(0, elsewhere)
            assert.deepStrictEqual(yield* claimAndDie(0, during), [])
            // The platform has answered.
            assert.isTrue(yield* repo.finish(third, { outcome: "refused", reason: "NO" }, "failed", error))
            assert.deepStrictEqual(yield* repo.outage(accountId, store.id), Option.none())
            yield* claimOneAndDie(0, during)
          })
        )
      )

      it.effect("in an outage only the first publications of a store are tried", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { store } = shop
            const products = yield* Effect.replicateEffect(anEntity("product", { title: "Tarp" }, { on: [store] }), 24)
            yield* fail(shop, "error")
            const ids = yield* Effect.forEach(products, (id) => Effect.map(ask(id, store), idOf))
            const repo = yield* PublicationsRepo
            // The pauses of a publication are long enough to try all others meanwhile.
            const patient = quickly({ firstDelay: Duration.millis(500), longestDelay: Duration.millis(500) })
            const settle = Effect.flatMap(Publishing, ({ settle }) => settle(ids, quiet))
            const settling = yield* Effect.fork(Effect.provide(settle, patient))
            const [first] = ids
            assert(first !== undefined)
            yield* untilTried(shop, first, 3)
            const tried = (yield* repo.find(shop.accountId, ids)).filter(({ attempts }) => attempts > 0)
            // Until two of the first four have ended, the next ones take their places.
            assert.isAtMost(tried.length, 2 * defaultPublishingOptions.maxPerStore)
            yield* repair(shop)
            const records = yield* Fiber.join(settling)
            assert.deepStrictEqual(
              records.map(({ state }) => state),
              ids.map(() => "published")
            )
          })
        )
      )

      it.effect("a publication whose process dies each time fails in the end", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, small, store } = shop
            const broken = Layer.mock(PlatformClient, {
              publish: () => Effect.dieMessage("broken"),
              readBack: () => Effect.dieMessage("broken")
            })
            const hopeless = Publishing.layerWith({
              ...defaultPublishingOptions,
              maxLost: 2,
              pollEvery: Duration.millis(10)
            }).pipe(Layer.provide([StoreAccess.layer, FaultInjector.layer]), Layer.provide(broken))
            const id = idOf(yield* ask(product, store))
            for (let attempt = 1; attempt <= 3; attempt++) yield* claimOneAndDie(0, id)
            const record = yield* Effect.provide(settled(id), hopeless)
            assert.deepInclude(record, {
              state: "failed",
              attempts: 4,
              error: {
                code: "INTERRUPTED",
                message: "The publishing process stopped 3 times before it finished."
              }
            })
            assert.deepStrictEqual(yield* stateOf(small, store), [true, "failed"])
            assert.deepStrictEqual(
              (yield* outcomes(record.id)).map(([outcome]) => outcome),
              ["lost", "lost", "lost", "unknown"]
            )
          })
        )
      )

      it.effect("attempts whose process died do not count as failures of the store", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* fail(shop, "error")
            const impatient = Publishing.layerWith({
              ...defaultPublishingOptions,
              maxPushes: 4,
              maxReadings: 0,
              outageLimit: Duration.zero,
              firstDelay: Duration.zero,
              longestDelay: Duration.zero,
              pollEvery: Duration.millis(10)
            }).pipe(Layer.provide([StoreAccess.layer, FaultInjector.layer]))
            const id = idOf(yield* ask(product, store))
            for (let killed = 1; killed <= 3; killed++) yield* claimOneAndDie(0, id)
            assert.deepInclude(yield* Effect.provide(settled(id), impatient), {
              state: "failed",
              attempts: 7,
              error: {
                code: "PLATFORM_UNAVAILABLE",
                message: "The store's platform cannot be reached: it reports an internal error. Tried 4 times."
              }
            })
            assert.deepStrictEqual(
              (yield* outcomes(id)).map(([outcome]) => outcome),
              [...Array(3).fill("lost"), ...Array(4).fill("unavailable")]
            )
          })
        )
      )

      it.effect("after a lost answer the store is read back: one effect, published", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* fail(shop, "lost")
            assert.deepInclude(yield* publish(product, store), { state: "published", attempts: 1 })
            assert.strictEqual(yield* effects(shop), 1)
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
          })
        )
      )

      it.effect("publications of a dead process are taken over after their lease", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const repo = yield* PublicationsRepo
            const id = idOf(yield* ask(product, store))
            const claimed = yield* claimOneAndDie(3_600, id)
            assert.deepStrictEqual(yield* claimAndDie(0, id), [])
            assert.isTrue(yield* repo.renew(claimed, 0))
            const record = yield* settled(id)
            assert.deepInclude(record, { state: "published", attempts: 2 })
            assert.deepStrictEqual(yield* outcomes(id), [
              ["lost", null],
              ["published", null]
            ])
            // A process that lost its claim cannot write any more.
            const end = { outcome: "refused", reason: "LATE" } as const
            assert.isFalse(yield* repo.renew(claimed, 60))
            assert.isFalse(yield* repo.pin(claimed, claimed.content))
            assert.isFalse(yield* repo.finish(claimed, end, "failed", { code: "LATE", message: "Late." }))
            yield* repo.giveBack(claimed)
            yield* repo.postpone(claimed, end, { code: "LATE", message: "Late." }, 0)
            const { finishedAt: _, ...same } = (yield* repo.find(shop.accountId, [id]))[0] ?? record
            assert.deepInclude(record, same)
          })
        )
      )

      it.effect("a stopping process gives back its publications, and these attempts do not count", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, store } = shop
            const repo = yield* PublicationsRepo
            const id = idOf(yield* ask(product, store))
            yield* Effect.flatMap(DemoShops, (shops) =>
              shops.fail(shop.shop, { kind: "delay", percent: 100, delayMillis: 3_600_000 })
            )
            const claims = Effect.map(repo.attempts(accountId, id), (attempts) => attempts.length)
            yield* Effect.scoped(
              Effect.zipRight(
                Effect.forkScoped(Effect.flatMap(Publishing, ({ work }) => work)),
                Effect.repeat(Effect.delay(claims, "5 millis"), { until: (count) => count > 0 })
              )
            )
            yield* repair(shop)
            const claimed = yield* claimOneAndDie(0, id)
            assert.deepInclude(claimed, { attempts: 2, givenBack: 1, lost: 0 })
            assert.strictEqual((yield* settled(id)).state, "published")
            assert.deepStrictEqual(
              (yield* outcomes(id)).map(([outcome]) => outcome),
              ["interrupted", "lost", "published"]
            )
          })
        )
      )

      it.effect("a process that stops while it claims gives back what it has claimed", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const repo = yield* PublicationsRepo
            const id = idOf(yield* ask(product, store))
            yield* Effect.flatMap(DemoShops, (shops) =>
              shops.fail(shop.shop, { kind: "delay", percent: 100, delayMillis: 3_600_000 })
            )
            const isClaimed = yield* Deferred.make<void>()
            const stopping = Publishing.layerWith(defaultPublishingOptions).pipe(
              Layer.provide([StoreAccess.layer, FaultInjector.layer]),
              Layer.provide(
                Layer.succeed(PublicationsRepo, {
                  ...repo,
                  // The claim is saved when the process is told to stop.
                  claim: (request, begin) =>
                    Effect.zipLeft(
                      repo.claim({ ...request, only: [id] }, begin),
                      Effect.zipRight(Deferred.succeed(isClaimed, undefined), Effect.yieldNow())
                    )
                })
              )
            )
            yield* Effect.scoped(
              Effect.zipRight(
                Effect.forkScoped(
                  Effect.provide(
                    Effect.flatMap(Publishing, ({ work }) => work),
                    stopping
                  )
                ),
                Deferred.await(isClaimed)
              )
            )
            yield* repair(shop)
            const claimed = yield* claimOneAndDie(0, id)
            assert.deepInclude(claimed, { attempts: 2, givenBack: 1, lost: 0 })
          })
        )
      )

      it.effect("limits concurrent publications per store and in total, and takes stores in turn", () =>
        Effect.gen(function* () {
          const shops = yield* Effect.replicateEffect(aShop, 2)
          const ids = new Map<PublicationId, StoreId>()
          for (const { actor, store } of shops)
            yield* Effect.gen(function* () {
              for (let index = 0; index < 5; index++) {
                const id = yield* anEntity("media", { url: `https://cdn.example/${index}.png` }, { on: [store] })
                ids.set(idOf(yield* ask(id, store)), store.id)
              }
            }).pipe(actingAs(actor))
          const repo = yield* PublicationsRepo
          const claim = (most: number) =>
            Effect.map(
              repo.claim({ limit: most, maxPerStore: 3, leaseSeconds: 3_600, only: [...ids.keys()] }),
              (claimed) => claimed.map(({ storeId }) => shops.findIndex(({ store }) => store.id === storeId)).sort()
            )
          assert.deepStrictEqual(yield* claim(2), [0, 1])
          assert.deepStrictEqual(yield* claim(3), [0, 0, 1])
          assert.deepStrictEqual(yield* claim(9), [1])
          assert.deepStrictEqual(yield* claim(9), [])
        })
      )

      it.effect("claims at the same moment stay within the limit of a store", () =>
        inShop(({ store }) =>
          Effect.gen(function* () {
            const repo = yield* PublicationsRepo
            const done = { outcome: "published", reason: null } as const
            const claim = (only: ReadonlyArray<PublicationId>) =>
              repo.claim({ limit: 9, maxPerStore: 3, leaseSeconds: 3_600, only })
            for (let round = 0; round < 5; round++) {
              const ids: Array<PublicationId> = []
              for (let index = 0; index < 8; index++) {
                const id = yield* anEntity("media", { url: `https://cdn.example/${index}.png` }, { on: [store] })
                ids.push(idOf(yield* ask(id, store)))
              }
              // Two of the publications each, so that no two claims want the same one.
              const claimed = yield* Effect.forEach([0, 2, 4, 6], (first) => claim(ids.slice(first, first + 2)), {
                concurrency: "unbounded"
              })
              const rest = yield* claim(ids)
              const all = [...claimed.flat(), ...rest]
              assert.lengthOf(all, 3)
              for (const each of all) assert.isTrue(yield* repo.finish(each, done, "published", null))
              for (let left = 5; left > 0; )
                for (const each of yield* claim(ids)) {
                  assert.isTrue(yield* repo.finish(each, done, "published", null))
                  left--
                }
            }
          })
        )
      )

      it.effect("publishing values over the accepted ones leaves drafts unpublished", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const publishing = yield* Publishing
            assert.strictEqual(
              yield* refusal(publishing.requestValues(product, store.id, { vendor: "Sale" })),
              "entity_id: the product was never published to this store: publish it first"
            )
            yield* publish(product, store)
            yield* set(product, { title: "A draft" })
            const one = idOf(yield* publishing.requestValues(product, store.id, { vendor: "Sale", "spec.made": null }))
            const two = idOf(yield* publishing.requestValues(product, store.id, { product_type: "Tents" }))
            yield* publishing.settle([one, two], quiet)
            const live = (yield* liveOf(shop, product))?.attributes
            assert.deepStrictEqual(
              [live?.title?.value, live?.vendor?.value, live?.product_type?.value, live?.["spec.made"]?.value],
              ["Tent", "Sale", "Tents", undefined]
            )
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "published"])
            assert.strictEqual((yield* (yield* Drafts).get(product, store.id)).title, "A draft")
            yield* publish(product, store)
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
            const after = (yield* liveOf(shop, product))?.attributes
            assert.deepStrictEqual([after?.title?.value, after?.vendor?.value], ["A draft", "Tern"])
          })
        )
      )

      it.effect("a publish may write until its lease ends", () =>
        inShop(({ product, store }) =>
          Effect.gen(function* () {
            const platform = yield* PlatformClient
            const left: Array<number> = []
            const watching = Layer.succeed(PlatformClient, {
              ...platform,
              publish: (to, publication) =>
                Effect.gen(function* () {
                  left.push((yield* WriteDeadline).millis - (yield* monotonicMillis))
                  return yield* platform.publish(to, publication)
                })
            })
            const asked = yield* ask(product, store)
            yield* Effect.provide(settled(idOf(asked)), Layer.provide(Quick, watching))
            assert.lengthOf(left, 1)
            assert.isAtMost(left[0] ?? 0, Duration.toMillis(defaultPublishingOptions.lease))
          })
        )
      )

      it.effect("another attempt to publish values keeps what a refresh took from the store meanwhile", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { large, picture, product, small, store } = shop
            yield* publish(product, store)
            const platform = yield* PlatformClient
            const { apply } = yield* CatalogChanges
            const taken = CatalogChange.AcceptImported({
              entityId: product,
              storeId: store.id,
              values: { vendor: "Of the store" },
              media: [picture],
              variants: [small, large]
            })
            let calls = 0
            const busy = Layer.succeed(PlatformClient, {
              ...platform,
              publish: (to, publication) => {
                calls += 1
                return calls === 1
                  ? Effect.zipRight(Effect.orDie(apply([taken])), new PlatformUnavailable({ reason: "server" })).pipe(
                      actingAs(shop.actor)
                    )
                  : platform.publish(to, publication)
              }
            })
            const asked = yield* (yield* Publishing).requestValues(product, store.id, { title: "Sale" })
            const record = yield* Effect.provide(settled(idOf(asked)), Layer.provide(Quick, busy))
            assert.strictEqual(record.state, "published")
            assert.strictEqual(calls, 2)
            const live = (yield* liveOf(shop, product))?.attributes
            assert.deepStrictEqual([live?.title?.value, live?.vendor?.value], ["Sale", "Of the store"])
          })
        )
      )

      it.effect("values that the store took in part are taken back, if the request says so", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, store } = shop
            const publishing = yield* Publishing
            const repo = yield* PublicationsRepo
            yield* publish(product, store)
            const platform = yield* PlatformClient
            const half = Layer.succeed(PlatformClient, {
              ...platform,
              publish: (to, publication) =>
                Effect.zipRight(
                  platform.publish(to, publication),
                  new PlatformRefused({ code: "HALF", message: "No.", field: null, isPartlyWritten: true })
                )
            })
            const failsHalf = (values: Readonly<Record<string, string>>, isTakenBack: boolean) =>
              Effect.gen(function* () {
                const id = idOf(yield* publishing.requestValues(product, store.id, values, { isTakenBack }))
                const record = yield* Effect.provide(settled(id), Layer.provide(Quick, half))
                assert.deepInclude(record, { state: "failed", error: { code: "HALF", message: "No." } })
                return yield* repo.newest(accountId, product, store.id)
              })
            assert.isTrue(Option.isNone(yield* failsHalf({ vendor: "Sale" }, false)))
            const following = Option.getOrThrow(yield* failsHalf({ vendor: "Sale", "spec.new": "1" }, true))
            assert.strictEqual((yield* liveOf(shop, product))?.attributes.vendor?.value, "Sale")
            assert.strictEqual((yield* stateOf(product, store))[1], "pending")
            const sent: Array<Publication> = []
            const recording = Layer.succeed(PlatformClient, {
              ...platform,
              publish: (to, publication) => {
                sent.push(publication)
                return platform.publish(to, publication)
              }
            })
            const record = yield* Effect.provide(settled(following.id), Layer.provide(Quick, recording))
            assert.strictEqual(record.state, "published")
            // A platform may leave metafields that a publication omits as they are, so the new one is sent as empty.
            assert.deepStrictEqual(
              sent.map(({ attributes }) => attributes["spec.new"]?.value),
              [""]
            )
            const live = (yield* liveOf(shop, product))?.attributes
            assert.deepStrictEqual([live?.vendor?.value, live?.["spec.new"]?.value ?? ""], ["Tern", ""])
            assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
            const history = yield* (yield* Drafts).history(product, 4)
            assert.deepStrictEqual(
              history.map(({ action }) => action),
              ["published", "publish_asked", "publish_failed", "publish_asked"]
            )
          })
        )
      )

      for (const last of [
        new PlatformUnavailable({ reason: "server" }),
        new PlatformRefused({ code: "NO", message: "No.", field: null })
      ])
        it.effect(`values of an attempt without an outcome are taken back after a ${last._tag}`, () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, product, store } = shop
              const publishing = yield* Publishing
              const repo = yield* PublicationsRepo
              yield* publish(product, store)
              const platform = yield* PlatformClient
              let calls = 0
              const half = Layer.succeed(PlatformClient, {
                ...platform,
                // The first attempt reaches the store, and the store never shows that it has all values.
                publish: (to, publication) =>
                  calls++ === 0
                    ? Effect.zipRight(
                        platform.publish(to, publication),
                        new PlatformOutcomeUnknown({ reason: "timeout" })
                      )
                    : last,
                readBack: () => Effect.succeedNone
              })
              const id = idOf(
                yield* publishing.requestValues(product, store.id, { vendor: "Sale" }, { isTakenBack: true })
              )
              const record = yield* Effect.provide(settled(id), Layer.provide(Impatient, half))
              assert.deepInclude(record, { state: "failed" })
              assert.strictEqual(record?.error?.code, last._tag === "PlatformRefused" ? "NO" : "PLATFORM_UNAVAILABLE")
              assert.strictEqual((yield* liveOf(shop, product))?.attributes.vendor?.value, "Sale")
              const following = Option.getOrThrow(yield* repo.newest(accountId, product, store.id))
              assert.strictEqual((yield* settled(following.id)).state, "published")
              assert.strictEqual((yield* liveOf(shop, product))?.attributes.vendor?.value, "Tern")
              assert.deepStrictEqual(yield* stateOf(product, store), [false, "published"])
            })
          )
        )

      it.effect("an entity that the store has only refused can be taken off it", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { collection, large, picture, product, small, store } = shop
            const drafts = yield* Drafts
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetMembers({ collectionId: collection, productIds: [] })
            ])
            for (const failure of [refusedBy("NO"), new PlatformUnavailable({ reason: "server" })])
              for (const id of [product, collection])
                assert.strictEqual((yield* publishBy(id, store, () => failure)).state, "failed")
            for (const id of [product, small, large, picture, collection])
              assert.deepStrictEqual(yield* stateOf(id, store), [true, "failed"])
            for (const id of [product, collection]) yield* drafts.removeStoreVersion(id, store.id)
            for (const id of [product, small, large, picture, collection])
              assert.deepStrictEqual(yield* drafts.projections(id), [])
            assert.deepStrictEqual(yield* (yield* Publishing).failures(10), [])
            // It comes back as one that was never published.
            yield* drafts.addStoreVersion(product, store.id)
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "never_published"])
            assert.strictEqual((yield* publish(product, store)).state, "published")
          })
        )
      )

      const unknown = new PlatformOutcomeUnknown({ reason: "timeout" })
      const inPart = new PlatformRefused({ code: "HALF", message: "No.", field: null, isPartlyWritten: true })
      for (const [what, answers] of [
        ["took in part", [[inPart]]],
        ["took in part before it refused another publish", [[inPart], [refusedBy("NO")]]],
        ["never answered for", [[unknown, unknown, unknown, unknown, unknown, unknown]]],
        ["did not answer for before it refused the next attempt", [[unknown, refusedBy("NO")]]],
        ["did not answer for before it refused another publish", [[unknown, refusedBy("NO")], [refusedBy("NO")]]]
      ] as const)
        it.effect(`an entity that the store ${what} stays on it`, () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { product, small, store } = shop
              const drafts = yield* Drafts
              for (const each of answers) {
                const left: Array<PlatformWriteError> = [...each]
                yield* publishBy(product, store, () => left.shift() ?? unknown)
              }
              assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
              for (const [id, noun] of [
                [product, "product"],
                [small, "variant"]
              ] as const)
                assert.deepStrictEqual(
                  yield* refusal(drafts.removeStoreVersion(id, store.id)),
                  `store_id: the ${noun} failed to be published to this store, but may have reached it, so it cannot be taken off`
                )
              assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
            })
          )
        )

      it.effect("a refused picture stays pending until the publish of a product that includes it has ended", () =>
        inShop(({ picture, product, store }) =>
          Effect.gen(function* () {
            const own = idOf(yield* ask(picture, store))
            const ofProduct = idOf(yield* ask(product, store))
            assert.strictEqual((yield* settledBy(own, () => refusedBy("NO"))).state, "failed")
            assert.deepStrictEqual(yield* stateOf(picture, store), [true, "pending"])
            yield* (yield* CatalogChanges).apply([CatalogChange.SetGallery({ entityId: product, entries: [] })])
            assert.strictEqual(
              yield* refusal((yield* Drafts).removeStoreVersion(picture, store.id)),
              "store_id: the media file is being published to this store"
            )
            assert.strictEqual((yield* settled(ofProduct)).state, "published")
            assert.deepStrictEqual(yield* stateOf(picture, store), [false, "published"])
          })
        )
      )

      it.effect("an entity that two publishes include fails with the last, and may then leave the store", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { large, picture, product, small, store } = shop
            const drafts = yield* Drafts
            const older = idOf(yield* ask(product, store))
            yield* set(product, { title: "Newer" })
            const newer = idOf(yield* ask(product, store))
            const all = [product, small, large, picture]
            yield* settledBy(older, () => refusedBy("NO"))
            for (const id of all) assert.deepStrictEqual(yield* stateOf(id, store), [true, "pending"])
            yield* settledBy(newer, () => refusedBy("NO"))
            for (const id of all) assert.deepStrictEqual(yield* stateOf(id, store), [true, "failed"])
            yield* drafts.removeStoreVersion(product, store.id)
            for (const id of all) assert.deepStrictEqual(yield* drafts.projections(id), [])
          })
        )
      )

      it.effect("a refused picture does not wait for a publish that leaves it out, because the store has it", () =>
        inShop(({ picture, product, store }) =>
          Effect.gen(function* () {
            const stove = yield* anEntity("product", { title: "Stove" }, { on: [store] })
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({ entityId: stove, entries: [{ mediaId: picture, storeIds: [store.id] }] })
            ])
            const first = idOf(yield* ask(product, store))
            yield* set(picture, { alt: "Another" })
            const own = idOf(yield* ask(picture, store))
            yield* set(picture, { alt: "A tent" })
            const second = idOf(yield* ask(stove, store))
            assert.strictEqual((yield* settled(first)).state, "published")
            assert.deepStrictEqual(yield* stateOf(picture, store), [false, "pending"])
            assert.strictEqual((yield* settledBy(own, () => refusedBy("NO"))).state, "failed")
            assert.deepStrictEqual(yield* stateOf(picture, store), [false, "failed"])
            assert.strictEqual((yield* settled(second)).state, "published")
            assert.deepStrictEqual(yield* stateOf(picture, store), [false, "failed"])
          })
        )
      )

      it.effect("a refused product does not wait for the publish of its variant, and stays live", () =>
        inShop(({ product, small, store }) =>
          Effect.gen(function* () {
            yield* publish(product, store)
            yield* set(product, { title: "Newer" })
            const own = idOf(yield* ask(product, store))
            yield* set(small, { price: "3.00" })
            const ofVariant = idOf(yield* ask(small, store))
            assert.strictEqual((yield* settledBy(own, () => refusedBy("NO"))).state, "failed")
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
            // The store has accepted the product before, so no later publish brings it there.
            const { aggregates } = yield* (yield* DraftsRepo).read((yield* CurrentActor).accountId, [product], [])
            assert.deepStrictEqual(
              aggregates.get(product)?.versions.map(({ mayBeLive }) => mayBeLive),
              [false]
            )
            assert.strictEqual((yield* settled(ofVariant)).state, "published")
            assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
          })
        )
      )

      it.effect("an entity stays if a process died while it sent it, also if the next attempt was refused", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const id = idOf(yield* ask(product, store))
            yield* claimOneAndDie(0, id)
            assert.strictEqual((yield* settledBy(id, () => refusedBy("NO"))).state, "failed")
            assert.deepStrictEqual(yield* outcomes(id), [
              ["lost", null],
              ["refused", "NO"]
            ])
            assert.strictEqual(
              yield* refusal((yield* Drafts).removeStoreVersion(product, store.id)),
              "store_id: the product failed to be published to this store, but may have reached it, so it cannot be taken off"
            )
          })
        )
      )

      it.effect(
        "an entity that a publish may have brought to the store stays, also if a newer request was refused",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { product, store } = shop
              const older = idOf(yield* ask(product, store))
              yield* set(product, { title: "Newer" })
              const newer = idOf(yield* ask(product, store))
              const first = yield* settledBy(older, () => inPart)
              assert.deepInclude(first, { state: "failed", error: { code: "HALF", message: "No." } })
              assert.deepStrictEqual(yield* stateOf(product, store), [true, "pending"])
              const second = yield* settledBy(newer, () => refusedBy("NO"))
              assert.deepInclude(second, { state: "failed", error: { code: "NO", message: "No." } })
              assert.deepStrictEqual(yield* stateOf(product, store), [true, "failed"])
              assert.strictEqual(
                yield* refusal((yield* Drafts).removeStoreVersion(product, store.id)),
                "store_id: the product failed to be published to this store, but may have reached it, so it cannot be taken off"
              )
            })
          )
      )

      it.effect("publications to an unlinked store continue when the store is linked again", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const id = idOf(yield* ask(product, store))
            const stores = yield* Stores
            yield* stores.unlink(store.domain)
            assert.deepStrictEqual(yield* claimAndDie(0, id), [])
            yield* stores.link({ domain: store.domain })
            assert.strictEqual((yield* settled(id)).state, "published")
          })
        )
      )

      it.effect("a publication fails if its entity was removed from the store before its turn", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, small, store } = shop
            const id = idOf(yield* ask(product, store))
            yield* (yield* CatalogChanges).apply([
              CatalogChange.RemoveFromStore({ entityId: product, storeId: store.id })
            ])
            assert.deepInclude(yield* settled(id), {
              state: "failed",
              error: { code: "NOT_ON_STORE", message: "The entity was removed from the store before it was published." }
            })
            assert.strictEqual((yield* stateOf(small, store))[1], "failed")
            assert.strictEqual(yield* effects(shop), 0)
          })
        )
      )

      it.effect("a publication that is refused without a call to the platform does not end an outage", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const repo = yield* PublicationsRepo
            const aTarp = Effect.flatMap(anEntity("product", { title: "Tarp" }, { on: [store] }), (id) =>
              ask(id, store)
            )
            const [met, last] = [idOf(yield* aTarp), idOf(yield* aTarp)]
            const removed = idOf(yield* ask(product, store))
            const error = { code: delayedCode, message: "It does not answer." }
            const first = yield* claimOneAndDie(3_600, met)
            assert.isTrue(yield* repo.meetOutage(first, { outcome: "unavailable", reason: "server" }, error, 0))
            yield* (yield* CatalogChanges).apply([
              CatalogChange.RemoveFromStore({ entityId: product, storeId: store.id })
            ])
            assert.strictEqual((yield* settled(removed)).error?.code, "NOT_ON_STORE")
            const [attempt] = yield* repo.attempts(shop.accountId, removed)
            assert.deepInclude(attempt, { outcome: "refused", reason: "NOT_ON_STORE" })
            const next = yield* claimOneAndDie(3_600, last)
            assert.isTrue(
              Option.isNone(yield* repo.failsAlone(next)),
              "another publish has failed since the platform answered last"
            )
            // A refusal of the platform is an answer.
            assert.isTrue(yield* repo.finish(next, { outcome: "refused", reason: "NO" }, "failed", error))
            assert.isTrue(Option.isSome(yield* repo.failsAlone(yield* claimOneAndDie(3_600, idOf(yield* aTarp)))))
          })
        )
      )

      it.effect("workers run earlier requests, pending versions without a request, and new requests", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { collection, product, small, store } = shop
            // The state of a database from before publish requests were stored.
            yield* (yield* CatalogChanges).apply(
              [product, small].map((entityId) => CatalogChange.RequestPublish({ entityId, storeId: store.id }))
            )
            yield* Effect.scoped(
              Effect.gen(function* () {
                yield* Layer.build(layerWorkers)
                const published = (id: EntityId) =>
                  Effect.repeat(Effect.delay(stateOf(id, store), "5 millis"), {
                    until: ([, status]) => status === "published"
                  })
                yield* published(product)
                assert.strictEqual(yield* effects(shop), 1)
                yield* ask(collection, store)
                yield* published(collection)
              })
            )
          })
        )
      )

      it.effect("two concurrent requests share one publication", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            const all = yield* Effect.all(
              Array.from({ length: 8 }, () => ask(product, store)),
              { concurrency: "unbounded" }
            )
            assert.strictEqual(new Set(all.map(idOf)).size, 1)
            assert.deepStrictEqual(all.map(({ outcome }) => outcome).sort(), [
              ...Array.from({ length: 7 }, () => "joined"),
              "requested"
            ])
            yield* settled(idOf(all[0] ?? { outcome: "none" }))
            assert.strictEqual(yield* effects(shop), 1)
          })
        )
      )

      it.effect("lists entities whose last publish failed, newest first, until the next request", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { collection, picture, product, store } = shop
            const { failures } = yield* Publishing
            yield* publish(product, store)
            assert.deepStrictEqual(yield* failures(10), [])
            yield* fail(shop, "refuse")
            const first = yield* publish(collection, store)
            yield* set(picture, { alt: "Two tents" })
            const second = yield* publish(picture, store)
            const shown = (record: typeof first, entityType: "collection" | "media", title: string) => ({
              entityId: record.entityId,
              entityType,
              title,
              storeId: store.id,
              storeDomain: store.domain,
              attempts: 1,
              finishedAt: record.finishedAt,
              error: {
                code: "DEMO_REFUSED",
                message:
                  "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
              }
            })
            const both = [shown(second, "media", "Two tents"), shown(first, "collection", "Tents")]
            assert.deepStrictEqual<unknown>(yield* failures(10), both)
            assert.deepStrictEqual<unknown>(yield* failures(0), both.slice(0, 1))
            const theirs = yield* aShop
            assert.deepStrictEqual(yield* failures(10).pipe(actingAs(theirs.actor)), [])
            yield* repair(shop)
            const again = idOf(yield* ask(picture, store))
            assert.deepStrictEqual<unknown>(yield* failures(10), both.slice(1))
            yield* settled(again)
            assert.deepStrictEqual<unknown>(yield* failures(10), both.slice(1))
            const { link, unlink } = yield* Stores
            yield* unlink(store.domain)
            assert.deepStrictEqual(yield* failures(10), [])
            yield* link({ domain: store.domain })
            assert.deepStrictEqual<unknown>(yield* failures(10), both.slice(1))
          })
        )
      )

      it.effect("an account does not see publications of another account", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const theirs = yield* aShop
            const id = idOf(yield* ask(shop.product, shop.store))
            const publishing = yield* Publishing
            assert.deepStrictEqual(yield* publishing.find([id]).pipe(actingAs(theirs.actor)), [])
            assert.deepStrictEqual(yield* publishing.attempts(id).pipe(actingAs(theirs.actor)), [])
            assert.strictEqual((yield* settled(id)).state, "published")
            assert.strictEqual(yield* effects(theirs), 0)
            assert.strictEqual(yield* publishing.forget, 0)
          })
        )
      )
    })
  })
}
