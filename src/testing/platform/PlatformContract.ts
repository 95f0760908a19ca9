import { deepStrictEqual, fail, notStrictEqual, ok, strictEqual } from "node:assert/strict"
import { Cause, Chunk, Effect, Either, Option, Stream } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformStore } from "../../platform/PlatformClient.ts"
import type { PlatformRecord } from "../../platform/PlatformRecord.ts"
import {
  type ProductPublication,
  Publication,
  type Published,
  type PublishedEntity
} from "../../platform/Publication.ts"
import { RecordsOfOthers } from "../../platform/RecordsOfOthers.ts"
import { recordNotRead } from "../../platform/UnreadRecord.ts"
import { ContractBroken, type PlatformUnderTest, type ShopFailure } from "./PlatformUnderTest.ts"
import { again, aPicture, aProduct, attributesOf, aVariant, entity, newId } from "./Publications.ts"

/** A rule, and a run that fails if the platform breaks it. */
export interface ContractRule<R> {
  readonly name: string
  readonly check: Effect.Effect<void, ContractBroken, R>
}

const collected = <A, E>(stream: Stream.Stream<A, E>) => Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

const idIn = ({ platformIds }: Published, id: EntityId) => platformIds.get(id) ?? fail(`no platform id of ${id}`)

/** The only record that was published from an entity. */
const recordOf = (records: ReadonlyArray<PlatformRecord>, id: EntityId): PlatformRecord => {
  const found = records.filter(({ entityId }) => entityId === id)
  strictEqual(found.length, 1, `the pull has ${found.length} records of one entity`)
  return found[0] ?? fail("no record")
}

const aCollection = (members: ReadonlyArray<string>) =>
  Publication.Collection({
    key: crypto.randomUUID(),
    ...entity({ title: "Wool", handle: "wool", sort_order: "manual" }),
    members
  })

/** A product with another handle, and with these SKUs: `sku` of the first variant. */
const withKeys = (product: ProductPublication, handle: string, sku: string): ProductPublication => ({
  ...product,
  attributes: { ...product.attributes, ...attributesOf({ handle }) },
  variants: product.variants.map((variant, index) => ({
    ...variant,
    attributes: { ...variant.attributes, ...attributesOf({ sku: index === 0 ? sku : `${sku}-${index}` }) }
  }))
})

const aPictureAlone = (name: string) => Publication.Media({ key: crypto.randomUUID(), ...aPicture(name) })

type Check = (platform: PlatformUnderTest) => Effect.Effect<void, unknown>

const readingRules: Readonly<Record<string, Check>> = {
  "verify reads the facts of the store": ({ client, open }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const { currency, domain, locales, name, primaryLocale } = yield* client.verify(store)
      ok(domain.includes("."), `the domain is ${domain}`)
      notStrictEqual(name.trim(), "")
      strictEqual(locales[0], primaryLocale)
      ok(/^[A-Z]{3}$/.test(currency), `the currency is ${currency}`)
    }),
  "a pull reads every page, in order, and ids are stable": ({ client, open, severalPages }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const product = aProduct()
      const published = yield* client.publish(store, product)
      yield* client.publish(store, aCollection([idIn(published, product.entityId)]))
      const pictures = Array.from({ length: severalPages }, (_, index) => aPictureAlone(`picture-${index}`))
      yield* Effect.forEach(pictures, (picture) => client.publish(store, picture), { concurrency: 4, discard: true })
      const records = yield* collected(client.pull(store))
      for (const { entityId } of pictures) recordOf(records, entityId)
      strictEqual(records.length, severalPages + 5)
      strictEqual(new Set(records.map(({ platformId }) => platformId)).size, records.length)
      deepStrictEqual(
        records.map(({ kind }) => kind).filter((kind, index, kinds) => kind !== kinds[index - 1]),
        ["media", "product", "variant", "collection"]
      )
      deepStrictEqual(yield* collected(client.pull(store)), records)
    }),
  "a record that was deleted in the shop is gone": ({ client, open }) =>
    Effect.gen(function* () {
      const { remove, store } = yield* open
      const product = aProduct()
      const picture = aPictureAlone("deleted")
      yield* client.publish(store, product)
      const published = yield* client.publish(store, picture)
      yield* remove(idIn(published, picture.entityId))
      const records = yield* collected(client.pull(store))
      ok(!records.some(({ entityId }) => entityId === picture.entityId), "the pull has the deleted record")
      recordOf(records, product.entityId)
      const platformId = idIn(published, picture.entityId)
      ok(Option.isNone(yield* client.find(store, "media", { ...picture, platformId })), "the deleted record is found")
    }),
  "an entity that was never published is not found": ({ client, open }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const product = aProduct()
      deepStrictEqual(yield* collected(client.pull(store)), [])
      ok(Option.isNone(yield* client.readBack(store, product)), "it is read back")
      for (const kind of ["product", "variant", "collection", "media"] as const)
        ok(Option.isNone(yield* client.find(store, kind, { ...product, entityId: newId() })), `a ${kind} is found`)
    }),
  "sales channels are read, and an entity is on each or not": ({ adapter, client, open }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const product = aProduct()
      const published = yield* client.publish(store, product)
      const channels = yield* client.salesChannels(store)
      const of = yield* client.entityChannels(store, idIn(published, product.entityId))
      strictEqual(channels.length > 0, adapter.capabilities.includes("salesChannels"))
      strictEqual(new Set(channels.map(({ id }) => id)).size, channels.length)
      deepStrictEqual(
        of.map(({ id, name }) => [id, name]),
        channels.map(({ id, name }) => [id, name])
      )
      for (const { is_published, state } of of) strictEqual(state === "published", is_published)
    }),
  "markets, definitions, metaobjects and translations are read to the last": ({ adapter, client, openWithSections }) =>
    Effect.gen(function* () {
      const { sections, store } = yield* openWithSections
      const type = sections.metaobjectDefinitions[0]?.type ?? "none"
      const read = {
        markets: yield* collected(client.markets(store)),
        metafieldDefinitions: yield* collected(client.metafieldDefinitions(store, "variant")),
        metaobjectDefinitions: yield* collected(client.metaobjectDefinitions(store)),
        metaobjectEntries: yield* collected(client.metaobjectEntries(store, type)),
        translations: yield* collected(client.translations(store, "product"))
      }
      for (const [section, items] of Object.entries(read)) {
        const capability = section.startsWith("metaobject") ? "metaobjects" : section
        strictEqual(items.length > 0, (adapter.capabilities as ReadonlyArray<string>).includes(capability), section)
      }
      deepStrictEqual(read, sections)
    })
}

const writingRules: Readonly<Record<string, Check>> = {
  "a pull gives back what was published": ({ client, open }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const product = aProduct()
      const published = yield* client.publish(store, product)
      const records = yield* collected(client.pull(store))
      const live = recordOf(records, product.entityId)
      strictEqual(live.platformId, idIn(published, product.entityId))
      deepStrictEqual(live.attributes, product.attributes)
      deepStrictEqual(
        live.media,
        product.media.map(({ entityId }) => idIn(published, entityId))
      )
      for (const variant of product.variants) {
        const record = recordOf(records, variant.entityId)
        deepStrictEqual([record.platformId, record.parentId], [idIn(published, variant.entityId), live.platformId])
        deepStrictEqual(record.attributes, variant.attributes)
      }
    }),
  "a later publish changes the values, deletes an empty metafield, and leaves the variants alone": ({ client, open }) =>
    Effect.gen(function* () {
      const { productsCreated, store } = yield* open
      const product = aProduct()
      const { platformIds } = yield* client.publish(store, product)
      const second = again(product, platformIds, { title: "Keel Jumper II", seo_title: "", "care.wash_at": "" })
      const changed = {
        ...second.variants[0],
        attributes: attributesOf({ sku: "OTHER" })
      } as (typeof second.variants)[0]
      yield* client.publish(store, { ...second, variants: [...second.variants.slice(1), changed] })
      const records = yield* collected(client.pull(store))
      const { attributes } = recordOf(records, product.entityId)
      deepStrictEqual([valueOf(attributes, "title"), valueOf(attributes, "seo_title")], ["Keel Jumper II", ""])
      ok(!Object.hasOwn(attributes, "care.wash_at"), "the metafield is still there")
      const skus = records.filter(({ kind }) => kind === "variant").map((each) => valueOf(each.attributes, "sku"))
      deepStrictEqual(skus, ["JUMPER-M", "JUMPER-S"])
      strictEqual(yield* productsCreated, 1)
    }),
  "the same publication again has its effect once": ({ client, open }) =>
    Effect.gen(function* () {
      const { productsCreated, store } = yield* open
      const product = aProduct()
      const results = yield* Effect.forEach([1, 2, 3], () => client.publish(store, product))
      deepStrictEqual(results, [results[0], results[0], results[0]])
      strictEqual(yield* productsCreated, 1)
      strictEqual((yield* collected(client.pull(store))).length, 4)
    }),
  "variants, collections and media are published alone, and found": ({ client, open }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const product = aProduct()
      const productPlatformId = idIn(yield* client.publish(store, product), product.entityId)
      const variant = Publication.Variant({ key: crypto.randomUUID(), ...aVariant("L"), productPlatformId })
      const collection = aCollection([productPlatformId])
      const picture = aPictureAlone("wool-on-a-line")
      for (const publication of [variant, collection, picture]) yield* client.publish(store, publication)
      const records = yield* collected(client.pull(store))
      strictEqual(recordOf(records, variant.entityId).parentId, productPlatformId)
      deepStrictEqual(recordOf(records, collection.entityId).members, [productPlatformId])
      strictEqual(valueOf(recordOf(records, picture.entityId).attributes, "alt"), "The wool-on-a-line")
      for (const publication of [variant, collection, picture])
        ok(Option.isSome(yield* client.readBack(store, publication)), `a ${publication._tag} is not read back`)
      const single = [
        { kind: "product", ...product },
        { kind: "variant", ...variant },
        { kind: "collection", ...collection },
        { kind: "media", ...picture }
      ] as const
      for (const { kind, ...published } of single) {
        const record = recordOf(records, published.entityId)
        for (const platformId of [record.platformId, null])
          deepStrictEqual(yield* client.find(store, kind, { ...published, platformId }), Option.some(record), kind)
      }
    }),
  "a variant shows the picture of its publish, another, or none, and keeps it if the publish has no picture": ({
    client,
    open
  }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const second = aPicture("jumper-from-behind")
      const product = ((made) => ({ ...made, media: [...made.media, second] }))(aProduct())
      const [shown, hidden] = [
        product.media[0]?.entityId ?? fail("no picture"),
        product.variants[1] ?? fail("no variant")
      ]
      const variants = product.variants.map((each) => ({
        ...each,
        picture: each === hidden ? null : { entityId: shown, platformId: null }
      }))
      const first = { ...product, variants }
      const published = yield* client.publish(store, first)
      ok(Option.isSome(yield* client.readBack(store, first)), "the first publish is not read back")
      const picturesOf = Effect.map(collected(client.pull(store)), (records) =>
        product.variants.map(({ entityId }) => recordOf(records, entityId).picture)
      )
      const [one, other] = [idIn(published, shown), idIn(published, second.entityId)]
      deepStrictEqual(yield* picturesOf, [one, null])
      const variant = Publication.Variant({
        key: "",
        ...hidden,
        platformId: idIn(published, hidden.entityId),
        productPlatformId: idIn(published, product.entityId)
      })
      const pictures = [
        [undefined, null],
        [{ entityId: shown, platformId: one }, one],
        [{ entityId: second.entityId, platformId: other }, other],
        [undefined, other],
        [null, null]
      ] as const
      for (const [picture, after] of pictures) {
        const later = { ...variant, key: crypto.randomUUID(), ...(picture !== undefined && { picture }) }
        if (picture !== undefined && picture !== null)
          ok(Option.isNone(yield* client.readBack(store, later)), "it is read back before it was sent")
        yield* client.publish(store, later)
        ok(Option.isSome(yield* client.readBack(store, later)), "it is not read back")
        deepStrictEqual(yield* picturesOf, [one, after])
      }
    }),
  "a picture that leaves its product leaves the variants that show it, and does not come back with the product": ({
    client,
    open
  }) =>
    Effect.gen(function* () {
      const { store } = yield* open
      const product = ((made) => ({ ...made, media: [...made.media, aPicture("jumper-from-behind")] }))(aProduct())
      const variants = product.variants.map((each, index) => ({
        ...each,
        picture: { entityId: product.media[index]?.entityId ?? fail("no picture"), platformId: null }
      }))
      const published = yield* client.publish(store, { ...product, variants })
      const [kept, gone] = product.media.map(({ entityId }) => idIn(published, entityId))
      const picturesAfter = (media: typeof product.media) =>
        Effect.gen(function* () {
          yield* client.publish(store, again({ ...product, media }, published.platformIds))
          const records = yield* collected(client.pull(store))
          return product.variants.map(({ entityId }) => recordOf(records, entityId).picture)
        })
      deepStrictEqual(yield* picturesAfter([...product.media].reverse()), [kept, gone])
      deepStrictEqual(yield* picturesAfter(product.media.slice(0, 1)), [kept, null])
      deepStrictEqual(yield* picturesAfter(product.media), [kept, null])
      deepStrictEqual(yield* picturesAfter([]), [null, null])
    }),
  "a first publish does not take over a record of the shop's staff with its handle or SKU, and is refused": ({
    client,
    open
  }) =>
    Effect.gen(function* () {
      const { create, productsCreated, store } = yield* open
      const own = aProduct()
      const productPlatformId = idIn(yield* client.publish(store, withKeys(own, "own", "OWN")), own.entityId)
      const [jumper, wool, large] = [
        yield* create({ kind: "product", title: "Old Jumper", handle: "keel-jumper", size: "S", sku: "OLD" }),
        yield* create({ kind: "collection", title: "Old Wool", handle: "wool" }),
        yield* create({ kind: "variant", productId: productPlatformId, size: "XL", sku: "LARGE" })
      ]
      const before = [yield* collected(client.pull(store)), yield* productsCreated]
      const sameSku = withKeys(aProduct(), "another", "OLD")
      const variant = Publication.Variant({
        key: crypto.randomUUID(),
        ...entity({ title: "L", option1: "L", sku: "LARGE", price: "1.00" }),
        productPlatformId
      })
      const refused = [
        [withKeys(aProduct(), "keel-jumper", "NEW"), jumper, "handle"],
        [sameSku, jumper, "SKU"],
        [aCollection([]), wool, "handle"],
        [variant, large, "SKU"]
      ] as const
      for (const [publication, record, key] of refused)
        for (const _ of [1, 2]) {
          const { _tag, code, isPartlyWritten, message } = failed(
            yield* Effect.either(client.publish(store, publication))
          )
          deepStrictEqual([_tag, code, isPartlyWritten], ["PlatformRefused", recordNotRead, undefined])
          ok(String(message).includes(`(${record})`) && String(message).includes(`same ${key}`), String(message))
          ok(Option.isNone(yield* client.readBack(store, publication)), "it is read back")
        }
      deepStrictEqual([yield* collected(client.pull(store)), yield* productsCreated], before)
      // The catalog has the record as another entity, which may have the same SKU.
      const others = { among: (ids: ReadonlyArray<string>) => Effect.succeed(new Set(ids)) }
      const second = yield* Effect.provideService(client.publish(store, sameSku), RecordsOfOthers, others)
      notStrictEqual(idIn(second, sameSku.entityId), jumper)
      const live = (yield* collected(client.pull(store))).find(({ platformId }) => platformId === jumper)
      strictEqual(valueOf(live?.attributes ?? {}, "title"), "Old Jumper")
    }),
  "a record with the handle or SKU of an entity that the shop has accepted without telling its id is the entity's": ({
    client,
    open
  }) =>
    Effect.gen(function* () {
      const { create, productsCreated, store } = yield* open
      const accepted = <E extends PublishedEntity>(one: E): E => ({ ...one, isAccepted: true })
      const take = (product: ProductPublication) =>
        client.publish(store, { ...accepted(product), variants: product.variants.slice(0, 1).map(accepted), media: [] })
      const [sock, hat, wool] = [
        yield* create({ kind: "product", title: "Old Sock", handle: "sock", size: "S", sku: "SOCK" }),
        yield* create({ kind: "product", title: "Old Hat", handle: "hat", size: "S", sku: "HAT" }),
        yield* create({ kind: "collection", title: "Old Wool", handle: "wool" })
      ]
      const before = yield* productsCreated
      const [sameHandle, sameSku] = [withKeys(aProduct(), "sock", "SOCK"), withKeys(aProduct(), "felt-hat", "HAT")]
      const collection = accepted(aCollection([]))
      const ids = [
        idIn(yield* take(sameHandle), sameHandle.entityId),
        idIn(yield* take(sameSku), sameSku.entityId),
        idIn(yield* client.publish(store, collection), collection.entityId)
      ]
      deepStrictEqual(ids, [sock, hat, wool])
      strictEqual(yield* productsCreated, before)
      const records = yield* collected(client.pull(store))
      for (const { entityId } of [sameHandle, sameSku, collection])
        ok(ids.includes(recordOf(records, entityId).platformId), "the record is not the entity's")
    }),
  "a shop has only what was published to it": ({ client, open }) =>
    Effect.gen(function* () {
      const [one, other] = [yield* open, yield* open]
      const product = aProduct()
      yield* client.publish(one.store, product)
      deepStrictEqual(yield* collected(client.pull(other.store)), [])
      ok(Option.isNone(yield* client.readBack(other.store, product)), "another shop reads it back")
      ok(Option.isNone(yield* client.find(other.store, "product", product)), "another shop finds it")
      ok(Option.isSome(yield* client.find(one.store, "product", product)), "its own shop does not find it")
    })
}

const failed = <A>(outcome: Either.Either<A, { readonly _tag: string; readonly message: string }>) =>
  Either.match(outcome, {
    // A spread leaves the message of an error out.
    onLeft: (error) => ({ ...error, message: error.message }) as Record<string, unknown>,
    onRight: () => fail("a call succeeded that the shop had to refuse, or that had to fail")
  })

const refusesCredentials = (platform: PlatformUnderTest, store: PlatformStore) =>
  Effect.gen(function* () {
    const { client } = platform
    for (const call of [
      Effect.asVoid(client.verify(store)),
      Effect.asVoid(client.publish(store, aProduct())),
      Effect.asVoid(client.readBack(store, aProduct())),
      Stream.runDrain(client.pull(store))
    ]) {
      const { _tag, code } = failed(yield* Effect.either(call))
      deepStrictEqual([_tag, code], ["PlatformRefused", "UNAUTHORIZED"])
    }
  })

const failureRules: Readonly<Record<string, { readonly needs?: ShopFailure; readonly check: Check }>> = {
  "a lost answer is an unknown outcome, and reading back tells it": {
    needs: "lost",
    check: ({ client, open }) =>
      Effect.gen(function* () {
        const shop = yield* open
        const product = aProduct()
        yield* shop.fail("lost")
        strictEqual(failed(yield* Effect.either(client.publish(shop.store, product)))._tag, "PlatformOutcomeUnknown")
        yield* shop.repair
        const live = yield* client.readBack(shop.store, product)
        // A publish of several calls may have reached the store in part. Then it is published again.
        const published = Option.isSome(live) ? live.value : yield* client.publish(shop.store, product)
        deepStrictEqual(yield* client.readBack(shop.store, product), Option.some(published))
        // Also by a later publication of the entity that does not know the platform id.
        const later = { ...product, key: crypto.randomUUID(), mayBeCreated: true }
        deepStrictEqual((yield* client.publish(shop.store, later)).platformIds, published.platformIds)
        strictEqual(yield* shop.productsCreated, 1)
        recordOf(yield* collected(client.pull(shop.store)), product.entityId)
      })
  },
  "a platform that is down has published nothing": {
    needs: "down",
    check: ({ client, open }) =>
      Effect.gen(function* () {
        const shop = yield* open
        const product = aProduct()
        yield* shop.fail("down")
        const { _tag } = failed(yield* Effect.either(client.publish(shop.store, product)))
        ok(_tag === "PlatformUnavailable" || _tag === "PlatformOutcomeUnknown", `it failed with ${_tag}`)
        yield* shop.repair
        ok(Option.isNone(yield* client.readBack(shop.store, product)), "it is read back")
        strictEqual(yield* shop.productsCreated, 0)
        yield* client.publish(shop.store, product)
        ok(Option.isSome(yield* client.readBack(shop.store, product)), "it is not read back")
      })
  },
  "a product without a title is refused by the name of the field, and nothing is published": {
    check: ({ client, open }) =>
      Effect.gen(function* () {
        const { productsCreated, store } = yield* open
        const untitled = { ...aProduct(), attributes: attributesOf({ handle: "untitled" }) }
        const { _tag, code, field, message } = failed(yield* Effect.either(client.publish(store, untitled)))
        strictEqual(_tag, "PlatformRefused")
        ok(String(field).includes("title"), `the field is ${field}`)
        ok(/^[A-Z_]+$/.test(String(code)) && String(message) !== "", `the refusal is ${code}: ${message}`)
        strictEqual(yield* productsCreated, 0)
      })
  },
  "a rate limit for long is unavailable, and nothing is published": {
    needs: "throttled",
    check: ({ client, open }) =>
      Effect.gen(function* () {
        const shop = yield* open
        const product = aProduct()
        yield* shop.fail("throttled")
        for (const call of [
          Effect.asVoid(client.publish(shop.store, product)),
          Effect.asVoid(client.verify(shop.store)),
          Stream.runDrain(client.pull(shop.store))
        ]) {
          const { _tag, reason } = failed(yield* Effect.either(call))
          deepStrictEqual([_tag, reason], ["PlatformUnavailable", "throttled"])
        }
        yield* shop.repair
        strictEqual(yield* shop.productsCreated, 0)
      })
  },
  "a call that a rate limit refused once is repeated when the platform allows it": {
    needs: "throttledOnce",
    check: ({ client, open }) =>
      Effect.gen(function* () {
        const shop = yield* open
        yield* shop.fail("throttledOnce")
        yield* client.publish(shop.store, aProduct())
        strictEqual(yield* shop.productsCreated, 1)
      })
  },
  "credentials that were revoked are refused as UNAUTHORIZED": {
    needs: "revoked",
    check: (platform) =>
      Effect.gen(function* () {
        const shop = yield* platform.open
        yield* platform.client.publish(shop.store, aProduct())
        yield* shop.fail("revoked")
        yield* refusesCredentials(platform, shop.store)
      })
  }
}

const rules = [
  ...Object.entries({ ...readingRules, ...writingRules }).map(([name, check]) => ({ name, check, needs: undefined })),
  ...Object.entries(failureRules).map(([name, { check, needs }]) => ({ name, check, needs }))
]

/**
 * The rules that every platform adapter keeps, for any test runner: each has a name and a check. Rules about failures that
 * the platform declares impossible, or about credentials that it does not have, are left out.
 */
export const platformContract = <R>(
  make: Effect.Effect<PlatformUnderTest, never, R>,
  impossible: ReadonlyArray<ShopFailure> = []
): ReadonlyArray<ContractRule<R>> =>
  rules
    .filter(({ needs }) => needs === undefined || !impossible.includes(needs))
    .map(({ check, name }) => ({
      name,
      check: Effect.flatMap(make, check).pipe(
        Effect.catchAllCause((cause) => new ContractBroken({ rule: name, message: Cause.pretty(cause) }))
      )
    }))
