import { assert, layer } from "@effect/vitest"
import { Effect, Layer, LogLevel } from "effect"
import { Activity } from "../../src/connections/Activity.ts"
import { NotFound, Unavailable, ValidationFailed } from "../../src/model/Errors.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { anAccount, Catalog, Stores } from "../../src/testing/index.ts"
import { errorLog } from "../support/ErrorLog.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { aConnection, callWith, type Era, message, portOf, send, serverWith } from "./Connector.ts"

const master_id = "00000000-0000-4000-8000-000000000001"
const failed = "Failed: something went wrong on our side."
const log = errorLog()

/** What the list of stores logs and dies of, which the messages other than tool calls read. */
let planted: unknown
const cause = "The database is gone."

const connector = serverWith().pipe(
  Layer.provide(
    Layer.mock(Catalog, {
      list: () => Effect.die(new Unavailable()),
      kindOf: () => Effect.die(new NotFound()),
      related: () => Effect.die(ValidationFailed.at("cursor", "planted"))
    })
  ),
  Layer.provide(
    Layer.mock(Stores, { list: Effect.suspend(() => Effect.zipRight(Effect.logWarning(cause), Effect.die(planted))) })
  ),
  Layer.provide(log.layer),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.orDie
)

layer(connector, { excludeTestServices: true })("a tool that died", (it) => {
  for (const [tool, reason] of [
    ["get_master_v1", "NotFound"],
    ["get_master_related_v1", "planted"]
  ] as const)
    it.effect(
      `is reported as an internal error and logged once, although its tag is that of an API error: ${tool}`,
      () =>
        Effect.gen(function* () {
          const { accountId } = yield* anAccount()
          const { token } = yield* aConnection(accountId)
          const { _meta, content, isError } = yield* callWith(token)(tool, { master_id })
          const [said] = Object.values(_meta ?? {})
          assert.strictEqual(isError, true)
          assert.deepStrictEqual(content, [
            {
              type: "text",
              text: `${failed} Call ${tool} again later, or quote the request id in _meta to the operator: the log has the cause under it.`
            }
          ])
          assert.strictEqual(said?.code, "internal_error")
          const entries = log.of(said?.request_id)
          assert.lengthOf(entries, 1)
          assert.include(entries[0], reason)
        })
    )

  it.effect("is reported as unavailable, not as a defect, and logged, if the database cannot be reached", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const { token } = yield* aConnection(accountId)
      const { _meta } = yield* callWith(token)("list_masters_v1")
      const [said] = Object.values(_meta ?? {})
      assert.strictEqual(said?.code, "unavailable")
      assert.lengthOf(log.of(said?.request_id), 0)
      const refusals = log.of(said?.request_id, LogLevel.Warning)
      assert.lengthOf(refusals, 1)
      assert.include(refusals[0], new Unavailable().message)
    })
  )
})

const prompt = "fill_missing_descriptions"
const reading: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]> = [
  ["resources/read", { uri: "catalog://channels" }],
  ["prompts/get", { name: prompt, arguments: {} }],
  ["completion/complete", { ref: { type: "ref/prompt", name: prompt }, argument: { name: "channel", value: "" } }]
]
const clientInfo = { name: "test", version: "1" }
const messages: ReadonlyArray<readonly [Era, string, Readonly<Record<string, unknown>>]> = [
  ...reading.map(([method, params]) => ["modern", method, params] as const),
  ...reading.map(([method, params]) => ["legacy", method, params] as const),
  ["modern", "server/discover", {}],
  ["legacy", "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }]
]

layer(connector, { excludeTestServices: true })("a message other than a tool call", (it) => {
  for (const [era, method, params] of messages) {
    const refusedBy = (defect: unknown) =>
      Effect.gen(function* () {
        planted = defect
        const { accountId } = yield* anAccount()
        const { token } = yield* aConnection(accountId)
        const answer = yield* send(yield* portOf, { token, ...message(era, method, params, "m-1") })
        const requestId = answer.headers["x-request-id"]
        return { answer: [answer.status, JSON.parse(answer.text)], requestId, logged: log.of(requestId) }
      })

    it.effect(`that dies is answered without the cause, which is logged once: ${method} (${era})`, () =>
      Effect.gen(function* () {
        const { answer, logged, requestId } = yield* refusedBy(new Error("planted"))
        const error = {
          code: -32_603,
          message: "Something went wrong on our side. The log has the cause under this request id.",
          data: { code: "internal_error", request_id: requestId }
        }
        assert.deepStrictEqual(answer, [500, { jsonrpc: "2.0", id: "m-1", error }])
        assert.lengthOf(logged, 1)
        assert.include(logged[0], "planted")
      })
    )

    it.effect(`is answered 503, and logs no defect, if the database cannot be reached: ${method} (${era})`, () =>
      Effect.gen(function* () {
        const unavailable = new Unavailable()
        const { answer, logged, requestId } = yield* refusedBy(unavailable)
        const error = {
          code: -32_000,
          message: unavailable.message,
          data: { code: "unavailable", request_id: requestId }
        }
        assert.deepStrictEqual(answer, [503, { jsonrpc: "2.0", id: "m-1", error }])
        assert.lengthOf(logged, 0)
        // The fiber of a request has the id by itself (http/RequestIds).
        if (reading.some(([other]) => other === method))
          assert.include(log.of(requestId, LogLevel.Warning).join("\n"), cause)
      })
    )
  }
})

const withoutActivity = serverWith().pipe(
  Layer.provide(Layer.mock(Activity, { countCall: () => Effect.die(new Unavailable()) })),
  Layer.provideMerge(ServicesOnDatabase),
  Layer.provideMerge(anyDatabase),
  Layer.orDie
)

layer(withoutActivity, { excludeTestServices: true })("a tool call that cannot be counted", (it) => {
  it.effect("is answered 503 with the budget that is left, because the call was charged", () =>
    Effect.gen(function* () {
      const { accountId } = yield* anAccount()
      const { token } = yield* aConnection(accountId)
      const call = message("modern", "tools/call", { name: "list_masters_v1", arguments: {} }, "c-1")
      const { headers, status, text } = yield* send(yield* portOf, { token, ...call })
      assert.strictEqual(status, 503)
      const error = {
        code: -32_000,
        message: new Unavailable().message,
        data: { code: "unavailable", request_id: headers["x-request-id"] }
      }
      assert.deepStrictEqual(JSON.parse(text), { jsonrpc: "2.0", id: "c-1", error })
      assert.deepStrictEqual([headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]], ["120", "119"])
    })
  )
})
