import type { BenchCatalog } from "./Catalog.ts"
import { ServerProcess, script } from "./Processes.ts"

export const contenderNames = ["ours", "fair", "bare"] as const
export type ContenderName = (typeof contenderNames)[number]

export const titles: Readonly<Record<ContenderName, string>> = {
  ours: "catalog",
  fair: "Fastify, fair",
  bare: "Fastify, bare"
}

/** The contenders' application names in PostgreSQL. */
export const applicationNames: Readonly<Record<ContenderName, string>> = { ours: "catalog", fair: "fair", bare: "bare" }

export type Servers = Readonly<Record<ContenderName, ServerProcess>>

/** More requests than any run sends: budgets are counted, but never refuse. */
const budget = "999999999"

/** Node's options for the service. */
export const serviceParameters = (...command: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...(process.env.BENCH_NODE_FLAGS?.split(" ") ?? []),
  "dist/main.js",
  ...command
]

/** The service's settings for measurements. */
export const ourSettings = ({ url }: BenchCatalog): Readonly<Record<string, string>> => ({
  DATABASE_URL: url,
  DRAIN_DELAY: "0",
  // Without scans by the service, which would start after an import or at night and distort the measurement.
  HEALTH_SCANS: "off",
  RATE_LIMIT_PER_KEY: budget,
  RATE_LIMIT_PER_ACCOUNT: budget
})

/** Starts a contender in a process of its own. */
export const start = (name: ContenderName, catalog: BenchCatalog): Promise<ServerProcess> =>
  name === "ours"
    ? ServerProcess.start(serviceParameters("serve"), ourSettings(catalog))
    : ServerProcess.start(script(`peers/${name}.ts`), { DATABASE_URL: catalog.url, ACCOUNT_ID: catalog.accountId })

/** Starts all contenders, each in a process of its own, and stops them when `use` is done. */
export const withContenders = async <A>(catalog: BenchCatalog, use: (servers: Servers) => Promise<A>): Promise<A> => {
  const started: Array<ServerProcess> = []
  const open = async (name: ContenderName) => {
    const server = await start(name, catalog)
    started.push(server)
    return server
  }
  try {
    return await use({ ours: await open("ours"), fair: await open("fair"), bare: await open("bare") })
  } finally {
    await Promise.all(started.map((server) => server.stop()))
  }
}
