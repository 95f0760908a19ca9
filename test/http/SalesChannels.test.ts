import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"
import { RateBudget } from "../../src/budgets/RateBudget.ts"
import { routesOf } from "../../src/http/RouteTable.ts"
import type { StoreId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import { defaultOptions } from "../../src/platform/shopify/Client.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, anEntity, Stores } from "../../src/testing/index.ts"
import { aProduct } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "../platform/AdminSchema.ts"
import { layerServer, layerShopify, ShopifyTestServer } from "../platform/PlatformShops.ts"
import type { Fault } from "../platform/ShopifyServer.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { ask, assertHeaders, assertRefusal, misfit, type Refusal, refusals, serverWith } from "./Exchange.ts"

const unused = "00000000-0000-4000-8000-000000000001"

const key = Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })
const budgets = RateBudget.layerProcess({ perKey: 120, perAccount: 240 })

const served = <R>(platform: Layer.Layer<R>) =>
  serverWith().pipe(
    Layer.provideMerge(Layer.merge(Services, budgets)),
    Layer.provide(key),
    Layer.provideMerge(Layer.merge(RepositoriesOnDatabase, platform)),
    Layer.provideMerge(anyDatabase),
    Layer.orDie
  )

const failed = (message: string): Refusal => ({ status: 502, code: "platform_unavailable", message })
const cannotBeReached = (why: string) => failed(`The store's platform cannot be reached: ${why}.`)

const kinds = ["product", "variant", "collection"] as const
type Kind = (typeof kinds)[number]

/** A store with an entity of each kind, of which only the product was published there. */
const aShop = (link: Parameters<Stores["Type"]["link"]>[0]) =>
  Effect.gen(function* () {
    const account = yield* anAccount({ domains: ["elsewhere.example"] })
    const { ids, store } = yield* Effect.gen(function* () {
      const { store } = yield* (yield* Stores).link(link)
      const on = [store]
      const product = yield* anEntity("product", { title: "Boots" }, { on })
      const variant = yield* anEntity("variant", { sku: "B" }, { on, of: product })
      const collection = yield* anEntity("collection", { title: "Winter" }, { on })
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        UPDATE store_version SET platform_id = 'gid://shopify/Product/7'
        WHERE account_id = ${account.accountId} AND entity_id = ${product}`
      return { store, ids: { product, variant, collection } }
    }).pipe(actingAs(account.actor), Effect.orDie)
    const of = (kind: Kind, on: string = store.id, id: string = ids[kind]) =>
      ask(`/api/v1/${kind}s/${id}/sales-channels?store_id=${on}`, { token: account.token })
    return {
      ...account,
      store,
      ids,
      elsewhere: account.stores[0].id,
      of,
      ofStore: (id: string = store.id) => ask(`/api/v1/stores/${id}/sales-channels`, { token: account.token })
    }
  })

const data = ({ text }: { readonly text: string }) => JSON.parse(text)

const channel = (id: string, name: string, state: string, publish_date: string | null = null) => ({
  id,
  name,
  is_published: state === "published",
  publish_date,
  state
})

describe("live reads", () => {
  assert.deepStrictEqual(
    routesOf(RestApi).flatMap(({ isLive, path }) => (isLive ? [path] : [])),
    [
      "/api/v1/stores/:id/sales-channels",
      "/api/v1/products/:id/sales-channels",
      "/api/v1/variants/:id/sales-channels",
      "/api/v1/collections/:id/sales-channels"
    ]
  )
  // The limit that the OpenAPI document states.
  assert.strictEqual(Duration.toSeconds(defaultOptions.liveLimit), 5)

  layer(served(Layer.empty), { excludeTestServices: true })("of a demo shop", (it) => {
    it.effect("return the shop's sales channels, for a published entity and for one that was never published", () =>
      Effect.gen(function* () {
        const { of, ofStore } = yield* aShop({ domain: "tern.demo.example", platform: "demo" })
        const store = yield* ofStore()
        assert.strictEqual(store.status, 200)
        assertHeaders(store, ["content-type", "etag"])
        assert.deepStrictEqual(data(store), {
          data: [
            {
              id: "demo://publication/online-store",
              name: "Online Store",
              handle: "online-store",
              catalog_kind: "app",
              auto_publish: true,
              supports_future_publishing: true
            },
            {
              id: "demo://publication/point-of-sale",
              name: "Point of Sale",
              handle: "point-of-sale",
              catalog_kind: "app",
              auto_publish: false,
              supports_future_publishing: false
            }
          ],
          next_cursor: null
        })
        const expected = (online: string) => ({
          data: [
            channel("demo://publication/online-store", "Online Store", online),
            channel("demo://publication/point-of-sale", "Point of Sale", "unpublished")
          ],
          next_cursor: null
        })
        assert.deepStrictEqual(data(yield* of("product")), expected("published"))
        for (const kind of ["variant", "collection"] as const)
          assert.deepStrictEqual(data(yield* of(kind)), expected("unpublished"), kind)
      })
    )

    it.effect("query the shop each time, even if nothing changed here, and can be conditional", () =>
      Effect.gen(function* () {
        const { of, ofStore, ...shop } = yield* aShop({ domain: "tern.demo.example", platform: "demo" })
        const shops = yield* DemoShops
        const named = { accountId: shop.accountId, storeId: shop.store.id }
        const target = `/api/v1/stores/${shop.store.id}/sales-channels`
        // Often enough that a cache would have the answer.
        const [first, ...others] = yield* Effect.replicateEffect(ofStore(), 4)
        assert.isTrue(others.every(({ text }) => text === first?.text))
        const etag = String(first?.headers.etag)
        const known = () => ask(target, { token: shop.token, headers: { "if-none-match": etag } })
        assert.strictEqual((yield* known()).status, 304)
        yield* shops.fail(named, { kind: "error", percent: 100, delayMillis: 0 })
        const failure = cannotBeReached("it reports an internal error")
        for (const answer of [yield* ofStore(), yield* known(), yield* of("product"), yield* of("variant")])
          assertRefusal(answer, failure)
        yield* shops.repair(named)
        yield* shops.fail(named, { kind: "refuse", percent: 100, delayMillis: 0 })
        assertRefusal(
          yield* ofStore(),
          failed("The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it.")
        )
        yield* shops.repair(named)
        assert.strictEqual((yield* ofStore()).headers.etag, etag)
        assert.strictEqual((yield* known()).status, 304)
      })
    )

    it.effect("of unknown ids are refused without a query to the shop", () =>
      Effect.gen(function* () {
        const { elsewhere, ids, of, ofStore, ...shop } = yield* aShop({ domain: "tern.demo.example", platform: "demo" })
        const other = yield* aShop({ domain: "other.demo.example", platform: "demo" })
        const shops = yield* DemoShops
        // Every query to a shop would fail.
        for (const { accountId, store } of [shop, other])
          yield* shops.fail({ accountId, storeId: store.id }, { kind: "error", percent: 100, delayMillis: 0 })
        for (const id of [unused, other.store.id, ids.product, "nonsense"])
          assertRefusal(yield* ofStore(id), refusals.notFound)
        for (const kind of kinds) {
          for (const on of [unused, other.store.id, elsewhere, ids.product])
            assertRefusal(yield* of(kind, on), refusals.notFound)
          for (const id of [unused, other.ids[kind], ids[kind === "product" ? "variant" : "product"], "nonsense"])
            assertRefusal(yield* of(kind, shop.store.id, id), refusals.notFound)
          const target = `/api/v1/${kind}s/${ids[kind]}/sales-channels`
          const given = (query: string) => ask(`${target}${query}`, { token: shop.token })
          assertRefusal(yield* given(""), misfit("store_id", "is missing"))
          assertRefusal(yield* given("?store_id="), misfit("store_id", "is missing"))
          assertRefusal(yield* given("?store_id=nonsense"), misfit("store_id", "must be a UUID"))
          const twice = `?store_id=${shop.store.id}&store_id=${shop.store.id}`
          assertRefusal(yield* given(twice), misfit("store_id", "is given more than once"))
          // An invalid parameter is reported before an unknown id.
          const unknown = `/api/v1/${kind}s/${unused}/sales-channels`
          assertRefusal(yield* ask(unknown, { token: shop.token }), misfit("store_id", "is missing"))
          assert.strictEqual((yield* given(`?store_id=${shop.store.id.toUpperCase()}`)).status, 502)
        }
        assert.strictEqual((yield* ask(`/api/v1/media/${unused}/sales-channels`, { token: shop.token })).status, 404)
      })
    )

    it.effect("of a store without a platform are empty", () =>
      Effect.gen(function* () {
        const { of, ofStore } = yield* aShop({ domain: "files.example" })
        const empty = { data: [], next_cursor: null }
        for (const answer of [yield* ofStore(), ...(yield* Effect.forEach(kinds, (kind) => of(kind)))]) {
          assert.strictEqual(answer.status, 200)
          assert.deepStrictEqual(data(answer), empty)
        }
      })
    )
  })
})

/** Only a fault that never answers reaches this time limit; it is long enough for the others on a busy machine. */
const shopify = layerShopify({ liveLimit: Duration.seconds(4) }).pipe(Layer.provideMerge(layerServer))

describe.skipIf(adminSchema === undefined)("live reads of a Shopify store", () => {
  layer(served(shopify), { excludeTestServices: true })((it) => {
    const domain = "tern.myshopify.com"
    /** Links a store to a test shop of its own; afterwards its domain can be linked again. */
    const opened = <A, E, R>(
      use: (
        shop: Effect.Effect.Success<ReturnType<typeof aShop>>,
        server: ShopifyTestServer["Type"],
        token: string
      ) => Effect.Effect<A, E, R>
    ) =>
      Effect.gen(function* () {
        const server = yield* ShopifyTestServer
        const token = crypto.randomUUID()
        const sections = server.open(token).sections
        sections.publications = [
          {
            id: "gid://shopify/Publication/1",
            autoPublish: true,
            supportsFuturePublishing: true,
            catalog: { __typename: "AppCatalog", title: "Online Store" },
            channels: { nodes: [{ name: "Online Store", handle: "online_store" }] }
          }
        ] as never
        sections.resourcePublications = [
          {
            isPublished: false,
            publishDate: "2027-01-31T09:30:00Z",
            publication: { id: "gid://shopify/Publication/1" }
          }
        ] as never
        const shop = yield* aShop({ domain, platform: "shopify", credentials: { token: Redacted.make(token) } })
        server.asked.clear()
        const free = Effect.flatMap(Stores, ({ unlink }) => unlink(domain)).pipe(actingAs(shop.actor), Effect.orDie)
        yield* Effect.ensuring(use(shop, server, token), free)
      })

    it.effect("query the shop once each, for an entity only if the store has it", () =>
      opened(({ accountId, ids, of, ofStore, store }, server, token) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(data(yield* ofStore()).data, [
            {
              id: "gid://shopify/Publication/1",
              name: "Online Store",
              handle: "online_store",
              catalog_kind: "app",
              auto_publish: true,
              supports_future_publishing: true
            }
          ])
          assert.deepStrictEqual(server.asked.get(token), ["SalesChannels"])
          const one = (state: string, date: string | null) => ({
            data: [channel("gid://shopify/Publication/1", "Online Store", state, date)],
            next_cursor: null
          })
          assert.deepStrictEqual(data(yield* of("variant")), one("unpublished", null))
          assert.deepStrictEqual(server.asked.get(token), ["SalesChannels", "SalesChannels"])
          const { platformIds } = yield* (yield* PlatformClient).publish(
            yield* (yield* StoreAccess).open(accountId, store.id),
            { ...aProduct(), entityId: ids.product }
          )
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            UPDATE store_version SET platform_id = ${platformIds.get(ids.product) ?? ""}
            WHERE account_id = ${accountId} AND entity_id = ${ids.product}`
          assert.deepStrictEqual(data(yield* of("product")), one("scheduled", "2027-01-31T09:30:00.000000Z"))
        })
      )
    )

    const faults: ReadonlyArray<readonly [Fault, string]> = [
      ["html", "its answer is not valid"],
      ["odd", "its answer is not valid"],
      ["half", "the connection failed"],
      ["cut", "the connection failed"],
      ["server", "it reports an internal error"],
      ["hang", "it did not answer in time"]
    ]
    for (const [fault, why] of faults)
      it.effect(`that meet the fault ${fault} are 502 with the reason`, () =>
        opened(({ of, ofStore }, server, token) =>
          Effect.gen(function* () {
            server.script(token, "*", fault, 1_000)
            // At most five attempts each: after ten failures in a row, the service would stop querying the store.
            for (const answer of [yield* ofStore(), yield* of("collection")])
              assertRefusal(answer, cannotBeReached(why))
            server.repair(token)
          })
        )
      )

    it.effect("with a revoked or unreadable token are 502 with the reason", () =>
      opened(({ accountId, of, ofStore, store }, server, token) =>
        Effect.gen(function* () {
          server.script(token, "*", "refused", 1_000)
          for (const answer of [yield* ofStore(), yield* of("product")])
            assertRefusal(
              answer,
              failed("The access token lacks the permission read_publications, so sales channels cannot be read.")
            )
          server.repair(token)
          server.revoke(token)
          const revoked = "The store does not accept the access token: the token is wrong or was revoked."
          for (const answer of [yield* ofStore(), yield* of("product")]) {
            assertRefusal(answer, failed(revoked))
            assert.notInclude(answer.text, token)
          }
          yield* (yield* StoresRepo).keepCredential(accountId, store.id as StoreId, Buffer.alloc(60, 1))
          assertRefusal(
            yield* ofStore(),
            failed(
              "The store's access token cannot be decrypted: SECRET_KEY is not the key that it was encrypted with. Restore the key in SECRET_KEY, or link the store again with its token."
            )
          )
        })
      )
    )
  })
})
