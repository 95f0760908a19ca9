import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { destinationOf, isRegistered, misfitOfRedirectUri, withParameters } from "../../src/connections/RedirectUri.ts"

const good = fc.oneof(
  fc.webUrl({ validSchemes: ["https"], withQueryParameters: true }),
  fc.nat(65_535).map((port) => `http://127.0.0.1:${port}/cb`),
  fc.constantFrom("cursor://agent/cb", "com.example.app:/cb", "http://[::1]/", "http://localhost?x=1", "vscode://x.y/z")
)

describe("redirect URIs", () => {
  it("a redirect matches a registered one by its text, or by its loopback address", () => {
    fc.assert(
      fc.property(good, good, (one, other) => {
        fc.pre(misfitOfRedirectUri(one) === undefined && misfitOfRedirectUri(other) === undefined)
        assert.isTrue(isRegistered([one], one))
        if (isRegistered([one], other) && one !== other) {
          const [left, right] = [new URL(one), new URL(other)]
          assert.deepStrictEqual(
            [left.protocol, left.hostname, left.pathname, left.search],
            [right.protocol, right.hostname, right.pathname, right.search]
          )
          assert.include(["localhost", "127.0.0.1", "[::1]"], right.hostname)
          assert.strictEqual(right.protocol, "http:")
        }
      })
    )
  })

  it("no accepted URI leads to a script, a file or a plain http host, or hides its host", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.string().map((text) => `https://${text}`)
        ),
        (uri) => {
          if (misfitOfRedirectUri(uri) !== undefined) return
          const url = new URL(uri)
          assert.notInclude(["javascript:", "data:", "vbscript:", "file:", "blob:", "about:"], url.protocol)
          if (url.protocol === "http:") assert.include(["localhost", "127.0.0.1", "[::1]"], url.hostname)
          assert.deepStrictEqual([url.username, url.password, url.hash], ["", "", ""])
          assert.isAtMost(uri.length, 2_048)
          assert.isNotEmpty(destinationOf(uri))
        }
      ),
      { numRuns: 2_000 }
    )
  })

  it("parameters are appended and read back unchanged", () => {
    fc.assert(
      fc.property(good, fc.string(), fc.string(), (uri, code, state) => {
        fc.pre(misfitOfRedirectUri(uri) === undefined)
        const sent = new URL(withParameters(uri, { code: code.toWellFormed(), state: state.toWellFormed() }))
        const before = new URL(uri)
        assert.strictEqual(sent.origin + sent.pathname, before.origin + before.pathname)
        assert.deepStrictEqual(
          [...sent.searchParams],
          [...before.searchParams, ["code", code.toWellFormed()], ["state", state.toWellFormed()]]
        )
      }),
      // A query that consists of a question mark is not empty.
      { examples: [["https://a.aa??", "", ""]] }
    )
  })

  it("the destination is a host, or the scheme of a program", () => {
    assert.deepStrictEqual(
      [
        "https://agent.example:8443/cb",
        "http://127.0.0.1:33418/cb",
        "cursor://agent/cb",
        "https://xn--80ak6aa92e.example/"
      ].map(destinationOf),
      ["agent.example:8443", "127.0.0.1:33418", "cursor:", "xn--80ak6aa92e.example"]
    )
  })
})
