import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Drafts } from "../../src/drafts/Drafts.ts"
import type { EntityId, StoreId } from "../../src/model/Ids.ts"
import { actingAs, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aMerchant, aReview, assertForeignForm, assertNotThere, csrfOf } from "./Merchant.ts"
import { assertPage } from "./WholePage.ts"

type Merchant = Effect.Effect.Success<typeof aMerchant>
type Form = Readonly<Record<string, string>>

const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

const cellOf = ({ text }: Answer, key: string, store: string): string =>
  new RegExp(`<td id="cell-${store}-${key}".*?</td>`, "s").exec(text)?.[0] ?? assert.fail(`no cell ${store} ${key}`)

const alertIn = (html: string) =>
  wordsOf(/<div class="alert" role="alert">.*?<\/div>/s.exec(html)?.[0] ?? assert.fail("no alert"))

const write = ({ actor }: Pick<Merchant, "actor">, ...changes: ReadonlyArray<CatalogChange>) =>
  Effect.flatMap(CatalogChanges, ({ apply }) => apply(changes)).pipe(actingAs(actor))

const override = (entityId: EntityId, storeId: StoreId, values: Readonly<Record<string, string | null>>) =>
  CatalogChange.SetOverrides({ entityId, storeId, values })

/** The page after a form, as the browser that sent it sees it. */
const after = (cookie: string, answer: Answer) =>
  Effect.suspend(() => {
    assert.strictEqual(answer.status, 303, answer.text)
    const [address = ""] = String(answer.headers.get("location")).split("#")
    return ask(address, { cookie: withNote(cookie, address) })
  })

/** Saves a value by its form; the page that follows. */
const save = (cookie: string, id: string, key: string, store: string | undefined, more: Form) =>
  Effect.gen(function* () {
    const place = { id, edit: key, ...(store !== undefined && { store }) }
    const page = yield* ask(`/entity?${new URLSearchParams(place)}`, { cookie })
    const { hidden } = sectionsOf(page.text, "/entity/edit")
    return yield* after(cookie, yield* ask("/entity/edit", { cookie, form: { ...hidden, do: "save", ...more } }))
  })

const undoForm = (page: Answer) => sectionsOf(page.text, "/entity/undo").hidden

const undo = (cookie: string, form: Form) => ask("/entity/undo", { cookie, form })

const historyOf = ({ actor, stove }: Merchant) =>
  Effect.flatMap(Drafts, ({ history }) => history(stove, 250)).pipe(actingAs(actor))

layer(PagesServer, { excludeTestServices: true })("the undo of a saved value", (it) => {
  it.effect("restores the earlier value by a write of its own, which can be undone too", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, email, shop, stove } = merchant
      const saved = yield* save(cookie, stove, "title", shop.id, { value: "Ofen <b>" })
      const cell = cellOf(saved, "title", shop.id)
      assert.include(wordsOf(cell), "Saved Undo")
      const form = undoForm(saved)
      assert.deepStrictEqual(form, { csrf: csrfOf(saved), id: stove, key: "title", store: shop.id, revision: "2" })
      const answer = yield* undo(cookie, form)
      const address = `/entity?${new URLSearchParams({ id: stove, note: `undone 3 ${shop.id} title` })}`
      assert.strictEqual(answer.headers.get("location"), `${address}#cell-${shop.id}-title-edit`)
      const undone = yield* after(cookie, answer)
      assertPage(undone)
      assert.include(
        undone.text,
        '<div class="note" role="status"><p>Title, <bdi>Tarn &amp; Tern</bdi>: has its earlier value again, saved as a draft.</p></div>'
      )
      assert.match(cellOf(undone, "title", shop.id), /class="inherited"/)
      const [newest, before] = yield* historyOf(merchant)
      for (const [entry, change, revision] of [
        [newest, { key: "title", old: "Ofen <b>", new: null }, 3],
        [before, { key: "title", old: null, new: "Ofen <b>" }, 2]
      ] as const) {
        assert.deepInclude(entry, { action: "attributes", draft_revision: revision, store_id: shop.id })
        assert.deepStrictEqual(entry?.changes, [change])
        assert.strictEqual(entry?.actor.name, email)
      }
      const again = yield* after(cookie, yield* undo(cookie, undoForm(undone)))
      assert.match(wordsOf(cellOf(again, "title", shop.id)), /^Ofen &lt;b> Own value/)
      // An update of the open page keeps the note.
      const live = yield* ask(address, { cookie, headers: { "x-live-update": "1" } })
      assert.include(wordsOf(cellOf(live, "title", shop.id)), "Saved Undo")
      // A note is shown once, so an old page offers no undo.
      assert.notInclude((yield* ask(`/entity?id=${stove}`, { cookie })).text, "/entity/undo")
      // In the catalog, an empty value comes back as none.
      const typed = yield* save(cookie, stove, "product_type", undefined, { value: "Stoves" })
      const emptied = yield* after(cookie, yield* undo(cookie, undoForm(typed)))
      assert.match(wordsOf(cellOf(emptied, "product_type", "catalog")), /^empty Saved/)
      // Saved while the next cell opens: the cell of before offers it.
      const next = yield* save(cookie, stove, "title", undefined, { value: "Stove", do: "next" })
      assert.include(wordsOf(cellOf(next, "title", "catalog")), "Saved Undo")
      assert.include(cellOf(next, "handle", "catalog"), 'class="shown open"')
    })
  )

  it.effect("takes a copy back on all its stores at once", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, files, shop, stove } = merchant
      yield* write(
        merchant,
        CatalogChange.AddToStore({ entityId: stove, storeId: files.id }),
        override(stove, files.id, { title: "Of the files" })
      )
      const copied = yield* save(cookie, stove, "title", shop.id, {
        value: "Ofen",
        do: "copy",
        [`to-${files.id}`]: "yes"
      })
      const undone = yield* after(cookie, yield* undo(cookie, undoForm(copied)))
      assert.match(cellOf(undone, "title", shop.id), /class="inherited"/)
      assert.match(wordsOf(cellOf(undone, "title", files.id)), /^Of the files Own value/)
      // One of both was changed since: neither is put back.
      const other = yield* save(cookie, stove, "title", shop.id, { value: "O", do: "copy", [`to-${files.id}`]: "yes" })
      yield* write(merchant, override(stove, files.id, { title: "Later" }))
      const refused = yield* undo(cookie, undoForm(other))
      assert.strictEqual(refused.status, 409)
      assert.match(wordsOf(cellOf(refused, "title", shop.id)), /^O Own value/)
      assert.match(wordsOf(cellOf(refused, "title", files.id)), /^Later Own value/)
    })
  )

  it.effect("is refused with words if somebody changed the value since; other fields do not matter", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, cookie, shop, stove } = merchant
      const saved = yield* save(cookie, stove, "title", shop.id, { value: "Ofen" })
      const email = `undo-${stove}@example.com`
      const other = yield* aBrowser(accountId, email)
      yield* save(other.cookie, stove, "title", shop.id, { value: "Theirs <i>" })
      const refused = yield* undo(cookie, undoForm(saved))
      assertPage(refused, 409)
      const cell = cellOf(refused, "title", shop.id)
      assert.strictEqual(alertIn(cell), `Not undone: ${email} has changed this since. Nothing was overwritten.`)
      assert.match(wordsOf(cell), /^Theirs &lt;i> Own value/)
      assert.match(cell, /<a [^>]*autofocus[^>]*>/)
      assert.notInclude(refused.text, 'class="note"')
      // The other one may still undo, after a change of another field.
      const theirs = yield* save(other.cookie, stove, "title", shop.id, { value: "Again" })
      yield* write(merchant, CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Tarn" } }))
      const undone = yield* after(other.cookie, yield* undo(other.cookie, undoForm(theirs)))
      assert.match(wordsOf(cellOf(undone, "title", shop.id)), /^Theirs &lt;i> Own value/)
    })
  )

  it.effect("if many people undo the same write at once, it is undone once", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop, stove } = merchant
      const people = 6
      for (const value of ["One", "Two", "Three"]) {
        const form = undoForm(yield* save(cookie, stove, "title", shop.id, { value }))
        const before = (yield* historyOf(merchant)).length
        const answers = yield* Effect.forEach(Array.from({ length: people }), () => undo(cookie, form), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [
          303,
          ...Array.from({ length: people - 1 }, () => 409)
        ])
        assert.lengthOf(yield* historyOf(merchant), before + 1)
        assert.match(cellOf(yield* ask(`/entity?id=${stove}`, { cookie }), "title", shop.id), /class="inherited"/)
      }
    })
  )

  it.effect("offers no undo where nothing was written, and refuses forms that name no undo", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, cookie, shop, stove } = merchant
      const form = undoForm(yield* save(cookie, stove, "title", shop.id, { value: "Ofen" }))
      const stranger = yield* aMerchant
      for (const id of [stranger.stove, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""])
        assertNotThere(yield* undo(cookie, { ...form, id }))
      // The first revision is the import's, and the last but one does not exist.
      for (const revision of ["1", "999"]) assertNotThere(yield* undo(cookie, { ...form, revision }))
      assertNotThere(yield* undo(cookie, { ...form, store: "x" }))
      for (const revision of ["", "0", "-2", "1.5", "two"])
        assert.strictEqual((yield* undo(cookie, { ...form, revision })).status, 400, revision)
      const unproven = Object.fromEntries(Object.entries(form).filter(([name]) => name !== "csrf"))
      const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
      for (const each of [unproven, { ...form, csrf: theirs }]) assertForeignForm(yield* undo(cookie, each))
      const { cookie: viewer } = yield* aBrowser(accountId, `viewer-${stove}@example.com`, "view")
      assert.strictEqual((yield* undo(viewer, form)).status, 403)
      // A value that was cleared twice: the second time nothing was written.
      const page = yield* ask(`/entity?${new URLSearchParams({ id: stove, edit: "title", store: shop.id })}`, {
        cookie
      })
      const open = { ...sectionsOf(page.text, "/entity/edit").hidden, do: "clear" }
      yield* ask("/entity/edit", { cookie, form: open })
      const again = yield* save(cookie, stove, "title", shop.id, { do: "clear", value: "x" })
      assert.include(wordsOf(cellOf(again, "title", shop.id)), "Saved Edit")
      const last = undoForm(yield* save(cookie, stove, "title", shop.id, { value: "Ofen" }))
      const before = (yield* historyOf(merchant)).length
      yield* aReview(merchant)
      const locked = yield* undo(cookie, last)
      assertPage(locked, 423)
      assert.match(alertIn(cellOf(locked, "title", shop.id)), /^Not undone: an import has locked the catalog/)
      assert.isAtLeast((yield* historyOf(merchant)).length, before)
    })
  )
})
