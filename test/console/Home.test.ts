import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { dayOf, localTimeOf } from "../../src/drops/Zone.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobId } from "../../src/model/Ids.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { aBrowser, ask, aUser, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aFailure, aMerchant, aReview, assertPage, textOf } from "./Merchant.ts"
import { escaped } from "./WholePage.ts"

layer(PagesServer, { excludeTestServices: true })("the start page", (it) => {
  it.effect("lists the first steps until all are done or the user hides them", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const text = textOf(yield* assertPage("/", cookie))
      assert.match(text, /^Home First steps Hide the first steps Link a store\. .* Needs you Nothing at the moment\.$/)

      const merchant = yield* aMerchant
      const { accountId, actor, shop, stove } = merchant
      const shown = ask("/", { cookie: merchant.cookie })
      const page = yield* shown
      // The account has an API key.
      assert.match(
        textOf(page),
        /^Home Needs you .* First steps Hide the first steps Link a store\. Done\. Bring in your products\. Done\. Review and publish\. Edit .* Products Invite a colleague\. Each user has a role\. Team Connect an agent, or make an API key\. Done\.$/
      )
      const steps = page.text.slice(page.text.indexOf('id="first"'))
      const dots = [...steps.matchAll(/<span class="dot (\w+)">/g)].map(([, tone]) => tone)
      assert.deepStrictEqual(dots.slice(0, 5), ["good", "good", "wait", "wait", "good"])

      const { hidden } = sectionsOf(page.text, "/first-steps/hide")
      const hide = yield* ask("/first-steps/hide", { cookie: merchant.cookie, form: hidden })
      const [kept = ""] = String(hide.headers.get("set-cookie")).match(/catalog_steps=[^;]+/) ?? []
      assert.include(kept, accountId)
      assert.notInclude(textOf(yield* ask("/", { cookie: `${merchant.cookie}; ${kept}` })), "First steps")

      yield* Effect.gen(function* () {
        const publishing = yield* Publishing
        yield* (yield* CatalogChanges).apply([
          CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } })
        ])
        const { outcome } = yield* publishing.request(stove, shop.id)
        assert.strictEqual(outcome, "requested")
      }).pipe(actingAs(actor), Effect.orDie)
      assert.match(textOf(yield* shown), /Review and publish\. Done\. Invite a colleague\. Each/)
      const { cookie: publisher } = yield* aBrowser(accountId, "publisher-of-home@example.com", "publish")
      assert.notInclude(textOf(yield* shown), "First steps")
      assert.notInclude(textOf(yield* ask("/", { cookie: publisher })), "Invite a colleague")
    })
  )

  it.effect("shows failures with their causes, and retries them", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop } = merchant
      yield* aFailure(merchant)
      const page = yield* assertPage("/", cookie)
      assert.match(
        textOf(page),
        /Needs you 1 failed to publish to Tarn &amp; Tern 1 time: The demo shop was told to refuse: .* Show what failed on Tarn &amp; Tern : Products \(1\) Retry all on Tarn &amp; Tern Data health was not scanned yet\. .* Scan everything Stores files\.example English, US Dollar\. Files only No products yet Tarn &amp; Tern English, Euro\. Refreshed just now 1 failed on Tarn &amp; Tern First steps/
      )
      const { hidden } = sectionsOf(page.text, "/stores/publish-selected")
      // The form names no entities: the job takes all that failed, also those that the page does not list.
      const { csrf, ...named } = hidden
      assert.deepStrictEqual(named, { id: shop.id, failed: "yes" })
      const retried = yield* ask("/stores/publish-selected", { cookie, form: hidden })
      const location = String(retried.headers.get("location"))
      assert.match(location, /^\/jobs\/.{36}$/)
      const job = yield* Effect.flatMap(Jobs, ({ get }) => get(JobId.make(location.slice("/jobs/".length)))).pipe(
        actingAs(merchant.actor)
      )
      assert.deepInclude(job, { kind: "publish_selected", title: `Publish 1 selected to ${shop.domain}`, total: 1 })
      assert.isString(csrf)
      // A second retry leads to the job that runs, which need not be a retry.
      const again = String((yield* ask("/stores/publish-selected", { cookie, form: hidden })).headers.get("location"))
      assert.strictEqual(again, `${location}?note=other`)
      assert.include(
        textOf(yield* ask(again, { cookie: withNote(cookie, again) })),
        "This job works on the store already, so no other job was begun. Try again when it has ended."
      )
      yield* Effect.flatMap(Jobs, ({ command }) => command("cancel", job.id)).pipe(actingAs(merchant.actor))
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        UPDATE store_version SET last_publish_status = 'published'
        WHERE account_id = ${merchant.accountId} AND last_publish_status = 'failed'`
      assert.include(
        textOf(yield* ask("/stores/publish-selected", { cookie, form: hidden })),
        "Nothing that failed is left on this store."
      )
    })
  )

  it.effect("shows the failures of each store, however many another store has, with the lists of each kind", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie } = merchant
      yield* aFailure(merchant)
      const busy = yield* Effect.gen(function* () {
        const failures = yield* DemoFailures
        const publishing = yield* Publishing
        const { store } = yield* (yield* Stores).link({ domain: "busy.example", platform: "demo", name: "Busy" })
        const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [store] })
        yield* Effect.forEach(Array.from({ length: 100 }), (_, at) =>
          anEntity("variant", { sku: `L-${at}` }, { on: [store], of: lamp })
        )
        yield* failures.fail(store.domain, { kind: "refuse", percent: 100, delayMillis: 0 })
        const asked = yield* publishing.request(lamp, store.id)
        assert(asked.outcome === "requested")
        yield* publishing.settle([asked.publicationId], () => Effect.void)
        yield* failures.repair(store.domain)
        return store
      }).pipe(actingAs(actor))
      const page = yield* assertPage("/", cookie)
      const text = textOf(page)
      assert.match(text, /101 failed to publish to Busy 101 times: The demo shop/)
      assert.match(text, /1 failed to publish to Tarn &amp; Tern 1 time: The demo shop/)
      assert.match(text, /Retry all on Busy .*Retry all on Tarn &amp; Tern/)
      assert.include(text, "Show what failed on Busy : Products (1) , Variants (100)")
      const list = `/variants?store_id=${busy.id}&state=failed`
      assert.include(page.text, `href="${escaped(list)}"`)
      assert.include(textOf(yield* ask(list, { cookie })), "Variants 100")
      // Another cause of one of the versions, and more causes than the page names.
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        UPDATE store_version v
        SET last_publish_error = ('{"code": "X", "message": "Cause ' || (e.attributes #>> '{sku,value}') || '"}')::jsonb
        FROM entity e
        WHERE e.account_id = v.account_id AND e.id = v.entity_id AND v.store_id = ${busy.id}
          AND e.attributes #>> '{sku,value}' IN ('L-1', 'L-2', 'L-3')`
      assert.match(
        textOf(yield* ask("/", { cookie })),
        /101 failed to publish to Busy 98 times: The demo shop .* 1 time: Cause L-1 1 time: Cause L-2 1 more cause Show/
      )
    })
  )

  it.effect("says why the publishes to a store wait for its platform", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove } = yield* aMerchant
      const on = { entityId: stove, storeId: shop.id }
      const message =
        "The store's platform cannot be reached: it did not answer in time. The publish is tried again for up to 24 hours."
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([
          CatalogChange.RequestPublish(on),
          CatalogChange.DelayPublish({ ...on, error: { code: "PUBLISH_DELAYED", message } })
        ])
      ).pipe(actingAs(actor))
      const text = textOf(yield* assertPage("/", cookie))
      assert.include(text, `1 publishing on Tarn &amp; Tern ${message}`)
    })
  )

  it.effect("says that a store has no products yet, and counts a failed product once", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, actor, cookie, shop } = merchant
      yield* aFailure(merchant)
      yield* Effect.gen(function* () {
        yield* (yield* Stores).link({ domain: "empty.example", platform: "demo", name: "Empty" })
        yield* anEntity("media", { url: "https://shop.example/l.jpg" }, { on: [shop] })
      }).pipe(actingAs(actor))
      const text = textOf(yield* ask("/", { cookie }))
      assert.match(text, /Empty English, US Dollar\. Never refreshed No products yet files/)
      assert.match(text, /1 failed on Tarn &amp; Tern 1 to publish on Tarn &amp; Tern First steps/)
      const { cookie: viewer } = yield* aBrowser(accountId, "viewer-of-home@example.com", "view")
      const viewed = yield* ask("/", { cookie: viewer })
      assert.match(textOf(viewed), /1 failed on Tarn &amp; Tern Media: 1 not published on Tarn &amp; Tern$/)
      assert.include(viewed.text, `href="${escaped(`/media?store_id=${shop.id}&state=unpublished`)}"`)
    })
  )

  it.effect("says what an import that locks the account needs next", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie } = merchant
      const id = yield* aReview(merchant)
      const imports = yield* Imports
      const sql = yield* SqlClient.SqlClient
      const shown = assertPage("/", cookie)
      const locked =
        "in: Refresh of Tarn &amp; Tern The catalog cannot be changed until the import is accepted or discarded."
      const page = yield* shown
      assert.include(textOf(page), `3 undecided conflicts ${locked} Decide`)
      assert.include(page.text, `<a href="/import?id=${id}">Decide</a>`)
      yield* imports.decide(id, [1], "keep_draft").pipe(actingAs(actor))
      assert.include(textOf(yield* shown), `2 undecided conflicts ${locked} Decide`)
      yield* imports.decide(id, "all", "keep_draft").pipe(actingAs(actor))
      const decided = yield* shown
      assert.include(textOf(decided), "Ready to be accepted: Refresh of Tarn &amp; Tern")
      assert.include(decided.text, `<a href="/import?id=${id}">Accept or discard</a>`)
      yield* sql`UPDATE import_run SET phase = 'fetching' WHERE id = ${id}`
      const comparing = yield* shown
      assert.match(textOf(comparing), / Needs you (?!.*Refresh of)/)
      assert.include(
        comparing.text,
        "Refresh of Tarn &amp; Tern</a> is being compared with the catalog. Until it is accepted or discarded"
      )
      // The lease of a process that applies it; without one it is paused.
      yield* sql`UPDATE import_run SET phase = 'applying', lease_until = app_now() + interval '1 hour' WHERE id = ${id}`
      const applying = yield* shown
      assert.match(textOf(applying), / Needs you (?!.*Refresh of)/)
      assert.include(applying.text, "Refresh of Tarn &amp; Tern</a> is being applied. Until it ends")
      yield* sql`UPDATE import_run SET lease_until = NULL WHERE id = ${id}`
      const paused = yield* shown
      assert.match(
        textOf(paused),
        /Paused: Refresh of Tarn &amp; Tern The catalog cannot be changed until the import is resumed or cancelled. Resume or cancel it/
      )
      assert.include(paused.text, `<a href="/jobs/${id}">Resume or cancel it</a>`)
      assert.notInclude(paused.text, 'class="banner"')
    })
  )

  it.effect("lists the drops of the visitor's day, and asks only for those that failed or wait for an import", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, actor, cookie, shop, stove, userId } = merchant
      const sql = yield* SqlClient.SqlClient
      const now = Date.now()
      // A zone in which it is neither shortly after nor shortly before midnight.
      const hourIn = (zone: string) => Number(localTimeOf(now, zone).slice(11, 13))
      const zone = ["UTC", "Asia/Tokyo"].find((each) => hourIn(each) >= 2 && hourIn(each) < 22) ?? "UTC"
      yield* sql`UPDATE app_user SET time_zone = ${zone} WHERE id = ${userId}`
      const midnight = Date.parse(`${dayOf(now + 86_400_000, zone)}T00:00:00Z`) - (zone === "UTC" ? 0 : 9 * 3_600_000)
      const at = (millis: number) => new Date(millis).toISOString()
      const fields = ["title", "vendor", "product_type", "description_html", "handle", "seo_title"]
      const aDrop = (name: string, status: string, next: string | null, startsAt: number, endsAt: number | null) =>
        Effect.gen(function* () {
          const { id } = yield* (yield* Drops)
            .create({
              name,
              starts_at: "2990-01-01T00:00:00Z",
              ends_at: null,
              timezone: "UTC",
              changes: [{ entity_id: stove, store_id: shop.id, field: fields.pop() ?? "", value: name }]
            })
            .pipe(actingAs(actor))
          yield* sql`
            UPDATE drop SET status = ${status}, next_step = ${next}, starts_at = ${at(startsAt)}::timestamptz,
                            ends_at = ${endsAt === null ? null : at(endsAt)}::timestamptz
            WHERE account_id = ${accountId} AND id = ${id}`
        })
      const minute = 60_000
      yield* aReview(merchant)
      // They are under way, with neither a start nor an end today.
      yield* sql`
        INSERT INTO drop (account_id, id, name, status, next_step, starts_at, ends_at, timezone, actor)
        SELECT ${accountId}, gen_random_uuid(), 'Long', 'applied', 'end', app_now() - interval '9 days',
               app_now() + interval '9 days', 'UTC', '{"_tag": "Cli"}'
        FROM generate_series(1, 250)`
      yield* aDrop("Held", "scheduled", "start", now - minute, null)
      yield* aDrop("Broken", "failed", null, now - minute, null)
      yield* aDrop("Still broken", "failed", "end", now - 20 * 86_400_000, now + 20 * 86_400_000)
      yield* aDrop("Runs", "applied", "end", now - minute, midnight + 2 * 3_600_000)
      yield* aDrop("Today", "scheduled", "start", midnight - 3_600_000, null)
      yield* aDrop("Tomorrow", "scheduled", "start", midnight + 3_600_000, null)
      const page = yield* assertPage("/", cookie)
      const text = textOf(page)
      const [needs = "", ofDay = ""] = text.split("Drops today")
      assert.include(needs, "Held waits for the end of the import 1 change Open")
      assert.include(needs, "Not all changes of Broken were published 1 change Open")
      assert.include(needs, "Not all changes of Still broken were published 1 change Open")
      assert.match(ofDay, /^ Runs ends .* 1 change Open Today starts in .* 1 change Open Stores/)
      assert.notMatch(text, /Long|Tomorrow/)
      assert.match(page.text, /<span class="dot bad"><\/span><div><p>Not all changes/)
      assert.match(page.text, /<span class="dot wait"><\/span><div><p><strong><bdi>Held/)
      assert.match(page.text, /<span class="dot good"><\/span><div><p><strong><bdi>Runs/)
    })
  )

  it.effect("offers a scan if data health was never scanned", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const page = yield* assertPage("/", cookie)
      assert.include(textOf(page), "Needs you Data health was not scanned yet.")
      const { hidden } = sectionsOf(page.text, "/data-health/scan")
      assert.strictEqual((yield* ask("/data-health/scan", { cookie, form: hidden })).status, 303)
      assert.notInclude(textOf(yield* ask("/", { cookie })), "was not scanned yet")
    })
  )
})
