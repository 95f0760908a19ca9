import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sections, settings } from "../../src/console/Paths.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, assertErrorPage, aUser, bodyOf, PagesServer } from "../oauth/PagesServer.ts"

const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }

layer(PagesServer, { excludeTestServices: true })("an unknown address", (it) => {
  it.effect("gets a page with the navigation in a browser, signed in or not", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      for (const path of ["/nowhere", "/Stores", "/stores/", "/settings", "/drops/a/b", "/oauth/nowhere", "/apis?x=1"])
        for (const cookies of [undefined, cookie]) {
          const answer = yield* ask(path, { headers: browser, ...(cookies !== undefined && { cookie: cookies }) })
          assertErrorPage(answer, 404, /<h1>Page not found<\/h1>/)
          // The refusal page does not know the visitor's role.
          for (const { name, needs, path } of [...sections, ...settings])
            assert.strictEqual(
              new RegExp(`<a href="${path}"><svg[^>]*>.*?</svg>${name}</a>`).test(answer.text),
              needs === undefined,
              name
            )
          assert.match(String(answer.headers.get("x-request-id")), /^req_/)
        }
    })
  )

  it.effect("and every other page is not compressed, because its size must not reveal its secrets", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      for (const path of ["/nowhere", "/stores"]) {
        const page = yield* ask(path, { cookie, headers: { ...browser, "accept-encoding": "br, gzip" } })
        assert.isAbove(page.text.length, 1_024)
        assert.isNull(page.headers.get("content-encoding"))
      }
    })
  )

  it.effect("has the colours that were chosen in this browser", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const page = yield* ask("/stores", { cookie })
      assert.include(page.text, '<html lang="en" dir="ltr">')
      const { hidden } = sectionsOf(page.text, "/settings/theme")
      for (const [theme, opening] of [
        ["dark", '<html lang="en" dir="ltr" data-theme="dark">'],
        ["light", '<html lang="en" dir="ltr" data-theme="light">'],
        ["system", '<html lang="en" dir="ltr">'],
        ["<b>", '<html lang="en" dir="ltr">']
      ] as const) {
        const headers = { referer: `${yield* BaseUrl}/drops?x=1` }
        const changed = yield* ask("/settings/theme", { cookie, form: { ...hidden, theme }, headers })
        assert.deepStrictEqual([changed.status, changed.headers.get("location")], [303, "/drops?x=1"])
        const kept = /catalog_theme=[^;]*/.exec(String(changed.headers.get("set-cookie")))?.[0]
        for (const path of ["/stores", "/nowhere", "/entity?id=x"])
          assert.include((yield* ask(path, { headers: browser, cookie: `${cookie}; ${kept}` })).text, opening)
      }
      assertErrorPage(yield* ask("/settings/theme", { cookie, form: { theme: "dark" } }), 403, /did not come from/)
    })
  )

  it.effect("gets the error envelope for the API, and for requests that do not accept pages", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* aUser()
      const authorization = `Bearer ${apiKey}`
      for (const [path, headers] of [
        ["/api/v1/nowhere", { ...browser, authorization }],
        ["/api", browser],
        ["/nowhere", {}],
        ["/nowhere", { accept: "application/json" }]
      ] as const) {
        const answer = yield* ask(path, { headers })
        assert.strictEqual(answer.status, 404)
        const { error } = bodyOf(answer) as { readonly error: Readonly<Record<string, unknown>> }
        assert.strictEqual(error.code, "not_found")
        assert.strictEqual(error.request_id, answer.headers.get("x-request-id"))
      }
      const posted = yield* ask("/nowhere", { form: { a: "b" }, headers: browser })
      assert.strictEqual(posted.status, 404)
      assert.strictEqual(posted.headers.get("content-type"), "application/json")
    })
  )
})
