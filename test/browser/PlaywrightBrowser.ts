import { mkdirSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import axe from "axe-core"
import { Effect } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { program } from "./Chromium.ts"

/** The folder for screenshots, from CATALOG_SCREENSHOTS; without it, none are taken. */
const screenshots = process.env.CATALOG_SCREENSHOTS

/** A browser that can reach this machine and no other host; closed with the scope. */
export const aBrowserProgram = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launch({
      ...(program === undefined ? {} : { executablePath: program }),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
      ]
    })
  ),
  (browser) => Effect.promise(() => browser.close())
)

/** A new window with no stored data, and the errors that the browser reported in it. */
export const openWindow = (browser: Browser, options: BrowserContextOptions = {}) =>
  Effect.gen(function* () {
    const context = yield* Effect.acquireRelease(
      Effect.promise(() => browser.newContext(options)),
      (context) => Effect.promise(() => context.close())
    )
    const page = yield* Effect.promise(() => context.newPage())
    const complaints: Array<string> = []
    page.on("console", (message) => complaints.push(message.text()))
    page.on("pageerror", (error) => complaints.push(error.message))
    return { page, complaints }
  })

/** Checks that axe-core finds no problem on the page, in light and dark colours, on wide and narrow windows. */
export const assertAccessible = async (page: Page, name: string) => {
  for (const [colorScheme, width] of [
    ["light", 1_200],
    ["dark", 1_200],
    ["light", 320],
    ["dark", 320]
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate(axe.source)
    const { passes, violations } = (await page.evaluate("axe.run()")) as axe.AxeResults
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
    assert.deepStrictEqual(found, [], `${name}, ${colorScheme}, ${width}`)
    assert.isAtLeast(passes.length, 10, name)
    // The page does not scroll sideways.
    const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert.strictEqual(overflow, 0, `${name}, ${width}`)
    if (screenshots !== undefined) {
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: join(screenshots, `${name}-${colorScheme}-${width}.png`), fullPage: true })
    }
  }
  await page.setViewportSize({ width: 1_200, height: 900 })
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
