import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Connections } from "../../src/connections/Connections.ts"
import { Tier } from "../../src/connections/Tier.ts"
import { tools } from "../../src/mcp/Calls.ts"
import { anAccount } from "../../src/testing/index.ts"
import {
  type Answer,
  aConnection,
  aConnectionTo,
  allowedOrigin,
  ample,
  baseUrlOf,
  connectorWith,
  type Era,
  legacy,
  message,
  messageIn,
  modern,
  portOf,
  type Sent,
  send
} from "./Connector.ts"

const ask = (sent: Sent) => Effect.flatMap(portOf, (port) => send(port, sent))

const aToken = Effect.gen(function* () {
  const { accountId } = yield* anAccount()
  return (yield* aConnection(accountId)).token
})

const codeIn = ({ text }: Answer) => JSON.parse(text).error.code

/** Checks the headers that every answer has. */
const assertHeaders = ({ headers }: Answer) => {
  for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"])
    assert.match(headers[name] ?? "", /^\d+$/, name)
  assert.match(headers["x-request-id"] ?? "", /^req_[0-9a-f-]{36}$/)
  assert.strictEqual(headers["cache-control"], "private, no-cache")
}

const assertEnvelope = (answer: Answer, status: number, code: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  const { error } = JSON.parse(answer.text)
  assert.hasAllKeys(error, ["code", "message", "request_id"])
  assert.strictEqual(error.code, code)
  assert.strictEqual(error.request_id, answer.headers["x-request-id"])
  assertHeaders(answer)
}

/** Checks a JSON-RPC error, whose data has the API's error code and the request id. */
const assertRefused = (answer: Answer, status: number, rpc: number, code: string) => {
  assert.strictEqual(answer.status, status, answer.text)
  const { error, jsonrpc } = messageIn(answer)
  assert.strictEqual(jsonrpc, "2.0")
  assert.strictEqual(error.code, rpc, answer.text)
  assert.deepInclude(error.data, { code, request_id: answer.headers["x-request-id"] })
  assertHeaders(answer)
}

const eras: ReadonlyArray<Era> = ["modern", "legacy"]
const list = message("modern", "tools/list")

layer(connectorWith(ample), { excludeTestServices: true })("the transport", (it) => {
  it.effect("no token: 401 with the address of the metadata, before the body is read", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      for (const sent of [
        list,
        { ...list, body: "{" },
        { body: "x".repeat(100_000) },
        { ...list, headers: { authorization: "Basic YTpi" } }
      ]) {
        const answer = yield* ask(sent)
        assertEnvelope(answer, 401, "unauthorized")
        assert.strictEqual(
          answer.headers["www-authenticate"],
          `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp", scope="pim:read pim:write pim:publish"`
        )
      }
    })
  )

  it.effect("answers are never compressed, whatever Accept-Encoding says", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const plain = yield* ask({ ...list, token })
      const answer = yield* ask({ ...list, token, headers: { ...list.headers, "accept-encoding": "br, gzip" } })
      assert.strictEqual(answer.status, 200)
      assert.isAbove(answer.text.length, 1_024)
      assert.isUndefined(answer.headers["content-encoding"])
      assert.strictEqual(answer.text, plain.text)
      assert.strictEqual(answer.headers.etag, plain.headers.etag)
    })
  )

  it.effect("other methods: 405 before authentication", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const method of ["GET", "DELETE", "HEAD", "PUT", "PATCH"])
        for (const sent of [{ method }, { method, token }, { method, headers: { origin: "https://evil.example" } }]) {
          const answer = yield* ask(sent)
          assert.strictEqual(answer.status, 405, method)
          assert.strictEqual(answer.headers.allow, "POST, OPTIONS")
          if (method !== "HEAD") assertEnvelope(answer, 405, "method_not_allowed")
        }
      assertEnvelope(yield* ask({ path: "/mcp/" }), 404, "not_found")
      assertEnvelope(yield* ask({ path: "/MCP" }), 404, "not_found")
    })
  )

  it.effect("a page of an allowed origin can read every refusal, also those of other methods and internal errors", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const token = yield* aToken
      const assertReadable = (answer: Answer, origin: string | undefined) => {
        assert.strictEqual(answer.headers["access-control-allow-origin"], origin, answer.text)
        assert.include(answer.headers.vary ?? "", "Origin")
      }
      for (const method of ["GET", "HEAD", "DELETE", "PUT", "PATCH"])
        for (const [origin, readable] of [
          [allowedOrigin, allowedOrigin],
          ["https://evil.example", undefined]
        ] as const) {
          const answer = yield* ask({ method, token, headers: { origin } })
          assert.strictEqual(answer.status, 405)
          assertReadable(answer, readable)
        }
      // Without this table, authentication fails with an internal error.
      yield* sql`ALTER TABLE oauth_grant RENAME TO elsewhere`
      const broken = yield* ask({ ...list, token, headers: { ...list.headers, origin: allowedOrigin } }).pipe(
        Effect.ensuring(Effect.orDie(sql`ALTER TABLE elsewhere RENAME TO oauth_grant`))
      )
      assertEnvelope(broken, 500, "internal_error")
      assertReadable(broken, allowedOrigin)
    })
  )

  it.effect("the host of an absolute target replaces the Host header", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const host = `127.0.0.1:${yield* portOf}`
      const of = (path: string, host: string) => ask({ ...list, token, path, headers: { ...list.headers, host } })
      assert.strictEqual((yield* of(`http://${host}/mcp`, "evil.example")).status, 200)
      assertEnvelope(yield* of("http://evil.example/mcp", host), 403, "forbidden")
    })
  )

  it.effect("an error has its code and request id after a JSON-RPC id of any length and form", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const era of eras)
        for (const id of ["{", "x".repeat(1_000), '","error":{', '{"result":', 0, ""])
          assertRefused(
            yield* ask({ ...message(era, "no/such", {}, id), token }),
            era === "modern" ? 404 : 200,
            -32_601,
            "not_found"
          )
    })
  )

  it.effect("a subscription starts and ends at once, because the tools never change while the service runs", () =>
    Effect.gen(function* () {
      const { body, headers } = message("modern", "subscriptions/listen", { notifications: { toolsListChanged: true } })
      const answer = yield* ask({ body, headers, token: yield* aToken })
      assert.strictEqual(answer.status, 200, answer.text)
      const events = [...answer.text.matchAll(/^event: message\ndata: (.*)\n\n/gm)].map(([, data = ""]) =>
        JSON.parse(data)
      )
      assert.deepStrictEqual(
        events.map(({ method, result }) => method ?? result.resultType),
        ["notifications/subscriptions/acknowledged", "complete"]
      )
    })
  )

  it.effect("OPTIONS: 204 with the methods and headers that a browser may send", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      for (const origin of [undefined, base, allowedOrigin]) {
        const answer = yield* ask({ method: "OPTIONS", headers: { origin } })
        assert.strictEqual(answer.status, 204)
        assert.strictEqual(answer.text, "")
        assert.deepStrictEqual((answer.headers["access-control-allow-headers"] ?? "").split(", ").sort(), [
          "accept",
          "authorization",
          "content-type",
          "last-event-id",
          "mcp-method",
          "mcp-name",
          "mcp-protocol-version",
          "mcp-session-id"
        ])
        assert.include(answer.headers["access-control-allow-methods"], "POST")
        assert.include(answer.headers["access-control-expose-headers"], "WWW-Authenticate")
        assert.strictEqual(answer.headers["access-control-allow-origin"], origin)
        assertHeaders(answer)
      }
    })
  )

  it.effect(
    "an unknown origin, or the origin `null`: 403 even with a valid token; the service's own and allowed origins are served",
    () =>
      Effect.gen(function* () {
        const token = yield* aToken
        const port = yield* portOf
        for (const method of ["POST", "OPTIONS"])
          for (const origin of [
            "https://evil.example",
            "null",
            `https://127.0.0.1:${port}`,
            "http://127.0.0.1:1",
            `${allowedOrigin}.evil.example`,
            ""
          ]) {
            const answer = yield* ask({ ...list, method, token, headers: { ...list.headers, origin } })
            assertEnvelope(answer, 403, "forbidden")
            assert.isUndefined(answer.headers["access-control-allow-origin"])
          }
        for (const origin of [
          `http://127.0.0.1:${port}`,
          `http://localhost:${port}`,
          `http://[::1]:${port}`,
          allowedOrigin,
          "https://other.example"
        ]) {
          const answer = yield* ask({ ...list, token, headers: { ...list.headers, origin } })
          assert.strictEqual(answer.status, 200, origin)
          assert.strictEqual(answer.headers["access-control-allow-origin"], origin)
          assert.include(answer.headers.vary, "Origin")
          const refused = yield* ask({ ...list, headers: { ...list.headers, origin } })
          assert.strictEqual(refused.status, 401)
          assert.strictEqual(refused.headers["access-control-allow-origin"], origin)
          assert.include(refused.headers["access-control-expose-headers"], "WWW-Authenticate")
        }
      })
  )

  it.effect("an unknown host: 403; every name of this machine is served", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const port = yield* portOf
      for (const host of [
        "evil.example",
        `evil.example:${port}`,
        "127.0.0.1",
        "localhost:1",
        `localhost.evil.example:${port}`
      ])
        for (const method of ["POST", "OPTIONS"])
          assertEnvelope(yield* ask({ ...list, method, token, headers: { ...list.headers, host } }), 403, "forbidden")
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`])
        assert.strictEqual((yield* ask({ ...list, token, headers: { ...list.headers, host } })).status, 200, host)
    })
  )

  it.effect("over 4 MiB, declared or counted while reading: 413 before the body is parsed", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const limit = 4 * 1_048_576
      const call = { name: "list_products_v1" }
      const { headers } = message("modern", "tools/call", call)
      const padded = (bytes: number) => {
        const { body } = message("modern", "tools/call", { ...call, arguments: { search: "" } })
        return body.replace('"search":""', `"search":"${"x".repeat(bytes - body.length)}"`)
      }
      const over = padded(limit + 1)
      assert.strictEqual(over.length, limit + 1)
      const declared = yield* ask({
        ...list,
        body: "{}",
        headers: { ...list.headers, "content-length": String(limit + 1) }
      })
      assertEnvelope(declared, 413, "payload_too_large")
      const pieces = [over.slice(0, 1_000_000), over.slice(1_000_000, 4_000_000), over.slice(4_000_000)]
      assertEnvelope(yield* ask({ ...list, token, body: pieces }), 413, "payload_too_large")
      assertEnvelope(
        yield* ask({ ...list, token, body: ["{".repeat(3_000_000), "{".repeat(3_000_000)] }),
        413,
        "payload_too_large"
      )
      // Without a token the body is not read.
      assertEnvelope(yield* ask({ ...list, body: pieces }), 401, "unauthorized")
      assert.strictEqual((yield* ask({ headers, token, body: padded(limit) })).status, 200)
    })
  )

  it.effect("invalid JSON: 400 and -32700", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const body of ["", "{", "nonsense", '{"jsonrpc":"2.0",}', Buffer.from([0x22, 0xff, 0x22])])
        for (const headers of [list.headers, {}])
          assertRefused(yield* ask({ token, headers, body }), 400, -32_700, "validation_failed")
      const deep = yield* ask({ token, body: `${"[".repeat(40)}${"]".repeat(40)}` })
      assertRefused(deep, 400, -32_600, "validation_failed")
      assert.include(messageIn(deep).error.message, "deeper than 32")
      for (const body of ["1", '"text"', "null", "{}", '{"jsonrpc":"1.0","id":1,"method":"tools/list"}']) {
        const answer = yield* ask({ token, body })
        assert.strictEqual(answer.status, 400, body)
        assert.include([-32_600, -32_700], messageIn(answer).error.code)
      }
    })
  )

  it.effect("a batch, even an empty one, of any revision: 400 and -32600", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const era of eras) {
        const { body, headers } = message(era, "tools/list")
        for (const batch of ["[]", `[${body}]`, `[${body},${body}]`])
          assertRefused(yield* ask({ token, headers, body: batch }), 400, -32_600, "validation_failed")
      }
    })
  )

  it.effect("another content type: 415", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json; charset=latin1",
        undefined
      ])
        assertEnvelope(
          yield* ask({ ...list, token, headers: { ...list.headers, "content-type": type } }),
          415,
          "unsupported_media_type"
        )
      for (const type of ["application/json; charset=utf-8", "Application/JSON"])
        assert.strictEqual(
          (yield* ask({ ...list, token, headers: { ...list.headers, "content-type": type } })).status,
          200
        )
    })
  )

  it.effect("an Accept header without both types: 406", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const era of eras) {
        const { body, headers } = message(era, "tools/list")
        for (const accept of [
          "application/json",
          "text/event-stream",
          "text/html",
          "application/jsonx, text/event-streams",
          undefined
        ])
          assertEnvelope(yield* ask({ token, body, headers: { ...headers, accept } }), 406, "not_acceptable")
        for (const accept of ["text/event-stream;q=0.5, application/json", "Application/JSON,Text/Event-Stream"])
          assert.strictEqual((yield* ask({ token, body, headers: { ...headers, accept } })).status, 200, accept)
      }
    })
  )

  it.effect("an unknown protocol version: 400; a legacy message without a version is served", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const { body } = message("legacy", "tools/list")
      for (const version of ["1999-01-01", "nonsense", "2027-01-01"]) {
        const answer = yield* ask({ token, body, headers: { "mcp-protocol-version": version } })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.deepInclude(messageIn(answer).error.data, {
          code: "validation_failed",
          request_id: answer.headers["x-request-id"]
        })
      }
      const served = yield* ask({ token, body })
      assert.strictEqual(served.status, 200)
      assert.isNotEmpty(messageIn(served).result.tools)
    })
  )

  it.effect("initialize: the requested version if it is supported, else the newest one of its era", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const [asked, given] of [
        ["2025-03-26", "2025-03-26"],
        ["2025-06-18", "2025-06-18"],
        ["2025-11-25", "2025-11-25"],
        ["1999-01-01", legacy],
        ["2099-01-01", legacy]
      ]) {
        const { body } = message("legacy", "initialize", {
          protocolVersion: asked,
          capabilities: {},
          clientInfo: { name: "test", version: "1" }
        })
        const answer = yield* ask({ token, body })
        assert.strictEqual(answer.status, 200)
        const { result } = messageIn(answer)
        assert.strictEqual(result.protocolVersion, given)
        assert.strictEqual(result.serverInfo.name, "catalog")
        assert.deepStrictEqual(result.capabilities, { tools: {}, prompts: {}, resources: {}, completions: {} })
        assert.isUndefined(answer.headers["mcp-session-id"])
      }
    })
  )

  it.effect("the id of an old session is ignored; a notification gets 202 and no body", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const era of eras) {
        const { body, headers } = message(era, "tools/list")
        const stale = { ...headers, "mcp-session-id": "11111111-1111-4111-8111-111111111111" }
        assert.strictEqual((yield* ask({ token, body, headers: stale })).status, 200)
        const { id: _, ...notification } = JSON.parse(message(era, "notifications/initialized").body)
        const noted = yield* ask({
          token,
          body: JSON.stringify(notification),
          headers: { ...headers, ...(era === "modern" && { "mcp-method": "notifications/initialized" }) }
        })
        assert.strictEqual(noted.status, 202, noted.text)
        assert.strictEqual(noted.text, "")
        assertHeaders(noted)
      }
    })
  )

  it.effect("a modern tools/list: one JSON body that says how long, and by whom, it may be cached", () =>
    Effect.gen(function* () {
      const answer = yield* ask({ ...list, token: yield* aToken })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers["content-type"], "application/json")
      const { result } = messageIn(answer)
      assert.strictEqual(result.resultType, "complete")
      assert.isAbove(result.ttlMs, 0)
      assert.strictEqual(result.cacheScope, "public")
      assert.strictEqual(result._meta["io.modelcontextprotocol/serverInfo"].name, "catalog")
      assert.isUndefined(result.nextCursor)
    })
  )

  it.effect("the same 28 tools in the same order for every tier and protocol, in every answer, within 64 KB", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const lists: Array<unknown> = []
      for (const tier of Tier.literals) {
        const { token } = yield* aConnection(accountId, tier)
        for (const era of eras)
          for (let time = 0; time < 2; time++) {
            const answer = yield* ask({ token, ...message(era, "tools/list") })
            assert.isAtMost(Buffer.byteLength(answer.text), 64 * 1024)
            lists.push(messageIn(answer).result.tools)
          }
      }
      const [first, ...others] = lists
      assert.deepStrictEqual(
        (first as ReadonlyArray<{ name: string }>).map(({ name }) => name),
        tools.map(({ listed }) => listed.name)
      )
      assert.strictEqual(others.length, 11)
      for (const other of others) assert.deepStrictEqual(other, first)
    })
  )

  it.effect("a list is whole: a cursor is refused as invalid params, and an empty one counts as absent", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
        for (const era of eras) {
          const answer = yield* ask({ token, ...message(era, method, { cursor: "AQAAAAAAAAEp" }) })
          assert.deepStrictEqual(messageIn(answer), {
            jsonrpc: "2.0",
            id: 1,
            error: {
              code: -32_602,
              message: `Invalid params: params.cursor: ${method} returns the whole list; call it without a cursor.`,
              data: { code: "validation_failed", request_id: answer.headers["x-request-id"] }
            }
          })
          const [whole, blank] = yield* Effect.forEach([{}, { cursor: "" }], (params) =>
            ask({ token, ...message(era, method, params) })
          )
          assert.deepStrictEqual(messageIn(blank as Answer), messageIn(whole as Answer))
          assert.isUndefined(messageIn(whole as Answer).error)
        }
    })
  )

  it.effect("header and body disagree, _meta is missing, an unknown modern version: 400 with the protocol's code", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const { body, headers } = list
      for (const other of [{ "mcp-protocol-version": legacy }, { "mcp-method": "tools/call" }])
        assertRefused(yield* ask({ token, body, headers: { ...headers, ...other } }), 400, -32_020, "validation_failed")
      const call = message("modern", "tools/call", { name: "get_master_v1", arguments: {} })
      const otherName = { ...call.headers, "mcp-name": "list_masters_v1" }
      assertRefused(yield* ask({ token, body: call.body, headers: otherName }), 400, -32_020, "validation_failed")
      const bare = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} })
      assertRefused(yield* ask({ token, body: bare, headers }), 400, -32_602, "validation_failed")
      const unknown = body.replace(modern, "2099-01-01")
      const answer = yield* ask({
        token,
        body: unknown,
        headers: { ...headers, "mcp-protocol-version": "2099-01-01" }
      })
      assertRefused(answer, 400, -32_022, "validation_failed")
      assert.deepStrictEqual(messageIn(answer).error.data.supported, [modern])
    })
  )

  it.effect("an unknown method: 404 in the modern protocol, 200 in the legacy ones; server/discover is served", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const [era, status] of [
        ["modern", 404],
        ["legacy", 200]
      ] as const) {
        const answer = yield* ask({ token, ...message(era, "tools/unheard-of") })
        assertRefused(answer, status, -32_601, "not_found")
        assert.strictEqual(messageIn(answer).id, 1)
      }
      const { result } = messageIn(yield* ask({ token, ...message("modern", "server/discover") }))
      assert.include(result.supportedVersions, modern)
      assert.deepStrictEqual(result.capabilities, { tools: {}, prompts: {}, resources: {}, completions: {} })
    })
  )

  it.effect("a token in the query: 401", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const name of ["access_token", "token"])
        for (const sent of [undefined, token])
          assertEnvelope(
            yield* ask({ ...list, token: sent, path: `/mcp?tier=read&${name}=${token}` }),
            401,
            "unauthorized"
          )
    })
  )

  it.effect("any query parameter other than tier: 400 before the token is checked", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const base = yield* baseUrlOf
      for (const query of [
        "tier=reed",
        "tier=",
        "tier=READ",
        "tier=pim:read",
        "tier=read&tier=read",
        "a=b",
        "tier=read&a"
      ])
        for (const sent of [undefined, token]) {
          const answer = yield* ask({ ...list, token: sent, path: `/mcp?${query}` })
          assertEnvelope(answer, 400, "validation_failed")
          assert.strictEqual(
            JSON.parse(answer.text).error.message,
            `The URL ${base}/mcp accepts only the query parameter \`tier\`, with the value read, write or publish (default).`
          )
        }
      assert.strictEqual((yield* ask({ method: "GET", path: "/mcp?tier=reed" })).status, 405)
    })
  )

  it.effect("errors show no stack, statement or token", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      const call = (name: unknown, args: unknown) => message("modern", "tools/call", { name, arguments: args })
      const answers = yield* Effect.forEach(
        [
          { ...list, headers: { ...list.headers, accept: "text/html" } },
          { ...list, body: "{" },
          { ...list, body: '{"jsonrpc":"2.0","id":{},"method":1}' },
          call("get_master_v1", { master_id: token }),
          call(token, {}),
          call("get_master_v1", "text"),
          call(1, {}),
          call("list_products_v1", { cursor: token, search: "'; DROP TABLE entity; --" }),
          message("modern", token)
        ],
        (sent) => ask({ token, ...sent })
      )
      for (const { headers, status, text } of answers) {
        assert.isBelow(status, 500)
        for (const leak of [/\n\s+at /, /node_modules/, /\.ts:\d/, /SELECT|INSERT|entity_/, /[A-Z]:\\/])
          assert.notMatch(text, leak)
        // A token sent as an argument is repeated only where the protocol repeats the argument.
        if (status >= 400 || !text.includes("Unknown tool")) assert.notInclude(JSON.stringify(headers), token)
      }
    })
  )

  it.effect("a random, expired, revoked or refresh token, or one for another resource: 401 invalid_token", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const ended = yield* aConnection(accountId)
      assert.strictEqual((yield* ask({ ...list, token: ended.token })).status, 200)
      yield* (yield* Connections).disconnect(accountId, ended.connectionId)
      const bad = {
        revoked: ended.token,
        random: `pim_at_${"A".repeat(43)}`,
        expired: (yield* aConnection(accountId, "pim:read", { minutes: -1 })).token,
        refresh: (yield* aConnection(accountId, "pim:read", { kind: "refresh" })).token,
        elsewhere: (yield* aConnectionTo("https://elsewhere.example", accountId, "pim:read")).token,
        malformed: "x",
        two: "a b",
        empty: ""
      }
      for (const [what, token] of Object.entries(bad)) {
        const answer = yield* ask({ ...list, headers: { ...list.headers, authorization: `Bearer ${token}` } })
        assertEnvelope(answer, 401, "unauthorized")
        assert.match(answer.headers["www-authenticate"] ?? "", /^Bearer error="invalid_token", /, what)
        assert.strictEqual(answer.headers["x-ratelimit-remaining"], answer.headers["x-ratelimit-limit"])
      }
      const { token } = yield* aConnection(accountId)
      const spelled = { ...list.headers, authorization: `bEaReR ${token}` }
      assert.strictEqual((yield* ask({ ...list, headers: spelled })).status, 200)
    })
  )

  it.effect("API keys are refused by the connector, and its tokens by REST", () =>
    Effect.gen(function* () {
      const { accountId, token: key } = yield* anAccount()
      const { token } = yield* aConnection(accountId)
      const refused = yield* ask({ ...list, token: key })
      assertEnvelope(refused, 401, "unauthorized")
      assert.strictEqual(
        JSON.parse(refused.text).error.message,
        "The access token is unknown, expired or revoked, or it is not a token of this connector (API keys work only for the REST API): connect again."
      )
      const rest = yield* ask({ method: "GET", path: "/api/v1/products", token })
      assert.strictEqual(rest.status, 401)
      assert.strictEqual(codeIn(rest), "unauthorized")
    })
  )

  it.effect("a 200 has the hash of its body as ETag, and If-None-Match changes nothing", () =>
    Effect.gen(function* () {
      const token = yield* aToken
      for (const era of eras) {
        const sent = message(era, "tools/list")
        const first = yield* ask({ token, ...sent })
        assert.match(first.headers.etag ?? "", /^"[\w-]{27}"$/)
        const again = yield* ask({ token, ...sent, headers: { ...sent.headers, "if-none-match": first.headers.etag } })
        assert.strictEqual(again.status, 200)
        assert.strictEqual(again.headers.etag, first.headers.etag)
        assert.strictEqual(again.text, first.text)
      }
    })
  )
})

layer(connectorWith({ RATE_LIMIT_PER_KEY: "3", RATE_LIMIT_PER_ACCOUNT: "5" }), {
  excludeTestServices: true
})("budgets of the connector", (it) => {
  const call = message("modern", "tools/call", { name: "list_products_v1", arguments: {} }, "an id")

  it.effect("only tools/call counts: against the connection's own window and the account's; beyond them 429", () =>
    Effect.gen(function* () {
      const { accountId, token: key } = yield* anAccount()
      const { token } = yield* aConnection(accountId)
      const left = ({ headers }: Answer) => Number(headers["x-ratelimit-remaining"])
      for (const other of ["tools/list", "server/discover", "unheard-of"])
        assert.strictEqual(left(yield* ask({ token, ...message("modern", other) })), 3)
      for (const remaining of [2, 1, 0]) {
        const answer = yield* ask({ token, ...call })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(left(answer), remaining)
      }
      const refused = yield* ask({ token, ...call })
      assertRefused(refused, 429, -32_000, "rate_limited")
      assert.strictEqual(messageIn(refused).id, "an id")
      assert.include(messageIn(refused).error.message, "of this connection")
      assert.match(refused.headers["retry-after"] ?? "", /^[1-9]\d?$/)
      const listed = yield* ask({ token, ...list })
      assert.strictEqual(listed.status, 200)
      assert.strictEqual(left(listed), 0)

      const { token: second } = yield* aConnection(accountId)
      assert.strictEqual((yield* ask({ method: "GET", path: "/api/v1/ping", token: key })).status, 200)
      assert.strictEqual((yield* ask({ token: second, ...call })).status, 200)
      const byAccount = yield* ask({ token: second, ...call })
      assertRefused(byAccount, 429, -32_000, "rate_limited")
      assert.include(messageIn(byAccount).error.message, "of the account together")
    })
  )
})
