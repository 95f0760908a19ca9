import { createHash, randomBytes, randomUUID } from "node:crypto"
import { type BenchCatalog, connected } from "./Catalog.ts"

export const products = 100_000
export const limit = 50
export const version = "2026-07-28"
export const tool = "list_products_v1"

/** Creates a connection of the account with the tier read, and a token for it. */
export const connectionOf = ({ accountId, url }: BenchCatalog, server: string): Promise<string> =>
  connected(url, async (client) => {
    const token = `pim_at_${randomBytes(32).toString("base64url")}`
    const [userId, clientId, grantId] = [randomUUID(), randomUUID(), randomUUID()]
    const hash = createHash("sha256").update(token).digest()
    await client.query("INSERT INTO app_user (account_id, id, email, role) VALUES ($1, $2, $3, 'admin')", [
      accountId,
      userId,
      `${userId}@bench.example`
    ])
    await client.query("INSERT INTO oauth_client (id, name, redirect_uris) VALUES ($1, 'Benchmark', $2)", [
      clientId,
      ["https://bench.example/callback"]
    ])
    await client.query(
      `INSERT INTO oauth_grant (account_id, id, user_id, client_id, client_name, redirect_host, tier, resource)
       VALUES ($1, $2, $3, $4, 'Benchmark', 'bench.example', 'pim:read', $5)`,
      [accountId, grantId, userId, clientId, `${server}/mcp`]
    )
    await client.query(
      `INSERT INTO oauth_token (account_id, hash, grant_id, kind, tier, expires_at)
       VALUES ($1, $2, $3, 'access', 'pim:read', now() + interval '1 day')`,
      [accountId, hash, grantId]
    )
    return token
  })

export const mcpHeaders = {
  Accept: "application/json, text/event-stream",
  "MCP-Protocol-Version": version,
  "Mcp-Method": "tools/call",
  "Mcp-Name": tool
}

export const callOf = (cursor: string | null) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name: tool,
      arguments: { limit, ...(cursor !== null && { cursor }) },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { name: "benchmark", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
      }
    }
  })

/** Calls the tool once. Returns the row ids and the length of its answer. */
export const callOnce = async (url: string, token: string, body: string) => {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { ...mcpHeaders, authorization: `Bearer ${token}`, "content-type": "application/json" },
    body
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${tool} answered ${response.status}: ${text}`)
  const { data } = JSON.parse(text).result.structuredContent as { data: ReadonlyArray<{ master_id: string }> }
  return { length: Buffer.byteLength(text), ids: data.map(({ master_id }) => master_id) }
}
