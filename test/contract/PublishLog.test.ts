import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, HashMap, Layer, Logger } from "effect"
import type { EntityId, PublicationId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import type { DemoFailure } from "../../src/platform/demo/DemoShop.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PlatformUnavailable } from "../../src/platform/PlatformErrors.ts"
import { defaultPublishingOptions, layerWorkers, Publishing } from "../../src/publishing/Publishing.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { featureServiceEngines } from "../support/ServiceEngines.ts"

/** A publish fails after two attempts. */
const Twice = Publishing.layerWith({
  ...defaultPublishingOptions,
  maxPushes: 2,
  maxReadings: 0,
  outageLimit: Duration.zero,
  firstDelay: Duration.millis(2),
  longestDelay: Duration.millis(4),
  pollEvery: Duration.millis(10)
}).pipe(Layer.provide(StoreAccess.layer), Layer.provide(FaultInjector.layer))

interface Line {
  readonly level: string
  readonly message: string
  readonly values: Readonly<Record<string, unknown>>
}

/** Adds all that is logged to `lines`. */
const recordingTo = (lines: Array<Line>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ annotations, logLevel, message }) => {
      lines.push({
        level: logLevel.label,
        message: String(message),
        values: Object.fromEntries(HashMap.toEntries(annotations))
      })
    })
  )

/** Requests a publish to a store whose platform fails. `use`: runs it. */
const withFailing = <E, R>(
  kind: DemoFailure["kind"],
  use: (asked: {
    readonly product: EntityId
    readonly store: Store
    readonly id: PublicationId
  }) => Effect.Effect<void, E, R>
) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    yield* Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link({ domain: "tern.demo.example", platform: "demo" })
      const product = yield* anEntity("product", { title: "Tent" }, { on: [store] })
      yield* (yield* DemoShops).fail({ accountId, storeId: store.id }, { kind, percent: 100, delayMillis: 0 })
      const asked = yield* (yield* Publishing).request(product, store.id)
      assert(asked.outcome === "requested")
      yield* use({ product, store, id: asked.publicationId })
    }).pipe(actingAs(actor))
    return accountId
  })

const failure = "The store's platform cannot be reached: it reports an internal error."

for (const engine of featureServiceEngines) {
  describe.skipIf(engine.absent)(`the log of publishing on ${engine.name}`, () => {
    layer(Twice.pipe(Layer.provideMerge(engine.layer)), { excludeTestServices: true })((it) => {
      it.effect("has no line about attempts of a command, which prints the outcome itself", () => {
        const lines: Array<Line> = []
        return withFailing("error", ({ id }) =>
          Effect.gen(function* () {
            const [record] = yield* (yield* Publishing).settle([id], () => Effect.void)
            assert.deepInclude(record, { state: "failed", attempts: 2 })
            assert.deepStrictEqual(lines, [])
          })
        ).pipe(Effect.provide(recordingTo(lines)))
      })

      it.effect("has a line for each failed attempt of the service", () => {
        const lines: Array<Line> = []
        return Effect.gen(function* () {
          const expected: Array<Readonly<Record<string, unknown>>> = []
          for (const [kind, errors] of [
            [
              "error",
              [
                ["PLATFORM_UNAVAILABLE", failure],
                ["PLATFORM_UNAVAILABLE", `${failure} Tried 2 times.`]
              ]
            ],
            [
              "refuse",
              [
                [
                  "DEMO_REFUSED",
                  "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it."
                ]
              ]
            ]
          ] as const) {
            let names: Readonly<Record<string, unknown>> = {}
            const account = yield* withFailing(kind, ({ id, product, store }) =>
              Effect.gen(function* () {
                names = { publication: id, entity: product, store: store.domain }
                const [record] = yield* (yield* Publishing).outcomes([id], () => Effect.void)
                assert.deepInclude(record, { state: "failed", attempts: errors.length })
              })
            )
            for (const [index, [error, reason]] of errors.entries())
              expected.push({ account, ...names, attempt: index + 1, error, reason })
          }
          // The last line follows the saved outcome.
          yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => lines.length >= expected.length })
          assert.deepStrictEqual(
            lines.map(({ values }) => values),
            expected
          )
          assert.deepStrictEqual(
            lines.map(({ level, message }) => `${level} ${message}`),
            [
              "WARN A publish attempt failed; the next one is in 0 s",
              "WARN A publish attempt failed; the publish has failed",
              "WARN A publish attempt failed; the publish has failed"
            ]
          )
        }).pipe(Effect.provide(layerWorkers.pipe(Layer.provideMerge(recordingTo(lines)))))
      })

      it.effect("says that the next attempt waits longer while calls to a failing store are paused", () => {
        const lines: Array<Line> = []
        const paused = Layer.effect(
          PlatformClient,
          Effect.map(PlatformClient, (platform) => ({
            ...platform,
            publish: () => new PlatformUnavailable({ reason: "suspended" })
          }))
        )
        const hourly = Publishing.layerWith({
          ...defaultPublishingOptions,
          firstDelay: Duration.millis(2),
          longestDelay: Duration.hours(1),
          pollEvery: Duration.millis(10)
        }).pipe(Layer.provide([paused, StoreAccess.layer, FaultInjector.layer]))
        return Effect.gen(function* () {
          yield* withFailing("error", () =>
            Effect.asVoid(Effect.repeat(Effect.sleep("5 millis"), { until: () => lines.length > 0 }))
          )
          assert.match(lines[0]?.message ?? "", /the next one is in \d{4}(\.\d)? s$/)
        }).pipe(Effect.provide(layerWorkers.pipe(Layer.provideMerge(hourly), Layer.provideMerge(recordingTo(lines)))))
      })
    })
  })
}
