import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { MerchantFilters, merchantStates } from "../../src/catalog/MerchantLists.ts"
import type { FoundPage } from "../../src/jobs/FoundEntities.ts"
import { FoundEntitiesRepo } from "../../src/jobs/FoundEntitiesRepo.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { EntityKind } from "../../src/model/Attribute.ts"
import { EntityId, nilUuid, type StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { PublishJobs } from "../../src/publishing/PublishJobs.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

const quiet = () => Effect.void

const apply = (...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, (service) => Effect.orDie(service.apply(changes)))

const request = (id: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const asked = yield* (yield* Publishing).request(id, storeId)
    return asked.outcome === "requested" ? asked.publicationId : assert.fail(asked.outcome)
  })

const publish = (id: EntityId, storeId: StoreId) =>
  Effect.flatMap(Effect.all([request(id, storeId), Publishing]), ([asked, { settle }]) => settle([asked], quiet))

/** Products in each state on a store, and a collection. */
const aShop = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { link } = yield* Stores
    const { store } = yield* link({ domain: "tern.demo.example", platform: "demo" })
    const { store: other } = yield* link({ domain: "other.demo.example", platform: "demo" })
    const shops = yield* DemoShops
    const shop = { accountId, storeId: store.id }
    const on = [store]
    const live = yield* anEntity("product", { title: "Live tent", vendor: "Fell" }, { on })
    const changed = yield* anEntity("product", { title: "Changed tent", product_type: "Tents" }, { on })
    const failed = yield* anEntity("product", { title: "Failed tent", tags: '["wet","and cold"]' }, { on })
    const publishing = yield* anEntity("product", { title: "Publishing", description_html: "<p>x</p>" }, { on })
    const unpublished = yield* anEntity("product", { title: "Unpublished" }, { on: [store, other] })
    const absent = yield* anEntity("product", { title: "Absent", vendor: "Fell" })
    const picture = yield* anEntity("media", { url: "https://cdn.example/a.png", alt: "A tent" }, { on })
    const collection = yield* anEntity("collection", { title: "Tents" }, { on })
    yield* apply(
      CatalogChange.SetGallery({ entityId: live, entries: [{ mediaId: picture, storeIds: [store.id] }] }),
      CatalogChange.SetOverrides({ entityId: unpublished, storeId: other.id, values: { title: "Neu" } })
    )
    yield* publish(live, store.id)
    yield* publish(changed, store.id)
    yield* apply(CatalogChange.SetAttributes({ entityId: changed, values: { vendor: "Tern" } }))
    yield* shops.fail(shop, { kind: "refuse", percent: 100, delayMillis: 0 })
    yield* publish(failed, store.id)
    yield* shops.repair(shop)
    yield* request(publishing, store.id)
    return {
      accountId,
      actor,
      store,
      other,
      live,
      changed,
      failed,
      publishing,
      unpublished,
      absent,
      picture,
      collection
    }
  }).pipe(actingAs(actor), Effect.orDie)
})
type Shop = Effect.Effect.Success<typeof aShop>

const inShop = <E, R>(body: (shop: Shop) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(aShop, (shop) => actingAs(shop.actor)(body(shop)))

/** All that filters find, in statements that look at a few entities each. */
const walk = ({ accountId }: Shop, filters: MerchantFilters, kinds: ReadonlyArray<EntityKind>, looked: number) =>
  Effect.gen(function* () {
    const repo = yield* FoundEntitiesRepo
    const jobs = yield* Jobs
    const job = yield* jobs.begin({ kind: "bulk_change", title: "Walk", subject: null, input: {}, total: null })
    const found: Array<EntityId> = []
    for (let after: EntityId | null = EntityId.make(nilUuid); after !== null; ) {
      const page: FoundPage = yield* repo.next(
        accountId,
        job.id,
        { kinds, filters },
        {
          after,
          looked,
          limit: 2
        }
      )
      assert.isAtMost(page.ids.length, 2)
      found.push(...page.ids)
      after = page.next
    }
    yield* jobs.command("cancel", job.id)
    return found
  })

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`entities that jobs find on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("each filter finds its entities, each once and by id, however few a statement looks at", () =>
        inShop((shop) =>
          Effect.gen(function* () {
            const { absent, changed, failed, live, other, publishing, store, unpublished } = shop
            const products = [live, changed, failed, publishing, unpublished, absent]
            const storeId = store.id
            const expected: ReadonlyArray<readonly [MerchantFilters, ReadonlyArray<EntityId>]> = [
              [{}, products],
              [{ storeId }, products.filter((id) => id !== absent)],
              [{ storeId: other.id }, [unpublished]],
              [{ storeId, state: "absent" }, [absent]],
              ...merchantStates.map((state) => [{ storeId, state }, [shop[state]]] as const),
              ...(["live", "changed", "failed", "publishing"] as const).map(
                (state) => [{ state }, [shop[state]]] as const
              ),
              [{ state: "unpublished" }, [unpublished, absent]],
              [{ search: "tent" }, [live, changed, failed]],
              [{ search: "tent fell" }, [live]],
              [{ vendor: "Fell" }, [live, absent]],
              [{ vendor: "Fell", storeId }, [live]],
              [{ productType: "Tents" }, [changed]],
              [{ tag: "and cold" }, [failed]],
              [{ tag: "cold" }, []],
              [{ missing: "picture" }, products.filter((id) => id !== live)],
              [{ missing: "tags" }, products.filter((id) => id !== failed)],
              [{ missing: "description" }, products.filter((id) => id !== publishing)],
              [{ missing: "vendor", state: "failed", storeId }, [failed]],
              [{ missing: "type", search: "tent" }, [live, failed]],
              [{ hasOwnValues: true }, [unpublished]],
              [{ hasOwnValues: true, storeId }, []],
              [{ hasOwnValues: true, storeId: other.id }, [unpublished]]
            ]
            // A filter that a repository ignores finds too many entities, and a job would change them. So each filter has a case.
            assert.sameMembers(
              [...new Set(expected.flatMap(([filters]) => Object.keys(filters)))],
              Object.keys(MerchantFilters.fields)
            )
            for (const looked of [1, 3, 100])
              for (const [filters, ids] of expected)
                assert.deepStrictEqual(
                  yield* walk(shop, filters, ["product"], looked),
                  [...ids].sort(),
                  `${looked} ${JSON.stringify(filters)}`
                )
            assert.deepStrictEqual(
              yield* walk(shop, {}, ["media", "collection"], 3),
              [shop.picture, shop.collection].sort()
            )
            const { actor: stranger, accountId } = yield* anAccount()
            assert.deepStrictEqual(
              yield* walk({ ...shop, accountId }, {}, EntityKind.literals, 3).pipe(actingAs(stranger)),
              []
            )
          })
        )
      )

      it.effect(
        "a job publishes what filters find: first products, then the others; what is created later is left out",
        () =>
          inShop((shop) =>
            Effect.gen(function* () {
              const { collection, publishing, store, unpublished } = shop
              yield* apply(
                CatalogChange.SetMembers({ collectionId: collection, productIds: [publishing, unpublished] })
              )
              const filters = { storeId: store.id, state: "unpublished" } as const
              const job = yield* (yield* PublishJobs).chosen(store.id, EntityKind.literals, { filters, count: 2 })
              assert.deepInclude(job, {
                kind: "publish_selected",
                title: "Publish 2 selected to tern.demo.example",
                done: 0,
                total: 2
              })
              yield* Effect.sleep("3 millis")
              const later = yield* anEntity("product", { title: "Later" }, { on: [store] })
              const ended = yield* Effect.raceFirst(
                Effect.flatMap(JobWorker, ({ settle }) => settle(job.id, quiet)),
                Effect.flatMap(Publishing, ({ work }) => work)
              )
              assert.deepInclude(Option.getOrThrow(ended), { state: "done", error_count: 0, done: 2, total: 2 })
              assert.deepStrictEqual(yield* walk(shop, filters, EntityKind.literals, 100), [later])
            })
          )
      )

      it.effect("a job that publishes the list of another store stops if that store is unlinked meanwhile", () =>
        inShop(({ other, store }) =>
          Effect.gen(function* () {
            const chosen = { filters: { storeId: other.id }, count: 1 }
            const { id } = yield* (yield* PublishJobs).chosen(store.id, ["product"], chosen)
            yield* (yield* Stores).unlink(other.domain)
            const ended = yield* Effect.flatMap(JobWorker, ({ settle }) => settle(id, quiet))
            assert.deepInclude(Option.getOrThrow(ended), { state: "failed", done: 0, total: 1 })
            assert.strictEqual(Option.getOrThrow(ended).problem?.why, "The store is no longer linked.")
          })
        )
      )
    })
  })
}
