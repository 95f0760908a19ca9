import { SqlClient } from "@effect/sql"
import { assert, layer } from "@effect/vitest"
import { auth as auth2 } from "@modelcontextprotocol/client"
import { auth } from "@modelcontextprotocol/sdk/client/auth.js"
import { Effect, Layer } from "effect"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { Tier } from "../../src/connections/Tier.ts"
import { clientMemory, clientMetadata, consentIn, loopbackRedirect } from "../oauth/ClientMemory.ts"
import { aBrowser } from "../oauth/PagesServer.ts"
import { aConnection, ample, baseUrlOf, connectorWith, message, messageIn, portOf, send } from "./Connector.ts"
import { DemoSamples } from "./Samples.ts"
import { connected, sdks, withToken } from "./SdkClients.ts"
import { allToolNames, toolNames } from "./ToolNames.ts"

const words = { "pim:read": "read", "pim:write": "write", "pim:publish": "publish" } as const
const names = {
  "pim:read": "Read",
  "pim:write": "Read and edit drafts",
  "pim:publish": "Read, edit and publish"
} as const

layer(Layer.provideMerge(DemoSamples.layer, connectorWith(ample)), {
  excludeTestServices: true
})("a tier in the connector's address", (it) => {
  it.effect("limits what a connection may do, in both eras; the consent page does not offer more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const base = yield* baseUrlOf
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId)
      const versionOf = Effect.map(
        sql`SELECT version FROM account_state WHERE account_id = ${samples.accountId}`,
        ([row]) => Number(row?.version)
      )
      const outcomes = { refused: 0, served: 0 }
      for (const allowed of Tier.literals)
        for (const needed of Tier.literals)
          for (const name of toolNames[needed])
            for (const era of ["modern", "legacy"] as const) {
              const get = { name: "get_master_v1", arguments: { master_id: samples.product } }
              const { result: master } = messageIn(
                yield* send(yield* portOf, { token, ...message("modern", "tools/call", get) })
              )
              const before = yield* versionOf
              const args = samples.argsOf(name, master.structuredContent.draft_revision)
              const answer = yield* send(yield* portOf, {
                token,
                path: `/mcp?tier=${words[allowed]}`,
                ...message(era, "tools/call", { name, arguments: args })
              })
              assert.strictEqual(answer.status, 200, answer.text)
              const { result } = messageIn(answer)
              if (Tier.literals.indexOf(allowed) >= Tier.literals.indexOf(needed)) {
                outcomes.served += 1
                assert.notStrictEqual(result.isError, true, `${allowed} ${name}: ${answer.text}`)
                continue
              }
              outcomes.refused += 1
              assert.strictEqual(yield* versionOf, before)
              assert.isTrue(result.isError)
              assert.deepStrictEqual(result.content, [
                {
                  type: "text",
                  text: `${name} needs the tier "${names[needed]}" (${needed}), and the connector's URL in this client ends with ?tier=${words[allowed]}, which limits it to "${names[allowed]}". Nothing was done. To allow more, change the URL in this client to ${base}/mcp.`
                }
              ])
              assert.deepStrictEqual(result._meta[`${base}/error`], {
                code: "forbidden",
                request_id: answer.headers["x-request-id"]
              })
            }
      assert.deepStrictEqual(outcomes, { refused: 2 * (5 + 1 + 1), served: 2 * (22 + 27 + 28) })
    })
  )

  it.effect("never adds to the granted tier, and lists the same tools", () =>
    Effect.gen(function* () {
      const samples = yield* DemoSamples
      const { token } = yield* aConnection(samples.accountId, "pim:read")
      const call = message("modern", "tools/call", {
        name: "publish_master_v1",
        arguments: samples.argsOf("publish_master_v1", 1)
      })
      const refused = yield* send(yield* portOf, { token, path: "/mcp?tier=publish", ...call })
      assert.strictEqual(refused.status, 403)
      const texts = yield* Effect.forEach(["/mcp", "/mcp?tier=read", "/mcp?tier=write", "/mcp?tier=publish"], (path) =>
        Effect.flatMap(portOf, (port) => send(port, { token, path, ...message("modern", "tools/list") }))
      )
      assert.strictEqual(new Set(texts.map(({ text }) => text)).size, 1)
    })
  )

  it.effect("is in the challenge and in the metadata, so that a strict client finds the address it used", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      for (const [query, scope] of [
        ["", "pim:read pim:write pim:publish"],
        ["?tier=publish", "pim:read pim:write pim:publish"],
        ["?tier=write", "pim:read pim:write"],
        ["?tier=read", "pim:read"]
      ] as const) {
        const kept = query === "?tier=publish" ? "" : query
        const answer = yield* send(yield* portOf, { path: `/mcp${query}`, ...message("modern", "tools/list") })
        assert.strictEqual(answer.status, 401)
        const metadata = `${base}/.well-known/oauth-protected-resource/mcp${kept}`
        assert.strictEqual(
          answer.headers["www-authenticate"],
          `Bearer resource_metadata="${metadata}", scope="${scope}"`
        )
        const found = yield* Effect.promise(async () => (await fetch(metadata)).json())
        assert.deepInclude(found, {
          resource: `${base}/mcp${kept}`,
          authorization_servers: [base],
          scopes_supported: scope.split(" ")
        })
      }
      const unknown = yield* Effect.promise(async () =>
        (await fetch(`${base}/.well-known/oauth-protected-resource/mcp?tier=reed`)).json()
      )
      assert.deepInclude(unknown, { resource: `${base}/mcp` })
      const strict = new URL(`${base}/mcp?tier=read`)
      const server = yield* Effect.promise(async () =>
        oauth.processResourceDiscoveryResponse(
          strict,
          await oauth.resourceDiscoveryRequest(strict, { [oauth.allowInsecureRequests]: true })
        )
      )
      assert.strictEqual(server.resource, strict.href)
    })
  )

  for (const [version, authorize] of Object.entries({
    "1.x": (
      provider: ReturnType<typeof clientMemory>["provider"],
      options: { readonly serverUrl: string; readonly authorizationCode?: string }
    ) => auth(provider, options),
    "2.x": (
      provider: ReturnType<typeof clientMemory>["provider"],
      options: { readonly serverUrl: string; readonly authorizationCode?: string; readonly iss?: string }
    ) => auth2(provider, options)
  }))
    it.scoped(`the SDK's auth() of ${version} connects to the address, with the tier that it allows`, () =>
      Effect.gen(function* () {
        const base = yield* baseUrlOf
        const samples = yield* DemoSamples
        const cookie = (yield* aBrowser(samples.accountId, `tier-${version}@example.com`)).cookie
        const serverUrl = `${base}/mcp?tier=read`
        const { kept, provider } = clientMemory()
        assert.strictEqual(yield* Effect.promise(() => authorize(provider, { serverUrl })), "REDIRECT")
        const asked = kept.url ?? assert.fail("no authorization address")
        assert.strictEqual(asked.searchParams.get("resource"), serverUrl)
        const { searchParams } = yield* consentIn(cookie, asked, "pim:read")
        const authorizationCode = String(searchParams.get("code"))
        const iss = String(searchParams.get("iss"))
        const finished = Effect.promise(() =>
          authorize(provider, { serverUrl, authorizationCode, ...(version === "2.x" && { iss }) })
        )
        assert.strictEqual(yield* finished, "AUTHORIZED")
        assert.strictEqual(yield* Effect.promise(() => authorize(provider, { serverUrl })), "AUTHORIZED")
        const token = kept.tokens?.access_token ?? assert.fail("no tokens")
        for (const [name, sdk] of Object.entries(sdks)) {
          const client = yield* connected(sdk, new URL(serverUrl), withToken(token))
          const { tools } = yield* Effect.promise(() => client.listTools())
          assert.strictEqual(tools.length, allToolNames.length, name)
          const refused = yield* Effect.promise(() =>
            client.callTool({ name: "publish_master_v1", arguments: { ...samples.argsOf("publish_master_v1", 1) } })
          )
          assert.isTrue(refused.isError)
        }
      })
    )

  it.effect("openid-client sends the address as the resource, for the code and for the refresh", () =>
    Effect.gen(function* () {
      const base = yield* baseUrlOf
      const samples = yield* DemoSamples
      const cookie = (yield* aBrowser(samples.accountId, "tier-openid@example.com")).cookie
      const config = yield* Effect.promise(() =>
        openid.dynamicClientRegistration(new URL(base), clientMetadata, openid.None(), {
          algorithm: "oauth2",
          execute: [openid.allowInsecureRequests]
        })
      )
      const resource = `${base}/mcp?tier=write`
      const verifier = openid.randomPKCECodeVerifier()
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: loopbackRedirect,
        scope: "pim:write",
        code_challenge: yield* Effect.promise(() => openid.calculatePKCECodeChallenge(verifier)),
        code_challenge_method: "S256",
        resource
      })
      const back = yield* consentIn(cookie, url)
      const tokens = yield* Effect.promise(() =>
        openid.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier }, { resource })
      )
      const next = yield* Effect.promise(() =>
        openid.refreshTokenGrant(config, tokens.refresh_token ?? "", { resource })
      )
      const answer = yield* send(yield* portOf, {
        token: next.access_token,
        path: "/mcp?tier=write",
        ...message("modern", "tools/list")
      })
      assert.strictEqual(answer.status, 200, answer.text)
    })
  )
})
