import { execFileSync } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import { nilUuid } from "../../src/model/Ids.ts"
import { catalogProcess, startCatalog } from "../support/CommandLine.ts"
import { commandsWith } from "../support/Commands.ts"
import { query } from "../support/RunDatabases.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "exports-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const source = join(folder, "source.csv")
const hats = Array.from(
  { length: 1_500 },
  (_, index) => `hat-${index},Hat ${index},Title,Default Title,H-${index},5.00`
)
writeFileSync(source, ["Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price", ...hats, ""].join("\n"))

describe.skipIf(!serverAnswers)("exports on the command line", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("write JSON lines to a file or stdout, and leave the earlier file when they are killed", () =>
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
        assert.deepStrictEqual(written, { file: out, entities: 3_000, bytes: Buffer.byteLength(text) })
        assert.lengthOf(text.split("\n"), 3_004)
        assert.strictEqual(
          yield* said("export", "jsonl", "--out", out),
          `Wrote 3,000 entities to ${out}.`,
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

        // A link stays a link, and its file keeps its permissions. A pipe stays a pipe.
        const [link, pipe] = [join(folder, "link.jsonl"), join(folder, "pipe.jsonl")]
        symlinkSync("catalog.jsonl", link)
        chmodSync(out, 0o600)
        yield* json("export", "jsonl", "--out", link)
        assert.isTrue(lstatSync(link).isSymbolicLink())
        assert.strictEqual(lstatSync(out).mode & 0o777, 0o600)
        assert.strictEqual(withoutTime(readFileSync(out, "utf8")), withoutTime(text))
        execFileSync("mkfifo", [pipe])
        const reading = Effect.promise(() => readFile(pipe, "utf8"))
        const [, piped] = yield* Effect.all([json("export", "jsonl", "--out", pipe), reading], { concurrency: 2 })
        assert.isTrue(lstatSync(pipe).isFIFO())
        assert.strictEqual(withoutTime(piped), withoutTime(text))
        rmSync(link)
        rmSync(pipe)

        // The reader of stdout ends first, as `head` does.
        const cut = startCatalog(["export", "jsonl"], env)
        let complaint = ""
        cut.stderr?.setEncoding("utf8").on("data", (part: string) => {
          complaint += part
        })
        cut.stdout?.once("data", () => cut.stdout?.destroy())
        yield* Effect.promise(() => once(cut, "close"))
        assert.deepStrictEqual(
          [cut.exitCode, complaint],
          [1, "stdout cannot be written: the program that reads it has ended.\n"]
        )

        // Killed as soon as its temporary file appears, the export leaves the earlier file unchanged.
        const child = startCatalog(["export", "jsonl", "--out", out], env)
        const ended = once(child, "close")
        while (child.exitCode === null && !readdirSync(folder).some((name) => name.endsWith(".part")))
          yield* Effect.sleep("2 millis")
        child.kill("SIGKILL")
        yield* Effect.promise(() => ended)
        assert.strictEqual(child.signalCode, "SIGKILL")
        assert.strictEqual(readFileSync(out, "utf8").length, text.length)
        assert.strictEqual(withoutTime(readFileSync(out, "utf8")), withoutTime(text))
      })
    )

    it.effect("write the entities with some ids, or those that filters find", () =>
      Effect.gen(function* () {
        const env = { DATABASE_URL: Redacted.value(yield* TestDatabaseUrl) }
        const { json, refusal, said } = commandsWith(env)
        const { account_id: account } = yield* json("account", "create", "--name", "Selects")
        const named = ["--account", String(account)]
        yield* json("store", "link", "files.example", ...named)
        yield* json("import", "csv", source, "--store", "files.example", "--accept", ...named)
        const out = join(folder, "selected")
        const written = Effect.sync(() => readFileSync(out, "utf8").trimEnd().split("\n"))

        assert.deepInclude(yield* json("export", "jsonl", "--search", "H-1499", "--out", out, ...named), {
          entities: 2
        })
        const [head = "", , variant = "", product = ""] = yield* written
        assert.deepStrictEqual(JSON.parse(head).selected, { kind: "product", count: 1 })
        const id = String(JSON.parse(product).id)
        const variantId = String(JSON.parse(variant).id)
        assert.strictEqual(JSON.parse(variant).product_id, id)

        for (const [args, count] of [
          [["--kind", "variant", "--id", variantId.toUpperCase()], 1],
          [["--kind", "variant", "--on", "files.example", "--search", "Hat 149"], 12],
          [["--kind", "variant"], 1_500],
          [["--id", id, "--id", id], 2]
        ] as const)
          assert.deepInclude(yield* json("export", "jsonl", ...args, "--out", out, ...named), { entities: count })

        assert.strictEqual(
          yield* said("export", "csv", "--store", "files.example", "--id", id, "--out", out, ...named),
          `Wrote 1 product to ${out}.\nThis export does not count as a publish.`
        )
        const [, row = "", ...others] = yield* written
        assert.match(row, /^hat-1499,Hat 1499,/)
        assert.isEmpty(others)
        assert.deepInclude(yield* json("import", "csv", out, "--store", "files.example", "--accept", ...named), {
          phase: "applied"
        })

        const unknown = "There is no product with one of these ids."
        for (const [args, words] of [
          [["jsonl", "--id", variantId], unknown],
          [["jsonl", "--id", "x"], unknown],
          [["csv", "--store", "files.example", "--id", variantId], unknown],
          [["jsonl", "--id", id, "--vendor", "Fell"], "Give ids or filters, not both."],
          [["jsonl", "--vendor", "Fell"], "The filters find no product."],
          [["csv", "--store", "files.example", "--tag", "wet"], "The filters find no product."],
          [
            ["jsonl", "--on", "nowhere.example"],
            `No store nowhere.example is linked: see \`catalog store list ${named.join(" ")}\`.`
          ]
        ] as const)
          assert.strictEqual(yield* refusal("export", ...args, "--out", join(folder, "refused"), ...named), words)
        rmSync(out)
        assert.notInclude(readdirSync(folder), "refused")
      })
    )

    it.effect("write a store's products, which count as published when the file is complete", () =>
      Effect.gen(function* () {
        const env = { DATABASE_URL: Redacted.value(yield* TestDatabaseUrl) }
        const { json, refusal, run, said } = commandsWith(env)
        const { account_id: account } = yield* json("account", "create", "--name", "Publishes files")
        const named = ["--account", String(account)]
        yield* json("store", "link", "files.example", ...named)
        yield* json("store", "link", "tern.demo.example", "--platform", "demo", ...named)
        yield* json("import", "csv", source, "--store", "files.example", "--accept", ...named)
        const edited = (title: string) =>
          Effect.gen(function* () {
            const { draft_revision } = yield* json("draft", "show", "hat-7", ...named)
            yield* json("draft", "set", "hat-7", "--revision", String(draft_revision), `title=${title}`, ...named)
          })
        yield* edited("Hat seven")
        const stateOf = Effect.map(
          Effect.promise(() =>
            query(
              env.DATABASE_URL,
              `SELECT v.pending_publish, v.last_publish_status FROM store_version v JOIN entity e ON e.id = v.entity_id
               WHERE e.account_id = '${account}' AND e.title LIKE 'Hat seven%'`
            )
          ),
          ([row]) => [row?.last_publish_status, row?.pending_publish]
        )
        const out = join(folder, "products.csv")

        // Killed while the file is written, it publishes nothing and starts no job.
        const child = startCatalog(
          ["export", "csv", "--store", "files.example", "--out", out, "--publish", ...named],
          env
        )
        const ended = once(child, "close")
        while (child.exitCode === null && !readdirSync(folder).some((name) => name.startsWith(".products.csv")))
          yield* Effect.sleep("2 millis")
        child.kill("SIGKILL")
        yield* Effect.promise(() => ended)
        assert.strictEqual(child.signalCode, "SIGKILL")
        assert.notInclude(readdirSync(folder), "products.csv")
        assert.deepStrictEqual(yield* stateOf, ["published", true])
        const kinds = Effect.map(json("jobs", "list", ...named), ({ jobs }) =>
          jobs.map(({ kind }: { readonly kind: string }) => kind)
        )
        assert.deepStrictEqual(yield* kinds, ["import"])

        assert.strictEqual(
          yield* said("export", "csv", "--store", "files.example", "--out", out, ...named),
          `Wrote 1,500 products to ${out}.\nThis export does not count as a publish.`
        )
        assert.deepStrictEqual(yield* stateOf, ["published", true])
        const text = readFileSync(out, "utf8")
        assert.match(text, /^Handle,Title,Body \(HTML\),Vendor,/)
        assert.include(text, "hat-7,Hat seven,")
        assert.match(
          yield* said("export", "csv", "--store", "files.example", "--out", out, "--publish", ...named),
          /^Wrote 1,500 products to \S+\.\n1 entity counts as published now: see `catalog jobs show \S+ --account \S+`\.$/
        )
        assert.deepStrictEqual(yield* stateOf, ["published", false])
        const { jobs } = yield* json("jobs", "list", ...named)
        assert.deepStrictEqual(yield* kinds, ["export", "import"])
        assert.deepInclude(jobs[0], {
          kind: "export",
          state: "done",
          done: 1_500,
          result: { published: 1, changed: 0 }
        })

        const printed = yield* run("export", "csv", "--store", "files.example", "--publish", "--json", ...named)
        assert.strictEqual(
          printed.stderr,
          "--json: give --out too, because the export itself goes to stdout without it.\n"
        )
        const review = yield* json("import", "csv", out, "--store", "files.example", ...named)
        assert.deepInclude(review, { created: 0, updated: 0, unchanged: 1_500, conflicts: 0 })
        yield* json("import", "discard", String(review.import_id), ...named)

        yield* edited("Hat seven again")
        const streamed = yield* Effect.promise(() =>
          catalogProcess(["export", "csv", "--store", "files.example", "--publish", ...named], env)
        )
        assert.strictEqual(streamed.stdout, readFileSync(out, "utf8").replace("Hat seven", "Hat seven again"))
        assert.match(streamed.stderr, /^Wrote 1,500 products to stdout\.\n1 entity counts as published now: see /)
        assert.deepStrictEqual(yield* stateOf, ["published", false])

        assert.strictEqual(
          yield* refusal("export", "csv", "--store", "tern.demo.example", "--publish", ...named),
          "--publish: tern.demo.example has a platform: publish to it instead. An export counts as a publish only for a store without a platform"
        )
        // The job of another process is open: the export is refused before a file is written.
        yield* Effect.promise(() =>
          query(
            env.DATABASE_URL,
            `INSERT INTO job (account_id, id, kind, title, subject, state, input, actor, author)
             SELECT s.account_id, '${nilUuid}', 'store_link', 'Link it', s.id, 'paused', '{}',
                    '{"_tag":"Cli","accountId":"${account}"}', '{"kind":"cli","id":null,"name":null}'
             FROM store s WHERE s.account_id = '${account}' AND s.domain = 'files.example'`
          )
        )
        const busy = join(folder, "busy.csv")
        assert.strictEqual(
          yield* refusal("export", "csv", "--store", "files.example", "--out", busy, "--publish", ...named),
          `the job "Link it" (${nilUuid}) is paused and works on the same store: resume it first`
        )
        assert.isFalse(existsSync(busy))
        assert.strictEqual(
          yield* refusal("export", "csv", "--store", "nowhere.example", ...named),
          `No store nowhere.example is linked: see \`catalog store list ${named.join(" ")}\`.`
        )
      })
    )
  })
})
