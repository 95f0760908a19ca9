import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Imports } from "../../src/imports/Imports.ts"
import type { ImportId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aProductOf, held } from "../support/ShopRecords.ts"
import {
  aMerchant,
  aReview,
  assertPage,
  assertRefusal,
  assertShownAgain,
  csrfOf,
  editBothSides,
  rowsOf,
  textOf,
  untilPhase
} from "./Merchant.ts"

const quiet = () => Effect.void

/**
 * An import of the shop with entries in each list: a new product, a changed collection, a removed product, three
 * conflicts.
 */
const aFullReview = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { accountId, actor, shop } = merchant
  const imports = yield* Imports
  const shops = yield* DemoShops
  const sql = yield* SqlClient.SqlClient
  const put = (records: ReturnType<typeof aProductOf>) => shops.put({ accountId, storeId: shop.id }, records)
  const refresh = imports.refresh(shop.domain, quiet).pipe(actingAs(actor))
  yield* put(aProductOf("boat", ["One"]))
  const { id: bringsBoat } = yield* refresh
  yield* imports.accept(bringsBoat, quiet).pipe(actingAs(actor))
  yield* editBothSides(merchant)
  yield* sql`DELETE FROM demo_shop_record WHERE account_id = ${accountId} AND platform_id LIKE '%boat%'`
  yield* put([
    ...aProductOf("lamp", ["Small <1>"]),
    held(
      "collection",
      "collection/camp",
      { title: "Camping", handle: "camp" },
      { members: ["product/tent", "product/stove"] }
    )
  ])
  const { id, summary } = yield* refresh
  assert.deepInclude(summary, { created: 1, updated: 2, unlinked: 3, conflicts: 3 })
  return { ...merchant, id, put, refresh }
})

/** An import of a file with this number of new products. */
const aFileOf = (count: number) =>
  Effect.gen(function* () {
    const merchant = yield* aMerchant
    const lines = Array.from({ length: count }, (_, n) => `pan-${n},Pan ${n},P-${n},5.00`)
    const content = new TextEncoder().encode(["Handle,Title,Variant SKU,Variant Price", ...lines].join("\n"))
    const imports = yield* Imports
    const { id } = yield* imports
      .startCsv({ name: "pans.csv", content }, "files.example")
      .pipe(actingAs(merchant.actor))
    yield* untilPhase(merchant, id, "reviewing")
    return { ...merchant, id }
  })

const currentTab = (text: string) => /aria-current="true">(\w+) /.exec(text)?.[1]

layer(PagesServer, { excludeTestServices: true })("the lists of an import", (it) => {
  it.effect("show what is new, changed, leaving and in conflict, before and after", () =>
    Effect.gen(function* () {
      const { actor, cookie, id, stove, tent } = yield* aFullReview
      const numbers = "New 2 Changed 3 Leaving 3 Conflicts 3"
      const open = (list: string) => ask(`/import?id=${id}&list=${list}`, { cookie })

      const added = yield* assertPage(`/import?id=${id}&list=new`, cookie)
      assert.strictEqual(currentTab(added.text), "New")
      assert.include(textOf(added), `What it would change ${numbers}`)
      const lamp = new Map(rowsOf(added))
      assert.sameMembers([...lamp.keys()], ["lamp on a table Media file", "The lamp Product"])
      for (const part of [
        "Title: The lamp",
        "Handle: lamp",
        "New variant Small &lt;1>",
        "SKU: lamp-Small &lt;1>",
        "Price: 10.00"
      ])
        assert.include(lamp.get("The lamp Product"), part)
      // The product does not exist yet, so it has no link.
      assert.notMatch(added.text, /<a href="\/entity[^>]*><bdi>The lamp/)

      const changed = yield* open("changed")
      assert.strictEqual(currentTab(changed.text), "Changed")
      assert.sameDeepMembers(
        [...rowsOf(changed)],
        [
          ["Camp Collection", "Title: Camp → becomes Camping"],
          ["The tent Product", "Its values are in Conflicts."],
          ["The stove Product", "Its values are in Conflicts."]
        ]
      )
      for (const entity of [tent, stove]) assert.include(changed.text, `<a href="/entity?id=${entity}">`)

      const leaving = yield* open("leaving")
      assert.strictEqual(currentTab(leaving.text), "Leaving")
      assert.sameDeepMembers(
        [...rowsOf(leaving)],
        ["The boat Product", "One Variant of The boat", "boat on a table Media file"].map(
          (name) => [name, "Removed from the store"] as const
        )
      )
      const conflicts = yield* open("conflicts")
      assert.strictEqual(currentTab(conflicts.text), "Conflicts")
      assert.lengthOf(sectionsOf(conflicts.text, "/import/accept").choices, 6)
      // Each tab has the form that accepts the import.
      for (const page of [added, changed, leaving, conflicts])
        assert.include(page.text, "Take the store's value for all undecided and accept")

      yield* Effect.flatMap(Imports, (imports) => imports.accept(id, quiet, { rest: "take_store" })).pipe(
        actingAs(actor)
      )
      const made = yield* ask(`/import?id=${id}`, { cookie })
      assert.include(textOf(made), `What it made ${numbers}`)
      assert.strictEqual(currentTab(made.text), "New")
      assert.match(made.text, /<a href="\/entity\?id=\S{36}"><bdi>The lamp<\/bdi><\/a>/)
      assert.notInclude(made.text, 'action="/import/')
      // The catalog has the new value now, so no old value is shown.
      assert.deepInclude([...rowsOf(yield* open("changed"))], ["Camping Collection", "Title: Camping"])
    })
  )

  it.effect("have pages; an unknown list or page is refused", () =>
    Effect.gen(function* () {
      const { cookie, id } = yield* aFileOf(53)
      const first = yield* assertPage(`/import?id=${id}&list=new`, cookie)
      assert.notInclude(first.text, "To the first")
      const names: Array<string> = []
      let page = first
      for (let pages = 0; pages < 3; pages++) {
        const rows = rowsOf(page)
        assert.lengthOf(rows, pages < 2 ? 25 : 3)
        names.push(...rows.map(([name]) => name))
        const next = /<a href="([^"]+)#lists">Next new<\/a>/.exec(page.text)?.[1]
        assert.strictEqual(next !== undefined, pages < 2)
        if (next !== undefined) page = yield* ask(next.replaceAll("&amp;", "&"), { cookie })
        if (next !== undefined)
          assert.include(page.text, `<a href="/import?id=${id}&amp;list=new#lists">To the first</a>`)
      }
      assert.sameMembers(
        names,
        Array.from({ length: 53 }, (_, n) => `Pan ${n} Product`)
      )
      const beyond = yield* ask(`/import?id=${id}&list=new&after=999999999`, { cookie })
      assert.strictEqual(beyond.status, 200)
      assert.include(textOf(beyond), "There are no more. To the first")
      assert.include(textOf(yield* ask(`/import?id=${id}&list=leaving`, { cookie })), "There are none.")
      for (const query of [
        "list=all",
        "list=New",
        "list=new&after=x",
        "list=new&after=-1",
        "after=1.5",
        "after=9999999999"
      ])
        assertRefusal(yield* ask(`/import?id=${id}&${query}`, { cookie }), 400, {
          title: "Not understood",
          message:
            "This address names no list of the import, or no place in it. The lists are New, Changed, Leaving and Conflicts.",
          next: [`/import?id=${id}`, "To the import"]
        })
    })
  )

  it.effect("have a search, which stays on pages and other lists", () =>
    Effect.gen(function* () {
      const { cookie, id } = yield* aFileOf(53)
      const at = `/import?id=${id}&list=new`
      const one = yield* assertPage(`${at}&search=pan+7`, cookie)
      assert.deepStrictEqual(
        rowsOf(one).map(([name]) => name),
        ["Pan 7 Product"]
      )
      assert.match(one.text, /<input type="search" name="search" value="pan 7"/)
      assert.include(one.text, `<a href="/import?id=${id}&amp;list=changed&amp;search=pan+7#lists"`)
      const first = yield* ask(`${at}&search=PAN`, { cookie })
      const next = /<a href="([^"]+)#lists">Next new<\/a>/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? ""
      assert.match(next, /&list=new&search=PAN&after=24$/)
      const second = yield* ask(next, { cookie })
      assert.lengthOf(rowsOf(second), 25)
      assert.include(second.text, `<a href="/import?id=${id}&amp;list=new&amp;search=PAN#lists">To the first</a>`)
      const none = yield* assertPage(`${at}&search=kettle`, cookie)
      assert.include(textOf(none), "Nothing was found.")
      assert.lengthOf(rowsOf(none), 0)
      assertRefusal(yield* ask(`${at}&search=${"x".repeat(201)}`, { cookie }), 400, {
        title: "Not understood",
        message: "A search or filter has at most 200 characters.",
        next: [`/import?id=${id}`, "To the import"]
      })
      for (const query of ["list=new&only=undecided", "only=undecided", "list=conflicts&only=decided"])
        assertRefusal(yield* ask(`/import?id=${id}&${query}`, { cookie }), 400, {
          title: "Not understood",
          message:
            "This address names no list of the import, or no place in it. The lists are New, Changed, Leaving and Conflicts.",
          next: [`/import?id=${id}`, "To the import"]
        })
    })
  )

  it.effect("find conflicts by words and those that are undecided, and a refused form keeps every choice", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie } = merchant
      const id = yield* aReview(merchant)
      const imports = yield* Imports
      const at = `/import?id=${id}&list=conflicts`
      const numbersOn = (text: string) =>
        [...text.matchAll(/<input type="hidden" name="seen-(\d+)"/g)].map(([, number]) => Number(number))
      const all = yield* imports.conflicts(id, 0, 9).pipe(actingAs(actor))
      const [first, ...others] = all.filter(({ title }) => title === "The tent").map(({ conflict }) => conflict)
      assert(first !== undefined)
      assert.lengthOf(others, 1)
      const tent = yield* assertPage(`${at}&search=tent`, cookie)
      assert.deepStrictEqual(numbersOn(tent.text), [first, ...others])
      yield* imports.decide(id, [first], "take_store").pipe(actingAs(actor))
      const open = yield* assertPage(`${at}&search=tent&only=undecided`, cookie)
      assert.deepStrictEqual(numbersOn(open.text), others)
      assert.include(textOf(open), "All 2 undecided")
      assert.include(textOf(yield* ask(`${at}&search=kettle&only=undecided`, { cookie })), "Nothing was found.")
      assert.deepStrictEqual(
        numbersOn((yield* ask(`${at}&only=undecided&after=1`, { cookie })).text),
        all.map(({ conflict }) => conflict).filter((conflict) => conflict > 1 && conflict !== first)
      )

      const { hidden } = sectionsOf(open.text, "/import/accept")
      const form = { ...hidden, csrf: csrfOf(open), id }
      assert.deepInclude(hidden, { search: "tent", only: "undecided" })
      const [second = 0] = others
      const choice = { ...form, [`conflict-${second}`]: "keep_draft" }
      // A colleague decides the conflict meanwhile, so the filter does not find it any more.
      yield* imports.decide(id, [second], "take_store").pipe(actingAs(actor))
      const refused = yield* ask("/import/decide", { cookie, form: choice })
      assert.strictEqual(refused.status, 400)
      assert.deepStrictEqual(numbersOn(refused.text), others)
      assert.include(textOf(refused), "You chose: Keep our draft.")
      const again = { ...sectionsOf(refused.text, "/import/accept").hidden, csrf: csrfOf(refused), id }
      const saved = yield* ask("/import/decide", { cookie, form: { ...again, [`conflict-${second}`]: "keep_draft" } })
      assert.deepStrictEqual(
        [saved.status, saved.headers.get("location")],
        [303, `/import?id=${id}&list=conflicts&search=tent&only=undecided&note=decided`]
      )
      const address = saved.headers.get("location") ?? ""
      const left = yield* ask(address, { cookie: withNote(cookie, address) })
      assert.include(textOf(left), "Your decisions are saved.")
      assert.include(textOf(left), "Nothing was found.")
      // Accepting from a page that shows none of the undecided conflicts shows these.
      const incomplete = yield* ask("/import/accept", {
        cookie,
        form: { csrf: csrfOf(left), id, search: "tent", only: "undecided" }
      })
      assert.strictEqual(incomplete.status, 400)
      assert.include(numbersOn(incomplete.text), all.find(({ title }) => title !== "The tent")?.conflict)
    })
  )

  it.effect("are shown without forms to somebody who may not edit", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const id = yield* aReview(merchant)
      const { cookie } = yield* aBrowser(merchant.accountId, `reader-of-${merchant.email}`, "view")
      const page = yield* ask(`/import?id=${id}`, { cookie })
      assert.strictEqual(page.status, 200)
      assert.include(textOf(page), "Value Our draft The store's value Decision The ")
      assert.include(textOf(page), "Somebody with the role Edit reviews it.")
      assert.notInclude(page.text, 'action="/import/')
    })
  )
})

layer(PagesServer, { excludeTestServices: true })("two people who review one import", (it) => {
  it.effect("see each other's decisions and overwrite nothing", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const id = yield* aReview(merchant)
      const imports = yield* Imports
      const other = `other-than-${merchant.email}`
      const colleague = yield* aBrowser(merchant.accountId, other)
      const browserOf = (cookie: string) =>
        Effect.map(ask(`/import?id=${id}`, { cookie }), (page) => {
          const csrf = csrfOf(page)
          return (path: string, form: Readonly<Record<string, string>>) =>
            ask(path, { cookie, form: { csrf, id, ...form } })
        })
      const own = yield* browserOf(merchant.cookie)
      const theirs = yield* browserOf(colleague.cookie)
      const decisions = Effect.map(imports.conflicts(id, 0, 500), (conflicts) =>
        conflicts.map(({ decided_by, decision }) => [decision, decided_by?.name ?? null])
      ).pipe(actingAs(merchant.actor))
      const nobody = [null, null]
      const unseen = { "seen-1": "", "seen-2": "", "seen-3": "" }
      const notSaved =
        "Not saved: 1 conflict was decided since you opened this page. It shows those decisions now, and keeps your other choices. Check them, then send the form again."

      assert.strictEqual((yield* theirs("/import/decide", { ...unseen, "conflict-1": "take_store" })).status, 303)
      const refused = yield* own("/import/decide", {
        ...unseen,
        "conflict-1": "keep_draft",
        "conflict-2": "keep_draft"
      })
      assertShownAgain(refused, notSaved, [
        ["conflict-1", `${other} chose meanwhile: Take the store's value. You chose: Keep our draft.`]
      ])
      assert.deepStrictEqual(yield* decisions, [["take_store", other], nobody, nobody])
      const shown = sectionsOf(refused.text, "/import/accept")
      assert.deepInclude(shown.hidden, { "seen-1": "take_store", "seen-2": "", "seen-3": "" })
      assert.deepStrictEqual(
        shown.choices.map(([, isChosen]) => isChosen),
        [false, true, true, false, false, false]
      )

      // The current page is sent again, twice by a double click: only the person's own new choice is saved.
      const again = { ...shown.hidden, "conflict-1": "take_store", "conflict-2": "keep_draft" }
      for (let click = 0; click < 2; click++) assert.strictEqual((yield* own("/import/decide", again)).status, 303)
      assert.deepStrictEqual(yield* decisions, [["take_store", other], ["keep_draft", merchant.email], nobody])

      // Accepting confirms all decisions that the page showed, also those of other people.
      yield* theirs("/import/decide", { "seen-3": "", "conflict-3": "keep_draft" })
      const seen = { "seen-1": "take_store", "seen-2": "keep_draft" }
      assertShownAgain(yield* own("/import/accept", { ...seen, "seen-3": "", rest: "take_store" }), notSaved, [
        ["conflict-3", `${other} chose meanwhile: Keep our draft.`]
      ])
      assert.deepStrictEqual(yield* decisions, [
        ["take_store", other],
        ["keep_draft", merchant.email],
        ["keep_draft", other]
      ])
      assert.deepInclude(yield* imports.get(id).pipe(actingAs(merchant.actor)), { phase: "reviewing", applied: 0 })
      const accepted = yield* own("/import/accept", { ...seen, "seen-3": "keep_draft" })
      assert.strictEqual(accepted.headers.get("location"), `/import?id=${id}&note=accepted`)
      yield* untilPhase(merchant, id, "applied")
    })
  )
})

layer(PagesServer, { excludeTestServices: true })("the progress of an import", (it) => {
  const steps = (text: string) => /<ol class="steps"[\s\S]*?<\/ol>/.exec(text)?.[0] ?? ""

  it.effect("is saved while a store or a file is read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const stepOf = (id: ImportId) => sql`SELECT step FROM import_run WHERE id = ${id}`
      const { actor, id } = yield* aFileOf(3)
      assert.deepStrictEqual(yield* stepOf(id), [{ step: "comparing" }])
      const imports = yield* Imports
      yield* imports.discard(id).pipe(actingAs(actor))
      const merchant = yield* aMerchant
      const { id: refresh } = yield* imports.startRefresh(merchant.shop.domain).pipe(actingAs(merchant.actor))
      yield* untilPhase(merchant, refresh, "reviewing")
      assert.deepStrictEqual(yield* stepOf(refresh), [{ step: "comparing" }])
    })
  )

  it.effect("is shown by steps, a bar, its numbers, and the time left", () =>
    Effect.gen(function* () {
      const { accountId, cookie, firstImport: id } = yield* aMerchant
      const sql = yield* SqlClient.SqlClient
      const open = ask(`/import?id=${id}`, { cookie })
      const leased = sql`lease_until = app_now() + interval '1 hour'`
      yield* sql`
        UPDATE import_run
        SET phase = 'fetching', step = 'fetching', step_done = 1200, step_total = NULL, step_began_at = app_now(), ${leased}
        WHERE account_id = ${accountId} AND id = ${id}`
      const reading = yield* open
      assert.include(textOf(reading), "Reading the store: 1,200 records")
      assert.match(steps(reading.text), /<li class="done">Started<.*<li aria-current="step">Read<\/li><li>Compared</)
      assert.include(reading.text, 'data-says="Reading the store."')
      assert.notInclude(reading.text, "<progress")

      yield* sql`
        UPDATE import_run
        SET step = 'comparing', step_done = 1000, step_total = 4000, step_began_at = app_now() - interval '1 hour'
        WHERE account_id = ${accountId} AND id = ${id}`
      const comparing = yield* open
      assert.match(textOf(comparing), /Comparing with the catalog: 1,000 of 4,000 records, about 18\d minutes left/)
      assert.match(steps(comparing.text), /<li aria-current="step">Compared<\/li>/)
      assert.include(comparing.text, 'data-says="Comparing with the catalog: 20 %."')
      assert.match(comparing.text, /<progress max="4000" value="1000" aria-label="Progress of the import"/)

      yield* sql`UPDATE import_run SET source = 'csv', file_name = 'shop.csv' WHERE account_id = ${accountId} AND id = ${id}`
      assert.match(textOf(yield* open), /Comparing with the catalog: 1,000 of 4,000 rows, about 18\d minutes left/)
      yield* sql`UPDATE import_run SET step = 'checking' WHERE account_id = ${accountId} AND id = ${id}`
      assert.match(textOf(yield* open), /Checking the file: 25 %, about 18\d minutes left/)

      yield* sql`
        UPDATE import_run
        SET source = 'refresh', file_name = NULL, phase = 'applying', applied = 1, updated_at = app_now() - interval '1 hour', ${leased}
        WHERE account_id = ${accountId} AND id = ${id}`
      const applying = yield* open
      assert.match(textOf(applying), /Applying: 1 of 5, about 24\d minutes left/)
      assert.match(steps(applying.text), /<li aria-current="step">Applied<\/li>/)
      assert.include(applying.text, 'data-says="Applying: 20 %."')
      assert.include(textOf(applying), "What it changes New 5 Changed 0 Leaving 0 Conflicts 0")
      // The items that were done before a takeover say nothing about the pace since then.
      yield* sql`UPDATE import_run SET takeovers = 1 WHERE account_id = ${accountId} AND id = ${id}`
      const takenOver = textOf(yield* open)
      assert.include(takenOver, "Applying: 1 of 5")
      assert.notInclude(takenOver, "left")
    })
  )
})
