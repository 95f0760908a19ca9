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

const round = async (origin: string) => {
  const few = await refresh(await prepare(), origin, "few")
  const place = await prepare()
  const first = await refresh(place, origin, "all")
  const again = await refresh(place, origin, "all")
  if (first.created !== products || again.applied !== 0)
    throw new Error(`${first.created} products were created, and ${again.applied} changes made the second time.`)
  return { few, first, again }
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
