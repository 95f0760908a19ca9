import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { actingAs, anEntity } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, assertAccessible, assertNoComplaints, openWindow } from "./PlaywrightBrowser.ts"

const count = 27

/** A lamp with more variants than a page shows, on two stores. */
const aLamp = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, files, shop } = merchant
  return yield* Effect.gen(function* () {
    const options = JSON.stringify([
      { name: "Glow", values: ["Warm"] },
      { name: "Number", values: Array.from({ length: count }, (_, n) => `${n + 1}`) }
    ])
    const lamp = yield* anEntity("product", { title: "Lamp", options }, { on: [shop, files] })
    yield* Effect.forEach(Array.from({ length: count }), (_, n) =>
      anEntity(
        "variant",
        { title: `Warm / ${n + 1}`, option1: "Warm", option2: `${n + 1}`, sku: `LAMP-${n + 1}`, price: "12.50" },
        { on: n === 1 ? [shop] : [shop, files], of: lamp }
      )
    )
    return { ...merchant, lamp }
  }).pipe(actingAs(actor))
})

const openAs = (cookie: string, entity: string, options: { readonly javaScriptEnabled?: boolean } = {}) =>
  Effect.gen(function* () {
    const window = yield* openWindow(yield* aBrowserProgram, options)
    const base = yield* BaseUrl
    const [name = "", value = ""] = cookie.split("=")
    yield* Effect.promise(() => window.page.context().addCookies([{ name, value, url: base }]))
    yield* Effect.promise(() => window.page.goto(`${base}/entity?id=${entity}`))
    return { ...window, base }
  })

describe.skipIf(!chromiumIsThere)("the variants of a product in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("are edited by the keyboard alone, and by the mouse on a phone without JavaScript", () =>
      Effect.gen(function* () {
        const { cookie, lamp } = yield* aLamp
        const { complaints, page } = yield* openAs(cookie, lamp)
        const focused = () => page.evaluate("document.activeElement?.textContent?.trim() ?? ''")
        yield* Effect.promise(async () => {
          await page.setViewportSize({ width: 1_280, height: 900 })
          const table = page.getByRole("grid", { name: /^Variants/ })
          await page.getByRole("link", { name: "Edit Price, Warm / 1, Tarn & Tern" }).focus()
          for (const [key, name] of [
            ["ArrowDown", "Edit Price, Warm / 2, Tarn & Tern"],
            ["ArrowLeft", "Edit Price, Warm / 2, Catalog"],
            ["Home", "Edit Glow, Warm / 2, Catalog"],
            ["Control+Home", "Edit Glow, Warm / 1, Catalog"],
            ["End", "Edit Price, Warm / 1, Tarn & Tern"]
          ] as const) {
            await page.keyboard.press(key)
            assert.strictEqual(await focused(), name, key)
          }
          await page.keyboard.press("F2")
          const first = page.getByRole("textbox", { name: "Price, Warm / 1, Tarn & Tern" })
          await first.waitFor()
          await first.fill("9.75")
          await page.keyboard.press("Tab")
          await page.getByRole("textbox", { name: "Price, Warm / 2, Tarn & Tern" }).waitFor()
          assert.match(String(await table.textContent()), /EUR\s9\.75Own value/)
          // While the next cell is edited, the button Undo of the saved cell can still be used.
          await page.getByRole("button", { name: "Undo: Price, Warm / 1, Tarn & Tern" }).press("Enter")
          await page.getByText("has its earlier value again").waitFor()
          assert.notInclude(String(await table.textContent()), "9.75")
          await page.getByRole("link", { name: "Next 2" }).click()
          await page.getByText("26 to 27 of 27").waitFor()
          await page.getByRole("link", { name: "Edit SKU, Warm / 27, Catalog" }).click()
          const sku = page.getByRole("textbox", { name: "SKU, Warm / 27, Catalog" })
          await sku.waitFor()
          await sku.fill("LAMP-XL")
          await page.keyboard.press("Enter")
          await page.getByText("saved as a draft.").waitFor()
          assert.include(String(await table.textContent()), "LAMP-XL")
        })
        assertNoComplaints(complaints)
        const phone = yield* openAs(cookie, lamp, { javaScriptEnabled: false })
        yield* Effect.promise(async () => {
          const { page } = phone
          await page.setViewportSize({ width: 390, height: 800 })
          const price = page.getByRole("link", { name: "Edit Price, Warm / 1, Tarn & Tern" })
          assert.isFalse(await price.isVisible())
          await page.getByRole("navigation", { name: "Store" }).getByRole("link", { name: "Tarn & Tern" }).click()
          await price.click()
          const typed = page.getByRole("textbox", { name: "Price, Warm / 1, Tarn & Tern" })
          await typed.fill("many")
          await page.keyboard.press("Enter")
          assert.match(String(await page.getByRole("alert").textContent()), /^This value must be a decimal number/)
          assert.strictEqual(await typed.inputValue(), "many")
          await typed.fill("8.00")
          await page.keyboard.press("Enter")
          assert.match(String(await page.getByRole("status").first().textContent()), /saved as a draft\.$/)
          assert.isTrue(await page.getByText("EUR 8.00").isVisible())
        })
      })
    )

    it.scoped("are accessible, closed, open and refused", () =>
      Effect.gen(function* () {
        const { cookie, lamp, shop } = yield* aLamp
        const { complaints, page } = yield* openAs(cookie, lamp)
        yield* Effect.promise(async () => {
          await assertAccessible(page, "variants")
          await page.getByRole("link", { name: "Edit Price, Warm / 3, Catalog" }).click()
          const price = page.getByRole("textbox", { name: "Price, Warm / 3, Catalog" })
          await price.waitFor()
          await assertAccessible(page, "variants-edit")
          await price.fill("many")
          await page.getByRole("button", { name: "Save draft" }).click()
          await page.getByRole("alert").waitFor()
          await assertAccessible(page, "variants-refused")
          assert.isString(shop.id)
        })
        assertNoComplaints(complaints, 400)
      })
    )
  })
})
