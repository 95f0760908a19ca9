import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { amount } from "./test/support/Volume.ts"

const report = process.env.CATALOG_TEST_REPORT

/** The files that take longest, here or in `npm run test:long`: begun first, so that none of them runs alone at the end. */
const longest = [
  "contract/health/RandomCatalogs",
  "contract/health/Reconciles",
  "contract/SideBySide",
  "faults/FailOver",
  "faults/Stalls",
  "faults/Drops",
  "readme/Readme",
  "faults/ImportCrash",
  "database/Plans",
  "http/Fuzz",
  "cli/Commands",
  "cli/InterruptedImports"
]

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return found === -1 ? longest.length : found
    }
    return (await super.sort(files)).sort((one, other) => place(one) - place(other))
  }
}

/** One more than the cores of the smallest machine: the longest files wait most of their time. */
const workers = 3

/**
 * Most functions of a test run too seldom to be worth the optimizing compiler: with nine times its usual threshold (66 kB of executed
 * bytecode) the contract suites take 6 % less processor time. Later versions of Node.js refuse the option.
 */
const slowToOptimize = process.version.startsWith("v20.") ? ["--interrupt-budget=600000"] : []

/** Whether Node.js can load the sources of the service without vite (test/support/NativeSources.mjs). */
const loadsSources = Reflect.get(process.features, "typescript") === "strip"
const inWorkers = [...slowToOptimize, "--import", "./test/support/WorkerLimit.mjs"]

export default defineConfig({
  // The package as its users import it, from the sources: dist may be older.
  resolve: {
    alias: Object.fromEntries(
      ["client", "testing"].map((name) => [
        `catalog/${name}`,
        fileURLToPath(new URL(`src/${name}/index.ts`, import.meta.url))
      ])
    )
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/Build.ts",
    setupFiles: "test/support/EachFile.ts",
    // The files of a worker share its modules, which saves 1 to 2 s of processor time for each file. EachFile.ts keeps them apart.
    isolate: false,
    pool: "forks",
    poolOptions: {
      forks: { execArgv: loadsSources ? [...inWorkers, "--import", "./test/support/NativeSources.mjs"] : inWorkers }
    },
    server: { deps: { external: loadsSources ? [/\/src\/.*\.tsx?$/] : [] } },
    maxWorkers: workers,
    // As many at least: vitest 3.2 ends a worker that it removes early twice, and the second end fails the run.
    minWorkers: workers,
    sequence: { sequencer: LongestFirst },
    // Guards against tests that never end, far above what a busy machine needs: no test has a limit of its own.
    testTimeout: amount(600_000, 3_600_000),
    hookTimeout: amount(600_000, 3_600_000),
    reporters: report === undefined ? ["default"] : ["default", "json"],
    ...(report === undefined ? {} : { outputFile: { json: report } })
  }
})
