import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import type { EntityId } from "../../src/model/Ids.ts"
import { demoAdapter } from "../../src/platform/demo/DemoAdapter.ts"
import type { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { layerOf } from "../../src/platform/PlatformRegistry.ts"
import { defaultPublishingOptions, Publishing, type PublishingOptions } from "../../src/publishing/Publishing.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { warningLog } from "../support/ErrorLog.ts"
import { publishingWith } from "../support/PublishingWith.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

const { maxPushes, maxReadings } = defaultPublishingOptions
const quick = { firstDelay: Duration.millis(2), longestDelay: Duration.millis(4), pollEvery: Duration.millis(5) }
const defect = Effect.die(new Error("undefined is not a function"))

/** The service with the adapter of the demo, of which these calls are replaced. */
const withCalls = (calls: Partial<PlatformClient["Type"]>, options: Partial<PublishingOptions> = {}) =>
  Layer.provide(
    publishingWith({ ...quick, ...options }),
    layerOf([{ ...demoAdapter, make: Effect.map(demoAdapter.make, (client) => ({ ...client, ...calls })) }])
  )

/** An account with a demo store, and the requests of a publish of some products. */
const aShop = Effect.gen(function* () {
  const { actor } = yield* anAccount()
  return yield* Effect.gen(function* () {
    const { store } = yield* (yield* Stores).link({ domain: "tern.demo.example", platform: "demo" })
    const ask = Effect.gen(function* () {
      const entityId = yield* anEntity("product", { title: "Tarp" }, { on: [store] })
      const asked = yield* (yield* Publishing).request(entityId, store.id)
      assert(asked.outcome === "requested")
      return { entityId, id: asked.publicationId }
    }).pipe(actingAs(actor))
    return { actor, ask }
  }).pipe(actingAs(actor))
})

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`publishes by an adapter with a defect on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect.each([
        {
          name: "publish",
          calls: { publish: () => defect },
          attempts: maxPushes + 1,
          code: "OUTCOME_UNKNOWN",
          message:
            "The values were sent to the store's platform, but its adapter failed unexpectedly (the service's log names the cause): whether it accepted them is not known yet. Tried 7 times.",
          reasons: [...Array.from({ length: maxPushes }, () => "unknown defect"), "unavailable null"]
        },
        {
          name: "publish and readBack",
          calls: { publish: () => defect, readBack: () => defect },
          attempts: maxPushes + maxReadings,
          code: "PLATFORM_UNAVAILABLE",
          message:
            "The store's platform cannot be reached: its adapter failed unexpectedly (the service's log names the cause). Tried 12 times.",
          reasons: [
            "unknown defect",
            ...Array.from({ length: maxPushes + maxReadings - 1 }, () => "unavailable defect")
          ]
        }
      ])("a call of $name that dies ends its publish with a reason, after the usual number of attempts", (broken) =>
        Effect.gen(function* () {
          const { actor, ask } = yield* aShop
          const { id } = yield* ask
          const log = warningLog()
          yield* Effect.gen(function* () {
            const publishing = yield* Publishing
            const [record] = yield* publishing.settle([id], () => Effect.void)
            const { attempts, code, message } = broken
            assert.deepInclude(record, { state: "failed", attempts, error: { code, message } })
            assert.deepStrictEqual(
              (yield* publishing.attempts(id)).map(({ outcome, reason }) => `${outcome} ${reason}`),
              broken.reasons
            )
            assert.include(log.warnings, "The call demo.publish of an adapter failed unexpectedly")
          }).pipe(Effect.provide([withCalls(broken.calls), log.layer]), actingAs(actor))
        })
      )

      it.effect("a call that never ends and cannot be interrupted leaves its place in the process to others", () =>
        Effect.gen(function* () {
          const { actor, ask } = yield* aShop
          const stuck = yield* ask
          const other = yield* ask
          const begun: Array<EntityId> = []
          const calls = {
            publish: (_: unknown, { entityId }: { readonly entityId: EntityId }) => {
              begun.push(entityId)
              return entityId === stuck.entityId
                ? Effect.uninterruptible(Effect.never)
                : Effect.succeed({ platformIds: new Map([[entityId, `gid-${entityId}`]]) })
            }
          }
          yield* Effect.gen(function* () {
            const records = yield* (yield* Publishing).settle([stuck.id, other.id], () => Effect.void)
            assert.deepStrictEqual(
              new Map(records.map(({ id, state }) => [id, state])),
              new Map([
                [stuck.id, "failed"],
                [other.id, "published"]
              ])
            )
          }).pipe(
            Effect.provide(
              withCalls(calls, { maxAtOnce: 1, attemptLimit: Duration.seconds(2), maxPushes: 1, maxReadings: 0 })
            ),
            actingAs(actor)
          )
          assert.deepStrictEqual(begun, [stuck.entityId, other.entityId])
        })
      )
    })
  })
}
