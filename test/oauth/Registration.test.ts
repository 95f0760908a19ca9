import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import {
  anEndlessBody,
  ask,
  assertRefused,
  aUser,
  bodyOf,
  consentForm,
  newVerifier,
  PagesServer,
  pagesServer
} from "./PagesServer.ts"

const uri = "https://agent.example/callback"
const register = (metadata: unknown, headers: Readonly<Record<string, string>> = {}) =>
  ask("/oauth/register", { json: metadata, headers })

layer(PagesServer, { excludeTestServices: true })("metadata and registration", (it) => {
  for (const path of ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"])
    it.effect(
      `${path} has the resource, its authorization server, the scopes, and the header as the only place for a token`,
      () =>
        Effect.gen(function* () {
          const base = yield* BaseUrl
          const answer = yield* ask(path)
          assert.strictEqual(answer.status, 200)
          assert.include(bodyOf(answer), { resource: `${base}/mcp` })
          assert.deepStrictEqual(bodyOf(answer).authorization_servers, [base])
          assert.deepStrictEqual(bodyOf(answer).scopes_supported, ["pim:read", "pim:write", "pim:publish"])
          assert.deepStrictEqual(bodyOf(answer).bearer_methods_supported, ["header"])
          assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
          assert.strictEqual(answer.headers.get("content-type"), "application/json")
          assert.match(String(answer.headers.get("x-request-id")), /^req_/)
          assert.isNull(answer.headers.get("x-ratelimit-limit"))
        })
    )

  it.effect("the server metadata has the exact issuer, only S256, no client authentication, and iss", () =>
    Effect.gen(function* () {
      const base = yield* BaseUrl
      const answer = yield* ask("/.well-known/oauth-authorization-server", { headers: { host: "evil.example" } })
      assert.strictEqual(answer.status, 200)
      assert.deepStrictEqual(bodyOf(answer), {
        issuer: base,
        authorization_endpoint: `${base}/oauth/authorize`,
        token_endpoint: `${base}/oauth/token`,
        registration_endpoint: `${base}/oauth/register`,
        revocation_endpoint: `${base}/oauth/revoke`,
        scopes_supported: ["pim:read", "pim:write", "pim:publish"],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        service_documentation: `${base}/docs`
      })
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
    })
  )

  it.effect("browser clients of any origin can request metadata, registrations and tokens", () =>
    Effect.gen(function* () {
      for (const path of [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/oauth/register",
        "/oauth/token"
      ]) {
        const answer = yield* ask(path, { method: "OPTIONS", headers: { origin: "https://inspector.example" } })
        assert.strictEqual(answer.status, 204, path)
        assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
        assert.strictEqual(answer.headers.get("access-control-allow-methods"), "GET, POST, OPTIONS")
        assert.include(answer.headers.get("access-control-allow-headers"), "content-type")
      }
    })
  )

  it.effect("a client with an https redirect gets an id and no secret, and the answer is not cached", () =>
    Effect.gen(function* () {
      const answer = yield* register({ client_name: "Agent", redirect_uris: [uri], scope: "pim:read" })
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const { client_id, client_id_issued_at, ...rest } = bodyOf(answer)
      assert.match(String(client_id), /^[0-9a-f-]{36}$/)
      assert.isNumber(client_id_issued_at)
      assert.deepStrictEqual(rest, {
        client_name: "Agent",
        redirect_uris: [uri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        scope: "pim:read pim:write pim:publish"
      })
    })
  )

  it.effect("a private URI scheme in addition to a loopback address needs no application_type", () =>
    Effect.gen(function* () {
      const redirects = ["cursor://anysphere.cursor-retrieval/oauth/callback", "http://127.0.0.1:33418/callback"]
      const answer = yield* register({ redirect_uris: redirects })
      assert.strictEqual(answer.status, 201, answer.text)
      assert.deepStrictEqual(bodyOf(answer).redirect_uris, redirects)
    })
  )

  it.effect("a client without a scope, and with unknown members, is registered", () =>
    Effect.gen(function* () {
      const answer = yield* register({
        redirect_uris: [uri],
        logo_uri: "https://agent.example/logo.png",
        software_statement: 5,
        token_endpoint_auth_method: "client_secret_basic",
        "x-made-up": { deep: [true] }
      })
      assert.strictEqual(answer.status, 201, answer.text)
      assert.strictEqual(bodyOf(answer).token_endpoint_auth_method, "none")
      assert.notProperty(bodyOf(answer), "client_secret")
    })
  )

  for (const scheme of ["javascript:", "data:", "vbscript:", "file:", "blob:", "about:"])
    for (const written of [scheme, scheme.toUpperCase(), scheme.replace(/./g, (c, i) => (i % 2 ? c.toUpperCase() : c))])
      it.effect(`refuses a redirect with the scheme ${written}`, () =>
        Effect.gen(function* () {
          assertRefused(yield* register({ redirect_uris: [`${written}//x/y`] }), 400, "invalid_redirect_uri")
          assertRefused(yield* register({ redirect_uris: [uri, `${written}alert(1)`] }), 400, "invalid_redirect_uri")
        })
      )

  for (const [what, redirect_uris] of [
    ["plain http to another host", ["http://agent.example/callback"]],
    ["a host that begins with localhost", ["http://localhost.evil.example/callback"]],
    ["a host that ends in a loopback address", ["http://evil.example.127.0.0.1.nip.io/"]],
    ["a fragment", ["https://agent.example/callback#there"]],
    ["an empty fragment", ["https://agent.example/callback#"]],
    ["user information", ["https://agent.example@evil.example/"]],
    ["a password", ["https://:p@evil.example/"]],
    ["an empty name", ["https://@evil.example/"]],
    ["an empty name and password", ["https://:@evil.example/"]],
    ["an empty name, on loopback", ["http://@127.0.0.1/"]],
    ["user information of a scheme of its own", ["cursor://user@host/"]],
    ["a wildcard", ["https://*.agent.example/callback"]],
    ["a wildcard in the path", ["https://agent.example/*"]],
    ["none", []],
    ["eleven", Array.from({ length: 11 }, (_, n) => `${uri}/${n}`)],
    ["more than 2 KB", [`${uri}?${"a".repeat(2_048)}`]],
    ["a relative one", ["/callback"]],
    ["a backslash", ["https:\\\\evil.example"]],
    ["a line break", ["https://agent.example/\ncallback"]],
    ["no host", ["https:///callback"]],
    ["a number", [5]],
    ["no list", uri],
    ["nothing", undefined]
  ] as const)
    it.effect(`refuses redirects: ${what}`, () =>
      Effect.flatMap(register({ redirect_uris }), (answer) =>
        Effect.sync(() => assertRefused(answer, 400, "invalid_redirect_uri"))
      )
    )

  for (const metadata of [
    { grant_types: ["implicit"] },
    { grant_types: ["authorization_code", "client_credentials"] },
    { grant_types: [] },
    { grant_types: "authorization_code" },
    { response_types: ["token"] },
    { response_types: ["code", "id_token"] },
    { client_name: 5 }
  ])
    it.effect(`refuses the metadata ${JSON.stringify(metadata)}`, () =>
      Effect.flatMap(register({ redirect_uris: [uri], ...metadata }), (answer) =>
        Effect.sync(() => assertRefused(answer, 400, "invalid_client_metadata"))
      )
    )

  it.effect("a client's name is trimmed, reduced to one visible line, and escaped on pages", () =>
    Effect.gen(function* () {
      const given = "  <script>alert('1')</script>\n \u202Eevil\u0007 &amp; \"sons\"  "
      const answer = yield* register({ client_name: given, redirect_uris: [uri] })
      const shown = "<script>alert('1')</script> evil &amp; \"sons\""
      assert.strictEqual(bodyOf(answer).client_name, shown)
      const { cookie } = yield* aUser()
      const clientId = String(bodyOf(answer).client_id)
      const { page } = yield* consentForm(cookie, { clientId, verifier: newVerifier(), with: { redirect_uri: uri } })
      assert.notInclude(page.text, "<script")
      assert.include(page.text, "&lt;script>alert('1')&lt;/script> evil &amp;amp; &quot;sons&quot;")

      const long = yield* register({ client_name: "é".repeat(5_000), redirect_uris: [uri] })
      assert.strictEqual([...String(bodyOf(long).client_name)].length, 100)
      // Invisible characters: format characters, the fillers of Hangul, the blank of Braille.
      for (const blank of [" \u200B ", "\u3164", "\u115F\u1160", "\uFFA0 \u2800"]) {
        const nameless = yield* register({ client_name: blank, redirect_uris: [uri] })
        assert.strictEqual(bodyOf(nameless).client_name, "agent.example")
      }
      const tall = yield* register({ client_name: `Z${"\u0335".repeat(90)} e\u0301`, redirect_uris: [uri] })
      assert.strictEqual(bodyOf(tall).client_name, `Z${"\u0335".repeat(4)} e\u0301`)
    })
  )

  it.effect("refuses a body that is not JSON or is over 16 KB, also in chunks", () =>
    Effect.gen(function* () {
      const notJson = { "content-type": "application/json" }
      assertRefused(yield* ask("/oauth/register", { body: "{", headers: notJson }), 400, "invalid_client_metadata")
      assertRefused(yield* ask("/oauth/register", { form: { redirect_uris: uri } }), 400, "invalid_client_metadata")
      assertRefused(yield* register([uri]), 400, "invalid_client_metadata")
      assertRefused(yield* register(null), 400, "invalid_client_metadata")
      assertRefused(yield* register({ redirect_uris: [uri], client_uri: "\u0000" }), 400, "invalid_client_metadata")
      const large = { redirect_uris: [uri], client_uri: "x".repeat(16_384) }
      const declared = yield* register(large)
      assertRefused(declared, 413, "invalid_client_metadata")
      const base = yield* BaseUrl
      const streamed = yield* Effect.promise(async () => {
        const pieces = JSON.stringify(large).match(/.{1,1000}/g) ?? []
        const body = new ReadableStream({
          pull: (controller) => {
            const piece = pieces.shift()
            if (piece === undefined) controller.close()
            else controller.enqueue(new TextEncoder().encode(piece))
          }
        })
        const answer = await fetch(`${base}/oauth/register`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
          duplex: "half"
        } as RequestInit)
        return answer.status
      })
      assert.strictEqual(streamed, 413)
    })
  )

  it.effect("other methods are refused with the allowed ones", () =>
    Effect.gen(function* () {
      for (const [path, allow] of [
        ["/oauth/register", "OPTIONS, POST"],
        ["/oauth/token", "OPTIONS, POST"],
        ["/oauth/revoke", "POST"],
        ["/.well-known/oauth-authorization-server", "GET, HEAD, OPTIONS"]
      ] as const) {
        const answer = yield* ask(path, { method: "DELETE" })
        assert.strictEqual(answer.status, 405, path)
        assert.strictEqual(answer.headers.get("allow"), allow)
      }
    })
  )
})

layer(pagesServer({ registrationsPerHour: 3 }), { excludeTestServices: true })("registrations of an address", (it) => {
  it.effect("are limited per hour; invalid ones do not count, and X-Forwarded-For is ignored", () =>
    Effect.gen(function* () {
      assertRefused(yield* register({ redirect_uris: [] }), 400, "invalid_redirect_uri")
      for (const from of ["198.51.100.1", "198.51.100.2", "198.51.100.3"])
        assert.strictEqual((yield* register({ redirect_uris: [uri] }, { "x-forwarded-for": from })).status, 201)
      const refused = yield* register({ redirect_uris: [uri] }, { "x-forwarded-for": "198.51.100.4" })
      assertRefused(refused, 429, "too_many_requests")
      const seconds = Number(refused.headers.get("retry-after"))
      assert.isAtLeast(seconds, 3_500)
      assert.isAtMost(seconds, 3_600)
    })
  )
})

layer(pagesServer({ registrationsPerHour: 2, trustedProxies: 2 }), { excludeTestServices: true })(
  "registrations behind two proxies",
  (it) => {
    it.effect("are counted by the address that the outer proxy saw; an IPv6 network is one address", () =>
      Effect.gen(function* () {
        const from = (forwarded: string) =>
          Effect.map(register({ redirect_uris: [uri] }, { "x-forwarded-for": forwarded }), ({ status }) => status)
        // The client controls the entries before the one that the outer proxy added.
        assert.strictEqual(yield* from("203.0.113.1, 198.51.100.1, 10.0.0.1"), 201)
        assert.strictEqual(yield* from("203.0.113.2, 198.51.100.1, 10.0.0.1"), 201)
        assert.strictEqual(yield* from("203.0.113.3, 198.51.100.1, 10.0.0.1"), 429)
        assert.strictEqual(yield* from("198.51.100.2, 10.0.0.1"), 201)
        assert.strictEqual(yield* from("2001:db8:1:2::1, 10.0.0.1"), 201)
        assert.strictEqual(yield* from("2001:db8:1:2:3:4:5:6, 10.0.0.1"), 201)
        assert.strictEqual(yield* from("2001:0db8:0001:0002::9, 10.0.0.1"), 429)
        assert.strictEqual(yield* from("2001:db8:1:3::1, 10.0.0.1"), 201)
        // Some proxies add the port.
        assert.strictEqual(yield* from("198.51.100.3:1024, 10.0.0.1:8080"), 201)
        assert.strictEqual(yield* from("198.51.100.3:1025, 10.0.0.1:8081"), 201)
        assert.strictEqual(yield* from("198.51.100.3, 10.0.0.1:8082"), 429)
        assert.strictEqual(yield* from("[2001:db8:1:2::1]:1026, 10.0.0.1"), 429)
      })
    )
  }
)

layer(pagesServer({ bytesPerCredential: 200, trustedProxies: 1 }), { excludeTestServices: true })(
  "bodies without a credential behind a proxy",
  (it) => {
    it.scoped("share the memory of their client's address, not that of the proxy's", () =>
      Effect.gen(function* () {
        const from = (address: string) => register({ redirect_uris: [uri] }, { "x-forwarded-for": address })
        // Until the server has read the first bytes of a body that is still arriving, a second body fits.
        const refused = yield* Effect.repeat(
          anEndlessBody("/oauth/register", {
            headers: { "content-type": "application/json", "x-forwarded-for": "198.51.100.1" },
            body: " ".repeat(190)
          }).pipe(Effect.zipRight(from("198.51.100.1"))),
          { until: ({ status }) => status !== 201 }
        )
        assertRefused(refused, 503, "temporarily_unavailable")
        assert.strictEqual((yield* from("198.51.100.2")).status, 201)
      })
    )
  }
)

layer(pagesServer({ baseUrl: "https://pim.example" }), { excludeTestServices: true })("a configured address", (it) => {
  it.effect("is the issuer and the base of every address, whatever the request headers say", () =>
    Effect.gen(function* () {
      const headers = { "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" }
      const server = bodyOf(yield* ask("/.well-known/oauth-authorization-server", { headers }))
      assert.strictEqual(server.issuer, "https://pim.example")
      assert.strictEqual(server.token_endpoint, "https://pim.example/oauth/token")
      const resource = bodyOf(yield* ask("/.well-known/oauth-protected-resource/mcp", { headers }))
      assert.strictEqual(resource.resource, "https://pim.example/mcp")
    })
  )
})
