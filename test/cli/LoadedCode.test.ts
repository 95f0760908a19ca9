import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { catalogProcess, prepareDataDirectory, root, serveCatalog } from "../support/CommandLine.ts"

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

/** The sources of every file that processes with this folder for their coverage loaded. */
const sourcesIn = (folder: string) =>
  readdirSync(folder)
    .flatMap((name) => (JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage).result)
    .flatMap(({ url }) => (url.startsWith("file:") ? sourcesOf(fileURLToPath(url)) : []))

/** Runs a command, and returns the sources that its process loaded. */
const loadedBy = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const folder = yield* temporary
    const { code, stderr } = yield* Effect.promise(() => catalogProcess(args, { ...env, NODE_V8_COVERAGE: folder }))
    assert.strictEqual(code, 0, stderr)
    return sourcesIn(folder)
  })

const ofTheServer = [
  /src\/App\.ts$/,
  /src\/http\/Gate\.ts$/,
  /src\/console\/.*\.tsx$/,
  /src\/mcp\//,
  /node_modules\/@modelcontextprotocol\//
]

const ofTheDatabase = [
  /src\/Services\.ts$/,
  /src\/catalog\/.*Repo\.ts$/,
  /node_modules\/@effect\/sql/,
  /node_modules\/@electric-sql\/pglite\//,
  /node_modules\/pg\//,
  /node_modules\/undici\//
]

const found = (code: ReadonlyArray<RegExp>, sources: ReadonlyArray<string>) =>
  code.filter((each) => sources.some((source) => each.test(source)))

describe("code that a command loads", () => {
  it.scopedLive("includes no code of the server, and that of the database only if the command opens it", () =>
    Effect.gen(function* () {
      const DATA_DIR = join(yield* temporary, "data")
      for (const args of [["--version"], ["--help"], ["key", "create", "--help"]]) {
        const sources = yield* loadedBy(args, { DATA_DIR })
        assert.deepStrictEqual(found([...ofTheServer, ...ofTheDatabase], sources), [], args.join(" "))
        assert.isTrue(sources.some((source) => source.endsWith("src/cli/Cli.ts")))
      }

      prepareDataDirectory(DATA_DIR)
      // With an account, the server below creates no demo, which takes seconds.
      const opened = yield* loadedBy(["account", "create", "--name", "Mine"], { DATA_DIR })
      assert.deepStrictEqual(found(ofTheDatabase, opened), ofTheDatabase)
      assert.deepStrictEqual(found(ofTheServer, opened), [])

      const folder = yield* temporary
      const { stop } = yield* Effect.promise(() =>
        serveCatalog({ DATA_DIR, LOG_FORMAT: "json", NODE_V8_COVERAGE: folder })
      )
      const answered = yield* loadedBy(["account", "list"], { DATA_DIR })
      yield* Effect.promise(() => stop())
      assert.deepStrictEqual(found([...ofTheServer, ...ofTheDatabase], answered), [])

      // The expressions above are still right.
      assert.deepStrictEqual(found([...ofTheServer, ...ofTheDatabase], sourcesIn(folder)), [
        ...ofTheServer,
        ...ofTheDatabase
      ])
    })
  )
})

/** The chunks whose compiled code V8 accepts with these flags. */
const acceptedWith = (flags: ReadonlyArray<string>) => {
  const script = `
    const { readFileSync, readdirSync } = require("node:fs")
    const tag = require("node:v8").cachedDataVersionTag().toString(16)
    const accepted = readdirSync(".").filter((name) => name.endsWith(\`.\${tag}.code\`)).map((name) => name.split(".")[0] + ".cjs").filter((name) => {
      const source = "(function (exports, require, module, __filename, __dirname) {" + readFileSync(name, "utf8") + "\\n})"
      const cachedData = readFileSync(\`\${name}.\${tag}.code\`)
      return new (require("node:vm").Script)(source, { cachedData }).cachedDataRejected === false
    })
    console.log(JSON.stringify(accepted))`
  const output = execFileSync(process.execPath, [...flags, "-e", script], { cwd: join(root, "dist/chunks") })
  return JSON.parse(output.toString()) as ReadonlyArray<string>
}

describe("compiled code", () => {
  it("of all chunks but the page of the API is accepted with the flags of a command and of npm start", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const flags = String(scripts.start).match(/--\S+/g) ?? []
    assert.isNotEmpty(flags)
    const chunks = readdirSync(join(root, "dist/chunks")).filter(
      (name) => name.endsWith(".cjs") && !name.startsWith("DocumentationPage")
    )
    assert.isAbove(chunks.length, 10)
    for (const given of [[], flags]) assert.sameMembers([...acceptedWith(given)], chunks, given.join(" "))
  })

  /** A copy of the built service, and what a command of it prints. */
  const aCopy = Effect.map(temporary, (folder) => {
    cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true, preserveTimestamps: true })
    cpSync(join(root, "package.json"), join(folder, "package.json"))
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    const run = (...args: ReadonlyArray<string>) =>
      execFileSync(process.execPath, [join(folder, "dist/main.js"), ...args]).toString()
    return { chunks: join(folder, "dist/chunks"), run }
  })

  it.scopedLive("is not needed: a command runs without it, with code of another chunk, and with a damaged file", () =>
    Effect.gen(function* () {
      const { chunks, run } = yield* aCopy
      const codes = readdirSync(chunks).filter((name) => name.endsWith(".code"))
      const other = readFileSync(join(chunks, codes.find((name) => !name.startsWith("Main.")) ?? ""))
      for (const damage of [other, other.subarray(0, 100), Buffer.alloc(0)]) {
        for (const name of codes) writeFileSync(join(chunks, name), damage)
        assert.strictEqual(run("--version"), "0.1.0\n")
      }
      for (const name of codes) rmSync(join(chunks, name))
      assert.strictEqual(run("--version"), "0.1.0\n")
    })
  )

  it.scopedLive("is not used for a chunk that was changed in place, even if its length is the same", () =>
    Effect.gen(function* () {
      const { chunks, run } = yield* aCopy
      assert.include(run("key", "create", "--help"), "What the key is for.")
      const path = join(chunks, "Main.cjs")
      const before = readFileSync(path, "utf8")
      assert.include(before, "What the key is for.")
      writeFileSync(path, before.replace("What the key is for.", "What the KEY is for."))
      assert.include(run("key", "create", "--help"), "What the KEY is for.")
    })
  )
})
