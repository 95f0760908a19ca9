import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Layer } from "effect"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import { EntityId, ImportId, nilUuid, StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { makePublishMasters, type PublishRequest } from "../../src/programs/PublishMasters.ts"
import { PublishProgress } from "../../src/programs/PublishProgress.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
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

const nobody = EntityId.make(nilUuid)
const nowhere = StoreId.make(nilUuid)

/** The service as in production, but with polls that are short enough for tests. */
const Quick = publishingWith({ pollEvery: Duration.millis(10) })

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.orDie(Effect.flatMap(CatalogChanges, (service) => service.apply(changes)))

const set = (entityId: EntityId, values: Readonly<Record<string, string | null>>) =>
  apply(CatalogChange.SetAttributes({ entityId, values }))

/** A product with two variants and a media file on two demo stores, and a store without a platform. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const { store } = yield* link({ domain: "a.demo.example", platform: "demo" })
    const { store: other } = yield* link({ domain: "b.demo.example", platform: "demo" })
    const { store: files } = yield* link({ domain: "files.example" })
    const on = [store, other]
    const product = yield* anEntity("product", { title: "Tent", "spec.made": "here" }, { on })
    const small = yield* anEntity("variant", { sku: "T-S", price: "1.00" }, { on, of: product })
    const large = yield* anEntity("variant", { sku: "T-L", price: "2.00" }, { on, of: product })
    const picture = yield* anEntity("media", { url: "https://cdn.example/a.png", alt: "A tent" }, { on })
    yield* apply(
      CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: picture, storeIds: on.map(({ id }) => id) }] })
    )
    return { accountId, actor, store, other, files, product, small, large, picture }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

const publish = (payload: PublishRequest["payload"]) => Effect.flatMap(makePublishMasters, (run) => run({ payload }))

const revisionOf = (id: EntityId) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.get(id, null)),
    ({ draft_revision }) => draft_revision
  )

const publishNow = (id: EntityId, more: Partial<PublishRequest["payload"]> = {}) =>
  Effect.flatMap(revisionOf(id), (draft_revision) => publish({ master_id: id, draft_revision, ...more }))

/** Runs all open publications of these entities until they end. */
const settle = (...requests: ReadonlyArray<readonly [EntityId, { readonly id: StoreId }]>) =>
  Effect.gen(function* () {
    const publishing = yield* Publishing
    const ids = yield* Effect.forEach(requests, ([id, { id: storeId }]) =>
      Effect.map(publishing.request(id, storeId), (answer) =>
        answer.outcome === "nothing_to_publish" ? [] : [answer.publicationId]
      )
    )
    return yield* publishing.settle(ids.flat(), () => Effect.void)
  })

/** The state that a dry run must not change. */
const stateOf = (ids: ReadonlyArray<EntityId>) =>
  Effect.gen(function* () {
    const drafts = yield* Drafts
    return yield* Effect.forEach(ids, (id) => Effect.all([drafts.get(id, null), drafts.history(id, 250)]))
  })

const fail = ({ accountId, store }: Shop, kind: "error" | "refuse" = "refuse") =>
  Effect.flatMap(DemoShops, (shops) =>
    shops.fail({ accountId, storeId: store.id }, { kind, percent: 100, delayMillis: 0 })
  )

const refused = {
  code: "DEMO_REFUSED",
  message: "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
}

const refusal = <E extends { readonly message: string }, R>(effect: Effect.Effect<unknown, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`the program of publish_master_v1 on ${engine.name}`, () => {
    layer(Quick.pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })((it) => {
      it.effect(
        "a dry run shows live -> new per channel and the related entities of the publish, and changes nothing",
        () =>
          inShop(({ large, other, picture, product, small, store }) =>
            Effect.gen(function* () {
              const all = [product, small, large, picture]
              const before = yield* stateOf(all)
              const draft_revision = yield* revisionOf(product)
              const first = [
                { key: "title", live: null, new: "Tent" },
                { key: "spec.made", live: null, new: "here" },
                { key: "variant_ids", live: null, new: JSON.stringify([small, large]) },
                { key: "media_ids", live: null, new: JSON.stringify([picture]) }
              ]
              const included = { count: 3, entity_ids: [small, large, picture] }
              const row = (on: typeof store) => ({ store_id: on.id, store_domain: on.domain })
              assert.deepStrictEqual<unknown>(yield* publishNow(product, { dry_run: true }), {
                entity_id: product,
                title: "Tent",
                draft_revision,
                stores: [store, other].map((on) => ({ ...row(on), outcome: "would_publish", changes: first, included }))
              })
              assert.deepStrictEqual(yield* stateOf(all), before)

              yield* settle([product, store])
              yield* set(product, { title: "Tent 2", "spec.made": null })
              yield* set(large, { price: "3.00" })
              const edited = yield* stateOf(all)
              const answer = yield* publishNow(product, { channel_ids: [store.id], dry_run: true })
              assert.deepStrictEqual<unknown>(answer, {
                entity_id: product,
                title: "Tent 2",
                draft_revision: draft_revision + 1,
                stores: [
                  {
                    ...row(store),
                    outcome: "would_publish",
                    changes: [
                      { key: "title", live: "Tent", new: "Tent 2" },
                      { key: "spec.made", live: "here", new: "" }
                    ]
                  }
                ],
                waiting: { count: 1, entity_ids: [large] }
              })
              // A requested publish is pending, also in a dry run.
              yield* publishNow(product, { channel_ids: [store.id] })
              const again = yield* publishNow(product, { channel_ids: [store.id], dry_run: true })
              assert.deepInclude(again.stores?.[0], {
                outcome: "pending",
                message: "a publish of this draft is already requested"
              })
              assert.deepStrictEqual((yield* stateOf([large]))[0], edited[2])
              // A dry run is refused with the same errors as a publish.
              assert.strictEqual(
                yield* refusal(publish({ master_id: product, draft_revision: 1, dry_run: true })),
                `The record was changed: its draft_revision is now ${draft_revision + 1}. Read it again and repeat the write.`
              )
              assert.strictEqual(
                yield* refusal(publishNow(product, { channel_ids: [nowhere], dry_run: true })),
                "No such record."
              )
            })
          )
      )

      it.effect(
        "a second publish reports that the store has the draft, and names related entities that must be published separately",
        () =>
          inShop(({ files, large, other, product, small, store }) =>
            Effect.gen(function* () {
              yield* settle([product, store], [product, other])
              yield* apply(
                CatalogChange.SetOverrides({ entityId: small, storeId: store.id, values: { price: "1.50" } }),
                CatalogChange.SetAttributes({ entityId: large, values: { price: "3.00" } })
              )
              const nothing = (on: typeof store) => ({
                store_id: on.id,
                store_domain: on.domain,
                outcome: "nothing_to_publish",
                message: "the store already has this draft"
              })
              assert.deepStrictEqual<unknown>(yield* publishNow(product), {
                entity_id: product,
                title: "Tent",
                draft_revision: yield* revisionOf(product),
                stores: [nothing(store), nothing(other)],
                waiting: { count: 2, entity_ids: [large, small].sort() }
              })
              const ofVariant = yield* publishNow(small)
              assert.deepStrictEqual(
                ofVariant.stores?.map(({ outcome }) => outcome),
                ["pending", "nothing_to_publish"]
              )
              assert.isUndefined(ofVariant.waiting)
              assert.deepStrictEqual((yield* publishNow(product)).waiting, { count: 1, entity_ids: [large] })
              // On a store without a platform the product stays unpublished; the result says so beside the successful
              // outcomes.
              yield* apply(CatalogChange.AddToStore({ entityId: product, storeId: files.id }))
              const beside = yield* publishNow(product)
              assert.deepStrictEqual<unknown>(beside.stores?.[2], {
                store_id: files.id,
                store_domain: files.domain,
                outcome: "refused",
                message: "files.example has no platform: nothing can be published to it"
              })
              const loose = yield* anEntity("collection", { title: "Loose" })
              assert.deepStrictEqual<unknown>(yield* publishNow(loose), {
                entity_id: loose,
                title: "Loose",
                draft_revision: yield* revisionOf(loose),
                message: "The master is on no channel: nothing can be published.",
                stores: []
              })
            })
          )
      )

      it.effect("projections show the draft, the store's values, pending keys, and why a publish failed", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { large, other, product, small, store } = shop
            const { projections } = yield* Drafts
            const [onA, onB] = yield* projections(product)
            assert(onA !== undefined && onB !== undefined)
            assert.deepStrictEqual([onA.store_domain, onB.store_domain], [store.domain, other.domain])
            assert.deepInclude(onA, {
              pending_publish: true,
              pending_keys: ["title", "spec.made", "variant_ids", "media_ids"],
              last_publish_status: "never_published",
              published_at: null,
              last_publish_error: null
            })
            assert.isTrue(onA.attributes.every(({ live }) => live === undefined))

            yield* settle([product, store])
            const [published] = yield* projections(product, store.id)
            assert.deepInclude(published, {
              pending_publish: false,
              pending_keys: [],
              last_publish_status: "published"
            })
            assert.isString(published?.published_at)
            assert.isTrue(published?.attributes.every(({ live }) => live === undefined))

            yield* fail(shop)
            yield* apply(
              CatalogChange.SetOverrides({ entityId: product, storeId: store.id, values: { title: "Zelt" } }),
              CatalogChange.SetAttributes({ entityId: product, values: { "spec.made": null } }),
              CatalogChange.OrderVariants({ productId: product, variantIds: [large, small] })
            )
            const [record] = yield* settle([product, store])
            assert.strictEqual(record?.state, "failed")
            const [failed] = yield* projections(product, store.id)
            assert.deepInclude(failed, {
              pending_publish: true,
              pending_keys: ["title", "spec.made", "variant_ids"],
              last_publish_status: "failed",
              last_publish_error: refused
            })
            const text = "single_line_text_field"
            assert.deepStrictEqual(
              failed?.attributes.filter(({ live }) => live !== undefined),
              [
                { key: "title", value: "Zelt", type: text, live: "Tent" },
                { key: "spec.made", value: "", type: text, live: "here" }
              ]
            )
            assert.strictEqual(yield* refusal(projections(product, nowhere)), "No such record.")
            assert.strictEqual(yield* refusal(projections(nobody)), "No such record.")
            const theirs = yield* aShop
            assert.strictEqual(yield* refusal(projections(theirs.product)), "No such record.")
          })
        )
      )

      it.effect("a batch has an outcome for each master; a failed master does not stop the others", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { accountId, files, large, other, picture, product, store } = shop
            yield* settle([picture, store])
            const elsewhere = yield* anEntity("collection", { title: "Elsewhere" }, { on: [other] })
            const loose = yield* anEntity("collection", { title: "Loose" })
            const theirs = yield* aShop
            const masters = yield* Effect.forEach([large, picture, elsewhere, loose, product], (master_id) =>
              Effect.map(revisionOf(master_id), (draft_revision) => ({ master_id, draft_revision }))
            )
            const stale = yield* anEntity("collection", { title: "Stale" }, { on: [store] })
            const current = yield* revisionOf(stale)
            const unknown = [nobody, theirs.product].map((master_id) => ({ master_id, draft_revision: 1 }))
            const all = [...masters, { master_id: stale, draft_revision: current + 7 }, ...unknown]
            const of = (id: EntityId, title: string) => ({
              entity_id: id,
              title,
              draft_revision: masters.find(({ master_id }) => master_id === id)?.draft_revision
            })
            const answer = yield* publish({ masters: all, channel_ids: [store.id] })
            assert.deepStrictEqual<unknown>(answer, {
              masters: [
                {
                  entity_id: large,
                  outcome: "refused",
                  message: `its product ${product} is not live on this store: publish the product first`
                },
                {
                  ...of(picture, "A tent"),
                  outcome: "nothing_to_publish",
                  message: "the store already has this draft"
                },
                { entity_id: elsewhere, outcome: "not_on_channel", message: "its channels are b.demo.example" },
                { entity_id: loose, outcome: "not_on_channel", message: "it is on no channel" },
                { ...of(product, "Tent"), outcome: "pending" },
                {
                  entity_id: stale,
                  draft_revision: current,
                  outcome: "conflict",
                  message: `the master was changed meanwhile: its draft_revision is now ${current}; call get_master_v1, then publish_master_v1 with the new draft_revision`
                },
                ...unknown.map(({ master_id }) => ({
                  entity_id: master_id,
                  outcome: "not_found",
                  message: "no such master; list_masters_v1 has ids that exist"
                }))
              ]
            })
            const dry = yield* publish({
              masters: [{ master_id: stale, draft_revision: current }],
              channel_ids: [store.id],
              dry_run: true
            })
            assert.deepStrictEqual<unknown>(dry, {
              masters: [
                {
                  entity_id: stale,
                  title: "Stale",
                  draft_revision: current,
                  outcome: "would_publish",
                  changes: [{ key: "title", live: null, new: "Stale" }]
                }
              ]
            })
            assert.strictEqual(
              yield* refusal(publish({ masters, channel_ids: [files.id] })),
              "channel_ids: files.example has no platform: nothing can be published to it"
            )
            assert.strictEqual(yield* refusal(publish({ masters, channel_ids: [theirs.store.id] })), "No such record.")
            const lock = yield* ImportLockRepo
            yield* lock.keep(accountId, ImportId.make(nilUuid))
            assert.strictEqual(
              yield* refusal(publish({ masters, channel_ids: [store.id] })),
              "An import or refresh has locked the catalog; retry after it has ended."
            )
          })
        )
      )

      it.effect("a batch requests a product before its variant, which then has the new picture, in any order", () =>
        inShop(({ large, picture, product, store }) =>
          Effect.gen(function* () {
            yield* settle([product, store])
            const second = yield* anEntity("media", { url: "https://cdn.example/second.png" }, { on: [store] })
            const shown = [picture, second].map((mediaId) => ({ mediaId, storeIds: [store.id] }))
            yield* (yield* CatalogChanges).apply([
              CatalogChange.SetGallery({ entityId: product, entries: shown }),
              CatalogChange.SetGallery({ entityId: large, entries: shown.slice(1) })
            ])
            const masters = yield* Effect.forEach([large, product], (master_id) =>
              Effect.map(revisionOf(master_id), (draft_revision) => ({ master_id, draft_revision }))
            )
            const answer = yield* publish({ masters, channel_ids: [store.id] })
            assert.deepStrictEqual(
              answer.masters?.map(({ entity_id, outcome }) => [entity_id, outcome]),
              [
                [large, "pending"],
                [product, "pending"]
              ]
            )
            const settled = yield* settle([large, store], [product, store])
            assert.deepStrictEqual(
              settled.map(({ error, state }) => [state, error]),
              [
                ["published", null],
                ["published", null]
              ]
            )
          })
        )
      )

      it.effect("a batch with progress reports each outcome once as text, and returns all", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { picture, product, store } = shop
            const collections = yield* Effect.forEach(["One", "Two", "Three"], (title) =>
              anEntity("collection", { title }, { on: [store] })
            )
            yield* settle([picture, store])
            const masters = yield* Effect.forEach([picture, product, ...collections], (master_id) =>
              Effect.map(revisionOf(master_id), (draft_revision) => ({ master_id, draft_revision }))
            )
            const follow = (
              text: Array<readonly [number, number, string]>,
              waitMillis: number,
              began?: Deferred.Deferred<void>
            ) =>
              Effect.provideService(publish({ masters, channel_ids: [store.id] }), PublishProgress, {
                waitMillis,
                report: (...told) =>
                  Effect.gen(function* () {
                    text.push(told)
                    if (began !== undefined) yield* Deferred.succeed(began, undefined)
                  })
              })
            // No worker runs, so the wait ends first.
            const early: Array<readonly [number, number, string]> = []
            const pending = yield* follow(early, 30)
            assert.deepStrictEqual(early, [[1, 5, "A tent: nothing to publish (the store already has this draft)"]])
            assert.deepStrictEqual(
              pending.masters?.map(({ outcome }) => outcome),
              ["nothing_to_publish", "pending", "pending", "pending", "pending"]
            )
            // Without a wait, every publish is reported as requested.
            const told: Array<readonly [number, number, string]> = []
            yield* follow(told, 0)
            assert.deepStrictEqual(
              told.map(([done, total, text]) => `${done} of ${total}: ${text}`),
              [
                "1 of 5: A tent: nothing to publish (the store already has this draft)",
                "2 of 5: Tent: pending (a publish of this draft is already requested)",
                "3 of 5: One: pending (a publish of this draft is already requested)",
                "4 of 5: Two: pending (a publish of this draft is already requested)",
                "5 of 5: Three: pending (a publish of this draft is already requested)"
              ]
            )
            const texts: Array<readonly [number, number, string]> = []
            // The worker starts after all publishes were requested. The master with nothing to publish is reported
            // before.
            const began = yield* Deferred.make<void>()
            const answer = yield* Effect.raceFirst(
              follow(texts, 60_000, began),
              Effect.zipRight(
                Deferred.await(began),
                Effect.flatMap(Publishing, ({ work }) => work)
              )
            )
            assert.deepStrictEqual(
              answer.masters?.map(({ message, outcome }) => [outcome, message]),
              [
                ["nothing_to_publish", "the store already has this draft"],
                ...Array.from({ length: 4 }, () => ["published", undefined])
              ]
            )
            assert.deepStrictEqual(
              texts.map(([done, total]) => [done, total]),
              [1, 2, 3, 4, 5].map((done) => [done, 5])
            )
            assert.sameMembers(
              texts.map(([, , text]) => text),
              [
                "A tent: nothing to publish (the store already has this draft)",
                ...["Tent", "One", "Two", "Three"].map((title) => `${title}: published`)
              ]
            )
            yield* fail(shop)
            const [, , one] = masters
            assert(one !== undefined)
            yield* set(one.master_id, { title: "One more" })
            const failed = yield* Effect.raceFirst(
              Effect.provideService(
                Effect.flatMap(revisionOf(one.master_id), (draft_revision) =>
                  publish({ masters: [{ ...one, draft_revision }], channel_ids: [store.id] })
                ),
                PublishProgress,
                { waitMillis: 60_000, report: () => Effect.void }
              ),
              Effect.flatMap(Publishing, ({ work }) => work)
            )
            assert.deepInclude(failed.masters?.[0], {
              outcome: "failed",
              message: `${refused.message} (${refused.code})`
            })
          })
        )
      )

      it.effect("a publish that waits for the store's platform is pending, and says why", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { picture, store } = shop
            const why =
              "The store's platform cannot be reached: it reports an internal error. The publish is tried again for up to 24 hours."
            yield* fail(shop, "error")
            const publishing = yield* Publishing
            const asked = yield* publishing.request(picture, store.id)
            assert(asked.outcome === "requested")
            const error = Effect.map(publishing.find([asked.publicationId]), ([record]) => record?.error?.code)
            yield* Effect.raceFirst(
              Effect.repeat(Effect.delay(error, "5 millis"), { until: (code) => code === "PUBLISH_DELAYED" }),
              publishing.work
            )
            const masters = [{ master_id: picture, draft_revision: yield* revisionOf(picture) }]
            const followed = yield* Effect.provideService(
              publish({ masters, channel_ids: [store.id] }),
              PublishProgress,
              { waitMillis: 1_000, report: () => Effect.void }
            )
            assert.deepInclude(followed.masters?.[0], { outcome: "pending", message: `${why} (PUBLISH_DELAYED)` })
            const again = yield* publishNow(picture, { channel_ids: [store.id] })
            assert.deepInclude(again.stores?.[0], {
              outcome: "pending",
              message: `a publish of this draft is already requested, and waits: ${why}`
            })
          })
        )
      )

      it.effect("concurrent batches of the same masters, in any order, make one publication of each master", () =>
        inShop(({ accountId, store }) =>
          Effect.gen(function* () {
            const ids = yield* Effect.forEach(
              Array.from({ length: 50 }, (_, place) => `C ${place}`),
              (title) => anEntity("collection", { title }, { on: [store] })
            )
            const masters = yield* Effect.forEach(ids, (master_id) =>
              Effect.map(revisionOf(master_id), (draft_revision) => ({ master_id, draft_revision }))
            )
            const answers = yield* Effect.forEach(
              [masters, [...masters].reverse(), masters, [...masters].reverse()],
              (each) => publish({ masters: each, channel_ids: [store.id] }),
              { concurrency: "unbounded" }
            )
            const rows = answers.flatMap(({ masters = [] }) => masters)
            assert.strictEqual(rows.length, 200)
            assert.isTrue(rows.every(({ outcome }) => outcome === "pending"))
            assert.strictEqual(rows.filter(({ message }) => message === undefined).length, 50)
            const settled = yield* settle(...ids.map((id) => [id, store] as const))
            assert.strictEqual(settled.filter(({ state }) => state === "published").length, 50)
            const shops = yield* DemoShops
            assert.strictEqual(yield* shops.effects({ accountId, storeId: store.id }), 50)
            const history = yield* Effect.forEach(ids, (id) =>
              Effect.flatMap(Drafts, (drafts) => drafts.history(id, 250))
            )
            const asked = history.flat().filter(({ action }) => action === "publish_asked")
            assert.strictEqual(asked.length, 50)
          })
        )
      )
    })
  })
}
