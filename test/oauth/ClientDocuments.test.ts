import { assert, layer } from "@effect/vitest"
import { auth as auth2 } from "@modelcontextprotocol/client"
import { auth } from "@modelcontextprotocol/sdk/client/auth.js"
import { Context, Effect, Layer } from "effect"
import { OutsideNetwork } from "../../src/connections/OutsideRequest.ts"
import { clientMemory, consentIn } from "./ClientMemory.ts"
import {
  addressAt,
  documentAt,
  documentHost,
  type HostAnswer,
  makeDocumentHost,
  publicAddress
} from "./DocumentHost.ts"
import {
  aCode,
  ask,
  assertErrorPage,
  assertRefused,
  aUser,
  authorizePath,
  bodyOf,
  consentForm,
  newVerifier,
  PagesServer,
  pagesServer,
  redeem,
  refresh,
  tokensOf
} from "./PagesServer.ts"

class DocumentHost extends Context.Tag("test/DocumentHost")<
  DocumentHost,
  Effect.Effect.Success<typeof makeDocumentHost>
>() {
  static readonly layer = Layer.scoped(DocumentHost, makeDocumentHost)
  static readonly network = Layer.effect(
    OutsideNetwork,
    Effect.map(DocumentHost, ({ network }) => network)
  )
}

const request = (clientId: string) => authorizePath({ clientId, verifier: newVerifier() })

/** Checks that the page of a refusal has this reason and reveals nothing about the service's network. */
const assertRefusedPage = (clientId: string, reason: string) =>
  Effect.gen(function* () {
    const answer = yield* ask(request(clientId))
    assertErrorPage(answer, 400, /This cannot continue/)
    assert.include(answer.text, reason, clientId)
    assert.notMatch(answer.text, /127\.0|169\.254|10\.0|ECONN|ENOTFOUND|Error:|stack/)
  })

const hosts = [documentHost, "private.example", "mixed.example", "absent.example"]

const withDocuments = pagesServer({ clientMetadataHosts: hosts }).pipe(
  Layer.provide(DocumentHost.network),
  Layer.provideMerge(DocumentHost.layer)
)

layer(withDocuments, { excludeTestServices: true })("clients that a document describes", (it) => {
  it.effect("are announced in the metadata, get consent, and get, refresh and revoke tokens under their address", () =>
    Effect.gen(function* () {
      const { answers, dialled } = yield* DocumentHost
      const metadata = bodyOf(yield* ask("/.well-known/oauth-authorization-server"))
      assert.isTrue(metadata.client_id_metadata_document_supported)
      assert.isString(metadata.registration_endpoint)
      answers.set("/good.json", documentAt("/good.json"))
      const clientId = addressAt("/good.json")
      const { cookie } = yield* aUser()
      const verifier = newVerifier()
      const { page } = yield* consentForm(cookie, { clientId, verifier })
      assert.include(page.text, "Described Agent")
      assert.include(
        page.text,
        `<dt>Described at</dt><dd><strong>agent.example</strong><br/><code>${clientId}</code></dd>`
      )
      const code = yield* aCode(cookie, { clientId, verifier })
      const tokens = tokensOf(yield* redeem({ clientId, verifier }, code))
      const next = tokensOf(yield* refresh(clientId, tokens.refresh))
      // Only the client with the same address can revoke.
      yield* ask("/oauth/revoke", { form: { token: next.refresh, client_id: addressAt("/other.json") } })
      const again = tokensOf(yield* refresh(clientId, next.refresh))
      yield* ask("/oauth/revoke", { form: { token: again.refresh, client_id: clientId } })
      assertRefused(yield* refresh(clientId, again.refresh), 400, "invalid_grant")
      assert.deepStrictEqual([...new Set(dialled)], [publicAddress])
      assertRefused(yield* refresh(addressAt("/never-seen.json"), again.refresh), 401, "invalid_client")
    })
  )

  for (const [version, authorize] of Object.entries({
    "1.x": (
      provider: ReturnType<typeof clientMemory>["provider"],
      { iss: _, ...options }: { readonly serverUrl: string; readonly authorizationCode?: string; readonly iss?: string }
    ) => auth(provider, options),
    "2.x": (
      provider: ReturnType<typeof clientMemory>["provider"],
      options: { readonly serverUrl: string; readonly authorizationCode?: string; readonly iss?: string }
    ) => auth2(provider, options)
  }))
    it.effect(`the SDK's auth() of ${version} uses its document and does not register`, () =>
      Effect.gen(function* () {
        const { answers } = yield* DocumentHost
        const path = `/sdk-${version}.json`
        answers.set(path, documentAt(path))
        const { cookie } = yield* aUser()
        const { issuer } = bodyOf(yield* ask("/.well-known/oauth-authorization-server"))
        const serverUrl = `${issuer}/mcp`
        const { kept, provider } = clientMemory()
        const described = Object.assign(provider, { clientMetadataUrl: addressAt(path) })
        assert.strictEqual(yield* Effect.promise(() => authorize(described, { serverUrl })), "REDIRECT")
        const url = kept.url ?? assert.fail("no address to authorize at")
        assert.strictEqual(url.searchParams.get("client_id"), addressAt(path))
        const { searchParams } = yield* consentIn(cookie, url)
        const authorizationCode = String(searchParams.get("code"))
        const finish = { serverUrl, authorizationCode, iss: String(searchParams.get("iss")) }
        assert.strictEqual(yield* Effect.promise(() => authorize(described, finish)), "AUTHORIZED")
        assert.isString(kept.tokens?.access_token)
      })
    )

  const secret = { client_secret: "x" }
  const documents: Readonly<Record<string, readonly [HostAnswer, string]>> = {
    "/redirect.json": [{ status: 302, headers: { location: "/target.json" } }, "Its host answered with a redirect."],
    "/to-private.json": [
      { status: 307, headers: { location: "http://169.254.169.254/latest/meta-data" } },
      "Its host answered with a redirect."
    ],
    "/error.json": [{ status: 500, body: "{}" }, "Its host answered with an error."],
    "/huge.json": [documentAt("/huge.json", { more: "x".repeat(70_000) }), "It is larger than 64 KiB."],
    "/page.html": [
      { ...documentAt("/page.html"), headers: { "content-type": "text/html" } },
      "Its content type is not JSON."
    ],
    "/text.json": [{ body: "{" }, "It is not JSON."],
    "/list.json": [{ body: "[]" }, "It is not a JSON object."],
    "/another.json": [documentAt("/good.json"), "Its client_id is not its own address."],
    "/nobody.json": [documentAt("/nobody.json", { client_id: undefined }), "Its client_id is not its own address."],
    "/secret.json": [documentAt("/secret.json", secret), "It has a client secret, which would be public."],
    "/method.json": [
      documentAt("/method.json", { token_endpoint_auth_method: "client_secret_post" }),
      "Its token_endpoint_auth_method must be none."
    ],
    "/grants.json": [
      documentAt("/grants.json", { grant_types: ["client_credentials"] }),
      "Its grant_types must include authorization_code."
    ],
    "/script.json": [
      documentAt("/script.json", { redirect_uris: ["javascript:alert(1)"] }),
      "redirect_uris[0] must not begin with javascript:."
    ],
    "/plain.json": [
      documentAt("/plain.json", { redirect_uris: ["http://agent.example/callback"] }),
      "redirect_uris[0] must be https: plain http is for localhost, 127.0.0.1 and [::1] only."
    ],
    "/none.json": [documentAt("/none.json", { redirect_uris: [] }), "redirect_uris must list at least one URI."],
    "/responses.json": [
      documentAt("/responses.json", { response_types: ["token"] }),
      "response_types may name code only."
    ],
    "/zip.json": [
      { ...documentAt("/zip.json"), headers: { "content-encoding": "gzip" } },
      "It is compressed, although the request did not allow compression."
    ]
  }

  it.effect("a document that cannot be used: a page with status 400 and the reason, and no redirect", () =>
    Effect.gen(function* () {
      const { answers, requested } = yield* DocumentHost
      for (const [path, [answer, reason]] of Object.entries(documents)) {
        answers.set(path, answer)
        const { text } = yield* ask(request(addressAt(path)))
        assert.include(
          text.replaceAll("&#39;", "'"),
          `The app that sent you has a client metadata document at agent.example that cannot be used. ${reason}`,
          path
        )
        if (!reason.includes("127.0.0.1")) yield* assertRefusedPage(addressAt(path), reason)
      }
      assert.notInclude(requested, "/target.json")
    })
  )

  it.effect("a redirect that the document does not list: a page", () =>
    Effect.gen(function* () {
      const { answers } = yield* DocumentHost
      answers.set("/listed.json", documentAt("/listed.json", { redirect_uris: ["https://agent.example/only"] }))
      assertErrorPage(yield* ask(request(addressAt("/listed.json"))), 400, /to a URL that it has not registered/)
    })
  )

  it.effect("no connection is made to a host if any of its addresses is not public", () =>
    Effect.gen(function* () {
      const { addresses, counts } = yield* DocumentHost
      const before = counts()
      let resolved = 0
      // Each request has its own URL, because requests for one URL within a millisecond share a failure too.
      for (const found of [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["::ffff:10.0.0.1"],
        ["::1"],
        ["fd00::1"],
        ["100.64.0.1"],
        [publicAddress, "10.0.0.1"],
        ["2606:4700::1", "fe80::1"],
        []
      ]) {
        addresses.set("private.example", found)
        resolved += 1
        yield* assertRefusedPage(addressAt(`/${resolved}.json`, "private.example"), "Its host has no public address.")
      }
      yield* assertRefusedPage(addressAt("/a.json", "absent.example"), "Its host did not answer.")
      assert.deepStrictEqual(counts(), { resolved: before.resolved + resolved + 1, connections: before.connections })
    })
  )

  it.effect("a certificate for another host: the page says that the host did not answer", () =>
    Effect.gen(function* () {
      const { addresses } = yield* DocumentHost
      addresses.set("absent.example", [publicAddress])
      yield* assertRefusedPage(addressAt("/good.json", "absent.example"), "Its host did not answer.")
    })
  )

  it.effect("an invalid address, or one with another host, is not fetched", () =>
    Effect.gen(function* () {
      const { counts } = yield* DocumentHost
      const before = counts()
      const full = "Its address must be written in full, without a fragment or user information."
      for (const [clientId, reason] of [
        ["https://agent.example/", "Its address must have a path."],
        ["https://agent.example", full],
        ["https://agent.example/a/../b.json", full],
        ["https://agent.example/a.json#b", full],
        ["https://u:p@agent.example/a.json", full],
        ["https://AGENT.example/a.json", full],
        ["https://agent.example:443/a.json", full],
        [`https://agent.example/${"a".repeat(2_048)}`, "Its address has more than 2048 characters."],
        ["https://agent.example:8443/a.json", "its client id is a URL on a host that is not allowed."],
        ["https://other.example/a.json", "its client id is a URL on a host that is not allowed."],
        ["https://agent.example.evil.example/a.json", "its client id is a URL on a host that is not allowed."],
        ["https://127.0.0.1/a.json", "its client id is a URL on a host that is not allowed."],
        ["https://", "its client id is a URL on a host that is not allowed."],
        ["HTTPS://other.example/a.json", "its client id is a URL on a host that is not allowed."],
        ["http://agent.example/a.json", "is not registered here"],
        ["ftp://agent.example/a.json", "is not registered here"]
      ] as const)
        assertErrorPage(yield* ask(request(clientId)), 400, new RegExp(reason.replaceAll(".", "\\.")))
      assert.deepStrictEqual(counts(), before)
    })
  )
})

layer(PagesServer, { excludeTestServices: true })("without OAUTH_CLIENT_METADATA_HOSTS", (it) => {
  it.effect("they are neither announced nor accepted", () =>
    Effect.gen(function* () {
      assert.notProperty(
        bodyOf(yield* ask("/.well-known/oauth-authorization-server")),
        "client_id_metadata_document_supported"
      )
      yield* assertRefusedPage(addressAt("/good.json"), "its client id is a URL on a host that is not allowed.")
    })
  )
})
