import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Locator, Page } from "playwright-core"
import { Users } from "../../src/access/Users.ts"
import { Drops } from "../../src/drops/Drops.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, assertAccessible, assertNoComplaints, openWindow } from "./PlaywrightBrowser.ts"

const password = "tern over tarn 1"

/** How a person works a page: by mouse on a wide screen with JavaScript, or by keyboard on a phone without it. */
const ways = [
  { name: "by mouse at 1,280 px", width: 1_280, javaScriptEnabled: true, press: (it: Locator) => it.click() },
  {
    name: "by keyboard at 390 px, without JavaScript",
    width: 390,
    javaScriptEnabled: false,
    press: async (it: Locator) => {
      await it.focus()
      const isBox = (await it.getAttribute("type")) === "checkbox"
      await it.page().keyboard.press(isBox ? "Space" : "Enter")
    }
  }
] as const

const overflowOf = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

describe.skipIf(!chromiumIsThere)("drops in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    for (const { javaScriptEnabled, name, press, width } of ways)
      it.scoped(`20 % off on a collection for a weekend in Berlin time, ${name}`, () =>
        Effect.gen(function* () {
          const { accountId, actor, shop, tent } = yield* aMerchant
          const base = yield* BaseUrl
          const { token } = yield* Effect.orDie(
            (yield* Users).invite(accountId, `drops-${width}@example.com`, { role: "publish" })
          )
          const { complaints, page } = yield* openWindow(yield* aBrowserProgram, { javaScriptEnabled })
          const button = (name: string) => page.getByRole("button", { name, exact: true })
          const isLook = (look: string) => `drops-${look}-${width}`
          const check = async (look: string) => {
            assert.strictEqual(await overflowOf(page), 0, look)
            // axe needs JavaScript.
            if (javaScriptEnabled) await assertAccessible(page, isLook(look))
            await page.setViewportSize({ width, height: 900 })
          }
          yield* Effect.promise(async () => {
            await page.setViewportSize({ width, height: 900 })
            await page.goto(`${base}/set-password?token=${Redacted.value(token)}`)
            await page.getByLabel("New password").fill(password)
            await page.getByRole("button", { name: "Set password and sign in" }).click()
            await page.goto(`${base}/drops`)
            await press(page.getByRole("link", { name: "Schedule a drop" }))
            await page.waitForURL(`${base}/drops/new`)

            // Refused: at the fields, the focus on the first, everything that was typed still there.
            await page.getByLabel("Starts").fill("2030-03-31T02:30")
            await page.getByLabel("Ends").fill("2030-04-01T00:00")
            await page.getByLabel("Time zone").selectOption("Europe/Berlin")
            await page.getByLabel("Percent off").fill("120")
            await press(button("Review"))
            await page.getByRole("alert").waitFor()
            await page.locator("#name:focus").waitFor()
            assert.match(
              String(await page.locator("#starts-misfit").textContent()),
              /^02:30 on Sun, 31 March 2030 does not exist in Europe\/Berlin/
            )
            assert.strictEqual(await page.getByLabel("Starts").inputValue(), "2030-03-31T02:30")
            assert.strictEqual(await page.getByLabel("Percent off").inputValue(), "120")
            assert.strictEqual(await page.getByLabel("Time zone").inputValue(), "Europe/Berlin")
            await check("refused")

            await page.getByLabel("Name").fill("Camp weekend")
            await page.getByLabel("Starts").fill("2030-12-07T00:00")
            await page.getByLabel("Ends").fill("2030-12-09T00:00")
            await page.getByLabel("Percent off").fill("20")
            await press(page.getByLabel("Show the old price as Compare-at price"))
            await page.getByLabel("Search", { exact: true }).selectOption("Collections")
            await page.getByLabel("Words").fill("camp")
            await page.keyboard.press("Enter")
            await press(page.getByLabel("Its 2 products of Camp"))
            await check("found")
            await press(button("Add the selected"))
            await page.getByText("Chosen: 2 items").waitFor()
            await check("form")
            await press(button("Review"))
            await page.getByRole("heading", { name: "Review: Camp weekend" }).waitFor()
            await page.waitForLoadState("load")
            assert.deepStrictEqual(await page.getByRole("row").allTextContents(), [
              "WhatPriceEURCompare-at priceEUR",
              ...["The stove: One", "The tent: M", "The tent: S"].map(
                (thing) => `${thing}Now: 10.00In the drop: 8.00Now: emptyIn the drop: 10.00`
              )
            ])
            await check("review")
            await press(button("Schedule the drop"))
            assert.strictEqual(await page.getByRole("status").textContent(), "The drop is scheduled.")
            await check("scheduled")

            // The banner on a product whose variants it changes.
            await page.goto(`${base}/entity?id=${tent}`)
            const banner = page.getByRole("note", { name: "Drops" })
            assert.strictEqual(
              await banner.textContent(),
              "Scheduled Camp weekend changes Compare-at price and Price of 2 items from Sat, 7 Dec 2030, 00:00 to Mon, 9 Dec 2030, 00:00 (Europe/Berlin)"
            )
            await check("banner")
            await press(banner.getByRole("link"))
            await page.getByRole("heading", { name: "Camp weekend" }).waitFor()

            // The calendar: on a wide screen a month, on a narrow one a list by day.
            await page.goto(`${base}/drops?month=2030-12`)
            const bar = page.locator("a.bar")
            const entry = page.getByRole("region", { name: "Sat 7 December" }).getByRole("link")
            assert.deepStrictEqual([await bar.isVisible(), await entry.isVisible()], [width > 700, width < 700])
            await check("calendar")

            // The same again overlaps.
            await page.goto(`${base}/drops/new?store_id=${shop.id}&entity=${tent}`)
            assert.strictEqual(await page.getByLabel("Time zone").inputValue(), "Europe/Berlin")
            await page.getByLabel("Name").fill("Twice")
            await page.getByLabel("Starts").fill("2030-12-08T00:00")
            await page.getByLabel("Percent off").fill("30")
            await press(button("Review"))
            await page.getByText("Every change is made by another drop at an overlapping time").waitFor()
            assert.strictEqual(await button("Schedule the drop").count(), 0)
            await check("overlap")
            await press(button("Back to the form"))
            assert.strictEqual(await page.getByLabel("Percent off").inputValue(), "30")
          })
          const drops = yield* Effect.flatMap(Drops, ({ list }) => list).pipe(actingAs(actor))
          assert.deepStrictEqual(
            drops.map(({ changes, ends_at, name, starts_at }) => [name, starts_at, ends_at, changes.length]),
            [["Camp weekend", "2030-12-06T23:00:00.000000Z", "2030-12-08T23:00:00.000000Z", 6]]
          )
          // The console of the browser lists blocked content and failed requests. Refused forms are answered with 400, so these are expected.
          assertNoComplaints(complaints, 400)
        })
      )
  })
})
