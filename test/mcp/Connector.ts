import { request as nodeRequest } from "node:http"
import { HttpServer } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { assert } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { serverOf } from "../../src/App.ts"
import { readAppConfig } from "../../src/AppConfig.ts"
import type { SecretKind } from "../../src/access/OpaqueToken.ts"
import { hashOf, mintSecret } from "../../src/access/Secrets.ts"
import type { Tier } from "../../src/connections/Tier.ts"
import { type AccountId, ClientId, ConnectionId, UserId } from "../../src/model/Ids.ts"
import { mintId } from "../../src/runtime/Identifiers.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { anyDatabase } from "../support/TestDatabase.ts"

export const allowedOrigin = "https://allowed.example"

const settings = { PORT: "0", ALLOWED_ORIGINS: `${allowedOrigin}, https://other.example` }

/** The complete server, on a free port, with the services and the database that the test provides. */
export const serverWith = (more: Readonly<Record<string, string>> = {}) =>
  Layer.unwrapEffect(
    Effect.map(
      Effect.withConfigProvider(
        readAppConfig,
        ConfigProvider.fromMap(new Map(Object.entries({ ...settings, ...more })))
      ),
      serverOf
    )
  ).pipe(Layer.orDie)

/** The complete server with its services, on a database of its own. */
export const connectorWith = (more: Readonly<Record<string, string>> = {}) =>
  serverWith(more).pipe(Layer.provideMerge(ServicesOnDatabase), Layer.provideMerge(anyDatabase), Layer.orDie)

/** Budgets so large that no test uses them up by accident. */
export const ample = { RATE_LIMIT_PER_KEY: "100000", RATE_LIMIT_PER_ACCOUNT: "100000" }

export const portOf = Effect.map(HttpServer.HttpServer, ({ address }) =>
  address._tag === "TcpAddress" ? address.port : assert.fail("not on TCP")
)

/** The server's own base URL: the address that it listens on. */
export const baseUrlOf = Effect.map(portOf, (port) => `http://127.0.0.1:${port}`)

/**
 * Creates a connection of an account to the service at `base`, as after a consent, and a token for it. The token is
 * valid by default; the options make others.
 */
export const aConnectionTo = (
  base: string,
  accountId: AccountId,
  tier: Tier = "pim:publish",
  {
    kind = "access",
    minutes = 60,
    tokenTier = tier,
    stores = null,
    confirmPublish = false
  }: {
    readonly kind?: Extract<SecretKind, "access" | "refresh">
    readonly minutes?: number
    readonly tokenTier?: Tier
    /** The only stores that the connection can use; null: all. */
    readonly stores?: ReadonlyArray<string> | null
    readonly confirmPublish?: boolean
  } = {}
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const resource = `${base}/mcp`
    const [userId, clientId, connectionId] = yield* Effect.all([mintId(UserId), mintId(ClientId), mintId(ConnectionId)])
    const token = yield* mintSecret(kind)
    yield* sql`INSERT INTO app_user (account_id, id, email, role)
      VALUES (${accountId}, ${userId}, ${`${userId}@user.example`}, 'admin')`
    yield* sql`
      INSERT INTO oauth_client (id, name, redirect_uris)
      VALUES (${clientId}, 'Test agent', ARRAY['https://agent.example/callback'])`
    yield* sql`
      INSERT INTO oauth_grant (account_id, id, user_id, client_id, client_name, redirect_host, tier, resource,
                               store_ids, confirm_publish)
      VALUES (${accountId}, ${connectionId}, ${userId}, ${clientId}, 'Test agent', 'agent.example', ${tier}, ${resource},
              ${stores === null ? null : [...stores]}::uuid[], ${confirmPublish})`
    yield* sql`
      INSERT INTO oauth_token (account_id, hash, grant_id, kind, tier, expires_at)
      VALUES (${accountId}, ${Buffer.from(hashOf(token), "hex")}, ${connectionId}, ${kind}, ${tokenTier},
              app_now() + make_interval(mins => ${minutes}))`
    return { token, connectionId, userId }
  }).pipe(Effect.orDie)

/** Creates a connection to the service under test, with a token. */
export const aConnection = (
  accountId: AccountId,
  tier: Tier = "pim:publish",
  more: NonNullable<Parameters<typeof aConnectionTo>[3]> = {}
) => Effect.flatMap(baseUrlOf, (base) => aConnectionTo(base, accountId, tier, more))

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** A list is sent in several chunks, without a Content-Length. */
  readonly body?: string | Uint8Array | ReadonlyArray<string | Uint8Array>
}

const usual = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream"
}

/** Sends one request without changing it; undefined headers are omitted. */
export const send = (port: number, { body, headers = {}, method = "POST", path = "/mcp", token }: Sent = {}) =>
  Effect.async<Answer>((resume) => {
    const all: Record<string, string | undefined> = {
      ...usual,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(typeof body === "string" || body instanceof Uint8Array
        ? { "content-length": String(Buffer.byteLength(body)) }
        : {}),
      ...headers
    }
    const sent = nodeRequest({
      host: "127.0.0.1",
      port,
      path,
      method,
      agent: false,
      headers: Object.fromEntries(
        Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
      )
    })
    sent.on("response", (received) => {
      const chunks: Array<Buffer> = []
      received.on("data", (chunk: Buffer) => chunks.push(chunk))
      // An answer that is cut off has no end.
      received.on("error", (error) => resume(Effect.die(error)))
      received.on("end", () =>
        resume(
          Effect.succeed({
            status: received.statusCode ?? 0,
            headers: received.headers as Answer["headers"],
            text: Buffer.concat(chunks).toString()
          })
        )
      )
    })
    // If the answer has arrived, this does nothing; otherwise the test fails with the error.
    sent.on("error", (error) => resume(Effect.die(error)))
    const pieces = body === undefined ? [] : typeof body === "string" || body instanceof Uint8Array ? [body] : body
    for (const piece of pieces) sent.write(piece)
    sent.end()
  })

export const modern = "2026-07-28"
export const legacy = "2025-11-25"
export type Era = "modern" | "legacy"

const envelope = {
  "io.modelcontextprotocol/protocolVersion": modern,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

/** A message of either protocol era, with its headers. */
export const message = (
  era: Era,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  id: string | number = 1
): { readonly body: string; readonly headers: Readonly<Record<string, string>> } =>
  era === "modern"
    ? {
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope } }),
        headers: {
          "mcp-protocol-version": modern,
          "mcp-method": method,
          ...(typeof (params.name ?? params.uri) === "string" && { "mcp-name": String(params.name ?? params.uri) })
        }
      }
    : {
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
        headers: { "mcp-protocol-version": legacy }
      }

/** Reads the message from an answer, which is JSON or a stream with one event. */
export const messageIn = ({ headers, text }: Answer) => {
  const [, data = text] = headers["content-type"]?.startsWith("text/event-stream")
    ? (/^event: message\ndata: (.*)\n\n$/s.exec(text) ?? assert.fail(`no event: ${text.slice(0, 200)}`))
    : []
  return JSON.parse(data)
}

/** The result of a tool call. */
export interface Result {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text: string }>
  // biome-ignore lint/suspicious/noExplicitAny: what it holds is what the test looks at.
  readonly structuredContent?: any
  readonly _meta?: Readonly<Record<string, { readonly code: string; readonly request_id: string }>>
}

/** Calls a tool with a token. Fails if the request is refused before it reaches the tool. */
export const callWith = (token: string, era: Era = "modern") => {
  return (name: string, args: unknown = {}) =>
    Effect.gen(function* () {
      const { body, headers } = message(era, "tools/call", { name, arguments: args })
      const answer = yield* send(yield* portOf, { token, body, headers })
      assert.strictEqual(answer.status, 200, answer.text)
      const { error, result } = messageIn(answer)
      assert.isUndefined(error, JSON.stringify(error))
      return result as Result
    })
}
