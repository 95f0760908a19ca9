import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { actingAs, anEntity, Drafts } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn, waitForFocus } from "./PlaywrightBrowser.ts"

const titles = ["Axe", "Bag", "Cup", "Dip"]

/** A product with four variants, and a collection with four products. */
const anOrder = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, shop } = merchant
  return yield* Effect.gen(function* () {
    const options = JSON.stringify([{ name: "Kind", values: titles }])
    const lamp = yield* anEntity("product", { title: "Lamp", options }, { on: [shop] })
    yield* Effect.forEach(titles, (title) =>
      anEntity("variant", { title, option1: title, price: "1" }, { of: lamp, on: [shop] })
    )
    const collection = yield* anEntity("collection", { title: "Summer", sort_order: "created" }, { on: [shop] })
    const products = yield* Effect.forEach(titles, (title) => anEntity("product", { title }))
    yield* (yield* Drafts).changeMembers(collection, products, [])
    return { ...merchant, lamp, collection }
  }).pipe(actingAs(actor))
})

const openAs = (cookie: string, path: string, options: { readonly javaScriptEnabled?: boolean } = {}) =>
  Effect.tap(openSignedIn(cookie, options), ({ base, page }) => Effect.promise(() => page.goto(`${base}${path}`)))

/** Waits until the buttons that move items up have this order, by the first letters of the items. */
const waitForOrder = async (page: Page, letters: string) => {
  await page.waitForLoadState("load")
  const labels = await page
    .locator('button[aria-label$=" up"]')
    .evaluateAll((buttons) => buttons.map((button) => (button.getAttribute("aria-label") ?? "")["Move ".length]))
  assert.strictEqual(labels.join(""), letters)
}

const sizes = [1_280, 390] as const

/** Presses the button with this name, and waits for the page that says what it did. */
const press = async (page: Page, name: string, note: string) => {
  await page.getByRole("button", { name, exact: true }).press("Enter")
  await page.getByRole("status").filter({ hasText: note }).waitFor()
}

describe.skipIf(!chromiumIsThere)("the order of variants and products in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    for (const javaScriptEnabled of [false, true])
      it.scoped(`variants are moved by the keyboard, ${javaScriptEnabled ? "with" : "without"} JavaScript`, () =>
        Effect.gen(function* () {
          const { cookie, lamp } = yield* anOrder
          const { complaints, page } = yield* openAs(cookie, `/entity?id=${lamp}`, { javaScriptEnabled })
          yield* Effect.promise(async () => {
            for (const width of sizes) {
              await page.setViewportSize({ width, height: 900 })
              await press(page, "Move Bag up", "Bag is number 1 of 4 now: saved as a draft.")
              await waitForOrder(page, "BACD")
              // It cannot move further up, so the button is off; the other one has the focus.
              assert.isTrue(await page.getByRole("button", { name: "Move Bag up" }).isDisabled())
              await waitForFocus(page, "Move Bag down")
              await page.keyboard.press("Enter")
              await page.getByText("Bag is number 2 of 4 now").waitFor()
              await waitForFocus(page, "Move Bag down")
              await waitForOrder(page, "ABCD")
              await press(page, "Undo", "Bag is number 1 of 4 now")
              await press(page, "Undo", "Bag is number 2 of 4 now")
              await waitForFocus(page, "Undo")
              await waitForOrder(page, "ABCD")
              if (javaScriptEnabled) await assertAccessible(page, `variants-moved-${width}`)
            }
          })
          assertNoComplaints(complaints)
        })
      )

    it.scoped("a price that was typed is saved before a variant moves", () =>
      Effect.gen(function* () {
        const { cookie, lamp } = yield* anOrder
        const { complaints, page } = yield* openAs(cookie, `/entity?id=${lamp}`)
        yield* Effect.promise(async () => {
          const prices = page.getByRole("row").filter({ hasText: "Bag" }).locator("td[data-label=Price]").first()
          await prices.locator("a.edit").click()
          await prices.locator("form.cell [name=value]").fill("7.50")
          await press(page, "Move Cup up", "Cup is number 2 of 4 now")
          await waitForOrder(page, "ACBD")
          assert.include(await prices.textContent(), "7.50")
          // A price that is refused stays open, and nothing moves.
          await prices.locator("a.edit").click()
          await prices.locator("form.cell [name=value]").fill("cheap")
          await page.getByRole("button", { name: "Move Cup down", exact: true }).press("Enter")
          await page.locator("form.cell [aria-invalid=true]").waitFor()
          assert.strictEqual(await prices.locator("form.cell [name=value]").inputValue(), "cheap")
          await waitForOrder(page, "ACBD")
        })
        assertNoComplaints(complaints, 400)
      })
    )

    it.scoped("a move keeps what is ticked at that moment, also to add products", () =>
      Effect.gen(function* () {
        const { collection, cookie } = yield* anOrder
        const { complaints, page } = yield* openAs(cookie, `/collections/products?id=${collection}`)
        const box = (name: string) => page.getByRole("checkbox", { name })
        const assertTicked = async (...names: ReadonlyArray<string>) => {
          for (const name of ["Axe", "Bag", "The stove"])
            assert.strictEqual(await box(name).isChecked(), names.includes(name), name)
        }
        yield* Effect.promise(async () => {
          await page.waitForLoadState("networkidle")
          for (const name of ["Axe", "The stove"]) await box(name).check()
          await press(page, "Move Cup up", "Cup is number 2 of 4 now")
          await assertTicked("Axe", "The stove")
          await page.waitForLoadState("networkidle")
          await box("Axe").uncheck()
          await box("Bag").check()
          await page.getByRole("textbox", { name: "Position of Dip" }).fill("1")
          await page.getByRole("textbox", { name: "Position of Dip" }).press("Enter")
          await page.getByText("Dip is number 1 of 4 now").waitFor()
          await assertTicked("Bag", "The stove")
          await page.waitForLoadState("networkidle")
          await press(page, "Undo", "Dip is number 4 of 4 now")
          await assertTicked("Bag", "The stove")
          // Only the ticked products of the collection leave it.
          await page.getByRole("button", { name: "Take out the selected" }).click()
          await page.getByText("The products were taken out").waitFor()
          await waitForOrder(page, "ACD")
        })
        assertNoComplaints(complaints)
      })
    )

    for (const javaScriptEnabled of [false, true])
      it.scoped(`products are moved by the keyboard, ${javaScriptEnabled ? "with" : "without"} JavaScript`, () =>
        Effect.gen(function* () {
          const { collection, cookie } = yield* anOrder
          const path = `/collections/products?id=${collection}`
          const { complaints, page } = yield* openAs(cookie, path, { javaScriptEnabled })
          yield* Effect.promise(async () => {
            for (const width of sizes) {
              await page.setViewportSize({ width, height: 900 })
              const ticked = page.getByRole("checkbox", { name: "Axe" })
              await ticked.check()
              await press(page, "Move Cup up", "Cup is number 2 of 4 now: saved as a draft.")
              await waitForOrder(page, "ACBD")
              await waitForFocus(page, "Move Cup up")
              await press(page, "Move Cup down", "Cup is number 3 of 4 now")
              const field = page.getByRole("textbox", { name: "Position of Dip" })
              assert.strictEqual(await field.inputValue(), "4")
              await field.fill("first")
              await field.press("Enter")
              const refusal = page.getByText("The position must be a whole number from 1 to 4.")
              await refusal.waitFor()
              await waitForFocus(page, "Position of Dip")
              assert.strictEqual(await field.inputValue(), "first")
              if (javaScriptEnabled) await assertAccessible(page, `products-refused-${width}`)
              await field.fill("1")
              await field.press("Enter")
              await page.getByText("Dip is number 1 of 4 now").waitFor()
              await waitForOrder(page, "DABC")
              await waitForFocus(page, "Move Dip to this position")
              await press(page, "Undo", "Dip is number 4 of 4 now")
              await waitForOrder(page, "ABCD")
              assert.isTrue(await ticked.isChecked())
              await page.getByText("These stores sort the collection by themselves").waitFor()
              if (javaScriptEnabled) await assertAccessible(page, `products-moved-${width}`)
            }
          })
          assertNoComplaints(complaints, 400)
        })
      )
  })
})
