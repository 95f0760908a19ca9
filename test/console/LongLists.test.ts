import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { MaxListedIds } from "../../src/catalog/MerchantLists.ts"
import { DemoFailures } from "../../src/demo/DemoFailures.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, ask, PagesServer } from "../oauth/PagesServer.ts"
import { aMerchant, csrfOf, textOf } from "./Merchant.ts"

const quiet = () => Effect.void

/** A request reads at most one id, so that two products are a long list. */
const ShortIds = PagesServer.pipe(Layer.provide(Layer.succeed(MaxListedIds, 1)))

const jobOf = ({ headers, status, text }: Answer) => {
  assert.strictEqual(status, 303, text)
  return JobId.make(String(headers.get("location")).replace("/jobs/", ""))
}

layer(ShortIds, { excludeTestServices: true })("actions on lists that are longer than a request reads", (it) => {
  it.effect(
    "a field is set on all that the filters find: the review counts and names them, the job collects them",
    () =>
      Effect.gen(function* () {
        const { actor, cookie, stove, tent } = yield* aMerchant
        const csrf = csrfOf(yield* ask("/products", { cookie }))
        const set = (form: Readonly<Record<string, string>>) =>
          ask("/selection/field", { cookie, form: { csrf, list: "product", query: "", of: "all", ...form } })
        const review = yield* set({ do: "review", key: "vendor", store_id: "", value: "Kelp" })
        assert.strictEqual(review.status, 200)
        assert.match(textOf(review), /Changes 2 products The (tent|stove) The (tent|stove) They are changed as drafts/)
        const { hidden } = sectionsOf(review.text, "/selection/field")
        const outdated = yield* set({ ...hidden, seen: "3", do: "begin" })
        assert.strictEqual(outdated.status, 409)
        assert.include(
          textOf(outdated),
          "Nothing was changed: the filters now find 2 products. Check the review again."
        )
        const id = jobOf(yield* set({ ...hidden, do: "begin" }))
        assert.strictEqual(jobOf(yield* set({ ...hidden, do: "begin" })), id)
        const job = Option.getOrThrow(
          yield* Effect.flatMap(JobWorker, ({ settle }) => settle(id, quiet)).pipe(actingAs(actor))
        )
        assert.deepInclude(job, {
          title: "Set vendor of 2 products",
          state: "done",
          done: 2,
          total: 2,
          result: { changed: 2, unchanged: 0, refused: 0 }
        })
        for (const each of [tent, stove]) {
          const { attributes } = yield* Effect.flatMap(Drafts, ({ get }) => get(each, null)).pipe(actingAs(actor))
          assert.strictEqual(attributes.find(({ key }) => key === "vendor")?.value, "Kelp")
        }
      })
  )

  it.effect("all that failed is retried, and all that a list finds is published", () =>
    Effect.gen(function* () {
      const { actor, cookie, shop, stove, tent } = yield* aMerchant
      yield* Effect.gen(function* () {
        const failures = yield* DemoFailures
        const publishing = yield* Publishing
        yield* (yield* CatalogChanges).apply(
          [tent, stove].map((entityId) => CatalogChange.SetAttributes({ entityId, values: { vendor: "Kelp" } }))
        )
        yield* failures.fail(shop.domain, { kind: "refuse", percent: 100, delayMillis: 0 })
        for (const each of [tent, stove]) {
          const asked = yield* publishing.request(each, shop.id)
          assert(asked.outcome === "requested")
          yield* publishing.settle([asked.publicationId], quiet)
        }
        yield* failures.repair(shop.domain)
      }).pipe(actingAs(actor))
      const finish = (id: JobId) =>
        Effect.raceFirst(
          Effect.flatMap(JobWorker, ({ settle }) => settle(id, quiet)),
          Effect.flatMap(Publishing, ({ work }) => work)
        ).pipe(actingAs(actor), Effect.map(Option.getOrThrow))
      const { hidden } = sectionsOf((yield* ask("/", { cookie })).text, "/stores/publish-selected")
      const retry = jobOf(yield* ask("/stores/publish-selected", { cookie, form: hidden }))
      assert.deepInclude(yield* Effect.flatMap(Jobs, ({ get }) => get(retry)).pipe(actingAs(actor)), {
        kind: "publish_selected",
        title: `Publish 2 selected to ${shop.domain}`,
        total: 2
      })
      assert.deepInclude(yield* finish(retry), { state: "done", done: 2, total: 2, error_count: 0 })

      yield* (yield* CatalogChanges)
        .apply([tent, stove].map((entityId) => CatalogChange.SetAttributes({ entityId, values: { vendor: "Tern" } })))
        .pipe(actingAs(actor))
      const csrf = csrfOf(yield* ask("/products", { cookie }))
      const publish = (form: Readonly<Record<string, string>>) =>
        ask("/selection/publish", {
          cookie,
          form: { csrf, list: "product", query: "", of: "all", store_id: shop.id, ...form }
        })
      const review = yield* publish({ do: "review" })
      assert.include(textOf(review), "Publishes 2 products")
      const published = jobOf(yield* publish({ ...sectionsOf(review.text, "/selection/publish").hidden, do: "begin" }))
      assert.deepInclude(yield* finish(published), { state: "done", done: 2, result: { requested: 2, refused: 0 } })
    })
  )
})
