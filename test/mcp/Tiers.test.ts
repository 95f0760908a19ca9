import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Tier } from "../../src/connections/Tier.ts"
import { tools } from "../../src/mcp/Calls.ts"
import { aConnection, ample, baseUrlOf, connectorWith, message, messageIn, portOf, send } from "./Connector.ts"
import { DemoSamples } from "./Samples.ts"
import { toolNames } from "./ToolNames.ts"

/** The rank of a tier, which allows the tools of all tiers up to this rank. */
const rank = (tier: Tier) => Tier.literals.indexOf(tier)

/** The names of the tiers on the consent page. */
const tierNames = {
  "pim:read": "Read",
  "pim:write": "Read and edit drafts",
  "pim:publish": "Read, edit and publish"
} as const

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("tiers", (it) => {
  it.effect(
    "3 tiers x 28 tools: a tool above the tier gets 403 or, in older protocol revisions, an error result; all others are served",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const base = yield* baseUrlOf
        const samples = yield* DemoSamples
        const versionOf = Effect.map(
          sql`SELECT version FROM account_state WHERE account_id = ${samples.accountId}`,
          ([row]) => Number(row?.version)
        )
        let refused = 0
        let served = 0
        for (const tier of Tier.literals) {
          const { token } = yield* aConnection(samples.accountId, "pim:publish", { tokenTier: tier })
          for (const needed of Tier.literals)
            for (const name of toolNames[needed]) {
              const get = message("modern", "tools/call", {
                name: "get_master_v1",
                arguments: { master_id: samples.product }
              })
              const { result } = messageIn(yield* send(yield* portOf, { token, ...get }))
              const before = yield* versionOf
              for (const era of ["modern", "legacy"] as const) {
                const args = samples.argsOf(name, result.structuredContent.draft_revision)
                const answer = yield* send(yield* portOf, {
                  token,
                  ...message(era, "tools/call", { name, arguments: args }, `${name} ${era}`)
                })
                if (rank(tier) >= rank(needed)) {
                  served += 1
                  assert.strictEqual(answer.status, 200, `${tier} ${name}: ${answer.text.slice(0, 200)}`)
                  assert.property(messageIn(answer), "result")
                  continue
                }
                refused += 1
                assert.strictEqual(yield* versionOf, before)
                const text = `${name} needs the tier "${tierNames[needed]}" (${needed}), and this connection was granted "${tierNames[tier]}". Nothing was done. To grant more, disconnect the catalog in this client, connect it again and choose "${tierNames[needed]}" on the consent page.`
                if (era === "legacy") {
                  assert.strictEqual(answer.status, 200, `${tier} ${name}`)
                  assert.isUndefined(answer.headers["www-authenticate"])
                  assert.deepStrictEqual(messageIn(answer), {
                    jsonrpc: "2.0",
                    id: `${name} legacy`,
                    result: {
                      content: [{ type: "text", text }],
                      isError: true,
                      _meta: { [`${base}/error`]: { code: "forbidden", request_id: answer.headers["x-request-id"] } }
                    }
                  })
                  continue
                }
                assert.strictEqual(answer.status, 403, `${tier} ${name}`)
                assert.strictEqual(
                  answer.headers["www-authenticate"],
                  `Bearer error="insufficient_scope", scope="${needed}", resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"`
                )
                const { error, id } = JSON.parse(answer.text)
                assert.strictEqual(id, `${name} ${era}`)
                assert.deepStrictEqual(error.data, { code: "forbidden", request_id: answer.headers["x-request-id"] })
                assert.strictEqual(error.message, `insufficient_scope: ${text}`)
              }
            }
        }
        const counts = Tier.literals.map((tier) => toolNames[tier].length)
        assert.deepStrictEqual(counts, [22, 5, 1])
        assert.strictEqual(refused, 2 * (5 + 1 + 1))
        assert.strictEqual(served, 2 * (22 + 27 + 28))
        for (const { listed, tool } of tools) assert.include(toolNames[tool.tier] as ReadonlyArray<string>, listed.name)
      })
  )
})
