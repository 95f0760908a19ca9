import { createHash, randomBytes, randomUUID } from "node:crypto"
import { type BenchCatalog, connected, openCatalog } from "../harness/Catalog.ts"
import { start } from "../harness/Contenders.ts"
import { measureCpu } from "../harness/Cpu.ts"
import { Load } from "../harness/Load.ts"
import type { LoadOrder } from "../harness/loadProcess.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { median, spreadOf } from "../harness/Statistics.ts"
import { pagesFrom } from "../harness/Walk.ts"
import type { Scenario } from "./Scenario.ts"

const products = 100_000
const limit = 50
const atLeast = 0.6
const version = "2026-07-28"
const tool = "list_products_v1"

/** A token of a connection of the account that may read, as consent would have made it. */
const connectionOf = ({ accountId, url }: BenchCatalog, server: string): Promise<string> =>
  connected(url, async (client) => {
    const token = `pim_at_${randomBytes(32).toString("base64url")}`
    const [userId, clientId, grantId] = [randomUUID(), randomUUID(), randomUUID()]
    const hash = createHash("sha256").update(token).digest()
    await client.query("INSERT INTO app_user (account_id, id, email) VALUES ($1, $2, $3)", [
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

const mcpHeaders = {
  Accept: "application/json, text/event-stream",
  "MCP-Protocol-Version": version,
  "Mcp-Method": "tools/call",
  "Mcp-Name": tool
}

const callOf = (cursor: string | null) =>
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

/** Calls the tool once; the row ids of its answer and how long it is. */
const callOnce = async (url: string, token: string, body: string) => {
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

/** Every full page of a walk over REST, and the call that gives the same rows. */
const readPages = async (url: string, key: string, token: string) => {
  const rest = { targets: [] as Array<string>, lengths: [] as Array<number> }
  const calls = { bodies: [] as Array<string>, lengths: [] as Array<number> }
  for await (const { body, target, text } of pagesFrom(url, key, limit)) {
    if (body.data.length < limit) continue
    const call = callOf(new URL(target, url).searchParams.get("cursor"))
    const { ids, length } = await callOnce(url, token, call)
    if (JSON.stringify(ids) !== JSON.stringify(body.data.map(({ id }) => id)))
      throw new Error(`${tool} gives other rows than ${target}.`)
    rest.targets.push(target)
    rest.lengths.push(Buffer.byteLength(text))
    calls.bodies.push(call)
    calls.lengths.push(length)
  }
  return { rest, calls }
}

/** The same pages over REST and by the connector's tool. */
export const toolCalls: Scenario = {
  name: "tool-calls",
  title: "Pages by the connector's tool",
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench", products)
    const load = new Load()
    const server = await start("ours", catalog)
    try {
      const token = await connectionOf(catalog, server.url)
      const { calls, rest } = await readPages(server.url, catalog.token, token)
      const common = { url: server.url, connections, status: 200 }
      const orders: Readonly<Record<"rest" | "tool", LoadOrder>> = {
        rest: { ...common, ...rest, token: catalog.token, headers: {} },
        tool: { ...common, ...calls, token, headers: mcpHeaders, targets: calls.bodies.map(() => "/mcp") }
      }
      const rates = { rest: [] as Array<number>, tool: [] as Array<number> }
      const micros = { rest: [] as Array<number>, tool: [] as Array<number> }
      for (let round = 0; round <= rounds; round++)
        for (const name of ["rest", "tool"] as const) {
          const [{ answers, elapsedMillis }, { serverMillis }] = await measureCpu(catalog, "ours", server, () =>
            load.run(orders[name])
          )
          const rate = (answers / elapsedMillis) * 1_000
          progress(`round ${round}, ${name}: ${whole(rate)} answers/s`)
          // The first round warms up.
          if (round === 0) continue
          rates[name].push(rate)
          micros[name].push((serverMillis * 1_000) / answers)
        }
      const ratios = rates.tool.map((rate, index) => rate / (rates.rest[index] ?? Number.NaN))
      const row = (title: string, name: "rest" | "tool") => {
        const { max, median: middle, min } = spreadOf(rates[name])
        return [title, whole(middle), whole(min), whole(max), whole(median(micros[name]))]
      }
      const { max, median: middle, min } = spreadOf(ratios)
      const report = [
        `${whole(products)} products on 3 stores, ${whole(rest.targets.length)} distinct pages of ${limit} rows, the same rows over REST and by ${tool} (protocol ${version}), ${connections} connections; ${rounds} rounds, alternating.`,
        table(
          ["", "answers/s, median", "min", "max", "CPU, µs an answer"],
          [row("GET /api/v1/products", "rest"), row(`tools/call ${tool}`, "tool")]
        ),
        table(
          ["ratio within a round", "median", "min", "max", "target", "met"],
          [
            [
              "tool / REST",
              ratio(middle),
              ratio(min),
              ratio(max),
              `≥ ${ratio(atLeast)}`,
              median(ratios) >= atLeast ? "yes" : "no"
            ]
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      load.stop()
      await server.stop()
    }
  }
}
