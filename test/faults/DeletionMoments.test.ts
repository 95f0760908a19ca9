import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, identity, Layer } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { type EntityUse, EntityUsesRepo } from "../../src/drafts/EntityUsesRepo.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Catalog,
  CatalogChange,
  CatalogChanges,
  Drafts,
  Stores
} from "../../src/testing/index.ts"
import { makeHolding } from "../support/HeldStep.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { layerDatabase } from "./ServerServices.ts"

const servicesWith = (uses: Layer.Layer<EntityUsesRepo, never, EntityUsesRepo> = Layer.service(EntityUsesRepo)) =>
  Services.pipe(
    Layer.provideMerge(uses),
    Layer.provideMerge(RepositoriesOnDatabase),
    Layer.provideMerge(layerDatabase(8))
  )

const quiet = () => Effect.void

const remove = (kind: EntityKind, id: EntityId, withMedia = false) =>
  Effect.gen(function* () {
    const job = yield* (yield* BulkJobs).begin({ kind, ids: [id] }, { _tag: "Delete", withMedia })
    return yield* Effect.flatten((yield* JobWorker).settle(job.id, quiet))
  })

type Uses = Context.Tag.Service<EntityUsesRepo>

/** Lets the first two deletions lock their entities only when both have read what they must lock. */
const makeBothRead = (uses: Uses, arrived: Deferred.Deferred<void>): Uses => {
  let count = 0
  return {
    ...uses,
    partsOf: (accountId, ids) =>
      Effect.tap(uses.partsOf(accountId, ids), () => {
        count += 1
        return count === 2 ? Deferred.succeed(arrived, undefined) : Deferred.await(arrived)
      })
  }
}

/** A planted fault: a deletion reads before the locks which galleries show a picture. */
const readBeforeLocks = (uses: Uses): Uses => {
  const early = new Map<EntityId, ReadonlyArray<EntityUse>>()
  return {
    ...uses,
    partsOf: (accountId, ids) =>
      Effect.tap(uses.partsOf(accountId, ids), (parts) =>
        Effect.map(uses.usesOf(accountId, [...ids, ...parts]), (found) => {
          for (const id of ids) early.set(id, found)
        })
      ),
    usesOf: (_, ids) =>
      Effect.sync(() => ids.flatMap((id) => early.get(id) ?? []).filter(({ entityId }) => ids.includes(entityId)))
  }
}

const showing = (entityId: EntityId, mediaId: EntityId) =>
  CatalogChange.SetGallery({ entityId, entries: [{ mediaId, storeIds: [] }] })

/** Deletes two products that share a picture, at once. Returns the pictures that the two jobs deleted, and whether it is there. */
const deleteBoth = (planted: (uses: Uses) => Uses = identity) =>
  Effect.gen(function* () {
    const arrived = yield* Deferred.make<void>()
    const uses = Layer.effect(
      EntityUsesRepo,
      Effect.map(EntityUsesRepo, (repo) => makeBothRead(planted(repo), arrived))
    )
    return yield* Effect.gen(function* () {
      const { actor } = yield* anAccount()
      return yield* Effect.gen(function* () {
        const products = yield* Effect.replicateEffect(anEntity("product", { title: "Tent" }), 2)
        const picture = yield* anEntity("media", { url: "https://cdn.example/1.png" })
        yield* (yield* CatalogChanges).apply(products.map((id) => showing(id, picture)))
        const jobs = yield* Effect.forEach(products, (id) => remove("product", id, true), { concurrency: 2 })
        const ofKind = (kind: EntityKind) => jobs.flatMap(({ deleted }) => deleted.filter((each) => each.kind === kind))
        assert.sameMembers(
          ofKind("product").map(({ id }) => id),
          products
        )
        const catalog = yield* Catalog
        return { deleted: ofKind("media").length, isThere: yield* Effect.isSuccess(catalog.get("media", picture)) }
      }).pipe(actingAs(actor))
    }).pipe(Effect.provide(servicesWith(uses)))
  })

const shop = { domain: "demo.example", platform: "demo" } as const

describe.skipIf(!serverAnswers)("deletions at chosen moments of other work", () => {
  it.live("a picture that two products share is deleted by the second of their deletions, which ran at once", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* deleteBoth(), { deleted: 1, isThere: false })
    })
  )
  it.live("the picture stays if the galleries are read before the locks (planted fault)", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* deleteBoth(readBeforeLocks), { deleted: 0, isThere: true })
    })
  )

  it.live("a drop that is scheduled between the decision of a deletion and its write keeps its entity", () =>
    Effect.gen(function* () {
      const decided = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const waiting = Layer.effect(
        EntityUsesRepo,
        Effect.map(EntityUsesRepo, (uses) => ({
          ...uses,
          usesOf: (accountId, ids) =>
            Effect.tap(uses.usesOf(accountId, ids), () =>
              Effect.zipRight(Deferred.succeed(decided, undefined), Deferred.await(goOn))
            )
        }))
      )
      yield* Effect.gen(function* () {
        const { actor } = yield* anAccount()
        yield* Effect.gen(function* () {
          const { store } = yield* (yield* Stores).link(shop)
          const tent = yield* anEntity("product", { title: "Tent" }, { on: [store] })
          const deletion = yield* Effect.fork(remove("product", tent))
          yield* Deferred.await(decided)
          const starts_at = plusMicros(yield* (yield* DropsRepo).now, 3_600_000_000)
          const drops = yield* Drops
          const { id } = yield* drops.create({
            name: "Sale",
            starts_at,
            ends_at: null,
            timezone: "UTC",
            changes: [{ entity_id: tent, store_id: store.id, field: "title", value: "Sale" }]
          })
          yield* Deferred.succeed(goOn, undefined)
          const { errors, result } = yield* Fiber.join(deletion)
          assert.deepStrictEqual(
            errors.map(({ message }) => message),
            ['the drop "Sale" will change it: cancel the drop first, or wait until the drop has ended']
          )
          assert.deepStrictEqual(result, { changed: 0, unchanged: 0, refused: 1 })
          const { changes } = yield* drops.get(id)
          assert.deepStrictEqual(
            changes.map(({ deleted_name, entity_id }) => [entity_id, deleted_name]),
            [[tent, null]]
          )
        }).pipe(actingAs(actor))
      }).pipe(Effect.provide(servicesWith(waiting)))
    })
  )

  it.live("a publish ends whose store was unlinked and linked again meanwhile, and whose variant was deleted", () =>
    Effect.gen(function* () {
      const { heldAt, layerHolding } = makeHolding()
      const { actor } = yield* anAccount()
      yield* Effect.gen(function* () {
        const { link, unlink } = yield* Stores
        const held = yield* Layer.build(
          Layer.fresh(Publishing.layer).pipe(Layer.provide([StoreAccess.layer, layerHolding]))
        )
        const publishing = Context.get(held, Publishing)
        const { store } = yield* link(shop)
        const tent = yield* anEntity("product", { title: "Tent" }, { on: [store] })
        const [small, large] = yield* Effect.forEach(["S", "L"], (option1) =>
          anEntity("variant", { option1, sku: option1 }, { on: [store], of: tent })
        )
        assert(small !== undefined && large !== undefined)
        const asked = yield* publishing.request(tent, store.id)
        assert(asked.outcome === "requested")
        const { fiber, goOn } = yield* heldAt("pushed", publishing.settle([asked.publicationId], quiet))
        yield* unlink(store.domain)
        assert.deepStrictEqual((yield* remove("variant", large)).errors, [])
        yield* link(shop)
        yield* goOn
        const [ended] = yield* Fiber.join(fiber)
        assert.deepInclude(ended, { entityId: tent, state: "published" })
        assert.deepStrictEqual(
          (yield* publishing.attempts(asked.publicationId)).map(({ outcome }) => outcome),
          ["published"]
        )
        for (const id of [tent, small]) {
          const [newest] = yield* (yield* Drafts).history(id, 1)
          assert.deepInclude(newest, { action: "published", store_id: store.id })
        }
      }).pipe(actingAs(actor))
    }).pipe(Effect.scoped, Effect.provide(servicesWith()))
  )
})
