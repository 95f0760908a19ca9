import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { build } from "esbuild"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { certificate, certificateKey } from "../support/Certificate.ts"
import { catalog, catalogProcess, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"
import { freePort } from "../support/FreePort.ts"
import { isLong } from "../support/Volume.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "catalog-package-"))
/** An empty project with only the package. */
const project = join(folder, "project")

/** Runs a command to its end, and returns its stdout. */
const run = (command: string, args: ReadonlyArray<string>, cwd: string) =>
  promisify(execFile)(command, args, { cwd }).then(
    ({ stdout }) => stdout,
    ({ message, stderr, stdout }) => assert.fail(`${message}${stdout}${stderr}`)
  )

/** Only the client's declarations. `prepack` writes those of all exports, which takes ten times as long. */
const declare = () => {
  const settings = join(folder, "tsconfig.json")
  const compilerOptions = {
    rootDir: `${root}src`,
    outDir: `${root}dist`,
    typeRoots: [`${root}node_modules/@types`],
    plugins: []
  }
  writeFileSync(
    settings,
    JSON.stringify({ extends: `${root}tsconfig.build.json`, compilerOptions, files: [`${root}src/client/index.ts`] })
  )
  return run(process.execPath, ["check-types.mjs", settings], root)
}

/**
 * Unpacks the archive into node_modules, with links to its dependencies. `npm install` would request them from the
 * registry, and write 200 MB.
 */
const install = async (archive: string) => {
  const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { readonly dependencies: object }
  const place = join(project, "node_modules", "catalog")
  mkdirSync(place, { recursive: true })
  await run("tar", ["-xzf", archive, "-C", place, "--strip-components=1"], folder)
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true })
    symlinkSync(`${root}node_modules/${name}`, join(project, "node_modules", name))
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
}

beforeAll(async () => {
  await declare()
  const packing = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], root)
  await install(JSON.parse(packing)[0].filename)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = `
import { CatalogError, type ChangePage, connect, type Kind, makeClient, verifyWebhook, type WalkRow } from "catalog/client"
const catalog = connect({ url: "http://127.0.0.1:4080", key: "pk_live_..." })

export const titles = async (): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for await (const product of catalog.products.walk({ include: ["attributes"], status: "published" })) {
    const key: string = product.attributes[0]?.key ?? ""
    found.push(product.title + key)
    // @ts-expect-error: relationships are not included
    product.variant_ids
  }
  for await (const variant of catalog.variants.walk({ sku: ["A", "B"] })) found.push(variant.sku, variant.product_id)
  for await (const { cursor, entity } of catalog.changes.follow({ poll: false })) found.push(cursor ?? "", entity.id)
  const { media_ids: ids, stores } = await catalog.products.get("7d92f2bd-9e09-5bf5-bcf7-b063cce79afc")
  found.push(...ids, ...stores.map(({ store_domain }) => store_domain))
  const { data } = await catalog.endpoints.dataHealth.listDataHealthIssues({ urlParams: { section: "divergence", page: 1 } })
  const { next_cursor } = await catalog.endpoints.catalog.listProducts({ urlParams: { search: "boots" } })
  found.push(next_cursor ?? "", (await catalog.endpoints.changes.listChanges({ urlParams: {} })).next_cursor)
  return [...found, String(data.length)]
}

// @ts-expect-error: variants have no handle
catalog.variants.walk({ handle: ["x"] })
// @ts-expect-error: the section is required
catalog.endpoints.dataHealth.listDataHealthIssues({ urlParams: {} })
// @ts-expect-error: no such group
catalog.products.walk({ include: ["prices"] })

type Row = WalkRow<Kind, { readonly include: readonly ["attributes"] }>
export const copied = async (kind: Kind, copy: Map<string, Row>, handle: (page: ChangePage) => string): Promise<void> => {
  for await (const row of catalog.walk(kind, { include: ["attributes"] })) copy.set(row.id, row)
  for await (const page of catalog.changes.pages({ poll: false })) handle(page)
}

export const codeOf = (error: unknown): string | undefined => (error instanceof CatalogError ? error.request_id : undefined)
export const typeOf = (headers: Headers, body: string): string => verifyWebhook("whsec_x", { headers, body }).type
export { makeClient }
`

/** A receiver of webhooks, as a user of the package writes one. */
const receiver = `
import { readFileSync } from "node:fs"
import { createServer } from "node:https"
import { verifyWebhook } from "catalog/client"

const { PORT, SECRET } = process.env
createServer({ cert: readFileSync("cert.pem"), key: readFileSync("key.pem") }, async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  try {
    const { type, data } = verifyWebhook(SECRET, { headers: request.headers, body })
    console.log(type, JSON.stringify(data))
    response.writeHead(204).end()
  } catch (error) {
    console.log("refused", error.code)
    response.writeHead(400).end()
  }
}).listen(PORT, "127.0.0.1", () => console.log("listening"))
`

describe("the package in an empty project", () => {
  it("has types for a strict TypeScript program without the types of Node", async () => {
    writeFileSync(join(project, "program.ts"), program)
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      target: "es2022",
      module: "nodenext",
      lib: ["es2022", "dom", "dom.iterable"],
      types: []
    }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }))
    // The compiler of the package's users. The native one reports the same errors and takes a fifth of the processor time.
    const packages = `${root}node_modules`
    const native = `${packages}/@effect/tsgo-${process.platform}-${process.arch}/lib/tsc`
    await (isLong
      ? run(process.execPath, [`${packages}/typescript/bin/tsc`, "--project", "."], project)
      : run(native, ["--project", "."], project))
  })

  it.skipIf(!isLong)("has types for tests and adapters, in both ways in which modules are found", async () => {
    await run(process.execPath, ["check-types.mjs", "tsconfig.build.json"], root)
    await run("cp", ["-r", `${root}dist`, join(project, "node_modules", "catalog")], root)
    for (const name of ["@effect/vitest", "vitest"])
      symlinkSync(`${root}node_modules/${name}`, join(project, "node_modules", name))
    writeFileSync(join(project, "fakes.test.ts"), readFileSync(`${root}test/readme/Fakes.test.ts`))
    const adapter = readFileSync(`${root}test/testing/Fakes.test.ts`, "utf8")
      .replace("../../src/platform/index.ts", "catalog/platform")
      .replace("../../src/testing/index.ts", "catalog/testing")
    writeFileSync(join(project, "adapter.test.ts"), adapter)
    const files = ["fakes.test.ts", "adapter.test.ts"]
    const typeRoots = [`${root}node_modules/@types`]
    for (const found of [{ module: "nodenext" }, { module: "esnext", moduleResolution: "bundler" }]) {
      const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, target: "es2022", ...found, typeRoots }
      writeFileSync(join(project, "tests.json"), JSON.stringify({ compilerOptions, files }))
      await run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "--project", "tests.json"], project)
    }
  })

  it("loads no code of the server: the modules and the size of the client", async () => {
    const { metafile, outputFiles } = await build({
      absWorkingDir: project,
      stdin: { contents: 'export * from "catalog/client"', resolveDir: project },
      tsconfigRaw: "{}",
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      format: "esm",
      // Modules of Node do not exist in a browser.
      platform: "browser",
      logLevel: "silent"
    })
    const packages = Object.keys(metafile.inputs).flatMap(
      (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []
    )
    assert.deepStrictEqual([...new Set(packages)].sort(), [
      "@effect/platform",
      "@stablelib/base64",
      "catalog",
      "effect",
      "fast-check",
      "fast-sha256",
      "find-my-way-ts",
      "multipasta",
      "pure-rand",
      "standardwebhooks"
    ])
    const own = Object.keys(metafile.inputs).filter((path) => path.includes("node_modules/catalog/"))
    assert.deepStrictEqual(
      own.map((path) => path.slice(path.indexOf("catalog/dist"))),
      ["catalog/dist/client/index.js"]
    )
    assert.isBelow(outputFiles[0]?.contents.length ?? Number.POSITIVE_INFINITY, 700_000)
  })

  describe("with the README's program", () => {
    const DATA_DIR = join(folder, "data")
    let service: Awaited<ReturnType<typeof serveCatalog>>
    let port: number
    beforeAll(async () => {
      prepareDataDirectory(DATA_DIR)
      port = await freePort()
      const NODE_EXTRA_CA_CERTS = join(project, "cert.pem")
      writeFileSync(NODE_EXTRA_CA_CERTS, certificate)
      writeFileSync(join(project, "key.pem"), certificateKey)
      service = await serveCatalog({ DATA_DIR, NODE_EXTRA_CA_CERTS, WEBHOOK_PRIVATE_HOSTS: `localhost:${port}` })
    })
    afterAll(() => service.stop())

    const snippet =
      /\n## Mirror it from code\n[\s\S]*?```js\n([\s\S]*?)```/.exec(readFileSync(`${root}README.md`, "utf8"))?.[1] ?? ""

    const get = async (target: string) => {
      const headers = { authorization: `Bearer ${service.key}` }
      const response = await fetch(`${service.baseUrl}/api/v1/${target}`, { headers })
      assert.strictEqual(response.status, 200)
      return response.json() as Promise<{
        readonly data: ReadonlyArray<{ readonly id: string; readonly domain: string; readonly draft_revision: number }>
        readonly next_cursor: string | null
      }>
    }

    /** Reads the catalog by plain requests. */
    const wholeCatalog = async () => {
      const entities = new Map<string, unknown>()
      for (const kind of ["products", "variants", "collections", "media"])
        for (let cursor: string | null = ""; cursor !== null; ) {
          const page = await get(`${kind}?include=attributes,stores,relationships&limit=250&cursor=${cursor}`)
          for (const entity of page.data) entities.set(entity.id, entity)
          cursor = page.next_cursor
        }
      return entities
    }

    const command = async (...args: ReadonlyArray<string>) => {
      const { code, stderr, stdout } = await Effect.runPromise(catalog([...args, "--json"], { DATA_DIR }))
      assert.deepStrictEqual([code, stderr], [0, ""], args.join(" "))
      return JSON.parse(stdout)
    }

    /** Starts a program of the project. `lines`: what it has printed so far. */
    const startProgram = (name: string, env: Readonly<Record<string, string>> = {}) => {
      const child = spawn(process.execPath, [name], {
        cwd: project,
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "inherit"]
      })
      const lines: Array<string> = []
      const output = createInterface(child.stdout).on("line", (line) => lines.push(line))
      const ended = once(child, "close")
      const stop = () => {
        child.kill("SIGTERM")
        return ended
      }
      /** Waits until a printed line is the expected one. Fails if the program ends before. */
      const prints = async (isExpected: (line: string) => boolean) => {
        while (!lines.some(isExpected)) {
          assert.isNull(child.exitCode, `${name} ended after these lines:\n${lines.join("\n")}`)
          await Promise.race([once(output, "line"), ended])
        }
      }
      return { lines, prints, stop }
    }

    it("mirrors the demo in under 20 lines, follows edits that a verified webhook announces, and an export changes nothing", async () => {
      assert.isBelow(snippet.trimEnd().split("\n").length, 20)
      assert.include(snippet, '"http://127.0.0.1:4080"')
      const show =
        'process.once("SIGTERM", () => process.stdout.write(JSON.stringify([...mirror.values()]), () => process.exit(0)))\n'
      const filled = snippet
        .replace('"http://127.0.0.1:4080"', `"${service.baseUrl}"`)
        .replace("pk_live_...", service.key ?? "")
      writeFileSync(join(project, "mirror.js"), show + filled)
      writeFileSync(join(project, "receiver.js"), receiver)
      const mirror = startProgram("mirror.js")
      const webhook = await command("webhook", "create", "--url", `https://localhost:${port}/`)
      const received = startProgram("receiver.js", { PORT: String(port), SECRET: webhook.secret })
      await received.prints(() => true)

      const { data: products } = await get("products?limit=12")
      for (const [index, { draft_revision, id }] of products.entries())
        await command("draft", "set", id, "--revision", String(draft_revision), `title=Mirrored ${index}`)
      const [{ id: first } = assert.fail("no product")] = products
      const published = await catalogProcess(["publish", first], { DATA_DIR })
      assert.strictEqual(published.code, 0, published.stderr)
      const isPublished = (line: string) =>
        line.startsWith("store_version.updated ") && line.includes(first) && line.includes("accepted_values")
      await received.prints(isPublished)
      assert.isEmpty(received.lines.filter((line) => line.startsWith("refused")))
      await received.stop()

      const before = await wholeCatalog()
      const { data: stores } = await get("stores")
      const { domain } = stores.find((store) => store.domain.includes("china")) ?? assert.fail("no such store")
      const file = join(folder, "products.csv")
      await command("export", "csv", "--store", domain, "--out", file)
      const imported = await command("import", "csv", file, "--store", domain, "--accept")
      assert.deepInclude(imported, { phase: "applied", created: 0, updated: 0, conflicts: 0 })
      assert.isAbove(imported.unchanged, 50)
      assert.deepStrictEqual(await wholeCatalog(), before)

      // After the import, which is a change of its own: a copy that reads both changes at once never stops between them.
      const { next_cursor: latest } = await get("changes?cursor=latest")
      await mirror.prints((line) => line.endsWith(` at ${latest}`))
      await mirror.stop()
      const copy = new Map(
        (JSON.parse(mirror.lines.at(-1) ?? "") as ReadonlyArray<{ readonly id: string }>).map((entity) => [
          entity.id,
          entity
        ])
      )
      assert.strictEqual(copy.size, before.size)
      for (const [id, entity] of before) assert.deepStrictEqual<unknown>(copy.get(id), entity)
      assert.isAtLeast([...copy.values()].filter((entity) => JSON.stringify(entity).includes("Mirrored")).length, 12)
    })
  })
})
