import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page, Request } from "playwright-core"
import { actingAs, CatalogChange, CatalogChanges, Stores } from "../../src/testing/index.ts"
import { aMerchant } from "../console/Merchant.ts"
import { PagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { assertAccessible, assertNoComplaints, openSignedIn } from "./PlaywrightBrowser.ts"

const stored =
  '<h2>Stove</h2>\n<p>Burns  <strong>gas</strong> &amp; w&ouml;od.<br/>Folds.</p>\n\n<ul>\n  <li>one</li>\n  <li><a href="https://tarn.example/?a=1&b=2" title="x">two</a></li>\n</ul>\n<p>Last&nbsp;line</p>\n'

/** A page of a browser that edits the description of the stove. */
const editing = (
  html: string,
  {
    javaScriptEnabled = true,
    languages = "en"
  }: { readonly javaScriptEnabled?: boolean; readonly languages?: string } = {}
) =>
  Effect.gen(function* () {
    const { actor, cookie, stove } = yield* aMerchant
    const { apply } = yield* CatalogChanges
    const { link } = yield* Stores
    const gulf = yield* Effect.gen(function* () {
      const { store } = yield* link({ domain: "gulf.example", currency: "AED", primaryLocale: "ar-AE" })
      yield* apply([
        CatalogChange.SetAttributes({ entityId: stove, values: { description_html: html } }),
        CatalogChange.AddToStore({ entityId: stove, storeId: store.id }),
        CatalogChange.SetOverrides({ entityId: stove, storeId: store.id, values: { description_html: "<p>يحرق</p>" } })
      ])
      return store.id
    }).pipe(actingAs(actor), Effect.orDie)
    const window = yield* openSignedIn(cookie, {
      javaScriptEnabled,
      extraHTTPHeaders: { "accept-language": languages }
    })
    const { base, page } = window
    /** The descriptions that forms sent. */
    const sent: Array<string | null> = []
    page.on("request", (request: Request) => {
      if (request.method() === "POST") sent.push(new URLSearchParams(request.postData() ?? "").get("value"))
    })
    yield* Effect.promise(() => page.goto(`${base}/entity?id=${stove}&edit=description_html`))
    return { ...window, gulf, sent, stove }
  })

const surface = (page: Page) => page.locator("[data-surface]")
const area = (page: Page) => page.locator("textarea[name=value]")
const button = (page: Page, name: string) =>
  page.getByRole("toolbar", { name: /^Format of/ }).getByRole("button", { name, exact: true })

const save = async (page: Page) => {
  await page.getByRole("button", { name: "Save draft" }).click()
  await page.waitForURL(/#cell-/)
}

/** Puts the cursor at the end of a text, or selects it, as soon as the editor shows the text. */
const select = async (page: Page, text: string, how: "end" | "all" = "all") => {
  await surface(page).filter({ hasText: text }).waitFor()
  return page.evaluate(`(() => {
    const root = document.querySelector("[data-surface]")
    root.focus()
    const texts = document.createNodeIterator(root, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const at = node.data.indexOf(${JSON.stringify(text)})
      if (at < 0) continue
      const end = at + ${text.length}
      getSelection().setBaseAndExtent(node, ${how === "all" ? "at" : "end"}, node, end)
      return
    }
    throw new Error("no such text")
  })()`)
}

const pasteHtml = (page: Page, html: string) =>
  page.evaluate(`(() => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/html", ${JSON.stringify(html)})
    document.querySelector("[data-surface]").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
  })()`)

describe.skipIf(!chromiumIsThere)("the editor of a description in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("a text that nobody changed is sent byte for byte, and changed blocks leave the others as they are", () =>
      Effect.gen(function* () {
        const { base, complaints, page, sent, stove } = yield* editing(stored)
        yield* Effect.promise(async () => {
          const text = surface(page)
          await text.waitFor()
          assert.isFalse(await area(page).isVisible())
          await page.locator("[data-surface]:focus").waitFor()
          assert.strictEqual(await text.locator("li").count(), 2)
          // Typed and deleted again.
          await select(page, "Folds.", "end")
          await page.keyboard.type("!")
          assert.include(await area(page).inputValue(), "Folds.!</p>")
          await page.keyboard.press("Backspace")
          await save(page)
          assert.strictEqual(sent.at(-1)?.replaceAll("\r\n", "\n"), stored)
          await page.goto(`${base}/entity?id=${stove}&edit=description_html`)
          await select(page, "two", "end")
          await page.keyboard.press("End")
          await page.keyboard.press("Enter")
          await page.keyboard.type("three")
          await save(page)
          assert.strictEqual(
            sent.at(-1)?.replaceAll("\r\n", "\n"),
            stored.replace(
              /<ul>[\s\S]*<\/ul>/,
              '<ul><li>one</li><li><a href="https://tarn.example/?a=1&amp;b=2" title="x">two</a></li><li>three</li></ul>'
            )
          )
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("formats by mouse: bold, italic, headings, lists, links, undo and redo", () =>
      Effect.gen(function* () {
        const { complaints, page } = yield* editing("<p>Burns gas</p>\n<p>Folds flat</p>")
        yield* Effect.promise(async () => {
          const value = () => area(page).inputValue()
          await select(page, "gas")
          await button(page, "Bold").click()
          assert.strictEqual(await value(), "<p>Burns <strong>gas</strong></p>\n<p>Folds flat</p>")
          assert.strictEqual(await button(page, "Bold").getAttribute("aria-pressed"), "true")
          await button(page, "Italic").click()
          assert.match(await value(), /^<p>Burns <(strong|em)><(strong|em)>gas</)
          await button(page, "Undo").click()
          await button(page, "Undo").click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<p>Folds flat</p>")
          await button(page, "Redo").click()
          assert.include(await value(), "<strong>gas</strong>")
          await button(page, "Undo").click()
          await select(page, "Folds flat")
          await button(page, "Heading").click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<h2>Folds flat</h2>")
          assert.strictEqual(await button(page, "Heading").getAttribute("aria-pressed"), "true")
          await button(page, "Heading").click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<p>Folds flat</p>")
          await button(page, "Numbered list").click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<ol><li>Folds flat</li></ol>")
          await button(page, "Bulleted list").click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<ul><li>Folds flat</li></ul>")
          await button(page, "Bulleted list").click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<p>Folds flat</p>")
          await select(page, "flat")
          await button(page, "Link").click()
          const address = page.getByLabel("Address of the link")
          await address.fill("javascript:alert(1)")
          await page.getByRole("button", { name: "Set link" }).click()
          assert.strictEqual(
            await page.locator("[data-misfit]").textContent(),
            "The address must begin with https://, http://, mailto:, tel:, / or #."
          )
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<p>Folds flat</p>")
          await address.fill("https://tarn.example/")
          await page.getByRole("button", { name: "Set link" }).click()
          assert.strictEqual(await value(), '<p>Burns gas</p>\n<p>Folds <a href="https://tarn.example/">flat</a></p>')
          await select(page, "flat", "end")
          await button(page, "Link").click()
          assert.strictEqual(await address.inputValue(), "https://tarn.example/")
          await page.getByRole("button", { name: "Remove link" }).click()
          assert.strictEqual(await value(), "<p>Burns gas</p>\n<p>Folds flat</p>")
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("can be used with the keyboard only", () =>
      Effect.gen(function* () {
        const { complaints, page, sent } = yield* editing("")
        yield* Effect.promise(async () => {
          await surface(page).waitFor()
          const focused = () => page.evaluate("document.activeElement?.getAttribute('aria-label')")
          await page.locator("[data-surface]:focus").waitFor()
          await page.keyboard.type("Burns ")
          await page.keyboard.press("Control+b")
          await page.keyboard.type("gas")
          await page.keyboard.press("Control+b")
          await page.keyboard.press("Enter")
          await page.keyboard.press("Control+Shift+Digit8")
          await page.keyboard.type("one")
          await page.keyboard.press("Shift+Home")
          await page.keyboard.press("Control+k")
          await page.keyboard.type("/pages/one")
          await page.keyboard.press("Enter")
          assert.strictEqual(
            await area(page).inputValue(),
            '<p>Burns <strong>gas</strong></p>\n<ul><li><a href="/pages/one">one</a></li></ul>'
          )
          // The toolbar is one stop of Tab; arrows move in it, and Escape in the form of a link returns to the text.
          await page.keyboard.press("Shift+Tab")
          assert.strictEqual(await page.evaluate("document.activeElement?.textContent"), "HTML")
          await page.keyboard.press("Home")
          assert.strictEqual(await focused(), "Bold")
          await page.keyboard.press("ArrowRight")
          assert.strictEqual(await focused(), "Italic")
          await page.keyboard.press("End")
          await page.keyboard.press("ArrowLeft")
          assert.strictEqual(await focused(), "Redo")
          await page.keyboard.press("Tab")
          assert.strictEqual(await focused(), "Description, Catalog")
          await page.keyboard.press("Control+k")
          await page.keyboard.press("Escape")
          assert.strictEqual(await focused(), "Description, Catalog")
          // Tab saves a changed value, as in every cell.
          await page.keyboard.press("Tab")
          await page.waitForURL((url) => !url.search.includes("edit=description_html"))
          assert.strictEqual(
            sent.at(-1)?.replaceAll("\r\n", "\n"),
            '<p>Burns <strong>gas</strong></p>\n<ul><li><a href="/pages/one">one</a></li></ul>'
          )
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("letters that were typed before the editor opens stay before those typed after it", () =>
      Effect.gen(function* () {
        const { page } = yield* editing("")
        yield* Effect.promise(async () => {
          let open = () => {}
          const opens = new Promise<void>((resolve) => {
            open = resolve
          })
          await page.route(/richtext/, async (route) => {
            await opens
            await route.continue()
          })
          await page.reload({ waitUntil: "domcontentloaded" })
          // The browser moves the focus when it draws the page.
          await page.locator("textarea[name=value]:focus").waitFor()
          await page.keyboard.type("Bur")
          assert.strictEqual(await area(page).inputValue(), "Bur")
          assert.isFalse(await surface(page).isVisible())
          open()
          await surface(page).waitFor()
          await page.keyboard.type("ns")
          assert.strictEqual(await area(page).inputValue(), "<p>Burns</p>")
        })
      })
    )

    it.scoped("hostile markup neither runs nor loads anything, and is removed from pasted text", () =>
      Effect.gen(function* () {
        const attack = "window.attacked = true"
        const hostile = [
          `<p>a</p><script>${attack}</script>`,
          `<img src="x" onerror="${attack}"><p>b</p>`,
          `<svg><style><img src=x onerror="${attack}"></style></svg>`,
          `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${attack}&gt;">`,
          `<p onclick="${attack}" style="position:fixed;inset:0">c</p>`,
          `<p>d</p><a href="java&#10;script:${attack}">link</a>`,
          `<iframe srcdoc="<script>parent.attacked = true</script>"></iframe>`,
          `<form action="https://evil.example"><input name="csrf"></form></textarea><script>${attack}</script>`,
          `<p/onfocus=${JSON.stringify(attack)} autofocus tabindex=1>e</p>`,
          `<details open ontoggle="${attack}">f`
        ]
        for (const text of hostile) {
          const { complaints, page, sent } = yield* editing(text)
          yield* Effect.promise(async () => {
            const reason = page.locator("[data-reason]")
            await reason.waitFor()
            assert.match(String(await reason.textContent()), /^Shown as HTML, because the editor would /, text)
            assert.isFalse(await surface(page).isVisible(), text)
            assert.strictEqual(await area(page).inputValue(), text)
            await save(page)
            assert.strictEqual(sent.at(-1), text)
            assert.isUndefined(await page.evaluate("window.attacked"), text)
          })
          assert.deepStrictEqual(complaints, [], text)
        }
        const { complaints, page } = yield* editing("<p>Safe</p>")
        yield* Effect.promise(async () => {
          for (const text of hostile) {
            await select(page, "Safe", "end")
            await pasteHtml(page, text)
          }
          assert.isUndefined(await page.evaluate("window.attacked"))
          assert.strictEqual(await surface(page).locator(":not(p, a, br, h1, h2, h3, ul, ol, li, div)").count(), 0)
          assert.notMatch(await area(page).inputValue(), /script|onerror|style|iframe|onclick|<form|<img/i)
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("pasted text keeps what the editor knows", () =>
      Effect.gen(function* () {
        const { complaints, page } = yield* editing("<p>Start</p>")
        yield* Effect.promise(async () => {
          await select(page, "Start", "end")
          await pasteHtml(
            page,
            '<meta charset="utf-8"><div class="x"><div style="color:red">One <b style="font-weight:400">bold</b></div><div>Two</div></div><table><tr><td>cell</td></tr></table><ul><li style="x">item</li></ul>'
          )
          assert.strictEqual(
            await area(page).inputValue(),
            "<p>StartOne <strong>bold</strong></p>\n<p>Two</p>\n<p>cell</p>\n<ul><li>item</li></ul>"
          )
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("a text that the editor cannot keep is edited as HTML, and the page says why", () =>
      Effect.gen(function* () {
        const text = '<table class="sizes"><tr><td>S</td></tr></table>\n<p>after</p>'
        const { complaints, page, sent } = yield* editing(text)
        yield* Effect.promise(async () => {
          const reason = page.locator("[data-reason]")
          await reason.waitFor()
          assert.strictEqual(
            await reason.textContent(),
            "Shown as HTML, because the editor would lose parts of it: <table>, class, <tr>, <td>"
          )
          assert.strictEqual(await area(page).inputValue(), text)
          await page.locator("[name=value]:focus").waitFor()
          // The text can be changed so that the editor can show it.
          await button(page, "HTML").click()
          assert.isTrue(await area(page).isVisible())
          await area(page).fill("<p>after</p>")
          await button(page, "HTML").click()
          await surface(page).waitFor()
          assert.isFalse(await reason.isVisible())
          await button(page, "HTML").click()
          assert.strictEqual(await area(page).inputValue(), "<p>after</p>")
          await area(page).fill("<p>after<p>that")
          await button(page, "HTML").click()
          assert.strictEqual(
            await reason.textContent(),
            "Shown as HTML, because the editor would write it differently."
          )
          await save(page)
          assert.strictEqual(sent.at(-1), "<p>after<p>that")
        })
        assertNoComplaints(complaints)
      })
    )

    it.scoped("is a text area without JavaScript", () =>
      Effect.gen(function* () {
        const { page, sent } = yield* editing(stored, { javaScriptEnabled: false })
        yield* Effect.promise(async () => {
          assert.isFalse(await page.locator("[data-rich]").isVisible())
          assert.strictEqual(await area(page).inputValue(), stored)
          await area(page).fill("<p>By hand</p>")
          await save(page)
          assert.strictEqual(sent.at(-1), "<p>By hand</p>")
        })
      })
    )

    it.scoped("is accessible, also in Arabic, where the text keeps the direction of its store", () =>
      Effect.gen(function* () {
        const { complaints, page, base, gulf, stove } = yield* editing(stored)
        yield* Effect.promise(async () => {
          await surface(page).waitFor()
          await assertAccessible(page, "richtext")
          await button(page, "Link").click()
          await assertAccessible(page, "richtext-link")
          await page.goto(`${base}/entity?id=${stove}&edit=description_html&store=${gulf}`)
          assert.strictEqual(await surface(page).getAttribute("dir"), "rtl")
          assert.strictEqual(await surface(page).getAttribute("lang"), "ar-AE")
        })
        const arabic = yield* editing("<table></table>", { languages: "ar" })
        yield* Effect.promise(async () => {
          await arabic.page.locator("[data-reason]").waitFor()
          await assertAccessible(arabic.page, "richtext-arabic-source")
          await area(arabic.page).fill("<p>Burns gas</p>")
          await arabic.page.locator("[data-source]").click()
          assert.strictEqual(await arabic.page.evaluate("getComputedStyle(document.body).direction"), "rtl")
          assert.strictEqual(
            await arabic.page.evaluate("getComputedStyle(document.querySelector('[data-surface]')).direction"),
            "ltr"
          )
          await assertAccessible(arabic.page, "richtext-arabic")
          // Arrows follow the direction of the page.
          await arabic.page.locator("[data-format=bold]").focus()
          await arabic.page.keyboard.press("ArrowLeft")
          assert.strictEqual(await arabic.page.evaluate("document.activeElement?.dataset.format"), "italic")
        })
        assertNoComplaints([...complaints, ...arabic.complaints])
      })
    )
  })
})
