import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HealthDimension } from "../../src/health/Health.ts"
import { catalog } from "../support/CommandLine.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const example = (name: string) => join(process.cwd(), "docs/examples", name)

/** An account with two stores, into which the bakery's two exports are imported, on a database of its own. */
const aBakery = Effect.gen(function* () {
  const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
  const folder = mkdtempSync(join(tmpdir(), "health-cli-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
  const run = (...args: ReadonlyArray<string>) => catalog(args, { DATABASE_URL, NO_COLOR: "1" })
  const must = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args), ({ code, stderr, stdout }) => {
      assert.deepStrictEqual([code, stderr], [0, ""], `${args.join(" ")}: ${stdout}`)
      return stdout
    })
  const object = (...args: ReadonlyArray<string>) => Effect.map(must(...args, "--json"), (text) => JSON.parse(text))
  yield* must("account", "create", "--name", "Bakery")
  for (const [domain, file] of [
    ["bakery.example", "bakery.csv"],
    ["bakery-eu.example", "bakery-eu.csv"]
  ] as const) {
    yield* must("store", "link", domain)
    yield* must("import", "csv", example(file), "--store", domain, "--accept")
  }
  return { run, must, object }
})

describe.skipIf(!serverAnswers)("catalog health", () => {
  it.scopedLive("shows, scans, lists issues and changes rules, as text and as JSON", () =>
    Effect.gen(function* () {
      const { must, object, run } = yield* aBakery
      const never = (yield* must("health")).trimEnd().split("\n")
      assert.lengthOf(never, HealthDimension.literals.length + 1)
      assert.strictEqual(never[0], "sync          ····················     –  never scanned")
      assert.strictEqual(never.at(-1), "Next: catalog health scan")
      assert.strictEqual(
        yield* must("health", "issues", "divergence"),
        "divergence was never scanned: catalog health scan divergence\n"
      )

      const { dimensions } = yield* object("health", "scan")
      assert.deepStrictEqual(
        dimensions.map(({ dimension, scanned }: { dimension: string; scanned: boolean }) => [dimension, scanned]),
        HealthDimension.literals.map((dimension) => [dimension, true])
      )
      assert.deepStrictEqual(yield* object("health"), { dimensions })
      // A scan of the account also scans each store, so all snapshots have the same time.
      const ofStore = yield* object("health", "--store", "bakery.example")
      const scannedAt = (all: ReadonlyArray<{ readonly scanned_at: string }>) => all.map(({ scanned_at }) => scanned_at)
      assert.deepStrictEqual(scannedAt(ofStore.dimensions), scannedAt(dimensions))
      const { affected, checked, score } = dimensions[4].result
      const table = (yield* must("health")).trimEnd().split("\n")
      const filled = Math.floor(score / 5)
      assert.include(
        table[4],
        `divergence    ${"█".repeat(filled)}${"░".repeat(20 - filled)}  ${String(score).padStart(3)}%  ${affected} of ${checked} affected: rows `
      )
      assert.match(String(table.at(-1)), /^Next: catalog health issues [a-z-]+$/)

      const page = yield* object("health", "issues", "divergence", "--page-size", "1")
      assert.deepStrictEqual([page.data.length, page.page, page.compared], [1, 1, checked])
      const [first] = page.data
      const lines = (yield* must("health", "issues", "divergence", "--page-size", "1")).trimEnd().split("\n")
      assert.include(lines[0], `${first.entity_id}  ${first.entity_type.padEnd(10)}  bakery`)
      assert.include(lines[0], `${first.values[0].field} ${JSON.stringify(first.values[0].value)}`)
      assert.isTrue(page.has_next)
      assert.strictEqual(lines[1], "Next: catalog health issues divergence --page-size 1 --page 2")
      const narrowed = ["--store", "bakery.example", "--locale", "de"]
      const some = yield* must("health", "issues", "completeness-recommended", ...narrowed, "--page-size", "2")
      assert.include(
        some,
        "\nNext: catalog health issues completeness-recommended --store bakery.example --locale de --page-size 2 --page 2\n"
      )
      assert.strictEqual(
        yield* must("health", "issues", "divergence", "--page", "1000"),
        "Nothing on page 1000 of divergence.\n"
      )
      const one = yield* must("health", "scan", "media", "--store", "bakery.example")
      assert.include(one, "Scanned for the whole account, because these dimensions do not exist per store: media.\n")
      assert.match(one, /^Scanned \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/m)

      // New rules take effect with the next scan.
      const rules = yield* object("health", "rules")
      assert.deepStrictEqual(rules.variant, { required: ["sku", "price"], recommended: ["barcode"] })
      const others = yield* object(
        "health",
        "rules",
        "set",
        "variant",
        "--required",
        "sku, weight",
        "--recommended",
        ""
      )
      assert.deepStrictEqual(others, { ...rules, variant: { required: ["sku", "weight"], recommended: [] } })
      assert.include(
        yield* must("health", "rules"),
        "variant     required     sku, weight\n            recommended  nothing"
      )
      const completeness = yield* object("health", "scan", "completeness")
      const { divergence, structure, ...fieldRules } = others
      assert.deepStrictEqual(completeness.dimensions[0].result.rules, fieldRules)
      assert.match(
        yield* must("health", "scan", "completeness"),
        /^completeness .* affected(: [a-z0-9, ]+)?; recommended fields \d+% \(\d+ of \d+ affected\)$/m
      )
      assert.deepStrictEqual(
        [divergence, structure],
        [{ texts: "same_language", prices: "same_currency" }, { zero_price: "issue" }]
      )
      const checks = ["health", "rules", "checks"] as const
      assert.deepStrictEqual(yield* object(...checks, "--texts", "all", "--zero-price", "allowed"), {
        ...others,
        divergence: { texts: "all", prices: "same_currency" },
        structure: { zero_price: "allowed" }
      })
      const said = yield* must(...checks, "--prices", "all")
      assert.include(
        said,
        "divergence  texts        all\n            prices       all\nstructure   zero price   allowed\nNext: catalog health scan divergence\n"
      )
      assert.deepStrictEqual(yield* run(...checks), {
        code: 1,
        stdout: "",
        stderr: "Nothing to set: give --texts, --prices or --zero-price.\n"
      })
      assert.deepStrictEqual(yield* object("health", "rules", "reset"), rules)

      const refused: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [["health", "--store", "nowhere.example"], "No store nowhere.example is linked: see `catalog store list`."],
        [
          ["health", "rules", "set", "variant"],
          "Nothing to set: give --required FIELDS, --recommended FIELDS, or both."
        ],
        [
          ["health", "rules", "set", "media", "--required", "colour"],
          "media required: is an unknown key of a media file; the allowed keys are alt; a new metafield needs a definition first"
        ],
        [["health", "rules", "set", "media", "--required", "url,url"], "media required: url is listed twice"],
        [["health", "rules", "set", "media", "--recommended", "alt,url"], "media recommended: url is already required"]
      ]
      for (const [args, message] of refused)
        assert.deepStrictEqual(yield* run(...args), { code: 1, stdout: "", stderr: `${message}\n` })
      for (const args of [
        ["health", "issues"],
        ["health", "issues", "speed"],
        ["health", "scan", "speed"]
      ])
        assert.strictEqual((yield* run(...args)).code, 2, args.join(" "))
    }).pipe(Effect.provide(layerServerUrl))
  )
})
