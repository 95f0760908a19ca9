import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { catalogProcess, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-loaded-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

interface Coverage {
  readonly result: ReadonlyArray<{ readonly url: string }>
}

/** A file that was loaded, and the sources that its source map names. */
const sourcesOf = (path: string): ReadonlyArray<string> =>
  existsSync(`${path}.map`) ? [path, ...JSON.parse(readFileSync(`${path}.map`, "utf8")).sources] : [path]

/** Runs a command, and returns the sources of every file that its process loaded. */
const loadedBy = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const folder = yield* temporary
    const { code, stderr } = yield* Effect.promise(() => catalogProcess(args, { ...env, NODE_V8_COVERAGE: folder }))
    assert.strictEqual(code, 0, stderr)
    return readdirSync(folder)
      .flatMap((name) => (JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage).result)
      .flatMap(({ url }) => (url.startsWith("file:") ? sourcesOf(fileURLToPath(url)) : []))
  })

const ofTheServer = [
  /src\/App\.ts$/,
  /src\/http\/Gate\.ts$/,
  /src\/catalog\/.*Repo\.ts$/,
  /src\/console\/.*\.tsx$/,
  /src\/mcp\//,
  /node_modules\/@effect\/sql/,
  /node_modules\/@electric-sql\/pglite\//,
  /node_modules\/@modelcontextprotocol\//,
  /node_modules\/pg\//,
  /node_modules\/undici\//
]

const serverCodeIn = (sources: ReadonlyArray<string>) =>
  ofTheServer.filter((code) => sources.some((source) => code.test(source)))

describe("code that a command loads", () => {
  it.scopedLive("includes no server code, unless the command opens the database", () =>
    Effect.gen(function* () {
      const DATA_DIR = join(yield* temporary, "data")
      for (const args of [["--version"], ["--help"], ["key", "create", "--help"]]) {
        const sources = yield* loadedBy(args, { DATA_DIR })
        assert.deepStrictEqual(serverCodeIn(sources), [], args.join(" "))
        assert.isTrue(sources.some((source) => source.endsWith("src/cli/Cli.ts")))
      }

      prepareDataDirectory(DATA_DIR)
      // A command that opens the database in its own process loads all of them, so the expressions above are still
      // right.
      const opened = yield* loadedBy(["account", "list"], { DATA_DIR })
      assert.deepStrictEqual(serverCodeIn(opened), ofTheServer)

      const { stop } = yield* Effect.promise(() => serveCatalog({ DATA_DIR, LOG_FORMAT: "json" }))
      const answered = yield* loadedBy(["account", "list"], { DATA_DIR })
      yield* Effect.promise(() => stop())
      assert.deepStrictEqual(serverCodeIn(answered), [])
    })
  )
})
