import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted, Stream, TestClock } from "effect"
import {
  type PlatformAdapter,
  type PlatformClient,
  PlatformOutcomeUnknown,
  PlatformRefused,
  PlatformUnavailable,
  type PlatformWriteError,
  type Published
} from "../../src/platform/index.ts"
import {
  actingAs,
  anAccount,
  anEntity,
  Drafts,
  Imports,
  Publishing,
  runDueWork,
  Stores,
  TestServices,
  testServices
} from "../../src/testing/index.ts"

const quiet = () => Effect.void

type Answer = "published" | "lost" | PlatformRefused | PlatformUnavailable

/** A platform with a credential, whose shop gives these answers to its publishes, and then accepts them. */
const scripted = (answers: Array<Answer>): PlatformAdapter => {
  const accepted = new Map<string, Published>()
  const client: PlatformClient["Type"] = {
    verify: ({ credentials, domain }) =>
      Redacted.value(credentials.key ?? Redacted.make("")) === "secret"
        ? Effect.succeed({ domain, name: domain, primaryLocale: "en", locales: ["en"], currency: "EUR" })
        : new PlatformRefused({ code: "UNAUTHORIZED", message: "Wrong key.", field: null }),
    pull: () => Stream.empty,
    publish: (_, { entityId, key }) =>
      Effect.suspend((): Effect.Effect<Published, PlatformWriteError> => {
        const answer = answers.shift() ?? "published"
        if (typeof answer !== "string") return answer
        const published = { platformIds: new Map([[entityId, `scripted/${entityId}`]]) }
        accepted.set(key, published)
        return answer === "lost" ? new PlatformOutcomeUnknown({ reason: "transport" }) : Effect.succeed(published)
      }),
    readBack: (_, { key }) => Effect.sync(() => Option.fromNullable(accepted.get(key))),
    find: () => Effect.succeedNone,
    salesChannels: () => Effect.succeed([]),
    entityChannels: () => Effect.succeed([]),
    markets: () => Stream.empty,
    metafieldDefinitions: () => Stream.empty,
    metaobjectDefinitions: () => Stream.empty,
    metaobjectEntries: () => Stream.empty,
    translations: () => Stream.empty
  }
  return {
    name: "scripted",
    label: "Scripted shop",
    summary: "answers as a test says",
    capabilities: [],
    fields: [{ name: "key", label: "a key", isSecret: true, misfit: () => undefined }],
    isVerified: true,
    domainMisfit: () => undefined,
    ownsDomain: () => false,
    sortsByDefault: false,
    smallerPicture: () => undefined,
    make: Effect.succeed(client)
  }
}

describe("the services in memory", () => {
  it.effect("do not wait for the clock by themselves, so a test can move it far", () =>
    Effect.gen(function* () {
      yield* anAccount({ domains: ["shop.example"], platform: "demo" })
      yield* TestClock.adjust("1 minute")
      assert.lengthOf([...(yield* TestClock.sleeps())], 0)
    }).pipe(Effect.provide(TestServices))
  )

  const unavailable = new PlatformUnavailable({ reason: "server" })
  const refused = new PlatformRefused({ code: "TOO_RED", message: "No red boots.", field: "title" })
  it.effect.each<{ name: string; answers: Array<Answer>; now: string; later: string; code: string | null }>([
    { name: "an acceptance", answers: ["published"], now: "published", later: "published", code: null },
    { name: "PlatformRefused", answers: [refused], now: "failed", later: "failed", code: "TOO_RED" },
    { name: "PlatformUnavailable", answers: [unavailable], now: "pending", later: "published", code: null },
    { name: "PlatformOutcomeUnknown", answers: ["lost"], now: "published", later: "published", code: null }
  ])("publish to the platform of an added adapter: $name", ({ answers, code, later, now }) =>
    Effect.gen(function* () {
      const { actor } = yield* anAccount()
      yield* Effect.gen(function* () {
        const { link } = yield* Stores
        const shop = { domain: "a.example", platform: "scripted" }
        const wrong = yield* Effect.flip(link({ ...shop, credentials: { key: Redacted.make("wrong") } }))
        assert.strictEqual(wrong._tag, "PlatformRefused")
        const { store } = yield* link({ ...shop, credentials: { key: Redacted.make("secret") } })
        const id = yield* anEntity("product", { title: "Red boots" }, { on: [store] })
        const publishing = yield* Publishing
        const asked = yield* publishing.request(id, store.id)
        assert(asked.outcome === "requested")
        const record = Effect.map(publishing.find([asked.publicationId]), ([found]) => found)
        yield* runDueWork
        assert.strictEqual((yield* record)?.state, now)
        yield* TestClock.adjust("10 minutes")
        yield* runDueWork
        assert.strictEqual((yield* record)?.state, later)
        assert.strictEqual((yield* record)?.error?.code ?? null, code)
      }).pipe(actingAs(actor))
    }).pipe(Effect.provide(testServices({ adapters: [scripted(answers)] })))
  )

  it.effect("refresh a store, and take off it what its shop does not have", () =>
    Effect.gen(function* () {
      const { actor, stores } = yield* anAccount({ domains: ["shop.example"], platform: "demo" })
      const [{ domain, id: storeId }] = stores
      yield* Effect.gen(function* () {
        const drafts = yield* Drafts
        const imports = yield* Imports
        const kept = yield* anEntity("product", { title: "Boots" }, { on: stores })
        yield* (yield* Publishing).request(kept, storeId)
        yield* runDueWork
        const unchanged = yield* imports.refresh(domain, quiet)
        assert.deepInclude(unchanged.summary, { created: 0, updated: 0, unlinked: 0, unchanged: 1 })
        yield* imports.accept(unchanged.id, quiet)
        assert.strictEqual((yield* drafts.get(kept, storeId)).pending_publish, false)
      }).pipe(actingAs(actor))
    }).pipe(Effect.provide(TestServices))
  )
})
