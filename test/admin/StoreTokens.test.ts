import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Effect, Layer, Option, Redacted } from "effect"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { Users } from "../../src/access/Users.ts"
import { AdminClient } from "../../src/admin/AdminClient.ts"
import * as AdminInProcess from "../../src/admin/AdminInProcess.ts"
import * as AdminServer from "../../src/admin/AdminServer.ts"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { Connections } from "../../src/connections/Connections.ts"
import * as EmbeddedLock from "../../src/database/EmbeddedLock.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { PlatformRefused, PlatformUnavailable } from "../../src/platform/PlatformErrors.ts"
import { Services } from "../../src/Services.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { MemoryRepositories } from "../../src/testing/index.ts"
import { adminSchema } from "../platform/AdminSchema.ts"
import { layerServer, layerShopify, ShopifyTestServer } from "../platform/PlatformShops.ts"
import { scopesWithout } from "../platform/ShopifyAccess.ts"
import { layerEmbedded } from "../support/TestDatabase.ts"

const key = Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("cd".repeat(32)) })
const shopify = layerShopify().pipe(Layer.provideMerge(layerServer))
const TestLayer = Layer.mergeAll(
  Services,
  Layer.orDie(layerEmbedded),
  Layer.mock(Connections, {}),
  Layer.mock(Exports, {}),
  Layer.mock(Imports, {}),
  Layer.mock(MerchantLists, {}),
  Layer.mock(SecondFactorsRepo, {}),
  Layer.mock(Users, {})
).pipe(Layer.provide(key), Layer.provideMerge(Layer.merge(MemoryRepositories, shopify)))

const overSocket = Layer.unwrapScoped(
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-tokens-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true }))
    )
    yield* EmbeddedLock.acquire(directory)
    return AdminClient.layerSocket(join(directory, "admin.sock")).pipe(Layer.provide(AdminServer.layer(directory)))
  })
).pipe(Layer.provide(NodeFileSystem.layer))

const clients = { "in process": AdminInProcess.layer, "over a socket": overSocket }

for (const [name, client] of Object.entries(clients))
  describe.skipIf(adminSchema === undefined)(`a store's token ${name}`, () => {
    layer(Layer.provideMerge(client, TestLayer), { excludeTestServices: true })((it) => {
      it.effect("arrives, and failures do not repeat it", () =>
        Effect.gen(function* () {
          const admin = yield* AdminClient
          const server = yield* ShopifyTestServer
          yield* admin.createAccount({ name: "Mine" })
          const token = `shpat_${crypto.randomUUID()}`
          server.open(token)
          const link = (given: string) =>
            admin.linkStore({
              account: Option.none(),
              domain: "tern.myshopify.com",
              platform: "shopify",
              credentials: { token: Redacted.make(given) }
            })
          const failure = (given: string) =>
            Effect.map(Effect.flip(Effect.sandbox(link(given))), (cause) => {
              for (const told of [Cause.pretty(cause), JSON.stringify(cause), String(Cause.squash(cause))])
                assert.notInclude(told, given)
              return Cause.squash(cause)
            })
          const refused = yield* failure("shpat_wrong")
          assert.instanceOf(refused, PlatformRefused)
          assert.strictEqual(
            (refused as PlatformRefused).message,
            "The store does not accept the access token: the token is wrong or was revoked."
          )
          server.script(token, "Verify", "html")
          const unavailable = yield* failure(token)
          assert.instanceOf(unavailable, PlatformUnavailable)
          const { missing, store } = yield* link(token)
          assert.deepStrictEqual(missing, [])
          assert.deepInclude(store, { domain: "tern.myshopify.com", platform: "shopify", name: "Tern & Daughters" })
          assert.deepStrictEqual(yield* admin.listStores({ account: Option.none() }), [store])
          server.open(token).sections.publications = [
            {
              id: "gid://shopify/Publication/1",
              autoPublish: false,
              supportsFuturePublishing: true,
              catalog: { __typename: "AppCatalog", id: "c1", title: "Online Store" },
              channels: { nodes: [{ name: "Online Store", handle: "online_store" }] }
            }
          ]
          const channels = (choose?: ReadonlyArray<string> | null) =>
            admin.storeChannels({
              account: Option.none(),
              store: store.domain,
              ...(choose !== undefined && { choose })
            })
          const read = yield* channels()
          assert.deepStrictEqual([read.channels.map(({ name }) => name), read.chosen], [["Online Store"], null])
          const ids = read.channels.map(({ id }) => id)
          assert.deepStrictEqual((yield* channels(ids)).chosen, ids)
          assert.deepStrictEqual((yield* channels([])).chosen, [])
          assert.deepStrictEqual((yield* channels(null)).chosen, null)
          server.script(token, "SalesChannels", "html")
          assert.deepInclude(yield* Effect.flip(channels()), {
            _tag: "Refusal",
            message: "The store's platform cannot be reached: its answer is not valid."
          })
          server.open(token).scopes = new Set([...scopesWithout("write_publications"), "read_publications"])
          assert.deepStrictEqual((yield* link(token)).missing, [
            { name: "write_publications", without: "new products and collections are put on no sales channel" }
          ])
        })
      )
    })
  })
