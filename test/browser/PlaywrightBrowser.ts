import { mkdirSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { assert } from "@effect/vitest"
import axe from "axe-core"
import { Duration, Effect } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { hangLimit } from "../support/HangLimit.ts"
import { program } from "./Chromium.ts"

/** The folder for screenshots, from CATALOG_SCREENSHOTS; without it, none are taken. */
const screenshots = process.env.CATALOG_SCREENSHOTS

let launched: Promise<Browser> | undefined

/**
 * A browser that can reach this machine and no other host. The tests of a worker share it, because its start takes a second of
 * processor time; each test has windows of its own. It ends with the worker.
 */
export const aBrowserProgram = Effect.promise(() => {
  launched ??= chromium.launch({
    ...(program === undefined ? {} : { executablePath: program }),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    ]
  })
  return launched
})

/** Chromium's note that a test moved the focus before the page could: it depends on the speed of the machine. */
const isLateFocus = (text: string) => text.startsWith("Autofocus processing was blocked")

/**
 * From the environment: how many times slower the processor of a page is, and the milliseconds before each answer. Such pages show
 * races that a fast machine does not have.
 */
const slowdown = Number(process.env.CATALOG_TEST_SLOWDOWN ?? 1)
const latency = Number(process.env.CATALOG_TEST_LATENCY ?? 0)
const isSlow = slowdown > 1 || latency > 0

const slowDown = async (page: Page) => {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send("Emulation.setCPUThrottlingRate", { rate: slowdown })
  const unlimited = { downloadThroughput: -1, offline: false, uploadThroughput: -1 }
  await devTools.send("Network.emulateNetworkConditions", { ...unlimited, latency })
}

/** A new window with no stored data, and the errors that the browser reported in it. */
export const openWindow = (browser: Browser, options: BrowserContextOptions = {}) =>
  Effect.gen(function* () {
    const context = yield* Effect.acquireRelease(
      Effect.promise(() => browser.newContext(options)),
      (context) => Effect.promise(() => context.close())
    )
    // Playwright's 30 s are too short on a busy machine.
    context.setDefaultTimeout(Duration.toMillis(hangLimit))
    const page = yield* Effect.promise(() => context.newPage())
    if (isSlow) yield* Effect.promise(() => slowDown(page))
    const complaints: Array<string> = []
    const add = (text: string) => isLateFocus(text) || complaints.push(text)
    page.on("console", (message) => add(message.text()))
    page.on("pageerror", (error) => add(error.message))
    return { page, complaints }
  })

/**
 * Lets tests intercept requests of a page with `page.route`. Call it before the page is opened: in an open page Chromium may send a request
 * that follows `page.route` at once without telling Playwright.
 */
export const allowRoutes = (page: Page) => page.route("https://no-page.example/", (route) => route.continue())

/** A new window in which the user of this cookie is signed in, and the address of the service. */
export const openSignedIn = (cookie: string, options: BrowserContextOptions = {}) =>
  Effect.gen(function* () {
    const window = yield* openWindow(yield* aBrowserProgram, options)
    const base = yield* BaseUrl
    const [name = "", value = ""] = cookie.split("=")
    yield* Effect.promise(() => window.page.context().addCookies([{ name, value, url: base }]))
    return { ...window, base }
  })

/**
 * Checks that the browser reported no errors, except answers with the statuses that the test expects. The message shows each error.
 */
export const assertNoComplaints = (complaints: ReadonlyArray<string>, ...expected: ReadonlyArray<number>) =>
  assert.strictEqual(
    complaints.filter((text) => !expected.some((status) => text.includes(`status of ${status}`))).join("\n"),
    ""
  )

/**
 * Waits until the element with this label or text has the focus. Browsers move the focus when they draw a page, which may be after it
 * has loaded.
 */
export const waitForFocus = (page: Page, name: string) =>
  page
    .locator(":focus")
    .and(page.getByLabel(name, { exact: true }).or(page.getByText(name, { exact: true })))
    .waitFor({ state: "attached" })

/** The rules whose result can differ between light and dark colours. The tag `cat.color` has another, stricter one too. */
const rulesOfColours: axe.RunOptions = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }

/** Only violations are described, without their selectors: with the descriptions of all passes a run takes twice the processor time. */
const describesViolations: axe.RunOptions = { resultTypes: ["violations"], selectors: false }

/** Maximum compressed size of the scripts of a page, in bytes. */
const maxScripts = 40_000
const scriptSizes = new Map<string, number>()

const assertSmall = async (page: Page, name: string) => {
  const loaded = "performance.getEntriesByType('resource').map(({ name }) => name).filter((url) => url.endsWith('.js'))"
  const urls = new Set((await page.evaluate(loaded)) as ReadonlyArray<string>)
  for (const url of urls)
    if (!scriptSizes.has(url)) scriptSizes.set(url, gzipSync(await (await fetch(url)).arrayBuffer()).length)
  const size = [...urls].reduce((sum, url) => sum + (scriptSizes.get(url) ?? 0), 0)
  assert.isAtMost(size, maxScripts, `${name}: ${[...urls].join(", ")}`)
}

/**
 * Checks that axe-core finds no problem on the page, in light and dark colours, on wide and narrow windows, and that its scripts are
 * small. On slow pages it takes minutes, and would hide races by its own time, so there it only sets the size of the window.
 */
export const assertAccessible = async (page: Page, name: string) => {
  if (isSlow) return page.setViewportSize({ width: 1_200, height: 900 })
  for (const [colorScheme, width] of [
    ["light", 1_200],
    ["dark", 1_200],
    ["light", 320],
    ["dark", 320]
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source)
    const { passes, violations } = (await page.evaluate(
      `axe.run(${JSON.stringify({ ...describesViolations, ...(colorScheme === "light" ? {} : rulesOfColours) })})`
    )) as axe.AxeResults
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
    assert.deepStrictEqual(found, [], `${name}, ${colorScheme}, ${width}`)
    assert.isAtLeast(passes.length, colorScheme === "light" ? 10 : 1, name)
    // The page does not scroll sideways.
    const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert.strictEqual(overflow, 0, `${name}, ${width}`)
    if (screenshots !== undefined) {
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: join(screenshots, `${name}-${colorScheme}-${width}.png`), fullPage: true })
    }
  }
  await page.setViewportSize({ width: 1_200, height: 900 })
  await assertSmall(page, name)
}

/** A client on this machine that waits for its redirect, and returns the redirect's parameters. */
export const aCallback = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly url: string; readonly received: Array<URL>; readonly close: () => Promise<void> }>(
        (resolve) => {
          const received: Array<URL> = []
          const server = createServer((request, response) => {
            const url = new URL(request.url ?? "/", "http://127.0.0.1")
            if (url.pathname === "/callback") received.push(url)
            response.setHeader("content-type", "text/html").end("<!doctype html><title>Done</title><h1>Done</h1>")
          })
          server.listen(0, "127.0.0.1", () => {
            const { port } = server.address() as AddressInfo
            resolve({
              url: `http://127.0.0.1:${port}/callback`,
              received,
              close: () => new Promise((closed) => server.closeAllConnections() ?? server.close(() => closed()))
            })
          })
        }
      )
  ),
  ({ close }) => Effect.promise(close)
)
