import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page, Request } from "playwright-core"
import { actingAs, anEntity, CatalogChange, CatalogChanges, Drafts } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { allowRoutes, assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

/** Holds the requests of a page to these addresses until `release`, which lets later ones pass at once. `first`: the first of them. */
const hold = async (page: Page, address: RegExp, isHeld: (request: Request) => boolean = () => true) => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(address, async (route) => {
    if (!isHeld(route.request())) return route.continue()
    await released
    await route.fallback().catch(() => {})
  })
  const first = page.waitForRequest((request) => address.test(request.url()) && isHeld(request))
  // A test may end before the first request.
  first.catch(() => {})
  return { first, release }
}

const isPost = (request: Request) => request.method() === "POST"

/** Cuts the connection of the page's requests to these addresses. The result restores it. */
const cut = async (page: Page, isCut: (request: Request) => boolean) => {
  const address = /\/(?:entity|edit|publish|undo)/
  await page.route(address, (route) =>
    isCut(route.request()) ? route.abort("internetdisconnected") : route.continue()
  )
  return () => page.unroute(address)
}

const failed = "The connection to the service failed. What you typed stays here."

/** The alert of a failed connection. */
const failure = (page: Page) => page.getByRole("alert").filter({ hasText: failed })
const tryAgain = (page: Page) => failure(page).getByRole("button", { name: "Try again" })

/** Without the note of the browser that a test cut the connection. */
const withoutCuts = (complaints: ReadonlyArray<string>) =>
  complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"))

/** The page of the stove, with five pictures. */
const theStove = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, shop, stove } = merchant
  yield* Effect.gen(function* () {
    const ids = yield* Effect.forEach(["Front", "Side", "Back", "Lid"], (alt) =>
      anEntity("media", { alt, url: `https://shop.example/${alt}.jpg` })
    )
    yield* (yield* CatalogChanges).apply([
      CatalogChange.SetGallery({ entityId: stove, entries: ids.map((mediaId) => ({ mediaId, storeIds: [shop.id] })) })
    ])
  }).pipe(actingAs(actor))
  const window = yield* openSignedIn(merchant.cookie)
  const { page } = window
  yield* Effect.promise(async () => {
    await allowRoutes(page)
    await page.goto(`${window.base}/entity?id=${stove}`)
  })
  const valueOf = (key: string) =>
    Effect.flatMap(Drafts, (drafts) => drafts.get(stove, null)).pipe(
      Effect.map(({ attributes }) => attributes.find((each) => each.key === key)?.value),
      actingAs(actor)
    )
  const edit = (name: string) => page.getByRole("link", { name: `Edit ${name}, Catalog`, exact: true })
  const field = (name: string) => page.getByRole("textbox", { name: `${name}, Catalog`, exact: true })
  return { ...merchant, ...window, edit, field, valueOf }
})

/** Does this on the page of the stove, where the browser must report no error. */
const onTheStove = (use: (stove: Effect.Effect.Success<typeof theStove>) => Promise<void>) =>
  Effect.map(
    Effect.tap(theStove, (stove) => Effect.promise(() => use(stove))),
    ({ complaints }) => assertNoComplaints(complaints)
  )

describe.skipIf(!chromiumIsThere)("a page whose service answers late", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("text that is typed elsewhere stays there when a cell opens", () =>
      onTheStove(async ({ edit, field, page }) => {
        const { first, release } = await hold(page, /edit=title/)
        await edit("Title").click()
        await first
        const search = page.getByLabel("Search products")
        await search.focus()
        await page.keyboard.type("half")
        release()
        await field("Title").waitFor()
        await page.keyboard.type(" a word")
        assert.strictEqual(await search.inputValue(), "half a word")
        assert.strictEqual(await field("Title").inputValue(), "The stove")
      })
    )

    it.scoped("a cell that is chosen while another one is saved opens after it", () =>
      Effect.gen(function* () {
        const { complaints, edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await edit("Title").click()
          await field("Title").fill("Kestrel")
          const { first, release } = await hold(page, /edit|entity/, isPost)
          await page.keyboard.press("Enter")
          await first
          await edit("Vendor").click()
          release()
          await field("Vendor").waitFor()
          await page.keyboard.type("!")
          assert.match(await field("Vendor").inputValue(), /!$/)
        })
        assert.strictEqual(yield* valueOf("title"), "Kestrel")
        assertNoComplaints(complaints)
      })
    )

    it.scoped("keys that are typed before cells open get to them, also those behind Tab, and Enter saves", () =>
      Effect.gen(function* () {
        const { complaints, edit, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          const { first, release } = await hold(page, /edit=title/)
          await edit("Title").click()
          await first
          // "/" is the shortcut of the search where no cell is about to open.
          for (const key of ["Control+a", "K", "i", "t", "Backspace", "t", "e", "/", "2", "Tab", "Control+a"])
            await page.keyboard.press(key)
          await page.keyboard.type("kite")
          await page.keyboard.press("Enter")
          release()
          await page.getByText("Handle, Catalog: saved as a draft.").waitFor()
        })
        assert.deepStrictEqual([yield* valueOf("title"), yield* valueOf("handle")], ["Kite/2", "kite"])
        assertNoComplaints(complaints)
      })
    )

    it.scoped("keys that are typed before a refused cell comes back are not added to it", () =>
      Effect.gen(function* () {
        const { complaints, edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await edit("Title").click()
          await field("Title").fill("x".repeat(300))
          const { first, release } = await hold(page, /edit|entity/, isPost)
          await page.keyboard.press("Tab")
          await first
          await page.keyboard.type("Tarn")
          release()
          await page.locator("[aria-invalid=true]").waitFor()
          assert.strictEqual(await field("Title").inputValue(), "x".repeat(300))
        })
        assert.strictEqual(yield* valueOf("title"), "The stove")
        assertNoComplaints(complaints, 400)
      })
    )

    it.scoped("keys that are typed before a lost answer come when the save is tried again", () =>
      onTheStove(async ({ complaints, edit, field, page }) => {
        await edit("Title").click()
        await field("Title").fill("Kestrel")
        const restore = await cut(page, isPost)
        const { first, release } = await hold(page, /entity/, isPost)
        await page.keyboard.press("Tab")
        await first
        await page.keyboard.type("!")
        release()
        await failure(page).waitFor()
        assert.strictEqual(await field("Title").inputValue(), "Kestrel")
        await restore()
        await tryAgain(page).click()
        await field("Handle").waitFor()
        assert.match(await field("Handle").inputValue(), /!$/)
        complaints.splice(0, complaints.length, ...withoutCuts(complaints))
      })
    )

    it.scoped("an undo that is clicked while another cell opens follows it", () =>
      Effect.gen(function* () {
        const { complaints, edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await edit("Title").click()
          await field("Title").fill("Kestrel")
          await page.keyboard.press("Enter")
          const undo = page.getByRole("button", { name: "Undo: Title, Catalog" })
          await undo.waitFor()
          const { first, release } = await hold(page, /edit=vendor/)
          await edit("Vendor").click()
          await first
          await undo.click()
          release()
          await page.getByText("has its earlier value again").waitFor()
        })
        assert.strictEqual(yield* valueOf("title"), "The stove")
        assertNoComplaints(complaints)
      })
    )

    it.scoped("the browser asks before a page with a changed cell is left", () =>
      onTheStove(async ({ edit, field, page }) => {
        const leave = () => page.evaluate("document.querySelector('nav a[href=\"/jobs\"]').click()")
        await edit("Title").click()
        await field("Title").fill("Kestrel")
        const asked = page.waitForEvent("dialog")
        const isLeft = leave()
        const dialog = await asked
        assert.strictEqual(dialog.type(), "beforeunload")
        await dialog.dismiss()
        await isLeft
        assert.strictEqual(await field("Title").inputValue(), "Kestrel")
        await field("Title").fill("The stove")
        await leave()
        await page.waitForURL(/jobs$/)
      })
    )

    it.scoped("of two cells that are chosen one after the other the second one opens", () =>
      onTheStove(async ({ edit, field, page }) => {
        const { first, release } = await hold(page, /edit=title/)
        await edit("Title").click()
        await first
        await edit("Vendor").click()
        release()
        await field("Vendor").waitFor()
        assert.strictEqual(await field("Title").count(), 0)
      })
    )

    it.scoped("an open cell takes no text while an answer that closes it is on its way", () =>
      onTheStove(async ({ edit, field, page }) => {
        await edit("Title").click()
        await field("Title").waitFor()
        const { first, release } = await hold(page, /edit=vendor/)
        await edit("Vendor").click()
        await first
        await field("Title").focus()
        await page.keyboard.type("lost")
        assert.strictEqual(await field("Title").inputValue(), "The stove")
        release()
        await field("Vendor").waitFor()
      })
    )

    it.scoped("a description takes no text while it is saved", () =>
      onTheStove(async ({ base, page, stove }) => {
        await page.goto(`${base}/entity?id=${stove}&edit=description_html`)
        const surface = page.locator("[data-surface]")
        const area = page.locator("textarea[name=value]")
        await surface.waitFor()
        await surface.focus()
        await page.keyboard.type("Burns gas")
        const { first, release } = await hold(page, /entity/, isPost)
        await page.keyboard.press("Control+Enter")
        await first
        await surface.focus()
        await page.keyboard.type(" and wood")
        await page.keyboard.press("Control+a")
        await page.keyboard.press("Control+b")
        assert.strictEqual(await area.inputValue(), "<p>Burns gas</p>")
        assert.strictEqual(await surface.textContent(), "Burns gas")
        release()
        await page.waitForURL(/#cell-/)
      })
    )

    it.scoped("a picture is not moved while the move of another one is saved", () =>
      onTheStove(async ({ page }) => {
        await page.getByRole("button", { name: /^Drag Front/ }).waitFor()
        // Playwright's own keys would wait for the answer to the first move.
        await page.evaluate(`for (const name of ["Front", "Side"]) {
            const handle = document.querySelector('[data-name="' + name + '"] [data-handle]')
            handle.focus()
            for (const key of [" ", "End", " "])
              handle.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }))
          }`)
        await page.getByText("saved as a draft.").waitFor()
        const names = page.locator("ol.gallery > li")
        const order = await names.evaluateAll((pictures) => pictures.map((each) => each.getAttribute("data-name")))
        assert.deepStrictEqual(order, ["Side", "Back", "Lid", "Front"])
      })
    )

    it.scoped("a save without a connection keeps what was typed, says so, and can be tried again", () =>
      Effect.gen(function* () {
        const { complaints, edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await page.evaluate("window.mark = 'not reloaded'")
          await edit("Title").click()
          await field("Title").fill("Kestrel")
          const restore = await cut(page, isPost)
          await page.keyboard.press("Enter")
          await failure(page).waitFor()
          assert.strictEqual(await failure(page).locator("p").textContent(), failed)
          await assertAccessible(page, "failed-save")
          // The cell has the focus again, and takes text.
          await page.keyboard.type("!")
          assert.strictEqual(await field("Title").inputValue(), "Kestrel!")
          await tryAgain(page).click()
          await failure(page).waitFor()
          assert.strictEqual(await field("Title").inputValue(), "Kestrel!")
          await restore()
          await tryAgain(page).click()
          await page.getByText("Title, Catalog: saved as a draft.").waitFor()
          assert.strictEqual(await failure(page).count(), 0)
          assert.strictEqual(await page.evaluate("window.mark"), "not reloaded")
        })
        assert.strictEqual(yield* valueOf("title"), "Kestrel!")
        assertNoComplaints(withoutCuts(complaints))
      })
    )

    it.scoped("a cell, an undo and a review that are not reached leave the page as it is, and are tried again", () =>
      Effect.gen(function* () {
        const { complaints, edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await page.evaluate("window.mark = 'not reloaded'")
          let restore = await cut(page, (request) => request.resourceType() === "fetch")
          const onceMore = async () => {
            await failure(page).waitFor()
            await restore()
            await tryAgain(page).click()
          }
          await edit("Title").click()
          await onceMore()
          await field("Title").fill("Kestrel")
          await page.keyboard.press("Enter")
          await page.getByText("Title, Catalog: saved as a draft.").waitFor()
          restore = await cut(page, isPost)
          await page.getByRole("button", { name: "Undo: Title, Catalog" }).click()
          await onceMore()
          await page.getByText("has its earlier value again").waitFor()
          restore = await cut(page, (request) => request.resourceType() === "fetch")
          await page.getByRole("link", { name: /^Review and publish/ }).click()
          await onceMore()
          const dialog = page.getByRole("dialog")
          await dialog.waitFor()
          restore = await cut(page, isPost)
          await dialog.getByRole("button", { name: "Publish to the chosen stores" }).click()
          // What is outside of the open review cannot be used.
          await dialog.getByText(failed).waitFor()
          await onceMore()
          await page.getByText("was requested").waitFor()
          assert.strictEqual(await page.evaluate("window.mark"), "not reloaded")
        })
        assert.strictEqual(yield* valueOf("title"), "The stove")
        assertNoComplaints(withoutCuts(complaints))
      })
    )

    it.scoped("a service behind a proxy that does not reach it takes no text away", () =>
      onTheStove(async ({ complaints, edit, field, page }) => {
        await edit("Title").click()
        await field("Title").fill("Kestrel")
        await page.route(/entity/, (route) =>
          isPost(route.request())
            ? route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" })
            : route.continue()
        )
        await page.keyboard.press("Enter")
        await failure(page).waitFor()
        assert.strictEqual(await field("Title").inputValue(), "Kestrel")
        assert.match(complaints.splice(0).join(), /^Failed to load resource: the server responded with a status of 502/)
      })
    )

    it.scoped("a save whose answer never comes can be tried again after a minute", () =>
      Effect.gen(function* () {
        const { complaints, edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await edit("Title").click()
          await field("Title").fill("Kestrel")
          await page.evaluate(`AbortSignal.timeout = (millis) => {
            window.minute = Object.assign(new AbortController(), { millis })
            return window.minute.signal
          }`)
          const { first, release } = await hold(page, /entity/, isPost)
          await page.keyboard.press("Enter")
          await first
          assert.strictEqual(await page.evaluate("window.minute.millis"), 60_000)
          await page.evaluate("window.minute.abort()")
          await failure(page).waitFor()
          assert.strictEqual(await field("Title").inputValue(), "Kestrel")
          release()
          await tryAgain(page).click()
          await field("Title").waitFor({ state: "detached" })
        })
        assert.strictEqual(yield* valueOf("title"), "Kestrel")
        assertNoComplaints(complaints)
      })
    )

    it.scoped("a save whose answer is lost is sent again without a conflict", () =>
      Effect.gen(function* () {
        const { edit, field, page, valueOf } = yield* theStove
        yield* Effect.promise(async () => {
          await edit("Title").click()
          await field("Title").fill("Kestrel")
          let isFirst = true
          await page.route(/entity/, async (route) => {
            if (!isPost(route.request()) || !isFirst) return route.continue()
            isFirst = false
            await route.fetch({ maxRedirects: 0 })
            await route.abort("connectionreset")
          })
          await page.keyboard.press("Enter")
          await tryAgain(page).click()
          await page.getByRole("heading", { level: 1, name: "Kestrel" }).waitFor()
          await field("Title").waitFor({ state: "detached" })
          assert.strictEqual(await page.getByText("while you were typing").count(), 0)
        })
        assert.strictEqual(yield* valueOf("title"), "Kestrel")
      })
    )
  })
})
