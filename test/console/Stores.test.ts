import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportId, JobId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, PagesServer } from "../oauth/PagesServer.ts"
import {
  aFailure,
  aMerchant,
  aReview,
  assertForeignForm,
  assertNotThere,
  assertPage,
  assertRefusal,
  csrfOf,
  textOf,
  untilPhase
} from "./Merchant.ts"
import { escaped } from "./WholePage.ts"

const importsOf = ({ actor }: Effect.Effect.Success<typeof aMerchant>) =>
  Effect.flatMap(Imports, ({ list }) => list).pipe(actingAs(actor))

layer(PagesServer, { excludeTestServices: true })("the page of stores", (it) => {
  it.effect("shows each store with its counts by publish state and its failures", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      yield* aFailure(merchant)
      yield* anEntity(
        "media",
        { alt: "Waits", url: "https://shop.example/w.jpg" },
        { on: [merchant.files, merchant.shop] }
      ).pipe(actingAs(merchant.actor))
      const page = yield* assertPage("/stores", merchant.cookie)
      const text = textOf(page)
      assert.match(
        text,
        /files\.example Domain files\.example Platform None: imported from files Languages English Currency US Dollar Last import never 1 items Download products \(CSV\) Download and count as published Unlink Tarn &amp; Tern Domain tarn\.demo\.example Platform Demo shop Languages English Currency Euro Last import \d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC 7 live 0 publishing 1 failed 1 not published 2 to publish Publish all changes Download products \(CSV\) Unlink Refresh Export the catalog .* Failed to publish/
      )
      assert.match(
        text,
        /Why The stove tarn\. demo\. example \d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC The demo shop was told to refuse: ask the operator of this service to repair it\. \( DEMO_REFUSED \)$/
      )
      assert.include(page.text, `<a href="/entity?id=${merchant.stove}"><bdi>The stove</bdi></a>`)
      // Counts of unpublished entities link to their lists; a count of zero has no link.
      for (const [path, count, name] of [
        [`/stores/publish?id=${merchant.shop.id}`, 2, "to publish"],
        [`/data-health/issues?section=sync-never-published&amp;store_id=${merchant.shop.id}`, 1, "not published"],
        ["#failures", 1, "failed"]
      ] as const)
        assert.include(
          page.text,
          `<strong>${count}</strong> <a href="${path}" aria-label="${name}: ${escaped(merchant.shop.name)}">${name}</a>`
        )
      assert.include(page.text, "<strong>0</strong> publishing</li>")
      assert.notInclude(page.text, `store_id=${merchant.files.id}`)
      assert.lengthOf([...page.text.matchAll(/action="\/stores\/refresh"/g)], 1)
      const other = yield* aMerchant
      assert.include(textOf(yield* ask("/stores", { cookie: other.cookie })), "Failed to publish None.")
    })
  )

  it.effect("counts failed entities in agreement with the list of failures and Data health", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, shop } = merchant
      yield* Effect.gen(function* () {
        const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [shop] })
        for (const sku of ["L-1", "L-2"]) yield* anEntity("variant", { sku }, { on: [shop], of: lamp })
        const failures = yield* DemoFailures
        const publishing = yield* Publishing
        yield* failures.fail(shop.domain, { kind: "refuse", percent: 100, delayMillis: 0 })
        const asked = yield* publishing.request(lamp, shop.id)
        assert(asked.outcome === "requested")
        yield* publishing.settle([asked.publicationId], () => Effect.void)
        yield* failures.repair(shop.domain)
      }).pipe(actingAs(actor))
      const page = yield* assertPage("/stores", cookie)
      // One publish included three entities, and failed.
      assert.include(page.text, '<strong>3</strong> <a href="#failures"')
      const list = page.text.slice(page.text.indexOf('id="failures"'))
      assert.lengthOf([...list.matchAll(/<th scope="row">/g)], 3)
      const { hidden } = sectionsOf((yield* ask("/data-health", { cookie })).text, "/data-health/scan")
      yield* ask("/data-health/scan", { cookie, form: { csrf: String(hidden.csrf), dimension: "sync" } })
      const health = yield* ask(`/data-health/issues?section=sync-failed&store_id=${shop.id}`, { cookie })
      assert.lengthOf([...health.text.matchAll(/<th scope="row">/g)], 3)
      const entities = yield* ask("/products?search=lamp", { cookie })
      assert.match(textOf(entities), /Lamp .*Failed/)
    })
  )

  it.effect("refreshes a store in the background, and shows a running refresh instead of starting a second one", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop } = merchant
      const { hidden } = sectionsOf((yield* ask("/stores", { cookie })).text, "/stores/refresh")
      assert.strictEqual(hidden.id, shop.id)
      const answers = yield* Effect.all(
        Array.from({ length: 4 }, () => ask("/stores/refresh", { cookie, form: hidden })),
        { concurrency: "unbounded" }
      )
      const [location, ...others] = new Set(answers.flatMap(({ headers }) => headers.get("location") ?? []))
      assert.lengthOf(others, 0)
      const id = ImportId.make(String(/^\/import\?id=(.{36})$/.exec(String(location))?.[1]))
      const run = yield* untilPhase(merchant, id, "reviewing")
      assert.deepInclude(run, { source: "refresh", storeId: shop.id, error: null })
      // Later requests found the running refresh, or its review.
      for (const { status } of answers) assert.include([303, 423], status)
      assert.lengthOf(yield* importsOf(merchant), 2)
    })
  )

  it.effect("shows a store that is being read, and starts no second refresh of it", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop } = merchant
      const { hidden } = sectionsOf((yield* ask("/stores", { cookie })).text, "/stores/refresh")
      yield* (yield* DemoFailures)
        .fail(shop.domain, { kind: "delay", percent: 100, delayMillis: 600_000 })
        .pipe(actingAs(merchant.actor))
      const refresh = Effect.map(ask("/stores/refresh", { cookie, form: hidden }), ({ headers }) =>
        String(headers.get("location"))
      )
      const location = yield* refresh
      assert.match(location, /^\/import\?id=.{36}$/)
      assert.strictEqual(yield* refresh, location)
      const page = yield* ask("/stores", { cookie })
      assert.match(textOf(page), /Being read since \d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC \. See the refresh/)
      assert.include(page.text, `<a href="${location}">See the refresh</a>`)
      assert.notInclude(page.text, 'action="/stores/refresh"')
      const run = yield* ask(location, { cookie })
      assert.include(
        textOf(run),
        "The store is being read and compared with the catalog. Nothing is written before you accept it. You can leave this page. Reload State Being read"
      )
      assert.notInclude(run.text, 'action="/import/')
      const id = location.slice(location.indexOf("=") + 1)
      assertRefusal(yield* ask("/import/accept", { cookie, form: { id, csrf: csrfOf(page) } }), 400, {
        title: "Not accepted",
        message: "This import is still being read: there is nothing to decide yet.",
        next: [location, "To the import"]
      })
      assert.include(textOf(yield* ask("/imports", { cookie })), "Being read Not known yet")
    })
  )

  it.effect("refuses a refresh while an import is under review", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie, shop } = merchant
      const { hidden } = sectionsOf((yield* ask("/stores", { cookie })).text, "/stores/refresh")
      const id = yield* aReview(merchant)
      assertRefusal(yield* ask("/stores/refresh", { cookie, form: { ...hidden, id: shop.id } }), 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: ["/imports", "To the imports"]
      })
      assert.lengthOf(yield* importsOf(merchant), 2)
      const page = yield* ask("/stores", { cookie })
      assert.include(
        page.text,
        `<a href="/import?id=${id}">Refresh of Tarn &amp; Tern</a> waits for your review. Until you accept or discard it the catalog cannot be changed.`
      )
      assert.notInclude(page.text, 'action="/stores/refresh"')
    })
  )

  it.effect("publishes all changes of a store, products first, and lists the refused ones", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, shop, stove } = yield* aMerchant
      const path = `/stores/publish?id=${shop.id}`
      const link = `<a href="${path}" aria-label="Publish all changes: ${escaped(shop.name)}">Publish all changes</a>`
      assert.notInclude((yield* ask("/stores", { cookie })).text, "/stores/publish")
      assert.strictEqual(
        textOf(yield* assertPage(path, cookie)),
        "Publish to Tarn &amp; Tern All stores There is nothing to publish."
      )
      const { lamp, lamps } = yield* Effect.gen(function* () {
        const on = [shop, files]
        const lamp = yield* anEntity("product", { title: "Lamp" }, { on })
        yield* anEntity("variant", { title: "Bulb" }, { on, of: lamp })
        const lamps = yield* anEntity("collection", { title: "Lamps <b>" }, { on: [shop] })
        yield* (yield* CatalogChanges).apply([
          CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } }),
          CatalogChange.SetMembers({ collectionId: lamps, productIds: [lamp] })
        ])
        return { lamp, lamps }
      }).pipe(actingAs(actor))
      const stores = yield* ask("/stores", { cookie })
      assert.include(stores.text, link)
      assert.lengthOf([...stores.text.matchAll(/>Publish all changes</g)], 1)
      const page = yield* assertPage(path, cookie)
      assert.match(
        textOf(page),
        /All stores 4 unpublished drafts: 2 products 1 collection 1 variant Products are published first, .* Publish all Publish some of them .* Publish the selected$/
      )
      const { hidden } = sectionsOf(page.text, "/stores/publish")
      assert.deepStrictEqual(hidden, { csrf: csrfOf(page), id: shop.id })
      const publish = (form: Readonly<Record<string, string>>) => ask("/stores/publish", { cookie, form })
      const asked = yield* publish(hidden)
      assert.strictEqual(asked.status, 303)
      const job = asked.headers.get("location") ?? ""
      assert.match(job, /^\/jobs\/[0-9a-f-]{36}$/)
      assert.strictEqual((yield* publish(hidden)).headers.get("location"), job, "a second click finds the same job")
      const busy = yield* assertPage(path, cookie)
      assert.include(
        busy.text,
        `<p>A job works on this store: <a href="${job}">Publish all changes to tarn.demo.example</a>.</p>`
      )
      assert.notInclude(busy.text, 'action="/stores/publish')
      assert.notInclude(busy.text, "cannot be reached")
      const begun = yield* assertPage(job, cookie)
      assert.match(
        textOf(begun),
        /^Publish all changes to Tarn &amp; Tern All jobs State Waiting Progress 0 of 4 items Begun .* Pause Cancel the job Look again$/
      )
      assert.include(begun.text, '<progress max="4" value="0"')
      yield* Effect.gen(function* () {
        const worker = yield* JobWorker
        const publishing = yield* Publishing
        const id = JobId.make(job.slice("/jobs/".length))
        yield* Effect.raceFirst(
          worker.settle(id, () => Effect.void),
          publishing.work
        )
      }).pipe(actingAs(actor))
      const ended = yield* assertPage(job, cookie)
      assert.match(textOf(ended), /State Done Progress 3 items Refused 0 Requested 3 Begun .* Ended .* UTC$/)
      // A job that is done has only requested the publishes: the page says where failures are shown.
      assert.include(ended.text, 'Failed publishes are shown on <a href="/">Home</a>.')
      assert.strictEqual(
        textOf(yield* assertPage(path, cookie)),
        "Publish to Tarn &amp; Tern All stores There is nothing to publish."
      )
      assert.match(textOf(yield* assertPage("/jobs", cookie)), /Publish all changes to Tarn &amp; Tern Done 3 items/)
      assert.notInclude(lamp, lamps)
    })
  )

  it.effect("says why publishes to a store wait for its platform, also where they are requested", () =>
    Effect.gen(function* () {
      const { accountId, actor, cookie, files, shop, stove } = yield* aMerchant
      const stranger = yield* aMerchant
      yield* Effect.flatMap(DemoShops, (shops) =>
        shops.fail({ accountId, storeId: shop.id }, { kind: "error", percent: 100, delayMillis: 0 })
      )
      yield* Effect.gen(function* () {
        const { apply } = yield* CatalogChanges
        const publishing = yield* Publishing
        yield* apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } })])
        assert.strictEqual((yield* publishing.request(stove, shop.id)).outcome, "requested")
        yield* Effect.raceFirst(
          Effect.repeat(Effect.delay(publishing.delay(shop.id), "5 millis"), { until: (delay) => delay !== null }),
          publishing.work
        )
      }).pipe(actingAs(actor))
      const why =
        "The store's platform cannot be reached: it reports an internal error. The publish is tried again for up to 24 hours."
      assert.include(textOf(yield* assertPage("/stores", cookie)), `1 to publish ${why} Publish all changes`)
      assert.include(
        textOf(yield* assertPage(`/stores/publish?id=${shop.id}`, cookie)),
        `There is nothing to publish. 1 is being published already. ${why}`
      )
      // All publishes that wait can be cancelled there.
      const page = yield* assertPage(`/stores/publish?id=${shop.id}`, cookie)
      assert.include(textOf(page), "except changes of drops. Cancel all publishes that wait")
      const { hidden } = sectionsOf(page.text, "/stores/cancel-publishes")
      const cancelAll = (form = hidden) => ask("/stores/cancel-publishes", { cookie, form })
      const begun = yield* cancelAll()
      const job = begun.headers.get("location") ?? ""
      assert.match(`${begun.status} ${job}`, /^303 \/jobs\/[0-9a-f-]{36}$/)
      assert.strictEqual((yield* cancelAll()).headers.get("location"), job, "a second click finds the same job")
      yield* (yield* JobWorker).settle(JobId.make(job.slice(-36)), () => Effect.void).pipe(actingAs(actor))
      assert.match(
        textOf(yield* assertPage(job, cookie)),
        /Cancel the publishes to Tarn &amp; Tern .* Done Progress 1 item Refused 0 Cancelled 1 /
      )
      const refused = yield* cancelAll()
      assert.strictEqual(refused.status, 400)
      assert.include(
        textOf(refused),
        "The publishes are not cancelled: no publish to this store waits: there is nothing to cancel. 1 unpublished draft"
      )
      assert.notInclude(refused.text, "/stores/cancel-publishes")
      for (const id of [files.id, stranger.shop.id, "x"])
        assert.deepStrictEqual((yield* cancelAll({ ...hidden, id })).status, id === files.id ? 400 : 404)
      assertForeignForm(
        yield* cancelAll({ ...hidden, csrf: csrfOf(yield* ask("/stores", { cookie: stranger.cookie })) })
      )
    })
  )

  it.effect("publishes selected changes, and lists the refused ones", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove } = yield* aMerchant
      const path = `/stores/publish?id=${shop.id}`
      const { lamp, lamps } = yield* Effect.gen(function* () {
        const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [shop] })
        const lamps = yield* anEntity("collection", { title: "Lamps <b>" }, { on: [shop] })
        yield* (yield* CatalogChanges).apply([
          CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } }),
          CatalogChange.SetMembers({ collectionId: lamps, productIds: [lamp] })
        ])
        return { lamp, lamps }
      }).pipe(actingAs(actor))
      const page = yield* assertPage(path, cookie)
      for (const id of [lamp, lamps, stove]) assert.include(page.text, `name="publish-${id}"`)
      const select = (form: Readonly<Record<string, string>>) =>
        ask("/stores/publish-selected", { cookie, form: { csrf: csrfOf(page), id: shop.id, ...form } })
      const none = yield* select({})
      assert.strictEqual(none.status, 400)
      assert.include(
        none.text,
        '<div class="alert" role="alert"><p>Nothing is selected: select some drafts first.</p></div>'
      )
      assertNotThere(yield* select({ "publish-x": "yes" }))
      const asked = yield* select({ [`publish-${stove}`]: "yes", [`publish-${lamps}`]: "yes" })
      const job = asked.headers.get("location") ?? ""
      assert.match(job, /^\/jobs\/[0-9a-f-]{36}$/, asked.text)
      // The stove is published before the collection is requested.
      yield* Effect.raceFirst(
        Effect.flatMap(JobWorker, ({ settle }) => settle(JobId.make(job.replace("/jobs/", "")), () => Effect.void)),
        Effect.flatMap(Publishing, ({ work }) => work)
      ).pipe(actingAs(actor))
      const ended = yield* assertPage(job, cookie)
      assert.match(textOf(ended), /State Done Progress 2 items Refused 1 Requested 1 /)
      assert.include(
        ended.text,
        `<li>Collection <bdi>Lamps &lt;b></bdi>: product ${lamp} is not live on this store: publish it first, or take it out of the collection</li>`
      )
    })
  )

  it.effect("does not publish to unknown stores, stores without a platform or stores of other accounts", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const stranger = yield* aMerchant
      const { actor, cookie, files, shop, stove } = merchant
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } })])
        .pipe(actingAs(actor))
      const path = `/stores/publish?id=${shop.id}`
      const { hidden } = sectionsOf((yield* ask(path, { cookie })).text, "/stores/publish")
      const publish = (form: Readonly<Record<string, string>>) => ask("/stores/publish", { cookie, form })
      for (const id of [stranger.shop.id, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""]) {
        assertNotThere(yield* publish({ ...hidden, id }))
        assertNotThere(yield* ask(`/stores/publish?id=${id}`, { cookie }))
      }
      const nowhere = {
        title: "Nothing can be published to this store",
        message: "files.example has no platform to publish to.",
        next: ["/stores", "To the stores"]
      } as const
      assertRefusal(yield* publish({ ...hidden, id: files.id }), 400, nowhere)
      assertRefusal(yield* ask(`/stores/publish?id=${files.id}`, { cookie }), 400, nowhere)
      const { csrf: _, ...unproven } = hidden
      const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
      for (const form of [unproven, { ...hidden, csrf: theirs }]) assertForeignForm(yield* publish(form))
      yield* aReview(merchant)
      assertRefusal(yield* publish(hidden), 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: ["/imports", "To the imports"]
      })
      assert.notInclude((yield* ask("/stores", { cookie })).text, "Publish all changes")
      assert.notInclude(textOf(yield* ask(`/entity?id=${stove}`, { cookie })), "Publish requested")
    })
  )

  it.effect(
    "does not refresh unknown stores, stores without a platform or stores of other accounts, and refuses forms from other sites",
    () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const stranger = yield* aMerchant
        const { cookie, files, shop } = merchant
        const csrf = csrfOf(yield* ask("/stores", { cookie }))
        const refresh = (form: Readonly<Record<string, string>>) => ask("/stores/refresh", { cookie, form })
        for (const id of [stranger.shop.id, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""])
          assertNotThere(yield* refresh({ csrf, id }))
        assertRefusal(yield* refresh({ csrf, id: files.id }), 400, {
          title: "This store cannot be refreshed",
          message: "files.example has no platform to read from. Import its product export instead.",
          next: ["/stores", "To the stores"]
        })
        const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
        for (const form of [{ id: shop.id }, { id: shop.id, csrf: theirs }]) assertForeignForm(yield* refresh(form))
        assert.lengthOf(yield* importsOf(merchant), 1)
        assert.lengthOf(yield* importsOf(stranger), 1)
      })
  )
})
