import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Page } from "playwright-core"
import { Imports } from "../../src/imports/Imports.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { Publishing } from "../../src/publishing/Publishing.ts"
import { actingAs } from "../../src/testing/index.ts"
import { aFailure, aMerchant, aReview, untilPhase } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

/** Marks the document, so that a reload would be noticed. */
const markDocument = (page: Page) => page.evaluate("window.mark = 'not reloaded'")
const assertNotReloaded = async (page: Page) => assert.strictEqual(await page.evaluate("window.mark"), "not reloaded")

describe.skipIf(!chromiumIsThere)("live updates in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("the progress of a job is updated and announced in place, and the person's input is kept", () =>
      Effect.gen(function* () {
        const { accountId, actor, cookie } = yield* aMerchant
        const jobs = yield* Jobs
        const repo = yield* JobsRepo
        const begin = (title: string) =>
          jobs.begin({ kind: "publish_waiting", title, subject: null, input: {}, total: 100 }).pipe(actingAs(actor))
        const { id } = yield* begin("Publish <all>")
        const save = (done: number, cursor: number | null) =>
          Effect.gen(function* () {
            const claimed = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
            yield* repo.save(claimed, { cursor, done, counts: {}, errors: [] }, 0)
          })
        const { base, complaints, page } = yield* openSignedIn(cookie)
        const said = page.locator("#live-says")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/jobs`)
          await markDocument(page)
          await page.getByLabel("Search products").fill("half a word")
          await page.getByRole("link", { name: "Publish <all>" }).focus()
        })
        yield* save(34, 1)
        yield* Effect.promise(async () => {
          await page.getByText("34 of 100 items").waitFor()
          assert.strictEqual(await page.locator("progress").getAttribute("value"), "34")
          assert.include(await said.textContent(), "Publish <all>: Running, 30 %.")
          assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Publish <all>")
          assert.strictEqual(await page.getByLabel("Search products").inputValue(), "half a word")
        })
        const second = yield* begin("Another")
        yield* Effect.promise(async () => {
          // The table has a new first row: the focus stays on the same link.
          await page.getByRole("link", { name: "Another" }).waitFor()
          assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Publish <all>")
          await assertNotReloaded(page)
          await assertAccessible(page, "jobs-live")

          await page.goto(`${base}/jobs/${second.id}`)
          await markDocument(page)
          await page.getByRole("button", { name: "Pause" }).focus()
        })
        yield* jobs.command("cancel", second.id).pipe(actingAs(actor))
        yield* Effect.promise(async () => {
          await page.getByText("Cancelled", { exact: true }).waitFor()
          // The focused button is gone, so the focus moves to the content of the page.
          await page.getByRole("button", { name: "Pause" }).waitFor({ state: "detached" })
          assert.strictEqual(await page.evaluate("document.activeElement.id"), "content")
          await assertNotReloaded(page)
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("an update keeps the focus in a cell, and the mark and the undo of the cell that was saved", () =>
      Effect.gen(function* () {
        const { actor, cookie, shop, tent } = yield* aMerchant
        const { base, complaints, page } = yield* openSignedIn(cookie)
        const changed = page.locator(`#cell-${shop.id}-title`).getByText("Changed", { exact: true })
        const link = `cell-${shop.id}-title-edit`
        yield* Effect.promise(async () => {
          await page.goto(`${base}/entity?id=${tent}`)
          await markDocument(page)
          await page.getByRole("link", { name: "Edit Title, Catalog" }).focus()
          await page.keyboard.press("F2")
          await page.getByRole("textbox", { name: "Title, Catalog" }).waitFor()
          // The caret is at the end of the value.
          await page.keyboard.type(", blue")
          await page.keyboard.press("Enter")
          await page.getByText("Saved", { exact: true }).waitFor()
          assert.strictEqual(await page.evaluate("document.activeElement.id"), "cell-catalog-title-edit")
          await changed.waitFor()
          await page.locator(`#${link}`).focus()
        })
        yield* Effect.gen(function* () {
          const { request, settle } = yield* Publishing
          const asked = yield* request(tent, shop.id)
          if (asked.outcome !== "nothing_to_publish") yield* settle([asked.publicationId], () => Effect.void)
        }).pipe(actingAs(actor))
        yield* Effect.promise(async () => {
          // The update takes away the state before the link, which moves it.
          await changed.waitFor({ state: "detached" })
          assert.strictEqual(await page.evaluate("document.activeElement.id"), link)
          assert.isTrue(await page.getByText("Saved", { exact: true }).isVisible())
          await page
            .getByRole("link", { name: "The tent, blue" })
            .or(page.getByText("The tent, blue"))
            .first()
            .waitFor()
          await page.getByRole("button", { name: "Undo: Title, Catalog" }).click()
          await page.getByText("has its earlier value again, saved as a draft").waitFor()
          assert.match((await page.locator("#cell-catalog-title").textContent()) ?? "", /^The tentSaved/)
          await assertNotReloaded(page)
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("a publish that fails is shown on the page of the product, and retried there", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { base, page } = yield* openSignedIn(merchant.cookie)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/entity?id=${merchant.stove}`)
          await markDocument(page)
        })
        yield* aFailure(merchant)
        yield* Effect.promise(async () => {
          await page.locator("strong", { hasText: "did not accept the last publish." }).waitFor()
          assert.include(await page.locator("#live-says").textContent(), "Failed.")
          await assertNotReloaded(page)
          await assertAccessible(page, "product-failed-live")
          await page
            .getByRole("button", { name: /^Retry/ })
            .first()
            .click()
          await page.getByText("was requested").waitFor()
          await assertNotReloaded(page)
        })
      })
    )

    it.scoped("the states in a list are updated in place, and the selected rows and the focus stay", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { base, page } = yield* openSignedIn(merchant.cookie)
        const row = page.locator("tbody tr", { hasText: "The stove" })
        yield* Effect.promise(async () => {
          await page.goto(`${base}/products`)
          await markDocument(page)
          assert.strictEqual(await row.getByText("Failed", { exact: true }).count(), 0)
          await row.getByRole("checkbox").check()
          await page.getByRole("checkbox", { name: "Select The tent" }).focus()
        })
        yield* aFailure(merchant)
        yield* Effect.promise(async () => {
          await row.getByText("Failed", { exact: true }).waitFor()
          assert.isTrue(await row.getByRole("checkbox").isChecked())
          assert.strictEqual(
            await page.evaluate("document.activeElement.getAttribute('aria-label')"),
            "Select The tent"
          )
          await page.getByText("1 of 2 selected", { exact: true }).waitFor()
          await assertNotReloaded(page)
        })
      })
    )

    it.scoped("the progress of an import, and other users' decisions, appear in place", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { actor, cookie, firstImport } = merchant
        const imports = yield* Imports
        const sql = yield* SqlClient.SqlClient
        const { base, complaints, page } = yield* openSignedIn(cookie)
        const said = page.locator("#live-says")
        const comparing = (done: number) => sql`
          UPDATE import_run
          SET phase = 'fetching', step = 'comparing', step_done = ${done}, step_total = 4000, step_began_at = app_now(),
              lease_until = app_now() + interval '1 hour'
          WHERE id = ${firstImport}`
        yield* comparing(100)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/import?id=${firstImport}`)
          await page.getByText("100 of 4,000 records").waitFor()
          await markDocument(page)
        })
        yield* comparing(1000)
        yield* Effect.promise(async () => {
          await page.getByText("1,000 of 4,000 records").waitFor()
          assert.strictEqual(await page.locator("progress").getAttribute("value"), "1000")
          assert.include(await said.textContent(), "Comparing with the catalog: 20 %.")
          await assertNotReloaded(page)
          await assertAccessible(page, "import-progress-live")
        })
        yield* sql`UPDATE import_run SET phase = 'applied', lease_until = NULL WHERE id = ${firstImport}`

        const id = yield* aReview(merchant)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/import?id=${id}`)
          await markDocument(page)
          await page.getByText("3 undecided.").waitFor()
        })
        yield* imports.decide(id, [1], "take_store").pipe(actingAs(actor))
        const groups = page.locator("fieldset.conflict")
        const draft = groups.nth(1).getByRole("radio", { name: "Keep our draft" })
        yield* Effect.promise(async () => {
          await page.getByText("2 undecided.").waitFor()
          assert.isTrue(await groups.first().getByRole("radio", { name: "Take the store's value" }).isChecked())
          await draft.check()
        })
        // The form is in use, so it is not updated; when it is sent, its values are compared with those that it
        // showed.
        yield* imports.decide(id, [2], "take_store").pipe(actingAs(actor))
        yield* Effect.promise(async () => {
          assert.isTrue(await draft.isChecked())
          await assertNotReloaded(page)
          await page.getByRole("button", { name: "Save decisions" }).click()
          await page.getByText("You chose: Keep our draft.").waitFor()
          assert.include(await page.getByRole("alert").first().textContent(), "Not saved: 1 conflict was decided")
          await assertAccessible(page, "import-decided-meanwhile")
        })
        assertNoComplaints(complaints, 400)
      })
    )

    it.scoped("a window whose session has ended says so and keeps typed text", () =>
      Effect.gen(function* () {
        const { actor, cookie } = yield* aMerchant
        const jobs = yield* Jobs
        const { base, page } = yield* openSignedIn(cookie)
        yield* Effect.promise(async () => {
          await page.goto(`${base}/jobs`)
          await page.getByLabel("Search products").fill("half a word")
          await page.context().clearCookies()
        })
        yield* jobs
          .begin({ kind: "publish_waiting", title: "Late", subject: null, input: {}, total: 1 })
          .pipe(actingAs(actor))
        yield* Effect.promise(async () => {
          await page.getByText("Your session has ended. Sign in again to go on: what you typed stays here.").waitFor()
          assert.strictEqual(await page.getByLabel("Search products").inputValue(), "half a word")
          await assertAccessible(page, "session-ended-live")
        })
      })
    )

    it.scoped("an import is decided and accepted without JavaScript", () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const id = yield* aReview(merchant)
        const { base, complaints, page } = yield* openSignedIn(merchant.cookie, { javaScriptEnabled: false })
        const groups = page.locator("fieldset.conflict")
        yield* Effect.promise(async () => {
          await page.goto(`${base}/import?id=${id}`)
          await page.getByRole("link", { name: /^Changed/ }).click()
          await page.getByRole("link", { name: "The stove" }).waitFor()
          await page.getByRole("link", { name: /^Conflicts/ }).click()
          await groups.nth(2).getByRole("radio", { name: "Keep our draft" }).check()
          await page.getByRole("button", { name: "Save decisions" }).click()
          await page.getByText("2 undecided.").waitFor()
          await page.getByRole("button", { name: "Take every value of the store" }).click()
          await page.getByText("All are decided.").waitFor()
          assert.isTrue(await groups.nth(2).getByRole("radio", { name: "Keep our draft" }).isChecked())
          await page
            .getByRole("checkbox", {
              name: "“Keep every draft” replaces 2 decisions, “Take every value of the store” replaces 1 decision"
            })
            .check()
          await page.getByRole("button", { name: "Take every value of the store" }).click()
          await page.getByText("All are decided.").waitFor()
          assert.isTrue(await groups.nth(2).getByRole("radio", { name: "Take the store's value" }).isChecked())
          await page.getByRole("button", { name: "Accept the import" }).click()
          await page.getByText("The import is accepted.").waitFor()
        })
        yield* untilPhase(merchant, id, "applied")
        assertNoComplaints(complaints)
      })
    )

    it.scoped("without JavaScript the page is reloaded", () =>
      Effect.gen(function* () {
        const { actor, cookie } = yield* aMerchant
        const jobs = yield* Jobs
        const { base, complaints, page } = yield* openSignedIn(cookie, { javaScriptEnabled: false })
        yield* Effect.promise(() => page.goto(`${base}/jobs`))
        yield* jobs
          .begin({ kind: "publish_waiting", title: "Quiet", subject: null, input: {}, total: 1 })
          .pipe(actingAs(actor))
        yield* Effect.promise(async () => {
          await page.reload()
          await page.getByRole("link", { name: "Quiet" }).waitFor()
        })
        assertNoComplaints(complaints)
      })
    )
  })
})
