import { openCatalog } from "../harness/Catalog.ts"
import { ourSettings, serviceParameters } from "../harness/Contenders.ts"
import { Load } from "../harness/Load.ts"
import { cpuMicrosOf, ServerProcess } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { ratio, table, whole } from "../harness/Report.ts"
import { connections } from "../harness/Rounds.ts"
import { median } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

const products = 10_000
const codings = ["identity", "br", "gzip"] as const
type Coding = (typeof codings)[number]

const list = "/api/v1/products?limit="
const pages: Readonly<Record<string, string>> = {
  "50 products": `${list}50`,
  "250 products": `${list}250`,
  "250 products with `include`": `${list}250&include=attributes,stores,relationships`
}
const answersATurn = 400

let asked = 0
/** The same page under a target that nobody has requested: all products are newer. */
const toNew = (target: string) => `${target}&updated_since=${new Date(++asked).toISOString()}`

/** The bytes and the processor time of an answer in each turn. */
interface Turns {
  readonly bytes: Array<number>
  readonly micros: Array<number>
}
const noTurns = (): Turns => ({ bytes: [], micros: [] })

/** The bytes and the processor time of the service for the same pages without compression, with Brotli and with gzip, in turns. */
export const compression: Scenario = {
  name: "compression",
  title: "What compression costs and saves",
  run: async ({ rounds }) => {
    const catalog = await openCatalog("catalog_bench_telemetry", products)
    const load = new Load()
    const server = await ServerProcess.start(serviceParameters("serve"), ourSettings(catalog))
    const answers = Object.entries(pages).flatMap(([name, target]) =>
      [true, false].map((isNew) => ({
        name: `${name}, ${isNew ? "new each time" : "remembered"}`,
        nextTarget: () => (isNew ? toNew(target) : target),
        turns: { identity: noTurns(), br: noTurns(), gzip: noTurns() } as Readonly<Record<Coding, Turns>>
      }))
    )
    try {
      for (let round = 0; round <= rounds; round++)
        for (const { name, nextTarget, turns } of answers) {
          for (const coding of codings) {
            const before = cpuMicrosOf(server.pid)
            const { bytes } = await load.run({
              url: server.url,
              token: catalog.token,
              connections,
              targets: Array.from({ length: answersATurn }, nextTarget),
              headers: { "Accept-Encoding": coding },
              status: 200
            })
            // The first round fills caches.
            if (round === 0) continue
            turns[coding].bytes.push(bytes / answersATurn)
            turns[coding].micros.push((cpuMicrosOf(server.pid) - before) / answersATurn)
          }
          progress(`round ${round}: ${name}`)
        }
    } finally {
      await server.stop()
      load.stop()
    }
    const report = [
      `Pages of ${whole(products)} products on 3 stores, ${connections} connections; ${rounds} rounds of ${answersATurn} answers of each kind, in turns. Processor time of all threads of the service; medians, and medians of the ratios within a round.`,
      table(
        ["answer", "bytes", "br", "gzip", "CPU, µs", "with br", "with gzip"],
        answers.map(({ name, turns: { br, gzip, identity } }) => {
          const share = (one: Turns) => `${((median(one.bytes) / median(identity.bytes)) * 100).toFixed(0)} %`
          const cost = (one: Turns) =>
            `× ${ratio(median(one.micros.map((micros, index) => micros / (identity.micros[index] ?? Number.NaN))))}`
          return [
            name,
            whole(median(identity.bytes)),
            ...[br, gzip].map(share),
            whole(median(identity.micros)),
            ...[br, gzip].map(cost)
          ]
        })
      )
    ].join("\n\n")
    return { report, postgresVersion: catalog.postgresVersion }
  }
}
