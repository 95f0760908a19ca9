import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { AutomaticScans, nightlySubject } from "../../src/health/AutomaticScans.ts"
import { HealthDimension, HealthSection } from "../../src/health/Health.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import type { Store } from "../../src/model/Store.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges, DataHealth } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aTranslation, refresh } from "../support/Mirrors.ts"
import { assertPage, assertRefusal, escaped, mainOf, refusals } from "./WholePage.ts"

let accounts = 0

/** A user, and a catalog of two stores to which nothing was published yet. */
const aShop = Effect.gen(function* () {
  const number = ++accounts
  const account = yield* anAccount({ domains: [`a${number}.example`, `b${number}.example`] })
  // The stores have a platform, because sync has no issues without one.
  for (const store of account.stores) yield* (yield* StoresRepo).link(account.accountId, { ...store, platform: "demo" })
  const { cookie } = yield* aBrowser(account.accountId, `health-${number}@example.com`)
  const open = (path: string) => ask(path, { cookie: withNote(cookie, path) })
  const { hidden } = sectionsOf((yield* open("/data-health")).text, "/data-health/scan")
  const scan = (form: Readonly<Record<string, string>>) =>
    ask("/data-health/scan", { cookie, form: { csrf: String(hidden.csrf), ...form } })
  return { ...account, a: account.stores[0], b: account.stores[1], cookie, csrf: String(hidden.csrf), open, scan }
})

const scanned = (answer: Answer, location: string) =>
  assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, location], answer.text)

/** The card of a dimension on the page. */
const cardOf = (answer: Answer, dimension: HealthDimension) =>
  new RegExp(`<section class="sheet" id="${dimension}"[\\s\\S]*?</section>`).exec(answer.text)?.[0] ??
  assert.fail(answer.text)

/** The texts of the cells of a table, row by row. */
const rowsOf = (html: string) =>
  [...(/<tbody>([\s\S]*?)<\/tbody>/.exec(html)?.[1] ?? "").matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row = ""]) =>
    [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = ""]) =>
      cell
        .replaceAll("<wbr/>", "")
        .replaceAll(/<[^>]*>/g, " ")
        .replaceAll(/\s+/g, " ")
        .trim()
    )
  )

const title = (of: Store, value: string) => (entityId: Parameters<typeof CatalogChange.SetOverrides>[0]["entityId"]) =>
  CatalogChange.SetOverrides({ entityId, storeId: of.id, values: { title: value } })

const WithNights = PagesServer.pipe(
  Layer.provide(Layer.succeed(AutomaticScans, { nightly: true, afterImports: true, hour: 3 }))
)

layer(WithNights, { excludeTestServices: true })("the pages of data health", (it) => {
  it.effect("the pages update when a scan ends, and say its results", () =>
    Effect.gen(function* () {
      const { a, actor, open, scan } = yield* aShop
      yield* anEntity("product", { title: "Tent" }).pipe(actingAs(actor))
      const liveOf = ({ text }: Answer) =>
        [...text.matchAll(/<div class="live" id="(\w+)" data-live="([^"]*)"(?: data-says="([^"]*)")?>/g)].map(
          ([, ...parts]) => parts
        )
      assert.deepStrictEqual(liveOf(yield* open("/data-health")), [
        ["scans", "scan job", undefined],
        ["scores", "scan", undefined]
      ])
      const said = Effect.fn(function* (path: string) {
        const page = yield* open(path)
        assert.match(page.text, /<main[^>]* data-events="/)
        return liveOf(page)[1]?.[2]
      })
      yield* scan({ dimension: "completeness" })
      // A product on no store is not checked, and nothing that was checked has no score.
      assert.strictEqual(yield* said("/data-health"), "Completeness: no issue")
      yield* anEntity("product", { title: "Pot" }, { on: [a] }).pipe(actingAs(actor))
      yield* scan({ dimension: "completeness" })
      assert.match(
        (yield* said("/data-health")) ?? "",
        /^Overall score: \d+ of 100\. Completeness: 1 item with an issue$/
      )
      assert.strictEqual(yield* said(`/data-health?store_id=${a.id}`), "Completeness: 1 item with an issue")
      const [found] = liveOf(yield* open("/data-health/issues?section=completeness-recommended"))
      assert.deepStrictEqual(found?.slice(0, 2), ["found", "scan"])
      assert.match(found?.[2] ?? "", /^\d+ issues? now\.$/)
    })
  )

  it.effect("the page says when the last scan ended and why, which scans run now, and when the next scan starts", () =>
    Effect.gen(function* () {
      const { accountId, actor, open, scan } = yield* aShop
      const shown = Effect.map(Effect.tap(open("/data-health"), assertPage), (page) => mainOf(page))
      const next =
        /Next nightly scan: <time dateTime="[\d-]+T03:\d\d:[\d.]+Z">[^<]+<\/time>, if anything has changed by then\./i
      assert.match(yield* shown, next)
      assert.notInclude(yield* shown, "Last scan")
      yield* scan({ dimension: "all" })
      assert.match(yield* shown, /Last scan: <time [^>]+>[^<]+<\/time>, by hand\./)

      const [jobs, repo] = [yield* Jobs, yield* JobsRepo]
      const begin = (cause: string, subject: string | null, total: number | null) =>
        jobs
          .begin({ kind: "health_scan", title: `Scan: ${cause}`, subject, input: { cause }, total })
          .pipe(actingAs(actor), Effect.orDie)
      const { id } = yield* begin("import", null, 6)
      const claimed = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
      yield* repo.save(claimed, { cursor: {}, done: 2, counts: {}, errors: [] }, 30)
      assert.include(
        yield* shown,
        `The service is scanning now: <a href="/jobs/${id}">Scan: import</a>, 2 of 6 checks are done. A scan that you start shares its work`
      )
      yield* repo.save(claimed, { cursor: null, done: 4, counts: {}, errors: [] }, 30)
      assert.notInclude(yield* shown, "The service is scanning now")

      const nightly = yield* begin("nightly", nightlySubject, null)
      assert.match(yield* shown, next)
      yield* jobs.command("pause", nightly.id).pipe(actingAs(actor))
      assert.include(yield* shown, `The nightly scans are <a href="/jobs/${nightly.id}">paused</a>.`)
      assert.notMatch(yield* shown, next)
    })
  )

  it.effect(
    "a full scan that is not finished is shown with its items, the time left, and where it was interrupted",
    () =>
      Effect.gen(function* () {
        const { a: store, accountId, actor, open, scan } = yield* aShop
        yield* anEntity("product", { title: "Tent" }, { on: [store] }).pipe(actingAs(actor))
        yield* scan({ dimension: "structure" })
        const shown = Effect.map(Effect.tap(open("/data-health"), assertPage), (page) => page.text)
        assert.notInclude(yield* shown, "Scanning")
        const sql = yield* SqlClient.SqlClient
        // The state after ten of forty steps, each of which took six seconds.
        yield* sql`
        UPDATE health_base
        SET reached = '80000000-0000-4000-8000-000000000000', scanned = 10000, entities = 40000, worked_seconds = 60,
            stepped_at = app_now()
        WHERE account_id = ${accountId}`
        const page = yield* shown
        assert.include(page, "Scanning Structure: 10,000 of 40,000 items, about 3 minutes left")
        assert.include(page, '<progress max="40000" value="10000" aria-label="Progress of the scan of Structure"')
        assert.include(page, 'data-says="Scanning Structure: 20 %."')
        yield* sql`UPDATE health_base SET stepped_at = '2020-01-01' WHERE account_id = ${accountId}`
        const later = yield* shown
        assert.include(
          later,
          "The scan of Structure was interrupted at 10,000 of 40,000 items. The next scan continues there."
        )
        assert.notInclude(later, "<progress")
      })
  )

  it.effect("before the first scan there are no results, and opening the page does not scan", () =>
    Effect.gen(function* () {
      const { actor, open } = yield* aShop
      const page = yield* open("/data-health?scanned=sync")
      assertPage(page)
      for (const dimension of HealthDimension.literals) {
        assert.include(cardOf(page, dimension), "<p>Not scanned yet.</p>")
        assert.notInclude(cardOf(page, dimension), "<svg")
      }
      const list = yield* open("/data-health/issues?section=divergence")
      assertPage(list)
      assert.include(list.text, '<p>Not scanned yet. <a href="/data-health#divergence">Scan it first.</a></p>')
      const { text } = yield* Effect.flatMap(DataHealth, ({ overview }) => overview()).pipe(actingAs(actor))
      assert.notInclude(text, '"scanned":true')
    })
  )

  it.effect("a scan of all stores or of one shows its numbers as charts with tables for screen readers", () =>
    Effect.gen(function* () {
      const { a, accountId, actor, b, open, scan } = yield* aShop
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const whole = { vendor: "Fell", product_type: "Tents", description_html: "<p>Dry</p>" }
        yield* anEntity("product", { title: "Tent", ...whole }, { on: [a, b] })
        yield* anEntity("product", { title: "Bare" }, { on: [a] })
        yield* anEntity("product", { title: "On no store" })
      }).pipe(actingAs(actor))
      scanned(
        yield* scan({ dimension: "completeness", store_id: "" }),
        "/data-health?scanned=completeness#completeness"
      )
      const page = yield* open("/data-health?scanned=completeness")
      assertPage(page)
      const card = cardOf(page, "completeness")
      assert.include(card, '<div class="note" role="status">Scanned just now.</div>')
      assert.include(card, '<p class="score"><strong>50</strong> of 100</p>')
      assert.match(card, /<svg class="bar bad" [^>]*role="img" aria-label="Score: 50 of 100">/)
      assert.include(card, "<p>1 of 2 items has an issue. 1 item is on no store and not checked.</p>")
      assert.include(
        card,
        "<p>Recommended fields: <strong>0</strong> of 100. 2 of 2 items lack a recommended field.</p>"
      )
      assert.deepStrictEqual(rowsOf(card), [
        ["Required fields empty", "1", ""],
        ["Recommended fields empty", "3", ""]
      ])
      const [, byStore = "", byField = ""] = card.split("<details>")
      assert.deepStrictEqual(rowsOf(byStore), [
        [a.domain, "1 of 2", ""],
        [b.domain, "0 of 1", ""]
      ])
      assert.deepStrictEqual(rowsOf(byField)[0], ["Description", "1", ""])
      // The field of a recommended issue links to the list that has it.
      assert.include(byField, `<a href="/data-health/issues?section=completeness-required&amp;field=description_html">`)
      assert.include(byField, `<a href="/data-health/issues?section=completeness-recommended&amp;field=seo_title">`)
      assert.match(card, /Scanned <time dateTime="[^"]+">\d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC<\/time>\./i)

      scanned(
        yield* scan({ dimension: "sync", store_id: b.id.toUpperCase() }),
        `/data-health?store_id=${b.id}&scanned=sync#sync`
      )
      const ofB = yield* open(`/data-health?store_id=${b.id}`)
      assert.deepStrictEqual(rowsOf(cardOf(ofB, "sync"))[2], ["Never published", "1", ""])
      assert.include(cardOf(ofB, "sync"), `href="/data-health/issues?section=sync-failed&amp;store_id=${b.id}"`)
      assert.include(cardOf(ofB, "sync"), `<option value="${b.id}" selected>${b.domain}</option>`)
      assert.include(cardOf(yield* open("/data-health"), "sync"), "Not scanned yet")

      scanned(yield* scan({ dimension: "all" }), "/data-health?scanned=all")
      const all = yield* open("/data-health?scanned=all")
      assert.include(all.text, '<div class="note" role="status">Everything was scanned just now.</div>')
      for (const dimension of HealthDimension.literals) assert.include(cardOf(all, dimension), "of 100</p>")
      const overall = /<section class="sheet overall"[\s\S]*?<\/section>/.exec(all.text)?.[0] ?? ""
      const scores = HealthDimension.literals
        .filter((dimension) => dimension !== "sync" && !/None of 0 items/.test(cardOf(all, dimension)))
        .map((dimension) => Number(/<strong>(\d+)<\/strong> of 100/.exec(cardOf(all, dimension))?.[1]))
      const average = Math.floor(scores.reduce((sum, score) => sum + score, 0) / scores.length)
      assert.include(overall, `<strong>${average}</strong> of 100`)
      assert.include(overall, "The trend is shown when there are scans on two days.")
      yield* sql`
        INSERT INTO health_day (account_id, dimension, day, checked, affected)
        VALUES (${accountId}, 'media', (app_now() AT TIME ZONE 'UTC')::date - 4, 4, 3)`
      const trend = /<figure class="trend">[\s\S]*?<\/figure>/.exec((yield* open("/data-health")).text)?.[0] ?? ""
      assert.match(trend, new RegExp(`aria-label="Overall score: 25 on [0-9-]{10}, ${average} on [0-9-]{10}"`))
      assert.include(trend, `points="0,75 100,${100 - average}"`)
      assert.include(trend, `<span>${average - 25} points up</span>`)
      assert.match(trend, new RegExp(`<td class="number">${average}</td>[\\s\\S]*<td class="number">25</td>`))
      assert.notInclude((yield* open(`/data-health?store_id=${b.id}`)).text, 'id="overall"')
      const other = yield* open(`/data-health?store_id=${b.id}`)
      assert.include(cardOf(other, "media"), ", of all stores together.")
      assert.include(cardOf(other, "media"), 'href="/data-health/issues?section=media-unused"')
    })
  )

  it.effect("issues are listed by page, filtered by store and language, with entity, field and problem", () =>
    Effect.gen(function* () {
      const { a, accountId, actor, b, open, scan } = yield* aShop
      const ids = yield* Effect.gen(function* () {
        const ids = yield* Effect.forEach(Array.from({ length: 30 }), (_, index) =>
          anEntity("product", { title: `Tent ${index}` }, { on: [a, b] })
        )
        yield* (yield* CatalogChanges).apply(ids.map(title(b, "<script>alert(1)</script>")))
        const [first] = ids
        yield* (yield* CatalogChanges).apply(
          first === undefined
            ? []
            : [CatalogChange.Identify({ entityId: first, storeId: a.id, platformId: "demo://first" })]
        )
        yield* refresh(accountId, a, {
          translations: [aTranslation("product", "demo://first", "de", "Tent", ["Zelt", "digest of another"])]
        })
        return [...ids].sort()
      }).pipe(actingAs(actor), Effect.orDie)
      yield* scan({ dimension: "all" })

      const first = yield* open(`/data-health/issues?section=divergence`)
      assertPage(first)
      assert.include(first.text, "<p>30 issues, one for each item and store, as of the scan at <time")
      const rows = rowsOf(first.text)
      assert.lengthOf(rows, 25)
      const [name, ...values] = rows[0] ?? []
      assert.match(String(name), /^Tent \d+$/)
      assert.deepStrictEqual(values.slice(0, 2), ["Title", name])
      assert.notInclude(first.text, "<script>alert(1)")
      assert.include(first.text, '<bdi class="value">&lt;script>alert(1)&lt;/script></bdi>')
      const linked = [...first.text.matchAll(/href="\/entity\?id=([^"]+)"/g)].map(([, id]) => id)
      assert.deepStrictEqual(linked, ids.slice(0, 25))
      assert.include(first.text, "<span>Page 1 of 2</span>")
      assert.notInclude(first.text, "Previous page")
      assert.include(first.text, '<a href="/data-health/issues?section=divergence&amp;page=2" rel="next">Next page</a>')

      const second = yield* open("/data-health/issues?section=divergence&page=2")
      assert.lengthOf(rowsOf(second.text), 5)
      assert.include(second.text, "<span>Page 2 of 2</span>")
      assert.include(second.text, '<a href="/data-health/issues?section=divergence" rel="prev">Previous page</a>')
      assert.notInclude(second.text, "Next page")

      const beyond = yield* open("/data-health/issues?section=divergence&page=9")
      assertPage(beyond)
      assert.include(beyond.text, "<p>There are no more issues.</p>")
      assert.include(beyond.text, '<a href="/data-health/issues?section=divergence&amp;page=2" rel="prev">')
      for (const odd of ["x", "0", "-3", ""]) {
        const page = yield* open(`/data-health/issues?section=divergence&page=${odd}`)
        assert.include(page.text, "<span>Page 1 of 2</span>", odd)
      }

      const ofA = yield* open(`/data-health/issues?section=divergence&store_id=${a.id}`)
      assert.match(
        mainOf(ofA),
        /<p>There are no issues, as of the scan at <time[^>]*>[^<]*<\/time>\.<\/p><\/div><\/main>$/
      )
      const ofB = yield* open(`/data-health/issues?section=divergence&store_id=${b.id}`)
      assert.include(ofB.text, `<a href="/data-health/issues?section=divergence&amp;store_id=${b.id}&amp;page=2"`)
      assert.include(ofB.text, `<option value="${b.id}" selected>`)

      const outdated = yield* open("/data-health/issues?section=translations-outdated&store_id=&locale=de")
      assertPage(outdated)
      assert.deepStrictEqual(
        rowsOf(outdated.text).map((row) => row.slice(1)),
        [[a.domain, "de", "Title", "The text changed after it was translated."]]
      )
      assert.include(outdated.text, '<option value="de" selected>de</option>')
      const english = yield* open("/data-health/issues?section=translations-outdated&locale=en")
      assert.include(english.text, "There are no issues")
      assert.include(english.text, '<option value="en" selected>en</option>')
      const french = yield* open("/data-health/issues?section=translations-outdated&locale=fr")
      assert.strictEqual(french.status, 400)
      assert.match(french.text, /<p>locale: must be one of de, en: the languages of the account.{1,6}s stores/)
    })
  )

  it.effect("duplicate SKUs are listed by SKU, and issues of variants show product, SKU and reason", () =>
    Effect.gen(function* () {
      const { a, actor, b, open, scan } = yield* aShop
      yield* Effect.gen(function* () {
        const tent = yield* anEntity("product", { title: "Tent", status: "active" }, { on: [a, b] })
        const on = [a, b]
        yield* anEntity("variant", { title: "Small", sku: "T-1", price: "0.00" }, { of: tent, on })
        yield* anEntity("variant", { title: "Large", sku: "T-1", price: "9.00" }, { of: tent, on: [a] })
        yield* anEntity("variant", { title: "On no store", sku: "T-1" }, { of: tent })
      }).pipe(actingAs(actor))
      yield* scan({ dimension: "structure" })
      const duplicates = yield* open("/data-health/issues?section=structure-duplicate-sku")
      assertPage(duplicates)
      const [row, ...others] = rowsOf(duplicates.text)
      assert.deepStrictEqual(others, [])
      assert.strictEqual(row?.[0], "T-1")
      for (const name of ["Small of Tent", "Large of Tent", "On no store of Tent"])
        assert.strictEqual(row?.[1]?.split(name).length, 2, name)
      assert.strictEqual(row?.[2]?.split(a.domain).length, 2)
      assert.include(row?.[2], b.domain)
      const free = yield* open("/data-health/issues?section=structure-invalid-value")
      assertPage(free)
      assert.deepStrictEqual(
        rowsOf(free.text).map(([entity, , field, wrong]) => [entity, field, wrong]),
        [a, b].map(() => ["Small Variant of Tent , SKU T-1", "Price", "The price of an active product is 0."])
      )
    })
  )

  it.effect("long, right-to-left, HTML-like and empty titles are shown as text", () =>
    Effect.gen(function* () {
      const { a, actor, open, scan } = yield* aShop
      const long = `<script>alert("1")</script>${"é".repeat(4_000)}`
      yield* Effect.gen(function* () {
        for (const title of [long, "حذاء <b>", "", "  "]) yield* anEntity("product", { title }, { on: [a] })
      }).pipe(actingAs(actor))
      yield* scan({ dimension: "sync" })
      const page = yield* open("/data-health/issues?section=sync-never-published")
      assertPage(page)
      const names = rowsOf(page.text).map(([name]) => name)
      assert.sameMembers(names, [
        `${escaped(long.slice(0, 160))}… Product`,
        "حذاء &lt;b> Product",
        "Without a title Product",
        "Without a title Product"
      ])
      assert.include(page.text, "<bdi>حذاء &lt;b></bdi>")
    })
  )

  it.effect("a list without fields ignores the field by which another list was filtered", () =>
    Effect.gen(function* () {
      const { open, scan } = yield* aShop
      yield* scan({ dimension: "media" })
      const page = yield* open("/data-health/issues?section=media-unused&store_id=&field=vendor")
      assertPage(page)
      assert.notInclude(page.text, 'name="field"')
    })
  )

  it.effect("a form without the CSRF token scans nothing", () =>
    Effect.gen(function* () {
      const { actor, cookie } = yield* aShop
      const stranger = yield* aShop
      for (const form of [{ dimension: "sync" }, { dimension: "sync", csrf: stranger.csrf }])
        assertRefusal(yield* ask("/data-health/scan", { cookie, form }), ...refusals.foreign)
      const { text } = yield* Effect.flatMap(DataHealth, ({ overview }) => overview()).pipe(actingAs(actor))
      assert.notInclude(text, '"scanned":true')
      const away = yield* ask("/data-health/scan", { form: { dimension: "sync" } })
      assert.deepStrictEqual([away.status, away.headers.get("location")], [303, "/sign-in?return_to=%2F&unsent=form"])
    })
  )

  it.effect("a store of another account is answered like a missing one", () =>
    Effect.gen(function* () {
      const { open, scan } = yield* aShop
      const stranger = yield* aShop
      for (const id of [stranger.a.id, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10"])
        for (const answer of [
          yield* open(`/data-health?store_id=${id}`),
          yield* open(`/data-health/issues?section=divergence&store_id=${id}`),
          yield* scan({ dimension: "sync", store_id: id })
        ])
          assertRefusal(answer, ...refusals.absent)
    })
  )

  it.effect("refuses unknown lists, stores and dimensions", () =>
    Effect.gen(function* () {
      const { open, scan } = yield* aShop
      const sections = HealthSection.literals.join(", ")
      const dimensions = HealthDimension.literals.join(", ")
      for (const [answer, message] of [
        [yield* open("/data-health/issues"), `section is missing: give one of ${sections}.`],
        [yield* open("/data-health/issues?section=%3Cb%3E"), `section must be one of ${sections}.`],
        [yield* open("/data-health/issues?section=sync-failed&store_id=x"), "store_id must be a UUID."],
        [yield* open("/data-health?store_id=x"), "store_id must be a UUID."],
        [
          yield* open(`/data-health/issues?section=translations-outdated&locale=${"x".repeat(36)}`),
          "locale must have at most 35 characters."
        ],
        [
          yield* open("/data-health/issues?section=translations-outdated&locale=%00"),
          "locale must not contain U+0000."
        ],
        [yield* scan({ dimension: "x" }), `dimension must be one of ${dimensions}.`],
        [yield* scan({}), `dimension is missing: give one of ${dimensions}.`],
        [yield* scan({ dimension: "sync", store_id: "x" }), "store_id must be a UUID."]
      ] as const)
        assertRefusal(answer, 400, "Not understood", message)
      assertRefusal(yield* scan({ dimension: "sync", store_id: "\u0000" }), ...refusals.unreadable)
    })
  )
})
