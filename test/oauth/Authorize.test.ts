import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Authorization } from "../../src/connections/Authorization.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { sectionsOf } from "./Html.ts"
import {
  aBrowser,
  aClient,
  aCode,
  ask,
  assertErrorPage,
  aUser,
  authorizePath,
  bodyOf,
  consentForm,
  decide,
  later,
  newVerifier,
  PagesServer,
  pagesServer,
  redeem,
  redirectUri,
  sentBack,
  tokensOf
} from "./PagesServer.ts"

const verifier = newVerifier()

layer(PagesServer, { excludeTestServices: true })("the request to authorize", (it) => {
  const asked = (others: Readonly<Record<string, string | undefined>>, cookie?: string) =>
    Effect.gen(function* () {
      const clientId = yield* aClient()
      return yield* ask(authorizePath({ clientId, verifier, with: others }), cookie === undefined ? {} : { cookie })
    })

  const assertSentBack = (answer: Parameters<typeof sentBack>[0], error: string, state: string | undefined) =>
    Effect.gen(function* () {
      const { location, parameters } = sentBack(answer)
      assert.isTrue(location.startsWith(`${redirectUri}&`), location)
      assert.strictEqual(parameters.error, error)
      assert.isAtLeast(String(parameters.error_description).length, 10)
      assert.strictEqual(parameters.state, state)
      assert.strictEqual(parameters.iss, yield* BaseUrl)
      assert.isUndefined(parameters.code)
    })

  it.effect("a valid request needs sign-in first and then continues", () =>
    Effect.gen(function* () {
      const page = yield* asked({ scope: "pim:write" })
      assert.strictEqual(page.status, 200)
      assert.include(page.text, "<title>Sign in - Catalog</title>")
      const { hidden } = sectionsOf(page.text, "/sign-in")
      assert.match(String(hidden.return_to), /^\/oauth\/authorize\?response_type=code&client_id=/)
      // An invalid request is refused before sign-in.
      yield* assertSentBack(yield* asked({ response_type: "token" }), "unsupported_response_type", "of the client's")
    })
  )

  for (const [what, others] of [
    ["an unknown client", { client_id: "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10" }],
    ["a client id that is none", { client_id: "agent" }],
    ["no client", { client_id: undefined }],
    ["a redirect that was not registered", { redirect_uri: "https://evil.example/callback" }],
    ["a redirect below a registered one", { redirect_uri: `${redirectUri}/deeper` }],
    ["a javascript: redirect", { redirect_uri: "javascript:alert(1)" }]
  ] as const)
    it.effect(`${what}: an error page, never a redirect, signed in or not`, () =>
      Effect.gen(function* () {
        const { cookie } = yield* aUser()
        assertErrorPage(yield* asked(others), 400, /<h1>This cannot continue<\/h1>/)
        assertErrorPage(yield* asked(others, cookie), 400, /<h1>This cannot continue<\/h1>/)
      })
    )

  it.effect("the redirect URI is compared as text", () =>
    Effect.gen(function* () {
      const clientId = yield* aClient({ redirect_uris: ["https://agent.example/cb", "cursor://agent/cb"] })
      const to = (redirect_uri: string) =>
        Effect.map(ask(authorizePath({ clientId, verifier, with: { redirect_uri } })), ({ status }) => status)
      assert.strictEqual(yield* to("https://agent.example/cb"), 200)
      assert.strictEqual(yield* to("cursor://agent/cb"), 200)
      for (const other of [
        "https://agent.example/CB",
        "https://AGENT.example/cb",
        "https://agent.example:443/cb",
        "https://agent.example/cb/",
        "https://agent.example/cb?x=1",
        "https://agent.example/x/../cb",
        "https://agent.example/%63b",
        "http://agent.example/cb",
        "cursor://agent/cb2"
      ])
        assert.strictEqual(yield* to(other), 400, other)
      // If a client has registered several, the request must name one.
      const none = authorizePath({ clientId, verifier, with: { redirect_uri: undefined } })
      assertErrorPage(yield* ask(none), 400, /has not registered/)
    })
  )

  it.effect("the port of a loopback redirect may differ", () =>
    Effect.gen(function* () {
      const clientId = yield* aClient({
        redirect_uris: ["http://127.0.0.1/cb", "http://localhost:33418/cb?x=1", "http://[::1]:1/cb"]
      })
      const to = (redirect_uri: string) =>
        Effect.map(ask(authorizePath({ clientId, verifier, with: { redirect_uri } })), ({ status }) => status)
      for (const same of [
        "http://127.0.0.1/cb",
        "http://127.0.0.1:55555/cb",
        "http://localhost:1/cb?x=1",
        "http://localhost/cb?x=1",
        "http://[::1]:60000/cb"
      ])
        assert.strictEqual(yield* to(same), 200, same)
      for (const other of [
        "http://127.0.0.1:55555/other",
        "http://localhost:33418/cb",
        "http://localhost:1/cb?x=2",
        "http://127.0.0.1:99999/cb",
        "http://127.0.0.1:80@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "https://127.0.0.1/cb"
      ])
        assert.strictEqual(yield* to(other), 400, other)
    })
  )

  for (const [what, others] of [
    ["no challenge", { code_challenge: undefined }],
    ["plain", { code_challenge_method: "plain" }],
    ["no method, which means plain", { code_challenge_method: undefined }],
    ["a challenge that is too short", { code_challenge: "short" }],
    ["a challenge in plain base64", { code_challenge: "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/=" }],
    ["no response_type", { response_type: undefined }],
    ["another response_mode", { response_mode: "fragment" }],
    ["U+0000", { scope: "pim:read\u0000" }]
  ] as const)
    it.effect(`${what}: invalid_request, sent to the client`, () =>
      Effect.flatMap(asked(others), (answer) => assertSentBack(answer, "invalid_request", "of the client's"))
    )

  for (const response_type of ["token", "code token", "CODE"])
    it.effect(`response_type ${response_type}`, () =>
      Effect.flatMap(asked({ response_type }), (answer) =>
        assertSentBack(answer, "unsupported_response_type", "of the client's")
      )
    )

  it.effect("refuses another resource, and accepts the usual spellings of this one", () =>
    Effect.gen(function* () {
      const base = yield* BaseUrl
      const { port } = new URL(base)
      for (const resource of [
        "https://other.example/mcp",
        `${base}/mcp/deeper`,
        `${base}/api/v1`,
        `${base}/mcp?x=1`,
        `${base}/mcp#x`,
        `${base}/MCP`,
        "mcp"
      ])
        yield* assertSentBack(yield* asked({ resource }), "invalid_target", "of the client's")
      for (const resource of [
        undefined,
        base,
        `${base}/`,
        `${base}/mcp`,
        `${base}/mcp//`,
        `HTTP://127.0.0.1:${port}/mcp`
      ])
        assert.strictEqual((yield* asked({ resource })).status, 200, resource)
    })
  )

  it.effect("refuses a parameter that is given twice", () =>
    Effect.gen(function* () {
      const clientId = yield* aClient()
      const path = authorizePath({ clientId, verifier })
      yield* assertSentBack(yield* ask(`${path}&scope=pim:read&scope=pim:write`), "invalid_request", "of the client's")
      yield* assertSentBack(yield* ask(`${path}&resource=a&resource=b`), "invalid_request", "of the client's")
      // Of two states, the service cannot know the client's, so it returns none.
      yield* assertSentBack(yield* ask(`${path}&state=other`), "invalid_request", undefined)
      assertErrorPage(yield* ask(`${path}&client_id=${clientId}`), 400, /twice/)
      assertErrorPage(yield* ask(`${path}&redirect_uri=https://evil.example`), 400, /twice/)
    })
  )

  it.effect("the page offers tiers up to the requested one, which is preselected; the scope is the chosen tier", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      const offer = (highest: number, preselected: number) =>
        ["pim:read", "pim:write", "pim:publish"].slice(0, highest).map((tier, rank) => [tier, rank === preselected - 1])
      for (const [scope, offered, words] of [
        [undefined, offer(3, 1), "None: choose one below."],
        ["openid offline_access", offer(3, 1), "None: choose one below."],
        ["pim:read", offer(1, 1), "Read"],
        ["pim:write unknown", offer(2, 2), "Read and edit drafts"],
        ["pim:publish", offer(3, 3), "Read, edit and publish"],
        ["pim:read pim:write", offer(2, 2), "Read and edit drafts"]
      ] as const) {
        const { page, tiers } = yield* consentForm(cookie, { clientId, verifier, with: { scope } })
        assert.deepStrictEqual<unknown>(tiers, offered, scope)
        assert.include(page.text, `<dt>Requested permission</dt><dd>${words}</dd>`)
      }
      for (const [tier, scope] of [
        ["pim:read", "pim:read"],
        ["pim:write", "pim:read pim:write"],
        ["pim:publish", "pim:read pim:write pim:publish"]
      ] as const) {
        const code = yield* aCode(cookie, { clientId, verifier }, tier)
        assert.strictEqual(tokensOf(yield* redeem({ clientId, verifier }, code)).scope, scope)
      }
    })
  )

  it.effect("state is returned unchanged with iss; the redirect is not cached and sends no referrer", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      for (const state of ["a+b/c=d&e#f%20 é😀\"'<>", "x".repeat(2_000)]) {
        const { hidden } = yield* consentForm(cookie, { clientId, verifier, with: { state } })
        const answer = yield* decide(cookie, { ...hidden, tier: "pim:read", decision: "allow" })
        const { location, parameters } = sentBack(answer)
        assert.isTrue(location.startsWith(`${redirectUri}&`), location)
        assert.strictEqual(parameters.state, state)
        assert.strictEqual(parameters.iss, yield* BaseUrl)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        assert.strictEqual(answer.headers.get("referrer-policy"), "no-referrer")
        assert.sameMembers(Object.keys(parameters), ["from", "code", "state", "iss"])
      }
      const { hidden } = yield* consentForm(cookie, { clientId, verifier, with: { state: undefined } })
      const { parameters } = sentBack(yield* decide(cookie, { ...hidden, tier: "pim:read", decision: "allow" }))
      assert.notProperty(parameters, "state")
    })
  )

  it.effect(
    "the page shows the unverified name, the destination, the account, the tiers and Deny for every request",
    () =>
      Effect.gen(function* () {
        const { cookie, email } = yield* aUser("Tarn & Tern")
        const clientId = yield* aClient({ client_name: "Desk Agent", redirect_uris: [redirectUri] })
        for (let time = 0; time < 2; time++) {
          const { hidden, page } = yield* consentForm(cookie, { clientId, verifier })
          for (const text of [
            "<h1>Connect Desk Agent?</h1>",
            "This name is not verified.",
            "<strong>agent.example</strong>",
            `<code>${redirectUri}</code>`,
            "<dt>Account</dt><dd><bdi>Tarn &amp; Tern</bdi></dd>",
            email,
            "Read and edit drafts",
            "They reach a store only when somebody publishes them.",
            ">Deny</button>"
          ])
            assert.include(page.text, text)
          yield* decide(cookie, { ...hidden, tier: "pim:read", decision: "allow" })
        }
      })
  )

  it.effect("refuses a decision with a missing or wrong form token, or from another site", () =>
    Effect.gen(function* () {
      const { accountId, cookie, email } = yield* aUser()
      const stranger = yield* aUser()
      const elsewhere = yield* aBrowser(accountId, email)
      const clientId = yield* aClient()
      const { hidden } = yield* consentForm(cookie, { clientId, verifier })
      const other = yield* consentForm(cookie, { clientId, verifier })
      const good: Readonly<Record<string, string>> = { ...hidden, tier: "pim:read", decision: "allow" }
      const base = yield* BaseUrl
      const forbidden = (answer: Parameters<typeof assertErrorPage>[0]) => assertErrorPage(answer, 403, /<h1>/)
      const { form_token: token = "", ...without } = good
      forbidden(yield* decide(cookie, without))
      forbidden(yield* decide(cookie, { ...good, form_token: `${token.slice(0, -1)}!` }))
      forbidden(yield* decide(cookie, { ...good, form_token: String(other.hidden.form_token) }))
      forbidden(yield* decide(cookie, { ...good, consent: String(other.hidden.consent) }))
      forbidden(yield* decide(cookie, { ...good, consent: "x" }))
      forbidden(yield* decide(cookie, {}))
      forbidden(yield* decide("catalog_session=none", good))
      forbidden(yield* decide(stranger.cookie, good))
      forbidden(yield* decide(elsewhere.cookie, good))
      const from = (headers: Readonly<Record<string, string>>) =>
        ask("/oauth/authorize/decision", { cookie, form: good, headers })
      forbidden(yield* from({ origin: "https://evil.example" }))
      forbidden(yield* from({ origin: "null" }))
      forbidden(yield* from({ origin: base.replace("http:", "https:") }))
      forbidden(yield* from({ origin: "http://127.0.0.1:1" }))
      forbidden(yield* from({ "sec-fetch-site": "cross-site" }))
      forbidden(yield* from({ "sec-fetch-site": "same-site" }))
      // The consent can still be decided.
      const answer = yield* from({ origin: base, "sec-fetch-site": "same-origin" })
      assert.isString(sentBack(answer).parameters.code)
    })
  )

  it.effect("pages cannot be framed, run foreign scripts or be cached, and do not restrict form targets", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      const path = authorizePath({ clientId, verifier })
      const pages = [
        yield* ask(path, { cookie }),
        yield* ask(path),
        yield* ask("/oauth/authorize"),
        yield* decide(cookie, {}),
        yield* ask("/sign-in"),
        yield* ask("/settings/keys", { cookie }),
        yield* ask("/settings/connections", { cookie })
      ]
      for (const { headers } of pages) {
        assert.strictEqual(
          headers.get("content-security-policy"),
          "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        assert.strictEqual(headers.get("x-frame-options"), "DENY")
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.match(String(headers.get("x-request-id")), /^req_/)
      }
    })
  )

  it.effect("the decision applies to the stored request; other values of the form are ignored", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      const evil = yield* aClient({ client_name: "Evil", redirect_uris: ["https://evil.example/cb"] })
      const { hidden } = yield* consentForm(cookie, { clientId, verifier, with: { scope: "pim:write" } })
      const answer = yield* decide(cookie, {
        ...hidden,
        decision: "allow",
        tier: "pim:publish",
        scope: "pim:publish",
        client_id: evil,
        redirect_uri: "https://evil.example/cb",
        state: "theirs",
        code_challenge: "x"
      })
      const { location, parameters } = sentBack(answer)
      assert.isTrue(location.startsWith(`${redirectUri}&`), location)
      assert.strictEqual(parameters.state, "of the client's")
      const { scope } = tokensOf(yield* redeem({ clientId, verifier }, String(parameters.code)))
      assert.strictEqual(scope, "pim:read pim:write")
    })
  )

  it.effect("Deny sends access_denied to the client and ends the consent", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      const { hidden } = yield* consentForm(cookie, { clientId, verifier })
      yield* assertSentBack(
        yield* decide(cookie, { ...hidden, tier: "pim:publish", decision: "deny" }),
        "access_denied",
        "of the client's"
      )
      assertErrorPage(
        yield* decide(cookie, { ...hidden, tier: "pim:read", decision: "allow" }),
        400,
        /was used already, or is older/
      )
    })
  )

  it.effect("refuses a consent that was decided or is older than ten minutes", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      const used = yield* consentForm(cookie, { clientId, verifier })
      const form = { ...used.hidden, tier: "pim:read", decision: "allow" }
      assert.strictEqual((yield* decide(cookie, form)).status, 303)
      assertErrorPage(yield* decide(cookie, form), 400, /was used already, or is older/)
      const stale = yield* consentForm(cookie, { clientId, verifier })
      const late = { ...stale.hidden, tier: "pim:read", decision: "allow" }
      assertErrorPage(yield* later(601, decide(cookie, late)), 400, /was used already, or is older/)
      assert.strictEqual((yield* later(500, decide(cookie, late))).status, 303)
      // After its row was deleted, the answer is that for an unknown consent.
      const swept = yield* consentForm(cookie, { clientId, verifier })
      yield* later(601, (yield* Authorization).forget)
      const gone = decide(cookie, { ...swept.hidden, tier: "pim:read", decision: "allow" })
      assertErrorPage(yield* gone, 403, /expired long ago/)
    })
  )

  it.effect("a target that is too long and an unknown method are answered with a page", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/oauth/authorize", { method: "POST", form: {} })
      assertErrorPage(answer, 405, /supports only GET and HEAD/)
      assert.strictEqual(answer.headers.get("allow"), "GET, HEAD")
      assertErrorPage(yield* ask(`/oauth/authorize?state=${"x".repeat(12_288)}`), 414, /longer than 12288 bytes/)
      assertErrorPage(yield* ask("/oauth/authorize?state=%"), 400, /percent-encoded/)
    })
  )

  it.effect("a defect is answered with a page that hides the cause", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { cookie } = yield* aUser()
      const clientId = yield* aClient()
      yield* sql.unsafe("ALTER TABLE oauth_request RENAME TO oauth_request_away")
      const page = yield* ask(authorizePath({ clientId, verifier }), { cookie })
      yield* sql.unsafe("ALTER TABLE oauth_code RENAME TO oauth_code_away")
      const form = { grant_type: "authorization_code", client_id: clientId, code_verifier: verifier }
      const token = yield* ask("/oauth/token", { form: { ...form, code: `pim_ac_${"x".repeat(43)}` } })
      yield* sql.unsafe("ALTER TABLE oauth_request_away RENAME TO oauth_request")
      yield* sql.unsafe("ALTER TABLE oauth_code_away RENAME TO oauth_code")
      assertErrorPage(page, 500, /<code>req_[0-9a-f-]{36}<\/code>/)
      assert.notMatch(page.text, /oauth_request|relation|SELECT|at .*\.ts/)
      assert.strictEqual(token.status, 500)
      assert.deepStrictEqual(bodyOf(token), {
        error: "server_error",
        error_description: "Something went wrong on our side. The log has the cause under this request id."
      })
    })
  )
})

layer(pagesServer({ baseUrl: "https://pim.example" }), { excludeTestServices: true })("behind https", (it) => {
  it.effect("the cookie is limited to https and this host, and forms must come from the public address", () =>
    Effect.gen(function* () {
      const { cookie } = yield* aUser()
      assert.strictEqual((yield* ask("/settings/keys", { cookie })).status, 303)
      const secure = cookie.replace("catalog_session", "__Host-catalog_session")
      const page = yield* ask("/settings/keys", { cookie: secure })
      assert.strictEqual(page.status, 200)
      const { hidden } = sectionsOf(page.text, "/sign-out")
      const headers = { origin: "http://127.0.0.1" }
      assertErrorPage(yield* ask("/sign-out", { cookie: secure, form: hidden, headers }), 403, /did not come from/)
      const out = yield* ask("/sign-out", {
        cookie: secure,
        form: hidden,
        headers: { origin: "https://pim.example" }
      })
      assert.strictEqual(out.status, 303)
      assert.match(
        String(out.headers.get("set-cookie")),
        /^__Host-catalog_session=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
    })
  )
})
