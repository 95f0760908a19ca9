import { describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, assertAccessible, assertNoComplaints, openWindow } from "./PlaywrightBrowser.ts"

/** Types a text into the field that has the focus, and goes on to the next. */
const typeIn = async (page: Page, text: string) => {
  await page.keyboard.type(text)
  await page.keyboard.press("Tab")
}

describe.skipIf(!chromiumIsThere)("a new product in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("is created with a second variant and a picture, by the keyboard", () =>
      Effect.gen(function* () {
        const { cookie } = yield* aMerchant
        const { complaints, page } = yield* openWindow(yield* aBrowserProgram)
        const base = yield* BaseUrl
        const [name = "", value = ""] = cookie.split("=")
        yield* Effect.promise(async () => {
          await page.context().addCookies([{ name, value, url: base }])
          await page.goto(`${base}/products`)
          await page.getByRole("link", { name: "New product" }).press("Enter")
          await page.waitForURL(`${base}/products/new`)
          await assertAccessible(page, "product-new")
          await page.locator("[name=title]:focus").waitFor()
          for (const text of ["Lantern", "Tern", "Lamps", "L-1"]) await typeIn(page, text)
          await page.keyboard.type("ten")
          await page.keyboard.press("Enter")
          await page.getByText("Price: must be a decimal number").waitFor()
          await page.locator("[name=price]:focus").waitFor()
          await assertAccessible(page, "product-new-refused")
          await page.getByLabel("Price").fill("19.90")
          await page.keyboard.press("Enter")
          await page.getByText("Created as a draft.").waitFor()
          await page.getByRole("link", { name: "Add a variant" }).press("Enter")
          await page.waitForURL(`${base}/variants/new?**`)
          await assertAccessible(page, "variant-new")
          for (const text of ["Size", "Small", "Large"]) await typeIn(page, text)
          await page.keyboard.type("L-2")
          await page.keyboard.press("Enter")
          await page.getByText("The variant is created as a draft.").waitFor()
          await page.getByRole("rowheader", { name: "Large" }).waitFor()
          await page.getByRole("link", { name: "Add pictures" }).press("Enter")
          await page.getByRole("link", { name: "From an address" }).press("Enter")
          await page.waitForURL(`${base}/media/new?**`)
          await assertAccessible(page, "media-new")
          await typeIn(page, "https://cdn.example/lantern.png")
          await page.keyboard.type("A lantern")
          await page.keyboard.press("Enter")
          await page.getByText("A lantern is in the gallery now: saved as a draft.").waitFor()
        })
        assertNoComplaints(complaints, 400, 404, 502)
      })
    )

    it.scoped("comes into a new collection, without JavaScript on a phone", () =>
      Effect.gen(function* () {
        const { cookie } = yield* aMerchant
        const { complaints, page } = yield* openWindow(yield* aBrowserProgram, { javaScriptEnabled: false })
        const base = yield* BaseUrl
        const [name = "", value = ""] = cookie.split("=")
        yield* Effect.promise(async () => {
          await page.context().addCookies([{ name, value, url: base }])
          await page.setViewportSize({ width: 390, height: 800 })
          await page.goto(`${base}/collections/new`)
          await page.getByLabel("Title").fill("Summer")
          await page.getByRole("button", { name: "Create the collection" }).click()
          await page.getByText("Created as a draft.").waitFor()
          await page.getByRole("link", { name: "Change its products" }).click()
          await page.getByRole("searchbox", { name: "Search products" }).last().fill("stove")
          await page.getByRole("button", { name: "Search" }).last().click()
          await page.waitForURL(`${base}/collections/products?**search=stove`)
          await page.getByRole("checkbox", { name: "The stove" }).check()
          await page.getByRole("button", { name: "Add the selected" }).click()
          await page.getByText("The products were added to the draft of the collection.").waitFor()
          const inside = page.getByRole("region", { name: "In the collection 1 product" })
          await inside.getByRole("checkbox", { name: "The stove" }).waitFor()
        })
        assertNoComplaints(complaints)
        const withScripts = yield* openWindow(yield* aBrowserProgram)
        yield* Effect.promise(async () => {
          await withScripts.page.context().addCookies([{ name, value, url: base }])
          await withScripts.page.goto(page.url().split("&")[0] ?? "")
          await assertAccessible(withScripts.page, "collection-products")
        })
      })
    )
  })
})
