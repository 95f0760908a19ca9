// Builds the service when its source is newer: some scenarios load modules that read what the build writes.
import "./harness/build.ts"
import { parseArgs } from "node:util"
import { machine } from "./harness/Report.ts"
import { cluster } from "./scenarios/Cluster.ts"
import { coldStart } from "./scenarios/ColdStart.ts"
import { compression } from "./scenarios/Compression.ts"
import { consoleLists } from "./scenarios/ConsoleLists.ts"
import { distinctPages, includeWalk } from "./scenarios/DistinctPages.ts"
import { draftNotes } from "./scenarios/DraftNotes.ts"
import { exporting } from "./scenarios/Export.ts"
import { healthPages, healthRemedies, healthScans, healthSnapshots } from "./scenarios/Health.ts"
import { importing, importingMillion } from "./scenarios/Import.ts"
import { jobsBeside } from "./scenarios/JobsBeside.ts"
import { feed, longWalk } from "./scenarios/LongWalk.ts"
import { manyAgents } from "./scenarios/ManyAgents.ts"
import { publishingBeside } from "./scenarios/PublishingBeside.ts"
import { refreshing, refreshingMillion } from "./scenarios/Refresh.ts"
import { notModified, samePage } from "./scenarios/SamePage.ts"
import type { Scenario } from "./scenarios/Scenario.ts"
import { telemetry } from "./scenarios/Telemetry.ts"
import { toolCalls } from "./scenarios/ToolCalls.ts"
import { twoProcesses } from "./scenarios/TwoProcesses.ts"
import { webhooks } from "./scenarios/Webhooks.ts"

const scenarios: ReadonlyArray<Scenario> = [
  distinctPages,
  samePage,
  notModified,
  compression,
  toolCalls,
  manyAgents,
  longWalk,
  includeWalk,
  feed,
  importing,
  importingMillion,
  exporting,
  publishingBeside,
  jobsBeside,
  refreshing,
  refreshingMillion,
  healthScans,
  healthPages,
  healthRemedies,
  healthSnapshots,
  draftNotes,
  consoleLists,
  coldStart,
  telemetry,
  webhooks,
  twoProcesses,
  cluster
]

const usage = `npm run bench -- [--rounds N] [SCENARIO...]

Prints Markdown on stdout, progress on stderr. Scenarios (default: all):
${scenarios.map(({ name, title }) => `  ${name.padEnd(16)} ${title}`).join("\n")}

BENCH_DATABASE_URL  any database of a PostgreSQL server where databases can be created
                    (default postgres://postgres@127.0.0.1:5432/test)
BENCH_IMPORT_PRODUCTS
                    products that \`import\` imports (default 100000)
BENCH_WALK_PRODUCTS products that \`long-walk\` walks, and changes that \`feed\` walks (default 1000000)
BENCH_EXPORT_PRODUCTS
                    products that \`export\` and \`include-walk\` read (default 100000)
BENCH_REFRESH_PRODUCTS
                    products that \`refresh\` reads (default 10000); \`refresh-million\` reads 10 and 100 times as many
BENCH_HEALTH_PRODUCTS
                    products of the catalog that \`health-...\` use (default 100000)
BENCH_LIST_PRODUCTS
                    products of the catalog that \`console-lists\` uses (default 100000)
BENCH_CLUSTER_URL   an empty database on the coordinator of a Citus cluster that \`cluster\` fills and distributes (default: it
                    starts a cluster of its own by test/support/citus.sh, on ports from CITUS_PORT, default 5700)
BENCH_CLUSTER_PRODUCTS, BENCH_CLUSTER_ACCOUNTS
                    products of the large account of \`cluster\` (default 100000), and number of small accounts (default 1000)
BENCH_BESIDE        main.js of another build, which \`cold-start\` measures in turns with this one`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" }, help: { type: "boolean", default: false } }
})
const rounds = Number(values.rounds)
const unknown = positionals.filter((asked) => !scenarios.some(({ name }) => name === asked))

if (values.help || unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write(`${usage}\n`)
  process.exitCode = values.help ? 0 : 2
} else {
  const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  const command = ["npm run bench", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" ")
  for (const [index, { run, title }] of chosen.entries()) {
    const { postgresVersion, report } = await run({ rounds })
    if (index === 0) process.stdout.write(`${machine(postgresVersion, command)}\n`)
    process.stdout.write(`\n## ${title}\n\n${report}\n`)
  }
}
