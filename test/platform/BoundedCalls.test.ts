import { assert, describe, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Either, Fiber, Stream, TestClock } from "effect"
import { AccountId, EntityId, StoreId } from "../../src/model/Ids.ts"
import { boundCalls } from "../../src/platform/BoundedCalls.ts"
import { nonePlatform } from "../../src/platform/NonePlatform.ts"
import type { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "../../src/platform/PlatformErrors.ts"
import type { PlatformRecord } from "../../src/platform/PlatformRecord.ts"
import { Publication } from "../../src/platform/Publication.ts"

const store = {
  accountId: AccountId.make(crypto.randomUUID()),
  storeId: StoreId.make(crypto.randomUUID()),
  domain: "shop.example",
  platform: "acme",
  credentials: {}
}
const entity = { entityId: EntityId.make(crypto.randomUUID()), platformId: null, attributes: {} }
const publication = Publication.Media({ ...entity, key: "key" })
const record: PlatformRecord = {
  kind: "media",
  platformId: "1",
  entityId: null,
  parentId: null,
  attributes: {},
  media: [],
  members: []
}

type Client = PlatformClient["Type"]

/** Every call of a client, as an effect whose result does not matter. */
const callsOf = (client: Client): Readonly<Record<keyof Client, Effect.Effect<unknown, unknown>>> => ({
  verify: client.verify(store),
  pull: Stream.runDrain(client.pull(store)),
  publish: client.publish(store, publication),
  readBack: client.readBack(store, publication),
  find: client.find(store, "media", entity),
  salesChannels: client.salesChannels(store),
  entityChannels: client.entityChannels(store, "1"),
  markets: Stream.runDrain(client.markets(store)),
  metafieldDefinitions: Stream.runDrain(client.metafieldDefinitions(store, "product")),
  metaobjectDefinitions: Stream.runDrain(client.metaobjectDefinitions(store)),
  metaobjectEntries: Stream.runDrain(client.metaobjectEntries(store, "material")),
  translations: Stream.runDrain(client.translations(store, "product"))
})

const names = Object.keys(nonePlatform) as ReadonlyArray<keyof Client>
const streams: ReadonlySet<string> = new Set([
  "pull",
  "markets",
  "metafieldDefinitions",
  "metaobjectDefinitions",
  "metaobjectEntries",
  "translations"
])

/** A client of which each call has this effect. */
const clientOf = (call: Effect.Effect<never>): Client =>
  Object.fromEntries(
    names.map((name) => [name, () => (streams.has(name) ? Stream.fromEffect(call) : call)])
  ) as unknown as Client

const failureOf = (name: keyof Client, reason: "defect" | "timeout") =>
  name === "publish" ? new PlatformOutcomeUnknown({ reason }) : new PlatformUnavailable({ reason })

describe("calls of an adapter", () => {
  it.effect.each([
    ["dies", clientOf(Effect.die(new Error("undefined is not a function")))],
    ["interrupts itself", clientOf(Effect.interrupt)],
    ["throws", Object.fromEntries(names.map((name) => [name, () => assert.fail("It throws.")])) as unknown as Client],
    ["is missing", {} as Client]
  ] as const)("each that %s fails with a reason, and a write as unknown", ([, client]) =>
    Effect.gen(function* () {
      const calls = callsOf(boundCalls("acme", client))
      for (const name of names)
        assert.deepStrictEqual(yield* Effect.either(calls[name]), Either.left(failureOf(name, "defect")), name)
    })
  )

  it.effect("each that never ends and cannot be interrupted fails after its limit, and a write as unknown", () =>
    Effect.gen(function* () {
      const calls = callsOf(boundCalls("acme", clientOf(Effect.uninterruptible(Effect.never))))
      for (const name of names) {
        const fiber = yield* Effect.fork(Effect.either(calls[name]))
        const minutes = streams.has(name) ? 30 : 5
        yield* TestClock.adjust(`${minutes * 60 - 1} seconds`)
        assert.isTrue((yield* Fiber.poll(fiber))._tag === "None", name)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(fiber), Either.left(failureOf(name, "timeout")), name)
      }
    })
  )

  it.effect("a caller that is interrupted waits for a call to stop, but not for one that cannot be interrupted", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const begin = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      const stop = Effect.asVoid(Deferred.succeed(stopped, undefined))
      const calls = callsOf(boundCalls("acme", clientOf(Effect.onInterrupt(begin, () => stop))))
      const polite = yield* Effect.fork(calls.publish)
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(polite)
      assert.isTrue(yield* Deferred.isDone(stopped))

      const deaf = yield* Effect.fork(
        callsOf(boundCalls("acme", clientOf(Effect.uninterruptible(Effect.never)))).publish
      )
      yield* TestClock.adjust("1 second")
      const interrupting = yield* Effect.fork(Fiber.interrupt(deaf))
      yield* TestClock.adjust("1 second")
      assert.isTrue((yield* Fiber.join(interrupting))._tag === "Failure")
    })
  )

  it.effect("keep their results and their errors, and a stream its records", () =>
    Effect.gen(function* () {
      const refused = new PlatformRefused({ code: "NO", message: "No.", field: null })
      const client = boundCalls("acme", {
        ...nonePlatform,
        publish: () => refused,
        salesChannels: () => Effect.succeed([]),
        pull: () => Stream.concat(Stream.make(record, record), Stream.fail(refused))
      })
      assert.deepStrictEqual(yield* Effect.flip(client.publish(store, publication)), refused)
      assert.deepStrictEqual(yield* client.salesChannels(store), [])
      assert.deepStrictEqual(Chunk.toArray(yield* Stream.runCollect(Stream.take(client.pull(store), 2))), [
        record,
        record
      ])
      assert.deepStrictEqual(yield* Effect.flip(Stream.runDrain(client.pull(store))), refused)
    })
  )
})
