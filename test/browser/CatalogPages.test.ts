import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { build } from "esbuild"
import type { Page } from "playwright-core"
import { Drafts } from "../../src/drafts/Drafts.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { type EntityId, ImportId } from "../../src/model/Ids.ts"
import { actingAs, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { aFailure, aMerchant, editBothSides, untilPhase } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

/** The script that updates pages, as a global of a browser. */
const morphing = build({
  entryPoints: ["src/console/assets/morph.ts"],
  bundle: true,
  format: "iife",
  globalName: "updating",
  write: false
}).then(({ outputFiles: [file] }) => file?.text)

const idOf = (page: Page) => ImportId.make(String(new URL(page.url()).searchParams.get("id")))
const heading = (page: Page) => page.getByRole("heading", { level: 1 }).textContent()

/** Presses Tab until the focus is on the control with this name. */
const tabTo = async (page: Page, name: string) => {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab")
    if (String(await page.evaluate("document.activeElement?.innerText ?? ''")).trim() === name) return
  }
  assert.fail(`Tab never reaches ${name}`)
}

describe.skipIf(!chromiumIsThere)("the pages of the catalog in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("a merchant refreshes a store, decides its conflicts and accepts the import", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        yield* editBothSides(merchant)
        const { base, complaints, page } = yield* openSignedIn(merchant.cookie)
        const id = yield* Effect.promise(async () => {
          await page.goto(`${base}/stores`)
          await assertAccessible(page, "stores")
          await tabTo(page, "Refresh")
          await page.keyboard.press("Enter")
          await page.waitForURL(`${base}/import?**`)
          assert.strictEqual(await heading(page), "Refresh of Tarn & Tern")
          return idOf(page)
        })
        yield* untilPhase(merchant, id, "reviewing")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/imports`)
          await assertAccessible(page, "imports")
          await page.getByRole("link", { name: "Refresh" }).first().click()
          assert.strictEqual(page.url(), `${base}/import?id=${id}`)
          await assertAccessible(page, "import-review")
          await page.getByRole("link", { name: "Changed 2" }).click()
          await page.getByRole("link", { name: "The tent" }).waitFor()
          await assertAccessible(page, "import-changed")
          await page.getByRole("link", { name: "Conflicts 3" }).click()
          // One conflict is decided with the keyboard only, one with a click; one stays undecided.
          const vendor = page.getByRole("group", { name: "The tent: vendor" })
          await vendor.getByRole("radio", { name: "Keep our draft" }).focus()
          await page.keyboard.press("Space")
          const tags = page.getByRole("group", { name: "The stove: tags" })
          await tags.getByText("Take the store's value").click()
          await page.getByRole("button", { name: "Save decisions" }).click()
          assert.include(String(await page.getByRole("status").textContent()), "Your decisions are saved.")
          assert.isTrue(await vendor.getByRole("radio", { name: "Keep our draft" }).isChecked())
          assert.isTrue(await tags.getByRole("radio", { name: "Take the store's value" }).isChecked())
          await assertAccessible(page, "import-decided")
          await page.goto(`${base}/stores`)
          assert.include(String(await page.getByRole("status").textContent()), "waits for your review")
          assert.strictEqual(await page.getByRole("button", { name: /^Refresh/ }).count(), 0)
          await assertAccessible(page, "stores-locked")
          await page.getByRole("link", { name: "Refresh of Tarn & Tern" }).click()
          // The import cannot be accepted while one conflict is undecided.
          assert.strictEqual(await page.getByRole("button", { name: "Accept the import" }).count(), 0)
          await page.getByRole("button", { name: "Take the store's value for all undecided and accept" }).click()
          assert.include(String(await page.getByRole("status").first().textContent()), "The import is accepted.")
        })
        yield* untilPhase(merchant, id, "applied")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/import?id=${id}`)
          assert.include(String(await page.getByRole("main").textContent()), "What it made")
          await assertAccessible(page, "import-applied")
          await page.getByRole("link", { name: "Conflicts 3" }).click()
          await page.getByText("Our draft was kept").waitFor()
          await assertAccessible(page, "import-applied-conflicts")
        })
        const tent = yield* (yield* Drafts).get(merchant.tent, null).pipe(actingAs(merchant.actor))
        const values = Object.fromEntries(tent.attributes.map(({ key, value }) => [key, value]))
        assert.deepInclude(values, {
          vendor: "Tarn",
          description_html: "<p>Keeps the rain out, and the cold in.</p>"
        })
        assertNoComplaints(complaints, 404)
      })
    )

    it.scoped("a merchant uploads an export, sees its problems, and uploads it again", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { base, complaints, page } = yield* openSignedIn(merchant.cookie)
        const send = (name: string, content: string) =>
          Effect.promise(async () => {
            await page.goto(`${base}/imports`)
            await page.getByRole("combobox", { name: "Store" }).selectOption({ label: "files.example" })
            const file = { name, mimeType: "text/csv", buffer: Buffer.from(content) }
            await page.getByLabel(/^Shopify export/).setInputFiles(file)
            await assertAccessible(page, "imports-send")
            await page.getByRole("button", { name: "Read the file" }).click()
            await page.waitForURL(`${base}/import?**`)
            assert.strictEqual(await heading(page), `Import of ${name} into files.example`)
            return idOf(page)
          })
        const columns = "Handle,Title,Variant SKU,Variant Price"
        yield* untilPhase(merchant, yield* send("pans.csv", `${columns}\npan,Pan,P-1,five\n`), "failed")
        yield* Effect.promise(async () => {
          await page.reload()
          assert.include(String(await page.getByRole("alert").textContent()), 'Line 2, column "Variant Price"')
        })
        const id = yield* send("pans (1).csv", `${columns}\npan,Pan,P-1,5.00\n`)
        yield* untilPhase(merchant, id, "reviewing")
        yield* Effect.promise(async () => {
          await page.reload()
          await page.getByRole("button", { name: "Accept the import" }).click()
        })
        yield* untilPhase(merchant, id, "applied")
        assertNoComplaints(complaints, 404)
      })
    )

    it.scoped("a merchant discards an import and finds an entity that failed to publish", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        yield* aFailure(merchant)
        const { base, page } = yield* openSignedIn(merchant.cookie)
        const id = yield* Effect.promise(async () => {
          await page.goto(`${base}/stores`)
          await assertAccessible(page, "stores-failures")
          await page.getByRole("link", { name: "The stove" }).click()
          assert.strictEqual(page.url(), `${base}/entity?id=${merchant.stove}`)
          assert.strictEqual(await heading(page), "The stove")
          await assertAccessible(page, "entity")
          await page.getByRole("link", { name: "Products" }).first().click()
          await assertAccessible(page, "products")
          for (const path of ["/", "/variants", "/collections", "/media", "/products?vendor=Fell&missing=type"]) {
            await page.goto(base + path)
            await assertAccessible(page, path.replaceAll(/\W+/g, "-"))
          }
          await page.getByRole("searchbox", { name: "Search products" }).first().fill("tent")
          await page.keyboard.press("Enter")
          await page.getByRole("link", { name: "The tent", exact: true }).click()
          assert.strictEqual(page.url(), `${base}/entity?id=${merchant.tent}`)
          await page.goto(`${base}/stores`)
          await page.getByRole("button", { name: "Refresh Tarn & Tern from its platform" }).click()
          return idOf(page)
        })
        yield* untilPhase(merchant, id, "reviewing")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/import?id=${id}`)
          await page.getByRole("button", { name: "Discard the import" }).click()
          assert.include(String(await page.getByRole("status").textContent()), "Nothing was changed")
          await assertAccessible(page, "import-discarded")
          await page.goto(`${base}/import?id=${merchant.stove}`)
          assert.strictEqual(await heading(page), "Not found")
        })
        const run = yield* (yield* Imports).get(id).pipe(actingAs(merchant.actor))
        assert.strictEqual(run.phase, "discarded")
      })
    )

    it.scoped("a merchant publishes an entity, and then all changes, with the keyboard", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { apply } = yield* CatalogChanges
        const edit = (entityId: EntityId, vendor: string) =>
          apply([CatalogChange.SetAttributes({ entityId, values: { vendor } })]).pipe(actingAs(merchant.actor))
        yield* edit(merchant.stove, "Fell & Son")
        yield* edit(merchant.tent, "Fell & Son")
        const { base, complaints, page } = yield* openSignedIn(merchant.cookie)
        const stale = yield* Effect.promise(async () => {
          await page.goto(`${base}/entity?id=${merchant.stove}`)
          await assertAccessible(page, "entity-to-publish")
          await tabTo(page, "Publish")
          await page.keyboard.press("Enter")
          await page.waitForURL(/note=requested/)
          await page.getByRole("status").getByText("to tarn.demo.example was requested").waitFor()
          await assertAccessible(page, "entity-asked")
          await page.goto(`${base}/entity?id=${merchant.tent}`)
          const button = page.getByRole("button", { name: "Publish to tarn.demo.example" })
          // A live update leaves the form with the focus as it is.
          await button.focus()
          return button
        })
        yield* edit(merchant.tent, "Unseen")
        yield* Effect.promise(async () => {
          await stale.click()
          assert.include(String(await page.getByRole("alert").textContent()), "the draft has changed since")
          await assertAccessible(page, "entity-conflict")
          await page.goto(`${base}/stores`)
          await assertAccessible(page, "stores-to-publish")
          await page.getByRole("link", { name: "Publish all changes" }).click()
          assert.strictEqual(await heading(page), "Publish to Tarn & Tern")
          await assertAccessible(page, "store-to-publish")
          await tabTo(page, "Publish all")
          await page.keyboard.press("Enter")
          await page.waitForURL(/jobs/)
          assert.strictEqual(await heading(page), "Publish all changes to Tarn & Tern")
          await assertAccessible(page, "job")
        })
        assertNoComplaints(complaints, 404, 409)
      })
    )

    it.scoped("rows of a list are selected one by one, by range, all of the page, or all that the filters find", () =>
      Effect.gen(function* () {
        const { actor, cookie } = yield* aMerchant
        yield* Effect.forEach(Array.from({ length: 51 }), (_, n) =>
          anEntity("product", { title: `Lamp ${n + 1}`, vendor: "Glow" })
        ).pipe(actingAs(actor))
        const { base, complaints, page } = yield* openSignedIn(cookie)
        const everything = page.getByRole("button", { name: "All items that match the list's filters" })
        const publish = page.getByRole("button", { name: "Review and publish" })
        const rows = page.getByRole("table").getByRole("checkbox")
        const said = (words: string) => page.getByRole("status").getByText(words, { exact: true }).waitFor()
        yield* Effect.promise(async () => {
          await page.goto(`${base}/products?vendor=Glow`)
          const all = page.getByRole("checkbox", { name: "Select all 50" })
          await all.waitFor()
          await rows.nth(3).check()
          await rows.nth(1).click({ modifiers: ["Shift"] })
          await said("3 of 50 selected")
          assert.isTrue(await all.evaluate("document.querySelector('.select-all input').indeterminate"))
          assert.isFalse(await everything.isVisible())
          await all.focus()
          await page.keyboard.press("Space")
          await said("50 of 50 selected")
          assert.strictEqual(await page.locator("tbody input:checked").count(), 50)
          // An update of the page does not touch what an island draws.
          await page.evaluate(`${await morphing}
            fetch(location.href).then((answer) => answer.text()).then((text) => {
              const next = new DOMParser().parseFromString(text, "text/html")
              updating.morph(document.querySelector("[data-island]"), next.querySelector("[data-island]"))
            })`)
          assert.isTrue(await page.getByText("50 of 50 selected").isVisible())
          await all.focus()
          await page.keyboard.press("Tab")
          await page.keyboard.press("Enter")
          await page.locator(".select-all [aria-pressed=true]").waitFor()
          assert.isTrue(await publish.isVisible())
          await assertAccessible(page, "products-everything")
          await page.getByRole("button", { name: "Set a field" }).click()
          assert.isTrue(await page.getByRole("radio", { name: "All items that match the list's filters" }).isChecked())
          await page.goto(`${base}/products?vendor=Glow`)
          await all.check()
          await everything.click()
          await rows.first().uncheck()
          await said("49 of 50 selected")
          assert.isTrue(await publish.isVisible())
          await page.getByRole("button", { name: "Set a field" }).click()
          assert.isTrue(await page.getByRole("radio", { name: "The 49 products that you selected" }).isChecked())
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("everything works without JavaScript", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { base, page } = yield* openSignedIn(merchant.cookie, { javaScriptEnabled: false })
        const id = yield* Effect.promise(async () => {
          await page.goto(`${base}/stores`)
          await page.getByRole("button", { name: "Refresh Tarn & Tern from its platform" }).click()
          return idOf(page)
        })
        yield* untilPhase(merchant, id, "reviewing")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/import?id=${id}`)
          await page.getByRole("button", { name: "Accept the import" }).click()
        })
        yield* untilPhase(merchant, id, "applied")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/products`)
          assert.isFalse(await page.getByText("Select all").isVisible())
          await page.getByRole("checkbox", { name: "Select The tent" }).check()
          await page.getByRole("button", { name: "Set a field" }).click()
          assert.isTrue(await page.getByRole("radio", { name: "The 1 product that you selected" }).isChecked())
        })
      })
    )
  })
})
