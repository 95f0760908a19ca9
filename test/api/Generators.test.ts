import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Third-party client generators, and their output for a document without problems. */
const generators = [
  {
    program: "openapi-typescript",
    args: ["openapi.json", "-o", "client.ts"],
    prints: /^✨ openapi-typescript .*\n🚀 .*\n$/
  },
  { program: "oazapfts", args: ["openapi.json", "client.ts"], prints: /^$/ }
] as const

interface Outcome {
  readonly code: number
  readonly output: string
}

const run = (program: string, args: ReadonlyArray<string>, cwd: string): Promise<Outcome> =>
  promisify(execFile)(process.execPath, [join(root, "node_modules/.bin", program), ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: "1" }
  }).then(
    ({ stderr, stdout }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stderr, stdout }) => ({ code, output: stdout + stderr })
  )

/** The output of a generator for a document, its client, and the compiler's output for this client. */
const generated = (document: unknown, { args, program }: (typeof generators)[number]) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      // In a folder below node_modules, where the client finds its library.
      Effect.sync(() => {
        mkdirSync(join(root, "node_modules/.cache"), { recursive: true })
        return mkdtempSync(join(root, "node_modules/.cache/generated-"))
      }),
      (made) => Effect.sync(() => rmSync(made, { recursive: true }))
    )
    writeFileSync(join(folder, "openapi.json"), JSON.stringify(document))
    const { code, output } = yield* Effect.promise(() => run(program, args, folder))
    if (code !== 0) return { code, output, client: "", compiled: undefined }
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: "es2022",
      module: "esnext",
      moduleResolution: "bundler",
      lib: ["es2022", "dom"],
      types: [],
      skipLibCheck: true
    }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["client.ts"] }))
    const compiled = yield* Effect.promise(() => run("tsc", ["--project", "."], folder))
    return { code, output, client: readFileSync(join(folder, "client.ts"), "utf8"), compiled }
  }).pipe(Effect.scoped)

describe("the OpenAPI document", () => {
  for (const generator of generators) {
    const { program, prints } = generator

    it.live(`gives a client without a warning by ${program}`, () =>
      Effect.gen(function* () {
        const { client, code, compiled, output } = yield* generated(OpenApi.fromApi(RestApi), generator)
        assert.strictEqual(code, 0, output)
        assert.match(output, prints)
        assert.deepStrictEqual(compiled, { code: 0, output: "" })
        for (const name of ["draft_revision", "next_cursor", "request_id"]) assert.include(client, name)
      })
    )

    it.live(`planted fault: ${program} refuses a document with a broken reference`, () =>
      Effect.gen(function* () {
        const planted = JSON.parse(
          JSON.stringify(OpenApi.fromApi(RestApi)).replaceAll(
            '#/components/schemas/Product"',
            '#/components/schemas/Nothing"'
          )
        )
        assert.notStrictEqual((yield* generated(planted, generator)).code, 0)
      })
    )
  }
})
