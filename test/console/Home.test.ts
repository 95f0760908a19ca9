import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobId } from "../../src/model/Ids.ts"
import { actingAs } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, aUser, PagesServer } from "../oauth/PagesServer.ts"
import { aFailure, aMerchant, aReview, assertPage, textOf } from "./Merchant.ts"

layer(PagesServer, { excludeTestServices: true })("the start page", (it) => {
  it.effect("lists the first steps until there are stores and products", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const text = textOf(yield* assertPage("/", cookie))
      assert.match(text, /^Home First steps Link a store\. .* Needs you Nothing at the moment\.$/)
      const merchant = yield* aMerchant
      assert.notInclude(textOf(yield* ask("/", { cookie: merchant.cookie })), "First steps")
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
        /^Home Needs you 1 failed to publish to Tarn &amp; Tern 1 time: The demo shop was told to refuse: .* Retry all on Tarn &amp; Tern Stores files\.example USD, en\. Never refreshed Files only Tarn &amp; Tern EUR, en\. Refreshed just now 1 failed on Tarn &amp; Tern 1 to publish on Tarn &amp; Tern$/
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
    })
  )

  it.effect("asks for the decisions of an import that locks the account", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const id = yield* aReview(merchant)
      const page = yield* assertPage("/", merchant.cookie)
      assert.include(textOf(page), "3 conflicts in: Refresh of tarn.demo.example")
      assert.include(page.text, `<a href="/import?id=${id}">Decide</a>`)
    })
  )
})
