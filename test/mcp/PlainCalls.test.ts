import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { plainCallOf } from "../../src/mcp/PlainCalls.ts"
import { aConnection, ample, callWith, connectorWith, message, portOf, send } from "./Connector.ts"
import { DemoSamples } from "./Samples.ts"
import { allToolNames, toolNames } from "./ToolNames.ts"

const plain = message("modern", "tools/call", { name: "list_products_v1", arguments: { limit: 1 } }, 7)

/** The plain call with one change. */
const changed = (
  // biome-ignore lint/suspicious/noExplicitAny: a test changes any place of the message
  change: (body: any, headers: Record<string, string | undefined>) => void
) => {
  const body = JSON.parse(plain.body)
  const headers: Record<string, string | undefined> = { ...plain.headers }
  change(body, headers)
  return plainCallOf(body, headers)
}

const meta = (key: string) => `io.modelcontextprotocol/${key}`

describe("a plain call", () => {
  it("is recognized", () => {
    const found = changed(() => {})
    assert.strictEqual(found?.tool.listed.name, "list_products_v1")
    assert.strictEqual(found?.id, 7)
  })

  it("is left to the SDK if a member is missing, added or of another form", () => {
    const changes: ReadonlyArray<Parameters<typeof changed>[0]> = [
      (_, headers) => delete headers["mcp-protocol-version"],
      (_, headers) => Object.assign(headers, { "mcp-protocol-version": "2025-11-25" }),
      (_, headers) => Object.assign(headers, { "mcp-method": "tools/list" }),
      (_, headers) => Object.assign(headers, { "mcp-name": "get_master_v1" }),
      (_, headers) => delete headers["mcp-name"],
      (body) => delete body.id,
      (body) => Object.assign(body, { id: null }),
      (body) => Object.assign(body, { id: 1.5 }),
      (body) => Object.assign(body, { jsonrpc: "1.0" }),
      (body) => Object.assign(body, { method: "tools/list" }),
      (body) => Object.assign(body, { more: 1 }),
      (body) => delete body.params,
      (body) => Object.assign(body.params, { name: "nothing_v1" }),
      (body) => Object.assign(body.params, { arguments: [] }),
      (body) => Object.assign(body.params, { arguments: null }),
      (body) => Object.assign(body.params, { inputResponses: {} }),
      (body) => delete body.params._meta,
      (body) => Object.assign(body.params._meta, { progressToken: 1 }),
      (body) => Object.assign(body.params._meta, { traceparent: "00-1" }),
      (body) => Object.assign(body.params._meta, { [meta("protocolVersion")]: "2025-11-25" }),
      (body) => Object.assign(body.params._meta, { [meta("clientInfo")]: { name: 1, version: "1" } }),
      (body) => Object.assign(body.params._meta, { [meta("clientCapabilities")]: null })
    ]
    for (const change of changes) assert.isUndefined(changed(change), String(change))
  })

  it("is never a publish, because the user may have to be asked", () => {
    for (const name of toolNames["pim:publish"]) {
      const { body, headers } = message("modern", "tools/call", { name, arguments: {} })
      assert.isUndefined(plainCallOf(JSON.parse(body), headers))
    }
  })
})

layer(DemoSamples.layer.pipe(Layer.provideMerge(connectorWith(ample))))("the answer to a plain call", (it) => {
  it.effect("has the SDK's bytes and content type, for answers and refusals of every read tool", () =>
    Effect.gen(function* () {
      const { accountId, argsOf } = yield* DemoSamples
      const { token } = yield* aConnection(accountId)
      const port = yield* portOf
      let compared = 0
      for (const name of toolNames["pim:read"])
        for (const args of [argsOf(name, 1), { nothing: 1 }]) {
          const direct = message("modern", "tools/call", { name, arguments: args }, 'id "1"')
          const body = JSON.parse(direct.body)
          // The SDK passes on unknown members of _meta.
          body.params._meta["example.com/other"] = 1
          assert.isDefined(plainCallOf(JSON.parse(direct.body), direct.headers))
          assert.isUndefined(plainCallOf(body, direct.headers))
          const answers = yield* Effect.all([
            send(port, { token, ...direct }),
            send(port, { token, headers: direct.headers, body: JSON.stringify(body) })
          ])
          const [ours, sdk] = answers.map(({ headers, status, text }) => ({
            status,
            type: headers["content-type"],
            text: text.replaceAll(/req_[\w-]+/g, "req_")
          }))
          assert.deepStrictEqual(ours, sdk, name)
          compared += 1
        }
      assert.strictEqual(compared, 2 * toolNames["pim:read"].length)
    })
  )

  it.effect("is the same for every tool as in the older protocol", () =>
    Effect.gen(function* () {
      const { accountId, argsOf } = yield* DemoSamples
      const { token } = yield* aConnection(accountId)
      for (const name of allToolNames.filter((each) => toolNames["pim:read"].includes(each as never))) {
        const now = yield* callWith(token, "modern")(name, argsOf(name, 1))
        const before = yield* callWith(token, "legacy")(name, argsOf(name, 1))
        assert.deepStrictEqual(now.structuredContent, before.structuredContent, name)
      }
    })
  )
})
