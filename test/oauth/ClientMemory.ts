import { assert } from "@effect/vitest"
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js"
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js"
import { Effect } from "effect"
import type { Tier } from "../../src/connections/Tier.ts"
import { sectionsOf } from "./Html.ts"
import { ask, decide, sentBack } from "./PagesServer.ts"

export const loopbackRedirect = "http://127.0.0.1:33418/callback"

/** The registration of a client on the user's machine. */
export const clientMetadata = {
  client_name: "Outside",
  redirect_uris: [loopbackRedirect],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none"
}

interface Kept {
  client?: OAuthClientInformationMixed
  tokens?: OAuthTokens
  verifier?: string
  /** The authorization URL to which the user is sent. */
  url?: URL
  discovery?: OAuthDiscoveryState
}

/** A client's storage, as the SDK's interface requires it. */
export const clientMemory = () => {
  const kept: Kept = {}
  const provider = {
    redirectUrl: loopbackRedirect,
    clientMetadata,
    state: () => "of the SDK's",
    clientInformation: () => kept.client,
    saveClientInformation: (client: OAuthClientInformationMixed) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens: OAuthTokens) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: (url: URL) => {
      kept.url = url
    },
    saveCodeVerifier: (verifier: string) => {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier ?? "",
    saveDiscoveryState: (discovery: OAuthDiscoveryState) => {
      kept.discovery = discovery
    },
    discoveryState: () => kept.discovery,
    // The SDK calls this when the server refuses the credentials.
    invalidateCredentials: () => {
      delete kept.tokens
    }
  } satisfies OAuthClientProvider
  return { kept, provider }
}
export type ClientMemory = ReturnType<typeof clientMemory>

/** Consents in the browser that a client opened. Returns the URL to which the client is redirected. */
export const consentIn = (cookie: string, url: URL, tier: Tier = "pim:write") =>
  Effect.gen(function* () {
    const page = yield* ask(`${url.pathname}${url.search}`, { cookie })
    assert.strictEqual(page.status, 200, page.text)
    const { hidden } = sectionsOf(page.text, "/oauth/authorize/decision")
    return new URL(sentBack(yield* decide(cookie, { ...hidden, tier, decision: "allow" })).location)
  })
