import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { aFailure, aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

const sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

describe.skipIf(!chromiumIsThere)("the pages in Arabic on a phone", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    for (const width of [390, 320])
      it.scoped(`a merchant chooses Arabic, finds a product and edits it, ${width} px wide`, () =>
        Effect.gen(function* () {
          const merchant = yield* aMerchant
          yield* aFailure(merchant)
          const { base, complaints, page } = yield* openSignedIn(merchant.cookie, { viewport: { width, height: 800 } })
          yield* Effect.promise(async () => {
            const look = async (title: string) => {
              await assertAccessible(page, `arabic-${title}-${width}`)
              await page.setViewportSize({ width, height: 800 })
              assert.strictEqual(await page.evaluate(sideways), 0, title)
              assert.strictEqual(await page.evaluate("getComputedStyle(document.body).direction"), "rtl")
            }
            await page.goto(`${base}/settings/profile`)
            await page.getByLabel("Language").selectOption("ar")
            await page.getByRole("button", { name: "Save", exact: true }).click()
            await page.getByText("تم الحفظ.").waitFor()
            await look("profile")
            await page.getByRole("button", { name: "القائمة" }).click()
            await page.getByRole("link", { name: "الرئيسية" }).click()
            await page.getByRole("heading", { name: "بحاجة إليك" }).waitFor()
            await look("home")
            await page.getByRole("button", { name: "القائمة" }).click()
            await page.getByRole("link", { name: "المنتجات", exact: true }).click()
            await page.getByRole("link", { name: "The tent" }).waitFor()
            await look("products")
            await page.getByRole("link", { name: "The tent" }).click()
            await page.getByRole("heading", { level: 1, name: "The tent" }).waitFor()
            await look("product")
            await page
              .getByRole("link", { name: /^تعديل .*العنوان/ })
              .first()
              .click()
            await page.getByRole("button", { name: "حفظ المسودة" }).waitFor()
            await look("cell")
            await page.getByRole("button", { name: "حفظ المسودة" }).click()
            await page.getByRole("heading", { level: 1, name: "The tent" }).waitFor()
          })
          assertNoComplaints(complaints)
        })
      )
  })
})
