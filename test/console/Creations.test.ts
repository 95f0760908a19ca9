import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EntityId, nilUuid } from "../../src/model/Ids.ts"
import { actingAs, anEntity, Catalog, CatalogChange, CatalogChanges, Drafts, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, ask, pagesServer, withNote } from "../oauth/PagesServer.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { aMerchant, aReview, assertForeignForm, assertNotThere, csrfOf, textOf } from "./Merchant.ts"

type Form = Readonly<Record<string, string>>

/** A merchant, and functions that open and send the form at an address. */
const aCreator = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, cookie } = merchant
  const open = (address: string) => ask(address, { cookie })
  const send = (path: string, form: Form, as = cookie) => ask(path, { cookie: as, form })
  const fill = (address: string, values: Form) =>
    Effect.gen(function* () {
      const [path = ""] = address.split("?")
      const answer = yield* open(address)
      assert.strictEqual(answer.status, 200, answer.text)
      const form = { ...sectionsOf(answer.text, path).hidden, ...values }
      return { form, answer: yield* send(path, form) }
    })
  const valuesOf = (id: string) =>
    Effect.map(
      Effect.flatMap(Drafts, (drafts) => drafts.get(EntityId.make(id), null)),
      ({ attributes }) =>
        Object.fromEntries(attributes.flatMap(({ key, value }) => (value === "" ? [] : [[key, value]])))
    ).pipe(actingAs(actor), Effect.orDie)
  const storesOf = (id: string) =>
    Effect.map(
      Effect.flatMap(Drafts, (drafts) => drafts.projections(EntityId.make(id))),
      (all) => all.map(({ store_id }) => store_id)
    ).pipe(actingAs(actor), Effect.orDie)
  return { ...merchant, open, send, fill, valuesOf, storesOf }
})

const leadsTo = (answer: Answer) => {
  assert.strictEqual(answer.status, 303, textOf(answer))
  return String(answer.headers.get("location"))
}

const idIn = (address: string) => new URL(address, "http://host").searchParams.get("id") ?? ""

/** The problems that a form shows, at its fields and above it. */
const problemsIn = ({ text }: Answer) =>
  [...text.matchAll(/<p class="wrong"[^>]*>([^<]*)<\/p>|role="alert"><p>([^<]*)<\/p>/g)].map(
    ([, atField, ofForm]) => atField ?? ofForm
  )

const valueIn = ({ text }: Answer, name: string) =>
  new RegExp(`<input[^>]* name="${name}"[^>]*>`).exec(text)?.[0].match(/ value="([^"]*)"/)?.[1]

/** What happens once, between the look-up of the selected products and the change of the collection. */
let meanwhile: Effect.Effect<void> = Effect.void
const disturbed = Layer.effect(
  Drafts,
  Effect.map(Drafts, (drafts) => ({
    ...drafts,
    changeMembers: (...change) =>
      Effect.suspend(() => {
        const disturbance = meanwhile
        meanwhile = Effect.void
        return Effect.zipRight(disturbance, drafts.changeMembers(...change))
      })
  }))
)

layer(pagesServer({}, anyDatabase, disturbed), { excludeTestServices: true })("forms that create", (it) => {
  it.effect("a product with its price, on the chosen stores; sent twice it is one product", () =>
    Effect.gen(function* () {
      const { cookie, files, fill, send, shop, storesOf, valuesOf } = yield* aCreator
      const list = yield* ask("/products", { cookie })
      assert.include(list.text, 'href="/products/new"')
      const { answer, form } = yield* fill("/products/new", {
        title: " Lantern ",
        vendor: "Tern",
        sku: "L-1",
        price: "19.90",
        [`store-${shop.id}`]: "yes"
      })
      const address = leadsTo(answer)
      assert.strictEqual(address, `/entity?id=${form.id}&note=created`)
      assert.deepInclude(yield* valuesOf(idIn(address)), { title: "Lantern", vendor: "Tern" })
      assert.deepStrictEqual(yield* storesOf(idIn(address)), [shop.id])
      assert.notDeepEqual(shop.id, files.id)
      assert.strictEqual(leadsTo(yield* send("/products/new", form)), address)
      const found = yield* ask("/products?search=Lantern", { cookie })
      assert.match(textOf(found), /L-1/)
      assert.match(textOf(found), /1 row on this page/)
    })
  )

  it.effect("a second entity if somebody goes back to a form and types other values", () =>
    Effect.gen(function* () {
      const { cookie, fill, send, shop, storesOf, valuesOf } = yield* aCreator
      const { answer, form } = yield* fill("/products/new", { title: "Lantern", sku: "L-1", price: "19.90" })
      const first = leadsTo(answer)
      for (const values of [{ title: "Torch" }, { sku: "L-2" }, { price: "20" }, { [`store-${shop.id}`]: "yes" }]) {
        const again = yield* send("/products/new", { ...form, ...values })
        assert.strictEqual(again.status, 409)
        assert.deepStrictEqual(problemsIn(again), [
          "You have sent this form before with other values, which were created. Send it again to create another one."
        ])
        const hidden = sectionsOf(again.text, "/products/new").hidden
        assert.notStrictEqual(hidden.id, form.id)
        const second = leadsTo(yield* send("/products/new", { ...form, ...values, ...hidden }))
        assert.strictEqual(second, `/entity?id=${hidden.id}&note=created`)
        assert.deepStrictEqual(yield* storesOf(String(hidden.id)), `store-${shop.id}` in values ? [shop.id] : [])
      }
      assert.strictEqual(leadsTo(yield* send("/products/new", form)), first)
      assert.strictEqual((yield* valuesOf(idIn(first))).title, "Lantern")
      assert.match(textOf(yield* ask("/products?search=Lantern", { cookie })), /4 rows on this page/)
      const address = `/variants/new?of=${idIn(first)}`
      const large = yield* fill(address, { "option-name": "Size", "option-former": "S", "option-0": "L" })
      // The product has an option since, which is what the form has created.
      assert.strictEqual(leadsTo(yield* send("/variants/new", large.form)), leadsTo(large.answer))
      const other = yield* send("/variants/new", { ...large.form, "option-0": "XL" })
      assert.strictEqual(other.status, 409)
      assert.strictEqual(valueIn(other, "option-0"), "XL")
      const { hidden } = sectionsOf(other.text, "/variants/new")
      assert.strictEqual(
        leadsTo(yield* send("/variants/new", { ...large.form, "option-0": "XL", ...hidden })),
        leadsTo(large.answer)
      )
      assert.strictEqual((yield* valuesOf(idIn(first))).options, '[{"name":"Size","values":["S","L","XL"]}]')
    })
  )

  it.effect("nothing if a chosen store was unlinked meanwhile", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, fill } = yield* aCreator
      yield* Effect.flatMap(Stores, (stores) => stores.unlink(files.domain)).pipe(actingAs(actor))
      const { answer } = yield* fill("/products/new?of=x", { title: "Lantern", [`store-${files.id}`]: "yes" })
      assert.strictEqual(answer.status, 409)
      assert.deepStrictEqual(problemsIn(answer), [
        "A store that you chose is not linked any more. Check the stores, then send the form again."
      ])
      assert.match(textOf(yield* ask("/products?search=Lantern", { cookie })), /Nothing was found/)
    })
  )

  it.effect("all stores are chosen at first", () =>
    Effect.gen(function* () {
      const { files, open, shop } = yield* aCreator
      const { text } = yield* open("/collections/new")
      for (const { id } of [shop, files]) assert.match(text, new RegExp(`name="store-${id}" value="yes" checked`))
    })
  )

  it.effect("a refused form shows each problem at its field, and keeps what was typed", () =>
    Effect.gen(function* () {
      const { fill, files } = yield* aCreator
      const { answer } = yield* fill("/products/new", {
        title: "x".repeat(256),
        vendor: "Tern",
        price: "ten",
        [`store-${files.id}`]: "yes"
      })
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(problemsIn(answer), [
        "Title: must have at most 255 characters.",
        "Price: must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it."
      ])
      assert.deepStrictEqual(
        [...answer.text.matchAll(/<input[^>]*\sautofocus[^>]*>/g)].map(([tag]) => /name="(\S+?)"/.exec(tag)?.[1]),
        ["title"]
      )
      assert.deepStrictEqual(
        ["title", "vendor", "price"].map((name) => valueIn(answer, name)),
        ["x".repeat(256), "Tern", "ten"]
      )
      assert.match(answer.text, new RegExp(`name="store-${files.id}" value="yes" checked`))
      assert.lengthOf(answer.text.match(/ name="store-[^"]+" value="yes" checked/g) ?? [], 1)
      const empty = yield* fill("/collections/new", { title: " " })
      assert.deepStrictEqual([empty.answer.status, problemsIn(empty.answer)], [400, ["Title: must not be empty."]])
      const picture = yield* fill("/media/new", { url: "http://cdn.example/a.png", alt: "x".repeat(513) })
      assert.deepStrictEqual(problemsIn(picture.answer), [
        "Address: must be an address that begins with https://, without a user name or password.",
        "Alt text: must have at most 512 characters."
      ])
    })
  )

  it.effect("a variant of a product: the first option, then a value of it", () =>
    Effect.gen(function* () {
      const { fill, open, send, valuesOf } = yield* aCreator
      const product = idIn(leadsTo((yield* fill("/products/new", { title: "Mug", sku: "M-1" })).answer))
      const address = `/variants/new?of=${product}`
      assert.include((yield* open(`/entity?id=${product}`)).text, `href="${address}"`)
      const same = yield* fill(address, { "option-name": "Size", "option-former": "S", "option-0": "S" })
      assert.strictEqual(same.answer.status, 400)
      assert.deepStrictEqual(problemsIn(same.answer), [
        "Option: another variant of the product has these option values."
      ])
      const none = yield* fill(address, {})
      assert.deepStrictEqual(problemsIn(none.answer), Array(3).fill("Option: must not be empty."))
      const first = yield* fill(address, {
        "option-name": "Size",
        "option-former": "S",
        "option-0": "L",
        sku: "M-2"
      })
      assert.strictEqual(leadsTo(first.answer), `/entity?id=${product}&note=variant-created#variants`)
      assert.deepStrictEqual(yield* valuesOf(String(first.form.id)), {
        title: "L",
        option1: "L",
        sku: "M-2"
      })
      const taken = yield* fill(address, { "option-0": "L" })
      assert.deepStrictEqual(problemsIn(taken.answer), [
        "Size: another variant of the product has these option values."
      ])
      const third = yield* fill(address, { "option-0": "M" })
      assert.strictEqual(leadsTo(third.answer), `/entity?id=${product}&note=variant-created#variants`)
      assert.strictEqual(leadsTo(yield* send("/variants/new", third.form)), leadsTo(third.answer))
      // The form was opened before the product had an option.
      const late = yield* send("/variants/new", { ...first.form, id: String(none.form.id), "option-name": "Color" })
      assert.strictEqual(late.status, 409)
      assert.deepStrictEqual(problemsIn(late), [
        "The options of the product have changed since you opened this form. Check the values, then send it again."
      ])
      assert.strictEqual((yield* valuesOf(product)).options, '[{"name":"Size","values":["S","L","M"]}]')
    })
  )

  it.effect("a variant of a product without variants needs no option", () =>
    Effect.gen(function* () {
      const { actor, fill, open, valuesOf } = yield* aCreator
      const product = yield* anEntity("product", { title: "Map" }).pipe(actingAs(actor))
      assert.match(textOf(yield* open(`/entity?id=${product}`)), /Variants There is no variant yet\. Add a variant/)
      const unnamed = yield* fill(`/variants/new?of=${product}`, { "option-0": "A4" })
      assert.deepStrictEqual(problemsIn(unnamed.answer), ["Option: must not be empty."])
      const { answer, form } = yield* fill(`/variants/new?of=${product}`, { sku: "MAP" })
      leadsTo(answer)
      assert.deepStrictEqual(yield* valuesOf(String(form.id)), {
        title: "Default Title",
        option1: "Default Title",
        sku: "MAP"
      })
    })
  )

  it.effect("a picture at an address, in the gallery of a product and alone", () =>
    Effect.gen(function* () {
      const { actor, cookie, fill, open, storesOf, tent } = yield* aCreator
      const address = `/media/new?of=${tent}`
      assert.include((yield* open(`/entity?id=${tent}&pick=yes`)).text, `href="${address}"`)
      const { answer, form } = yield* fill(address, { url: "https://cdn.example/tent.png", alt: "A tent" })
      assert.strictEqual(leadsTo(answer), `/entity?id=${tent}&note=added+${form.id}+-#picture-${form.id}`)
      const { gallery } = yield* Effect.flatMap(Drafts, (drafts) => drafts.sheet(tent)).pipe(actingAs(actor))
      assert.deepStrictEqual(gallery.at(-1), {
        mediaId: EntityId.make(String(form.id)),
        storeIds: yield* storesOf(tent)
      })
      const [{ id: variant } = assert.fail("no variant")] = yield* Effect.flatMap(Catalog, (catalog) =>
        Effect.map(catalog.get("product", tent), ({ variantIds }) => variantIds.map((id) => ({ id })))
      ).pipe(actingAs(actor))
      const ofVariant = yield* fill(`/media/new?of=${variant}`, { url: "https://cdn.example/small.png", alt: "Small" })
      const to = leadsTo(ofVariant.answer)
      const shown = yield* storesOf(variant)
      assert.strictEqual(
        to,
        `/entity?id=${variant}&note=added+${ofVariant.form.id}+new%3A${shown.join("%2C")}#picture-${ofVariant.form.id}`
      )
      assert.match(
        textOf(yield* ask(to.split("#")[0] ?? "", { cookie: withNote(cookie, to) })),
        /Small is in the gallery now, and in that of the product: saved as a draft\./
      )
      assert.deepStrictEqual(
        (yield* Effect.flatMap(Drafts, (drafts) => drafts.sheet(tent)).pipe(actingAs(actor))).gallery.at(-1),
        { mediaId: EntityId.make(String(ofVariant.form.id)), storeIds: shown }
      )
      const alone = yield* fill("/media/new", { url: "https://cdn.example/x.png" })
      assert.strictEqual(leadsTo(alone.answer), `/entity?id=${alone.form.id}&note=created`)
      assert.match(textOf(yield* ask(`/media`, { cookie })), /x\.png/)
    })
  )

  it.effect("a collection, whose products are then changed", () =>
    Effect.gen(function* () {
      const { actor, cookie, fill, open, send, stove, tent } = yield* aCreator
      const collection = idIn(leadsTo((yield* fill("/collections/new", { title: "Summer" })).answer))
      const address = `/collections/products?id=${collection}`
      assert.include((yield* open(`/entity?id=${collection}`)).text, `href="${address}"`)
      const first = yield* open(address)
      assert.match(
        textOf(first),
        /In the collection 0 products There is no product in the collection yet\. Add products/
      )
      const path = "/collections/products"
      const form = { csrf: csrfOf(first), id: collection }
      const none = yield* send(path, { ...form, do: "add" })
      assert.strictEqual(none.status, 400)
      assert.deepStrictEqual(problemsIn(none), ["Select at least one product first."])
      const added = yield* send(path, { ...form, do: "add", [`product-${tent}`]: "yes", [`product-${stove}`]: "yes" })
      assert.strictEqual(leadsTo(added), `${address}&note=added`)
      assert.match(
        textOf(yield* open(address)),
        /In the collection 2 products Take out the selected Products The (tent|stove)/
      )
      const removed = yield* send(path, { ...form, do: "remove", [`product-${tent}`]: "yes", search: "tent" })
      assert.strictEqual(leadsTo(removed), `${address}&search=tent&note=removed`)
      const left = textOf(yield* open(`${address}&search=tent`))
      assert.match(left, /In the collection 1 product Take out the selected Products The stove/)
      assert.match(left, /Add products Search products Search Products The tent/)
      const strangers = yield* aMerchant
      for (const id of [strangers.tent, collection]) {
        const gone = yield* send(path, { ...form, do: "add", [`product-${id}`]: "yes" })
        assert.strictEqual(gone.status, 404)
        assert.deepStrictEqual(problemsIn(gone), ["Everything that you selected was deleted meanwhile."])
        const others = yield* send(path, { ...form, do: "add", [`product-${id}`]: "yes", [`product-${stove}`]: "yes" })
        assert.strictEqual(leadsTo(others), `${address}&note=addedOthers`)
      }
      // A product, and then the collection, is deleted after the selected products were looked up.
      const disturbing = (entityId: EntityId) =>
        Effect.map(Effect.context<CatalogChanges>(), (context) => {
          meanwhile = Effect.flatMap(CatalogChanges, ({ apply }) =>
            apply([CatalogChange.DeleteEntity({ entityId })])
          ).pipe(actingAs(actor), Effect.orDie, Effect.asVoid, Effect.provide(context))
        })
      const late = yield* anEntity("product", { title: "Late" }).pipe(actingAs(actor))
      const both = { ...form, do: "add", [`product-${late}`]: "yes", [`product-${stove}`]: "yes" }
      yield* disturbing(late)
      assert.strictEqual(leadsTo(yield* send(path, both)), `${address}&note=addedOthers`)
      const alone = yield* anEntity("product", { title: "Alone" }).pipe(actingAs(actor))
      yield* disturbing(alone)
      const missed = yield* send(path, { ...form, do: "add", [`product-${alone}`]: "yes" })
      assert.strictEqual(missed.status, 404)
      assert.deepStrictEqual(problemsIn(missed), ["Everything that you selected was deleted meanwhile."])
      const short = yield* anEntity("collection", { title: "Short" }).pipe(actingAs(actor))
      yield* disturbing(short)
      assertNotThere(yield* send(path, { ...form, id: short, do: "add", [`product-${stove}`]: "yes" }))
      const noted = `${address}&note=addedOthers`
      const said = yield* ask(noted, { cookie: withNote(cookie, noted) })
      assert.include(
        textOf(said),
        "Some of the products were deleted meanwhile. The others were added to the draft of the collection."
      )
      assertNotThere(yield* send(path, { ...form, do: "add", "product-x": "yes" }))
      assertNotThere(yield* send(path, { ...form, id: tent, do: "add", [`product-${stove}`]: "yes" }))
      assertNotThere(yield* open(`/collections/products?id=${strangers.tent}`))
      assertForeignForm(yield* send(path, { ...form, csrf: "x", do: "add", [`product-${tent}`]: "yes" }))
      const related = yield* Effect.flatMap(Catalog, (catalog) =>
        catalog.related(EntityId.make(collection), { limit: 10 })
      ).pipe(actingAs(actor))
      assert.include(related.text, stove)
      assert.notInclude(related.text, tent)
    })
  )

  it.effect("a collection of more products than a page shows", () =>
    Effect.gen(function* () {
      const { actor, open } = yield* aCreator
      const count = 103
      const collection = yield* Effect.gen(function* () {
        const id = yield* anEntity("collection", { title: "Long" })
        const products = yield* Effect.forEach(Array.from({ length: count }), (_, n) =>
          anEntity("product", { title: `Item ${n + 1}` })
        )
        yield* (yield* Drafts).changeMembers(id, products, [])
        return id
      }).pipe(actingAs(actor))
      const membersIn = ({ text }: Answer) => /aria-labelledby="members"[\s\S]*?<\/section>/.exec(text)?.[0] ?? ""
      const titlesIn = (page: Answer) =>
        [...membersIn(page).matchAll(/<bdi>(Item \d+)<\/bdi>/g)].map(([, title]) => title)
      const address = `/collections/products?id=${collection}`
      const first = yield* open(address)
      const next = /href="(\/collections\/products\?[^"]*cursor=[^"]*)"/.exec(first.text)?.[1]?.replaceAll("&amp;", "&")
      const second = yield* open(String(next))
      assert.deepStrictEqual(
        [...titlesIn(first), ...titlesIn(second)],
        Array.from({ length: count }, (_, n) => `Item ${n + 1}`)
      )
      assert.lengthOf(titlesIn(first), 100)
      assert.notInclude(membersIn(second), "cursor=")
      assert.lengthOf(titlesIn(yield* open(`${address}&cursor=x`)), 100)
    })
  )

  it.effect("a copy of a product, on the chosen stores; sent twice it is one product", () =>
    Effect.gen(function* () {
      const { actor, files, fill, open, send, shop, storesOf, tent, valuesOf } = yield* aCreator
      const address = `/products/copy?of=${tent}`
      assert.include((yield* open(`/entity?id=${tent}`)).text, `href="${address}"`)
      const page = yield* open(address)
      assert.strictEqual(valueIn(page, "title"), "Copy of The tent")
      assert.match(page.text, new RegExp(`name="store-${shop.id}" value="yes" checked`))
      assert.notInclude(page.text, `store-${files.id}`)
      const { answer, form } = yield* fill(address, { title: "Tarp", [`store-${shop.id}`]: "yes" })
      const made = leadsTo(answer)
      assert.strictEqual(made, `/entity?id=${form.id}&note=created`)
      assert.deepInclude(yield* valuesOf(idIn(made)), { title: "Tarp", handle: "tarp" })
      assert.deepStrictEqual(yield* storesOf(idIn(made)), [shop.id])
      const { variantIds } = yield* Effect.flatMap(Catalog, (catalog) =>
        catalog.get("product", EntityId.make(idIn(made)))
      ).pipe(actingAs(actor))
      assert.lengthOf(variantIds, 2)
      assert.strictEqual(leadsTo(yield* send("/products/copy", form)), made)
      const other = yield* send("/products/copy", { ...form, title: "Bivouac" })
      assert.strictEqual(other.status, 409)
      assert.deepStrictEqual(problemsIn(other), [
        "You have sent this form before with other values, which were created. Send it again to create another one."
      ])
      const { hidden } = sectionsOf(other.text, "/products/copy")
      const second = leadsTo(yield* send("/products/copy", { ...form, title: "Bivouac", ...hidden }))
      assert.strictEqual((yield* valuesOf(idIn(second))).title, "Bivouac")
      assert.strictEqual((yield* valuesOf(idIn(made))).title, "Tarp")
      const { [`store-${shop.id}`]: _, ...nowhere } = form
      const elsewhere = yield* send("/products/copy", nowhere)
      assert.strictEqual(elsewhere.status, 409)
      assert.deepStrictEqual(problemsIn(elsewhere), problemsIn(other))
      const third = leadsTo(
        yield* send("/products/copy", { ...nowhere, ...sectionsOf(elsewhere.text, "/products/copy").hidden })
      )
      assert.deepStrictEqual(yield* storesOf(idIn(third)), [])
      assert.deepStrictEqual(yield* storesOf(idIn(made)), [shop.id])
    })
  )

  it.effect("one copy of a form that is sent twice at once, or again after the original was deleted", () =>
    Effect.gen(function* () {
      const { actor, cookie, open, send } = yield* aCreator
      const original = yield* anEntity("product", { title: "Hammock" }).pipe(actingAs(actor))
      const { hidden } = sectionsOf((yield* open(`/products/copy?of=${original}`)).text, "/products/copy")
      const form: Form = { ...hidden, title: "Swing" }
      const made = `/entity?id=${form.id}&note=created`
      const answers = yield* Effect.replicateEffect(send("/products/copy", form), 5).pipe(
        Effect.withConcurrency("unbounded")
      )
      assert.deepStrictEqual(answers.map(leadsTo), Array(5).fill(made))
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.DeleteEntity({ entityId: original })])
      ).pipe(actingAs(actor), Effect.orDie)
      assert.strictEqual(leadsTo(yield* send("/products/copy", form)), made)
      assertNotThere(yield* send("/products/copy", { ...form, title: "Sling" }))
      assert.match(textOf(yield* ask("/products?search=Swing", { cookie })), /1 row on this page/)
    })
  )

  it.effect("the suggested title of a copy ends before the character that has no room", () =>
    Effect.gen(function* () {
      const { actor, open } = yield* aCreator
      const long = yield* anEntity("product", { title: `${"x".repeat(246)}${"\u{1f45f}".repeat(9)}` }).pipe(
        actingAs(actor)
      )
      assert.strictEqual(valueIn(yield* open(`/products/copy?of=${long}`), "title"), `Copy of ${"x".repeat(246)}`)
    })
  )

  it.effect("no copy if the title is wrong, the product left a chosen store, or an import locks the catalog", () =>
    Effect.gen(function* () {
      const creator = yield* aCreator
      const { files, fill, open, send, tent } = creator
      const address = `/products/copy?of=${tent}`
      const wrong = yield* fill(address, { title: " " })
      assert.deepStrictEqual([wrong.answer.status, problemsIn(wrong.answer)], [400, ["Title: must not be empty."]])
      const left = yield* fill(address, { title: "Tarp", [`store-${files.id}`]: "yes" })
      assert.strictEqual(left.answer.status, 409)
      assert.deepStrictEqual(problemsIn(left.answer), [
        "The product has left a store that you chose. Check the stores, then send the form again."
      ])
      assert.strictEqual(valueIn(left.answer, "title"), "Tarp")
      const stranger = yield* aMerchant
      for (const of of ["", "x", stranger.tent]) assertNotThere(yield* open(`/products/copy?of=${of}`))
      assertNotThere(yield* open("/products/copy"))
      assertNotThere(yield* send("/products/copy", { ...left.form, of: stranger.tent }))
      assertForeignForm(yield* send("/products/copy", left.form, stranger.cookie))
      yield* aReview(creator)
      const locked = yield* send("/products/copy", { ...wrong.form, title: "Tarp" })
      assert.strictEqual(locked.status, 423)
      assert.deepStrictEqual(problemsIn(locked), [
        "Not saved: an import has locked the catalog. Accept or discard it, then save again."
      ])
      assert.match(textOf(yield* open("/products?search=Tarp")), /Nothing was found/)
    })
  )

  it.effect("nothing if the form is not the visitor's, its owner is not there, or an import locks the catalog", () =>
    Effect.gen(function* () {
      const creator = yield* aCreator
      const { cookie, fill, open, send } = creator
      const stranger = yield* aMerchant
      for (const address of [
        "/variants/new",
        "/variants/new?of=x",
        `/variants/new?of=${stranger.tent}`,
        `/media/new?of=${stranger.tent}`
      ])
        assertNotThere(yield* open(address))
      const picture = yield* fill("/media/new", { url: "https://cdn.example/x.png" })
      assertNotThere(yield* open(`/media/new?of=${picture.form.id}`))
      assertNotThere(yield* open(`/variants/new?of=${picture.form.id}`))
      const { hidden } = sectionsOf((yield* open("/products/new")).text, "/products/new")
      assertForeignForm(yield* send("/products/new", { ...hidden, csrf: "x", title: "Lantern" }))
      assertForeignForm(yield* send("/products/new", { ...hidden, title: "Lantern" }, stranger.cookie))
      for (const id of ["x", nilUuid]) {
        assertNotThere(yield* send("/products/new", { ...hidden, id, title: "Lantern" }))
        assertNotThere(yield* send("/products/copy", { ...hidden, id, of: creator.tent, title: "Lantern" }))
      }
      assertNotThere(yield* send("/variants/new", { ...hidden, of: stranger.tent, "option-0": "L" }))
      yield* aReview(creator)
      const locked = yield* send("/products/new", { ...hidden, title: "Lantern" })
      assert.strictEqual(locked.status, 423)
      assert.deepStrictEqual(problemsIn(locked), [
        "Not saved: an import has locked the catalog. Accept or discard it, then save again."
      ])
      assert.strictEqual(valueIn(locked, "title"), "Lantern")
      const found = yield* ask("/products?search=Lantern", { cookie })
      assert.match(textOf(found), /Nothing was found/)
    })
  )
})
