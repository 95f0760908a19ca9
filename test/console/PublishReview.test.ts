import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DropId, type EntityId, nilUuid } from "../../src/model/Ids.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
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
  textOf
} from "./Merchant.ts"
import { assertPage as assertWholePage } from "./WholePage.ts"

const post = (cookie: string, form: Readonly<Record<string, string>>) => ask("/entity/review", { cookie, form })

const alertIn = (text: string) => /<div class="alert" role="alert"><p>(.*?)<\/p><\/div>/.exec(text)?.[1]

layer(PagesServer, { excludeTestServices: true })("the review of a publish", (it) => {
  /** A stove on two stores with a platform and one without, with a draft of a new title on one. */
  const aDraft = Effect.gen(function* () {
    const merchant = yield* aMerchant
    const { actor, files, shop, stove } = merchant
    const { store: second } = yield* Effect.flatMap(Stores, ({ link }) =>
      link({ domain: "second.demo.example", name: "Second <b>", platform: "demo", currency: "EUR" })
    ).pipe(actingAs(actor), Effect.orDie)
    yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
      apply([
        CatalogChange.AddToStore({ entityId: stove, storeId: files.id }),
        CatalogChange.AddToStore({ entityId: stove, storeId: second.id }),
        CatalogChange.SetOverrides({ entityId: stove, storeId: shop.id, values: { title: "The <i>stove" } })
      ])
    ).pipe(actingAs(actor))
    return { ...merchant, second }
  })

  it.effect("shows live and new values field by field, and publishes to the chosen stores after one confirmation", () =>
    Effect.gen(function* () {
      const { actor, cookie, second, shop, stove } = yield* aDraft
      const path = `/entity/review?id=${stove}`
      assert.include(
        (yield* ask(`/entity?id=${stove}`, { cookie })).text,
        `<a class="button" href="${path}" data-drawer="true">Review and publish to 2 stores</a>`
      )
      const page = yield* assertPage(path, cookie)
      const text = textOf(page)
      assert.match(
        text,
        /^Publish The stove The stove Publish to Second &lt;b> It was never published to this store\. Field Live New value Title empty The stove /
      )
      assert.include(
        text,
        "Publish to Tarn &amp; Tern Field Live New value Title The stove The &lt;i>stove Publish to the chosen stores Cancel"
      )
      assert.notInclude(text, "files.example")
      const { hidden } = sectionsOf(page.text, "/entity/review")
      assert.deepStrictEqual(hidden, { csrf: csrfOf(page), id: stove, draft_revision: "2" })
      const none = yield* post(cookie, hidden)
      assertWholePage(none, 400)
      assert.strictEqual(alertIn(none.text), "Nothing was published: choose at least one store.")
      const done = yield* post(cookie, { ...hidden, [`to-${shop.id}`]: "yes" })
      const to = `/entity?id=${stove}&note=chosen+1`
      assert.deepStrictEqual([done.status, done.headers.get("location")], [303, to])
      assert.include(
        textOf(yield* ask(to, { cookie: withNote(cookie, to) })),
        "The publish to 1 store was requested. The state of each store is shown below. Reload"
      )
      const { request, settle } = yield* Publishing
      const open = yield* request(stove, shop.id).pipe(actingAs(actor))
      assert(open.outcome === "joined")
      const [settled] = yield* settle([open.publicationId], () => Effect.void).pipe(actingAs(actor))
      assert.strictEqual(settled?.state, "published")
      const after = textOf(yield* ask(path, { cookie }))
      assert.include(after, "Tarn &amp; Tern Nothing to publish.")
      assert.notInclude(after, "Publish to Tarn")
      // Nothing was requested for the store that was not chosen.
      assert.strictEqual((yield* request(stove, second.id).pipe(actingAs(actor))).outcome, "requested")
    })
  )

  it.effect("publishes nothing if the draft has changed since, and shows the change", () =>
    Effect.gen(function* () {
      const { actor, cookie, second, shop, stove } = yield* aDraft
      const { hidden } = sectionsOf((yield* ask(`/entity/review?id=${stove}`, { cookie })).text, "/entity/review")
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Unseen" } })])
      ).pipe(actingAs(actor))
      const refused = yield* post(cookie, { ...hidden, [`to-${shop.id}`]: "yes" })
      assertWholePage(refused, 409)
      assert.strictEqual(
        alertIn(refused.text),
        "Nothing was published to Tarn &amp; Tern: the draft has changed since you opened this page. Check the changes below, then publish again."
      )
      assert.include(textOf(refused), "Vendor Fell Unseen")
      assert.include(refused.text, `name="to-${shop.id}" value="yes" checked`)
      assert.notInclude(refused.text, `name="to-${second.id}" value="yes" checked`)
      const again = sectionsOf(refused.text, "/entity/review").hidden
      assert.strictEqual((yield* post(cookie, { ...again, [`to-${shop.id}`]: "yes" })).status, 303)
    })
  )

  it.effect("names the picture of a variant that the store has, and the one that it would get", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop } = yield* aMerchant
      yield* Effect.gen(function* () {
        const { apply } = yield* CatalogChanges
        const on = [shop]
        const product = yield* anEntity("product", { title: "Lamp" }, { on })
        const variant = yield* anEntity("variant", { sku: "L-1" }, { on, of: product })
        const front = yield* anEntity("media", { alt: "Seen from the front", url: "https://cdn.example/f.png" }, { on })
        const back = yield* anEntity("media", { alt: "Seen from <behind>", url: "https://cdn.example/b.png" }, { on })
        const show = (...media: ReadonlyArray<EntityId>) =>
          apply([
            CatalogChange.SetGallery({
              entityId: variant,
              entries: media.map((mediaId) => ({ mediaId, storeIds: [shop.id] }))
            })
          ])
        const accept = (entityId: EntityId) => apply([CatalogChange.AcceptPublish({ entityId, storeId: shop.id })])
        const changes = Effect.map(ask(`/entity/review?id=${variant}`, { cookie }), textOf)
        yield* Effect.forEach([product, front, back, variant], accept)
        yield* show(front)
        assert.include(yield* changes, "Field Live New value Picture empty Seen from the front Publish to")
        yield* accept(variant)
        yield* show(back, front)
        assert.include(yield* changes, "Picture Seen from the front Seen from &lt;behind> Publish to")
        yield* show()
        assert.include(yield* changes, "Picture Seen from the front empty Publish to")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("names the pictures that a gallery loses and gets, at most ten of each", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop } = yield* aMerchant
      yield* Effect.gen(function* () {
        const { apply } = yield* CatalogChanges
        const on = [shop]
        const product = yield* anEntity("product", { title: "Lamp" }, { on })
        const picture = (alt: string) => anEntity("media", { alt, url: `https://cdn.example/${alt}.png` }, { on })
        const [front, back] = [yield* picture("Front"), yield* picture("Behind")]
        const many = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, index) => `Side ${index + 1}`),
          picture
        )
        const show = (...media: ReadonlyArray<EntityId>) =>
          apply([
            CatalogChange.SetGallery({
              entityId: product,
              entries: media.map((mediaId) => ({ mediaId, storeIds: [shop.id] }))
            })
          ])
        const changes = Effect.map(ask(`/entity/review?id=${product}`, { cookie }), textOf)
        yield* show(front)
        yield* apply([CatalogChange.AcceptPublish({ entityId: product, storeId: shop.id })])
        yield* show(back)
        assert.include(yield* changes, "Gallery 1 entry Taken out: Front 1 entry Added: Behind ")
        yield* show(front, back)
        assert.include(yield* changes, "Gallery 1 entry 2 entries Added: Behind ")
        yield* show()
        assert.include(yield* changes, "Gallery 1 entry Taken out: Front 0 entries ")
        yield* show(...many)
        const ten = many.slice(0, 10).map((_, index) => `Side ${index + 1}`)
        assert.include(
          yield* changes,
          `Gallery 1 entry Taken out: Front 12 entries Added: ${ten.join(" ")} and 2 more `
        )
        yield* apply([CatalogChange.AcceptPublish({ entityId: product, storeId: shop.id })])
        yield* show(...[...many].reverse())
        assert.include(yield* changes, "Gallery 12 entries 12 entries in another order ")
      }).pipe(actingAs(actor))
    })
  )

  it.effect("is followed by the reason why a publish waits, on the page of the entity", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove } = yield* aDraft
      const on = { entityId: stove, storeId: shop.id }
      const cause = "The store's platform cannot be reached: it did not answer in time."
      const error = { code: "PUBLISH_DELAYED", message: `${cause} The publish is tried again for up to 24 hours.` }
      const apply = (...changes: ReadonlyArray<CatalogChange>) =>
        Effect.flatMap(CatalogChanges, (service) => service.apply(changes)).pipe(actingAs(actor))
      const textOfPage = Effect.map(ask(`/entity?id=${stove}`, { cookie }), textOf)
      const now = `aria-label="Try again now: ${shop.domain}">Try again now</button>`
      yield* apply(CatalogChange.DelayPublish({ ...on, error }))
      assert.notInclude(yield* textOfPage, "waits.", "no publish is pending")
      yield* apply(CatalogChange.RequestPublish(on), CatalogChange.DelayPublish({ ...on, error }))
      assert.include(yield* textOfPage, `The publish to Tarn &amp; Tern waits. ${error.message} Try again now`)
      // The button is beside the reason, and in the table of the stores.
      assert.lengthOf((yield* ask(`/entity?id=${stove}`, { cookie })).text.split(now), 3)
      const listed = Effect.map(ask("/products?search=stove", { cookie }), textOf)
      for (const shown of [yield* textOfPage, yield* listed]) assert.include(shown, "Waiting for the store")
      // Its button cancels the publish.
      const page = yield* ask(`/entity?id=${stove}`, { cookie })
      assert.include(page.text, `name="cancel" value="yes" aria-label="Cancel the publish to ${shop.domain}"`)
      const form = { ...sectionsOf(page.text, "/entity/publish").hidden, cancel: "yes" }
      const refused = yield* ask("/entity/publish", { cookie, form })
      assertWholePage(refused, 400)
      assert.strictEqual(
        alertIn(refused.text),
        `The publish to ${shop.domain} is not cancelled: no publish to this store waits: there is nothing to cancel.`
      )
      yield* Effect.flatMap(Publishing, ({ request }) => request(stove, shop.id)).pipe(actingAs(actor))
      const ended = yield* ask("/entity/publish", { cookie, form })
      const location = ended.headers.get("location") ?? ""
      assert.strictEqual(location, `/entity?id=${stove}&note=publish-cancelled&store_id=${shop.id}`)
      const shown = textOf(yield* ask(location, { cookie: withNote(cookie, location) }))
      assert.include(
        shown,
        `The publish to ${shop.domain} is cancelled: nothing was sent. Its changes stay in the draft.`
      )
      assert.include(shown, "Publish cancelled before it was sent")
      const second = yield* ask("/entity/publish", { cookie, form })
      assert.deepStrictEqual([second.status, second.headers.get("location")], [303, location], "a second click")
      assert.notInclude(shown, "waits.")
      yield* apply(CatalogChange.AcceptPublish(on))
      assert.notInclude(yield* textOfPage, "waits.")
      assert.notInclude(yield* listed, "Waiting for the store")
      // The values of a drop do not stay in the draft.
      const ofDrop = { dropId: yield* mintId(DropId), isTakenBack: true }
      yield* Effect.flatMap(Publishing, (service) =>
        service.requestValues(stove, shop.id, { title: "Sale" }, ofDrop)
      ).pipe(actingAs(actor))
      const to = (yield* ask("/entity/publish", { cookie, form })).headers.get("location") ?? ""
      assert.strictEqual(to, `/entity?id=${stove}&note=drop-publish-cancelled&store_id=${shop.id}`)
      assert.include(
        textOf(yield* ask(to, { cookie: withNote(cookie, to) })),
        `The publish to ${shop.domain} is cancelled: nothing was sent. The drop that requested it takes its values out of the draft.`
      )
    })
  )

  it.effect("is followed by the reason why a publish waits that was not tried yet", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove } = yield* aDraft
      const sql = yield* SqlClient.SqlClient
      const shown = Effect.map(ask(`/entity?id=${stove}`, { cookie }), textOf)
      const listed = Effect.map(ask("/products?search=stove", { cookie }), textOf)
      yield* Effect.flatMap(Publishing, ({ request }) => request(stove, shop.id)).pipe(actingAs(actor))
      for (const text of [yield* shown, yield* listed]) {
        assert.include(text, "Publishing")
        assert.notInclude(text, "Waiting for the store")
      }
      const error = { code: "PUBLISH_DELAYED", message: "The store's platform took too long." }
      yield* sql`
        UPDATE store SET outage_met_by = ${nilUuid}, outage_error = ${JSON.stringify(error)}::jsonb WHERE id = ${shop.id}`
      assert.include(yield* shown, `The publish to Tarn &amp; Tern waits. ${error.message} Try again now`)
      for (const text of [yield* shown, yield* listed]) assert.include(text, "Waiting for the store")
      yield* sql`UPDATE store SET outage_met_by = NULL WHERE id = ${shop.id}`
      for (const text of [yield* shown, yield* listed]) assert.notInclude(text, "Waiting for the store")
    })
  )

  it.effect("says why a store cannot be published to; other accounts cannot open the review", () =>
    Effect.gen(function* () {
      const merchant = yield* aDraft
      const { actor, cookie, files, shop, stove } = merchant
      const lamp = yield* anEntity("product", { title: "Lamp" }, { on: [shop, files] }).pipe(actingAs(actor))
      const bulb = yield* anEntity("variant", { title: "Bulb" }, { on: [shop], of: lamp }).pipe(actingAs(actor))
      const review = yield* ask(`/entity/review?id=${bulb}`, { cookie })
      const why = `its product ${lamp} is not live on this store: publish the product first.`
      assert.include(textOf(review), `Tarn &amp; Tern Cannot be published: ${why} Back`)
      const { hidden } = sectionsOf(review.text, "/entity/review")
      const refused = yield* post(cookie, { ...hidden, [`to-${shop.id}`]: "yes" })
      assertWholePage(refused, 400)
      assert.strictEqual(alertIn(refused.text), `Nothing was published to Tarn &amp; Tern: ${why}`)
      const stranger = yield* aMerchant
      for (const id of [stranger.stove, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x", ""]) {
        assertNotThere(yield* ask(`/entity/review?id=${id}`, { cookie }))
        assertNotThere(yield* post(cookie, { ...hidden, id, [`to-${shop.id}`]: "yes" }))
      }
      for (const store of [files.id, stranger.shop.id, "x"])
        assertNotThere(yield* post(cookie, { ...hidden, [`to-${store}`]: "yes" }))
      const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
      assertForeignForm(yield* post(cookie, { ...hidden, csrf: theirs, [`to-${shop.id}`]: "yes" }))
      for (const draft_revision of ["", "two"])
        assert.strictEqual((yield* post(cookie, { ...hidden, draft_revision })).status, 400)
      // A failed publish can be retried on the page that shows it.
      yield* aFailure(merchant)
      const failed = yield* ask(`/entity?id=${stove}`, { cookie })
      assert.include(
        failed.text,
        '<div class="failure"><p><strong><bdi>Tarn &amp; Tern</bdi> did not accept the last publish.</strong>'
      )
      const retry = yield* ask("/entity/publish", { cookie, form: sectionsOf(failed.text, "/entity/publish").hidden })
      assert.strictEqual(retry.headers.get("location"), `/entity?id=${stove}&note=requested&store_id=${shop.id}`)
      yield* aReview(merchant)
      const revision = /Revision (?:<!-- -->)?(\d+)/.exec(failed.text)?.[1] ?? ""
      const current = { ...hidden, id: stove, draft_revision: revision }
      assertRefusal(yield* post(cookie, { ...current, [`to-${shop.id}`]: "yes" }), 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: ["/imports", "To the imports"]
      })
    })
  )
})
