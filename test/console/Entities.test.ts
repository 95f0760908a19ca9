import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { createElement } from "preact"
import { renderToString } from "preact-render-to-string"
import { EntityHistory } from "../../src/console/entities/EntityHistory.tsx"
import { differenceOf, OrderOf, readable, readablePair } from "../../src/console/Values.tsx"
import type { HistoryEntry } from "../../src/drafts/History.ts"
import { DropId } from "../../src/model/Ids.ts"
import { fromMillis } from "../../src/model/Timestamp.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import {
  aFailure,
  aMerchant,
  aReview,
  assertForeignForm,
  assertNotThere,
  assertPage,
  assertRefusal,
  csrfOf,
  entityNamed,
  textOf
} from "./Merchant.ts"
import { assertPage as assertWholePage, mainOf } from "./WholePage.ts"

layer(PagesServer, { excludeTestServices: true })("the pages of entities", (it) => {
  it.effect("show an entity with its values, stores, related entities and history, newest first", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, files, firstImport, shop, stove } = merchant
      yield* (yield* CatalogChanges)
        .apply([
          CatalogChange.AddToStore({ entityId: stove, storeId: files.id }),
          CatalogChange.SetOverrides({
            entityId: stove,
            storeId: shop.id,
            values: { title: "Der Ofen", "my.own": "x" }
          })
        ])
        .pipe(actingAs(actor))
      yield* aFailure(merchant)
      const page = yield* assertPage(`/entity?id=${stove}`, cookie)
      const text = textOf(page)
      assert.match(text, / Details Kind Product Id \S{36} Draft Revision 3 Last publish Failed /)
      assert.match(
        text,
        /^The stove Duplicate Schedule a drop Review and publish to 1 store files\.example : Not published Tarn &amp; Tern : Failed Tarn &amp; Tern did not accept the last publish\. The demo shop was told to refuse: ask the operator of this service to repair it\. Retry /
      )
      assert.match(
        text,
        /Published Draft files\.example Not published never Unpublished: the store has no platform Take off Tarn &amp; Tern Failed The demo shop was told to refuse: ask the operator of this service to repair it\. \( DEMO_REFUSED \) \d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC Retry /
      )
      assert.include(text, "Title The stove Edit Title, Catalog The stove From the catalog Edit Title, files.example")
      assert.include(text, "Der Ofen Own value Failed Edit Title, Tarn &amp; Tern Handle stove Edit Handle, Catalog")
      assert.include(text, "Tags a b Edit Tags, Catalog")
      assert.include(text, "Own my. own empty Read-only empty From the catalog Read-only x Own value Failed Read-only")
      const one = yield* entityNamed("variant", "stove-One").pipe(actingAs(actor))
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetOverrides({ entityId: one, storeId: shop.id, values: { price: "19.90" } })])
        .pipe(actingAs(actor))
      assert.include(
        textOf(yield* ask(`/entity?id=${stove}`, { cookie })),
        "Variants 1 variant Variant Size SKU Price All stores Price files.example , USD Price Tarn &amp; Tern , EUR State One One Edit Size, One, Catalog stove-One Edit SKU, One, Catalog "
      )
      assert.include(page.text, `<th scope="row"><a href="/entity?id=${one}"><bdi>One</bdi></a></th>`)
      const history = text.slice(text.indexOf("History When Who Where What"))
      const when = "\\d{1,2} \\w{3,4} \\d{4}, \\d\\d:\\d\\d UTC Revision"
      const line = (revision: number, what: string) => `${when} ${revision} Command line ${what}`
      assert.match(
        history,
        new RegExp(
          [
            "^History When Who Where What",
            line(3, "Tarn &amp; Tern Publish failed: The demo shop was told to refuse: .*\\( DEMO_REFUSED \\)"),
            line(3, "Tarn &amp; Tern Publish requested"),
            line(3, "Catalog Vendor : Fell → became Nobody &lt;b>"),
            line(2, "Tarn &amp; Tern .* became x Title : as in the catalog → became Der Ofen"),
            line(2, "files\\.example Added to the store")
          ].join(" ")
        )
      )
      assert.include(page.text, `by <a href="/import?id=${firstImport}">an import</a>`)
      // The page of a related entity links the product by its name.
      assert.include(
        (yield* ask(`/entity?id=${one}`, { cookie })).text,
        `<a href="/entity?id=${stove}"><bdi>The stove</bdi></a>`
      )
    })
  )

  it.effect("name the variants that share a SKU, also with variants of other products", () =>
    Effect.gen(function* () {
      const { actor, cookie, stove, tent } = yield* aMerchant
      const [one, two] = yield* Effect.gen(function* () {
        const one = yield* anEntity("variant", { title: "Small", sku: "ST-<1>" }, { of: stove })
        const two = yield* anEntity("variant", { title: "Large", sku: "ST-<1>" }, { of: tent })
        yield* anEntity("variant", { title: "Alone", sku: "ST-2" }, { of: stove })
        // SKUs that are empty or of another account do not count.
        for (const of of [stove, tent]) yield* anEntity("variant", { title: "Without" }, { of })
        return [one, two] as const
      }).pipe(actingAs(actor))
      const other = yield* aMerchant
      yield* anEntity("variant", { title: "Theirs", sku: "ST-2" }, { of: other.stove }).pipe(actingAs(other.actor))
      const shared =
        /2 variants have the SKU ST-&lt;1> : (?:The stove: Small , The tent: Large|The tent: Large , The stove: Small) \. Imports and refreshes find a variant by its SKU, so give each its own\./
      for (const id of [stove, tent, one, two]) {
        const page = yield* assertPage(`/entity?id=${id}`, cookie)
        assert.match(textOf(page), shared)
        assert.strictEqual(textOf(page).match(/have the SKU/g)?.length, 1)
        for (const variant of [one, two]) assert.include(page.text, `<a href="/entity?id=${variant}">`)
      }
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.SetAttributes({ entityId: two, values: { sku: "ST-3" } })])
      ).pipe(actingAs(actor))
      assert.notInclude(textOf(yield* assertPage(`/entity?id=${stove}`, cookie)), "have the SKU")
    })
  )

  it.effect("show the newest entries of a long history, and more on request", () =>
    Effect.gen(function* () {
      const { actor, cookie, tent } = yield* aMerchant
      const { apply } = yield* CatalogChanges
      yield* Effect.forEach(Array.from({ length: 60 }), (_, index) =>
        apply([CatalogChange.SetAttributes({ entityId: tent, values: { vendor: `V${index}` } })])
      ).pipe(actingAs(actor))
      const rows = (text: string) => [...text.matchAll(/Revision <!-- -->|Revision \d+<\/div>/g)].length
      const page = yield* ask(`/entity?id=${tent}`, { cookie })
      assert.strictEqual(rows(page.text), 50)
      assert.include(textOf(page), "V58 → became V59")
      const more = `/entity?id=${tent}&history=all`
      assert.include(page.text, `<a href="${more.replace("&", "&amp;")}#history">Show more of the history</a>`)
      const whole = yield* ask(more, { cookie })
      assert.isAbove(rows(whole.text), 60)
      assert.notInclude(whole.text, "Show more of the history")
    })
  )

  it.effect("publish the draft that they show to one store, also when the form is sent again", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, shop, stove } = yield* aMerchant
      const { request: askFor, settle } = yield* Publishing
      const publish = (form: Readonly<Record<string, string>>) => ask("/entity/publish", { cookie, form })
      const shown = ask(`/entity?id=${stove}`, { cookie })
      assert.match(textOf(yield* shown), /Live \d{1,2} \w{3,4} \d{4}, \d\d:\d\d UTC Nothing to publish Publish again /)
      yield* (yield* CatalogChanges)
        .apply([
          CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } }),
          CatalogChange.AddToStore({ entityId: stove, storeId: files.id })
        ])
        .pipe(actingAs(actor))
      const page = yield* assertPage(`/entity?id=${stove}`, cookie)
      // Nothing can be published to a store without a platform.
      assert.lengthOf([...page.text.matchAll(/action="\/entity\/publish"/g)], 1)
      assert.include(
        textOf(page),
        "files.example Not published never Unpublished: the store has no platform Take off Tarn &amp; Tern"
      )
      assert.include(
        page.text,
        '<button type="submit" class="plain" aria-label="Publish to tarn.demo.example">Publish</button>'
      )
      const { hidden } = sectionsOf(page.text, "/entity/publish")
      assert.deepStrictEqual(hidden, { csrf: csrfOf(page), id: stove, store_id: shop.id, draft_revision: "2" })
      const clicks = yield* Effect.all([publish(hidden), publish(hidden), publish(hidden)], { concurrency: 3 })
      const done = `/entity?id=${stove}&note=requested&store_id=${shop.id}`
      for (const { headers, status } of clicks) assert.deepStrictEqual([status, headers.get("location")], [303, done])
      const after = yield* ask(done, { cookie: withNote(cookie, done) })
      assert.include(
        after.text,
        `<div class="note" role="status"><p>The publish to tarn.demo.example was requested. Its state is shown below. <a href="/entity?id=${stove}">Reload</a></p></div>`
      )
      const asks = [...textOf(after).matchAll(/Publish requested/g)]
      assert.lengthOf(asks, 1)
      const pending = yield* askFor(stove, shop.id).pipe(actingAs(actor))
      assert(pending.outcome === "joined")
      yield* settle([pending.publicationId], () => Effect.void).pipe(actingAs(actor))
      // A late second click gets the result of the first one.
      const late = yield* publish(hidden)
      assert.strictEqual(late.headers.get("location"), `/entity?id=${stove}&note=nothing&store_id=${shop.id}`)
      assert.include(
        (yield* ask(String(late.headers.get("location")), {
          cookie: withNote(cookie, String(late.headers.get("location")))
        })).text,
        '<div class="note" role="status"><p>There was nothing to publish: tarn.demo.example has this draft already.</p></div>'
      )
      // A draft that the store already has is sent again only by the button "Publish again".
      const same = yield* shown
      assert.include(
        same.text,
        '<button type="submit" class="plain" aria-label="Publish again to tarn.demo.example">Publish again</button>'
      )
      const anew = sectionsOf(same.text, "/entity/publish").hidden
      assert.deepStrictEqual(anew, { ...hidden, again: "yes" })
      assert.strictEqual((yield* publish(anew)).headers.get("location"), done)
      const second = yield* askFor(stove, shop.id).pipe(actingAs(actor))
      assert(second.outcome === "joined")
      const [settled] = yield* settle([second.publicationId], () => Effect.void).pipe(actingAs(actor))
      assert.strictEqual(settled?.state, "published")
      assert.lengthOf([...textOf(yield* shown).matchAll(/Publish requested/g)], 2)
      // Parameters of the address show only known notes, and only about the account's stores.
      for (const query of [`note=constructor&store_id=${shop.id}`, "note=requested&store_id=x", "note=asked"])
        for (const cookies of [cookie, withNote(cookie, `/entity?id=${stove}&${query}`)])
          assert.notInclude((yield* ask(`/entity?id=${stove}&${query}`, { cookie: cookies })).text, 'role="status"')
    })
  )

  it.effect("do not publish a draft that somebody changed after they were opened", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove } = yield* aMerchant
      const edit = (vendor: string) =>
        Effect.flatMap(CatalogChanges, ({ apply }) =>
          apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor } })])
        ).pipe(actingAs(actor))
      yield* edit("Seen")
      const path = `/entity?id=${stove}`
      const seen = sectionsOf((yield* ask(path, { cookie })).text, "/entity/publish").hidden
      yield* edit("Unseen")
      const refused = yield* ask("/entity/publish", { cookie, form: seen })
      assertWholePage(refused, 409)
      const alert =
        '<div class="alert" role="alert"><p>Nothing was published to tarn.demo.example: the draft has changed since you opened this page. Check the current draft, then publish again.</p></div>'
      const now = mainOf(yield* ask(path, { cookie }))
      assert.strictEqual(
        mainOf(refused),
        now.replace('<div class="live" id="drops"', `${alert}<div class="live" id="drops"`)
      )
      assert.notInclude(now, "Publish requested")
      const { hidden } = sectionsOf(refused.text, "/entity/publish")
      const published = yield* ask("/entity/publish", { cookie, form: hidden })
      assert.strictEqual(published.headers.get("location"), `${path}&note=requested&store_id=${shop.id}`)
    })
  )

  it.effect("show why a draft cannot be published to a store", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, files, shop, stove } = merchant
      const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [shop, files] }).pipe(actingAs(actor))
      const bulb = yield* anEntity("variant", { title: "Bulb" }, { on: [shop], of: lamp }).pipe(actingAs(actor))
      const refusal = (id: string, store_id: string) =>
        Effect.gen(function* () {
          const before = yield* ask(`/entity?id=${id}`, { cookie })
          const draft_revision = /Revision <?!?-*>?(\d+)/.exec(textOf(before))?.[1] ?? ""
          const form = { csrf: csrfOf(before), id, store_id, draft_revision }
          const answer = yield* ask("/entity/publish", { cookie, form })
          assertWholePage(answer, 400)
          const alert = /<div class="alert" role="alert"><p>(.*?)<\/p><\/div>/.exec(answer.text)
          assert.strictEqual(mainOf(answer).replace(alert?.[0] ?? "", ""), mainOf(before))
          return alert?.[1]
        })
      assert.strictEqual(
        yield* refusal(bulb, shop.id),
        `Nothing was published to tarn.demo.example: its product ${lamp} is not live on this store: publish the product first.`
      )
      assert.strictEqual(
        yield* refusal(lamp, files.id),
        "Nothing was published to files.example: files.example has no platform: nothing can be published to it."
      )
      yield* (yield* CatalogChanges)
        .apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell & Son" } })])
        .pipe(actingAs(actor))
      const { hidden } = sectionsOf((yield* ask(`/entity?id=${stove}`, { cookie })).text, "/entity/publish")
      const publish = (form: Readonly<Record<string, string>>) => ask("/entity/publish", { cookie, form })
      for (const draft_revision of ["", "two", "1.5"])
        assert.strictEqual((yield* publish({ ...hidden, draft_revision })).status, 400)
      // The stove is not on the store without a platform; the other ids are unknown or belong to another account.
      const stranger = yield* aMerchant
      for (const store_id of [files.id, stranger.shop.id, "x", ""])
        assertNotThere(yield* publish({ ...hidden, store_id }))
      for (const id of [stranger.stove, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""])
        assertNotThere(yield* publish({ ...hidden, id }))
      assertNotThere(yield* publish({ ...hidden, id: stranger.stove, store_id: stranger.shop.id }))
      const { csrf: _, ...unproven } = hidden
      const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
      for (const form of [unproven, { ...hidden, csrf: theirs }]) assertForeignForm(yield* publish(form))
      const away = yield* ask("/entity/publish", { form: hidden })
      assert.deepStrictEqual([away.status, away.headers.get("location")], [303, "/sign-in?return_to=%2F&unsent=form"])
      yield* aReview(merchant)
      const current = sectionsOf((yield* ask(`/entity?id=${stove}`, { cookie })).text, "/entity/publish").hidden
      assertRefusal(yield* publish(current), 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: ["/imports", "To the imports"]
      })
      for (const [who, id] of [
        [cookie, stove],
        [cookie, lamp],
        [cookie, bulb],
        [stranger.cookie, stranger.stove]
      ] as const)
        assert.notInclude(textOf(yield* ask(`/entity?id=${id}`, { cookie: who })), "Publish requested")
    })
  )

  it.effect("link to a new drop of the entity if a store has a platform", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, stove } = yield* aMerchant
      const { text } = yield* ask(`/entity?id=${stove}`, { cookie })
      const path = `/drops/new?entity=${stove}`
      assert.include(text, `<a class="button plain" href="${path}">Schedule a drop</a>`)
      assert.include((yield* ask(path, { cookie })).text, `name="thing-${stove}" value="yes" checked`)
      const unsold = yield* anEntity("product", { title: "Lamp" }, { on: [files] }).pipe(actingAs(actor))
      assert.notInclude((yield* ask(`/entity?id=${unsold}`, { cookie })).text, "Schedule a drop")
      assert.match(
        text,
        /<dt>Changed<\/dt><dd><time [^<]*<\/time> <span class="quiet">in the catalog, without store overrides</
      )
    })
  )

  it.effect("answer another account's entity like a missing one", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aMerchant
      const stranger = yield* aMerchant
      for (const id of [stranger.tent, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""])
        assertNotThere(yield* ask(`/entity?id=${id}`, { cookie }))
      assertNotThere(yield* ask("/entity", { cookie }))
      assert.notInclude((yield* ask("/products", { cookie })).text, stranger.tent)
    })
  )

  it("entries of a drop name the drop and who scheduled it", () => {
    const id = DropId.make("5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10")
    const entry: HistoryEntry = {
      at: fromMillis(0),
      draft_revision: 2,
      actor: { kind: "user", id: null, name: "ada@shop.example" },
      store_id: null,
      store_domain: "a.example",
      import_id: null,
      undo_of: null,
      drop: { id, name: "Sale <b>" },
      action: "published",
      changes: [],
      error: null
    }
    const whoOf = (history: HistoryEntry) =>
      /<td data-label="Who">.*?<\/td>/.exec(
        renderToString(createElement(EntityHistory, { history: [history], linked: [], more: undefined }))
      )?.[0]
    assert.strictEqual(
      whoOf(entry),
      `<td data-label="Who">Drop <a href="/drops/${id}"><bdi>Sale &lt;b></bdi></a><div class="quiet">scheduled by ada@shop.example</div></td>`
    )
    assert.strictEqual(whoOf({ ...entry, drop: null }), '<td data-label="Who">ada@shop.example</td>')
  })

  it("right-to-left values do not change the direction of the arrow", () => {
    const entry: HistoryEntry = {
      at: fromMillis(0),
      draft_revision: 2,
      actor: { kind: "cli", id: null, name: null },
      store_id: null,
      store_domain: null,
      import_id: null,
      undo_of: null,
      drop: null,
      action: "attributes",
      changes: [{ key: "title", old: "تارن", new: "وتيرن" }],
      error: null
    }
    assert.include(
      renderToString(createElement(EntityHistory, { history: [entry], linked: [], more: undefined })),
      '<bdi>Title</bdi>: <bdi class="value">تارن</bdi> <span aria-hidden="true" class="onward">→</span><span class="spoken"> became </span> <bdi class="value">وتيرن</bdi>'
    )
  })

  it("an ordered list is shown as links to entities, other text unchanged", () => {
    const id = "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10"
    const shown = (text: string) => renderToString(createElement(OrderOf, { text }))
    assert.strictEqual(shown(JSON.stringify([id])), `<ol><li><a href="/entity?id=${id}"><bdi>${id}</bdi></a></li></ol>`)
    assert.strictEqual(shown("[]"), '<span class="quiet">empty</span>')
    assert.strictEqual(
      shown('["<b>"]'),
      '<bdi class="value">["&lt;b>"]</bdi>'.replaceAll('"&lt;b>"', "&quot;&lt;b>&quot;")
    )
  })

  it("a difference is marked by whole words, and its three parts together are the text", () => {
    const parts = differenceOf("Keeps the snow out", "Keeps the rain out")
    assert.deepStrictEqual(parts, ["Keeps the ", "snow ", "out"])
    assert.deepStrictEqual(differenceOf("same", "same"), ["same", "", ""])
    const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "😀") })
    fc.assert(
      fc.property(text, text, (one, other) => {
        assert.strictEqual(differenceOf(one, other).join(""), one)
        assert.strictEqual(differenceOf(one, one)[1], "")
        assert.strictEqual(
          differenceOf(one, other)
            .concat(differenceOf(other, one))
            .every((part) => part.isWellFormed()),
          true
        )
      })
    )
    assert.strictEqual(readable('["a","b"]', "list.single_line_text_field"), "a, b")
    assert.strictEqual(readable('["a","b"]', "single_line_text_field"), '["a","b"]')
    assert.deepStrictEqual(readablePair('["a","b"]', "[]", "list.single_line_text_field"), ["a, b", ""])
    assert.strictEqual(readable("no list", "list.single_line_text_field"), "no list")
  })

  it("HTML is compared by its words, and by its tags if the words are the same", () => {
    const compared = (left: string, right: string) => readablePair(left, right, "html")
    assert.deepStrictEqual(compared("<p>Wool &amp; silk,</p>\n<p>warm</p>", "<ul><li>Wool</li></ul>"), [
      "Wool & silk, warm",
      "Wool"
    ])
    assert.deepStrictEqual(compared("<p>a &amp;lt;b></p>", ""), ["a &lt;b>", ""])
    assert.deepStrictEqual(compared("<p>Wool</p>", "<p><b>Wool</b></p>"), ["<p>Wool</p>", "<p><b>Wool</b></p>"])
  })
})
