import { gzipSync } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { assetPaths } from "../../src/console/Assets.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, assertErrorPage, aUser, PagesServer, withNote } from "../oauth/PagesServer.ts"

const ping = (key: string) =>
  Effect.map(ask("/api/v1/ping", { headers: { authorization: `Bearer ${key}` } }), ({ status }) => status)

/** A browser, and the hidden fields of its form for a new key. */
const opened = Effect.gen(function* () {
  const user = yield* aUser()
  const page = yield* ask("/settings/keys", { cookie: user.cookie })
  assert.strictEqual(page.status, 200)
  const { hidden } = sectionsOf(page.text, "/settings/keys")
  /** Sends the form of an open page. */
  const send = (form: Readonly<Record<string, string>>) =>
    ask("/settings/keys", { cookie: user.cookie, form: { ...hidden, ...form } })
  /** Opens the page and sends its form. */
  const create = (form: Readonly<Record<string, string>>) =>
    Effect.flatMap(ask("/settings/keys", { cookie: user.cookie }), ({ text }) =>
      ask("/settings/keys", {
        cookie: user.cookie,
        form: { ...sectionsOf(text, "/settings/keys").hidden, ...form }
      })
    )
  return { ...user, page, hidden, create, send }
})

layer(PagesServer, { excludeTestServices: true })("API keys in the settings", (it) => {
  it.effect("are created with scopes and an expiry, shown once, and work at once", () =>
    Effect.gen(function* () {
      const { accountId, cookie, create, email } = yield* opened
      const answer = yield* create({ name: " Warehouse <&> ", access: "write", expires: "2999-12-31" })
      assert.strictEqual(answer.status, 200, answer.text)
      const key = /id="new-key" value="(pk_live_[A-Za-z0-9]{38})"/.exec(answer.text)?.[1] ?? ""
      assert.include(answer.text, "Created the key <strong><bdi>Warehouse &lt;&amp;></bdi></strong>")
      assert.strictEqual(yield* ping(key), 200)
      const [, made] = yield* (yield* ApiKeys).list(accountId)
      assert.deepStrictEqual<unknown>(
        [made?.name, made?.scopes, made?.expiresAt, made?.lastFour],
        ["Warehouse <&>", ["pim:read", "pim:write"], "2999-12-31T23:59:59.000000Z", key.slice(-4)]
      )
      const again = yield* ask("/settings/keys", { cookie })
      assert.notInclude(again.text, key)
      assert.include(again.text, `<code>${key.slice(-4)}</code>`)
      assert.include(again.text, "31 Dec 2999, 23:59 UTC")
      assert.match(again.text, new RegExp(`<dd><time[^>]*>[^<]+</time> by <bdi>${email}</bdi></dd>`))
      const reading = yield* create({ name: "Reader", access: "read", expires: "" })
      assert.strictEqual(reading.status, 200)
      assert.deepInclude((yield* (yield* ApiKeys).list(accountId))[2], { scopes: ["pim:read"], expiresAt: null })
    })
  )

  it.effect("a form that is sent twice creates one key, and both answers show it", () =>
    Effect.gen(function* () {
      const { accountId, hidden, send } = yield* opened
      const form = { name: "Twice", access: "read", expires: "" }
      const answers = yield* Effect.all([send(form), send(form)], { concurrency: 2 })
      const keys = answers.map(({ text }) => /id="new-key" value="(pk_live_[A-Za-z0-9]{38})"/.exec(text)?.[1])
      assert.lengthOf(new Set(keys), 1)
      assert.strictEqual(yield* ping(String(keys[0])), 200)
      assert.lengthOf(yield* (yield* ApiKeys).list(accountId), 2)
      // The same form id with other values: the page says what was created, and shows no secret.
      const other = yield* send({ ...form, name: "Another" })
      assert.strictEqual(other.status, 409)
      assert.include(other.text, "This form has created its key already")
      assert.notInclude(other.text, "pk_live_")
      assert.notStrictEqual(sectionsOf(other.text, "/settings/keys").hidden.id, hidden.id)
      const older = yield* send({ ...form, id: "" })
      assert.strictEqual(older.status, 400)
      assert.include(older.text, "The form: is from an older page; send it again.")
      assert.lengthOf(yield* (yield* ApiKeys).list(accountId), 2)
    })
  )

  for (const [what, form, field, message] of [
    ["no name", { name: " " }, "name", "Name: must have 1 to 200 characters."],
    ["a name of two lines", { name: "a\nb" }, "name", "Name: must be one line of valid text."],
    ["a past date", { name: "x", expires: "2020-01-31" }, "expires", "Expires: must not be in the past."],
    ["an invalid date", { name: "x", expires: "2999-02-30" }, "expires", "Expires: must be a date, such as 2027-01-31."]
  ] as const)
    it.effect(`${what}: the problem is shown at its field, and the input is kept`, () =>
      Effect.gen(function* () {
        const { accountId, create } = yield* opened
        const answer = yield* create({ access: "write", ...form })
        assert.strictEqual(answer.status, 400)
        assert.include(answer.text, `<p class="wrong" id="${field}-misfit" role="alert">${message}</p>`)
        assert.match(
          answer.text,
          new RegExp(`name="${field}"[^>]*aria-invalid="true" autofocus[^>]*aria-describedby="${field}-misfit[" ]`)
        )
        assert.deepStrictEqual(sectionsOf(answer.text, "/settings/keys").choices, [
          ["read", false],
          ["write", true]
        ])
        assert.lengthOf(yield* (yield* ApiKeys).list(accountId), 1)
      })
    )

  it.effect("are revoked at once; a key of another account is treated as unknown", () =>
    Effect.gen(function* () {
      const { apiKey, cookie, email, page } = yield* opened
      const stranger = yield* opened
      const path = "/settings/keys/revoke"
      const chosen = sectionsOf(page.text, path).hidden
      assert.deepStrictEqual(Object.keys(chosen), ["id"], "the list only asks for the question")
      const question = yield* ask(`${path}?id=${chosen.id}`, { cookie })
      assert.match(question.text, /<h1>Revoke the key [^<]+\?<\/h1>/)
      assert.include(question.text, 'aria-label="Sections"')
      assert.include(question.text, '<a href="/settings/keys">Cancel</a>')
      assert.strictEqual(yield* ping(apiKey), 200)
      const { hidden } = sectionsOf(question.text, path)
      const revoke = (id: unknown) => ask("/settings/keys/revoke", { cookie, form: { ...hidden, id: String(id) } })
      const theirs = sectionsOf(stranger.page.text, "/settings/keys/revoke").hidden.id
      for (const id of [theirs, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x"])
        for (const answer of [yield* revoke(id), yield* ask(`${path}?id=${id}`, { cookie })])
          assertErrorPage(answer, 404, /There is no such record/)
      assert.deepStrictEqual([yield* ping(apiKey), yield* ping(stranger.apiKey)], [200, 200])
      const answer = yield* revoke(hidden.id)
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/settings/keys?note=revoked"])
      assert.deepStrictEqual([yield* ping(apiKey), yield* ping(stranger.apiKey)], [401, 200])
      const noted = "/settings/keys?note=revoked"
      assert.match(
        String(answer.headers.get("set-cookie")),
        /^catalog_note=[^;]+; Max-Age=60; Path=\/; HttpOnly; SameSite=Lax$/
      )
      const after = yield* ask(noted, { cookie: withNote(cookie, noted) })
      assert.include(after.text, "The key is revoked")
      assert.match(after.text, new RegExp(`revoked since <time[^>]*>[^<]+</time> by <bdi>${email}</bdi>`))
      assert.notInclude(after.text, "Revoke</button>")
      assert.match(String(after.headers.get("set-cookie")), /^catalog_note=; Max-Age=0;/)
      // After a reload, the page does not show the message again.
      const again = yield* ask(noted, { cookie })
      assert.deepStrictEqual([again.status, again.headers.get("location")], [303, "/settings/keys"])
      assert.strictEqual((yield* ask(`${path}?id=${hidden.id}`, { cookie })).headers.get("location"), "/settings/keys")
      // Parameters of the address cannot change the messages of the page.
      assert.notInclude((yield* ask("/settings/keys?note=%3Cb%3E", { cookie })).text, 'role="status"')
    })
  )

  it.effect("a form without the CSRF token changes nothing", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* opened
      const stranger = yield* opened
      for (const form of [{ name: "x" }, { name: "x", csrf: String(stranger.hidden.csrf) }])
        assertErrorPage(yield* ask("/settings/keys", { cookie, form }), 403, /did not come from/)
      assert.lengthOf(yield* (yield* ApiKeys).list(accountId), 1)
    })
  )

  it.effect("the stylesheet and the script are cached forever, and pages load nothing else", () =>
    Effect.gen(function* () {
      const { page } = yield* opened
      const loaded = [...page.text.matchAll(/<(?:link|script|img)[^>]*(?:href|src)="([^"]*)"/g)].map(([, path]) => path)
      assert.deepStrictEqual(loaded, [assetPaths.icon, assetPaths.stylesheet, assetPaths.script])
      assert.notMatch(page.text, /<script(?![^>]* src="\/assets\/[^"]*"><\/script>)| style="|https?:/)
      for (const [path, type, part] of [
        [assetPaths.icon, "image/svg+xml", "<svg "],
        [assetPaths.stylesheet, "text/css; charset=utf-8", "light-dark("],
        [assetPaths.script, "text/javascript; charset=utf-8", "addEventListener"],
        [assetPaths.richText, "text/javascript; charset=utf-8", "addEventListener"]
      ] as const) {
        const asset = yield* ask(path)
        assert.strictEqual(asset.status, 200)
        assert.strictEqual(asset.headers.get("content-type"), type)
        assert.strictEqual(asset.headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.include(asset.text, part)
      }
    })
  )

  it.effect("the scripts of a page have at most 40 KB, compressed", () =>
    Effect.gen(function* () {
      const sizes = yield* Effect.forEach([assetPaths.script, assetPaths.richText], (path) =>
        Effect.map(ask(path), ({ text }) => gzipSync(text).length)
      )
      assert.isAtLeast(Math.min(...sizes), 1_000)
      assert.isAtMost(
        sizes.reduce((sum, size) => sum + size, 0),
        40_000
      )
    })
  )
})
