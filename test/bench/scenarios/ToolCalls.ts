import { openCatalog } from "../harness/Catalog.ts"
import { callOf, callOnce, connectionOf, limit, mcpHeaders, products, tool, version } from "../harness/Connector.ts"
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

const atLeast = 0.6

/** Every full page of a walk over REST, and the tool call that returns the same rows. */
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

/** Compares pages over REST with the same pages by the connector's tool. */
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
