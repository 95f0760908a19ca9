import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterAll } from "vitest"
import { catalog, environment, program } from "../support/CommandLine.ts"
import { layerServerUrl, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "catalog-tokens-"))
afterAll(() => rmSync(folder, { recursive: true }))

const token = "shpat_0123456789abcdef0123456789abcdef"
const domain = "tern.myshopify.com"

const file = (name: string, content: string) => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** Runs `catalog` as a process of its own, with text on stdin. */
const piped = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>, stdin: string) => {
  const child = spawn(process.execPath, [program, ...args], { env: environment(env) })
  const output = { stdout: "", stderr: "" }
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk
  })
  child.stdin.on("error", () => {})
  child.stdin.end(stdin)
  const [code] = await once(child, "close")
  return { code, ...output }
}

describe.skipIf(!serverAnswers)("linking a Shopify store", () => {
  layer(layerServerUrl, { excludeTestServices: true })((it) => {
    it.effect("is refused without an encryption key, and the token is never printed", () =>
      Effect.gen(function* () {
        const env = { DATABASE_URL: Redacted.value(yield* TestDatabaseUrl) }
        const run = (...args: ReadonlyArray<string>) => catalog(args, env)
        yield* run("account", "create", "--name", "Mine")
        const link = ["store", "link", domain, "--platform", "shopify"]
        const refused = (rule: string) => ({ code: 1, stdout: "", stderr: `${rule}\n` })
        const noKey = refused(
          "SECRET_KEY: is not set, so the tokens of stores and the secrets of webhooks and of second factors cannot be saved: set it to 32 bytes in base64 (`openssl rand -base64 32`), the same for every process on this database"
        )
        assert.deepStrictEqual(yield* run(...link, "--token-file", file("token", `${token}\n`)), noKey)
        assert.deepStrictEqual(yield* Effect.promise(() => piped([...link, "--token-file", "-"], env, token)), noKey)

        assert.deepStrictEqual(
          yield* run(...link),
          refused("--token-file: is required: an Admin API access token of the store")
        )
        const missing = join(folder, "nowhere")
        const directory = join(folder, "directory")
        mkdirSync(directory)
        for (const path of [missing, directory])
          assert.deepStrictEqual(
            yield* run(...link, "--token-file", path),
            refused(`--token-file: ${path} cannot be read`)
          )
        const long = file("long", token.repeat(1_000))
        assert.deepStrictEqual(
          yield* run(...link, "--token-file", long),
          refused(`--token-file: ${long} is too large to be a token`)
        )
        for (const content of ["", " \n", `${token} ${token}`, `${token}\u00e9`])
          assert.deepStrictEqual(
            yield* run(...link, "--token-file", file("odd", content)),
            refused("--token-file: must be one word of at most 1024 visible ASCII characters")
          )
        assert.deepStrictEqual(
          yield* run(...link, "--name", "Tern", "--token-file", file("token", token)),
          refused("--name: is read from the store itself: leave it out")
        )
        assert.deepStrictEqual(
          yield* run("store", "link", domain, "--token-file", file("token", token)),
          refused("--token-file: is only for stores on the platform shopify")
        )
        assert.deepStrictEqual(
          yield* run("store", "link", "x.example", "--platform", "woo"),
          refused("--platform: must be one of shopify, demo, none")
        )
        assert.deepStrictEqual(JSON.parse((yield* run("store", "list", "--json")).stdout), { stores: [] })
      })
    )

    it.effect("takes no token as an argument, which other users of the machine could see", () =>
      Effect.gen(function* () {
        const env = { DATABASE_URL: Redacted.value(yield* TestDatabaseUrl) }
        const { code } = yield* catalog(["store", "link", domain, "--platform", "shopify", "--token", token], env)
        assert.strictEqual(code, 2)
        const { stdout } = yield* catalog(["store", "link", "--help"], env)
        assert.include(stdout, "--token-file")
        assert.notMatch(stdout, /--token(?!-file)/)
      })
    )
  })
})
