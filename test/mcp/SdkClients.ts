import {
  Client as ClientOf2,
  type ClientOptions as OptionsOf2,
  StreamableHTTPClientTransport as TransportOf2
} from "@modelcontextprotocol/client"
import { Client as ClientOf1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as TransportOf1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Effect } from "effect"
import type { ClientMemory } from "../oauth/ClientMemory.ts"

/** The credentials of a client: a token, or a provider that registers, asks for consent and stores tokens. */
type Credentials =
  | { readonly requestInit: { readonly headers: Readonly<Record<string, string>> } }
  | { readonly authProvider: ClientMemory["provider"] }

export const withToken = (token: string): Credentials => ({
  requestInit: { headers: { Authorization: `Bearer ${token}` } }
})

/** The interface that both major versions of the client share. */
export interface SdkClient {
  readonly listTools: () => Promise<{
    readonly tools: ReadonlyArray<{ readonly name: string }>
    readonly nextCursor?: string | undefined
  }>
  readonly callTool: (call: {
    name: string
    arguments: Record<string, unknown>
  }) => Promise<{ readonly [member: string]: unknown }>
  readonly close: () => Promise<void>
}

interface Sdk {
  readonly connect: (url: URL, credentials: Credentials) => Promise<SdkClient>
  /** Exchanges the parameters of the redirect for tokens. */
  readonly finish: (url: URL, credentials: Credentials, back: URLSearchParams) => Promise<void>
}

const info = { name: "test", version: "1" }

const sdk1: Sdk = {
  connect: async (url, credentials) => {
    const client = new ClientOf1(info)
    // The SDK's types contradict each other about an absent session id under exactOptionalPropertyTypes.
    await client.connect(new TransportOf1(url, credentials) as Transport)
    return client
  },
  finish: (url, credentials, back) => new TransportOf1(url, credentials).finishAuth(back.get("code") ?? "")
}

const sdk2 = (mode: NonNullable<OptionsOf2["versionNegotiation"]>["mode"]): Sdk => ({
  connect: async (url, credentials) => {
    const client = new ClientOf2(info, { versionNegotiation: { mode } } as OptionsOf2)
    await client.connect(new TransportOf2(url, credentials))
    return client
  },
  finish: (url, credentials, back) => new TransportOf2(url, credentials).finishAuth(back)
})

/** The SDK's clients, by the protocol that each uses. */
export const sdks: Readonly<Record<string, Sdk>> = {
  "SDK 1.x": sdk1,
  "SDK 2.x, 2025-11-25": sdk2("legacy"),
  "SDK 2.x, 2026-07-28": sdk2({ pin: "2026-07-28" })
}

/** A connected client, closed with the scope. */
export const connected = (sdk: Sdk, url: URL, credentials: Credentials) =>
  Effect.acquireRelease(
    Effect.promise(() => sdk.connect(url, credentials)),
    (client) => Effect.promise(() => client.close())
  )
