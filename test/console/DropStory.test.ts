import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Drops } from "../../src/drops/Drops.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { actingAs } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, PagesServer } from "../oauth/PagesServer.ts"
import { aMerchant, csrfOf, entityNamed, textOf } from "./Merchant.ts"
import { assertPage } from "./WholePage.ts"

layer(PagesServer, { excludeTestServices: true })("a drop of 20 % off on a collection", (it) => {
  it.effect("lists each price before and after, and is scheduled as reviewed", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { actor, cookie, shop } = merchant
      const camp = yield* entityNamed("collection", "Camp").pipe(actingAs(actor))
      // The link on the page of the collection chooses it with its products.
      const opened = yield* ask(`/drops/new?store_id=${shop.id}&entity=${camp}`, { cookie })
      assertPage(opened)
      assert.include(opened.text, `<input type="checkbox" name="thing-${camp}" value="yes" checked/>`)
      assert.include(opened.text, `<input type="checkbox" name="members-${camp}" value="yes" checked/>`)
      const csrf = csrfOf(opened)
      const form = {
        csrf,
        do: "review",
        name: "Camp weekend",
        store_id: shop.id,
        zone: "Europe/Berlin",
        starts: "2998-12-05T00:00",
        ends: "2998-12-07T00:00",
        [`thing-${camp}`]: "yes",
        [`members-${camp}`]: "yes",
        percent: "20",
        old_price: "yes"
      }
      const review = yield* ask("/drops/new", { cookie, form })
      assertPage(review)
      assert.strictEqual(
        textOf(review),
        [
          "Review: Camp weekend",
          "Store Tarn &amp; Tern",
          "Starts Wed, 5 Dec 2998, 00:00 Europe/Berlin , 4 Dec, 23:00 UTC",
          "Ends Fri, 7 Dec 2998, 00:00 Europe/Berlin , 6 Dec, 23:00 UTC",
          "Changes 6 changes of 3 items",
          "The new prices are calculated now. Later price changes do not affect them. If another drop has changed a price, the price after its end counts.",
          "Changes of the drop What Price EUR Compare-at price EUR",
          ...["The stove: One", "The tent: M", "The tent: S"].map(
            (thing) => `${thing} Now: 10.00 In the drop: 8.00 Now: empty In the drop: 10.00`
          ),
          "Schedule the drop Back to the form"
        ].join(" ")
      )
      const { hidden } = sectionsOf(review.text, "/drops")
      const back = yield* ask("/drops/new", { cookie, form: { ...hidden, do: "edit" } })
      assertPage(back)
      for (const kept of ['value="Camp weekend"', 'value="2998-12-05T00:00"', 'value="20"', "Chosen: 3 items"])
        assert.include(back.text, kept)

      // The form was reviewed with other values.
      const outdated = yield* ask("/drops", { cookie, form: { ...hidden, seen: "x" } })
      assertPage(outdated, 409)
      assert.include(
        outdated.text,
        "<p>Values have changed since you opened the review, so nothing was scheduled. These are the changes now.</p>"
      )
      const sent = yield* ask("/drops", { cookie, form: sectionsOf(outdated.text, "/drops").hidden })
      assert.strictEqual(sent.status, 303, sent.text)
      const [drop, ...others] = yield* Effect.flatMap(Drops, ({ list }) => list).pipe(actingAs(actor))
      assert.lengthOf(others, 0)
      assert.deepInclude(drop, {
        name: "Camp weekend",
        starts_at: Timestamp.make("2998-12-04T23:00:00.000000Z"),
        ends_at: Timestamp.make("2998-12-06T23:00:00.000000Z"),
        timezone: "Europe/Berlin"
      })
      assert.deepStrictEqual(
        drop?.changes.map(({ field, store_id, value }) => [field, store_id === shop.id, value]),
        Array.from({ length: 3 }, () => [
          ["price", true, "8.00"],
          ["compare_at_price", true, "10.00"]
        ]).flat()
      )

      // The product of the variants has a banner. The collection, which the drop does not change, has none.
      const bannerOf = (id: string) =>
        Effect.map(ask(`/entity?id=${id}`, { cookie }), (page) => {
          assertPage(page)
          return /<div class="drop-banner".*?<\/div>/.exec(page.text)?.[0]
        })
      const banner = (things: string) =>
        `<li><span class="state wait">Scheduled</span> <a href="/drops/${drop?.id}"><bdi>Camp weekend</bdi></a> changes Compare-at price and Price of ${things} from <time datetime="2998-12-04T23:00:00.000000Z">Wed, 5 Dec 2998, 00:00</time> to <time datetime="2998-12-06T23:00:00.000000Z">Fri, 7 Dec 2998, 00:00</time> <bdi class="zone-name">(Europe/Berlin)</bdi></li>`
      assert.include(yield* bannerOf(merchant.tent), banner("2 items"))
      assert.include(yield* bannerOf(merchant.stove), banner("1 item"))
      assert.isUndefined(yield* bannerOf(camp))
    })
  )
})
