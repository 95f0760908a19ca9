import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Drafts } from "../../src/drafts/Drafts.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { actingAs, anEntity, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { type Answer, aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aMerchant, aReview, assertForeignForm, assertNotThere, csrfOf } from "./Merchant.ts"
import { assertPage, mainOf } from "./WholePage.ts"

const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

const locked = "Not saved: an import has locked the catalog. Accept or discard it, then save again."

const alertIn = ({ text }: Answer) => wordsOf(/<div class="alert" role="alert">.*?<\/div>/s.exec(text)?.[0] ?? "")
const noteIn = ({ text }: Answer) => wordsOf(/<div class="note" role="status">.*?<\/div>/s.exec(text)?.[0] ?? "")
const buttonIn = ({ text }: Answer, id: string) => new RegExp(`<button[^>]*id="${id}"[^>]*>`).exec(text)?.[0] ?? ""
const titlesIn = ({ text }: Answer) => [...text.matchAll(/aria-label="Move ([^"]*) up"/g)].map(([, title]) => title)

/** A lamp with variants on more than one page of its table. */
const aLamp = (count: number) =>
  Effect.gen(function* () {
    const merchant = yield* aMerchant
    const { actor, cookie, shop } = merchant
    const made = yield* Effect.gen(function* () {
      const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [shop] })
      const variants = yield* Effect.forEach(Array.from({ length: count }), (_, n) =>
        anEntity("variant", { title: `V${n + 1}`, option1: `V${n + 1}`, sku: `L-${n + 1}` }, { of: lamp, on: [shop] })
      )
      return { lamp, variants }
    }).pipe(actingAs(actor))
    const address = `/entity?id=${made.lamp}`
    const csrf = csrfOf(yield* ask(address, { cookie }))
    const send = (move: string, more: Readonly<Record<string, string>> = {}, as = cookie) =>
      ask("/entity/variants", { cookie: as, form: { csrf, id: made.lamp, move, ...more } })
    const revision = Effect.flatMap(Drafts, (drafts) => drafts.get(made.lamp, null)).pipe(
      Effect.map(({ draft_revision }) => draft_revision),
      actingAs(actor)
    )
    return { ...merchant, ...made, address, send, revision }
  })

/** A collection of products, and the form that moves one. */
const aCollection = (count: number, values: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const merchant = yield* aMerchant
    const { actor, cookie, files, shop } = merchant
    const made = yield* Effect.gen(function* () {
      const collection = yield* anEntity("collection", { title: "Summer", ...values }, { on: [shop, files] })
      const products = yield* Effect.forEach(Array.from({ length: count }), (_, n) =>
        anEntity("product", { title: `P${n + 1}` })
      )
      yield* (yield* Drafts).changeMembers(collection, products, [])
      return { collection, products }
    }).pipe(actingAs(actor))
    const address = `/collections/products?id=${made.collection}`
    const csrf = csrfOf(yield* ask(address, { cookie }))
    const send = (move: string, more: Readonly<Record<string, string>> = {}, as = cookie) =>
      ask("/collections/products/move", { cookie: as, form: { csrf, id: made.collection, move, ...more } })
    const members = Effect.flatMap(Catalog, (catalog) => catalog.members(made.collection, { limit: 250 })).pipe(
      Effect.map((page) => page.members.map(({ id }) => made.products.indexOf(id) + 1)),
      actingAs(actor)
    )
    return { ...merchant, ...made, address, send, members }
  })

const leadsTo = (answer: Answer) => {
  assert.strictEqual(answer.status, 303, answer.text)
  return String(answer.headers.get("location"))
}

const followed = (cookie: string, answer: Answer) => {
  const [address = ""] = leadsTo(answer).split("#")
  return ask(address, { cookie: withNote(cookie, address) })
}

const first = (ids: ReadonlyArray<EntityId>, index = 0): EntityId => ids[index] ?? assert.fail("no entity")

layer(PagesServer, { excludeTestServices: true })("the order of variants and products", (it) => {
  it.effect("a variant moves up and down in its table, and back", () =>
    Effect.gen(function* () {
      const { address, cookie, lamp, send, variants } = yield* aLamp(3)
      const [one, two, three] = [first(variants), first(variants, 1), first(variants, 2)]
      const page = yield* ask(address, { cookie })
      assertPage(page)
      assert.deepStrictEqual(titlesIn(page), ["V1", "V2", "V3"])
      for (const [id, by, isEnd] of [
        [one, "up", true],
        [one, "down", false],
        [three, "up", false],
        [three, "down", true]
      ] as const) {
        const button = buttonIn(page, `move-${id}-${by}`)
        assert.include(button, 'form="variant-move"')
        assert.strictEqual(button.includes(" disabled"), isEnd, `${id} ${by}`)
      }
      const moved = yield* send(`${two} up`)
      const note = new URLSearchParams({ id: lamp, note: `ordered ${two} 2 1 3` })
      // At the first place it can only go down again.
      assert.strictEqual(leadsTo(moved), `/entity?${note}#move-${two}-down`)
      const after = yield* followed(cookie, moved)
      assert.deepStrictEqual(titlesIn(after), ["V2", "V1", "V3"])
      assert.strictEqual(noteIn(after), "V2 is number 1 of 3 now: saved as a draft.")
      assert.include(buttonIn(after, `move-${two}-undo`), `value="${two} undo 2"`)
      const undone = yield* send(`${two} undo 2`)
      assert.match(leadsTo(undone), new RegExp(`#move-${two}-undo$`))
      const again = yield* followed(cookie, undone)
      assert.deepStrictEqual(titlesIn(again), ["V1", "V2", "V3"])
      // The undo can be undone.
      assert.include(buttonIn(again, `move-${two}-undo`), `value="${two} undo 1"`)
    })
  )

  it.effect("the review of a publish says that only the order of the variants changes", () =>
    Effect.gen(function* () {
      const { actor, cookie, lamp, send, shop, variants } = yield* aLamp(2)
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.AcceptPublish({ entityId: lamp, storeId: shop.id })])
      ).pipe(actingAs(actor))
      yield* send(`${first(variants)} down`)
      const review = wordsOf(mainOf(yield* ask(`/entity/review?id=${lamp}`, { cookie })))
      assert.include(review, "Field Live New value Variants 2 entries 2 entries in another order")
    })
  )

  it.effect("a variant that moves to another page of the table is shown there", () =>
    Effect.gen(function* () {
      const { cookie, lamp, send, variants } = yield* aLamp(27)
      const last = first(variants, 24)
      const moved = yield* send(`${last} down`)
      const query = new URLSearchParams({ id: lamp, variants: "2", note: `ordered ${last} 25 26 27` })
      assert.strictEqual(leadsTo(moved), `/entity?${query}#move-${last}-down`)
      assert.deepStrictEqual(titlesIn(yield* followed(cookie, moved)), ["V25", "V27"])
      // It is the first one of its page, but not of the list.
      const page = yield* ask(`/entity?id=${lamp}&variants=2`, { cookie })
      assert.notInclude(buttonIn(page, `move-${last}-up`), " disabled")
      const back = yield* send(`${last} up`, { variants: "2" })
      assert.match(leadsTo(back), new RegExp(`^/entity\\?id=${lamp}&note=`))
    })
  )

  it.effect("a variant is not moved if the form is not the visitor's, or an import locks the catalog", () =>
    Effect.gen(function* () {
      const lamp = yield* aLamp(2)
      const { accountId, address, cookie, revision, send, tent, variants } = lamp
      const [one, two] = [first(variants), first(variants, 1)]
      const before = yield* revision
      assert.strictEqual(leadsTo(yield* send(`${one} up`)), `${address}#move-${one}-down`)
      const unclear = yield* send("x up")
      assert.strictEqual(unclear.status, 400)
      assert.include(
        wordsOf(mainOf(unclear)),
        "The form does not say what to move. Open the page again and repeat it there."
      )
      const beyond = yield* send(`${one} undo 9`)
      assert.deepStrictEqual(
        [beyond.status, alertIn(beyond)],
        [400, "The position must be a whole number from 1 to 2."]
      )
      assertNotThere(yield* send(`${tent} up`))
      assertNotThere(yield* send(`${one} down`, { id: tent }))
      assertForeignForm(yield* send(`${two} up`, { csrf: "x" }))
      const { cookie: viewer } = yield* aBrowser(accountId, `viewer-${one}@example.com`, "view")
      const seen = yield* ask(address, { cookie: viewer })
      assert.notInclude(seen.text, "variant-move")
      const refused = yield* send(`${two} up`, { csrf: csrfOf(seen) }, viewer)
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, "role")
      // Nobody typed the field of a button.
      assert.notInclude(refused.text, "What you typed")
      yield* aReview(lamp)
      const late = yield* send(`${two} up`)
      assert.deepStrictEqual([late.status, alertIn(late)], [423, locked])
      assert.deepStrictEqual(titlesIn(yield* ask(address, { cookie })), ["V1", "V2"])
      assert.strictEqual(yield* revision, before)
    })
  )

  it.effect("a product moves up, down and to a position, and back", () =>
    Effect.gen(function* () {
      const { collection, cookie, members, products, send } = yield* aCollection(4)
      const [one, two, four] = [first(products), first(products, 1), first(products, 3)]
      const up = yield* send(`${two} up`, { search: "tent" })
      const query = new URLSearchParams({ id: collection, search: "tent", note: `ordered ${two} 2 1 4` })
      assert.strictEqual(leadsTo(up), `/collections/products?${query}#move-${two}-down`)
      assert.deepStrictEqual(yield* members, [2, 1, 3, 4])
      const down = yield* send(`${one} down`)
      assert.match(leadsTo(down), new RegExp(`#move-${one}-down$`))
      assert.deepStrictEqual(yield* members, [2, 3, 1, 4])
      const to = yield* send(`${four} to`, { position: " 1 " })
      assert.deepStrictEqual(yield* members, [4, 2, 3, 1])
      const page = yield* followed(cookie, to)
      assertPage(page)
      assert.strictEqual(noteIn(page), "P4 is number 1 of 4 now: saved as a draft.")
      assert.deepStrictEqual(
        [...page.text.matchAll(/<input type="text"[^>]* value="(\d+)"[^>]* aria-label="Position of (P\d)"/g)].map(
          ([, position, title]) => `${position} ${title}`
        ),
        ["1 P4", "2 P2", "3 P3", "4 P1"]
      )
      assert.include(buttonIn(page, `move-${four}-undo`), `value="${four} undo 4"`)
      yield* send(`${four} undo 4`)
      assert.deepStrictEqual(yield* members, [2, 3, 1, 4])
      // It is there already, so there is nothing to say.
      assert.notInclude(leadsTo(yield* send(`${four} to`, { position: "4" })), "note")
      const history = wordsOf(mainOf(yield* ask(`/entity?id=${collection}`, { cookie })))
      assert.lengthOf(history.match(/Members changed/g) ?? [], 5)
    })
  )

  it.effect("a move on a page that is outdated says what it did, and its undo restores the place before it", () =>
    Effect.gen(function* () {
      const { actor, address, collection, cookie, members, products, send } = yield* aCollection(4)
      const [two, three] = [first(products, 1), first(products, 2)]
      const somebodyMoves = (id: EntityId, by: "up" | "down") =>
        Effect.flatMap(Drafts, (drafts) => drafts.moveMember(collection, id, by)).pipe(actingAs(actor))
      const outdated = yield* ask(address, { cookie })
      const press = (id: string, page = outdated) =>
        send(/ value="([^"]*)"/.exec(buttonIn(page, id))?.[1] ?? assert.fail(id))
      yield* somebodyMoves(three, "down")
      // The third product is the fourth one now, so it moves to the place where the page shows it.
      const moved = yield* followed(cookie, yield* press(`move-${three}-up`))
      assert.strictEqual(noteIn(moved), "P3 is number 3 of 4 now: saved as a draft.")
      assert.deepStrictEqual(yield* members, [1, 2, 3, 4])
      yield* press(`move-${three}-undo`, moved)
      assert.deepStrictEqual(yield* members, [1, 2, 4, 3])
      yield* somebodyMoves(two, "up")
      // The second product is the first one already, so nothing is saved.
      assert.strictEqual(leadsTo(yield* press(`move-${two}-up`)), `${address}#move-${two}-down`)
      assert.deepStrictEqual(yield* members, [2, 1, 4, 3])
    })
  )

  it.effect("positions count on every page, and a move keeps the page", () =>
    Effect.gen(function* () {
      const { address, cookie, products, send } = yield* aCollection(102)
      const start = yield* ask(address, { cookie })
      const cursor = /cursor=([^"&]+)/.exec(start.text)?.[1] ?? assert.fail("no next page")
      const page = yield* ask(`${address}&cursor=${cursor}`, { cookie })
      assert.deepStrictEqual(titlesIn(page), ["P101", "P102"])
      const back =
        /href="([^"]*)">First page/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? assert.fail("no way back")
      assert.notInclude(start.text, "First page")
      assert.deepStrictEqual(titlesIn(yield* ask(back, { cookie })), titlesIn(start))
      const last = first(products, 101)
      assert.match(page.text, /<input type="text"[^>]* value="102"[^>]* aria-label="Position of P102"/)
      const moved = yield* send(`${last} up`, { cursor: decodeURIComponent(cursor) })
      assert.include(leadsTo(moved), `cursor=${cursor}`)
      assert.deepStrictEqual(titlesIn(yield* followed(cookie, moved)), ["P102", "P101"])
      const far = yield* send(`${last} to`, { cursor: decodeURIComponent(cursor), position: "1" })
      const left = yield* followed(cookie, far)
      assert.strictEqual(noteIn(left), "P102 is number 1 of 102 now: saved as a draft.")
      assert.include(left.text, `id="move-${last}-undo"`)
    })
  )

  it.effect("products of another page of the collection cannot be added, and the search goes on behind them", () =>
    Effect.gen(function* () {
      const { address, cookie, products, tent } = yield* aCollection(102)
      const offeredIn = ({ text }: Answer) =>
        [...text.slice(text.indexOf('id="add"')).matchAll(/<input type="checkbox"[^>]* name="product-([^"]*)"/g)].map(
          ([, id]) => id ?? ""
        )
      const offered = offeredIn(yield* ask(address, { cookie }))
      assert.include(offered, tent)
      assert.deepStrictEqual(
        offered.filter((id) => products.some((product) => product === id)),
        []
      )
      const page = yield* ask(`${address}&search=P10`, { cookie })
      assert.deepStrictEqual(offeredIn(page), [])
      assert.include(mainOf(page), "No products were found that can be added.")
      // A later page cannot say that there are none.
      const later = yield* ask(`${address}&search=P10&from=0`, { cookie })
      assert.notInclude(mainOf(later), "No products were found that can be added.")
      assert.include(later.text, `search=P10#add">First page`)
    })
  )

  it.effect("a move keeps the ticked products, and a change of the products keeps the page", () =>
    Effect.gen(function* () {
      const { actor, address, collection, cookie, members, products, send, tent } = yield* aCollection(102)
      // More than a page of products that can be added.
      yield* Effect.replicateEffect(anEntity("product", { title: "P" }), 51).pipe(actingAs(actor))
      const csrf = csrfOf(yield* ask(address, { cookie }))
      const [one, last, before] = [first(products), first(products, 101), first(products, 100)]
      const cursor = decodeURIComponent(/cursor=([^"&]+)/.exec((yield* ask(address, { cookie })).text)?.[1] ?? "")
      const state = { search: "P", from: "newest", cursor }
      const tickedIn = ({ text }: Answer) =>
        [...text.matchAll(/<input type="checkbox"[^>]* name="product-([^"]*)"[^>]* checked/g)].map(([, id]) => id)
      const shown = new URLSearchParams({ id: collection, ...state })
      const ticks = { [`product-${before}`]: "yes", [`product-${tent}`]: "yes" }
      const up = yield* send(`${last} up`, { ...state, ...ticks })
      const query = new URLSearchParams({ ...ticks, note: `ordered ${last} 102 101 102` })
      assert.strictEqual(leadsTo(up), `/collections/products?${shown}&${query}#move-${last}-up`)
      const page = yield* followed(cookie, up)
      assert.deepStrictEqual(tickedIn(page), [before])
      // An arrow sends the form of the checkboxes; the forms of the positions and of the undo have the ticked products as hidden fields.
      assert.include(buttonIn(page, `move-${last}-up`), 'form="members-form" formaction="/collections/products/move"')
      assert.lengthOf(page.text.match(new RegExp(`type="hidden" name="product-${before}" value="yes"`, "g")) ?? [], 3)
      const refused = yield* send(`${last} to`, { ...state, ...ticks, position: "0" })
      assert.deepStrictEqual([refused.status, tickedIn(refused)], [400, [before]])
      const many = Object.fromEntries(products.slice(0, 21).map((id) => [`product-${id}`, "yes"]))
      assert.notInclude(leadsTo(yield* send(`${last} up`, { ...state, ...many })), "product-")
      assertNotThere(yield* send(`${last} up`, { "product-x": "yes" }))
      const change = (does: string, ids: ReadonlyArray<EntityId>) =>
        ask("/collections/products", {
          cookie,
          form: {
            csrf,
            id: collection,
            ...state,
            do: does,
            ...Object.fromEntries(ids.map((id) => [`product-${id}`, "yes"]))
          }
        })
      assert.strictEqual(leadsTo(yield* change("add", [tent])), `/collections/products?${shown}&note=added`)
      const removed = yield* change("remove", [tent])
      assert.strictEqual(leadsTo(removed), `/collections/products?${shown}&note=removed`)
      // The second page is gone, so the first one is shown.
      const gone = yield* change("remove", products.filter((id) => id !== one).slice(-50))
      assert.lengthOf(yield* members, 52)
      assert.lengthOf(titlesIn(yield* followed(cookie, gone)), 52)
      // Links and the search keep the part of the other list.
      const links = [...page.text.matchAll(/href="([^"]*)#add"/g)].map(([, to]) => to?.replaceAll("&amp;", "&") ?? "")
      assert.lengthOf(links, 2)
      for (const to of links) assert.include(to, `cursor=${encodeURIComponent(cursor)}`)
    })
  )

  it.effect("a bad position is refused at its field, and stays in it", () =>
    Effect.gen(function* () {
      const { members, products, send } = yield* aCollection(3)
      const two = first(products, 1)
      for (const position of ["0", "-1", "1.5", "4", "first", "", "99999999999"]) {
        const answer = yield* send(`${two} to`, { position })
        assert.strictEqual(answer.status, 400, position)
        const field = new RegExp(`<input[^>]*aria-describedby="position-${two}-misfit"[^>]*>`).exec(answer.text)?.[0]
        assert.strictEqual(/ value(?:="([^"]*)")?/.exec(field ?? "")?.[1] ?? "", position)
        assert.include(field, "autofocus")
        assert.include(
          answer.text,
          `<p class="wrong" id="position-${two}-misfit" role="alert">The position must be a whole number from 1 to 3.</p>`
        )
      }
      assert.deepStrictEqual(yield* members, [1, 2, 3])
    })
  )

  it.effect(
    "a product is not moved if it has left, the form is not the visitor's, or an import locks the catalog",
    () =>
      Effect.gen(function* () {
        const made = yield* aCollection(3)
        const { accountId, actor, collection, members, products, send, tent } = made
        const [one, two, three] = [first(products), first(products, 1), first(products, 2)]
        yield* Effect.flatMap(Drafts, (drafts) => drafts.changeMembers(collection, [], [one])).pipe(actingAs(actor))
        for (const product of [one, tent]) {
          const left = yield* send(`${product} down`)
          assert.deepStrictEqual(
            [left.status, alertIn(left), titlesIn(left)],
            [404, "The product is not in the collection any more.", ["P2", "P3"]]
          )
        }
        assertNotThere(yield* send(`${two} down`, { id: tent }))
        assertForeignForm(yield* send(`${two} down`, { csrf: "x" }))
        const { cookie: viewer } = yield* aBrowser(accountId, `viewer-${one}@example.com`, "view")
        assert.strictEqual((yield* send(`${two} down`, {}, viewer)).status, 403)
        yield* aReview(made)
        const late = yield* send(`${three} to`, { position: "1" })
        assert.deepStrictEqual([late.status, alertIn(late)], [423, locked])
        assert.include(late.text, `value="1" maxlength="20"`)
        assert.deepStrictEqual(yield* members, [2, 3])
      })
  )

  it.effect("the page names the stores that sort the collection by themselves", () =>
    Effect.gen(function* () {
      const { actor, address, collection, cookie, files, shop } = yield* aCollection(2, { sort_order: "manual" })
      const says = Effect.map(ask(address, { cookie }), (page) =>
        /These stores sort[^<]*/.exec(mainOf(page))?.[0].replaceAll("&amp;", "&")
      )
      const set = (values: Readonly<Record<string, string | null>>) =>
        Effect.flatMap(CatalogChanges, (changes) =>
          changes.apply([CatalogChange.SetOverrides({ entityId: collection, storeId: shop.id, values })])
        ).pipe(actingAs(actor))
      assert.isUndefined(yield* says)
      yield* set({ sort_order: "price-asc" })
      const sentence = `These stores sort the collection by themselves, so the order here has no effect there: ${shop.name}.`
      assert.strictEqual(yield* says, sentence)
      assert.notInclude(sentence, files.domain)
      // A shop of the demo keeps the order here if it gets none.
      yield* set({ sort_order: "" })
      assert.isUndefined(yield* says)
    })
  )
})
