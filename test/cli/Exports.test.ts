import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import { catalogProcess, startCatalog } from "../support/CommandLine.ts"
import { commandsWith } from "../support/Commands.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "exports-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const source = join(folder, "source.csv")
const hats = Array.from({ length: 3_000 }, (_, index) => `hat-${index},Hat ${index},H-${index},5.00`)
writeFileSync(source, ["Handle,Title,Variant SKU,Variant Price", ...hats, ""].join("\n"))

describe.skipIf(!serverAnswers)("exports on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true, timeout: "180 seconds" })((it) => {
    it.effect("write JSON lines to a file or stdout, and leave the file of before when they are killed", () =>
      Effect.gen(function* () {
        const env = { DATABASE_URL: Redacted.value(yield* TestDatabaseUrl) }
        const { json, refusal, said } = commandsWith(env)
        assert.match(yield* refusal("export", "jsonl"), /^There is no account yet/)
        yield* json("account", "create", "--name", "Mine")
        yield* json("store", "link", "files.example")
        yield* json("import", "csv", source, "--store", "files.example", "--accept")

        const out = join(folder, "catalog.jsonl")
        const written = yield* json("export", "jsonl", "--out", out)
        const text = readFileSync(out, "utf8")
        assert.deepStrictEqual(written, { file: out, entities: 6_000, bytes: Buffer.byteLength(text) })
        assert.lengthOf(text.split("\n"), 6_004)
        assert.strictEqual(
          yield* said("export", "jsonl", "--out", out),
          `Wrote 6,000 entities to ${out}.`,
          "a file that exists is replaced"
        )
        const printed = yield* Effect.promise(() => catalogProcess(["export", "jsonl"], env))
        const withoutTime = (lines: string) => lines.replace(/"exported_at" : "[^"]*"/, "")
        assert.deepStrictEqual([printed.code, printed.stderr, withoutTime(printed.stdout)], [0, "", withoutTime(text)])

        const missing = join(folder, "missing", "catalog.jsonl")
        assert.strictEqual(
          yield* refusal("export", "jsonl", "--out", missing),
          `${missing} cannot be written: its directory does not exist.`
        )
        assert.strictEqual(
          yield* refusal("export", "jsonl", "--out", folder),
          `${folder} cannot be written: it is a directory.`
        )
        const { error } = JSON.parse(
          (yield* Effect.promise(() => catalogProcess(["export", "jsonl", "--json"], env))).stdout
        )
        assert.deepStrictEqual(error, {
          code: "validation_failed",
          message: "--json: give --out too, because the export itself goes to stdout without it."
        })
        assert.deepStrictEqual(readdirSync(folder).sort(), ["catalog.jsonl", "source.csv"])

        // Killed when its temporary file appears, it leaves the file of before untouched.
        const child = startCatalog(["export", "jsonl", "--out", out], env)
        const ended = once(child, "close")
        while (!readdirSync(folder).some((name) => name.endsWith(".part"))) yield* Effect.sleep("2 millis")
        child.kill("SIGKILL")
        yield* Effect.promise(() => ended)
        assert.strictEqual(child.signalCode, "SIGKILL")
        assert.strictEqual(readFileSync(out, "utf8").length, text.length)
        assert.strictEqual(withoutTime(readFileSync(out, "utf8")), withoutTime(text))
      })
    )
  })
})
