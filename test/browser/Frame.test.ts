import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { BrowserContextOptions } from "playwright-core"
import { commands } from "../../src/console/Paths.ts"
import { aMerchant } from "../console/Merchant.ts"
import { aBrowser, aUser, PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { allowRoutes, assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

/** A window of a new signed-in user, and the errors that the browser reported in it. */
const aWindow = (options: BrowserContextOptions = {}) =>
  Effect.gen(function* () {
    const { cookie } = yield* aUser()
    return yield* openSignedIn(cookie, options)
  })

/** Closes the palette, opens it and types, all before the event of the close. Gives the text of the field after that event. */
const reopenAndType = `new Promise((resolve) => {
  const dialog = document.querySelector("dialog.palette")
  const input = dialog.querySelector("input")
  dialog.addEventListener("close", () => resolve(input.value))
  dialog.close()
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }))
  input.value += "tent"
  input.dispatchEvent(new Event("input"))
})`

const ground = "getComputedStyle(document.body).backgroundColor"
const focused = "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.tagName"

describe.skipIf(!chromiumIsThere)("the frame in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("keyboard shortcuts open the search, the help and other pages", () =>
      Effect.gen(function* () {
        const { base, complaints, page } = yield* aWindow()
        yield* Effect.promise(async () => {
          await page.goto(`${base}/stores`)
          await page.keyboard.press("?")
          assert.isTrue(await page.getByText("The store has the values of the catalog.").isVisible())
          await assertAccessible(page, "help")
          await page.keyboard.press("Escape")
          assert.isFalse(await page.getByText("The store has the values of the catalog.").isVisible())
          await page.keyboard.press("/")
          assert.strictEqual(await page.evaluate(focused), "Search products")
          // A slash typed in the search field is text, not the shortcut.
          await page.keyboard.type("a/?")
          await page.keyboard.press("Enter")
          await page.waitForURL(`${base}/products?search=a%2F%3F`)
          await page.getByRole("heading", { level: 1 }).click()
          await page.keyboard.press("Control+k")
          const palette = page.getByRole("dialog", { name: "Go to" })
          assert.isTrue(await palette.isVisible())
          await assertAccessible(page, "palette")
          await page.keyboard.type("dat hea")
          assert.deepStrictEqual(await palette.getByRole("option").allTextContents(), [
            "Data health",
            "Scan data health",
            "Search products for “dat hea”"
          ])
          await page.keyboard.press("Enter")
          await page.waitForURL(`${base}/data-health`)
          await page.getByRole("button", { name: "Go to a page" }).click()
          await page.keyboard.type("tent <b>")
          await page.keyboard.press("Enter")
          await page.waitForURL(`${base}/products?search=tent+%3Cb%3E`)
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("the palette finds products and collections as one types, and opens them", () =>
      Effect.gen(function* () {
        const { cookie, tent } = yield* aMerchant
        const { base, complaints, page } = yield* openSignedIn(cookie)
        yield* Effect.promise(async () => {
          await allowRoutes(page)
          await page.goto(`${base}/stores`)
          for (const keys of ["Control+k", "Meta+k"]) {
            await page.keyboard.press(keys)
            assert.isTrue(await page.getByRole("dialog", { name: "Go to" }).isVisible())
            await page.keyboard.press("Escape")
            assert.isFalse(await page.getByRole("dialog", { name: "Go to" }).isVisible())
          }
          await page.keyboard.press("Control+k")
          const palette = page.getByRole("dialog", { name: "Go to" })
          const status = palette.getByRole("status")
          const options = palette.getByRole("option")
          await page.keyboard.type("camp")
          await status.getByText("Results: 1").waitFor()
          assert.deepStrictEqual(await options.allTextContents(), ["Camp Collection", "Search products for “camp”"])
          await assertAccessible(page, "palette-results")
          await palette.getByRole("combobox").fill("<b>zzz")
          await status.getByText("No results").waitFor()
          assert.deepStrictEqual(await options.allTextContents(), ["Search products for “<b>zzz”"])
          // An answer that comes late for an earlier text is not shown.
          let release = () => {}
          const released = new Promise<void>((resolve) => {
            release = resolve
          })
          await page.route("**/console-api/search?search=stove", async (route) => {
            await released
            await route.continue().catch(() => {})
          })
          const asked = page.waitForRequest("**/console-api/search?search=stove")
          await palette.getByRole("combobox").fill("stove")
          const late = await asked
          await palette.getByRole("combobox").fill("the tent")
          await status.getByText("Results: 1").waitFor()
          release()
          await (await late.response())?.finished()
          assert.match(String(await options.first().textContent()), /^The tent Product/)
          // The arrows go round: up from the first is the last.
          await page.keyboard.press("ArrowUp")
          assert.strictEqual(await palette.getByRole("combobox").getAttribute("aria-activedescendant"), "palette-1")
          await page.keyboard.press("ArrowDown")
          assert.strictEqual(await options.first().getAttribute("aria-selected"), "true")
          await page.keyboard.press("Enter")
          await page.waitForURL(`${base}/entity?id=${tent}`)
          assertNoComplaints(complaints)
          // Open again and typed into before the browser tells that it was closed: the text stays.
          await page.keyboard.press("Control+k")
          await palette.getByRole("combobox").fill("camp")
          const typed = await page.evaluate(reopenAndType)
          assert.strictEqual(typed, "tent")
          await status.getByText("Results: 1").waitFor()
          // The palette says that the session has ended; the search page leads to the sign-in.
          await page.keyboard.press("Control+k")
          await page.context().clearCookies()
          await page.keyboard.type("tent")
          await status.getByText("The search did not answer.").waitFor()
          await page.keyboard.press("Enter")
          await page.waitForURL(/\/sign-in/)
        })
      })
    )

    it.scoped("the palette offers the commands of the role, and each leads to its form", () =>
      Effect.gen(function* () {
        const { accountId } = yield* aMerchant
        const ofEdit = ["Refresh a store", "Start an import", "Scan data health"]
        const ofPublish = ["New drop", ...ofEdit, "Retry failed publishes"]
        const ofAdmin = [...ofPublish, "Invite a colleague", "Create an API key"]
        for (const [role, expected] of [
          ["view", []],
          ["edit", ofEdit],
          ["publish", ofPublish],
          ["admin", ofAdmin]
        ] as const) {
          const { cookie } = yield* aBrowser(accountId, `palette-${role}-${accountId}@example.com`, role)
          const { base, page } = yield* openSignedIn(cookie)
          yield* Effect.promise(async () => {
            await page.goto(`${base}/media`)
            await page.keyboard.press("Control+k")
            const offered = await page.getByRole("dialog", { name: "Go to" }).getByRole("option").allTextContents()
            assert.sameMembers(
              offered.filter((name) => ofAdmin.includes(name)),
              [...expected],
              role
            )
            for (const name of expected) {
              const path = commands.find((command) => command.name === name)?.path
              await page.goto(`${base}/media`)
              await page.keyboard.press("Control+k")
              await page.keyboard.type(name)
              await page.keyboard.press("Enter")
              await page.waitForURL(`${base}${path}`)
              const part = new URL(page.url()).hash
              assert.isTrue(part === "" || (await page.locator(part).isVisible()), name)
            }
          })
        }
      })
    )

    it.scoped("the colour scheme is chosen in a form, and kept on other pages and after errors", () =>
      Effect.gen(function* () {
        const { base, page } = yield* aWindow({ javaScriptEnabled: false, colorScheme: "light" })
        yield* Effect.promise(async () => {
          await page.goto(`${base}/drops`)
          const light = await page.evaluate(ground)
          await page.getByRole("button", { name: "Dark colours" }).click()
          await page.waitForLoadState("load")
          assert.strictEqual(page.url(), `${base}/drops`)
          const dark = await page.evaluate(ground)
          assert.notStrictEqual(dark, light)
          for (const path of ["/stores", "/nowhere", "/entity?id=x"]) {
            await page.goto(base + path)
            assert.strictEqual(await page.evaluate(ground), dark, path)
          }
          await page.goto(`${base}/stores`)
          await page.getByRole("button", { name: "Colours of the system" }).click()
          await page.waitForLoadState("load")
          assert.strictEqual(await page.evaluate(ground), light)
        })
      })
    )

    it.scoped("a link to a heading shows the heading below the bar at the top", () =>
      Effect.gen(function* () {
        const { base, page } = yield* aWindow({ javaScriptEnabled: false, viewport: { width: 1440, height: 400 } })
        yield* Effect.promise(async () => {
          await page.goto(`${base}/settings/profile#password`)
          const heading = await page.locator("#password").boundingBox()
          const bar = await page.locator("header.top").boundingBox()
          assert.notStrictEqual(await page.evaluate("window.scrollY"), 0)
          assert.isAtLeast(heading?.y ?? 0, (bar?.y ?? 0) + (bar?.height ?? 0))
        })
      })
    )

    it.scoped("on a phone the navigation collapses, without JavaScript too", () =>
      Effect.gen(function* () {
        const { base, page } = yield* aWindow({ javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
        yield* Effect.promise(async () => {
          await page.goto(`${base}/stores`)
          const link = page.getByRole("link", { name: "Data health" })
          assert.isFalse(await link.isVisible())
          await page.getByRole("button", { name: "Menu" }).click()
          assert.isTrue(await link.isVisible())
          await link.click()
          await page.waitForLoadState("load")
          assert.strictEqual(page.url(), `${base}/data-health`)
          assert.isFalse(await link.isVisible())
          await page.getByRole("button", { name: "Help" }).click()
          assert.isTrue(await page.getByText("The store has the values of the catalog.").isVisible())
        })
      })
    )
  })
})
