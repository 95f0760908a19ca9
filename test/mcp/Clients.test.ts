import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { clientMemory, consentIn } from "../oauth/ClientMemory.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { ask, later } from "../oauth/PagesServer.ts"
import { aConnection, ample, baseUrlOf, connectorWith, message, portOf, send } from "./Connector.ts"
import { signedIn } from "./Merchant.ts"
import { DemoSamples } from "./Samples.ts"
import { connected, type SdkClient, sdks, withToken } from "./SdkClients.ts"
import { allToolNames, toolNames } from "./ToolNames.ts"

const call = (client: SdkClient, tool: string, args: Readonly<Record<string, unknown>>) =>
  Effect.promise(() => client.callTool({ name: tool, arguments: { ...args } }))

const assertListsAll = (client: SdkClient) =>
  Effect.gen(function* () {
    const { nextCursor, tools } = yield* Effect.promise(() => client.listTools())
    assert.deepStrictEqual(tools.map((tool) => tool.name).sort(), [...allToolNames].sort())
    assert.isUndefined(nextCursor)
  })

/** Calls every tool with valid arguments. */
const assertCalls = (client: SdkClient, names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const samples = yield* DemoSamples
    for (const tool of names) {
      const { structuredContent } = yield* call(client, "get_master_v1", { master_id: samples.product })
      const { draft_revision } = structuredContent as { draft_revision: number }
      const result = yield* call(client, tool, samples.argsOf(tool, draft_revision))
      assert.notStrictEqual(result.isError, true, `${tool}: ${JSON.stringify(result.content)}`)
      assert.isObject(result.structuredContent)
    }
  })

const oneOfEachTier = Object.values(toolNames).map(([name]) => name)

const nameOf = (error: unknown) => (error instanceof Error ? error.constructor.name : String(error))

/** The error with which a client fails. */
const refusal = (attempt: () => Promise<unknown>) =>
  Effect.promise(() =>
    attempt().then(
      () => assert.fail("was served"),
      (error: unknown) => error
    )
  )

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("the SDK's own clients", (it) => {
  for (const [name, sdk] of Object.entries(sdks)) {
    it.scoped(`${name} lists the tools, calls every one, and reads a refusal`, () =>
      Effect.gen(function* () {
        const samples = yield* DemoSamples
        const { token } = yield* aConnection(samples.accountId)
        const client = yield* connected(sdk, new URL(`${yield* baseUrlOf}/mcp`), withToken(token))
        yield* assertListsAll(client)
        yield* assertCalls(client, allToolNames)
        const refused = yield* call(client, "get_master_v1", { master_id: "x" })
        assert.isTrue(refused.isError)
        assert.match(JSON.stringify(refused.content), /master_id: must be a UUID/)
      })
    )

    it.scoped(
      `${name}, given only the address, registers, gets consent, calls tools, refreshes its token, and is disconnected`,
      () =>
        Effect.gen(function* () {
          const { accountId, product } = yield* DemoSamples
          const cookie = yield* signedIn(accountId, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}@example.com`)
          const url = new URL(`${yield* baseUrlOf}/mcp`)
          const { kept, provider } = clientMemory()
          const credentials = { authProvider: provider }
          assert.strictEqual(nameOf(yield* refusal(() => sdk.connect(url, credentials))), "UnauthorizedError")
          assert.notProperty(kept, "tokens")
          const asked = kept.url ?? assert.fail("no authorization address")
          assert.strictEqual(asked.searchParams.get("scope"), "pim:read pim:write pim:publish")
          assert.strictEqual(asked.searchParams.get("resource"), url.href)
          const { searchParams } = yield* consentIn(cookie, asked, "pim:publish")
          yield* Effect.promise(() => sdk.finish(url, credentials, searchParams))

          const client = yield* connected(sdk, url, credentials)
          yield* assertListsAll(client)
          yield* assertCalls(client, oneOfEachTier)
          const first = kept.tokens
          // The access token expires after an hour. The client notices when its next call is refused.
          yield* later(3_601, call(client, "get_master_v1", { master_id: product }))
          assert.notStrictEqual(kept.tokens?.access_token, first?.access_token)
          assert.notStrictEqual(kept.tokens?.refresh_token, first?.refresh_token)
          yield* assertListsAll(client)
          yield* assertCalls(client, oneOfEachTier)

          const token = kept.tokens?.access_token
          const shown = yield* ask("/settings/connections", { cookie })
          const { id } = sectionsOf(shown.text, "/settings/connections/disconnect").hidden
          const question = yield* ask(`/settings/connections/disconnect?id=${id}`, { cookie })
          const { hidden } = sectionsOf(question.text, "/settings/connections/disconnect")
          assert.strictEqual((yield* ask("/settings/connections/disconnect", { cookie, form: hidden })).status, 303)
          const get = { name: "get_master_v1", arguments: { master_id: product } }
          const answer = yield* send(yield* portOf, { token, ...message("modern", "tools/call", get) })
          assert.strictEqual(answer.status, 401, answer.text)
          assert.match(answer.headers["www-authenticate"] ?? "", /^Bearer error="invalid_token"/)
          // Its refresh token is refused too, so the client asks its user to authorize again.
          delete kept.url
          assert.strictEqual(nameOf(yield* refusal(() => client.callTool(get))), "UnauthorizedError")
          assert.isDefined(kept.url)
          assert.notProperty(kept, "tokens")
        })
    )
  }
})
