import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { portOf } from "../mcp/Connector.ts"
import { bashArguments, environment } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import type { Family } from "./Exposition.ts"
import { observedOnServer, scrape } from "./Server.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const file = (path: string) => readFileSync(join(root, path), "utf8")

const rules = file("ops/prometheus/rules.yml")
const dashboard = JSON.parse(file("ops/grafana/catalog.json")) as {
  readonly panels: ReadonlyArray<{
    readonly title: string
    readonly targets?: ReadonlyArray<{ readonly expr: string }>
  }>
}
const runbook = file("docs/runbook.md")

const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name = ""]) => name)

const has = (program: string) => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const [hasPromtool, hasPsql] = [has("promtool"), has("psql")]
for (const [present, program, what] of [
  [hasPromtool, "promtool", "alert rules are not checked (Debian: apt-get install prometheus)"],
  [hasPsql, "psql", "commands of the runbook are not run"]
] as const)
  if (!present) console.warn(`#### NO ${program.toUpperCase()} HERE: ${what} ####`)

/** The expressions of the alert rules and the dashboard. */
const expressions = [
  ...[...rules.matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.+)\n)/gm)].map(([, block, line]) => block ?? line ?? ""),
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
]

const metricIn = /\b((?:catalog|process)_[a-z_]+)(?:\{([^}]*)\})?/g

/** Labels with fixed values, which a scrape has before anything happened. */
const fixed = new Set(["wait", "reason", "outcome", "pool", "at", "phase", "state"])

/** Names in an expression that do not exist in the metrics. */
const missingIn = (expression: string, families: ReadonlyMap<string, Family>): ReadonlyArray<string> =>
  [...expression.matchAll(metricIn)].flatMap(([, written = "", selector = ""]) => {
    const name = families.has(written) ? written : written.replace(/_(?:bucket|sum|count)$/, "")
    const family = families.get(name)
    if (family === undefined) return [written]
    const samples = [...family.samples.keys()]
    return [...selector.matchAll(/(\w+)(=|=~|!~)"([^"]*)"/g)].flatMap(([, label = "", , values = ""]) =>
      fixed.has(label)
        ? values.split("|").filter((value) => !samples.some((sample) => sample.includes(`${label}="${value}"`)))
        : []
    )
  })

/** The commands of a page, by the heading above them. */
const commands = [...runbook.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(({ 1: text = "", index }) => ({
  title: [...runbook.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? "",
  text
}))

const metricsPort = await freePort()

describe("files for operators", () => {
  it("have a section of the runbook for each alert, and no other", () => {
    const headings = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading)
    assert.isAtLeast(alerts.length, 20)
    assert.deepStrictEqual([...headings].sort(), [...alerts].sort())
    for (const alert of alerts) {
      assert.include(rules, `runbook_url: docs/runbook.md#${alert.toLowerCase()}\n`)
      const section = runbook.split(`### ${alert}\n`)[1]?.split(/^##/m)[0] ?? ""
      for (const part of ["**Means**", "**Look**", "**Do**"]) assert.include(section, part, alert)
    }
  })

  describe.skipIf(!hasPromtool)("for Prometheus", () => {
    const promtool = (...args: ReadonlyArray<string>) => promisify(execFile)("promtool", [...args])

    it("are valid, and each alert fires for its cause and not for similar situations", async () => {
      await promtool("check", "rules", join(root, "ops/prometheus/rules.yml"))
      await promtool("test", "rules", join(root, "ops/prometheus/rules.test.yml"))
      const tested = file("ops/prometheus/rules.test.yml")
      for (const alert of alerts) for (const how of ["fires", "is silent"]) assert.include(tested, `${alert} ${how}\n`)
    })

    it("have tests that fail for another threshold", async () => {
      const folder = mkdtempSync(join(tmpdir(), "catalog-rules-"))
      try {
        for (const [threshold, other] of [
          ["> 300\n", "> 30000\n"],
          ["> 300\n", "> 100\n"]
        ] as const) {
          writeFileSync(join(folder, "rules.yml"), rules.replace(threshold, other))
          writeFileSync(join(folder, "rules.test.yml"), file("ops/prometheus/rules.test.yml"))
          const failed = await promtool("test", "rules", join(folder, "rules.test.yml")).then(
            () => "",
            ({ stdout, stderr }) => `${stdout}${stderr}`
          )
          assert.include(failed, "CatalogPublishLate")
        }
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  })

  describe.skipIf(!serverAnswers)("and a running service", () => {
    layer(observedOnServer({ metricsPort }), { excludeTestServices: true })((it) => {
      it.effect("name only metrics and values that exist", () =>
        Effect.gen(function* () {
          const { families, text } = yield* scrape(metricsPort)
          assert.isAtLeast(expressions.length, 60)
          assert.deepStrictEqual(
            expressions.flatMap((expression) => missingIn(expression, families)),
            []
          )
          // Planted fault: names that do not exist.
          assert.deepStrictEqual(missingIn('max(catalog_nothing{wait="worker"})', families), ["catalog_nothing"])
          assert.deepStrictEqual(missingIn('catalog_publishes_pending{wait="nobody"}', families), ["nobody"])
          if (hasPromtool) execFileSync("promtool", ["check", "metrics"], { input: text })
        })
      )

      it.effect.skipIf(!hasPsql)("consist of commands that work", () =>
        Effect.gen(function* () {
          const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
          const BASE = `http://127.0.0.1:${yield* portOf}`
          const METRICS = `http://127.0.0.1:${metricsPort}`
          assert.isAtLeast(commands.length, 20)
          for (const { text, title } of commands) {
            const { stderr, stdout } = yield* Effect.promise(() =>
              promisify(execFile)("bash", bashArguments(text), {
                cwd: root,
                env: { ...environment({ DATABASE_URL }), BASE, METRICS, PGOPTIONS: "-c client_min_messages=error" }
              })
            )
            assert.strictEqual(stderr, "", title)
            assert.notStrictEqual(stdout, "", title)
          }
        })
      )
    })
  })
})
