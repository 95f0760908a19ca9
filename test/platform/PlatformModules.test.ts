import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Chunk, Effect, Redacted, Stream } from "effect"
import { type BuildOptions, build, type Plugin } from "esbuild"
import { aProduct } from "../../src/testing/platform/Publications.ts"
import { catalogProcess, prepareDataDirectory, root, serveCatalog } from "../support/CommandLine.ts"
import { PlainshopClient } from "./ContractPlatforms.ts"
import { aStore } from "./PlatformShops.ts"

/** A project of an integrator: the adapter of the guide as a module beside the packages that it imports, and as one that contains them. */
const folder = mkdtempSync(join(tmpdir(), "catalog-modules-"))
const module = (name: string) => join(folder, name)
const domain = "tern.plainshop.example"
const dataDirectory = join(folder, "data")

const building: BuildOptions = {
  entryPoints: [`${root}test/platform/example/PlainshopModule.ts`],
  bundle: true,
  platform: "node",
  logLevel: "warning"
}

/** Imports `catalog/platform`, as the source of an integrator does. */
const sourcesAreThePackage: Plugin = {
  name: "sources-are-the-package",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/src\/(?:platform|model)\// }, () => ({ path: "catalog/platform", external: true }))
}

beforeAll(async () => {
  for (const [name, target] of [
    ["catalog", ""],
    ["effect", "node_modules/effect"],
    ["@effect/platform", "node_modules/@effect/platform"]
  ] as const) {
    mkdirSync(join(folder, "node_modules", name, ".."), { recursive: true })
    symlinkSync(`${root}${target}`, join(folder, "node_modules", name))
  }
  writeFileSync(module("empty.cjs"), "")
  writeFileSync(module("half.cjs"), 'exports.adapter = { name: "half", label: "Half", summary: "s", capabilities: [] }')
  writeFileSync(
    module("field.cjs"),
    'exports.adapter = { ...require("./plainshop.cjs").adapter, name: "field", fields: [{ name: "key" }] }'
  )
  writeFileSync(
    module("long.cjs"),
    `exports.adapter = { ...require("./plainshop.cjs").adapter, name: "${"a".repeat(33)}" }`
  )
  writeFileSync(module("broken.mjs"), 'throw new Error("no licence\\nat line 1")')
  await Promise.all([
    build({
      ...building,
      outfile: module("plainshop.mjs"),
      format: "esm",
      packages: "external",
      plugins: [sourcesAreThePackage]
    }),
    build({ ...building, outfile: module("plainshop.cjs"), format: "cjs" })
  ])
  prepareDataDirectory(dataDirectory)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (args: ReadonlyArray<string>, PLATFORM_MODULES: string) =>
  catalogProcess(args, { DATA_DIR: dataDirectory, PLATFORM_MODULES })

describe("a module of PLATFORM_MODULES", () => {
  it.each([
    ["absent.cjs", `cannot be loaded: Cannot find module '${module("absent.cjs")}'`],
    ["empty.cjs", "does not export `adapter`, an object of the type PlatformAdapter"],
    ["half.cjs", "exports an adapter whose `fields` is not of the type array"],
    ["field.cjs", "exports an adapter with a field that lacks `name`, `label`, `isSecret` or `misfit`"],
    [
      "long.cjs",
      "exports an adapter with a name that is `none`, longer than 32 characters, or not of lower-case letters, digits and hyphens"
    ],
    ["broken.mjs", "cannot be loaded: no licence"]
  ])("that cannot be used ends the command with one line that names it: %s", async (name, reason) => {
    assert.deepStrictEqual(await run(["account", "list"], module(name)), {
      code: 1,
      stdout: "",
      stderr: `PLATFORM_MODULES: ${module(name)} ${reason}\n`
    })
  })

  it("cannot have the platform of another one", async () => {
    const both = `${module("plainshop.mjs")}, ${module("plainshop.cjs")}`
    assert.deepStrictEqual(await run(["account", "list"], both), {
      code: 1,
      stdout: "",
      stderr: `PLATFORM_MODULES: ${module("plainshop.cjs")} exports an adapter for \`plainshop\`, but there is one already\n`
    })
  })

  it("that contains its packages, in CommonJS, adds its platform", async () => {
    const names = async (modules: string) =>
      JSON.parse((await run(["platform", "list", "--json"], modules)).stdout).platforms.map(
        ({ name }: { readonly name: string }) => name
      )
    assert.deepStrictEqual(await names(module("plainshop.cjs")), [...(await names("")), "plainshop"])
  })

  it.scopedLive("serves stores of its platform: a process links, refreshes and publishes", () =>
    Effect.gen(function* () {
      const { client, server: shops } = yield* PlainshopClient
      shops.open("key-of-tern")
      const shop = { ...aStore("plainshop"), domain, credentials: { key: Redacted.make("key-of-tern") } }
      const product = { ...aProduct(), variants: [], media: [] }
      yield* client.publish(shop, product)

      const settings = {
        DATA_DIR: dataDirectory,
        PLATFORM_MODULES: module("plainshop.mjs"),
        PLAINSHOP_ORIGIN: shops.origin
      }
      const catalog = (...args: ReadonlyArray<string>) =>
        Effect.map(
          Effect.promise(() => catalogProcess([...args, "--json"], settings)),
          ({ stderr, stdout }) => (stdout === "" ? assert.fail(stderr) : JSON.parse(stdout))
        )
      yield* catalog("account", "create", "--name", "Tern", "--email", "ada@example.com")
      yield* Effect.acquireRelease(
        Effect.promise(() => serveCatalog(settings)),
        ({ stop }) => Effect.promise(() => stop())
      )
      writeFileSync(module("key"), "key-of-tern")
      const secret = `key=${module("key")}`
      yield* catalog("store", "link", domain, "--platform", "plainshop", "--secret-file", secret)
      assert.deepInclude(yield* catalog("import", "refresh", "--store", domain, "--accept"), {
        created: 1,
        error: null
      })

      const { draft_revision: revision } = yield* catalog("draft", "show", "keel-jumper")
      yield* catalog("draft", "set", "keel-jumper", "title=From the catalog", "--revision", String(revision))
      const publish = Effect.map(catalog("publish", "keel-jumper", "--again"), ({ results }) => results[0])
      assert.deepInclude(yield* publish, { outcome: "published", error: null })
      const records = Chunk.toReadonlyArray(yield* Stream.runCollect(client.pull(shop)))
      assert.deepStrictEqual(
        records.map(({ attributes }) => attributes.title?.value),
        ["From the catalog"]
      )

      shops.fail("key-of-tern", "revoked")
      assert.deepInclude(yield* publish, {
        outcome: "failed",
        error: {
          code: "UNAUTHORIZED",
          message: "The shop does not accept the key: it is wrong or was revoked."
        }
      })
    }).pipe(Effect.provide(PlainshopClient.Default))
  )
})
