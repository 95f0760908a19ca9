import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { aBrowser, PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn, waitForFocus } from "./PlaywrightBrowser.ts"

/** A stove with five pictures on two stores. */
const aGallery = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, files, shop, stove } = merchant
  yield* Effect.gen(function* () {
    const ids = yield* Effect.forEach(["Front", "Side", "Back", "Lid", "In the snow, packed into its own pot"], (alt) =>
      anEntity("media", { alt, url: `https://shop.example/${alt[0]}.jpg` })
    )
    yield* (yield* CatalogChanges).apply([
      CatalogChange.AddToStore({ entityId: stove, storeId: files.id }),
      CatalogChange.SetGallery({
        entityId: stove,
        entries: ids.map((mediaId, place) => ({ mediaId, storeIds: place === 3 ? [shop.id] : [shop.id, files.id] }))
      })
    ])
  }).pipe(actingAs(actor))
  return merchant
})

const openAs = (cookie: string, stove: string, options: { readonly javaScriptEnabled?: boolean } = {}) =>
  Effect.gen(function* () {
    const window = yield* openSignedIn(cookie, options)
    yield* Effect.promise(() => window.page.goto(`${window.base}/entity?id=${stove}`))
    return window
  })

/**
 * Waits until the pictures have this order, by their first letters, and their page has loaded. A locator waits on a page without
 * JavaScript too; `waitForFunction` checks only once there.
 */
const waitForOrder = async (page: Page, letters: string) => {
  const items = [...letters].map((letter, place) => `:has(> li:nth-child(${place + 1})[data-name^="${letter}"])`)
  await page.locator(`ol.gallery${items.join("")}`).waitFor()
  await page.waitForLoadState("load")
}

const sizes = [1_280, 390] as const

describe.skipIf(!chromiumIsThere)("the gallery in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("is ordered without JavaScript, and the focus stays at the picture", () =>
      Effect.gen(function* () {
        const { cookie, stove } = yield* aGallery
        const { page } = yield* openAs(cookie, stove, { javaScriptEnabled: false })
        yield* Effect.promise(async () => {
          for (const [index, width] of sizes.entries()) {
            await page.setViewportSize({ width, height: 900 })
            assert.isFalse(await page.getByRole("button", { name: "Drag Side" }).isVisible())
            await page.getByRole("button", { name: "Move Side up" }).click()
            await waitForOrder(page, "SFBLI")
            // It cannot move further up, so the button is off; the other one moves it back.
            assert.isTrue(await page.getByRole("button", { name: "Move Side up" }).isDisabled())
            await waitForFocus(page, "Move Side down")
            await page.getByRole("button", { name: "Move Side down" }).press("Enter")
            await waitForOrder(page, "FSBLI")
            await waitForFocus(page, "Move Side down")
            await page.getByRole("button", { name: "Undo" }).click()
            await waitForOrder(page, "SFBLI")
            await page.getByRole("button", { name: "Undo" }).click()
            await waitForOrder(page, "FSBLI")
            await page.getByRole("link", { name: "Change the stores of Lid" }).click()
            const box = page.getByRole("checkbox", { name: "files.example" })
            await box.setChecked(index === 0)
            await page.getByRole("button", { name: "Save draft" }).click()
            assert.strictEqual(
              await page.getByRole("status").first().textContent(),
              "Lid: its stores are saved as a draft."
            )
          }
        })
      })
    )

    it.scoped("is ordered by the mouse and by the keyboard alone, at both widths", () =>
      Effect.gen(function* () {
        const { cookie, stove } = yield* aGallery
        const { complaints, page } = yield* openAs(cookie, stove)
        const saved = () => page.getByText("saved as a draft.").waitFor()
        const drag = async (from: string, to: string) => {
          const [start, end] = [page.locator(from), page.locator(to)]
          await start.scrollIntoViewIfNeeded()
          const [one, other] = [await start.boundingBox(), await end.boundingBox()]
          if (one === null || other === null) return assert.fail(`${from} or ${to} is not shown`)
          await page.mouse.move(one.x + one.width / 2, one.y + one.height / 2)
          await page.mouse.down()
          await page.mouse.move(other.x + other.width / 2, other.y + other.height / 2, { steps: 8 })
          await page.mouse.up()
        }
        const card = (name: string) => `li[data-name="${name}"]`
        yield* Effect.promise(async () => {
          for (const width of sizes) {
            await page.setViewportSize({ width, height: 900 })
            await drag(`${card("Front")} .frame`, `${card("Side")} .frame`)
            await saved()
            await waitForOrder(page, "SFBLI")
            assert.match(page.url(), /\/entity\?/)
            await drag(`${card("Front")} [data-handle]`, `${card("Side")} [data-handle]`)
            await saved()
            await waitForOrder(page, "FSBLI")
            // A press that does not move is still a click.
            const handle = page.getByRole("button", { name: /^Drag Back/ })
            await handle.focus()
            await page.keyboard.press("Space")
            for (const key of ["ArrowLeft", "Home", "ArrowRight"]) await page.keyboard.press(key)
            assert.strictEqual(await page.locator("#live-says").textContent(), "Place 2 of 5.")
            await waitForFocus(page, "Drag Back, picture 3 of 5")
            await page.keyboard.press("Escape")
            await waitForOrder(page, "FSBLI")
            assert.strictEqual(await page.locator("#live-says").textContent(), "Back is back at place 3.")
            await page.keyboard.press("Enter")
            await page.keyboard.press("End")
            await page.keyboard.press("Tab")
            // Who goes away has not saved.
            await waitForOrder(page, "FSBLI")
            await handle.focus()
            await page.keyboard.press("Enter")
            await page.keyboard.press("End")
            await page.keyboard.press("Enter")
            await saved()
            await waitForOrder(page, "FSLIB")
            await waitForFocus(page, "Drag Back, picture 5 of 5")
            await page.getByRole("button", { name: "Undo" }).click()
            await page.waitForURL(/undo$/)
            await waitForOrder(page, "FSBLI")
          }
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("two people: the second is shown the newer order and repeats the move", () =>
      Effect.gen(function* () {
        const { accountId, cookie, stove } = yield* aGallery
        const other = yield* aBrowser(accountId, `second-${stove}@example.com`)
        const one = yield* openAs(cookie, stove)
        const two = yield* openAs(other.cookie, stove)
        yield* Effect.promise(async () => {
          await two.page.getByRole("button", { name: "Move Lid up" }).click()
          await two.page.getByText("saved as a draft.").waitFor()
          await one.page.getByRole("button", { name: "Move Front down" }).click()
          const again = one.page.getByRole("button", { name: "Move it to place 2 now" })
          await again.waitFor()
          await waitForOrder(one.page, "FSLBI")
          await waitForFocus(one.page, "Move it to place 2 now")
          await assertAccessible(one.page, "gallery-refused")
          await again.press("Enter")
          await one.page.getByText("saved as a draft.").waitFor()
          await waitForOrder(one.page, "SFLBI")
        })
      })
    )

    it.scoped("is accessible, closed and with the stores of a picture open", () =>
      Effect.gen(function* () {
        const { actor, cookie, stove } = yield* aGallery
        yield* Effect.flatMap(Stores, ({ link }) => link({ domain: "gulf.example", name: "تارن وتيرن" })).pipe(
          Effect.flatMap(({ store }) =>
            Effect.flatMap(CatalogChanges, ({ apply }) =>
              apply([CatalogChange.AddToStore({ entityId: stove, storeId: store.id })])
            )
          ),
          actingAs(actor),
          Effect.orDie
        )
        const { complaints, page } = yield* openAs(cookie, stove)
        yield* Effect.promise(async () => {
          await assertAccessible(page, "gallery")
          await page.getByRole("link", { name: "Change the stores of Side" }).click()
          await page.getByRole("checkbox").first().waitFor()
          await assertAccessible(page, "gallery-stores")
        })
        assertNoComplaints(complaints)
      })
    )
  })
})
