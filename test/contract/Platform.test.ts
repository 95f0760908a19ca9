import { assert, describe, layer } from "@effect/vitest"
import { Chunk, Effect, Option, Stream } from "effect"
import { valueOf } from "../../src/model/Attribute.ts"
import { PlatformClient, type PlatformStore } from "../../src/platform/PlatformClient.ts"
import { Publication } from "../../src/platform/Publication.ts"
import { again, aPicture, aProduct, attributesOf, aVariant, entity } from "../../src/testing/platform/Publications.ts"
import { platformEngines } from "../platform/PlatformEngines.ts"
import { PlatformShops } from "../platform/PlatformShops.ts"

const pull = (store: PlatformStore) =>
  Effect.gen(function* () {
    const client = yield* PlatformClient
    const records = Chunk.toReadonlyArray(yield* Stream.runCollect(client.pull(store)))
    return {
      records,
      /** The only record that was published from an entity. */
      of: (id: string) => {
        const found = records.filter(({ entityId }) => entityId === id)
        assert.lengthOf(found, 1)
        return found[0] ?? assert.fail("none")
      }
    }
  })

const idIn = (ids: ReadonlyMap<string, string>, id: string) => ids.get(id) ?? assert.fail(`no id of ${id}`)

for (const engine of platformEngines) {
  describe.skipIf(engine.absent)(`a platform: ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("stores what was published, and a pull returns it", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const store = yield* (yield* PlatformShops).open
          assert.deepStrictEqual((yield* pull(store)).records, [])
          const publication = aProduct()
          const { platformIds } = yield* client.publish(store, publication)
          const { media, variants } = publication
          assert.sameMembers(
            [...platformIds.keys()],
            [
              publication.entityId,
              ...variants.map(({ entityId }) => entityId),
              ...media.map(({ entityId }) => entityId)
            ]
          )
          const { of, records } = yield* pull(store)
          assert.deepStrictEqual(
            records.map(({ kind }) => kind),
            ["media", "product", "variant", "variant"]
          )
          const product = of(publication.entityId)
          assert.strictEqual(product.platformId, idIn(platformIds, publication.entityId))
          assert.deepStrictEqual(product.attributes, publication.attributes)
          assert.deepStrictEqual(
            product.media,
            media.map(({ entityId }) => idIn(platformIds, entityId))
          )
          for (const variant of variants) {
            const live = of(variant.entityId)
            assert.strictEqual(live.platformId, idIn(platformIds, variant.entityId))
            assert.strictEqual(live.parentId, product.platformId)
            assert.deepStrictEqual(live.attributes, variant.attributes)
          }
          for (const picture of media) {
            const live = of(picture.entityId)
            assert.strictEqual(valueOf(live.attributes, "alt"), valueOf(picture.attributes, "alt"))
            assert.strictEqual(valueOf(live.attributes, "file_name"), valueOf(picture.attributes, "file_name"))
          }
        })
      )

      it.effect("a later publish changes the values of a product, but not its variants", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* PlatformShops
          const store = yield* shops.open
          const publication = aProduct()
          const { platformIds } = yield* client.publish(store, publication)
          const second = again(publication, platformIds, { title: "Keel Jumper II", seo_title: "", "care.wash_at": "" })
          const reversed = {
            ...second,
            variants: second.variants
              .map((variant) => ({ ...variant, attributes: attributesOf({ sku: "OTHER" }) }))
              .reverse(),
            media: [aPicture("sleeve"), ...second.media]
          }
          const next = yield* client.publish(store, reversed)
          assert.strictEqual(idIn(next.platformIds, publication.entityId), idIn(platformIds, publication.entityId))
          const { of, records } = yield* pull(store)
          const product = of(publication.entityId)
          assert.strictEqual(valueOf(product.attributes, "title"), "Keel Jumper II")
          assert.strictEqual(valueOf(product.attributes, "seo_title"), "")
          assert.notProperty(product.attributes, "care.wash_at")
          assert.deepStrictEqual(
            product.media,
            reversed.media.map(({ entityId }) => idIn(next.platformIds, entityId))
          )
          assert.deepStrictEqual(
            records.filter(({ kind }) => kind === "variant").map(({ attributes }) => valueOf(attributes, "sku")),
            ["JUMPER-M", "JUMPER-S"]
          )
          assert.strictEqual(yield* shops.productsMade(store), 1)
        })
      )

      it.effect("the same publication has its effect only once", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* PlatformShops
          const store = yield* shops.open
          const publication = aProduct()
          const results = yield* Effect.forEach([1, 2, 3], () => client.publish(store, publication))
          assert.deepStrictEqual(results[1], results[0])
          assert.deepStrictEqual(results[2], results[0])
          assert.strictEqual(yield* shops.productsMade(store), 1)
          assert.lengthOf((yield* pull(store)).records, 4)
        })
      )

      it.effect("a lost answer is an unknown outcome; reading back shows that it was published", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* PlatformShops
          const store = yield* shops.open
          const publication = aProduct()
          assert.deepStrictEqual(yield* client.readBack(store, publication), Option.none())
          yield* shops.fail(store, "lost")
          const error = yield* Effect.flip(client.publish(store, publication))
          assert.strictEqual(error._tag, "PlatformOutcomeUnknown")
          yield* shops.repair(store)
          const live = yield* client.readBack(store, publication)
          // If a publish needs several steps, only some may be complete: then it is published again.
          const { platformIds } = Option.isSome(live) ? live.value : yield* client.publish(store, publication)
          assert.deepStrictEqual(
            Option.map(yield* client.readBack(store, publication), (published) => published.platformIds),
            Option.some(platformIds)
          )
          assert.strictEqual(yield* shops.productsMade(store), 1)
          assert.strictEqual(
            (yield* pull(store)).of(publication.entityId).platformId,
            idIn(platformIds, publication.entityId)
          )
        })
      )

      it.effect("a failing platform publishes nothing; after its repair it does", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* PlatformShops
          const store = yield* shops.open
          const publication = aProduct()
          yield* shops.fail(store, "error")
          const error = yield* Effect.flip(client.publish(store, publication))
          assert.include(["PlatformUnavailable", "PlatformOutcomeUnknown"], error._tag)
          assert.strictEqual("reason" in error ? error.reason : "", "server")
          yield* shops.repair(store)
          assert.deepStrictEqual(yield* client.readBack(store, publication), Option.none())
          assert.strictEqual(yield* shops.productsMade(store), 0)
          yield* client.publish(store, publication)
          assert.isTrue(Option.isSome(yield* client.readBack(store, publication)))
        })
      )

      it.effect("a platform refuses a product without a title with its own message", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* PlatformShops
          const store = yield* shops.open
          const publication = aProduct()
          const untitled = { ...publication, attributes: attributesOf({ handle: "untitled" }) }
          const error = yield* Effect.flip(client.publish(store, untitled))
          assert.deepInclude(error, {
            _tag: "PlatformRefused",
            code: "INVALID_INPUT",
            message: "Title can't be blank",
            field: "input.title"
          })
          assert.strictEqual(yield* shops.productsMade(store), 0)
        })
      )

      it.effect("variants, collections and media can be published alone", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const store = yield* (yield* PlatformShops).open
          const product = aProduct()
          const { platformIds } = yield* client.publish(store, product)
          const productPlatformId = idIn(platformIds, product.entityId)
          const [small = assert.fail("no variant")] = product.variants
          const key = () => crypto.randomUUID()

          const dearer = Publication.Variant({
            key: key(),
            ...small,
            platformId: idIn(platformIds, small.entityId),
            attributes: { ...small.attributes, ...attributesOf({ price: "95.5", "care.wash_at": "" }) },
            productPlatformId
          })
          yield* client.publish(store, dearer)
          const large = Publication.Variant({ key: key(), ...aVariant("L"), productPlatformId })
          const created = yield* client.publish(store, large)
          const collection = Publication.Collection({
            key: key(),
            ...entity({ title: "Wool", handle: "wool", sort_order: "manual" }),
            members: [productPlatformId]
          })
          const gathered = yield* client.publish(store, collection)
          const picture = Publication.Media({ key: key(), ...aPicture("wool-on-a-line") })
          yield* client.publish(store, picture)

          const { of } = yield* pull(store)
          assert.strictEqual(Number(valueOf(of(small.entityId).attributes, "price")), 95.5)
          assert.notProperty(of(small.entityId).attributes, "care.wash_at")
          assert.strictEqual(of(large.entityId).platformId, idIn(created.platformIds, large.entityId))
          assert.strictEqual(of(large.entityId).parentId, productPlatformId)
          assert.deepStrictEqual(of(collection.entityId).members, [productPlatformId])
          assert.strictEqual(valueOf(of(collection.entityId).attributes, "title"), "Wool")
          assert.strictEqual(valueOf(of(picture.entityId).attributes, "alt"), "The wool-on-a-line")
          for (const publication of [dearer, large, collection, picture])
            assert.isTrue(Option.isSome(yield* client.readBack(store, publication)), publication._tag)

          // Reading one record gives the same as a pull of the whole store, with or without a known platform id.
          const single = [
            { kind: "product", ...product },
            { kind: "variant", ...dearer },
            { kind: "collection", ...collection },
            { kind: "media", ...picture }
          ] as const
          for (const { kind, ...published } of single) {
            const expected = Option.some(of(published.entityId))
            const { platformId } = of(published.entityId)
            for (const known of [platformId, null])
              assert.deepStrictEqual(
                yield* client.find(store, kind, { ...published, platformId: known }),
                expected,
                `${kind} by ${known ?? "our id"}`
              )
          }

          yield* client.publish(store, {
            ...again(collection, gathered.platformIds, { title: "Wool & more" }),
            members: []
          })
          const emptied = (yield* pull(store)).of(collection.entityId)
          assert.strictEqual(valueOf(emptied.attributes, "title"), "Wool & more")
          assert.deepStrictEqual(emptied.members, [])
        })
      )

      it.effect("data of one shop is in no other shop", () =>
        Effect.gen(function* () {
          const client = yield* PlatformClient
          const shops = yield* PlatformShops
          const [one, other] = [yield* shops.open, yield* shops.open]
          const publication = aProduct()
          yield* client.publish(one, publication)
          assert.deepStrictEqual((yield* pull(other)).records, [])
          assert.deepStrictEqual(yield* client.readBack(other, publication), Option.none())
          assert.deepStrictEqual(yield* client.find(other, "product", publication), Option.none())
          assert.isTrue(Option.isSome(yield* client.find(one, "product", publication)))
          yield* shops.fail(one, "error")
          yield* client.publish(other, aProduct())
          assert.strictEqual(yield* shops.productsMade(other), 1)
        })
      )
    })
  })
}
