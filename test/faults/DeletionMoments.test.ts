import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { BulkJobs } from "../../src/bulk/BulkJobs.ts"
import { EntityUsesRepo } from "../../src/drafts/EntityUsesRepo.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { DropsRepo } from "../../src/drops/DropsRepo.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { plusMicros } from "../../src/model/Timestamp.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { actingAs, anAccount, anEntity, Drafts, Stores } from "../../src/testing/index.ts"
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

const remove = (kind: EntityKind, id: EntityId) =>
  Effect.gen(function* () {
    const job = yield* (yield* BulkJobs).begin({ kind, ids: [id] }, { _tag: "Delete" })
    return yield* Effect.flatten((yield* JobWorker).settle(job.id, quiet))
  })

const shop = { domain: "demo.example", platform: "demo" } as const

describe.skipIf(!serverAnswers)("deletions at chosen moments of other work", () => {
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
