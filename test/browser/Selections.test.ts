import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { DataHealth } from "../../src/health/DataHealth.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

const count = 4

/** A merchant with four products that wait for their first publish to the shop, four that failed, and four media files. */
const aFullShop = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, shop } = merchant
  const names = Array.from({ length: count }, (_, n) => n + 1)
  yield* Effect.gen(function* () {
    yield* Effect.forEach(names, (n) => anEntity("product", { title: `Waiting ${n}` }, { on: [shop] }))
    yield* Effect.forEach(names, (n) => anEntity("media", { alt: `Lantern ${n}` }))
    const failed = yield* Effect.forEach(names, (n) => anEntity("product", { title: `Failed ${n}` }, { on: [shop] }))
    yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
      apply(
        failed.flatMap((entityId) => [
          CatalogChange.RequestPublish({ entityId, storeId: shop.id }),
          CatalogChange.RefusePublish({
            entityId,
            storeId: shop.id,
            error: { code: "refused", message: "Handle is taken" }
          })
        ])
      )
    )
    yield* Effect.flatMap(DataHealth, (health) => health.scan("sync"))
  }).pipe(actingAs(actor), Effect.orDie)
  return merchant
})

/** The lists besides products. `path` gets the store's id; `words`: the names of its rows. */
const lists = [
  {
    name: "unpublished drafts",
    path: (store: string) => `/stores/publish?id=${store}`,
    checkboxes: "publish-",
    button: "Publish the selected",
    publishes: true
  },
  {
    name: "failed publishes",
    path: () => "/data-health/issues?section=sync-failed",
    checkboxes: "retry-",
    button: "Retry the selected",
    publishes: true
  },
  {
    name: "media",
    path: () => "/media?search=lantern",
    checkboxes: "publish-",
    button: "Set a field",
    publishes: false
  }
] as const

describe.skipIf(!chromiumIsThere)("selections in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    for (const { button, checkboxes, name, path, publishes } of lists)
      it.scoped(`all rows of ${name} are selected, by mouse and by keyboard, also on a phone`, () =>
        Effect.gen(function* () {
          const { actor, cookie, shop } = yield* aFullShop
          const { base, complaints, page } = yield* openSignedIn(cookie)
          const rows = page.locator(`input[type=checkbox][name^="${checkboxes}"]`)
          const said = (words: string) => page.getByRole("status").getByText(words, { exact: true }).waitFor()
          const all = yield* Effect.promise(async () => {
            await page.goto(base + path(shop.id))
            const number = await rows.count()
            assert.isAtLeast(number, count)
            return number
          })
          const choice = page.getByRole("checkbox", { name: `Select all ${all}` })
          yield* Effect.promise(async () => {
            for (const width of [1_280, 390]) {
              await page.setViewportSize({ width, height: 800 })
              await page.goto(base + path(shop.id))
              await choice.check()
              await said(`${all} of ${all} selected`)
              assert.strictEqual(await rows.and(page.locator(":checked")).count(), all, `${width}`)
              await choice.focus()
              await page.keyboard.press("Space")
              assert.strictEqual(await rows.and(page.locator(":checked")).count(), 0, `${width}`)
              // A range by the Shift key.
              await rows.nth(2).click()
              await rows.nth(0).click({ modifiers: ["Shift"] })
              await said(`3 of ${all} selected`)
              const overflow = await page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
              )
              assert.strictEqual(overflow, 0, `${width}`)
            }
            await assertAccessible(page, `selection-${name.replaceAll(" ", "-")}`)
            await choice.check()
            await rows.first().uncheck()
            await said(`${all - 1} of ${all} selected`)
            await page.getByRole("button", { name: button }).click()
            await page.waitForURL(publishes ? /\/jobs\// : /\/selection/)
          })
          if (publishes) {
            const [job] = yield* Effect.flatMap(Jobs, ({ list }) => list).pipe(actingAs(actor))
            assert.deepInclude(job, { kind: "publish_selected", total: all - 1 })
          } else
            yield* Effect.promise(async () => {
              const chosen = page.getByRole("radio", { name: `The ${all - 1} media files that you selected` })
              assert.isTrue(await chosen.isChecked())
            })
          assertNoComplaints(complaints)
        })
      )
  })
})
