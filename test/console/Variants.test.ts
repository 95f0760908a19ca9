import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aMerchant, assertNotThere } from "./Merchant.ts"
import { assertPage } from "./WholePage.ts"

const count = 30

/** A lamp with two options and 30 variants, on a store in euros; the first is also on the store of the files. */
const aLamp = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, files, shop } = merchant
  return yield* Effect.gen(function* () {
    const options = [
      { name: "Glow", values: ["Warm"] },
      { name: "Number", values: Array.from({ length: count }, (_, n) => `${n + 1}`) }
    ]
    const lamp = yield* anEntity("product", { title: "Lamp", options: JSON.stringify(options) }, { on: [shop, files] })
    const variants = yield* Effect.forEach(Array.from({ length: count }), (_, n) =>
      anEntity(
        "variant",
        { title: `Warm / ${n + 1}`, option1: "Warm", option2: `${n + 1}`, sku: `L-${n + 1}`, price: `${n + 1}.50` },
        { on: n === 0 ? [shop, files] : [shop], of: lamp }
      )
    )
    return { ...merchant, lamp, variants }
  }).pipe(actingAs(actor))
})

const tableIn = ({ text }: Answer) =>
  /<section aria-labelledby="variants">.*?<\/section>/s.exec(text)?.[0] ?? assert.fail("no table of variants")

const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

const cellOf = ({ text }: Answer, variant: string | undefined, key: string, store: string): string =>
  new RegExp(`<td id="cell-${variant}-${store}-${key}".*?</td>`, "s").exec(text)?.[0] ??
  assert.fail(`no cell ${variant} ${store} ${key}`)

const addressOf = (id: string, of: string | undefined, key: string, store?: string, page = 1) =>
  `/entity?${new URLSearchParams({ id, ...(page > 1 && { variants: `${page}` }), edit: key, of: of ?? "", ...(store !== undefined && { store }) })}`

const openForm = (cookie: string, address: string) =>
  Effect.map(ask(address, { cookie }), (page) => sectionsOf(page.text, "/entity/edit").hidden)

const save = (cookie: string, form: Readonly<Record<string, string>>) => ask("/entity/edit", { cookie, form })

const alertIn = (html: string) =>
  wordsOf(/<div class="alert" role="alert">.*?<\/div>/s.exec(html)?.[0] ?? assert.fail("no alert"))

layer(PagesServer, { excludeTestServices: true })("the variants of a product", (it) => {
  it.effect("are a table with options, SKU, the price of each store in its currency and state, 25 a page", () =>
    Effect.gen(function* () {
      const { cookie, lamp, shop, variants } = yield* aLamp
      const first = yield* ask(`/entity?id=${lamp}`, { cookie })
      assertPage(first)
      const table = tableIn(first)
      assert.include(
        wordsOf(table),
        "Variants 30 variants Variant Glow Number SKU Price All stores Price files.example , USD Price Tarn &amp; Tern , EUR State Warm / 1 "
      )
      assert.lengthOf([...table.matchAll(/<th scope="row">/g)], 25)
      assert.include(table, '<nav class="pages" aria-label="Pages of variants">')
      assert.match(wordsOf(table), /1 to 25 of 30 Next 5 Add a variant$/)
      assert.strictEqual(
        wordsOf(cellOf(first, variants[0], "price", shop.id)),
        "EUR 1.50 From the catalog Edit Price, Warm / 1, Tarn &amp; Tern"
      )
      assert.include(wordsOf(table), "2.50 Edit Price, Warm / 2, Catalog Not on this store EUR 2.50")
      const second = yield* ask(`/entity?id=${lamp}&variants=2`, { cookie })
      assert.lengthOf([...tableIn(second).matchAll(/<th scope="row">/g)], 5)
      assert.match(wordsOf(tableIn(second)), /Previous 25 26 to 30 of 30 Add a variant$/)
      assert.include(wordsOf(tableIn(second)), "L-30 Edit SKU, Warm / 30, Catalog")
      // A page after the last is the last.
      assert.strictEqual(
        wordsOf(tableIn(yield* ask(`/entity?id=${lamp}&variants=9`, { cookie }))),
        wordsOf(tableIn(second))
      )
      for (const page of ["0", "-1", "x"])
        assert.match(wordsOf(tableIn(yield* ask(`/entity?id=${lamp}&variants=${page}`, { cookie }))), /1 to 25 of 30/)
    })
  )

  it.effect("have a state that says whether their publish waits for the store, as their own pages do", () =>
    Effect.gen(function* () {
      const { actor, cookie, lamp, shop, variants } = yield* aLamp
      const [waiting = assert.fail(), sent = assert.fail()] = variants
      const error = { code: "PUBLISH_DELAYED", message: "The store's platform took too long." }
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([
          ...[waiting, sent].map((entityId) => CatalogChange.RequestPublish({ entityId, storeId: shop.id })),
          CatalogChange.DelayPublish({ entityId: waiting, storeId: shop.id, error })
        ])
      ).pipe(actingAs(actor))
      const rows = tableIn(yield* ask(`/entity?id=${lamp}`, { cookie })).split("<tr>")
      for (const [id, state] of [
        [waiting, "Waiting for the store"],
        [sent, "Publishing"]
      ] as const) {
        const row = rows.find((each) => each.includes(`/entity?id=${id}`)) ?? assert.fail()
        assert.match(wordsOf(row), new RegExp(`${state}$`))
        const { text } = yield* ask(`/entity?id=${id}`, { cookie })
        assert.include(wordsOf(text), `Last publish ${state} Created`)
      }
    })
  )

  it.effect("are edited in place: saved, undone, and the next variant opens on the same page", () =>
    Effect.gen(function* () {
      const { cookie, lamp, shop, variants } = yield* aLamp
      const [, , , , , , , , , , , , , , , , , , , , , , , , , one, two] = variants
      const page = yield* ask(addressOf(lamp, one, "price", shop.id, 2), { cookie })
      assertPage(page)
      const cell = cellOf(page, one, "price", shop.id)
      assert.include(cell, 'aria-label="Price, Warm / 26, Tarn &amp; Tern"')
      assert.include(cell, 'value="26.50"')
      const { hidden } = sectionsOf(page.text, "/entity/edit")
      assert.deepInclude(hidden, {
        id: lamp,
        of: one,
        key: "price",
        store: shop.id,
        variants: "2",
        draft_revision: "1"
      })
      const saved = yield* save(cookie, { ...hidden, value: "24.00", do: "save" })
      const note = `saved 2 ${one}/${shop.id} price`
      const address = `/entity?${new URLSearchParams({ id: lamp, variants: "2", note })}`
      assert.strictEqual(saved.headers.get("location"), `${address}#cell-${one}-${shop.id}-price-edit`)
      const after = yield* ask(address, { cookie: withNote(cookie, address) })
      assert.match(wordsOf(cellOf(after, one, "price", shop.id)), /^EUR 24\.00 Own value Saved Undo Edit Price, Warm/)
      const undo = sectionsOf(after.text, "/entity/undo").hidden
      const undone = yield* ask("/entity/undo", { cookie, form: undo })
      assert.strictEqual(undone.status, 303)
      assert.match(String(undone.headers.get("location")), /variants=2&note=undone\+3\+/)
      const plain = yield* ask(`/entity?id=${lamp}&variants=2`, { cookie })
      assert.match(cellOf(plain, one, "price", shop.id), /class="inherited"/)
      // The next one below, in the same column.
      const again = yield* openForm(cookie, addressOf(lamp, one, "price", shop.id, 2))
      const next = yield* save(cookie, { ...again, value: "23", do: "next" })
      assert.match(
        String(next.headers.get("location")),
        new RegExp(`&edit=price&of=${two}&store=${shop.id}&note=.*#cell-${two}-${shop.id}-price-input$`)
      )
      const sku = yield* openForm(cookie, addressOf(lamp, one, "option2", undefined, 2))
      assert.strictEqual((yield* save(cookie, { ...sku, value: "XL", do: "save" })).status, 303)
      const changed = yield* ask(`/entity?id=${lamp}&variants=2`, { cookie })
      assert.match(wordsOf(cellOf(changed, one, "option2", "catalog")), /^XL Edit Number/)
      // The last one has no next one.
      const last = yield* ask(addressOf(lamp, variants[29], "price", shop.id, 2), { cookie })
      assert.notInclude(cellOf(last, variants[29], "price", shop.id), "Save and next")
    })
  )

  it.effect("show at the field why a price is refused, and the newer draft of somebody else", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, lamp, shop, variants } = yield* aLamp
      const variant = variants[27]
      const form = yield* openForm(cookie, addressOf(lamp, variant, "price", shop.id, 2))
      const refused = yield* save(cookie, { ...form, value: "cheap <b>", do: "save" })
      assertPage(refused, 400)
      const cell = cellOf(refused, variant, "price", shop.id)
      assert.match(alertIn(cell), /^This value must be a decimal number/)
      assert.include(cell, 'value="cheap &lt;b>"')
      assert.include(cell, "autofocus")
      assert.match(wordsOf(tableIn(refused)), /26 to 30 of 30 Add a variant$/)
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([
          CatalogChange.SetOverrides({ entityId: variant as EntityId, storeId: shop.id, values: { price: "7.00" } })
        ])
      ).pipe(actingAs(actor))
      const newer = yield* save(cookie, { ...form, value: "8.00", do: "save" })
      assertPage(newer, 409)
      const now = cellOf(newer, variant, "price", shop.id)
      assert.include(alertIn(now), "Nothing was overwritten. It is now: 7.00")
      assert.include(now, 'value="8.00"')
      const other = yield* aMerchant
      for (const of of [other.stove, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x"])
        assertNotThere(yield* save(cookie, { ...form, of, value: "8.00", do: "save" }))
      const absent: StoreId = files.id
      assertNotThere(yield* save(cookie, { ...form, store: absent, value: "8.00", do: "save" }))
    })
  )
})
