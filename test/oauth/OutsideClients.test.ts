import { assert, layer } from "@effect/vitest"
import { auth as auth2 } from "@modelcontextprotocol/client"
import { auth } from "@modelcontextprotocol/sdk/client/auth.js"
import { Effect, Option } from "effect"
import * as openid from "openid-client"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { type ClientMemory, clientMemory, clientMetadata, consentIn, loopbackRedirect } from "./ClientMemory.ts"
import { aUser, PagesServer } from "./PagesServer.ts"

const opens = (token: string) =>
  Effect.gen(function* () {
    const resource = `${yield* BaseUrl}/mcp`
    return Option.isSome(yield* (yield* Connections).authenticate(token, resource))
  })

layer(PagesServer, { excludeTestServices: true })("third-party clients", (it) => {
  it.effect("openid-client registers, gets the user's consent and tokens, and refreshes and revokes them", () =>
    Effect.gen(function* () {
      const base = yield* BaseUrl
      const { cookie } = yield* aUser()
      const config = yield* Effect.promise(() =>
        openid.dynamicClientRegistration(new URL(base), clientMetadata, openid.None(), {
          algorithm: "oauth2",
          execute: [openid.allowInsecureRequests]
        })
      )
      assert.strictEqual(config.serverMetadata().issuer, base)
      const verifier = openid.randomPKCECodeVerifier()
      const state = openid.randomState()
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: loopbackRedirect,
        scope: "pim:read pim:write pim:publish",
        code_challenge: yield* Effect.promise(() => openid.calculatePKCECodeChallenge(verifier)),
        code_challenge_method: "S256",
        state,
        resource: `${base}/mcp`
      })
      const back = yield* consentIn(cookie, url)
      // Checks state and iss.
      const tokens = yield* Effect.promise(() =>
        openid.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier, expectedState: state })
      )
      assert.deepStrictEqual(
        [tokens.token_type, tokens.expires_in, tokens.scope],
        ["bearer", 3_600, "pim:read pim:write"]
      )
      assert.isTrue(yield* opens(tokens.access_token))
      const next = yield* Effect.promise(() => openid.refreshTokenGrant(config, tokens.refresh_token ?? ""))
      assert.isTrue(yield* opens(next.access_token))
      yield* Effect.promise(() => openid.tokenRevocation(config, next.refresh_token ?? ""))
      assert.isFalse(yield* opens(next.access_token))
      const replay = yield* Effect.promise(() =>
        openid.refreshTokenGrant(config, next.refresh_token ?? "").then(
          () => undefined,
          (error: unknown) => error
        )
      )
      assert.include(replay, { error: "invalid_grant" })
    })
  )

  const sdks = {
    "1.x": (
      provider: ClientMemory["provider"],
      { iss: _, ...options }: { readonly serverUrl: string; readonly authorizationCode?: string; readonly iss?: string }
    ) => auth(provider, options),
    "2.x": (
      provider: ClientMemory["provider"],
      options: { readonly serverUrl: string; readonly authorizationCode?: string; readonly iss?: string }
    ) => auth2(provider, options)
  }

  for (const [version, authorize] of Object.entries(sdks))
    it.effect(
      `the MCP SDK's own auth() of ${version} finds the server, registers, gets tokens and refreshes them`,
      () =>
        Effect.gen(function* () {
          const serverUrl = `${yield* BaseUrl}/mcp`
          const { cookie } = yield* aUser()
          const { kept, provider } = clientMemory()
          const accessToken = () => kept.tokens?.access_token ?? assert.fail("no tokens")
          assert.strictEqual(yield* Effect.promise(() => authorize(provider, { serverUrl })), "REDIRECT")
          const back = yield* consentIn(cookie, kept.url ?? assert.fail("no address to authorize at"))
          assert.strictEqual(back.searchParams.get("state"), "of the SDK's")
          const authorizationCode = String(back.searchParams.get("code"))
          const iss = String(back.searchParams.get("iss"))
          assert.strictEqual(
            yield* Effect.promise(() => authorize(provider, { serverUrl, authorizationCode, iss })),
            "AUTHORIZED"
          )
          const first = accessToken()
          assert.isTrue(yield* opens(first))
          // With tokens, it refreshes them.
          assert.strictEqual(yield* Effect.promise(() => authorize(provider, { serverUrl })), "AUTHORIZED")
          assert.notStrictEqual(accessToken(), first)
          assert.isTrue(yield* opens(accessToken()))
        })
    )
})
