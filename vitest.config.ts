import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { amount } from "./test/support/Volume.ts"

const report = process.env.CATALOG_TEST_REPORT

export default defineConfig({
  // The package as its users import it, from the sources: dist may be older.
  resolve: { alias: { "catalog/testing": fileURLToPath(new URL("src/testing/index.ts", import.meta.url)) } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/support/Build.ts",
    // Races and budgets are measured against the clock: a third file at a time would starve them on two cores.
    maxWorkers: 2,
    testTimeout: amount(300_000, 1_800_000),
    hookTimeout: amount(300_000, 1_800_000),
    reporters: report === undefined ? ["default"] : ["default", "json"],
    ...(report === undefined ? {} : { outputFile: { json: report } })
  }
})
