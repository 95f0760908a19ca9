import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { catalogProcess, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"
import { orHangs } from "../support/HangLimit.ts"
import { run } from "../support/OwnServers.ts"
import { mountTmpfs, noTmpfs } from "../support/Tmpfs.ts"

if (noTmpfs !== undefined) console.warn(`The suite of the embedded database on a full disk is SKIPPED: ${noTmpfs}`)

/** A disk on which the write-ahead log of an embedded database soon finds no space for its next file of 16 MB. */
const aSmallDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const disk = mkdtempSync(join(tmpdir(), "catalog-disk-"))
    mountTmpfs(disk, "90m")
    return { disk, grow: () => run("mount", ["-o", "remount,size=400m", disk]) }
  }),
  ({ disk }) =>
    Effect.sync(() => {
      run("umount", ["--lazy", disk])
      rmSync(disk, { recursive: true, force: true })
    })
)

const products = 600

/** A product export of about 30 MB. */
const largeExport = () =>
  [
    "Handle,Title,Body (HTML),Option1 Name,Option1 Value,Variant SKU,Variant Price",
    ...Array.from(
      { length: products },
      (_, at) =>
        `p${at},Product ${at},${Array.from({ length: 2_500 }, (_, part) => Math.sin(at * 2_500 + part)).join(" ")},Size,M,SKU-${at},10.00`
    )
  ].join("\n")

describe.skipIf(noTmpfs !== undefined)("the embedded database on a full disk", () => {
  it.scopedLive("ends the process with the reason, and the next process continues when there is space", () =>
    Effect.gen(function* () {
      const { disk, grow } = yield* aSmallDisk
      const env = { DATA_DIR: join(disk, "data") }
      const file = join(disk, "..", `${Date.now()}-products.csv`)
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(file, { force: true })))
      writeFileSync(file, largeExport())
      prepareDataDirectory(env.DATA_DIR)
      const ask = (...args: ReadonlyArray<string>) => Effect.promise(() => catalogProcess(args, env))
      const said = (...args: ReadonlyArray<string>) =>
        Effect.map(ask(...args, "--json"), ({ code, stderr, stdout }) => {
          assert.strictEqual(code, 0, stderr)
          return JSON.parse(stdout)
        })
      const { account_id } = yield* said("account", "create", "--name", "Small")
      yield* said("store", "link", "shop.example.com", "--account", account_id)
      const importing = ["import", "csv", file, "--store", "shop.example.com", "--accept", "--account", account_id]

      const server = yield* Effect.promise(() => serveCatalog({ ...env, HEALTH_SCANS: "off" }))
      yield* Effect.addFinalizer(() => Effect.promise(() => server.stop("SIGKILL")))
      const refused = yield* ask(...importing).pipe(orHangs(() => `The import hangs: ${server.output.stderr}`))
      assert.strictEqual(refused.code, 1)
      const [code] = yield* Effect.promise(() => server.ended).pipe(orHangs(() => "The server did not end."))
      assert.strictEqual(code, 1)
      assert.match(
        server.output.stderr,
        /The embedded database in \S+ has stopped, so this process ends: .*No space left on device\./
      )

      const alone = yield* ask(...importing).pipe(orHangs(() => "The import hangs without a server."))
      assert.strictEqual(alone.code, 1)
      assert.match(
        alone.stderr,
        /^DATA_DIR: Cannot open the embedded database in \S+: .* \(its disk has \d+ MB free\)$/m
      )

      grow()
      const { accounts } = yield* said("account", "list")
      assert.include(
        accounts.map((account: { readonly account_id: string }) => account.account_id),
        account_id
      )
      const applied = yield* ask(...importing)
      assert.strictEqual(applied.code, 0, applied.stderr)
      assert.include(applied.stdout, `products: ${products} created`)
    })
  )
})
