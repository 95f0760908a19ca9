import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, describe, test } from "vitest"
import { catalog, prepareDataDirectory, serveCatalog, startCatalog } from "../support/CommandLine.ts"

const folder = mkdtempSync(join(tmpdir(), "interrupted-"))
const DATA_DIR = join(folder, "data")

const exportOf = (name: string, count: number) => {
  const path = join(folder, `${name}.csv`)
  const products = Array.from(
    { length: count },
    (_, index) => `${name}-${index},Product ${index},${name}-${index},5.00`
  )
  writeFileSync(path, `${["Handle,Title,Variant SKU,Variant Price", ...products].join("\n")}\n`)
  return path
}

describe("an import by a command while a server holds the embedded database", () => {
  let server: Awaited<ReturnType<typeof serveCatalog>>
  let account = ""

  const run = (...args: ReadonlyArray<string>) =>
    Effect.runPromise(catalog([...args, "--account", account], { DATA_DIR }))
  /** Lists the imports. Repeats the command if the server is too busy to answer in time: other tests check that. */
  const imports = async (): Promise<ReadonlyArray<Record<"import_id" | "phase", string>>> => {
    const { code, stdout } = await run("import", "list", "--json")
    if (code !== 0) return await imports()
    return (JSON.parse(stdout) as { imports: ReadonlyArray<Record<"import_id" | "phase", string>> }).imports
  }
  // Each look is a command. In between, the server can use the processor.
  const betweenLooks = 100

  /** Looks once a second, because servers look for interrupted imports only every 10 s. */
  const untilPhase = async (id: string, phase: string) => {
    while (!(await imports()).some((each) => each.import_id === id && each.phase === phase)) await setTimeout(1_000)
  }

  beforeAll(async () => {
    prepareDataDirectory(DATA_DIR)
    server = await serveCatalog({ DATA_DIR })
    const created = await Effect.runPromise(catalog(["account", "create", "--name", "Mine", "--json"], { DATA_DIR }))
    account = JSON.parse(created.stdout).account_id
    await run("store", "link", "us.example")
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  })

  /** Sends the signal to a command while its import is in this phase. Undefined: the phase ended before it was seen. */
  const signalOnce = async (file: string, phase: string, signal: NodeJS.Signals) => {
    const known = new Set((await imports()).map(({ import_id }) => import_id))
    const child = startCatalog(
      ["import", "csv", file, "--store", "us.example", "--accept", "--json", "--account", account],
      { DATA_DIR }
    )
    let stdout = ""
    let stderr = ""
    child.stdout?.on("data", (text) => {
      stdout += text
    })
    child.stderr?.on("data", (text) => {
      stderr += text
    })
    const closed = once(child, "close")
    let id: string | undefined
    while (id === undefined && child.exitCode === null) {
      id = (await imports()).find((each) => !known.has(each.import_id) && each.phase === phase)?.import_id
      if (id === undefined) await setTimeout(betweenLooks)
    }
    child.kill(signal)
    const [code] = await closed
    return id === undefined || code === 0 ? undefined : { id, ended: { code, stdout, stderr } }
  }

  /**
   * Sends the signal to an import in this phase and returns the result of the command. Triples the number of products
   * until the phase lasts long enough.
   */
  const signalled = async (name: string, count: number, phase: string, signal: NodeJS.Signals) => {
    for (let size = count; ; size *= 3) {
      const seen = await signalOnce(exportOf(`${name}-${size}`, size), phase, signal)
      if (seen !== undefined) return seen
    }
  }

  const isWritable = async () => {
    const { code, stderr } = await run("import", "csv", exportOf("one", 1), "--store", "us.example", "--accept")
    assert.deepStrictEqual([code, stderr], [0, ""])
  }

  test("writes nothing when it is interrupted or killed while the file is read", async () => {
    const interrupted = await signalled("read", 20_000, "fetching", "SIGINT")
    assert.deepStrictEqual(interrupted.ended, {
      code: 130,
      stdout: "",
      stderr: "Interrupted while the file was being read. Nothing was written: import it again.\n"
    })
    await untilPhase(interrupted.id, "failed")
    assert.include((await run("import", "show", interrupted.id)).stdout, "\n  The import was interrupted.\n")
    const killed = await signalled("killed", 20_000, "fetching", "SIGKILL")
    assert.deepStrictEqual(killed.ended, { code: null, stdout: "", stderr: "" })
    await untilPhase(killed.id, "failed")
    assert.include((await run("import", "show", killed.id)).stdout, "\n  The import was interrupted.\n")
    await isWritable()
  })

  test("is finished by the server when it is interrupted while the import is applied", async () => {
    const { ended, id } = await signalled("first", 500, "applying", "SIGTERM")
    assert.deepStrictEqual(ended, {
      code: 143,
      stdout: "",
      stderr: `Interrupted while the import was being applied: a running server finishes it, or \`catalog import accept ${id} --account ${account}\` does. See \`catalog import list --account ${account}\`.\n`
    })
    await untilPhase(id, "applied")
    await isWritable()
    assert.strictEqual((await run("import", "accept", id)).stderr, "import: is applied, not under review\n")
  })

  test("is finished by the server when it is killed while the import is applied", async () => {
    const { ended, id } = await signalled("second", 500, "applying", "SIGKILL")
    assert.deepStrictEqual(ended, { code: null, stdout: "", stderr: "" })
    await untilPhase(id, "applied")
    await isWritable()
  })

  test("is refused while another is under review, and names it", async () => {
    const file = exportOf("review", 3)
    const { stdout } = await run("import", "csv", file, "--store", "us.example", "--json")
    const { import_id: id } = JSON.parse(stdout)
    assert.deepStrictEqual(await run("import", "csv", file, "--store", "us.example"), {
      code: 1,
      stdout: "",
      stderr: `import ${id} is under review: accept it with \`catalog import accept ${id} --account ${account}\` or discard it with \`catalog import discard ${id} --account ${account}\` first\n`
    })
    assert.strictEqual((await run("import", "discard", id)).code, 0)
    const demo = JSON.parse((await Effect.runPromise(catalog(["demo", "--json"], { DATA_DIR }))).stdout)
    assert.isString(demo.key)
    for (const verb of ["accept", "discard"])
      assert.deepStrictEqual(await run("import", verb, id), {
        code: 1,
        stdout: "",
        stderr: "import: is discarded, not under review\n"
      })
    const { accounts } = JSON.parse(
      (await Effect.runPromise(catalog(["account", "list", "--json"], { DATA_DIR }))).stdout
    ) as { accounts: ReadonlyArray<{ account_id: string }> }
    const other = String(accounts.find(({ account_id }) => account_id !== account)?.account_id)
    const unknown = "00000000-0000-4000-8000-000000000000"
    for (const [owner, named] of [
      [other, id],
      [account, unknown],
      [account, "nonsense"]
    ])
      for (const verb of ["accept", "discard", "show"])
        assert.deepStrictEqual(
          await Effect.runPromise(catalog(["import", verb, named, "--account", String(owner)], { DATA_DIR })),
          {
            code: 1,
            stdout: "",
            stderr: `The account has no import ${named}: see \`catalog import list --account ${owner}\`.\n`
          }
        )
  })
})
