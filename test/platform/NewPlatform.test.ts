import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { Imports } from "../../src/imports/Imports.ts"
import { AccountId, type EntityId, StoreId } from "../../src/model/Ids.ts"
import { layerOf } from "../../src/platform/PlatformRegistry.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { actingAs, anAccount, anEntity, Drafts, Publishing, Stores } from "../../src/testing/index.ts"
import { again, aProduct } from "../../src/testing/platform/Publications.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { PlainshopClient } from "./ContractPlatforms.ts"
import { plainshopAdapter } from "./example/PlainshopAdapter.ts"

const domain = "tern.plainshop.example"
const quiet = () => Effect.void

/** The services with the adapter of the guide as their only platform. Its shops are on this machine. */
const Platforms = Layer.unwrapEffect(
  Effect.map(PlainshopClient, ({ client }) => layerOf([{ ...plainshopAdapter, make: Effect.succeed(client) }]))
)
const TestLayer = Imports.layer.pipe(
  Layer.provide(FaultInjector.layer),
  Layer.provideMerge(Services),
  Layer.provide(Platforms),
  Layer.provideMerge(PlainshopClient.Default),
  Layer.provideMerge(RepositoriesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })),
  Layer.orDie
)

const publish = (id: EntityId, storeId: StoreId) =>
  Effect.gen(function* () {
    const { request, settle } = yield* Publishing
    const asked = yield* request(id, storeId)
    const [record] = yield* settle(asked.outcome === "nothing_to_publish" ? [] : [asked.publicationId], quiet)
    return record ?? assert.fail(asked.outcome)
  })

const titleOf = (id: EntityId) =>
  Effect.map(
    Effect.flatMap(Drafts, (drafts) => drafts.get(id, null)),
    ({ attributes }) => attributes.find(({ key }) => key === "title")?.value
  )

const refreshed = Effect.gen(function* () {
  const imports = yield* Imports
  const { id } = yield* imports.refresh(domain, quiet)
  const { phase, summary } = yield* imports.accept(id, quiet, { rest: "take_store" })
  const { conflicts, created, unchanged, updated } = summary
  return { phase, created, updated, unchanged, conflicts }
})

layer(TestLayer, { excludeTestServices: true })("the service with the adapter of the guide", (it) => {
  it.effect("links a shop, publishes to it once although an answer is lost, and takes over its changes", () =>
    Effect.gen(function* () {
      const { client, server } = yield* PlainshopClient
      server.open("key-of-tern")
      const { actor } = yield* anAccount()
      yield* Effect.gen(function* () {
        const { link, list } = yield* Stores
        const linkWith = (credentials: Readonly<Record<string, string>>) =>
          link({
            domain,
            platform: "plainshop",
            credentials: Object.fromEntries(
              Object.entries(credentials).map(([name, value]) => [name, Redacted.make(value)])
            )
          })
        assert.strictEqual(
          (yield* Effect.flip(linkWith({ key: "another" }))).message,
          "The shop does not accept the key: it is wrong or was revoked."
        )
        assert.deepStrictEqual(yield* list, [])
        const { store } = yield* linkWith({ key: "key-of-tern" })
        assert.deepInclude(store, { name: "Tern", platform: "plainshop", currency: "EUR", locales: ["en", "de"] })

        const tent = yield* anEntity("product", { title: "Tent" }, { on: [store] })
        server.fail("key-of-tern", "lost")
        assert.strictEqual((yield* publish(tent, store.id)).state, "published", "the outcome is read back")
        server.fail("key-of-tern", undefined)
        assert.strictEqual(server.created("key-of-tern"), 1)
        const untitled = yield* anEntity("product", { vendor: "Tern" }, { on: [store] })
        assert.deepInclude(yield* publish(untitled, store.id), { state: "failed" })

        // Somebody edits the tent in the shop, and adds a product.
        const shop = {
          accountId: AccountId.make(crypto.randomUUID()),
          storeId: StoreId.make(crypto.randomUUID()),
          domain,
          platform: "plainshop",
          credentials: { key: Redacted.make("key-of-tern") }
        }
        const [record = assert.fail("the shop is empty")] = yield* Stream.runCollect(client.pull(shop))
        const jumper = aProduct()
        const edited = again(
          { ...jumper, entityId: tent, variants: [], media: [], attributes: record.attributes },
          new Map([[tent, record.platformId]]),
          { title: "Tent, seen in the shop" }
        )
        yield* client.publish(shop, edited)
        yield* client.publish(shop, jumper)
        assert.deepStrictEqual(yield* refreshed, {
          phase: "applied",
          created: 1,
          updated: 1,
          unchanged: 0,
          conflicts: 0
        })
        assert.strictEqual(yield* titleOf(tent), "Tent, seen in the shop")
        assert.deepStrictEqual(yield* refreshed, {
          phase: "applied",
          created: 0,
          updated: 0,
          unchanged: 2,
          conflicts: 0
        })
      }).pipe(actingAs(actor))
    })
  )
})
