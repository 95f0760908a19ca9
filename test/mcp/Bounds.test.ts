import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callLimitBytes, messageLimitBytes } from "../../src/mcp/Message.ts"
import { anAccount } from "../../src/testing/index.ts"
import {
  type Answer,
  aConnection,
  ample,
  connectorWith,
  legacy,
  message,
  messageIn,
  portOf,
  type Sent,
  send
} from "./Connector.ts"

const ask = (sent: Sent) => Effect.flatMap(portOf, (port) => send(port, sent))

const aToken = Effect.gen(function* () {
  const { accountId } = yield* anAccount()
  return (yield* aConnection(accountId)).token
})

const headers = { "mcp-protocol-version": legacy }

/** A message of this size in bytes, with its members in this order. */
const sized = (bytes: number, before: string, after: string) => {
  const padding = bytes - Buffer.byteLength(before) - Buffer.byteLength(after)
  return before + "x".repeat(padding) + after
}

const ping = (bytes: number) => sized(bytes, '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"p":"', '"}}}')

const call = (bytes: number, method = "tools/call") =>
  sized(
    bytes,
    '{"jsonrpc":"2.0","id":1,"params":{"name":"list_products_v1","arguments":{"search":"',
    `"}},"method":"${method}"}`
  )

const assertEnvelope = ({ headers, status, text }: Answer, expected: number, code: string, message: string) => {
  assert.strictEqual(status, expected, text)
  assert.deepStrictEqual(JSON.parse(text), { error: { code, message, request_id: headers["x-request-id"] } })
  assert.strictEqual(headers.connection, "close")
}

const tooLarge = "The body is larger than 262144 bytes: only tools/call takes more, up to 4194304 bytes."

/** The body in two pieces, without a declared length. */
const chunked = (body: string) => [body.slice(0, 100_000), body.slice(100_000)]

const remainingOf = (token: string) =>
  Effect.map(ask({ token, headers, body: ping(200) }), (answer) => Number(answer.headers["x-ratelimit-remaining"]))

describe("messages other than tools/call", () => {
  layer(connectorWith(ample), { excludeTestServices: true })("are bounded in size", (it) => {
    it.effect("256 KiB and no byte more, wherever the member `method` stands", () =>
      Effect.gen(function* () {
        const token = yield* aToken
        const served = yield* ask({ token, headers, body: ping(messageLimitBytes) })
        assert.deepStrictEqual([served.status, messageIn(served).result], [200, {}])
        const refused = [
          ping(messageLimitBytes + 1),
          ping(3_200_000),
          chunked(ping(messageLimitBytes + 1)),
          // Only the end of the body shows that it is not a tool call.
          call(messageLimitBytes + 1, "ping"),
          chunked(call(messageLimitBytes + 1, "pin\\u0067")),
          // A member "method" inside a string or below the top level is ignored.
          ping(300_000).replace('"p":"', '"method":"tools/call","p":"'),
          ping(300_000).replace('"p":"', '"p":"\\"method\\":\\"tools/call\\"'),
          // If "method" is given twice, the last one counts, as in the JSON parser.
          `${call(300_000).slice(0, -1)},"method":"ping"}`,
          // A notification named tools/call does not call a tool.
          call(300_000).replace('"id":1,', ""),
          // The body is not a JSON-RPC message.
          sized(300_000, '{"', '":1}'),
          sized(300_000, '["', '"]')
        ]
        for (const body of refused)
          assertEnvelope(yield* ask({ token, headers, body }), 413, "payload_too_large", tooLarge)
      })
    )

    it.effect("a tool call may have up to 4 MiB, with its members in any order and escaped in any way", () =>
      Effect.gen(function* () {
        const token = yield* aToken
        const before = yield* remainingOf(token)
        const calls = [
          call(messageLimitBytes + 1),
          call(callLimitBytes),
          chunked(call(3_000_000)),
          call(300_000, "tools\\/call"),
          call(300_000).replace('"method"', '"meth\\u006fd"')
        ]
        for (const body of calls) {
          const answer = yield* ask({ token, headers, body })
          assert.strictEqual(answer.status, 200, answer.text)
          assert.match(messageIn(answer).result.content[0].text, /^Invalid: search: /)
        }
        assert.strictEqual(before - (yield* remainingOf(token)), calls.length)
      })
    )

    it.effect("a call with too many members or arrays is refused before it is parsed, and is not counted", () =>
      Effect.gen(function* () {
        const token = yield* aToken
        const before = yield* remainingOf(token)
        const withMembers = (count: number) =>
          message("legacy", "tools/call", {
            name: "list_products_v1",
            arguments: Object.fromEntries(Array.from({ length: count }, (_, place) => [`unknown_${place}`, 1]))
          })
        const withElements = (count: number) =>
          message("legacy", "tools/call", {
            name: "list_products_v1",
            arguments: { fields: Array.from({ length: count }, () => []) }
          })
        const refusals = [
          [withMembers(501), "has an object of more than 500 members"],
          [withMembers(130_000), "has an object of more than 500 members"],
          [withElements(10_000), "has more than 10000 arrays, objects and members"],
          [withElements(1_000_000), "has more than 10000 arrays, objects and members"]
        ] as const
        for (const [sent, misfit] of refusals) {
          const answer = yield* ask({ token, ...sent })
          assert.strictEqual(answer.status, 400)
          assert.deepStrictEqual(messageIn(answer), {
            jsonrpc: "2.0",
            id: null,
            error: {
              code: -32_600,
              message: `Invalid request: ${misfit}.`,
              data: { code: "validation_failed", request_id: answer.headers["x-request-id"] }
            }
          })
        }
        assert.strictEqual(before - (yield* remainingOf(token)), 0)
        const told = messageIn(yield* ask({ token, ...withMembers(500) })).result.content[0].text
        assert.match(told, /^Invalid: unknown_0: .*; and 480 more\. /s)
      })
    )
  })

  layer(connectorWith(), { excludeTestServices: true })("have a window of their own", (it) => {
    it.effect("600 a minute for each connection, separate from tool calls and from other connections", () =>
      Effect.gen(function* () {
        const { accountId } = yield* anAccount()
        const [{ token }, other] = [yield* aConnection(accountId), yield* aConnection(accountId)]
        const one = message("legacy", "ping")
        const kinds = [
          { sent: one, status: 200 },
          { sent: message("modern", "tools/list"), status: 200 },
          { sent: { ...one, body: "{" }, status: 400 },
          { sent: { ...one, body: ping(300_000) }, status: 413 }
        ] as const
        const statuses = yield* Effect.forEach(
          Array.from({ length: 600 }, (_, place) => kinds[place % kinds.length] ?? kinds[0]),
          ({ sent, status }) => Effect.map(ask({ token, ...sent }), (answer) => answer.status === status),
          { concurrency: 8 }
        )
        assert.deepStrictEqual([statuses.length, statuses.filter((asExpected) => asExpected).length], [600, 600])
        for (const { sent } of kinds) {
          const refused = yield* ask({ token, ...sent })
          assert.strictEqual(refused.status, 429, refused.text)
          const seconds = Number(refused.headers["retry-after"])
          assert.isAtLeast(seconds, 1)
          assert.isAtMost(seconds, 60)
          assert.deepStrictEqual(messageIn(refused), {
            jsonrpc: "2.0",
            id: sent.body === one.body ? 1 : messageIn(refused).id,
            error: {
              code: -32_000,
              message: `This connection has sent 600 messages other than tools/call within a minute; retry in ${seconds} s.`,
              data: { code: "rate_limited", request_id: refused.headers["x-request-id"] }
            }
          })
          assert.deepInclude(refused.headers, {
            "x-ratelimit-limit": "600",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-scope": "key"
          })
        }
        const called = yield* ask({ token, ...message("legacy", "tools/call", { name: "list_products_v1" }) })
        assert.deepStrictEqual([called.status, called.headers["x-ratelimit-remaining"]], [200, "119"])
        assert.strictEqual((yield* ask({ token: other.token, ...one })).status, 200)
      })
    )
  })

  layer(connectorWith({ ...ample, MAX_BODY_BYTES: "9000000", MAX_BODY_BYTES_PER_CREDENTIAL: "5242880" }), {
    excludeTestServices: true
  })("share the bytes that are held at once", (it) => {
    const overloaded = "The service is receiving too many large requests; retry with exponential backoff."

    it.effect(
      "calls of one connection beyond its share of memory get 503, another connection's are served, and the memory is freed",
      () =>
        Effect.gen(function* () {
          const [token, other] = [yield* aToken, yield* aToken]
          for (let round = 0; round < 3; round++) {
            const flood = Effect.forEach(
              Array.from({ length: 12 }),
              () => ask({ token, headers, body: call(2_900_000) }),
              { concurrency: "unbounded" }
            )
            const [answers, beside] = yield* Effect.all(
              [flood, ask({ token: other, headers, body: call(1_000_000) })],
              {
                concurrency: 2
              }
            )
            const refused = answers.filter(({ status }) => status === 503)
            assert.strictEqual(answers.filter(({ status }) => status === 200).length + refused.length, 12)
            assert.isAtLeast(refused.length, 1)
            for (const answer of refused) assertEnvelope(answer, 503, "unavailable", overloaded)
            assert.strictEqual(beside.status, 200, beside.text)
          }
          // The memory of refused and answered calls is free again.
          assert.strictEqual((yield* ask({ token, headers, body: call(callLimitBytes) })).status, 200)
        })
    )
  })
})
