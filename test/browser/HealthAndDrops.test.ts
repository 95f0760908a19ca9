import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Page } from "playwright-core"
import { Users } from "../../src/access/Users.ts"
import { Demo } from "../../src/demo/Demo.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { actingAs, anAccount, anEntity, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, assertAccessible, assertNoComplaints, openWindow } from "./PlaywrightBrowser.ts"

const password = "tern over tarn 1"

/** A window in which a user of the account has signed in. */
const signedIn = (accountId: AccountId, email: string, javaScriptEnabled: boolean) =>
  Effect.gen(function* () {
    const base = yield* BaseUrl
    const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email))
    const { complaints, page } = yield* openWindow(yield* aBrowserProgram, { javaScriptEnabled })
    yield* Effect.promise(async () => {
      await page.goto(`${base}/set-password?token=${Redacted.value(token)}`)
      await page.getByLabel("New password").fill(password)
      await page.getByRole("button", { name: "Set password and sign in" }).click()
    })
    return { base, complaints, page }
  })

/** The width of a small phone, or of a page at 400 % zoom. */
const assertNarrow = async (page: Page, name: string) => {
  await page.setViewportSize({ width: 320, height: 900 })
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
  assert.strictEqual(overflow, 0, `${name}, 320`)
  await page.setViewportSize({ width: 1_200, height: 900 })
}

const assertGood = async (page: Page, name: string) => {
  await assertAccessible(page, name)
  await assertNarrow(page, name)
}

describe.skipIf(!chromiumIsThere)("data health and drops in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("a merchant scans, opens one store, and goes through its issues", () =>
      Effect.gen(function* () {
        const { account } = yield* (yield* Demo).create
        // The server analyzes its tables within a minute. Until then a scan is slow, so the test does it now.
        yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`ANALYZE`)
        const { base, complaints, page } = yield* signedIn(account.id, "health@example.com", true)
        yield* Effect.promise(async () => {
          await page.getByRole("link", { name: "Data health" }).click()
          await page.waitForLoadState("load")
          assert.strictEqual(page.url(), `${base}/data-health`)
          assert.strictEqual(await page.getByText("Not scanned yet.").count(), 6)
          await assertGood(page, "health-never")

          await page.getByRole("button", { name: "Scan everything" }).click()
          await page.waitForLoadState("load")
          assert.strictEqual(await page.getByRole("status").textContent(), "Everything was scanned just now.")
          assert.strictEqual(await page.getByRole("img", { name: /^Score: \d+ of 100$/ }).count(), 6)
          await assertGood(page, "health")
          await page.getByText("By store: Completeness").click()
          await page.getByText("By field: Completeness").click()
          await assertGood(page, "health-open")

          // With the keyboard only: one store of one dimension.
          const card = page.getByRole("region", { name: "Completeness" })
          await card.getByLabel("Stores to scan").focus()
          await page.keyboard.press("ArrowDown")
          await page.keyboard.press("Tab")
          await page.keyboard.press("Enter")
          await page.waitForURL(/store_id=.*scanned=completeness#completeness$/)
          assert.strictEqual(await card.getByRole("status").textContent(), "Scanned just now.")
          await assertGood(page, "health-store")

          await card.getByRole("link", { name: "Recommended fields empty" }).click()
          assert.strictEqual(await page.getByRole("heading", { level: 1 }).textContent(), "Recommended fields empty")
          await assertGood(page, "issues-store")
          await page.getByRole("combobox", { name: "Issues" }).selectOption("sync-pending")
          await page.getByRole("combobox", { name: "Store" }).selectOption("")
          await page.getByRole("button", { name: "Show" }).click()
          await page.waitForLoadState("load")
          const rows = page.getByRole("row")
          assert.strictEqual(await rows.count(), 26)
          const pages = page.getByRole("navigation", { name: "Pages" })
          const [, last] = /Page 1 of (\d+)/.exec(String(await pages.textContent())) ?? []
          await page.getByRole("link", { name: "Next page" }).click()
          await assertGood(page, "issues-second")
          await page.getByRole("link", { name: "Last page" }).click()
          await page.waitForLoadState("load")
          assert.include(String(await pages.textContent()), `Page ${last} of ${last}`)
          assert.isAtLeast(await rows.count(), 2)

          await page.getByRole("combobox", { name: "Issues" }).selectOption("sync-failed")
          await page.getByRole("button", { name: "Show" }).click()
          await assertGood(page, "issues-failed")

          await page.getByRole("combobox", { name: "Issues" }).selectOption("divergence")
          await page.getByRole("button", { name: "Show" }).click()
          await assertGood(page, "issues-divergence")
          // With the keyboard only: chooses a store's value in the first row, and submits it.
          await page.getByRole("radio").first().focus()
          await page.keyboard.press("Space")
          await page.keyboard.press("Enter")
          await page.waitForURL(/section=divergence.*repaired=1$/)
          assert.match(String(await page.getByRole("status").textContent()), /^Repaired 1 of 1\./)
          await assertGood(page, "issues-repaired")
          await page.getByRole("combobox", { name: "Issues" }).selectOption("completeness-recommended")
          await page.getByRole("button", { name: "Show" }).click()
          await assertGood(page, "issues-fill")
          await page.getByRole("textbox", { name: / of / }).first().fill("kept text")
          await page.getByLabel("The same value for several rows").fill("Made by code")
          await page.getByRole("button", { name: "Put it into the empty rows" }).click()
          await assertGood(page, "issues-spread")
          await page.getByRole("combobox", { name: "Issues" }).selectOption("translations-untranslated")
          await page.getByRole("button", { name: "Show" }).click()
          await page.getByRole("combobox", { name: "Language" }).selectOption({ index: 1 })
          await page.getByRole("button", { name: "Show" }).click()
          assert.match(page.url(), /locale=\w+/)
          await assertGood(page, "issues-translations")
        })
        assertNoComplaints(complaints, 400, 404)
      })
    )

    it.scoped("the pages of drops", () =>
      Effect.gen(function* () {
        const { account } = yield* (yield* Demo).create
        const { base, complaints, page } = yield* signedIn(account.id, "more-drops@example.com", true)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/drops`)
          await assertGood(page, "drops")
          for (let month = 0; month < 3; month++) await page.getByRole("link", { name: /^Next month/ }).click()
          await assertGood(page, "drops-month")
          await page.getByRole("link", { name: "Scheduled and running" }).click()
          await assertGood(page, "drops-list")
          await page.getByRole("link", { name: "First snow prices" }).click()
          await assertGood(page, "drop-scheduled")
          await page.goto(`${base}/drops?view=ended`)
          await page.getByRole("link", { name: "Open hut weekend" }).click()
          await assertGood(page, "drop-over")
          await page.goto(`${base}/drops/new`)
          await assertGood(page, "drop-new")
        })
        assertNoComplaints(complaints, 400, 404)
      })
    )

    it.scoped("titles of any script and length fit on the page", () =>
      Effect.gen(function* () {
        const { accountId, actor, stores } = yield* anAccount({ domains: ["a.example"], name: "Tarn & Tern" })
        yield* Effect.gen(function* () {
          const ids = yield* Effect.forEach(
            ["<script>document.title = 'x'</script>", "x".repeat(4_096), "حذاء للمشي", "手机壳 🏔️", ""],
            (title) => anEntity("product", { title }, { on: stores })
          )
          yield* (yield* CatalogChanges).apply(
            ids.map((entityId) =>
              CatalogChange.SetOverrides({ entityId, storeId: stores[0].id, values: { vendor: "w".repeat(300) } })
            )
          )
        }).pipe(actingAs(actor), Effect.orDie)
        const { base, page } = yield* signedIn(accountId, "titles@example.com", true)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/data-health`)
          await page.getByRole("button", { name: "Scan everything" }).click()
          await page.goto(`${base}/data-health/issues?section=completeness-required`)
          assert.strictEqual(await page.title(), "Required fields empty - Catalog")
          assert.isAtLeast(await page.getByRole("row").count(), 6)
          await assertGood(page, "issues-titles")
        })
      })
    )

    it.scoped("after signing out, the Back button shows no earlier page", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount({ name: "Tarn & Tern" })
        const { base, page } = yield* signedIn(accountId, "gone@example.com", true)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/drops`)
          await page.getByRole("button", { name: "Sign out" }).click()
          await page.waitForURL(`${base}/sign-in**`)
          await page.goBack()
          assert.strictEqual(page.url(), `${base}/sign-in?return_to=%2Fdrops`)
        })
      })
    )
  })
})
