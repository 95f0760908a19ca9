import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Drafts } from "../../src/drafts/Drafts.ts"
import { nothingPlanned } from "../../src/imports/Import.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aProductOf } from "../support/ShopRecords.ts"
import {
  aMerchant,
  aReview,
  assertForeignForm,
  assertNotThere,
  assertPage,
  assertRefusal,
  assertShownAgain,
  csrfOf,
  editBothSides,
  entityNamed,
  rowsOf,
  textOf,
  untilPhase
} from "./Merchant.ts"

/** A merchant with an import under review, and the forms that their browser posts. */
const reviewing = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const id = yield* aReview(merchant)
  const { cookie } = merchant
  const csrf = csrfOf(yield* ask(`/import?id=${id}`, { cookie }))
  const post = (path: string, form: Readonly<Record<string, string>> = {}) =>
    ask(path, { cookie, form: { csrf, id, ...form } })
  const decisions = Effect.flatMap(Imports, (imports) => imports.conflicts(id, 0, 500)).pipe(
    Effect.map((conflicts) => conflicts.map(({ decided_by, decision }) => [decision, decided_by?.name ?? null])),
    actingAs(merchant.actor)
  )
  const run = Effect.flatMap(Imports, ({ get }) => get(id)).pipe(actingAs(merchant.actor))
  return { ...merchant, merchant, id, csrf, post, decisions, run }
})

/** The paths, the forms, and the titles of the pages that refuse them after the review. */
const forms = [
  ["/import/decide", { "conflict-1": "keep_draft" }, "Not decided"],
  ["/import/decide-all", { decision: "keep_draft" }, "Not decided"],
  ["/import/accept", {}, "Not accepted"],
  ["/import/discard", {}, "Not discarded"]
] as const

const unreadable = {
  title: "Not understood",
  message: "The form has an invalid decision, so nothing was decided. Open the import again and decide there.",
  next: ["/imports", "To the imports"]
} as const

layer(PagesServer, { excludeTestServices: true })("the pages of imports", (it) => {
  it.effect("list every import with its state and its changes", () =>
    Effect.gen(function* () {
      const { cookie, firstImport, id } = yield* reviewing
      const page = yield* assertPage("/imports", cookie)
      const time = "\\d{1,2} \\w{3,4} \\d{4}, \\d\\d:\\d\\d UTC"
      assert.match(
        textOf(page),
        new RegExp(
          `Last change Refresh tarn\\. demo\\. example Under review Products: 0 new, 2 changed, 0 unchanged; 3 conflicts ${time} ${time} Refresh tarn\\. demo\\. example Applied Products: 2 new, 0 changed, 0 unchanged; 3 other changes ${time} ${time} Import a product export`
        )
      )
      for (const each of [id, firstImport]) assert.include(page.text, `<a href="/import?id=${each}">Refresh</a>`)
      const beyond = yield* ask("/imports?from=999", { cookie })
      assert.include(textOf(beyond), "There are no more imports.")
      assert.include(beyond.text, '<a href="/imports">To the newest</a>')
      assert.notInclude((yield* ask("/imports?from=x", { cookie })).text, 'aria-label="Pages')
    })
  )

  it.effect("read the newest imports, and neither they nor a new import read those from before", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie, files } = yield* aMerchant
      const sql = yield* SqlClient.SqlClient
      // A summary of {} cannot be read, so whatever reads one of the older imports fails.
      yield* sql`
        INSERT INTO import_run (account_id, id, store_id, source, file_name, phase, summary, created_at)
        SELECT ${accountId}, gen_random_uuid(), ${files.id}, 'csv', 'old-' || n || '.csv', 'applied',
               CASE WHEN n <= 101 THEN ${JSON.stringify(nothingPlanned)}::jsonb ELSE '{}' END, app_now() - n * interval '1 hour'
        FROM generate_series(1, 150) n`
      const newest = yield* assertPage("/imports", cookie)
      assert.include(newest.text, "old-49.csv")
      assert.notInclude(newest.text, "old-50.csv")
      assert.include(newest.text, '<a href="/imports?from=50">Older imports</a>')
      const older = yield* assertPage("/imports?from=50", cookie)
      for (const name of ["old-50.csv", "old-99.csv"]) assert.include(older.text, name)
      assert.notInclude(older.text, "old-100.csv")
      assert.include(older.text, '<a href="/imports?from=100">Older imports</a>')
      yield* assertPage("/stores", cookie)
      yield* Effect.gen(function* () {
        const imports = yield* Imports
        assert.lengthOf(yield* imports.list, 100)
        const content = new TextEncoder().encode("Handle,Title\npan,Pan\n")
        const { id } = yield* imports.startCsv({ name: "new.csv", content }, files.domain)
        yield* untilPhase({ actor }, id, "reviewing")
        assert.strictEqual(Option.getOrThrow(yield* imports.holder).id, id)
      }).pipe(actingAs(actor))
    })
  )

  it.effect("name the picture of a variant in a conflict", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie, shop } = yield* aMerchant
      yield* Effect.gen(function* () {
        const imports = yield* Imports
        const shops = yield* DemoShops
        const [file, , variant] = aProductOf("stove", ["One"])
        const [other] = aProductOf("tent", [])
        if (!file || !other || !variant) return assert.fail("no stove")
        const quiet = () => Effect.void
        const put = (picture: string | null) => shops.put({ accountId, storeId: shop.id }, [{ ...variant, picture }])
        const id = yield* entityNamed("variant", "stove-One")
        const shown = yield* entityNamed("media", "tent on a table")
        yield* put(file.platformId)
        yield* imports.accept((yield* imports.refresh(shop.domain, quiet)).id, quiet)
        yield* (yield* CatalogChanges).apply([
          CatalogChange.SetGallery({ entityId: id, entries: [{ mediaId: shown, storeIds: [shop.id] }] })
        ])
        yield* put(null)
        const run = yield* imports.refresh(shop.domain, quiet)
        const page = yield* assertPage(`/import?id=${run.id}`, cookie)
        assert.include(textOf(page), ": Picture Keep our draft tent on a table Take the store's value empty")
        assert.match(textOf(page), /Last accepted value of the store stove on a table/)
        assert.include(page.text, `<a href="/entity?id=${shown}"><bdi>tent on a table</bdi></a>`)
        yield* imports.accept(run.id, quiet, { rest: "keep_draft" })
        assert.include(
          textOf(yield* ask(`/import?id=${run.id}&list=conflicts`, { cookie })),
          "Picture tent on a table empty"
        )
        // A picture that only the store has is not in the catalog yet.
        const [added] = aProductOf("lid", [])
        if (!added) return assert.fail("no picture")
        yield* shops.put({ accountId, storeId: shop.id }, [added, { ...variant, picture: added.platformId }])
        const next = yield* imports.refresh(shop.domain, quiet)
        assert.include(
          textOf(yield* assertPage(`/import?id=${next.id}`, cookie)),
          ": Picture Keep our draft tent on a table Take the store's value A new picture of the store"
        )
      }).pipe(actingAs(actor))
    })
  )

  it.effect("show an import under review with its conflicts side by side and their differences marked", () =>
    Effect.gen(function* () {
      const { cookie, id, stove, tent } = yield* reviewing
      const page = yield* assertPage(`/import?id=${id}`, cookie)
      const text = textOf(page)
      assert.include(
        text,
        "Refresh of Tarn &amp; Tern Started (done) Read (done) Compared (done) Reviewed Applied State Under review Store tarn.demo.example Source The store itself"
      )
      assert.include(text, "Products 0 2 0 Collections 0 0 1 Media files 0 0 2 Read: 3 variants.")
      // With undecided conflicts the import cannot be accepted.
      assert.include(
        text,
        "3 conflicts are undecided. Choose a value for each and accept the import with your choices. Or decide all undecided conflicts at once: Accept with your choices Keep our draft for all undecided and accept Take the store's value for all undecided and accept"
      )
      assert.notInclude(text, "Accept the import")
      assert.include(page.text, `<a href="/entity?id=${tent}"><bdi>The tent</bdi></a>: <bdi>Vendor</bdi>`)
      assert.include(page.text, `<a href="/entity?id=${stove}"><bdi>The stove</bdi></a>: <bdi>Tags</bdi>`)
      assert.include(page.text, "gas, <mark>camp</mark>")
      assert.include(page.text, "gas, <mark>wood</mark>")
      assert.include(page.text, "<mark>Tern &lt;b></mark>")
      // The words of HTML, without its tags.
      assert.match(
        page.text,
        /<div class="value" id="keep_draft-\d">Keeps the <mark>snow out, and the warmth <\/mark>in\.<\/div>/
      )
      assert.deepStrictEqual(
        sectionsOf(page.text, "/import/accept").choices,
        [1, 2, 3].flatMap(() => [
          ["keep_draft", false],
          ["take_store", false]
        ])
      )
      const rest = yield* ask(`/import?id=${id}&after=2`, { cookie })
      assert.lengthOf(sectionsOf(rest.text, "/import/accept").choices, 2)
      assert.include(textOf(rest), "Previous conflicts 3 to 3 of 3")
      assert.include(rest.text, `<a href="/import?id=${id}&amp;list=conflicts&amp;after=0">Previous conflicts</a>`)
      // The page does not show all undecided conflicts, so its choices alone do not complete the review.
      assert.include(
        textOf(rest),
        "Choose a value for each in Conflicts and save your decisions; then you can accept the import. Or decide all undecided conflicts at once: Keep our draft for all"
      )
      // Parameters of the address cannot change the messages of the page.
      assert.notInclude((yield* ask(`/import?id=${id}&note=%3Cb%3E`, { cookie })).text, 'role="status"')
    })
  )

  it.effect("show the changes of a file, and its columns that are not imported", () =>
    Effect.gen(function* () {
      const { actor, cookie, files } = yield* aMerchant
      const folder = mkdtempSync(join(tmpdir(), "import-pages-"))
      const path = join(folder, "products & more.csv")
      writeFileSync(
        path,
        "Handle,Title,Variant SKU,Variant Price,Cost per item\npan,Pan,P-1,5.00,2.00\npot,Pot,P-2,6.00,\n"
      )
      const { id } = yield* Effect.flatMap(Imports, (imports) =>
        imports.csv(path, files.domain, () => Effect.void)
      ).pipe(Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true }))), actingAs(actor))
      const page = yield* assertPage(`/import?id=${id}`, cookie)
      const text = textOf(page)
      assert.include(
        text,
        "Import of products &amp; more.csv into files.example Uploaded (done) Checked (done) Compared (done) Reviewed Applied State Under review Store files.example"
      )
      assert.include(text, "Source The file products &amp; more.csv")
      assert.include(text, "Products 2 0 0 Read: 2 variants and 0 images.")
      assert.include(
        text,
        "Columns that are not imported, with the number of filled cells: Cost per item (1). Publishing does not change them in the shop."
      )
      assert.include(text, "What it would change New 2 Changed 0 Leaving 0 Conflicts 0 ")
      assert.notInclude(page.text, 'id="conflicts"')
      assert.include(page.text, `<a href="/import?id=${id}&amp;list=new#lists" aria-current="true">New`)
    })
  )

  it.effect("show why an import has failed", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, shop } = merchant
      const failure = { kind: "refuse", percent: 100, delayMillis: 0 } as const
      const { id } = yield* Effect.zipRight(
        Effect.flatMap(DemoFailures, ({ fail }) => fail(shop.domain, failure)),
        Effect.flatMap(Imports, ({ startRefresh }) => startRefresh(shop.domain))
      ).pipe(actingAs(actor))
      yield* untilPhase(merchant, id, "failed")
      const why =
        "The store's platform refused the request (DEMO_REFUSED): The demo shop was told to refuse: ask the operator of this service to repair it."
      const page = yield* ask(`/import?id=${id}`, { cookie })
      assert.include(page.text, `<div class="alert" role="alert"><p>${why}</p></div>`)
      assert.notInclude(page.text, 'action="/import/')
      // The file was not read, so there are no counts.
      assert.notInclude(page.text, ">Summary<")
      assert.include(textOf(yield* ask("/imports", { cookie })), `Failed Nothing was read ${why}`)
    })
  )

  it.effect("decide conflicts one by one as the signed-in user and accept: kept drafts stay", () =>
    Effect.gen(function* () {
      const { actor, decisions, email, id, merchant, post, stove, tent } = yield* reviewing
      const nothing = yield* post("/import/decide")
      assert.strictEqual(nothing.headers.get("location"), `/import?id=${id}&note=nothing`)
      const some = yield* post("/import/decide", { "conflict-1": "keep_draft", "conflict-3": "take_store", after: "2" })
      assert.deepStrictEqual(
        [some.status, some.headers.get("location")],
        [303, `/import?id=${id}&list=conflicts&after=2&note=decided`]
      )
      assert.deepStrictEqual(yield* decisions, [
        ["keep_draft", email],
        [null, null],
        ["take_store", email]
      ])
      const address = `/import?id=${id}&list=conflicts&note=decided`
      const page = yield* ask(address, { cookie: withNote(merchant.cookie, address) })
      assert.include(textOf(page), "Your decisions are saved. They take effect when you accept the import.")
      assert.include(textOf(page), `Decided by ${email}`)
      assert.include(textOf(page), "1 conflict is undecided")
      assert.notInclude(textOf(page), "Accept the import")
      // The acceptance decides the last conflict, and changes another decision.
      const accepted = yield* post("/import/accept", { "conflict-2": "keep_draft", "conflict-3": "take_store" })
      assert.deepStrictEqual(
        [accepted.status, accepted.headers.get("location")],
        [303, `/import?id=${id}&note=accepted`]
      )
      assert.deepInclude(yield* untilPhase(merchant, id, "applied"), { applied: 2, error: null })
      const valueOf = (entity: typeof tent, key: string) =>
        Effect.map(
          Effect.flatMap(Drafts, (drafts) => drafts.get(entity, null)).pipe(actingAs(actor)),
          ({ attributes }) => attributes.find((each) => each.key === key)?.value
        )
      assert.strictEqual(yield* valueOf(stove, "tags"), '["gas","camp"]')
      assert.strictEqual(yield* valueOf(tent, "description_html"), "<p>Keeps the snow out, and the warmth in.</p>")
      assert.strictEqual(yield* valueOf(tent, "vendor"), "Tern <b>")
      const after = textOf(yield* ask(`/import?id=${id}&list=conflicts`, { cookie: merchant.cookie }))
      assert.include(after, `Tags gas, camp gas, wood Our draft was kept ${email}`)
      assert.notInclude(after, "Accept the import")
    })
  )

  it.effect("accept with the choices of the same form: kept drafts stay", () =>
    Effect.gen(function* () {
      const { actor, cookie, decisions, email, id, merchant, post, stove, tent } = yield* reviewing
      // The choices and the acceptance are one form, which names each conflict.
      const form = sectionsOf((yield* ask(`/import?id=${id}`, { cookie })).text, "/import/accept")
      assert.lengthOf(form.choices, 6)
      const { csrf: _, ...seen } = form.hidden
      assert.deepStrictEqual(seen, { id, "seen-1": "", "seen-2": "", "seen-3": "" })
      const keep = { "conflict-1": "keep_draft", "conflict-2": "keep_draft", "conflict-3": "keep_draft" }
      const accepted = yield* post("/import/accept", { ...seen, ...keep })
      assert.deepStrictEqual(
        [accepted.status, accepted.headers.get("location")],
        [303, `/import?id=${id}&note=accepted`]
      )
      yield* untilPhase(merchant, id, "applied")
      assert.deepStrictEqual(
        yield* decisions,
        [1, 2, 3].map(() => ["keep_draft", email])
      )
      const valuesOf = (entity: typeof tent) =>
        Effect.map(
          Effect.flatMap(Drafts, (drafts) => drafts.get(entity, null)).pipe(actingAs(actor)),
          ({ attributes }) => Object.fromEntries(attributes.map(({ key, value }) => [key, value]))
        )
      assert.deepInclude(yield* valuesOf(tent), {
        vendor: "Tarn",
        description_html: "<p>Keeps the snow out, and the warmth in.</p>"
      })
      assert.deepInclude(yield* valuesOf(stove), { tags: '["gas","camp"]' })
    })
  )

  it.effect("accept with one decision for all undecided conflicts: choices of the form come first", () =>
    Effect.gen(function* () {
      const { decisions, email, id, merchant, post } = yield* reviewing
      yield* post("/import/accept", { "conflict-2": "keep_draft", rest: "take_store" })
      yield* untilPhase(merchant, id, "applied")
      assert.deepStrictEqual(
        yield* decisions,
        ["take_store", "keep_draft", "take_store"].map((decision) => [decision, email])
      )
    })
  )

  it.effect("refuse to accept with an undecided conflict, say so at each of them, and lose no choice", () =>
    Effect.gen(function* () {
      const { decisions, email, id, post, run } = yield* reviewing
      const choose = "undecided. Choose our draft or the store's value for each, then accept the import."
      const missing = (conflict: number) => [`conflict-${conflict}`, "Choose one of the two values."] as const
      assertShownAgain(
        yield* post("/import/accept"),
        `3 conflicts are ${choose} Nothing was written.`,
        [1, 2, 3].map(missing)
      )
      const some = yield* post("/import/accept", { "conflict-1": "keep_draft", "conflict-3": "take_store" })
      assertShownAgain(some, `1 conflict is ${choose} Your choices are saved, and nothing else was written.`, [
        missing(2)
      ])
      const form = sectionsOf(some.text, "/import/accept")
      assert.deepInclude(form.hidden, { id, "seen-1": "keep_draft", "seen-2": "", "seen-3": "take_store" })
      assert.deepStrictEqual(
        form.choices.map(([, isChosen]) => isChosen),
        [true, false, false, false, false, true]
      )
      const saved = [
        ["keep_draft", email],
        [null, null],
        ["take_store", email]
      ]
      assert.deepStrictEqual(yield* decisions, saved)
      for (const bad of [
        { rest: "both" },
        { "conflict-1": "both", rest: "take_store" },
        { "conflict-2": "take_store", "seen-2": "both" },
        { "conflict-2": "take_store", "seen-x": "" }
      ])
        assertRefusal(yield* post("/import/accept", bad), 400, unreadable)
      assert.deepStrictEqual(yield* decisions, saved)
      assert.deepInclude(yield* run, { phase: "reviewing", applied: 0 })
    })
  )

  it.effect("list removed entities, and remove more than ten only after confirmation", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, actor, cookie, shop } = merchant
      const imports = yield* Imports
      const sql = yield* SqlClient.SqlClient
      const refresh = imports.refresh(shop.domain, () => Effect.void).pipe(actingAs(actor))
      const sizes = ["1", "2", "3", "4", "5", "6", "7", "8", "<b>"]
      yield* (yield* DemoShops).put({ accountId, storeId: shop.id }, aProductOf("boat", sizes))
      const { id: bringsBoat } = yield* refresh
      yield* imports.accept(bringsBoat, () => Effect.void).pipe(actingAs(actor))
      yield* editBothSides(merchant)
      yield* sql`DELETE FROM demo_shop_record WHERE account_id = ${accountId} AND platform_id LIKE '%boat%'`
      const { id, summary } = yield* refresh
      assert.deepInclude(summary, { unlinked: 11, conflicts: 3 })
      const stored = sql`
        SELECT entity_id, last_publish_status FROM store_version WHERE account_id = ${accountId} ORDER BY entity_id`
      const before = yield* stored

      const page = yield* assertPage(`/import?id=${id}&list=leaving`, cookie)
      const rows = rowsOf(page)
      assert.lengthOf(rows, 11)
      const kinds = { Product: 0, "Variant of The boat": 0, "Media file": 0 }
      for (const [name, what] of rows) {
        assert.strictEqual(what, "Removed from the store")
        const kind = Object.keys(kinds).find((each) => name?.endsWith(` ${each}`)) as keyof typeof kinds
        kinds[kind] += 1
      }
      assert.deepStrictEqual(kinds, { Product: 1, "Variant of The boat": 9, "Media file": 1 })
      assert.match(
        page.text,
        /<a href="\/entity\?id=\S{36}"><bdi>The boat<\/bdi><\/a> <span class="quiet">Product<\/span>/
      )
      assert.match(page.text, /<bdi>&lt;b><\/bdi><\/a> <span class="quiet">Variant of <bdi>The boat<\/bdi><\/span>/)
      assert.include(
        textOf(page),
        "Conflicts 3 Search Accepting removes these from tarn.demo.example. They stay in the catalog and on other stores."
      )
      assert.match(page.text, /<label class="pick"><input type="checkbox" name="remove" [^>]*\bvalue="11"/)
      assert.include(textOf(page), "Yes, remove these 11 items from tarn.demo.example")
      // Decisions alone are saved without the confirmation.
      const conflicts = yield* assertPage(`/import?id=${id}`, cookie)
      assert.match(conflicts.text, /formaction="\/import\/decide"[^>]* formnovalidate/)

      const csrf = csrfOf(page)
      const post = (path: string, form: Readonly<Record<string, string>>) =>
        ask(path, { cookie, form: { csrf, id, ...form } })
      const removals =
        "The import removes 11 items from tarn.demo.example. Confirm that on its page, or discard the import."
      const unconfirmed = ["remove", "Tick this to accept the removals."] as const
      const undecided = [1, 2, 3].map((n) => [`conflict-${n}`, "Choose one of the two values."] as const)
      const choose =
        "3 conflicts are undecided. Choose our draft or the store's value for each, then accept the import."
      for (const [form, message, misfits] of [
        [{ rest: "take_store" }, removals, [unconfirmed]],
        // An outdated number of removals, from another page of the import.
        [{ rest: "take_store", remove: "10" }, removals, [unconfirmed]],
        [{}, `${choose} ${removals}`, [...undecided, unconfirmed]],
        [{ remove: "11" }, choose, undecided]
      ] as const) {
        const answer = yield* post("/import/accept", form)
        assertShownAgain(answer, `${message} Nothing was written.`, misfits)
        const [tick] = /<input[^>]*name="remove"[^>]*>/.exec(answer.text) ?? []
        assert.strictEqual(tick?.includes(" checked"), misfits === undecided, tick)
      }
      assert.deepInclude(yield* imports.get(id).pipe(actingAs(actor)), { phase: "reviewing", applied: 0 })
      assert.strictEqual(yield* Effect.map(imports.tally(id), ({ undecided }) => undecided).pipe(actingAs(actor)), 3)
      assert.deepStrictEqual(yield* stored, before)

      const accepted = yield* post("/import/accept", { rest: "take_store", remove: "11" })
      assert.strictEqual(accepted.headers.get("location"), `/import?id=${id}&note=accepted`)
      assert.deepInclude(yield* untilPhase(merchant, id, "applied"), { applied: 13, error: null })
      assert.lengthOf(yield* stored, before.length - 11)
      const after = yield* ask(`/import?id=${id}&list=leaving`, { cookie })
      assert.include(
        textOf(after),
        "What it made New 0 Changed 2 Leaving 11 Conflicts 3 Search The import removed these"
      )
      assert.lengthOf(rowsOf(after), 11)
    })
  )

  it.effect("have the user who accepts them as author, in the import and in the history", () =>
    Effect.gen(function* () {
      const { actor, cookie, email, id, merchant, post, run, tent } = yield* reviewing
      // The import was begun on the command line.
      assert.deepInclude((yield* run).actor, { kind: "cli" })
      yield* post("/import/accept", { rest: "take_store" })
      assert.deepInclude((yield* untilPhase(merchant, id, "applied")).actor, { kind: "user", name: email })
      assert.include(textOf(yield* ask(`/import?id=${id}`, { cookie })), `By ${email} Began`)
      const [newest] = yield* Effect.flatMap(Drafts, (drafts) => drafts.history(tent, 1)).pipe(actingAs(actor))
      assert.deepInclude(newest, { import_id: id })
      assert.deepInclude(newest?.actor, { kind: "user", name: email })
      const page = textOf(yield* ask(`/entity?id=${tent}`, { cookie }))
      assert.include(page, `${email} by an import`)
    })
  )

  it.effect("decide all undecided conflicts at once, and replace earlier decisions only after confirmation", () =>
    Effect.gen(function* () {
      const { cookie, decisions, email, id, post } = yield* reviewing
      const open = ask(`/import?id=${id}&list=conflicts`, { cookie })
      const decideAll = (decision: string, form: Readonly<Record<string, string>> = {}) =>
        Effect.map(post("/import/decide-all", { decision, ...form }), ({ headers }) => headers.get("location"))
      const at = (note: string) => `/import?id=${id}&note=${note}`
      assert.notInclude(textOf(yield* open), "Replace earlier decisions")
      yield* post("/import/decide", { "conflict-2": "take_store" })
      assert.include(
        textOf(yield* open),
        "This decides 2 undecided conflicts. Decisions that were made before stay. Replace earlier decisions too: “Keep every draft” replaces 1 decision, “Take every value of the store” replaces 0 decisions "
      )
      assert.strictEqual(yield* decideAll("keep_draft"), at("decided"))
      const kept = [
        ["keep_draft", email],
        ["take_store", email],
        ["keep_draft", email]
      ]
      assert.deepStrictEqual(yield* decisions, kept)
      assert.strictEqual(yield* decideAll("take_store"), at("kept"))
      // The redirect keeps the position in the list.
      assert.strictEqual(
        yield* decideAll("take_store", { after: "2" }),
        `/import?id=${id}&list=conflicts&after=2&note=kept`
      )
      const page = yield* open
      assert.include(
        textOf(page),
        "Every conflict is decided, so this changes only decisions that were made before. Replace earlier decisions too: “Keep every draft” replaces 1 decision, “Take every value of the store” replaces 2 decisions "
      )
      const [, replace = ""] = /name="replace" value="([0-9a-f]{32})"/.exec(page.text) ?? []

      // The page does not show this newer decision, so nobody confirmed its replacement.
      yield* post("/import/decide", { "conflict-1": "take_store" })
      const stale = yield* post("/import/decide-all", {
        decision: "keep_draft",
        replace,
        "conflict-3": "keep_draft",
        "seen-3": "keep_draft"
      })
      assertShownAgain(
        stale,
        "Not saved: conflicts were decided since you opened this page. It shows those decisions now, and keeps your other choices. Check them, then send the form again.",
        [["replace", "The numbers have changed. Tick this again to confirm them."]]
      )
      assert.include(
        textOf(stale),
        "“Keep every draft” replaces 2 decisions, “Take every value of the store” replaces 1 decision "
      )
      yield* post("/import/decide", { "conflict-1": "keep_draft" })
      assert.deepStrictEqual(yield* decisions, kept)

      assert.strictEqual(yield* decideAll("take_store", { replace }), at("decided"))
      assert.deepStrictEqual(
        yield* decisions,
        [1, 2, 3].map(() => ["take_store", email])
      )
      // A second click changes nothing.
      assert.strictEqual(yield* decideAll("take_store", { replace }), at("kept"))
    })
  )

  it.effect("discard an import: nothing is written, and it cannot be decided again", () =>
    Effect.gen(function* () {
      const { cookie, id, post, run } = yield* reviewing
      const answer = yield* post("/import/discard")
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, `/import?id=${id}&note=discarded`])
      assert.strictEqual((yield* run).phase, "discarded")
      // A second click.
      const again = yield* post("/import/discard")
      assert.deepStrictEqual([again.status, again.headers.get("location")], [303, `/import?id=${id}&note=discarded`])
      for (const [path, form, title] of forms.filter(([path]) => path !== "/import/discard"))
        assertRefusal(yield* post(path, form), 400, {
          title,
          message: "This import was discarded already: it can no longer be decided.",
          next: [`/import?id=${id}`, "To the import"]
        })
      assert.strictEqual((yield* run).phase, "discarded")
      assert.include(textOf(yield* ask(`/import?id=${id}`, { cookie })), "State Discarded")
    })
  )

  it.effect("refuse decisions on an applied import", () =>
    Effect.gen(function* () {
      const { firstImport, post } = yield* reviewing
      const again = yield* post("/import/accept", { id: firstImport })
      assert.deepStrictEqual(
        [again.status, again.headers.get("location")],
        [303, `/import?id=${firstImport}&note=accepted`]
      )
      for (const [path, form, title] of forms.filter(([path]) => path !== "/import/accept"))
        assertRefusal(yield* post(path, { ...form, id: firstImport }), 400, {
          title,
          message: "This import was accepted and applied already: it can no longer be decided.",
          next: [`/import?id=${firstImport}`, "To the import"]
        })
    })
  )

  it.effect("refuse an acceptance after somebody else accepted the import with other decisions", () =>
    Effect.gen(function* () {
      const { decisions, id, merchant, post } = yield* reviewing
      const shown = { "seen-1": "", "seen-2": "", "seen-3": "" }
      const sent = { ...shown, "conflict-1": "keep_draft", rest: "take_store" }
      const accepted = `/import?id=${id}&note=accepted`
      const accept = (form: Readonly<Record<string, string>>) => post("/import/accept", form)
      assert.strictEqual((yield* accept(sent)).headers.get("location"), accepted)
      yield* untilPhase(merchant, id, "applied")
      const before = yield* decisions
      // A form that is sent twice, and forms without decisions of their own.
      for (const form of [sent, {}, shown]) assert.strictEqual((yield* accept(form)).headers.get("location"), accepted)
      const others = [
        [{ ...sent, "conflict-1": "take_store" }, "1 conflict"],
        [{ ...shown, rest: "keep_draft" }, "2 conflicts"],
        [{ "seen-2": "keep_draft" }, "1 conflict"]
      ] as const
      for (const [form, count] of others)
        assertRefusal(yield* accept(form), 400, {
          title: "Accepted with other decisions",
          message: `Somebody accepted this import since you opened the page, and decided ${count} otherwise than you. Your decisions were not saved: the page of the import shows those that count.`,
          next: [`/import?id=${id}`, "To the import"]
        })
      assert.deepStrictEqual(yield* decisions, before)
    })
  )

  it.effect("refuse a form with an invalid decision or an unknown conflict as a whole", () =>
    Effect.gen(function* () {
      const { decisions, id, post } = yield* reviewing
      const good = { "conflict-1": "keep_draft" }
      for (const bad of [{ "conflict-2": "both" }, { "conflict-x": "keep_draft" }, { "conflict-0": "keep_draft" }])
        assertRefusal(yield* post("/import/decide", { ...good, ...bad }), 400, unreadable)
      for (const form of [{}, { decision: "both" }])
        assertRefusal(yield* post("/import/decide-all", form), 400, unreadable)
      assertRefusal(yield* post("/import/decide", { ...good, "conflict-7": "take_store" }), 400, {
        title: "Not decided",
        message: "The form names a conflict that this import does not have: nothing was decided.",
        next: [`/import?id=${id}`, "To the import"]
      })
      assert.deepStrictEqual(
        (yield* decisions).map(([decision]) => decision),
        [null, null, null]
      )
    })
  )

  it.effect("answer another account's import like a missing one, and refuse forms from other sites", () =>
    Effect.gen(function* () {
      const { cookie, csrf, decisions, id, post, run } = yield* reviewing
      const stranger = yield* reviewing
      for (const absent of [stranger.id, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""]) {
        assertNotThere(yield* ask(`/import?id=${absent}`, { cookie }))
        for (const [path, form] of forms) assertNotThere(yield* post(path, { ...form, id: absent }))
      }
      assertNotThere(yield* ask("/import", { cookie }))
      for (const [path, form] of forms) {
        assertForeignForm(yield* ask(path, { cookie, form: { ...form, id } }))
        assertForeignForm(yield* ask(path, { cookie, form: { ...form, id, csrf: stranger.csrf } }))
        assertForeignForm(
          yield* ask(path, { cookie, form: { ...form, id, csrf }, headers: { origin: "https://evil.example" } })
        )
        const away = yield* ask(path, { form: { ...form, id, csrf } })
        assert.strictEqual(away.headers.get("location"), "/sign-in?return_to=%2F&unsent=form")
      }
      assert.deepStrictEqual(
        (yield* decisions).map(([decision]) => decision),
        [null, null, null]
      )
      assert.strictEqual((yield* run).phase, "reviewing")
      assert.strictEqual((yield* stranger.run).phase, "reviewing")
    })
  )
})
