import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Users } from "../../src/access/Users.ts"
import { Drafts } from "../../src/drafts/Drafts.ts"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { actingAs, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import {
  aFailure,
  aMerchant,
  aReview,
  assertForeignForm,
  assertNotThere,
  assertPage,
  csrfOf,
  textOf
} from "./Merchant.ts"
import { assertPage as assertWholePage, escaped } from "./WholePage.ts"

type Merchant = Effect.Effect.Success<typeof aMerchant>

const write = ({ actor }: Pick<Merchant, "actor">, ...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, ({ apply }) => apply(changes)).pipe(actingAs(actor))

const override = (entityId: EntityId, storeId: StoreId, values: Readonly<Record<string, string | null>>) =>
  CatalogChange.SetOverrides({ entityId, storeId, values })

/** The HTML of a cell. `store`: the store's id, or "catalog". */
const cellOf = ({ text }: Answer, key: string, store: string): string =>
  new RegExp(`<td id="cell-${store}-${key}".*?</td>`, "s").exec(text)?.[0] ?? assert.fail(`no cell ${store} ${key}`)

const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

const addressOf = (id: string, key: string, store?: string) =>
  `/entity?${new URLSearchParams({ id, edit: key, ...(store !== undefined && { store }) })}`

/** The hidden fields of the open form. */
const openForm = (cookie: string, id: string, key: string, store?: string) =>
  Effect.map(ask(addressOf(id, key, store), { cookie }), (page) => sectionsOf(page.text, "/entity/edit").hidden)

const save = (cookie: string, form: Readonly<Record<string, string>>) => ask("/entity/edit", { cookie, form })

const alertIn = ({ text }: Answer) =>
  wordsOf(/<div class="alert" role="alert">.*?<\/div>/s.exec(text)?.[0] ?? assert.fail("no alert"))

layer(PagesServer, { excludeTestServices: true })("the grid of an entity", (it) => {
  const shown = ({ cookie, stove }: Merchant, query = "") => ask(`/entity?id=${stove}${query}`, { cookie })

  it.effect("marks inherited, own, changed, failed and invalid values in words", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop, stove } = merchant
      const before = yield* assertPage(`/entity?id=${stove}`, cookie)
      const inherited = cellOf(before, "title", shop.id)
      assert.include(inherited, 'class="inherited"')
      assert.strictEqual(wordsOf(inherited), "The stove From the catalog Edit Title, Tarn &amp; Tern")
      yield* write(merchant, override(stove, shop.id, { title: "Der <b>Ofen", status: "sleeping" }))
      const page = yield* shown(merchant)
      const own = cellOf(page, "title", shop.id)
      assert.include(own, 'class="own"')
      assert.strictEqual(wordsOf(own), "Der &lt;b>Ofen Own value Changed Edit Title, Tarn &amp; Tern")
      const unfit = cellOf(page, "status", shop.id)
      assert.include(unfit, 'class="own wrong"')
      assert.strictEqual(
        wordsOf(unfit),
        "sleeping Own value Changed Does not fit: must be one of active, draft, archived, unlisted Edit Status, Tarn &amp; Tern"
      )
      assert.strictEqual(wordsOf(cellOf(page, "title", "catalog")), "The stove Edit Title, Catalog")
      yield* aFailure(merchant)
      assert.include(wordsOf(cellOf(yield* shown(merchant), "title", shop.id)), "Own value Failed Edit Title")
      assert.strictEqual(
        wordsOf(cellOf(page, "options", "catalog"))
          .split(" ")
          .at(-1),
        "Read-only"
      )
    })
  )

  it.effect(
    "shows language, currency and direction of each store, and only the store's values have its language attribute",
    () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { actor, cookie, stove } = merchant
        const { store: gulf } = yield* Effect.flatMap(Stores, ({ link }) =>
          link({ domain: "gulf.example", name: "تارن", currency: "AED", primaryLocale: "ar-AE" })
        ).pipe(actingAs(actor), Effect.orDie)
        yield* write(merchant, CatalogChange.AddToStore({ entityId: stove, storeId: gulf.id }))
        yield* write(merchant, override(stove, gulf.id, { title: "موقد" }))
        const page = yield* shown(merchant)
        assert.include(page.text, `<bdi>تارن</bdi><div class="quiet">Arabic (United Arab Emirates), AED</div>`)
        assert.include(cellOf(page, "title", gulf.id), '<div lang="ar-AE" dir="rtl">موقد</div>')
        assert.include(cellOf(page, "vendor", gulf.id), '<div dir="auto">')
        assert.include(cellOf(page, "handle", gulf.id), "<div>stove</div>")
        const form = yield* ask(addressOf(stove, "title", gulf.id), { cookie })
        assert.match(cellOf(form, "title", gulf.id), /<input [^>]*lang="ar-AE" dir="rtl" type="text"/)
      })
  )

  it.effect("shows differences only, empty metafields, or one store on a narrow screen, according to the address", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { shop, stove } = merchant
      const only = "&only=differences"
      assert.include(textOf(yield* shown(merchant, only)), "All stores have the catalog's values.")
      yield* write(merchant, override(stove, shop.id, { title: "Der Ofen" }))
      const page = yield* shown(merchant, `${only}&on=${shop.id}`)
      assert.deepStrictEqual(
        [...page.text.matchAll(/<td id="cell-catalog-([^"]*)"/g)].map(([, key]) => key),
        ["title"]
      )
      assert.include(cellOf(page, "title", shop.id), 'class="shown own"')
      assert.notInclude(cellOf(page, "title", "catalog"), "shown")
      assert.include(page.text, `href="/entity?id=${stove}&amp;only=differences#values"`)
      assert.include(page.text, `href="/entity?id=${stove}&amp;on=${shop.id}" aria-current="true">Only differences`)
      // A store that does not have the entity is ignored.
      assert.include(
        cellOf(yield* shown(merchant, "&on=5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10"), "title", "catalog"),
        "shown"
      )
    })
  )

  it.effect("saves a value as a draft, in place", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop, stove } = merchant
      const at = (note: string, revision: number, key = "title") =>
        `/entity?${new URLSearchParams({ id: stove, note: `${note} ${revision} ${shop.id} ${key}` })}#cell-${shop.id}-${key}-edit`
      const page = yield* assertPage(addressOf(stove, "title", shop.id), cookie)
      const cell = cellOf(page, "title", shop.id)
      const input = /<input [^>]*name="value"[^>]*>/.exec(cell)?.[0] ?? ""
      for (const attribute of [
        `id="cell-${shop.id}-title-input"`,
        "autofocus",
        'aria-label="Title, Tarn &amp; Tern"',
        'lang="en" dir="ltr" type="text"',
        'value="The stove"'
      ])
        assert.include(input, attribute)
      const hidden = sectionsOf(page.text, "/entity/edit").hidden
      assert.deepInclude(hidden, { csrf: csrfOf(page), id: stove, key: "title", store: shop.id, draft_revision: "1" })
      const saved = yield* save(cookie, { ...hidden, value: 'Der "Ofen" <b>', do: "save" })
      assert.deepStrictEqual([saved.status, saved.headers.get("location")], [303, at("saved", 2)])
      const [address = ""] = at("saved", 2).split("#")
      const after = yield* ask(address, { cookie: withNote(cookie, address) })
      assert.include(
        after.text,
        '<div class="note" role="status"><p>Title, <bdi>Tarn &amp; Tern</bdi>: saved as a draft.</p></div>'
      )
      assert.strictEqual(
        wordsOf(cellOf(after, "title", shop.id)),
        "Der &quot;Ofen&quot; &lt;b> Own value Changed Saved Undo Edit Title, Tarn &amp; Tern"
      )
      // The open form shows the live value.
      const again = yield* ask(addressOf(stove, "title", shop.id), { cookie })
      assert.include(wordsOf(cellOf(again, "title", shop.id)), "Live now: The stove")
      const mine = sectionsOf(again.text, "/entity/edit").hidden
      const cleared = yield* save(cookie, { ...mine, value: "typed but not meant", do: "clear" })
      assert.strictEqual(cleared.headers.get("location"), at("cleared", 3))
      const plain = yield* shown(merchant)
      assert.strictEqual(
        wordsOf(cellOf(plain, "title", shop.id)),
        "The stove From the catalog Edit Title, Tarn &amp; Tern"
      )
      // An unchanged inherited value stays inherited, and no revision is written.
      const same = yield* openForm(cookie, stove, "title", shop.id)
      assert.strictEqual(
        (yield* save(cookie, { ...same, value: "The stove", do: "save" })).headers.get("location"),
        `/entity?id=${stove}#cell-${shop.id}-title-edit`
      )
      assert.strictEqual((yield* openForm(cookie, stove, "title", shop.id)).draft_revision, same.draft_revision)
      // The next field of the same store opens, with the same filters.
      const next = yield* save(cookie, { ...same, only: "differences", value: "Ofen", do: "next" })
      assert.strictEqual(
        next.headers.get("location"),
        `/entity?id=${stove}&only=differences&note=saved+4+${shop.id}+title#cell-${shop.id}-title-edit`
      )
      const other = yield* openForm(cookie, stove, "title", shop.id)
      assert.strictEqual(
        (yield* save(cookie, { ...other, value: "Herd", do: "next" })).headers.get("location"),
        `/entity?id=${stove}&edit=handle&store=${shop.id}&note=saved+5+${shop.id}+title#cell-${shop.id}-handle-input`
      )
    })
  )

  it.effect("keeps an inherited value inherited if the catalog's value changes while its form is open", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, shop, stove } = merchant
      const overridden = Effect.map(
        Effect.flatMap(Drafts, ({ get }) => get(stove, shop.id)).pipe(actingAs(actor)),
        (draft) => draft.overridden
      )
      const title = yield* openForm(cookie, stove, "title", shop.id)
      const tags = yield* openForm(cookie, stove, "tags", shop.id)
      yield* write(
        merchant,
        CatalogChange.SetAttributes({ entityId: stove, values: { title: "The new stove", tags: '["new"]' } })
      )
      for (const form of [
        { ...title, value: "The stove", do: "save" },
        { ...title, value: "The stove", do: "next" },
        { ...tags, value: "a\r\nb", do: "save" }
      ])
        assert.deepStrictEqual([(yield* save(cookie, form)).status, yield* overridden], [303, []])
      assert.strictEqual(
        wordsOf(cellOf(yield* shown(merchant), "title", shop.id)),
        "The new stove Changed Edit Title, Tarn &amp; Tern"
      )
      // An edited value is saved, also if its form was opened before.
      yield* save(cookie, { ...title, value: "Ofen", do: "save" })
      assert.deepStrictEqual(yield* overridden, ["title"])
      // A form of the value that somebody replaced meanwhile is not an inherited one.
      assert.strictEqual((yield* save(cookie, { ...title, value: "The stove", do: "save" })).status, 409)
    })
  )

  it.effect("reads lists, choices and long texts by the types of their fields", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, shop, stove } = merchant
      const typed = (key: string, value: string, store?: string) =>
        Effect.flatMap(openForm(cookie, stove, key, store), (form) => save(cookie, { ...form, value, do: "save" }))
      const draft = (storeId: StoreId | null) =>
        Effect.map(Effect.flatMap(Drafts, ({ get }) => get(stove, storeId)).pipe(actingAs(actor)), ({ attributes }) =>
          Object.fromEntries(attributes.map(({ key, value }) => [key, value]))
        )
      const tags = yield* ask(addressOf(stove, "tags"), { cookie })
      assert.match(cellOf(tags, "tags", "catalog"), /<textarea [^>]*rows="4">\na\nb<\/textarea>/)
      for (const [key, value] of [
        ["tags", "gas, camp\r\n\r\nnew"],
        ["description_html", "\r\n<p>One\r\nTwo</p>"],
        ["status", "draft"]
      ] as const)
        assert.strictEqual((yield* typed(key, value)).status, 303)
      assert.deepInclude(yield* draft(null), {
        tags: '["gas","camp","new"]',
        description_html: "\n<p>One\nTwo</p>",
        status: "draft"
      })
      const choice = cellOf(yield* ask(addressOf(stove, "status", shop.id), { cookie }), "status", shop.id)
      assert.include(choice, '<option value="draft" selected>draft</option>')
      // On a store an empty input is a deliberately empty value; in the catalog it removes the value.
      yield* typed("vendor", "", shop.id)
      yield* typed("status", "")
      assert.deepInclude(yield* draft(shop.id), { vendor: "" })
      assert.deepInclude(yield* draft(null), { status: "", vendor: "Fell" })
      const long = "w".repeat(500)
      yield* typed("seo_description", `${long}<script>`)
      const page = yield* shown(merchant)
      assert.strictEqual(
        wordsOf(cellOf(page, "seo_description", "catalog")),
        `${"w".repeat(140)}… Edit Search description, Catalog`
      )
      assert.include(
        (yield* ask(addressOf(stove, "seo_description"), { cookie })).text,
        `>\n${long}&lt;script></textarea>`
      )
    })
  )

  it.effect("copies a value to chosen stores in the same write", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, files, shop, stove } = merchant
      yield* write(merchant, CatalogChange.AddToStore({ entityId: stove, storeId: files.id }))
      const form = yield* openForm(cookie, stove, "title", shop.id)
      const copied = { ...form, value: "Ofen", do: "copy", [`to-${files.id}`]: "yes" }
      assert.match(String((yield* save(cookie, copied)).headers.get("location")), /note=copied/)
      const page = yield* shown(merchant)
      for (const store of [shop.id, files.id]) assert.match(wordsOf(cellOf(page, "title", store)), /^Ofen Own value/)
      assert.include(textOf(page), "Revision 3")
      // The form does not show the other stores' values, so a copy that is based on an older draft is refused.
      yield* write(merchant, CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Else" } }))
      const late = yield* save(cookie, {
        ...copied,
        draft_revision: "3",
        seen: (yield* openForm(cookie, stove, "title", shop.id)).seen ?? "",
        value: "Herd"
      })
      assertWholePage(late, 409)
      assert.strictEqual(
        alertIn(late),
        "Not saved: somebody changed other fields meanwhile. Check the stores, then save again."
      )
      assert.include(late.text, `name="to-${files.id}" value="yes" checked`)
      // A store without the entity, and a store of another account.
      const stranger = yield* aMerchant
      for (const store of [stranger.shop.id, "x"])
        assertNotThere(
          yield* save(cookie, { ...form, draft_revision: "4", value: "Ofen 2", do: "copy", [`to-${store}`]: "yes" })
        )
    })
  )

  it.effect(
    "two people edit one product: edits of other fields do not conflict, the same field is never overwritten",
    () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { cookie, shop, stove } = merchant
        const form = yield* openForm(cookie, stove, "title", shop.id)
        const another = yield* openForm(cookie, stove, "vendor", shop.id)
        assert.strictEqual((yield* save(cookie, { ...another, value: "Tarn", do: "save" })).status, 303)
        assert.strictEqual((yield* save(cookie, { ...form, value: "Ofen", do: "save" })).status, 303)
        const mine = yield* openForm(cookie, stove, "title", shop.id)
        yield* write(merchant, override(stove, shop.id, { title: "Theirs <i>" }))
        const refused = yield* save(cookie, { ...mine, value: "Mine & good", do: "save" })
        assertWholePage(refused, 409)
        assert.strictEqual(
          alertIn(refused),
          "Command line changed this while you were typing. Nothing was overwritten. It is now: Theirs &lt;i> Your text is still below. Saving it replaces that value."
        )
        const cell = cellOf(refused, "title", shop.id)
        assert.include(cell, `value="${escaped("Mine & good")}"`)
        assert.include(cell, `aria-describedby="cell-${shop.id}-title-refusal" aria-invalid="true"`)
        assert.match(wordsOf(cellOf(yield* shown(merchant), "title", shop.id)), /^Theirs &lt;i> Own value/)
        // The next save is based on the values that the person has seen now.
        const again = sectionsOf(refused.text, "/entity/edit").hidden
        assert.strictEqual((yield* save(cookie, { ...again, value: "Mine & good", do: "save" })).status, 303)
        assert.match(wordsOf(cellOf(yield* shown(merchant), "title", shop.id)), /^Mine &amp; good Own value/)
        // Another user restored the catalog's value.
        const last = yield* openForm(cookie, stove, "title", shop.id)
        yield* write(merchant, override(stove, shop.id, { title: null }))
        assert.include(
          alertIn(yield* save(cookie, { ...last, value: "Late", do: "save" })),
          "It is now: the catalog's value"
        )
      })
  )

  it.effect("shows at the field why a value is refused, and keeps all typed values", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, files, shop, stove } = merchant
      yield* write(merchant, CatalogChange.AddToStore({ entityId: stove, storeId: files.id }))
      const form = yield* openForm(cookie, stove, "title", shop.id)
      const typed = `${"x".repeat(256)}<`
      const refused = yield* save(cookie, { ...form, value: typed, do: "copy", [`to-${files.id}`]: "yes" })
      assertWholePage(refused, 400)
      assert.strictEqual(alertIn(refused), "This value must have at most 255 characters.")
      const cell = cellOf(refused, "title", shop.id)
      assert.include(cell, `value="${escaped(typed)}"`)
      assert.include(cell, "autofocus")
      assert.include(cell, `aria-describedby="cell-${shop.id}-title-refusal" aria-invalid="true"`)
      assert.include(cell, `name="to-${files.id}" value="yes" checked`)
      assert.deepStrictEqual(sectionsOf(refused.text, "/entity/edit").hidden, form)
      const tags = yield* save(cookie, {
        ...(yield* openForm(cookie, stove, "tags", shop.id)),
        value: typed,
        do: "save"
      })
      assert.strictEqual(alertIn(tags), "Each item must have at most 255 characters.")
      const options = yield* save(cookie, { ...form, key: "options", value: "[]", seen: "x", do: "save" })
      assert.match(alertIn(options), /^This value is read-only; the allowed keys are title, /)
      yield* aReview(merchant)
      const locked = yield* save(cookie, { ...form, value: "Ofen", do: "save" })
      assertWholePage(locked, 423)
      assert.strictEqual(
        alertIn(locked),
        "Not saved: an import has locked the catalog. Accept or discard it, then save again."
      )
      assert.include(cellOf(locked, "title", shop.id), 'value="Ofen"')
      const { overridden } = yield* Effect.flatMap(Drafts, ({ get }) => get(stove, shop.id)).pipe(actingAs(actor))
      assert.deepStrictEqual(overridden, [])
    })
  )

  it.effect("refuses entities of other accounts and forms from other sites", () =>
    Effect.gen(function* () {
      const { cookie, files, shop, stove } = yield* aMerchant
      const stranger = yield* aMerchant
      const form = yield* openForm(cookie, stove, "title", shop.id)
      const typed = { ...form, value: "Ofen", do: "save" }
      for (const id of [stranger.stove, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""])
        assertNotThere(yield* save(cookie, { ...typed, id }))
      // The stove is not on the store without a platform.
      for (const store of [files.id, stranger.shop.id, "x"]) assertNotThere(yield* save(cookie, { ...typed, store }))
      for (const key of ["nonsense", ""]) assertNotThere(yield* save(cookie, { ...typed, key }))
      assertNotThere(yield* ask(addressOf(stranger.stove, "title"), { cookie }))
      for (const draft_revision of ["", "two", "1.5"])
        assert.strictEqual((yield* save(cookie, { ...typed, draft_revision })).status, 400)
      const unproven = Object.fromEntries(Object.entries(typed).filter(([name]) => name !== "csrf"))
      const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
      for (const each of [unproven, { ...typed, csrf: theirs }]) assertForeignForm(yield* save(cookie, each))
      assert.strictEqual((yield* openForm(cookie, stove, "title", shop.id)).draft_revision, form.draft_revision)
    })
  )

  it.effect("keeps typed values if the session has expired, and saves them after sign-in", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, email, shop, stove } = merchant
      const password = "tern over tarn 1"
      const form = yield* openForm(cookie, stove, "title", shop.id)
      const typed = { ...form, value: 'Der "Ofen" & <b>', do: "save" }
      const { token } = yield* Effect.flatMap(Users, ({ invite }) => invite(merchant.accountId, email)).pipe(
        Effect.orDie
      )
      // A new password ends all earlier sessions.
      yield* ask("/set-password", { form: { token: Redacted.value(token), password } })
      const away = yield* save(cookie, typed)
      assert.strictEqual(away.status, 403)
      assert.strictEqual(
        alertIn(away),
        "Your session has expired, so this was not saved yet. What you typed is kept: sign in to save it."
      )
      const kept = sectionsOf(away.text, "/sign-in").hidden
      const { csrf: _, ...fields } = typed as Readonly<Record<string, string>>
      assert.deepStrictEqual(Object.fromEntries(new URLSearchParams(kept.kept)), fields)
      // A wrong password does not lose the typed values.
      const wrong = yield* ask("/sign-in", { form: { ...kept, email, password: "not it" } })
      assert.deepStrictEqual(sectionsOf(wrong.text, "/sign-in").hidden, kept)
      const back = yield* ask("/sign-in", { form: { ...kept, email, password } })
      assertWholePage(back)
      assert.include(
        textOf(back),
        "Title was not saved yet. You typed: Der &quot;Ofen&quot; &amp; &lt;b> Save draft Discard"
      )
      const again =
        back.headers
          .getSetCookie()
          .map((each) => each.split(";")[0])
          .find((each) => each?.startsWith("catalog_session")) ?? ""
      const saved = yield* save(again, sectionsOf(back.text, "/entity/edit").hidden)
      assert.strictEqual(saved.status, 303)
      assert.include(
        wordsOf(cellOf(yield* ask(`/entity?id=${stove}`, { cookie: again }), "title", shop.id)),
        "Own value Changed"
      )
      // A form from another site is not kept. For a form that is too long, the page says that it is lost.
      const foreign = yield* ask("/entity/edit", { form: typed, headers: { origin: "https://evil.example" } })
      assertForeignForm(foreign)
      const long = yield* ask("/entity/edit", { form: { ...typed, value: "ä".repeat(7_000) } })
      assert.deepStrictEqual([long.status, long.headers.get("location")], [303, "/sign-in?return_to=%2F&unsent=form"])
    })
  )

  it.effect("links to the history of one field", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop, stove } = merchant
      yield* write(merchant, override(stove, shop.id, { title: "Ofen" }))
      yield* write(merchant, CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Tarn" } }))
      const page = yield* ask(addressOf(stove, "title", shop.id), { cookie })
      assert.include(page.text, `<a href="/entity?id=${stove}&amp;field=title#history">History of this field</a>`)
      const history = textOf(yield* ask(`/entity?id=${stove}&field=title`, { cookie }))
      assert.include(history, "History of Title Show the history of all fields")
      assert.include(history, "Title : as in the catalog → became Ofen")
      assert.notInclude(history, "became Tarn")
    })
  )
})
