import { setTimeout } from "node:timers/promises"
import { openCatalog } from "../harness/Catalog.ts"
import { callOf, callOnce, connectionOf, products } from "../harness/Connector.ts"
import { start } from "../harness/Contenders.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table } from "../harness/Report.ts"
import { median, p99, spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

const agents = 50
const seconds = 20
/** So few calls that an agent could read each answer before its next call. */
const callsPerSecond = 2
const atMost = 3

/** Calls at a fixed rate. Returns the milliseconds of each call, including delays of its start. */
const callAtPace = async (url: string, token: string): Promise<ReadonlyArray<number>> => {
  const between = 1_000 / callsPerSecond
  const begun = performance.now() + Math.random() * between
  const calls = Array.from({ length: seconds * callsPerSecond }, async (_, place) => {
    const due = begun + place * between
    // Calls start at fixed times, whether or not earlier ones have ended.
    await setTimeout(due - performance.now())
    await callOnce(url, token, callOf(null))
    return performance.now() - due
  })
  return Promise.all(calls)
}

/** Compares fifty agents at the same time, each with its own connection, with a single agent. */
export const manyAgents: Scenario = {
  name: "many-agents",
  title: "Fifty agents at once",
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench", products)
    const server = await start("ours", catalog)
    try {
      const tokens = []
      for (let agent = 0; agent < agents; agent++) tokens.push(await connectionOf(catalog, server.url))
      const times = { one: [] as Array<number>, many: [] as Array<number> }
      for (let round = 0; round <= rounds; round++) {
        const one = p99(await callAtPace(server.url, tokens[0] ?? ""))
        const many = p99((await Promise.all(tokens.map((token) => callAtPace(server.url, token)))).flat())
        progress(`round ${round}: p99 of one ${one.toFixed(1)} ms, of ${agents} ${many.toFixed(1)} ms`)
        // The first round warms up.
        if (round === 0) continue
        times.one.push(one)
        times.many.push(many)
      }
      const ratios = times.many.map((many, index) => many / (times.one[index] ?? Number.NaN))
      const row = (title: string, values: ReadonlyArray<number>) => {
        const { max, median: middle, min } = spreadOf(values)
        return [title, ...[middle, min, max].map((value) => value.toFixed(1))]
      }
      const { max, median: middle, min } = spreadOf(ratios)
      const report = [
        `Each agent has a connection of its own and calls list_products_v1 (50 rows) ${callsPerSecond} times a second for ${seconds} s; ${rounds} rounds, one agent and ${agents} agents alternating.`,
        table(["p99, ms", "median", "min", "max"], [row("1 agent", times.one), row(`${agents} agents`, times.many)]),
        table(
          ["ratio within a round", "median", "min", "max", "target", "met"],
          [
            [
              `${agents} agents / 1 agent`,
              ratio(middle),
              ratio(min),
              ratio(max),
              `≤ ${ratio(atMost)}`,
              median(ratios) <= atMost ? "yes" : "no"
            ]
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: catalog.postgresVersion }
    } finally {
      await server.stop()
    }
  }
}
