import { hash } from "node:crypto"
import { readFileSync } from "node:fs"
import { OpenApi } from "@effect/platform"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"
import { colors } from "../../src/http/DocumentationPage.ts"
import { documentationPath } from "../../src/http/Documents.ts"
import { ask, assertHeaders, MemoryServer, port } from "../http/Exchange.ts"
import { orHangs } from "../support/HangLimit.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, openWindow } from "./PlaywrightBrowser.ts"

interface Operations {
  readonly [path: string]: { readonly [method: string]: { readonly summary: string } }
}

const summaries = Object.values(OpenApi.fromApi(RestApi).paths as unknown as Operations).flatMap((methods) =>
  Object.values(methods).map(({ summary }) => summary)
)

const scriptsOf = (html: string) => [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script = ""]) => script)

layer(MemoryServer, { excludeTestServices: true })("the documentation page", (it) => {
  it.effect("allows only its own scripts, and requests to the service only", () =>
    Effect.gen(function* () {
      const page = yield* ask(documentationPath)
      assert.strictEqual(page.status, 200)
      assertHeaders(page, ["content-security-policy", "content-type", "etag"])
      assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8")
      const scripts = scriptsOf(page.text)
      assert.lengthOf(scripts, 2)
      const own = scripts.map((script) => `'sha256-${hash("sha256", script, "base64")}'`)
      assert.strictEqual(
        page.headers["content-security-policy"],
        `default-src 'none'; script-src ${own.join(" ")} 'unsafe-eval'; style-src 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
      )
      // The policy would block a script from elsewhere: the page has none.
      assert.notMatch(page.text.replaceAll(/<script>[\s\S]*?<\/script>/g, ""), /<(?:script|link|img)[^>]+(?:src|href)=/)
      const again = yield* ask(documentationPath, { headers: { "if-none-match": String(page.headers.etag) } })
      assert.deepStrictEqual([again.status, again.text], [304, ""])
    })
  )

  it.effect("leads to the pages for merchants, and has their colours", () =>
    Effect.gen(function* () {
      const { text } = yield* ask(documentationPath)
      assert.include(text, '<html lang="en">')
      assert.include(text, '<header class="frame"><span>Catalog API</span><a href="/">To the pages</a></header>')
      const tokens = readFileSync(new URL("../../src/console/assets/tokens.css", import.meta.url), "utf8")
      for (const [name, color] of Object.entries(colors)) assert.include(tokens, `--${name}: ${color};`)
    })
  )

  describe.skipIf(!chromiumIsThere)("in a browser without a network", () => {
    it.scoped("shows every operation, and sends no request to another host", () =>
      Effect.gen(function* () {
        const origin = `http://127.0.0.1:${yield* port}`
        const { page } = yield* openWindow(yield* aBrowserProgram)
        const complaints: Array<string> = []
        page.on("pageerror", ({ message }) => complaints.push(message))
        // The library that draws the page also logs its progress.
        page.on("console", (message) => {
          if (["error", "warning"].includes(message.type())) complaints.push(message.text())
        })
        const requested: Array<string> = []
        page.on("request", (request) => requested.push(request.url()))
        yield* Effect.promise(() => page.goto(`${origin}${documentationPath}`))
        const missing = Effect.map(
          Effect.promise(() => page.evaluate("document.body.innerText")),
          (text) => summaries.filter((summary) => !String(text).includes(summary))
        )
        yield* missing.pipe(
          Effect.repeat({ until: (summaries) => summaries.length === 0, schedule: Schedule.spaced("100 millis") }),
          orHangs(() => `Not all operations are shown: ${complaints}`)
        )
        assert.isAtLeast(summaries.length, 20)
        assert.include(requested, `${origin}${documentationPath}`)
        assert.deepStrictEqual(
          requested.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:")),
          []
        )
        // Browsers request a favicon by themselves; the service has none.
        const unexpected = complaints.filter((text) => !text.includes("404 (Not Found)"))
        assert.deepStrictEqual(unexpected, [])

        /** The result of a request: the status of its answer, or the directive that blocked it. */
        const outcome = (url: string) =>
          Effect.promise(() =>
            page.evaluate(`new Promise((resolve) => {
              addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective), { once: true })
              fetch(${JSON.stringify(url)}).then(({ status }) => resolve(status), () => {})
            })`)
          )
        assert.strictEqual(yield* outcome(`${origin}/healthz`), 200)
        for (const elsewhere of ["https://proxy.scalar.com/", "http://127.0.0.1:1/"])
          assert.strictEqual(yield* outcome(elsewhere), "connect-src")
      })
    )
  })
})
