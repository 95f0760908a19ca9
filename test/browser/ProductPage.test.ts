import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { actingAs, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { aFailure, aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

/** A stove on four stores, with overrides, unpublished changes, failed publishes and invalid values. */
const aStove = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, shop, stove } = merchant
  const { link } = yield* Stores
  const { apply } = yield* CatalogChanges
  yield* Effect.gen(function* () {
    const { store: china } = yield* link({
      domain: "china.example",
      name: "山湖与燕鸥",
      currency: "CNY",
      primaryLocale: "zh-CN"
    })
    const { store: gulf } = yield* link({
      domain: "gulf.example",
      name: "تارن وتيرن",
      currency: "AED",
      primaryLocale: "ar-AE"
    })
    const overrides = (storeId: typeof shop.id, values: Readonly<Record<string, string>>) =>
      CatalogChange.SetOverrides({ entityId: stove, storeId, values })
    yield* apply([
      CatalogChange.AddToStore({ entityId: stove, storeId: china.id }),
      CatalogChange.AddToStore({ entityId: stove, storeId: gulf.id }),
      CatalogChange.SetAttributes({
        entityId: stove,
        values: {
          title: "Kestrel stove",
          description_html:
            "<p>Burns gas, wood and what the wind brings.</p><p>Folds into its own pot, weighs less than a loaf of bread and boils a litre in four minutes at two thousand metres.</p>",
          product_type: "Stoves"
        }
      }),
      overrides(china.id, { title: "红隼炉", vendor: "山湖" }),
      overrides(gulf.id, { title: "موقد كيستريل", description_html: "<p>يحرق الغاز والخشب</p>", status: "about to" }),
      overrides(shop.id, { title: "Kestrel stove, new valve" })
    ])
  }).pipe(actingAs(actor), Effect.orDie)
  yield* aFailure(merchant)
  return merchant
})

/** Takes screenshots of a page, if CATALOG_SCREENSHOTS names a folder. */
const folder = process.env.CATALOG_SCREENSHOTS

describe.skipIf(!chromiumIsThere)("the page of a product in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("edits a cell in place without JavaScript, at every width and in both colours", () =>
      Effect.gen(function* () {
        const { cookie, shop, stove } = yield* aStove
        const { base, page } = yield* openSignedIn(cookie, { javaScriptEnabled: false })
        const take = async (name: string) => {
          if (folder === undefined) return
          for (const width of [1_440, 390]) {
            await page.setViewportSize({ width, height: 900 })
            await page.screenshot({ path: `${folder}/${name}-${width}.png`, fullPage: true })
          }
          await page.setViewportSize({ width: 1_440, height: 900 })
        }
        yield* Effect.promise(async () => {
          await page.goto(`${base}/entity?id=${stove}`)
          await take("product")
          const columns = () =>
            page.$$eval("table.grid thead th", (heads) =>
              heads.map((head) => Math.round(head.getBoundingClientRect().width))
            )
          const before = await columns()
          for (const name of ["Catalog", "Tarn & Tern", "تارن وتيرن"]) {
            await page.getByRole("link", { name: `Edit Description, ${name}` }).click()
            await page.waitForLoadState("load")
            await take(`product-description-${name}`)
            assert.deepStrictEqual(await columns(), before, name)
            await page.goto(`${base}/entity?id=${stove}`)
          }
          await page.getByRole("link", { name: "Edit Title, Tarn & Tern" }).click()
          await page.waitForLoadState("load")
          assert.deepStrictEqual(await columns(), before)
          const title = page.getByRole("textbox", { name: "Title, Tarn & Tern" })
          // The browser moves the focus when it draws the page.
          await page.locator("[name=value]:focus").waitFor()
          await take("product-edit")
          await title.fill("x".repeat(256))
          await page.keyboard.press("Enter")
          assert.strictEqual(await title.inputValue(), "x".repeat(256))
          assert.strictEqual(
            await page.getByRole("alert").textContent(),
            "This value must have at most 255 characters."
          )
          await take("product-refused")
          await title.fill("Der Ofen")
          await page.keyboard.press("Enter")
          assert.strictEqual(
            await page.getByRole("status").first().textContent(),
            "Title, Tarn & Tern: saved as a draft."
          )
          assert.include(String(await page.locator(`[id="cell-${shop.id}-title"]`).textContent()), "Der Ofen")
          await take("product-saved")
          await page.getByRole("button", { name: "Undo: Title, Tarn & Tern" }).click()
          assert.strictEqual(
            await page.getByRole("status").first().textContent(),
            "Title, Tarn & Tern: has its earlier value again, saved as a draft."
          )
          assert.include(String(await page.locator(`[id="cell-${shop.id}-title"]`).textContent()), "Kestrel stove, new")
          await page.setViewportSize({ width: 390, height: 800 })
          await page.getByRole("link", { name: "山湖与燕鸥", exact: true }).click()
          assert.isTrue(await page.getByRole("table", { name: "Values" }).getByText("红隼炉").isVisible())
          assert.isFalse(await page.locator('[id="cell-catalog-title"]').isVisible())
        })
      })
    )

    it.scoped("can be used with the keyboard only", () =>
      Effect.gen(function* () {
        const merchant = yield* aStove
        const { actor, cookie, shop, stove } = merchant
        const { apply } = yield* CatalogChanges
        const { base, complaints, page } = yield* openSignedIn(cookie)
        const focused = () => page.evaluate("document.activeElement?.textContent?.trim() ?? ''")
        const title = page.getByRole("textbox", { name: "Title, Tarn & Tern" })
        const handle = page.getByRole("textbox", { name: "Handle, Tarn & Tern" })
        yield* Effect.promise(async () => {
          // A fragment that is no valid percent-encoding stops no script.
          await page.goto(`${base}/entity?id=${stove}#%`)
          await page.evaluate("window.mark = 'not reloaded'")
          const first = page.getByRole("link", { name: "Edit Title, Catalog" })
          await first.focus()
          // Only one cell of the grid is in the Tab order.
          assert.strictEqual(
            await page.getByRole("grid", { name: "Values" }).locator('a.edit[tabindex="0"]').count(),
            1
          )
          for (const [key, name] of [
            ["ArrowDown", "Edit Handle, Catalog"],
            ["ArrowRight", "Edit Handle, 山湖与燕鸥"],
            ["End", "Edit Handle, Tarn & Tern"],
            ["ArrowRight", "Edit Handle, Tarn & Tern"],
            ["ArrowUp", "Edit Title, Tarn & Tern"],
            ["Control+Home", "Edit Title, Catalog"],
            ["End", "Edit Title, Tarn & Tern"]
          ] as const) {
            await page.keyboard.press(key)
            assert.strictEqual(await focused(), name, key)
          }
          await page.keyboard.press("F2")
          await title.waitFor()
          await page.keyboard.press("Escape")
          await page.locator("a.edit:focus").waitFor({ state: "attached" })
          assert.strictEqual(await focused(), "Edit Title, Tarn & Tern")
          await page.keyboard.press("Enter")
          await title.waitFor()
          await title.fill("By keys")
          await page.keyboard.press("Alt+ArrowDown")
          assert.strictEqual(await focused(), "Save draft")
          await title.focus()
          await page.keyboard.press("Tab")
          await handle.waitFor()
          await page.getByText("Title, Tarn & Tern: saved as a draft.").waitFor()
          assert.include(String(await page.locator(`[id="cell-${shop.id}-title"]`).textContent()), "By keys")
          // An undo saves the changed cell first.
          await handle.fill("beside-an-undo")
          await page.getByRole("button", { name: "Undo: Title, Tarn & Tern" }).click()
          await page.getByText("Title, Tarn & Tern: has its earlier value again").waitFor()
          assert.include(String(await page.locator(`[id="cell-${shop.id}-handle"]`).textContent()), "beside-an-undo")
          assert.include(String(await page.locator(`[id="cell-${shop.id}-title"]`).textContent()), "Kestrel stove, new")
          await page.getByRole("link", { name: "Edit Handle, Tarn & Tern" }).click()
          // Opening another cell saves the changed one first; a refused one stays open.
          await handle.fill("by-mouse")
          await page.getByRole("link", { name: "Edit Title, Tarn & Tern" }).click()
          await title.waitFor()
          assert.include(String(await page.locator(`[id="cell-${shop.id}-handle"]`).textContent()), "by-mouse")
          await title.fill("x".repeat(256))
          await page.getByRole("link", { name: "Edit Handle, Tarn & Tern" }).click()
          await page.getByText("This value must have at most 255 characters.").waitFor()
          assert.strictEqual(await title.inputValue(), "x".repeat(256))
          // Also if the refused text was not changed since.
          await page.getByRole("link", { name: "Edit Handle, Tarn & Tern" }).click()
          assert.isTrue(await title.evaluate("document.activeElement?.name === 'value'"))
          assert.strictEqual(await title.inputValue(), "x".repeat(256))
          await title.fill("By keys")
          await page.getByRole("link", { name: "Edit Handle, Tarn & Tern" }).click()
          await handle.waitFor()
          // No value was changed, so nothing is saved, and Tab goes on to the buttons.
          await handle.focus()
          await page.keyboard.press("Tab")
          assert.strictEqual(await focused(), "Save draft")
        })
        yield* apply([
          CatalogChange.SetOverrides({ entityId: stove, storeId: shop.id, values: { handle: "theirs" } })
        ]).pipe(actingAs(actor))
        const before = yield* Effect.promise(async () => {
          await handle.fill("mine")
          await page.keyboard.press("Enter")
          await page.getByRole("alert").getByText("theirs").waitFor()
          assert.strictEqual(await handle.inputValue(), "mine")
          assert.isTrue(await handle.evaluate("document.activeElement?.name === 'value'"))
          await page.getByRole("heading", { level: 1 }).click()
          return Number(/Revision (\d+)/.exec(String(await page.locator("#details").textContent()))?.[1])
        })
        // The page is updated meanwhile; the refused form stays.
        yield* apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Fell" } })]).pipe(
          actingAs(actor)
        )
        yield* aFailure(merchant)
        yield* Effect.promise(async () => {
          await page.getByText(`Revision ${before + 2}`, { exact: true }).waitFor()
          assert.strictEqual(await handle.inputValue(), "mine")
          await handle.press("Escape")
          await page.locator("a.edit:focus").waitFor({ state: "attached" })
          assert.strictEqual(await focused(), "Edit Handle, Tarn & Tern")
          assert.include(String(await page.locator(`[id="cell-${shop.id}-handle"]`).textContent()), "theirs")
          const review = page.getByRole("link", { name: "Review and publish to 1 store" })
          const dialog = page.getByRole("dialog", { name: /^Publish / })
          await review.press("Enter")
          await dialog.getByText("theirs").waitFor()
          await assertAccessible(page, "product-review")
          await page.keyboard.press("Escape")
          await dialog.waitFor({ state: "hidden" })
          assert.strictEqual(await focused(), "Review and publish to 1 store")
          await page.keyboard.press("Enter")
          await dialog.getByRole("checkbox", { name: "Publish to Tarn & Tern" }).press("Space")
          await dialog.getByRole("button", { name: "Publish to the chosen stores" }).press("Enter")
          await dialog.getByRole("alert").getByText("choose at least one store").waitFor()
          await dialog.getByRole("checkbox", { name: "Publish to Tarn & Tern" }).press("Space")
          await dialog.getByRole("button", { name: "Publish to the chosen stores" }).press("Enter")
          await page.getByText("was requested").waitFor()
          await dialog.waitFor({ state: "hidden" })
          // The values were edited and published without leaving the page.
          assert.strictEqual(await page.evaluate("window.mark"), "not reloaded")
          await page.goto(`${base}/entity?id=${stove}&edit=description_html`)
          await page.getByRole("button", { name: "HTML" }).click()
          const area = page.getByRole("textbox", { name: "Description, Catalog" })
          await area.fill("<p>Two\nlines</p>")
          await page.keyboard.press("Control+Enter")
          await page.waitForURL(/#cell-catalog-description_html-edit$/)
          await page.locator("a.edit:focus").waitFor({ state: "attached" })
          assert.strictEqual(await focused(), "Edit Description, Catalog")
          // The button Undo comes before this cell in the tab order.
          await page.keyboard.press("Shift+Tab")
          assert.strictEqual(await focused(), "Undo")
          await page.keyboard.press("Enter")
          await page.getByText("has its earlier value again").waitFor()
          assert.include(
            String(await page.locator('[id="cell-catalog-description_html"]').textContent()),
            "Burns gas, wood and what the wind brings."
          )
          // The form of a session that has ended is kept by the sign-in.
          await page.getByRole("link", { name: "Edit Title, Tarn & Tern" }).press("Enter")
          await title.fill("Typed late")
          await page.context().clearCookies()
          await page.keyboard.press("Enter")
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          assert.include(await page.locator("input[name=kept]").inputValue(), "Typed+late")
        })
        assertNoComplaints(complaints, 400, 403, 409)
      })
    )

    it.scoped("is accessible with cells closed, open, and refused", () =>
      Effect.gen(function* () {
        const { cookie, shop, stove } = yield* aStove
        const { base, complaints, page } = yield* openSignedIn(cookie)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/entity?id=${stove}`)
          await assertAccessible(page, "product")
          await page.goto(`${base}/entity?id=${stove}&edit=description_html&store=${shop.id}`)
          await assertAccessible(page, "product-edit")
          await page.goto(`${base}/entity?id=${stove}&edit=title`)
          await page.getByRole("textbox", { name: "Title, Catalog" }).fill("x".repeat(256))
          await page.getByRole("button", { name: "Save draft" }).click()
          await assertAccessible(page, "product-refused")
          await page.getByRole("textbox", { name: "Title, Catalog" }).fill("Short")
          await page.getByRole("button", { name: "Save draft" }).click()
          await page.getByRole("button", { name: "Undo: Title, Catalog" }).waitFor()
          await assertAccessible(page, "product-undo")
        })
        assertNoComplaints(complaints, 400)
      })
    )
  })
})
