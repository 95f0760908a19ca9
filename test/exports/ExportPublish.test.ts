import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Stream } from "effect"
import { ExportItemsRepo } from "../../src/exports/ExportItemsRepo.ts"
import { ExportJobs } from "../../src/exports/ExportJobs.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { EntityId, type StoreId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, Catalog, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { featureEngines } from "../support/TestDatabase.ts"

const quiet = () => Effect.void

/** Products with a variant and a file each, on a store without a platform. */
const aWorld = (count: number) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    return yield* Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link({ domain: "files.example" })
      const { apply } = yield* CatalogChanges
      const products: Array<{ readonly product: EntityId; readonly variant: EntityId; readonly media: EntityId }> = []
      for (let index = 0; index < count; index++) {
        const [product, variant, media] = yield* Effect.all([mintId(EntityId), mintId(EntityId), mintId(EntityId)])
        products.push({ product, variant, media })
        const create = CatalogChange.CreateEntity
        yield* apply([
          create({ id: media, kind: "media", parentId: null, values: { url: `https://x.example/${index}.jpg` } }),
          create({ id: product, kind: "product", parentId: null, values: { title: "Tent", handle: `tent-${index}` } }),
          create({ id: variant, kind: "variant", parentId: product, values: { sku: `T-${index}` } }),
          ...[product, variant, media].map((entityId) => CatalogChange.AddToStore({ entityId, storeId: store.id })),
          CatalogChange.SetGallery({ entityId: product, entries: [{ mediaId: media, storeIds: [store.id] }] })
        ])
      }
      return { accountId, actor, store, products }
    }).pipe(actingAs(actor), Effect.orDie)
  })

const exportFor = (storeId: StoreId) =>
  Effect.gen(function* () {
    const last = Option.getOrThrow(yield* Stream.runLast((yield* Exports).csv(storeId, true)))
    return last.end?.exportId ?? assert.fail("not kept")
  })

const stateOf = (kind: "media" | "product" | "variant", id: EntityId) =>
  Effect.map(
    Effect.flatMap(Catalog, (catalog) => catalog.get(kind, id)),
    ({ stores: [state] }) => [state?.last_publish_status, state?.pending_publish]
  )

const published = ["published" as const, false]
const never = ["never_published" as const, true]

for (const { absent, layer: database, name } of featureEngines)
  describe.skipIf(absent)(`an export as the publish of a store without a platform, ${name}`, () => {
    layer(ServicesOnDatabase.pipe(Layer.provideMerge(database)), { excludeTestServices: true })((it) => {
      it.effect("counts exported entities as published; entities that changed since stay unpublished", () =>
        Effect.gen(function* () {
          const { actor, products, store } = yield* aWorld(4)
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const [titled, extended, kept, removed] = products
            if (titled === undefined || extended === undefined || kept === undefined || removed === undefined)
              return assert.fail("too few products")
            const exportId = yield* exportFor(store.id)
            assert.deepStrictEqual(yield* stateOf("product", kept.product), never, "an export alone changes nothing")
            const added = yield* mintId(EntityId)
            yield* apply([
              CatalogChange.SetAttributes({ entityId: titled.product, values: { title: "Tent 2" } }),
              CatalogChange.CreateEntity({
                id: added,
                kind: "variant",
                parentId: extended.product,
                values: { sku: "new" }
              }),
              CatalogChange.AddToStore({ entityId: added, storeId: store.id }),
              CatalogChange.RemoveFromStore({ entityId: removed.variant, storeId: store.id })
            ])
            const { id } = yield* (yield* ExportJobs).publish(store.id, exportId)
            const job = Option.getOrThrow(yield* (yield* JobWorker).settle(id, quiet))
            assert.deepInclude(job, {
              kind: "export",
              title: "Count the export of files.example as published",
              state: "done",
              done: 4,
              total: 4,
              // Of 12 entities these changed: the renamed product, the product with a new variant, the removed variant
              // and its product.
              result: { published: 8, changed: 4 }
            })
            assert.deepStrictEqual(yield* stateOf("product", kept.product), published)
            assert.deepStrictEqual(yield* stateOf("variant", kept.variant), published)
            assert.deepStrictEqual(yield* stateOf("media", kept.media), published)
            assert.deepStrictEqual(yield* stateOf("product", titled.product), never)
            assert.deepStrictEqual(yield* stateOf("variant", titled.variant), published)
            assert.deepStrictEqual(yield* stateOf("product", extended.product), never)
            assert.deepStrictEqual(yield* stateOf("variant", added), never)
            assert.deepStrictEqual(yield* stateOf("product", removed.product), never)

            const second = yield* (yield* ExportJobs).publish(store.id, yield* exportFor(store.id))
            yield* (yield* JobWorker).settle(second.id, quiet)
            for (const { media, product } of products) {
              assert.deepStrictEqual(yield* stateOf("product", product), published)
              assert.deepStrictEqual(yield* stateOf("media", media), published)
            }
            assert.strictEqual(yield* (yield* ExportItemsRepo).count(actor.accountId, exportId), 0)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("counts a changed file once, although products of several steps show it", () =>
        Effect.gen(function* () {
          const { actor, products, store } = yield* aWorld(25)
          yield* Effect.gen(function* () {
            const { apply } = yield* CatalogChanges
            const shared = products[0]?.media ?? assert.fail("no products")
            const entries = [{ mediaId: shared, storeIds: [store.id] }]
            for (const { product } of products) yield* apply([CatalogChange.SetGallery({ entityId: product, entries })])
            const exportId = yield* exportFor(store.id)
            yield* apply([CatalogChange.SetAttributes({ entityId: shared, values: { alt: "A tent" } })])
            const { id } = yield* (yield* ExportJobs).publish(store.id, exportId)
            const job = Option.getOrThrow(yield* (yield* JobWorker).settle(id, quiet))
            assert.deepInclude(job, { state: "done", done: 25, result: { published: 50, changed: 1 } })
            assert.deepStrictEqual(yield* stateOf("media", shared), never)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a job whose store gets a platform meanwhile fails, and counts nothing as published", () =>
        Effect.gen(function* () {
          const { actor, products, store } = yield* aWorld(1)
          yield* Effect.gen(function* () {
            const { id } = yield* (yield* ExportJobs).publish(store.id, yield* exportFor(store.id))
            yield* (yield* StoresRepo).link(actor.accountId, { ...store, platform: "shopify" }, true)
            const job = Option.getOrThrow(yield* (yield* JobWorker).settle(id, quiet))
            assert.deepInclude(job, {
              state: "failed",
              done: 0,
              problem: {
                why: "The store has a platform now.",
                next: "The values that were counted as published before remain published. Publish to the store."
              }
            })
            for (const { product } of products) assert.deepStrictEqual(yield* stateOf("product", product), never)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a job whose exported products were deleted fails, also if it is resumed", () =>
        Effect.gen(function* () {
          const { actor, store } = yield* aWorld(2)
          yield* Effect.gen(function* () {
            const exportId = yield* exportFor(store.id)
            const { id } = yield* (yield* ExportJobs).publish(store.id, exportId)
            yield* (yield* ExportItemsRepo).take(actor.accountId, exportId, 2)
            const settle = Effect.map(
              Effect.flatMap(JobWorker, ({ settle }) => settle(id, quiet)),
              Option.getOrThrow
            )
            const forgotten = {
              state: "failed" as const,
              done: 0,
              problem: {
                why: "The exported products were kept for 30 days only.",
                next: "The values that were counted as published before remain published. Export the products of the store again."
              }
            }
            assert.deepInclude(yield* settle, forgotten)
            yield* (yield* Jobs).command("resume", id)
            assert.deepInclude(yield* settle, forgotten)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("an interrupted export keeps nothing, and an export of a store with a platform is refused", () =>
        Effect.gen(function* () {
          const { actor, store } = yield* aWorld(1)
          yield* Effect.gen(function* () {
            const exports = yield* Exports
            const sizes = yield* Stream.runCollect(Stream.take(exports.csv(store.id, true), 1))
            assert.lengthOf([...sizes], 1)
            const { store: shop } = yield* (yield* Stores).link({ domain: "tern.demo.example", platform: "demo" })
            const refused = yield* Effect.flip(Stream.runDrain(exports.csv(shop.id, true)))
            assert.strictEqual(
              refused.message,
              "publish: tern.demo.example has a platform: publish to it instead. An export counts as a publish only for a store without a platform"
            )
            assert.strictEqual(
              (yield* Effect.flip((yield* ExportJobs).publish(shop.id, yield* exportFor(store.id)))).message,
              refused.message
            )
          }).pipe(actingAs(actor))
        })
      )
    })
  })
