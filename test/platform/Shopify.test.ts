import { HttpClient, HttpClientError } from "@effect/platform"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, layer } from "@effect/vitest"
import { Chunk, Duration, Effect, Exit, Layer, Option, Stream } from "effect"
import { EntityId, PublicationId } from "../../src/model/Ids.ts"
import { PlatformAnswers } from "../../src/platform/PlatformAnswers.ts"
import { PlatformClient } from "../../src/platform/PlatformClient.ts"
import type { PlatformReadError, PlatformWriteError } from "../../src/platform/PlatformErrors.ts"
import { Publication } from "../../src/platform/Publication.ts"
import { makeShopifyPlatform } from "../../src/platform/shopify/ShopifyAdapter.ts"
import { WriteDeadline } from "../../src/platform/WriteDeadline.ts"
import { again, aProduct, attributesOf, aVariant } from "../../src/testing/platform/Publications.ts"
import { adminSchema } from "./AdminSchema.ts"
import { aStore, layerServer, layerShopify, openShop, testOptions, tokenOf } from "./PlatformShops.ts"
import { aCollection, productsOf } from "./ShopifyCatalog.ts"
import type { Fault } from "./ShopifyServer.ts"

const told = (error: PlatformReadError | PlatformWriteError) => ({ ...error, message: error.message })

const unavailable = (reason: string, why: string) => ({
  _tag: "PlatformUnavailable",
  reason,
  message: `The store's platform cannot be reached: ${why}.`
})
const unknown = (reason: string, why: string) => ({
  _tag: "PlatformOutcomeUnknown",
  reason,
  message: `The values were sent to the store's platform, but ${why}: whether it accepted them is not known yet.`
})
const refusal = (code: string, message: string) => ({ _tag: "PlatformRefused", code, message, field: null })

const why = {
  throttled: "it limits the number of requests",
  timeout: "it did not answer in time",
  transport: "the connection failed",
  server: "it reports an internal error",
  nonsense: "its answer is not valid",
  suspended: "it failed several times in a row, so calls are paused for a moment"
}

describe.skipIf(adminSchema === undefined)("the Shopify adapter", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    const reads: ReadonlyArray<readonly [Fault, number, object, asked: number]> = [
      ["throttled", 9, unavailable("throttled", why.throttled), 5],
      ["busy", 9, unavailable("throttled", why.throttled), 5],
      // The platform asks for a longer wait than the call may take.
      ["busyForAnHour", 1, unavailable("throttled", why.throttled), 1],
      ["server", 9, unavailable("server", why.server), 5],
      ["internal", 9, unavailable("server", why.server), 5],
      ["cut", 9, unavailable("transport", why.transport), 5],
      ["half", 9, unavailable("transport", why.transport), 5],
      ["html", 1, unavailable("nonsense", why.nonsense), 1],
      ["odd", 1, unavailable("nonsense", why.nonsense), 1],
      ["refused", 1, refusal("ACCESS_DENIED", "Access denied for field."), 1],
      ["frozen", 1, refusal("SHOP_FROZEN", "The store is frozen until its bill is paid."), 1],
      ["moved", 1, refusal("HTTP_301", "The store's platform refuses the request with the HTTP status 301."), 1],
      ["malformed", 1, refusal("HTTP_400", "The store's platform refuses the request with the HTTP status 400."), 1],
      // Shopify takes requests for an attack that are none. The next one passes.
      ["rejected", 9, unavailable("throttled", why.throttled), 5]
    ]
    for (const [fault, times, outcome, asked] of reads)
      it.effect(`a read with the fault ${fault} is sent ${asked} times and fails with a typed error`, () =>
        Effect.gen(function* () {
          const { verify } = yield* PlatformClient
          const shop = yield* openShop
          shop.script("Verify", fault, times)
          assert.deepEqual(told(yield* Effect.flip(verify(shop.store))), outcome as never)
          // The permissions tell whether one that is missing is the cause.
          const more = fault === "refused" ? ["Permissions"] : []
          assert.deepStrictEqual(shop.asked(), [...Array(asked).fill("Verify"), ...more])
        })
      )

    for (const fault of ["throttled", "busy", "server", "internal", "cut", "lost", "half"] as const)
      it.effect(`a read is repeated after one ${fault}`, () =>
        Effect.gen(function* () {
          const { verify } = yield* PlatformClient
          const shop = yield* openShop
          shop.script("Verify", fault)
          assert.deepStrictEqual(yield* verify(shop.store), {
            domain: "tern.myshopify.com",
            name: "Tern & Daughters",
            primaryLocale: "en",
            locales: ["en", "de"],
            currency: "EUR"
          })
          assert.deepStrictEqual(shop.asked(), ["Verify", "Verify"])
        })
      )

    const writes: ReadonlyArray<readonly [Fault, object, made: number]> = [
      ["server", unknown("server", why.server), 0],
      ["internal", unknown("server", why.server), 0],
      ["cut", unknown("transport", why.transport), 0],
      ["lost", unknown("transport", why.transport), 1],
      ["half", unknown("transport", why.transport), 1],
      ["html", unknown("nonsense", why.nonsense), 0],
      ["moved", refusal("HTTP_301", "The store's platform refuses the request with the HTTP status 301."), 0],
      ["malformed", refusal("HTTP_400", "The store's platform refuses the request with the HTTP status 400."), 0],
      ["refused", refusal("ACCESS_DENIED", "Access denied for field."), 0]
    ]
    for (const [fault, outcome, made] of writes)
      it.effect(
        `a write with the fault ${fault} is sent once and fails with a typed error; if sent again, it has one effect`,
        () =>
          Effect.gen(function* () {
            const { publish, readBack } = yield* PlatformClient
            const shop = yield* openShop
            const publication = aProduct()
            const products = () => shop.shop.made.filter((kind) => kind === "Product").length
            shop.script("SetProduct", fault)
            assert.deepEqual(told(yield* Effect.flip(publish(shop.store, publication))), outcome as never)
            assert.lengthOf(
              shop.asked().filter((name) => name === "SetProduct"),
              1
            )
            assert.strictEqual(products(), made)
            const { platformIds } = yield* publish(shop.store, publication)
            assert.strictEqual(products(), 1)
            assert.deepStrictEqual(yield* readBack(shop.store, publication), Option.some({ platformIds }))
          })
      )

    it.effect.each(["throttled", "rejected"] as const)("a %s write had no effect and is sent again", (fault) =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const shop = yield* openShop
        shop.script("SetProduct", fault, 2)
        yield* publish(shop.store, aProduct())
        assert.lengthOf(
          shop.asked().filter((name) => name === "SetProduct"),
          3
        )
      })
    )

    it.effect("a write whose connection was not made in time had no effect", () =>
      Effect.gen(function* () {
        const { server, store } = yield* openShop
        const http = yield* HttpClient.HttpClient
        const failing = HttpClient.make((request) =>
          request.body._tag === "Uint8Array" && new TextDecoder().decode(request.body.body).includes("SetProduct")
            ? new HttpClientError.RequestError({
                request,
                reason: "Transport",
                cause: Object.assign(new Error("Connect Timeout Error"), { code: "UND_ERR_CONNECT_TIMEOUT" })
              })
            : http.execute(request)
        )
        const { publish } = yield* makeShopifyPlatform({ ...testOptions, originOf: () => server.origin }).pipe(
          Effect.provideService(HttpClient.HttpClient, failing)
        )
        assert.deepEqual(
          told(yield* Effect.flip(publish(store, aProduct()))),
          unavailable("transport", why.transport) as never
        )
      }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layer))
    )

    it.effect("a call is repeated no earlier than Retry-After says", () =>
      Effect.gen(function* () {
        const { publish, verify } = yield* PlatformClient
        const shop = yield* openShop
        for (const [operation, call] of [
          ["Verify", Effect.asVoid(verify(shop.store))],
          ["SetProduct", Effect.asVoid(publish(shop.store, aProduct()))]
        ] as const) {
          shop.script(operation, "busyForASecond")
          const [waited] = yield* Effect.timed(call)
          assert.isAtLeast(Duration.toMillis(waited), 1_000)
          assert.lengthOf(
            shop.asked().filter((name) => name === operation),
            2
          )
        }
      })
    )

    it.effect("a read that fails after a successful write makes the outcome unknown", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const shop = yield* openShop
        // The product is new, so the first read of its variants comes after productSet.
        shop.script("ProductVariants", "html")
        assert.deepEqual(
          told(yield* Effect.flip(publish(shop.store, aProduct()))),
          unknown("nonsense", why.nonsense) as never
        )
      })
    )

    it.effect("notes the answers of an attempt, so that a later failure does not look like an outage", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { script, store } = yield* openShop
        const product = aProduct()
        const { platformIds } = yield* publish(store, product)
        const reading = readBack(store, { ...again(product, platformIds), key: product.key })
        for (const [operation, hasAnswered] of [
          ["IdDefinition", false],
          ["ProductVariants", true]
        ] as const) {
          script(operation, "server", 5)
          let noted = 0
          const failure = yield* Effect.flip(reading).pipe(
            Effect.provideService(PlatformAnswers, {
              note: Effect.sync(() => {
                noted++
              }),
              noteWrite: Effect.dieMessage("Reading back writes nothing.")
            })
          )
          assert.deepEqual(told(failure), unavailable("server", why.server) as never)
          assert.strictEqual(noted > 0, hasAnswered, operation)
        }
      })
    )

    it.effect(
      "notes the writes that the shop has answered, so that a later failure does not look like one of all writes",
      () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { script, store } = yield* openShop
          const product = aProduct()
          for (const [operation, hasWritten] of [
            ["DefineId", false],
            ["SetProduct", true]
          ] as const) {
            script(operation, "server")
            let noted = 0
            yield* Effect.flip(publish(store, product)).pipe(
              Effect.provideService(PlatformAnswers, {
                note: Effect.void,
                noteWrite: Effect.sync(() => {
                  noted++
                })
              })
            )
            assert.strictEqual(noted > 0, hasWritten, operation)
          }
        })
    )

    it.effect("a refusal after an accepted write says that the store has taken a part", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const shop = yield* openShop
        shop.script("SetMetafields", "refused")
        const product = aProduct()
        const attributes = { ...product.attributes, "spec.made": { value: "here", type: "single_line_text_field" } }
        assert.deepEqual(told(yield* Effect.flip(publish(shop.store, { ...product, attributes }))), {
          ...refusal("ACCESS_DENIED", "Access denied for field. The store has taken the other values of this publish."),
          isPartlyWritten: true
        } as never)
      })
    )

    it.effect("a refusal that asks to try again is no refusal of the values", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const publication = aProduct()
        const original = { productSet: shop.productSet, metafieldsSet: shop.metafieldsSet }
        const userErrors = (code: string) => [{ field: null, message: "Something went wrong, please try again.", code }]
        shop.productSet = () => ({ product: null, userErrors: userErrors("GENERIC_ERROR") }) as never
        const tried = unknown("server", why.server) as never
        assert.deepEqual(told(yield* Effect.flip(publish(store, publication))), tried)
        shop.productSet = original.productSet
        shop.metafieldsSet = () => ({ metafields: null, userErrors: userErrors("INTERNAL_ERROR") }) as never
        assert.deepEqual(told(yield* Effect.flip(publish(store, publication))), tried)
        shop.metafieldsSet = original.metafieldsSet
        const published = yield* publish(store, publication)
        assert.deepStrictEqual(yield* readBack(store, publication), Option.some(published))
      })
    )

    it.effect("a refusal names the field, the SKU of the variant, or the key of the metafield", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const product = aProduct()
        const [variant] = product.variants
        assert(variant !== undefined)
        const changed = (values: Readonly<Record<string, string>>) => ({
          ...product,
          variants: [{ ...variant, attributes: { ...variant.attributes, ...attributesOf(values) } }]
        })
        for (const [publication, code, message, field] of [
          [
            { ...product, attributes: { ...product.attributes, ...attributesOf({ title: "a".repeat(256) }) } },
            "USER_ERROR",
            "title is too long (maximum is 255 characters)",
            "input.title"
          ],
          [
            changed({ price: "1000000000000000000" }),
            "USER_ERROR",
            "JUMPER-S: must be less than 1000000000000000000",
            "input.variants.0"
          ],
          [
            changed({ sku: "", price: "1000000000000000000" }),
            "USER_ERROR",
            "variants 1: must be less than 1000000000000000000",
            "input.variants.0"
          ],
          [
            {
              ...product,
              attributes: {
                ...product.attributes,
                ...attributesOf({ options: '[{"name":"Size / Fit","values":["S","M"]}]' })
              }
            },
            "INVALID_INPUT",
            "Size / Fit: The name contains unsupported sequence ' / '",
            "input.productOptions.0.name"
          ],
          [
            changed({ "care.wash_at": "hot" }),
            "USER_ERROR",
            "JUMPER-S, care.wash_at: Value must be an integer.",
            "input.variants.0.metafields.0.value"
          ]
        ] as const) {
          const told = yield* Effect.flip(publish(store, publication))
          assert.deepEqual({ ...told, message: told.message }, { ...refusal(code, message), field } as never)
        }
        assert.strictEqual(shop.products.size, 0)
      })
    )

    it.effect("nothing is written after the lease of the publish", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const shop = yield* openShop
        const refused = publish(shop.store, aProduct()).pipe(
          Effect.flip,
          Effect.provideService(WriteDeadline, { millis: 0 })
        )
        assert.deepEqual(told(yield* refused), unavailable("timeout", why.timeout) as never)
        assert.isNotEmpty(shop.asked())
        assert.strictEqual(shop.shop.products.size, 0)
      })
    )

    it.effect("an invalid token is refused, and no error contains it", () =>
      Effect.gen(function* () {
        const { publish, verify } = yield* PlatformClient
        const store = aStore("shopify", "shpat_0123456789")
        const expected = refusal(
          "UNAUTHORIZED",
          "The store does not accept the access token: the token is wrong or was revoked."
        )
        assert.deepEqual(told(yield* Effect.flip(verify(store))), expected as never)
        assert.deepEqual(told(yield* Effect.flip(publish(store, aProduct()))), expected as never)
        const { server } = yield* openShop
        const failing = aStore("shopify", crypto.randomUUID())
        server.open(tokenOf(failing))
        for (const fault of ["cut", "html", "server"] as const) {
          server.script(tokenOf(failing), "Verify", fault, 5)
          const exit = yield* Effect.exit(verify(failing))
          assert.isTrue(Exit.isFailure(exit))
          assert.notInclude(`${String(exit)} ${JSON.stringify(exit)}`, tokenOf(failing))
          server.repair(tokenOf(failing))
        }
      })
    )

    it.effect("a product that the shop has accepted without an id is matched by SKU and keeps its other data", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const publication = { ...aProduct(), isAccepted: true }
        const { product } = shop.productSet({
          identifier: { handle: "old-jumper" },
          input: {
            title: "Old Jumper",
            handle: "old-jumper",
            metafields: [{ namespace: "reviews", key: "stars", type: "number_integer", value: "5" }],
            productOptions: [{ name: "Size", values: [{ name: "S" }, { name: "XL" }] }],
            variants: [
              { optionValues: [{ optionName: "Size", name: "S" }], inventoryItem: { sku: "JUMPER-S" } },
              { optionValues: [{ optionName: "Size", name: "XL" }], inventoryItem: { sku: "JUMPER-XL" } }
            ]
          }
        })
        const { platformIds } = yield* publish(store, publication)
        assert.strictEqual(platformIds.get(publication.entityId), product?.id)
        assert.strictEqual(shop.products.size, 1)
        assert.deepStrictEqual(
          product?.variantList.map(({ sku }) => sku),
          ["JUMPER-S", "JUMPER-M", "JUMPER-XL"]
        )
        assert.deepStrictEqual(product?.optionList, [{ name: "Size", values: ["S", "M", "XL"] }])
        const kept = product?.metafieldValues.find(({ namespace }) => namespace === "reviews")
        assert.deepInclude(kept, { key: "stars", type: "number_integer", value: "5" })
      })
    )

    it.effect("a product with many variants is found by the SKU of one of them, in few calls", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        const made = (sku: string) =>
          shop.productSet({
            identifier: { handle: sku },
            input: {
              title: sku,
              handle: sku,
              productOptions: [{ name: "Size", values: [{ name: "S" }] }],
              variants: [{ optionValues: [{ optionName: "Size", name: "S" }], inventoryItem: { sku } }]
            }
          }).product
        // Two products have the SKU of the first variant, so it does not tell which one it is.
        made("jumper-0")
        made("JUMPER-0")
        shop.products.forEach((product) => {
          for (const variant of product.variantList) variant.sku = "JUMPER-0"
        })
        const product = made("JUMPER-55")
        const variants = Array.from({ length: 60 }, (_, size) => aVariant(String(size)))
        const publication = { ...aProduct(), isAccepted: true, variants }
        const { platformIds } = yield* publish(store, publication)
        assert.strictEqual(platformIds.get(publication.entityId), product?.id)
        assert.lengthOf(
          asked().filter((name) => name === "VariantsBySku"),
          3
        )
      })
    )

    it.effect("an emptied weight is written as 0, and a weight that is not given stays", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const product = { ...aProduct(), variants: [aVariant("S")] }
        const { platformIds } = yield* publish(store, product)
        const weights = () =>
          [...shop.products.values()].flatMap(({ variantList }) => variantList.map(({ weight }) => weight?.value))
        assert.deepStrictEqual(weights(), [420])
        const [{ attributes, entityId }] = product.variants as [ReturnType<typeof aVariant>]
        const productPlatformId = platformIds.get(product.entityId) ?? assert.fail("no id")
        const variant = (own: typeof attributes) =>
          Publication.Variant({
            key: PublicationId.make(crypto.randomUUID()),
            entityId,
            platformId: platformIds.get(entityId) ?? null,
            productPlatformId,
            attributes: own
          })
        const { weight: _, ...without } = attributes
        yield* publish(store, variant(without))
        assert.deepStrictEqual(weights(), [420])
        const emptied = variant({ ...attributes, ...attributesOf({ weight: "" }) })
        assert.isTrue(Option.isNone(yield* readBack(store, emptied)))
        yield* publish(store, emptied)
        assert.deepStrictEqual(weights(), [0])
        assert.isTrue(Option.isSome(yield* readBack(store, emptied)))
      })
    )

    it.effect(
      "a product that the store itself has put into a collection cannot be taken out, and nothing is written",
      () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { shop, store } = yield* openShop
          const { platformIds } = yield* publish(store, aProduct())
          const [member] = platformIds.values()
          assert(member !== undefined)
          const { collection } = shop.collectionCreate({ collection: { title: "Tents" } })
          assert(collection !== null)
          collection.memberIds.push(member)
          const publication = Publication.Collection({
            key: PublicationId.make(crypto.randomUUID()),
            entityId: EntityId.make(crypto.randomUUID()),
            platformId: collection.id,
            attributes: attributesOf({ title: "Our tents" }),
            members: []
          })
          assert.deepEqual(
            told(yield* Effect.flip(publish(store, publication))),
            refusal(
              "MEMBERS_OF_THE_STORE",
              "The store itself has put 1 of its products into this collection, and only the store can take them out. Take them out there, then refresh the store."
            ) as never
          )
          assert.deepStrictEqual([collection.values.title, collection.memberIds], ["Tents", [member]])
          yield* publish(store, { ...publication, members: [member] })
          assert.strictEqual(collection.values.title, "Our tents")
        })
    )

    it.effect("only products that no conditions of the store put into a collection are taken out of it", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const [own, both, theirs] = yield* Effect.forEach(["own", "both", "theirs"], (handle) => {
          const product = { ...aProduct(), attributes: attributesOf({ title: handle, handle }), variants: [] }
          return Effect.map(publish(store, product), ({ platformIds }) => [...platformIds.values()][0] ?? "")
        })
        assert(own !== undefined && both !== undefined && theirs !== undefined)
        const publication = Publication.Collection({
          key: PublicationId.make(crypto.randomUUID()),
          entityId: EntityId.make(crypto.randomUUID()),
          platformId: null,
          attributes: attributesOf({ title: "Tents" }),
          members: [own, both]
        })
        yield* publish(store, publication)
        const [collection] = shop.collections.values()
        assert(collection !== undefined)
        collection.conditionIds.push(both, theirs)
        const without = (members: ReadonlyArray<string>) =>
          publish(store, { ...publication, attributes: attributesOf({ title: "Our tents" }), members })
        for (const [members, count] of [
          [[own, both], 1],
          [[own, theirs], 1],
          [[], 2]
        ] as const) {
          assert.deepEqual(
            told(yield* Effect.flip(without(members))),
            refusal(
              "MEMBERS_OF_THE_STORE",
              `The store itself has put ${count} of its products into this collection, and only the store can take them out. Take them out there, then refresh the store.`
            ) as never
          )
          assert.deepStrictEqual([collection.values.title, collection.memberIds], ["Tents", [own, both]])
        }
        yield* without([both, theirs])
        assert.deepStrictEqual([collection.values.title, collection.memberIds], ["Our tents", [both]])
      })
    )

    it.effect("members of a collection are compared without reading all of them for each of them", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const ids = productsOf(shop, 200)
        let reads = 0
        const counted = new Proxy(ids, {
          get: (target, key, receiver) => {
            reads += 1
            return Reflect.get(target, key, receiver)
          }
        })
        const publication = aCollection(ids.slice(0, 100))
        yield* publish(store, publication)
        for (const call of [readBack, publish, readBack]) {
          reads = 0
          yield* call(store, { ...publication, members: counted })
          assert.isBelow(reads, 10 * ids.length)
        }
        const [collection] = shop.collections.values()
        assert.deepStrictEqual(collection?.memberIds, ids)
      })
    )

    it.effect("a collection is written in parts, because an input takes at most 250 products", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        const ids = productsOf(shop, 1_100)
        const writes = () => asked().filter((name) => /^(Create|Update)Collection$/.test(name))
        const publication = aCollection(ids.slice(0, 600))
        yield* publish(store, publication)
        const [collection] = shop.collections.values()
        assert(collection !== undefined)
        assert.deepStrictEqual(collection.memberIds, ids.slice(0, 600))
        assert.deepStrictEqual(writes(), ["CreateCollection", "UpdateCollection", "UpdateCollection"])
        const next = { ...publication, members: ids.slice(300) }
        assert.isTrue(Option.isNone(yield* readBack(store, next)))
        yield* publish(store, next)
        assert.deepStrictEqual(collection.memberIds, ids.slice(300))
        assert.lengthOf(writes(), 5)
        assert.isTrue(Option.isSome(yield* readBack(store, next)))
      })
    )

    it.effect("a collection of the shop gets our source with the first part of the members", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const ids = productsOf(shop, 600)
        const { collection } = shop.collectionCreate({ collection: { title: "Tents" } })
        assert(collection !== null)
        collection.conditionIds.push(...ids.slice(0, 20))
        yield* publish(store, { ...aCollection(ids), platformId: collection.id })
        assert.deepStrictEqual(collection.memberIds, ids.slice(20))
      })
    )

    const endings: ReadonlyArray<readonly [Fault, object, written: number]> = [
      ["server", unknown("server", why.server), 250],
      ["lost", unknown("transport", why.transport), 500],
      [
        "refused",
        {
          ...refusal("ACCESS_DENIED", "Access denied for field. The store has taken the other values of this publish."),
          isPartlyWritten: true
        },
        250
      ]
    ]
    for (const [fault, outcome, written] of endings)
      it.effect(`after the fault ${fault} between two parts of a collection, the next publish continues`, () =>
        Effect.gen(function* () {
          const { publish, readBack } = yield* PlatformClient
          const { script, shop, store } = yield* openShop
          const ids = productsOf(shop, 600)
          const publication = aCollection(ids)
          script("UpdateCollection", fault)
          assert.deepEqual(told(yield* Effect.flip(publish(store, publication))), outcome as never)
          const [collection] = shop.collections.values()
          assert(collection !== undefined)
          assert.deepStrictEqual(collection.memberIds, ids.slice(0, written))
          assert.isTrue(Option.isNone(yield* readBack(store, publication)))
          const { platformIds } = yield* publish(store, publication)
          assert.deepStrictEqual(collection.memberIds, ids)
          assert.strictEqual(shop.collections.size, 1)
          assert.deepStrictEqual(yield* readBack(store, publication), Option.some({ platformIds }))
        })
      )

    it.effect("an unlisted product is written and read as unlisted", () =>
      Effect.gen(function* () {
        const { publish, pull, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const listed = aProduct()
        const { platformIds } = yield* publish(store, listed)
        const unlisted = again(listed, platformIds, { status: "unlisted" })
        assert.deepStrictEqual(yield* readBack(store, unlisted), Option.none())
        yield* publish(store, unlisted)
        const [product] = [...shop.products.values()]
        assert.strictEqual(product?.values.status, "UNLISTED")
        assert.isTrue(Option.isSome(yield* readBack(store, unlisted)))
        const records = Chunk.toReadonlyArray(yield* Stream.runCollect(pull(store)))
        assert.deepStrictEqual(
          records.filter(({ kind }) => kind === "product").map(({ attributes }) => attributes.status?.value),
          ["unlisted"]
        )
        yield* publish(store, again(listed, platformIds))
        assert.strictEqual(product?.values.status, "ACTIVE")
      })
    )

    it.effect("a product that was published from another entity is not matched", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        yield* publish(store, aProduct())
        const twin = { ...aProduct(), variants: [aVariant("S")], attributes: attributesOf({ title: "Twin" }) }
        yield* publish(store, twin)
        assert.strictEqual(shop.products.size, 2)
      })
    )

    it.effect("all pages of every list are read", () =>
      Effect.gen(function* () {
        const client = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        shop.sections.markets = Array.from({ length: 5 }, (_, index) => ({
          id: `gid://shopify/Market/${index}`,
          handle: `m${index}`,
          name: `Market ${index}`,
          status: "ACTIVE",
          type: "REGION",
          currencySettings: { baseCurrency: { currencyCode: "EUR" } },
          conditions: {
            regionsCondition: {
              regions: { nodes: [{ __typename: "MarketRegionCountry", name: "Germany", code: "DE" }] }
            }
          },
          webPresences: {
            nodes: [
              {
                id: "gid://shopify/MarketWebPresence/1",
                subfolderSuffix: "de",
                domain: null,
                defaultLocale: { locale: "de" },
                alternateLocales: [{ locale: "en" }]
              }
            ]
          },
          catalogs: {
            nodes: [
              {
                id: "gid://shopify/MarketCatalog/1",
                title: "Germany",
                status: "ACTIVE",
                priceList: { currency: "EUR", parent: { adjustment: { type: "PERCENTAGE_INCREASE", value: 5 } } }
              }
            ]
          }
        }))
        const markets = Chunk.toReadonlyArray(yield* Stream.runCollect(client.markets(store)))
        assert.deepStrictEqual(
          markets.map(({ handle }) => handle),
          ["m0", "m1", "m2", "m3", "m4"]
        )
        assert.deepStrictEqual(markets[0], {
          handle: "m0",
          type: "region",
          platform_id: "gid://shopify/Market/0",
          name: "Market 0",
          status: "active",
          currency: "EUR",
          regions: [{ code: "DE", name: "Germany" }],
          web_presences: [
            {
              platform_id: "gid://shopify/MarketWebPresence/1",
              domain: null,
              subfolder_suffix: "de",
              default_locale: "de",
              alternate_locales: ["en"]
            }
          ],
          catalogs: [
            {
              id: "gid://shopify/MarketCatalog/1",
              title: "Germany",
              status: "active",
              currency: "EUR",
              price_adjustment: { type: "percentage_increase", value: 5 }
            }
          ]
        })
        assert.deepStrictEqual(asked(), ["Markets", "Markets", "Markets"])
      })
    )

    it.effect("definitions, entries and translations are converted to our types", () =>
      Effect.gen(function* () {
        const client = yield* PlatformClient
        const { shop, store } = yield* openShop
        const validations = [{ name: "max", type: "number_integer", value: "90" }]
        shop.sections["metafieldDefinitions PRODUCTVARIANT"] = [
          {
            id: "gid://shopify/MetafieldDefinition/7",
            namespace: "care",
            key: "wash_at",
            name: "Wash at",
            description: null,
            type: { name: "number_integer" },
            validations,
            metafieldsCount: 12,
            capabilities: { uniqueValues: { eligible: true, enabled: false } }
          }
        ]
        shop.sections.metaobjectDefinitions = [
          {
            id: "gid://shopify/MetaobjectDefinition/1",
            type: "designer",
            name: "Designer",
            description: null,
            displayNameKey: "name",
            metaobjectsCount: 1,
            fieldDefinitions: [
              { key: "name", name: "Name", required: true, type: { name: "single_line_text_field" }, validations: [] }
            ],
            capabilities: { translatable: { enabled: true } }
          }
        ]
        shop.sections["metaobjects designer"] = [
          {
            id: "gid://shopify/Metaobject/1",
            handle: "ada",
            displayName: "Ada",
            updatedAt: "2026-11-20T10:00:00Z",
            fields: [{ key: "name", type: "single_line_text_field", value: "Ada" }],
            capabilities: { publishable: { status: "DRAFT" } }
          }
        ]
        const content = { key: "title", value: "Jumper", digest: "d1", locale: "en", type: "SINGLE_LINE_TEXT_FIELD" }
        shop.sections["translatableResources PRODUCT"] = [
          {
            resourceId: "gid://shopify/Product/1",
            translatableContent: [content],
            translations: [
              { key: "title", locale: "de", value: "Pullover", outdated: true, updatedAt: "2026-11-20T10:00:00.5Z" }
            ]
          }
        ]
        const all = <A>(stream: Stream.Stream<A, PlatformReadError>) =>
          Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)
        assert.deepStrictEqual(yield* all(client.metafieldDefinitions(store, "variant")), [
          {
            owner_type: "variant",
            namespace: "care",
            key: "wash_at",
            name: "Wash at",
            description: null,
            type: "number_integer",
            validations,
            platform_id: "gid://shopify/MetafieldDefinition/7",
            metafields_count: 12
          }
        ])
        assert.deepStrictEqual(yield* all(client.metaobjectDefinitions(store)), [
          {
            type: "designer",
            name: "Designer",
            description: null,
            display_name_key: "name",
            fields: [{ key: "name", name: "Name", type: "single_line_text_field", required: true, validations: [] }],
            entries_count: 1,
            translatable: true,
            platform_id: "gid://shopify/MetaobjectDefinition/1"
          }
        ])
        assert.deepEqual(yield* all(client.metaobjectEntries(store, "designer")), [
          {
            handle: "ada",
            display_name: "Ada",
            status: "draft",
            fields: [{ key: "name", type: "single_line_text_field", value: "Ada" }],
            updated_at: "2026-11-20T10:00:00.000000Z",
            platform_id: "gid://shopify/Metaobject/1"
          }
        ] as never)
        assert.deepEqual(yield* all(client.translations(store, "product")), [
          {
            kind: "product",
            platform_id: "gid://shopify/Product/1",
            locale: "de",
            fields: [
              {
                key: "title",
                type: "single_line_text_field",
                source_locale: "en",
                source_value: "Jumper",
                digest: "d1"
              }
            ],
            translations: [
              {
                key: "title",
                value: "Pullover",
                outdated: true,
                source_digest: null,
                updated_at: "2026-11-20T10:00:00.500000Z"
              }
            ]
          }
        ] as never)
      })
    )

    it.effect("reads the channels of the store, and whether an entity is published on them", () =>
      Effect.gen(function* () {
        const client = yield* PlatformClient
        const { shop, store } = yield* openShop
        const publication = (id: number, name: string, catalog: string | null) => ({
          id: `gid://shopify/Publication/${id}`,
          autoPublish: id === 1,
          supportsFuturePublishing: id === 1,
          catalog: catalog === null ? null : { __typename: catalog, id: `c${id}`, title: `Catalog ${id}` },
          channels: { nodes: name === "" ? [] : [{ name, handle: name.toLowerCase() }] }
        })
        shop.sections.publications = [
          publication(1, "Online", "AppCatalog"),
          publication(2, "", "MarketCatalog"),
          publication(3, "Till", null)
        ]
        assert.deepStrictEqual(yield* client.salesChannels(store), [
          {
            id: "gid://shopify/Publication/1",
            name: "Online",
            handle: "online",
            catalog_kind: "app",
            auto_publish: true,
            supports_future_publishing: true
          },
          {
            id: "gid://shopify/Publication/2",
            name: "Catalog 2",
            handle: "",
            catalog_kind: "market",
            auto_publish: false,
            supports_future_publishing: false
          },
          {
            id: "gid://shopify/Publication/3",
            name: "Till",
            handle: "till",
            catalog_kind: "none",
            auto_publish: false,
            supports_future_publishing: false
          }
        ])
        const product = aProduct()
        const { platformIds } = yield* client.publish(store, product)
        shop.sections.resourcePublications = [
          { isPublished: true, publishDate: "2026-11-01T00:00:00Z", publication: publication(1, "Online", null) },
          { isPublished: false, publishDate: "2026-12-01T00:00:00Z", publication: publication(2, "", null) }
        ]
        assert.deepEqual(yield* client.entityChannels(store, platformIds.get(product.entityId) ?? ""), [
          {
            id: "gid://shopify/Publication/1",
            name: "Online",
            is_published: true,
            publish_date: "2026-11-01T00:00:00.000000Z",
            state: "published"
          },
          {
            id: "gid://shopify/Publication/2",
            name: "Catalog 2",
            is_published: false,
            publish_date: "2026-12-01T00:00:00.000000Z",
            state: "scheduled"
          },
          {
            id: "gid://shopify/Publication/3",
            name: "Till",
            is_published: false,
            publish_date: null,
            state: "unpublished"
          }
        ] as never)
      })
    )
  })
})
