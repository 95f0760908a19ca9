import { Effect } from "effect"
import { adminSchema } from "../../platform/AdminSchema.ts"
import { fillShop } from "../../platform/ShopifyCatalog.ts"
import { openShopifyServer } from "../../platform/ShopifyServer.ts"
import { catalog, connected, postgresVersionOf, recreate, urlOf } from "../harness/Catalog.ts"
import { runMeasured, script } from "../harness/Processes.ts"
import { progress } from "../harness/Progress.ts"
import { table, whole } from "../harness/Report.ts"
import { spreadOf } from "../harness/Statistics.ts"
import type { Scenario } from "./Scenario.ts"

/** A smaller number is for trying the benchmark only: the targets apply to this number. */
const products = Number(process.env.BENCH_REFRESH_PRODUCTS ?? 10_000)
/** The memory of the same process with so few products is the baseline. */
const fewProducts = Math.min(1_000, products)
const maxGrowthMegabytes = 100
const domain = "bench.myshopify.com"
const database = "catalog_bench_refresh"

/** A new database with the schema, an account and a store on Shopify. */
const prepare = async () => {
  const url = urlOf(database)
  await recreate(database)
  await catalog(url, "migrate")
  const { account_id } = JSON.parse(await catalog(url, "account", "create", "--name", "Refresh", "--json"))
  await catalog(url, "store", "link", domain)
  await connected(url, (client) => client.query("UPDATE store SET platform = 'shopify'"))
  return { url, accountId: String(account_id) }
}

interface Refreshed {
  readonly seconds: number
  readonly megabytes: number
  readonly created: number
  readonly applied: number
}

/** Refreshes in a process of its own. Returns the duration and the peak memory of the process. */
const refresh = async (
  { accountId, url }: Awaited<ReturnType<typeof prepare>>,
  origin: string,
  token: string
): Promise<Refreshed> => {
  const { code, megabytes, stderr, stdout } = await runMeasured(script("harness/refreshProcess.ts"), {
    DATABASE_URL: url,
    REFRESH_ORIGIN: origin,
    REFRESH_TOKEN: token,
    REFRESH_ACCOUNT: accountId,
    REFRESH_STORE: domain
  })
  const outcome = code === 0 ? JSON.parse(stdout) : {}
  if (outcome.phase !== "applied") throw new Error(`The refresh ended with ${code}:\n${stdout}${stderr}`)
  return { seconds: outcome.seconds, megabytes, created: outcome.summary.created, applied: outcome.applied }
}

/** Refreshes a new store twice. */
const firstAndAgain = async (origin: string, token: string, size: number) => {
  const place = await prepare()
  const first = await refresh(place, origin, token)
  const again = await refresh(place, origin, token)
  if (first.created !== size || again.applied !== 0)
    throw new Error(`${first.created} products were created, and ${again.applied} changes made the second time.`)
  return { first, again }
}

type Both = Awaited<ReturnType<typeof firstAndAgain>>

const round = async (origin: string) => {
  const few = await refresh(await prepare(), origin, "few")
  return { few, ...(await firstAndAgain(origin, "all", products)) }
}

/** Ten times as many products may take at most so many times as long. */
const maxGrowthOfTime = 11

/** Compares refreshes of 100,000 and of a million products. */
export const refreshingMillion: Scenario = {
  name: "refresh-million",
  title: "Refresh of a million",
  run: ({ rounds: count }) =>
    Effect.gen(function* () {
      if (adminSchema === undefined) return yield* Effect.dieMessage("Shopify's schema could not be fetched.")
      const server = yield* openShopifyServer(adminSchema)
      const sizes = [10 * products, 100 * products]
      for (const size of sizes) {
        fillShop(server.open(`${size}`), 1)
        server.repeat(`${size}`, size)
      }
      const rounds: Array<ReadonlyArray<Both>> = []
      for (let number = 1; number <= count; number++) {
        const measured: Array<Both> = []
        for (const size of sizes) {
          const one = yield* Effect.promise(() => firstAndAgain(server.origin, `${size}`, size))
          progress(
            `round ${number}: ${whole(size)} in ${whole(one.first.seconds)} s, again ${whole(one.again.seconds)} s`
          )
          measured.push(one)
        }
        rounds.push(measured)
      }
      const row = (name: string, digits: number, value: (less: Both, more: Both) => number, target?: number) => {
        const { max, median, min } = spreadOf(rounds.map(([less, more]) => value(less as Both, more as Both)))
        const figures = [median, min, max].map((figure) => figure.toFixed(digits))
        return [name, ...figures, ...(target === undefined ? ["", ""] : [`≤ ${target}`, max <= target ? "yes" : "no"])]
      }
      const memoryOf = ({ again, first }: Both) => Math.max(first.megabytes, again.megabytes)
      const report = [
        `${sizes.map(whole).join(" and ")} products with two variants, an image and a metafield each, and a collection of them all, from a server that repeats one product in the files of Shopify's bulk operations, into an empty catalog, accepted at once; ${count} rounds. Memory is the most that the process held.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            ...sizes.flatMap((size, place) => [
              row(`${whole(size)}, s`, 0, (...both) => both[place]?.first.seconds ?? 0),
              row(`${whole(size)} again, nothing changed, s`, 0, (...both) => both[place]?.again.seconds ?? 0)
            ]),
            row("time", 2, (less, more) => more.first.seconds / less.first.seconds, maxGrowthOfTime),
            row("time again", 2, (less, more) => more.again.seconds / less.again.seconds, maxGrowthOfTime),
            row("memory gained, MB", 0, (less, more) => memoryOf(more) - memoryOf(less), maxGrowthMegabytes),
            row("memory at most, MB", 0, (_, more) => memoryOf(more))
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: yield* Effect.promise(() => postgresVersionOf(urlOf(database))) }
    }).pipe(Effect.scoped, Effect.runPromise)
}

/** Measures a refresh through the platform: its time, and its memory, which must not grow with the store. */
export const refreshing: Scenario = {
  name: "refresh",
  title: "Refresh",
  run: ({ rounds: count }) =>
    Effect.gen(function* () {
      if (adminSchema === undefined) return yield* Effect.dieMessage("Shopify's schema could not be fetched.")
      const server = yield* openShopifyServer(adminSchema)
      fillShop(server.open("few"), fewProducts)
      fillShop(server.open("all"), products)
      const rounds: Array<Awaited<ReturnType<typeof round>>> = []
      for (let number = 1; number <= count; number++) {
        const done = yield* Effect.promise(() => round(server.origin))
        progress(`round ${number}: ${whole(done.first.seconds)} s, again ${whole(done.again.seconds)} s`)
        rounds.push(done)
      }
      const spread = (value: (one: (typeof rounds)[number]) => number) => spreadOf(rounds.map(value))
      const figures = (value: (one: (typeof rounds)[number]) => number) => {
        const { max, median, min } = spread(value)
        return [whole(median), whole(min), whole(max)]
      }
      const grown = (one: (typeof rounds)[number]) =>
        Math.max(one.first.megabytes, one.again.megabytes) - one.few.megabytes
      const report = [
        `${whole(products)} products with two variants, an image and a metafield each, and a collection of them all, from a GraphQL server on Shopify's own schema (on this machine too, so it has its share of the time) into an empty catalog, accepted at once; ${count} rounds. Memory is the most that the process held, less what it held at most for ${whole(fewProducts)} products.`,
        table(
          ["", "median", "min", "max", "target", "met"],
          [
            ["first refresh, s", ...figures(({ first }) => first.seconds), "", ""],
            ["products a second", ...figures(({ first }) => products / first.seconds), "", ""],
            ["again, nothing changed, s", ...figures(({ again }) => again.seconds), "", ""],
            ["products a second", ...figures(({ again }) => products / again.seconds), "", ""],
            [
              "memory gained, MB",
              ...figures(grown),
              `< ${maxGrowthMegabytes}`,
              spread(grown).max < maxGrowthMegabytes ? "yes" : "no"
            ],
            ["memory at most, MB", ...figures(({ again, first }) => Math.max(first.megabytes, again.megabytes)), "", ""]
          ]
        )
      ].join("\n\n")
      return { report, postgresVersion: yield* Effect.promise(() => postgresVersionOf(urlOf(database))) }
    }).pipe(Effect.scoped, Effect.runPromise)
}
