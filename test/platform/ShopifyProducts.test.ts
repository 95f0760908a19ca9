import { assert, describe, it, layer } from "@effect/vitest"
import { Chunk, Duration, Effect, Fiber, Layer, Option, Stream } from "effect"
import { PublicationId } from "../../src/model/Ids.ts"
import { PlatformClient, type PlatformStore } from "../../src/platform/PlatformClient.ts"
import type { PlatformWriteError } from "../../src/platform/PlatformErrors.ts"
import { Publication } from "../../src/platform/Publication.ts"
import { holds } from "../../src/platform/shopify/Mapping.ts"
import { again, aPicture, aProduct, attributesOf, aVariant, entity } from "../../src/testing/platform/Publications.ts"
import { shopifyMetafields } from "../support/ShopifyMetafields.ts"
import { adminSchema } from "./AdminSchema.ts"
import { layerServer, layerShopify, openShop, tokenOf } from "./PlatformShops.ts"
import { fillShop } from "./ShopifyCatalog.ts"
import type { Owner } from "./ShopifyShop.ts"

/** Publishes a product with one variant. Returns later publications of the variant: `values` replace its attributes. */
const publishVariant = (store: PlatformStore) =>
  Effect.gen(function* () {
    const { publish } = yield* PlatformClient
    const variant = aVariant("S")
    const product = { ...aProduct(), variants: [variant] }
    const { platformIds } = yield* publish(store, product)
    return (values: Readonly<Record<string, string>>) =>
      Publication.Variant({
        key: PublicationId.make(crypto.randomUUID()),
        entityId: variant.entityId,
        platformId: platformIds.get(variant.entityId) ?? null,
        productPlatformId: platformIds.get(product.entityId) ?? assert.fail("no id"),
        attributes: { ...variant.attributes, ...attributesOf(values) }
      })
  })

const toEnvelope = (error: PlatformWriteError) => ({ ...error, message: error.message })

const fileFailed = {
  _tag: "PlatformRefused",
  code: "FILE_FAILED",
  message:
    "The store cannot show the file keel-jumper.jpg: The image could not be downloaded. Correct its address, then publish a product that shows it: this sends the file again.",
  field: null
}

const processing = {
  _tag: "PlatformUnavailable",
  reason: "processing",
  message: "The store's platform cannot be reached: it still processes the file."
}

describe.skipIf(adminSchema === undefined)("products, variants and pictures on Shopify", () => {
  layer(layerShopify().pipe(Layer.provideMerge(layerServer)), { excludeTestServices: true })((it) => {
    it.effect("a variant that is added to a product without options leaves the product's only variant", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const only = entity({ title: "Default Title", sku: "ONE" })
        const product = { ...aProduct(), attributes: attributesOf({ title: "Mug" }), variants: [only] }
        const { platformIds } = yield* publish(store, product)
        const [before] = [...shop.products.values()].flatMap(({ variantList }) => variantList)
        const added = Publication.Variant({
          key: PublicationId.make(crypto.randomUUID()),
          ...entity({ option1: "Blue", sku: "TWO" }),
          productPlatformId: platformIds.get(product.entityId) ?? assert.fail("no id")
        })
        yield* publish(store, added)
        const after = [...shop.products.values()].flatMap(({ variantList }) => variantList)
        assert.deepStrictEqual(
          after.map(({ id, sku }) => [id === before?.id, sku]),
          [
            [true, "ONE"],
            [false, "TWO"]
          ]
        )
      })
    )

    it.effect("a picture that replaces another is read back only after it was sent", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const product = aProduct()
        const { platformIds } = yield* publish(store, product)
        const before = again(product, platformIds)
        assert.isTrue(Option.isSome(yield* readBack(store, before)))
        const replaced = { ...before, media: [aPicture("sleeve")] }
        assert.isTrue(Option.isNone(yield* readBack(store, replaced)))
        const published = yield* publish(store, replaced)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, replaced)), published)
        const [sleeve] = replaced.media
        const file = shop.files.get(published.platformIds.get(sleeve?.entityId ?? product.entityId) ?? "")
        assert.strictEqual(file?.alt, "The sleeve")
      })
    )

    it.effect("pictures without platform ids are read back only in the order of the gallery", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { store } = yield* openShop
        const product = { ...aProduct(), media: [aPicture("front"), aPicture("back")] }
        const published = yield* publish(store, product)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, product)), published)
        const reordered = { ...product, media: product.media.toReversed() }
        assert.isTrue(Option.isNone(yield* readBack(store, reordered)))
      })
    )

    it.effect("the alt text of a picture is sent if the publish that brought the picture failed", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { script, shop, store } = yield* openShop
        const product = aProduct()
        const [picture] = product.media
        assert(picture !== undefined)
        script("SetMetafields", "refused")
        assert.strictEqual((yield* Effect.flip(publish(store, product)))._tag, "PlatformRefused")
        const [file] = shop.files.values()
        assert.strictEqual(file?.alt, "The keel-jumper")
        const changed = {
          ...product,
          media: [{ ...picture, attributes: { ...picture.attributes, ...attributesOf({ alt: "From the side" }) } }]
        }
        yield* publish(store, product)
        assert.isTrue(Option.isNone(yield* readBack(store, changed)))
        const published = yield* publish(store, changed)
        assert.deepStrictEqual([shop.files.size, file?.alt], [1, "From the side"])
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, changed)), published)
      })
    )

    it.effect("the alt text of a picture that is published alone is not sent with its product", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const product = aProduct()
        const { platformIds } = yield* publish(store, product)
        const [file] = shop.files.values()
        assert(file !== undefined)
        file.alt = "Written in the store"
        yield* publish(store, again(product, platformIds))
        assert.strictEqual(file.alt, "Written in the store")
        assert.isTrue(Option.isSome(yield* readBack(store, again(product, platformIds))))
      })
    )

    it.effect("a picture that the shop cannot fetch is reported, and sent again with its product", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const [picture] = aProduct().media
        assert(picture !== undefined)
        const withAddress = (url: string) => ({
          ...picture,
          attributes: { ...picture.attributes, ...attributesOf({ url }) }
        })
        const product = { ...aProduct(), media: [withAddress("https://pictures.example/broken.jpg")] }
        assert.deepEqual(toEnvelope(yield* Effect.flip(publish(store, product))), {
          ...fileFailed,
          message: `${fileFailed.message} The store has taken the other values of this publish.`,
          isPartlyWritten: true
        } as never)
        assert.deepStrictEqual(yield* readBack(store, product), Option.none())
        const corrected = { ...product, media: [withAddress("https://pictures.example/whole.jpg")] }
        const published = yield* publish(store, corrected)
        const [live] = shop.products.values()
        assert.deepStrictEqual(
          live?.gallery.map((id) => shop.files.get(id)?.status),
          ["READY"]
        )
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, corrected)), published)
      })
    )

    it.effect("a picture that fails after its publish takes no alt text until its product has replaced it", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const product = aProduct()
        const { platformIds } = yield* publish(store, product)
        const before = again(product, platformIds)
        const [file] = shop.files.values()
        const [picture] = before.media
        assert(file !== undefined && picture !== undefined)
        file.status = "FAILED"
        const changed = { ...picture, attributes: { ...picture.attributes, ...attributesOf({ alt: "From the side" }) } }
        const alone = Publication.Media({ key: PublicationId.make(crypto.randomUUID()), ...changed })
        assert.deepEqual(toEnvelope(yield* Effect.flip(publish(store, alone))), fileFailed as never)
        assert.isTrue(Option.isNone(yield* readBack(store, alone)))
        assert.isTrue(Option.isNone(yield* readBack(store, before)))
        const published = yield* publish(store, before)
        const [live] = shop.products.values()
        assert.deepStrictEqual(live?.gallery, [published.platformIds.get(picture.entityId)])
        assert.notStrictEqual(live?.gallery[0], file.id)
        const replaced = { ...alone, platformId: live?.gallery[0] ?? null }
        yield* publish(store, replaced)
        assert.isTrue(Option.isSome(yield* readBack(store, replaced)))
      })
    )

    it.effect("the alt text of a picture that the shop still processes waits", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        shop.processing = 3
        const product = aProduct()
        const { platformIds } = yield* publish(store, product)
        const [picture] = again(product, platformIds).media
        assert(picture !== undefined)
        const changed = { ...picture, attributes: { ...picture.attributes, ...attributesOf({ alt: "From the side" }) } }
        const alone = Publication.Media({ key: PublicationId.make(crypto.randomUUID()), ...changed })
        assert.deepEqual(toEnvelope(yield* Effect.flip(publish(store, alone))), processing as never)
        assert.notInclude(asked(), "UpdateFiles")
        assert.isTrue(Option.isNone(yield* readBack(store, alone)))
        const published = yield* publish(store, alone)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, alone)), published)
      })
    )

    it.effect("a picture that the shop still processes is shown for its variant later", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const product = aProduct()
        const first = yield* publish(store, product)
        shop.processing = 9
        const behind = aPicture("from-behind")
        const media = [...again(product, first.platformIds).media, behind]
        const { platformIds } = yield* publish(store, { ...again(product, first.platformIds), media })
        const [variant] = again(product, platformIds).variants
        assert(variant !== undefined)
        const pictured = Publication.Variant({
          ...variant,
          key: PublicationId.make(crypto.randomUUID()),
          productPlatformId: platformIds.get(product.entityId) ?? "",
          picture: { entityId: behind.entityId, platformId: platformIds.get(behind.entityId) ?? null }
        })
        assert.deepInclude(yield* Effect.flip(publish(store, pictured)), {
          _tag: "PlatformOutcomeUnknown",
          reason: "processing"
        })
        assert.isTrue(Option.isNone(yield* readBack(store, pictured)))
        for (const file of shop.files.values()) file.processing = 0
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, pictured)), null)
        const published = yield* publish(store, pictured)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, pictured)), published)
      })
    )

    it.effect("a picture whose publish had no answer is found in the gallery before the search finds it", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { script, shop, store } = yield* openShop
        shop.searchLag = 2
        const product = aProduct()
        script("SetProduct", "lost")
        assert.strictEqual((yield* Effect.flip(publish(store, product)))._tag, "PlatformOutcomeUnknown")
        const published = yield* publish(store, product)
        assert.deepStrictEqual(
          shop.made.filter((kind) => kind === "MediaImage"),
          ["MediaImage"]
        )
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, product)), published)
      })
    )

    it.effect("a picture whose publish had no answer is not sent again while the shop processes it", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { script, shop, store } = yield* openShop
        shop.processing = 2
        const product = aProduct()
        script("SetProduct", "lost")
        assert.strictEqual((yield* Effect.flip(publish(store, product)))._tag, "PlatformOutcomeUnknown")
        assert.deepEqual(toEnvelope(yield* Effect.flip(publish(store, product))), processing as never)
        const { platformIds } = yield* publish(store, product)
        assert.deepStrictEqual([...shop.files.keys()], [platformIds.get(product.media[0]?.entityId ?? assert.fail())])
      })
    )

    it.effect("a copy of a file, to whose name the shop has added an id, is found and read as the file", () =>
      Effect.gen(function* () {
        const { publish, pull, readBack } = yield* PlatformClient
        const { script, shop, store } = yield* openShop
        shop.searchLag = 1
        const picture = entity({
          alt: "A boot",
          url: "https://pictures.example/boot.jpg",
          mime_type: "image/jpeg",
          file_name: "My boot (left).jpg"
        })
        const alone = Publication.Media({ key: PublicationId.make(crypto.randomUUID()), ...picture })
        script("CreateFiles", "lost", 2)
        for (let attempt = 0; attempt < 2; attempt++)
          assert.strictEqual((yield* Effect.flip(publish(store, alone)))._tag, "PlatformOutcomeUnknown")
        const [first, copy] = shop.files.values()
        assert(first !== undefined && copy !== undefined)
        shop.files.delete(first.id)
        assert.isTrue(Option.isNone(yield* readBack(store, alone)), "the search does not find it yet")
        const { platformIds } = yield* publish(store, alone)
        assert.deepStrictEqual([...platformIds], [[picture.entityId, copy.id]])
        const records = Chunk.toReadonlyArray(yield* Stream.runCollect(pull(store)))
        assert.deepStrictEqual(
          records.map(({ attributes, entityId }) => [attributes.file_name?.value, entityId]),
          [["My boot (left).jpg", picture.entityId]]
        )
      })
    )

    it.effect("the name of a new file has the ending of its address", () =>
      Effect.gen(function* () {
        const { publish, pull, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        for (const [url, file_name, ending] of [
          ["https://cdn.example/c/1f.HD-1080p.mp4?v=1.5", "Tying a knot.mov", ".mp4"],
          ["https://cdn.example/c/knot.PNG", "Tying a knot.png", ".PNG"],
          ["https://cdn.example/c/knot.glb", "Tying a knot", ".glb"]
        ] as const) {
          const file = entity({ url, file_name, mime_type: "video/mp4" })
          const alone = Publication.Media({ key: PublicationId.make(crypto.randomUUID()), ...file })
          const published = yield* publish(store, alone)
          const { filename } = [...shop.files.values()].at(-1) ?? assert.fail("no file")
          assert.strictEqual(filename, `Tying a knot-${file.entityId}${ending}`)
          assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, alone)), published)
        }
        const records = Chunk.toReadonlyArray(yield* Stream.runCollect(pull(store)))
        assert.deepStrictEqual(
          records.map(({ attributes }) => attributes.file_name?.value),
          ["Tying a knot.mp4", "Tying a knot.PNG", "Tying a knot.glb"]
        )
      })
    )

    it.effect("an external video is found among all of the store, page by page until it is found", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { asked, script, shop, store } = yield* openShop
        const makeVideo = (index: number) =>
          shop.makeFile({ contentType: "EXTERNAL_VIDEO", originalSource: `https://video.example/${index}` })
        for (let index = 0; index < 60; index++) makeVideo(index)
        const video = Publication.Media({
          key: PublicationId.make(crypto.randomUUID()),
          ...entity({ alt: "Knitting", url: "https://video.example/knitting", mime_type: "text/html" })
        })
        script("CreateFiles", "lost")
        assert.strictEqual((yield* Effect.flip(publish(store, video)))._tag, "PlatformOutcomeUnknown")
        for (let index = 60; index < 160; index++) makeVideo(index)
        const searched = () => asked().filter((name) => name === "FilesBy").length
        const before = searched()
        assert.isTrue(Option.isSome(yield* readBack(store, video)))
        assert.strictEqual(searched() - before, 2)
        yield* publish(store, video)
        assert.strictEqual(shop.files.size, 161)
      })
    )

    it.effect("a unit of weight that alone has changed is read back only after it was sent", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { store } = yield* openShop
        const variant = yield* publishVariant(store)
        for (const unit of ["kg", ""]) {
          const changed = variant({ weight_unit: unit })
          assert.isTrue(Option.isNone(yield* readBack(store, changed)))
          const published = yield* publish(store, changed)
          assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, changed)), published)
        }
        const grams = variant({ weight_unit: "g" })
        assert.isTrue(Option.isSome(yield* readBack(store, grams)), "a weight without a unit is sent in grams")
      })
    )

    it.effect("the unit of a weight that is not sent, or that is empty, is not read back", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { store } = yield* openShop
        const variant = yield* publishVariant(store)
        const { attributes, ...kilograms } = variant({ weight_unit: "kg" })
        const { weight: _, ...without } = attributes
        assert.isTrue(Option.isSome(yield* readBack(store, { ...kilograms, attributes: without })))
        yield* publish(store, variant({ weight: "" }))
        assert.isTrue(Option.isSome(yield* readBack(store, variant({ weight: "", weight_unit: "kg" }))))
      })
    )

    it.effect("the first publish of a product that the shop has writes the metafields of its variants together", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        const product = { ...aProduct(), variants: Array.from({ length: 30 }, (_, index) => aVariant(`${index}`)) }
        yield* publish(store, product)
        const calls = (operation: string) => asked().filter((each) => each === operation).length
        const live = () =>
          [...shop.products.values()].flatMap(({ variantList }) =>
            variantList.map(({ metafieldValues }) => metafieldValues.find(({ key }) => key === "wash_at")?.value)
          )
        // The call of the product's own metafields.
        assert.strictEqual(calls("SetMetafields"), 1)
        for (const [value, called] of [
          ["40", { SetMetafields: 3, DeleteMetafields: 0 }],
          ["", { SetMetafields: 3, DeleteMetafields: 1 }]
        ] as const) {
          const variants = product.variants.map((variant) => ({
            ...variant,
            attributes: { ...variant.attributes, ...attributesOf({ "care.wash_at": value }) }
          }))
          yield* publish(store, { ...product, key: PublicationId.make(crypto.randomUUID()), variants })
          assert.deepStrictEqual(
            { SetMetafields: calls("SetMetafields"), DeleteMetafields: calls("DeleteMetafields") },
            called
          )
          assert.deepStrictEqual(live(), Array(30).fill(value === "" ? undefined : value))
        }
      })
    )

    it.effect("refused metafields of a product and its variants are named, and all others are written", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        const variants = [aVariant("S"), aVariant("M")] as const
        const product = { ...aProduct(), isAccepted: true, variants }
        const { product: theirs } = shop.productSet({
          identifier: { handle: "keel-jumper" },
          input: {
            title: "Jumper",
            handle: "keel-jumper",
            // Others have written them, so ours are sent, and refused.
            metafields: [
              { namespace: "app--9--ours", key: "rank", type: "single_line_text_field", value: "2" },
              { namespace: "protected", key: "price", type: "single_line_text_field", value: "2" }
            ],
            variants: variants.map(({ attributes }) => ({
              inventoryItem: { sku: attributes.sku?.value },
              optionValues: [{ optionName: "Size", name: attributes.option1?.value }]
            }))
          }
        })
        const specs = Array.from({ length: 30 }, (_, index) => [`spec.field_${index}`, "3"] as const)
        const more = {
          ...Object.fromEntries(specs),
          "app--9--ours.rank": "1",
          "protected.price": "1",
          "spec.blank": " "
        }
        const refused = yield* Effect.flip(
          publish(store, {
            ...product,
            attributes: { ...product.attributes, ...attributesOf(more) },
            variants: [
              variants[0],
              {
                ...variants[1],
                attributes: {
                  ...variants[1].attributes,
                  ...attributesOf({ "care.wash_at": "hot", "care.dry": "flat" })
                }
              }
            ]
          })
        )
        assert.deepEqual({ ...refused, message: refused.message }, {
          _tag: "PlatformRefused",
          code: "APP_NOT_AUTHORIZED",
          message:
            "app--9--ours.rank: Access to this namespace and key on Metafields for this resource type is not allowed. protected.price: Namespace protected is a reserved namespace. spec.blank: Value can't be blank. (and 1 more). The store has taken the other values of this publish.",
          field: "metafields.7",
          isPartlyWritten: true
        } as never)
        const written = (owner: Owner | undefined) =>
          owner?.metafieldValues.map(({ key, namespace }) => `${namespace}.${key}`).sort()
        assert.deepStrictEqual(
          written(theirs ?? undefined),
          [
            "app--9--ours.rank",
            "catalog.entity_id",
            "care.wash_at",
            "protected.price",
            ...specs.map(([key]) => key)
          ].sort()
        )
        assert.deepStrictEqual(theirs?.variantList.map(written), [
          ["care.wash_at", "catalog.entity_id"],
          ["care.dry", "catalog.entity_id"]
        ])
        // Two groups, and the second again without the refused ones.
        assert.lengthOf(
          asked().filter((name) => name === "SetMetafields"),
          3
        )
      })
    )

    it.effect("all metafields of a variant are read with its product, 250 variants in one call", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { asked, script, store } = yield* openShop
        const product = aProduct()
        const fields = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`care.field_${index}`, "1"]))
        const variants = Array.from({ length: 300 }, (_, index) => {
          const variant = aVariant(`${index}`)
          const options = { option1: `Size ${index % 20}`, option2: `Colour ${Math.floor(index / 20)}` }
          // Our id is written behind the other metafields of a new variant.
          const values = attributesOf(index === 0 ? { ...options, ...fields } : options)
          return { ...variant, attributes: { ...variant.attributes, ...values } }
        })
        // Metafields of a product are written by a call of their own, which does not happen here.
        const attributes = Object.fromEntries(Object.entries(product.attributes).filter(([key]) => !key.includes(".")))
        const publication = { ...product, attributes, variants }
        script("SetProduct", "lost")
        yield* Effect.flip(publish(store, publication))
        const before = asked().length
        assert.isTrue(Option.isSome(yield* readBack(store, publication)))
        assert.lengthOf(
          asked()
            .slice(before)
            .filter((name) => name === "ProductVariants"),
          2
        )
      })
    )

    it.effect("an SEO title, which Shopify lists as a metafield too, is not replaced by an earlier one", () =>
      Effect.gen(function* () {
        const { find, publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const first = aProduct()
        const { platformIds } = yield* publish(store, first)
        const [live] = shop.products.values()
        const record = Option.getOrThrow(yield* find(store, "product", again(first, platformIds)))
        assert.deepStrictEqual(
          Object.keys(record.attributes).filter((key) => key.startsWith("global.")),
          []
        )
        // A refresh may have taken the metafields for others of the product.
        const earlier = attributesOf({ "global.title_tag": "Old title", "global.description_tag": "Old words" })
        const values = attributesOf({ seo_title: "New title", seo_description: "New words" })
        const later = { ...again(first, platformIds), attributes: { ...first.attributes, ...values, ...earlier } }
        for (let times = 0; times < 2; times++) {
          yield* publish(store, later)
          assert.deepEqual(live?.values.seo, { title: "New title", description: "New words" })
          assert.isTrue(Option.isSome(yield* readBack(store, later)))
        }
      })
    )

    it.effect("the order of more than 250 variants is sent in parts", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        const variants = Array.from({ length: 300 }, (_, index) =>
          entity({ sku: `JUMPER-${index}`, option1: String(index % 20), option2: String(Math.floor(index / 20)) })
        )
        const options = JSON.stringify(["Size", "Colour"].map((name) => ({ name, values: [] })))
        const product = { ...aProduct(), attributes: attributesOf({ title: "Jumper", options }), variants, media: [] }
        const { platformIds } = yield* publish(store, product)
        const later = again({ ...product, variants: [...variants].reverse() }, platformIds)
        yield* publish(store, later)
        const [live] = shop.products.values()
        assert.deepStrictEqual(
          live?.variantList.map(({ sku }) => sku),
          variants.map(({ attributes }) => attributes.sku?.value ?? "").reverse()
        )
        assert.lengthOf(
          asked().filter((name) => name === "OrderVariants"),
          2
        )
        assert.isTrue(Option.isSome(yield* readBack(store, later)))
      })
    )

    it.effect("the price of a variant is published if its option values are linked to metafields", () =>
      Effect.gen(function* () {
        const { publish } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const variant = yield* publishVariant(store)
        const [live] = shop.products.values()
        assert.isDefined(live)
        live.isLinked = true
        yield* publish(store, variant({ price: "79.00" }))
        assert.strictEqual(live.variantList[0]?.price, "79.00")
        const refused = yield* Effect.flip(publish(store, variant({ option1: "Small" })))
        assert.include(refused.message, "Cannot set name for an option value linked to a metafield.")
      })
    )

    it.effect("a result of a bulk operation whose records are not behind their parents is refused", () =>
      Effect.gen(function* () {
        const { pull } = yield* PlatformClient
        const { server, shop, store } = yield* openShop
        fillShop(shop, 2)
        // The first file has pictures, which have no parents.
        server.script("", "BulkFile", "scattered", 2)
        const failed = yield* Effect.flip(Stream.runDrain(pull(store)))
        server.repair("")
        assert.deepInclude({ ...failed }, { _tag: "PlatformUnavailable", reason: "nonsense" })
      })
    )

    it.effect("metafields of other apps and reserved ones are not sent to a shop that lacks them", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const reserved = attributesOf({ "app--9--ours.rank": "1", "protected.price": "1" })
        const variant = aVariant("S")
        const product = aProduct()
        const publication = {
          ...product,
          attributes: { ...product.attributes, ...reserved },
          variants: [{ ...variant, attributes: { ...variant.attributes, ...reserved } }]
        }
        const { platformIds } = yield* publish(store, publication)
        assert.isTrue(Option.isSome(yield* readBack(store, publication)))
        yield* publish(store, again(publication, platformIds))
        const [live] = shop.products.values()
        const keys = (owner: Owner | undefined) => owner?.metafieldValues.map(({ namespace }) => namespace).sort()
        assert.deepStrictEqual(keys(live), ["care", "catalog"])
        assert.deepStrictEqual(keys(live?.variantList[0]), ["care", "catalog"])
        // A shop that has one takes no other value of it.
        live?.metafieldValues.push({ namespace: "protected", key: "price", type: "single_line_text_field", value: "2" })
        assert.isTrue(Option.isNone(yield* readBack(store, publication)))
        const refused = yield* Effect.flip(publish(store, again(publication, platformIds)))
        assert.include(refused.message, "protected.price: Namespace protected is a reserved namespace.")
      })
    )

    it.effect(
      "a refused metafield of a variant is named with the SKU; the call is not repeated if a refusal names no metafield",
      () =>
        Effect.gen(function* () {
          const { publish } = yield* PlatformClient
          const { asked, shop, store } = yield* openShop
          const variant = yield* publishVariant(store)
          const sent = () => asked().filter((name) => name === "SetMetafields").length
          const before = sent()
          for (const [value, message, field] of [
            ["hot", "JUMPER-S, care.wash_at: Value must be an integer.", "metafields.0.value"],
            ["40", "Internal limit reached.", "metafields"]
          ] as const) {
            if (value === "40")
              shop.metafieldsSet = () => ({
                metafields: null,
                userErrors: [{ field: ["metafields"], message: "Internal limit reached.", code: "INVALID_VALUE" }]
              })
            const refused = yield* Effect.flip(publish(store, variant({ "care.wash_at": value })))
            assert.deepEqual({ ...refused, message: refused.message }, {
              _tag: "PlatformRefused",
              code: "INVALID_VALUE",
              message: `${message} The store has taken the other values of this publish.`,
              field,
              isPartlyWritten: true
            } as never)
          }
          assert.strictEqual(sent() - before, 2)
        })
    )

    it.effect("a refresh waits while other bulk operations of the token run", () =>
      Effect.gen(function* () {
        const { pull } = yield* PlatformClient
        const { asked, script, shop, store } = yield* openShop
        fillShop(shop, 2)
        script("RunBulk", "inProgress", 2)
        const records = Chunk.toReadonlyArray(yield* Stream.runCollect(pull(store)))
        assert.lengthOf(
          records.filter(({ kind }) => kind === "product"),
          2
        )
        // Files, products and collections are three operations.
        assert.lengthOf(
          asked().filter((name) => name === "RunBulk"),
          5
        )
      })
    )

    it.effect("a refresh that is interrupted cancels its bulk operation", () =>
      Effect.gen(function* () {
        const { pull } = yield* PlatformClient
        const { asked, script, server, store } = yield* openShop
        script("BulkState", "hang")
        const fiber = yield* Effect.fork(Stream.runDrain(pull(store)))
        yield* Effect.suspend(() => Effect.succeed(server.hanging.get(tokenOf(store)) ?? 0)).pipe(
          Effect.tap(() => Effect.sleep(2)),
          Effect.repeat({ until: (hanging) => hanging > 0 })
        )
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(asked(), ["RunBulk", "BulkState", "CancelBulk"])
      })
    )

    it.effect("a product with so many metafields of variants that one call may not have them is published", () =>
      Effect.gen(function* () {
        const { publish, readBack } = yield* PlatformClient
        const { asked, shop, store } = yield* openShop
        const care = { "care.dry": "flat", "care.iron": "no", "care.spin": "no", "care.bleach": "no" }
        const variants = Array.from({ length: 400 }, (_, index) => {
          const variant = aVariant(`${index}`)
          const options = { option1: `${index % 20}`, option2: `${Math.floor(index / 20)}` }
          return { ...variant, attributes: { ...variant.attributes, ...attributesOf({ ...care, ...options }) } }
        })
        const product = { ...aProduct(), variants }
        const published = yield* publish(store, product)
        const keysOfVariants = () =>
          [...shop.products.values()].flatMap(({ variantList }) =>
            variantList.map(({ metafieldValues }) => metafieldValues.map(({ key }) => key).sort())
          )
        const expected = Array(400).fill(["bleach", "dry", "entity_id", "iron", "spin", "wash_at"])
        assert.deepStrictEqual(keysOfVariants(), expected)
        const called = asked().filter((name) => name.startsWith("Set"))
        assert.deepStrictEqual(called.slice(0, 2), ["SetProduct", "SetMetafields"])
        // 336 variants have their metafields in the first call: 10 + 400 * 0.2 + 1.9 + 336 * 2.4 points are below 900. The other 64
        // and the product have 386 metafields.
        assert.lengthOf(called, 17)
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, product)), published)
        // Somebody has deleted the product in the shop.
        shop.products.clear()
        yield* publish(store, again(product, published.platformIds))
        assert.deepStrictEqual(keysOfVariants(), expected)
      })
    )

    it.effect("a variant is read with 250 metafields", () =>
      Effect.gen(function* () {
        const { find, publish, readBack } = yield* PlatformClient
        const { shop, store } = yield* openShop
        const variant = yield* publishVariant(store)
        const [live] = [...shop.products.values()].flatMap(({ variantList }) => variantList)
        assert(live !== undefined)
        const ofApps = Array.from({ length: 245 }, (_, index) => ({
          namespace: "app",
          key: `field-${index}`,
          type: "single_line_text_field",
          value: "theirs"
        }))
        live.metafieldValues.unshift(...ofApps)
        assert.isTrue(Option.isSome(yield* readBack(store, variant({}))))
        const emptied = variant({ "care.wash_at": "" })
        assert.isTrue(Option.isNone(yield* readBack(store, emptied)))
        const published = yield* publish(store, emptied)
        assert.deepStrictEqual(
          live.metafieldValues.filter(({ namespace }) => namespace !== "app").map(({ key }) => key),
          ["entity_id"]
        )
        assert.deepStrictEqual(Option.getOrNull(yield* readBack(store, emptied)), published)
        for (const platformId of [emptied.platformId, null]) {
          const found = Option.getOrThrow(yield* find(store, "variant", { ...emptied, platformId }))
          assert.lengthOf(
            Object.keys(found.attributes).filter((key) => key.startsWith("app.")),
            245
          )
        }
      })
    )
  })

  layer(layerShopify({ bulkStartLimit: Duration.zero }).pipe(Layer.provideMerge(layerServer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("a refresh fails if other bulk operations of the token do not end", () =>
      Effect.gen(function* () {
        const { pull } = yield* PlatformClient
        const { asked, script, store } = yield* openShop
        script("RunBulk", "inProgress", 9)
        const failed = yield* Effect.flip(Stream.runDrain(pull(store)))
        assert.deepEqual({ ...failed, message: failed.message }, {
          _tag: "PlatformUnavailable",
          reason: "throttled",
          message: "The store's platform cannot be reached: it limits the number of requests."
        } as never)
        assert.deepStrictEqual(asked(), ["RunBulk"])
      })
    )
  })
})

describe("what Shopify returns after a publish", () => {
  const holding = (key: string, type: string, sent: string, returned: string) =>
    holds(
      "product",
      { ...entity({}), attributes: { [key]: { type, value: sent } } },
      { [key]: { type, value: returned } }
    )

  it.each(shopifyMetafields)("holds a metafield of type %s that was sent as %j and is returned as %j", (...field) => {
    assert.isTrue(holding("specs.field", ...field))
  })

  it("holds tags and a handle in Shopify's form, and no other value", () => {
    const tags = "list.single_line_text_field"
    assert.isTrue(holding("tags", tags, '[" Red ","red","a,b"]', '["a","b","Red"]'))
    assert.isTrue(holding("handle", "single_line_text_field", "Summer Sale", "summer-sale"))
    assert.isFalse(holding("tags", tags, '["Red"]', '["Red","blue"]'))
    assert.isFalse(holding("handle", "single_line_text_field", "Summer Sale", "summer-sale-1"))
    assert.isFalse(holding("specs.field", "dimension", '{"value":1,"unit":"cm"}', '{"value":1,"unit":"m"}'))
  })
})
