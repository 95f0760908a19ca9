import { mkdirSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import axe from "axe-core"
import { Effect } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { program } from "./Chromium.ts"

/** Where screenshots go: a folder that CATALOG_SCREENSHOTS names, nowhere without it. */
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

/** A window of its own, with nothing kept from before, and what the browser complains about in it. */
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

/** axe-core finds nothing to complain about in what the page shows, light or dark, wide or narrow. */
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
    // Nothing is wider than the window.
    const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert.strictEqual(overflow, 0, `${name}, ${width}`)
    if (screenshots !== undefined) {
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: join(screenshots, `${name}-${colorScheme}-${width}.png`), fullPage: true })
    }
  }
  await page.setViewportSize({ width: 1_200, height: 900 })
}

/** A client's program on this machine, that waits for its code: what came in, as its parameters. */
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
