import { assert, describe, layer } from "@effect/vitest"
import { Array as Arr, Clock, Duration, Effect, Either, Fiber, Layer, Option } from "effect"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { decideRemoval } from "../../src/drafts/StoreMembership.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { NotFound, PimLocked } from "../../src/model/Errors.ts"
import { DropId, type EntityId, ImportId, nilUuid, type PublicationId } from "../../src/model/Ids.ts"
import type { PublishError } from "../../src/model/PublishState.ts"
import type { DemoFailure } from "../../src/platform/demo/DemoShop.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import type { AttemptEnd } from "../../src/publishing/PublicationClaim.ts"
import { PublicationsRepo } from "../../src/publishing/PublicationsRepo.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { publishingWith } from "../support/PublishingWith.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

/** The first pause of an outage is longer than a test. */
const Patient = publishingWith({
  firstDelay: Duration.hours(1),
  longestDelay: Duration.hours(1),
  pollEvery: Duration.millis(5)
})

/** An account with a demo store, which has a product with a variant and a picture. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({ domain: "tern.demo.example", platform: "demo" })
    const on = [store]
    const product = yield* anEntity("product", { title: "Tent" }, { on })
    const variant = yield* anEntity("variant", { title: "Small", sku: "T-S" }, { on, of: product })
    const picture = yield* anEntity("media", { url: "https://cdn.example/a.png" }, { on })
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: picture, storeIds: [store.id] }] })
    ])
    return { accountId, actor, store, product, variant, picture }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const request = ({ product, store }: Shop) =>
  Effect.gen(function* () {
    const asked = yield* (yield* Publishing).request(product, store.id)
    assert(asked.outcome === "requested")
    return asked.publicationId
  })

const fail = ({ accountId, store }: Shop, kind: DemoFailure["kind"]) =>
  Effect.flatMap(DemoShops, (shops) =>
    shops.fail({ accountId, storeId: store.id }, { kind, percent: 100, delayMillis: 0 })
  )
const repair = ({ accountId, store }: Shop) =>
  Effect.flatMap(DemoShops, (shops) => shops.repair({ accountId, storeId: store.id }))

const settle = (id: PublicationId) =>
  Effect.map(
    Effect.flatMap(Publishing, (publishing) => publishing.settle([id], () => Effect.void)),
    ([record]) => record ?? assert.fail()
  )

const publish = (shop: Shop) => Effect.flatMap(request(shop), settle)

const find = ({ accountId }: Shop, id: PublicationId) =>
  Effect.flatMap(PublicationsRepo, (repo) =>
    Effect.map(repo.find(accountId, [id]), ([record]) => record ?? assert.fail())
  )

/** Requests a publish that meets an outage, and waits. */
const waiting = (shop: Shop) =>
  Effect.gen(function* () {
    yield* fail(shop, "error")
    const id = yield* request(shop)
    const settling = yield* Effect.fork(settle(id))
    yield* Effect.repeat(Effect.delay(find(shop, id), "5 millis"), {
      until: ({ error }) => error?.code === "PUBLISH_DELAYED"
    })
    yield* Fiber.interrupt(settling)
    return id
  })

const cancel = ({ product, store }: Shop) =>
  Effect.flatMap(Publishing, (publishing) => publishing.cancel(product, store.id))

const refusal = (shop: Shop) =>
  Effect.map(Effect.flip(cancel(shop)), (error) => ("issues" in error ? error.issues : error))

/** The state of versions: whether changes are pending, the status of the last publish. */
const stateOf = ({ store }: Shop, id: EntityId) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.get(id, store.id)),
    (draft) => [draft.pending_publish, draft.last_publish_status] as const
  )

const setTitle = (entityId: EntityId, title: string) =>
  Effect.flatMap(CatalogChanges, ({ apply }) => apply([CatalogChange.SetAttributes({ entityId, values: { title } })]))

const mayBeThere =
  "the publish may have reached the store, so it cannot be cancelled: it ends when the store's platform answers, then the draft can be changed and published again"

const nothingWaits = "no publish to this store waits: there is nothing to cancel"

const waitsWithAnother =
  "it is published together with another record, such as its product: cancel the publish of that one"

/** The whole refusal of the begin of a job. */
const refusedBegin = <A, E extends { readonly _tag: string }, R>(begun: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(begun), (error) => [error._tag, "issues" in error ? error.issues : null])

const cancelled: PublishError = { code: "PUBLISH_CANCELLED", message: "The publish was cancelled before it was sent." }

/** Ends one attempt of a publication. */
const attempt = (id: PublicationId, ended: AttemptEnd) =>
  Effect.gen(function* () {
    const repo = yield* PublicationsRepo
    const claimed = yield* Effect.repeat(
      Effect.delay(repo.claim({ limit: 1, maxPerStore: 1, leaseSeconds: 3_600, only: [id] }), "5 millis"),
      { until: (all) => all.length > 0 }
    )
    const [first = assert.fail()] = claimed
    return {
      end: repo.postpone(first, ended, { code: "PLATFORM_UNAVAILABLE", message: "It failed." }, 3_600)
    }
  })

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`cancelling publishes on ${engine.name}`, () => {
    layer(Patient.pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })((it) => {
      it.effect("a first publish that waits ends, and everything that it includes is as before the request", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { picture, product, store, variant } = shop
            const id = yield* waiting(shop)
            assert.deepStrictEqual(yield* cancel(shop), { isAlready: false, isOfDrop: false, hasDraft: true })
            assert.deepInclude(yield* find(shop, id), { state: "failed", error: cancelled })
            for (const each of [product, variant, picture])
              assert.deepStrictEqual(yield* stateOf(shop, each), [true, "never_published"])
            const drafts = yield* Drafts
            for (const each of [product, variant])
              assert.deepStrictEqual(
                (yield* drafts.history(each, 2)).map((entry) => [entry.action, entry.error, entry.store_domain]),
                [
                  ["publish_failed", cancelled, store.domain],
                  ["publish_asked", null, store.domain]
                ]
              )
            const publishing = yield* Publishing
            assert.deepStrictEqual(yield* publishing.failures(10), [])
            assert.isNull(yield* publishing.delay(store.id))
            const shops = yield* DemoShops
            assert.strictEqual(yield* shops.effects({ accountId: shop.accountId, storeId: store.id }), 0)
            // A second cancellation says the same, and writes nothing.
            assert.deepStrictEqual(yield* cancel(shop), { isAlready: true, isOfDrop: false, hasDraft: true })
            assert.lengthOf(
              (yield* drafts.history(product, 10)).filter(({ action }) => action === "publish_failed"),
              1
            )
            // The same draft can be published again.
            yield* repair(shop)
            assert.deepInclude(yield* publish(shop), { state: "published" })
            for (const each of [product, variant, picture])
              assert.deepStrictEqual(yield* stateOf(shop, each), [false, "published"])
            const nothing = [{ path: "", message: nothingWaits }]
            assert.deepStrictEqual(yield* refusal(shop), nothing)
            // What the store has already is sent again.
            const again = yield* (yield* Publishing).request(product, store.id, undefined, true)
            assert.strictEqual(again.outcome, "requested")
            assert.deepStrictEqual(yield* cancel(shop), { isAlready: false, isOfDrop: false, hasDraft: false })
          })
        )
      )

      it.effect("a product that was never published can be taken off its store afterwards", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, picture, product, store, variant } = shop
            yield* waiting(shop)
            const { read } = yield* DraftsRepo
            const decided = Effect.map(
              read(accountId, [product, variant, picture], []),
              decideRemoval(product, store.id)
            )
            assert.strictEqual(
              Either.getOrNull(Either.flip(yield* decided))?.message,
              "store_id: the product is being published to this store"
            )
            yield* cancel(shop)
            assert.isTrue(Either.isRight(yield* decided))
          })
        )
      )

      it.effect("a version that is live has the state of the publish before", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product } = shop
            yield* publish(shop)
            yield* setTitle(product, "Tent 2")
            yield* waiting(shop)
            yield* setTitle(product, "Tent 3")
            yield* request(shop)
            // Both publishes wait, and both are cancelled.
            yield* cancel(shop)
            assert.deepStrictEqual(yield* stateOf(shop, product), [true, "published"])
            yield* repair(shop)
            yield* fail(shop, "refuse")
            assert.deepInclude(yield* publish(shop), { state: "failed" })
            yield* repair(shop)
            yield* waiting(shop)
            yield* cancel(shop)
            assert.deepStrictEqual(yield* stateOf(shop, product), [true, "failed"])
            const [failure] = yield* (yield* Publishing).failures(10)
            assert.strictEqual(failure?.error.code, "DEMO_REFUSED")
          })
        )
      )

      it.effect(
        "an entity that a publish includes is cancelled with it, and has the state of its own publish before",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { picture, product, store, variant } = shop
              const all = [product, variant, picture]
              const { apply } = yield* CatalogChanges
              const publishing = yield* Publishing
              yield* fail(shop, "refuse")
              yield* publish(shop)
              yield* repair(shop)
              yield* waiting(shop)
              for (const each of [variant, picture]) {
                const refused = yield* Effect.flip(publishing.cancel(each, store.id))
                assert.deepStrictEqual("issues" in refused && refused.issues, [
                  {
                    path: "",
                    message:
                      "it is published together with another record, such as its product: cancel the publish of that one"
                  }
                ])
              }
              yield* cancel(shop)
              for (const each of all) assert.deepStrictEqual(yield* stateOf(shop, each), [true, "failed"])
              // The failures before they were taken off the store say nothing about them.
              yield* apply(all.map((entityId) => CatalogChange.RemoveFromStore({ entityId, storeId: store.id })))
              yield* apply(all.map((entityId) => CatalogChange.AddToStore({ entityId, storeId: store.id })))
              yield* request(shop)
              yield* cancel(shop)
              for (const each of all) assert.deepStrictEqual(yield* stateOf(shop, each), [true, "never_published"])
            })
          )
      )

      it.effect("a picture that has a publish of its own stays pending", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, picture, product, store } = shop
            const publishing = yield* Publishing
            yield* request(shop)
            yield* publishing.request(picture, store.id)
            yield* cancel(shop)
            assert.deepStrictEqual(yield* stateOf(shop, product), [true, "never_published"])
            assert.deepStrictEqual(yield* stateOf(shop, picture), [true, "pending"])
            yield* publishing.cancel(picture, store.id)
            assert.deepStrictEqual(yield* stateOf(shop, picture), [true, "never_published"])
            // Nothing was sent, so it can be taken off the store.
            const { read } = yield* DraftsRepo
            assert.isTrue(
              Either.isRight(
                yield* Effect.map(read(accountId, [product, picture], []), decideRemoval(picture, store.id))
              )
            )
          })
        )
      )

      it.effect("a publish that is being sent, or that may have reached the store, is not cancelled", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const id = yield* request(shop)
            const first = yield* attempt(id, { outcome: "unavailable", reason: "server" })
            const sending = "the publish is being sent at this moment: wait for its outcome, or try again"
            assert.deepStrictEqual(yield* refusal(shop), [{ path: "", message: sending }])
            assert.isTrue(yield* first.end)
            yield* cancel(shop)
            assert.isFalse(yield* first.end)
            for (const outcome of ["unknown", "interrupted", "lost"] as const) {
              const again = yield* aShop
              yield* Effect.gen(function* () {
                const unknown = yield* request(again)
                const last = yield* attempt(unknown, { outcome, reason: null })
                yield* last.end
                assert.deepStrictEqual(yield* refusal(again), [{ path: "", message: mayBeThere }])
                assert.strictEqual((yield* find(again, unknown)).state, "pending")
                assert.deepStrictEqual(yield* stateOf(again, again.product), [true, "pending"])
              }).pipe(actingAs(again.actor))
            }
          })
        )
      )

      it.effect("the start of a drop can be cancelled, but not the publish that gives the values before it back", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { product, store } = shop
            yield* publish(shop)
            const publishing = yield* Publishing
            const dropId = yield* mintId(DropId)
            yield* publishing.requestValues(product, store.id, { title: "Sale" }, { dropId, isTakenBack: true })
            assert.deepStrictEqual(yield* cancel(shop), { isAlready: false, isOfDrop: true, hasDraft: false })
            assert.deepStrictEqual(yield* cancel(shop), { isAlready: true, isOfDrop: true, hasDraft: false })
            assert.deepStrictEqual(yield* stateOf(shop, product), [false, "published"])
            yield* publishing.requestValues(product, store.id, { title: "Tent" }, { dropId })
            assert.deepStrictEqual(yield* refusal(shop), [
              {
                path: "",
                message: "the publish gives the store the values from before a drop: it cannot be cancelled"
              }
            ])
          })
        )
      )

      it.effect(
        "a job cancels all publishes of a store, and the job that requests more; those that may be there go on",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, picture, product, store, variant } = shop
              const { all, cancelAll } = yield* PublishJobs
              const { get } = yield* Jobs
              const publishing = yield* Publishing
              const repo = yield* PublicationsRepo
              const { runDue, settle: settleJob } = yield* JobWorker
              // More than one step cancels.
              const others = yield* Effect.forEach(Arr.range(1, 24), (n) =>
                anEntity("product", { title: `Pole ${n}` }, { on: [store] })
              )
              const requesting = yield* all(store.id)
              yield* runDue
              assert.strictEqual((yield* get(requesting.id)).state, "queued")
              const sent = Option.getOrThrow(yield* repo.newest(accountId, product, store.id))
              yield* (yield* attempt(sent.id, { outcome: "unknown", reason: null })).end
              // A newer publish of the same product would follow the one that may be there.
              yield* setTitle(product, "Tent 2")
              yield* request(shop)
              const [other = assert.fail()] = others
              yield* setTitle(other, "Pole")
              assert.strictEqual((yield* publishing.request(other, store.id)).outcome, "requested")

              const { id, title, total } = yield* cancelAll(store.id)
              assert.deepStrictEqual([title, total], ["Cancel the publishes to tern.demo.example", 27])
              assert.strictEqual((yield* get(requesting.id)).state, "cancelled")
              const busy = `the job "Cancel the publishes to tern.demo.example" (${id}) is queued and works on the same store: let it finish first`
              for (const begin of [all, cancelAll])
                assert.deepStrictEqual(yield* refusedBegin(begin(store.id)), [
                  "ValidationFailed",
                  [{ path: "", message: busy }]
                ])
              // In memory, times have milliseconds.
              const begun = yield* Clock.currentTimeMillis
              yield* Effect.repeat(Clock.currentTimeMillis, { until: (now) => now > begun })
              const late = yield* anEntity("product", { title: "Late" }, { on: [store] })
              yield* publishing.request(late, store.id)
              yield* settleJob(id, () => Effect.void)
              const { done, errors, result, state } = yield* get(id)
              assert.deepStrictEqual([state, done, result], ["done", 27, { cancelled: 25, refused: 2 }])
              assert.deepStrictEqual(errors, [{ item: "product Tent 2", message: mayBeThere }])
              for (const each of others) {
                assert.deepStrictEqual(yield* stateOf(shop, each), [true, "never_published"])
                const [last] = yield* (yield* Drafts).history(each, 1)
                assert.deepStrictEqual([last?.action, last?.error], ["publish_failed", cancelled])
              }
              for (const each of [product, variant, picture, late])
                assert.deepStrictEqual(yield* stateOf(shop, each), [true, "pending"])
            })
          )
      )

      it.effect(
        "a version that a refresh found with its draft after a failure has not failed after the cancellation",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, product, store } = shop
              const { apply } = yield* CatalogChanges
              yield* publish(shop)
              yield* setTitle(product, "Tent 2")
              yield* fail(shop, "refuse")
              const failed = yield* publish(shop)
              yield* repair(shop)
              const failure = { lastPublishStatus: "failed" as const, lastPublishError: failed.error }
              const state = Effect.map(
                Effect.flatMap(DraftsRepo, (drafts) => drafts.lock(accountId, [product], [])),
                ({ aggregates }) => aggregates.get(product)?.versions.find(({ storeId }) => storeId === store.id)
              )
              assert.deepInclude(yield* state, failure)
              // Two requests: the older one knows the state before both.
              yield* request(shop)
              yield* setTitle(product, "Tent 3")
              yield* request(shop)
              yield* cancel(shop)
              assert.deepInclude(yield* state, failure)

              yield* apply([CatalogChange.AcceptPublish({ entityId: product, storeId: store.id })])
              assert.deepStrictEqual(yield* stateOf(shop, product), [false, "published"])
              yield* setTitle(product, "Tent 4")
              yield* request(shop)
              yield* cancel(shop)
              assert.deepStrictEqual(yield* stateOf(shop, product), [true, "published"])

              // The history says what became of a publish that ended after the next request.
              yield* fail(shop, "refuse")
              const first = yield* request(shop)
              yield* setTitle(product, "Tent 5")
              yield* request(shop)
              const { error } = yield* settle(first)
              yield* repair(shop)
              assert.deepStrictEqual(yield* stateOf(shop, product), [true, "pending"])
              yield* cancel(shop)
              assert.deepInclude(yield* state, { lastPublishStatus: "failed" as const, lastPublishError: error })
              yield* apply([CatalogChange.AcceptPublish({ entityId: product, storeId: store.id })])
              yield* setTitle(product, "Tent 6")

              // A request of an earlier version does not know the state before.
              yield* request(shop)
              const unknowing = Layer.effect(
                PublicationsRepo,
                Effect.map(PublicationsRepo, (each) => ({
                  ...each,
                  lockOpen: (...asked: Parameters<typeof each.lockOpen>) =>
                    Effect.map(each.lockOpen(...asked), (open) => open.map((one) => ({ ...one, failuresBefore: null })))
                }))
              )
              yield* cancel(shop).pipe(Effect.provide(Layer.fresh(Layer.provide(Patient, unknowing))))
              assert.deepInclude(yield* state, failure)
            })
          )
      )

      it.effect(
        "a job cancels the publishes of a selection, and refuses what may be there or waits with another record",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { accountId, product, store, variant } = shop
              const { all, cancelChosen } = yield* PublishJobs
              const { get } = yield* Jobs
              const publishing = yield* Publishing
              const { settle: settleJob } = yield* JobWorker
              const aPole = (title: string) => anEntity("product", { title }, { on: [store] })
              const cancels = yield* Effect.forEach(Arr.range(1, 24), (n) => aPole(`Pole ${n}`))
              const [sent, kept, quiet] = [yield* aPole("Sent"), yield* aPole("Kept"), yield* aPole("Quiet")]
              const ids = [...cancels, sent, quiet, variant]
              const kinds = ["product", "variant"] as const
              const begin = (...chosen: ReadonlyArray<EntityId>) => cancelChosen(store.id, kinds, { ids: chosen })
              const nothing = ["ValidationFailed", [{ path: "", message: nothingWaits }]]
              assert.deepStrictEqual(yield* refusedBegin(begin(...ids)), nothing)
              for (const id of [...cancels, kept, product])
                assert.strictEqual((yield* publishing.request(id, store.id)).outcome, "requested")
              const asked = yield* publishing.request(sent, store.id)
              assert(asked.outcome === "requested")
              yield* (yield* attempt(asked.publicationId, { outcome: "unknown", reason: null })).end
              assert.deepStrictEqual(yield* refusedBegin(begin(quiet)), nothing)
              assert.deepStrictEqual(yield* refusedBegin(begin(variant, quiet)), [
                "ValidationFailed",
                [{ path: "", message: waitsWithAnother }]
              ])
              const ofOtherKind = cancelChosen(store.id, ["collection"], { ids: cancels })
              assert.deepStrictEqual(yield* refusedBegin(ofOtherKind), nothing)
              const found = cancelChosen(store.id, kinds, { filters: {}, count: 20_000 })
              const tooMany =
                "the filters find more than 10,000 items: narrow them, or cancel all publishes that wait on the page of the store"
              assert.deepStrictEqual(yield* refusedBegin(found), ["ValidationFailed", [{ path: "", message: tooMany }]])
              const { actor } = yield* anAccount()
              assert.deepStrictEqual(yield* actingAs(actor)(refusedBegin(begin(...ids))), ["NotFound", null])

              // It runs beside the job that waits for the outcomes.
              const requesting = yield* all(store.id)
              const { id, title, total } = yield* begin(...ids)
              assert.deepStrictEqual([title, total], ["Cancel the selected publishes to tern.demo.example", 26])
              yield* settleJob(id, () => Effect.void)
              const { done, errors, result, state } = yield* get(id)
              assert.deepStrictEqual([state, done, result], ["done", 26, { cancelled: 24, refused: 2 }])
              assert.sameDeepMembers(
                [...errors],
                [
                  { item: "product Sent", message: mayBeThere },
                  { item: "variant Tent: Small", message: waitsWithAnother }
                ]
              )
              assert.notStrictEqual((yield* get(requesting.id)).state, "cancelled")
              for (const each of cancels) assert.deepStrictEqual(yield* stateOf(shop, each), [true, "never_published"])
              for (const each of [sent, kept, product, variant])
                assert.deepStrictEqual(yield* stateOf(shop, each), [true, "pending"])
              // A second job finds nothing.
              assert.deepStrictEqual(yield* refusedBegin(begin(...cancels)), nothing)
              const importLock = yield* ImportLockRepo
              yield* importLock.keep(accountId, ImportId.make(nilUuid))
              assert.deepStrictEqual(yield* refusedBegin(begin(kept)), ["PimLocked", null])
              yield* importLock.keep(accountId, null)
              const last = yield* begin(kept)
              yield* (yield* Stores).unlink(store.domain)
              yield* settleJob(last.id, () => Effect.void)
              assert.deepInclude(yield* get(last.id), {
                state: "failed",
                problem: {
                  why: "The store is no longer linked.",
                  next: "The publishes that were requested before remain requested. Link the store again, then resume the job."
                }
              })
            })
          )
      )

      it.effect("what workers claim while a job cancels is published, and nothing that is cancelled is sent", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, store } = shop
            const publishing = yield* Publishing
            const repo = yield* PublicationsRepo
            const { settle: settleJob } = yield* JobWorker
            const all = [
              product,
              ...(yield* Effect.forEach(Arr.range(1, 40), (n) =>
                anEntity("product", { title: `Pole ${n}` }, { on: [store] })
              ))
            ]
            const ids = yield* Effect.forEach(all, (each) =>
              Effect.map(publishing.request(each, store.id), (asked) =>
                asked.outcome === "requested" ? asked.publicationId : assert.fail()
              )
            )
            const working = yield* Effect.fork(publishing.settle(ids, () => Effect.void))
            const { id } = yield* (yield* PublishJobs).cancelAll(store.id)
            yield* settleJob(id, () => Effect.void)
            yield* Fiber.join(working)
            const { errors, result } = yield* (yield* Jobs).get(id)
            const sending = "the publish is being sent at this moment: wait for its outcome, or try again"
            for (const { message } of errors) assert.strictEqual(message, sending)
            const records = yield* repo.find(accountId, ids)
            const published = records.filter(({ state }) => state === "published")
            const ended = records.filter(({ error, state }) => state === "failed" && error?.code === cancelled.code)
            assert.lengthOf([...published, ...ended], ids.length)
            assert.strictEqual(ended.length, result.cancelled ?? 0)
            const shops = yield* DemoShops
            // A publish of a product has one effect, however many entities it includes.
            assert.strictEqual(yield* shops.effects({ accountId, storeId: store.id }), published.length)
            for (const { entityId } of ended)
              assert.deepStrictEqual(yield* stateOf(shop, entityId), [true, "never_published"])
          })
        )
      )

      it.effect("a job that would cancel nothing is not begun, nor one of another account or a locked one", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, store } = shop
            const { cancelAll } = yield* PublishJobs
            const refused = Effect.suspend(() => refusedBegin(cancelAll(store.id)))
            const nothing = ["ValidationFailed", [{ path: "", message: nothingWaits }]]
            assert.deepStrictEqual(yield* refused, nothing)
            yield* request(shop)
            const { actor } = yield* anAccount()
            assert.deepStrictEqual(yield* actingAs(actor)(refused), ["NotFound", null])
            const importLock = yield* ImportLockRepo
            yield* importLock.keep(accountId, ImportId.make(nilUuid))
            assert.deepStrictEqual(yield* refused, ["PimLocked", null])
            yield* importLock.keep(accountId, null)
            // Unlinking the store cancels the job, because its next step would be refused.
            const { id } = yield* cancelAll(store.id)
            yield* (yield* Stores).unlink(store.domain)
            const { result, state } = yield* (yield* Jobs).get(id)
            assert.deepStrictEqual([state, result], ["cancelled", {}])
            assert.deepStrictEqual(yield* refused, ["NotFound", null])
          })
        )
      )

      it.effect("publishes of another account, of other stores and of a locked account are not cancelled", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, product, store } = shop
            const id = yield* waiting(shop)
            const { actor } = yield* anAccount()
            assert.instanceOf(yield* Effect.flip(actingAs(actor)(cancel(shop))), NotFound)
            const { store: other } = yield* (yield* Stores).link({ domain: "other.demo.example", platform: "demo" })
            const publishing = yield* Publishing
            assert.instanceOf(yield* Effect.flip(publishing.cancel(product, other.id)), NotFound)
            const importLock = yield* ImportLockRepo
            yield* importLock.keep(accountId, ImportId.make(nilUuid))
            assert.instanceOf(yield* Effect.flip(cancel(shop)), PimLocked)
            yield* importLock.keep(accountId, null)
            assert.strictEqual((yield* find(shop, id)).state, "pending")
            assert.deepStrictEqual(yield* stateOf(shop, product), [true, "pending"])
            assert.strictEqual(store.domain, "tern.demo.example")
          })
        )
      )
    })
  })
}
