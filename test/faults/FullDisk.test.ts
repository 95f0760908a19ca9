import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import pg from "pg"
import { RepositoriesOnDatabase, Services } from "../../src/App.ts"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { amount } from "../support/Volume.ts"
import { aTenant, client, type Seen, serving, tally } from "./Stalls.ts"

const binaries = "/usr/lib/postgresql/15/bin"

const run = (command: string, args: ReadonlyArray<string>) =>
  execFileSync(command, args, { stdio: ["ignore", "pipe", "pipe"] }).toString()

/** Commands run as the user postgres, because the server refuses to run as root. */
const asPostgres = (command: string, ...args: ReadonlyArray<string>) =>
  run("setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", command, ...args])

/** Why no server with a small disk can be created on this machine; undefined: it can. */
const obstacle = (() => {
  if (process.getuid?.() !== 0) return "it needs root, to mount a small disk"
  if (!existsSync(join(binaries, "initdb"))) return `there is no ${binaries}/initdb`
  const folder = mkdtempSync(join(tmpdir(), "catalog-mount-"))
  try {
    run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder])
    run("umount", [folder])
    return undefined
  } catch {
    return "no tmpfs can be mounted here"
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})()

if (obstacle !== undefined) console.warn(`The suite of a full disk is SKIPPED: ${obstacle}`)

/** A server whose tables are on a disk of 128 MB. Its write-ahead log is on another disk, as is usual. */
const aSmallServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = mkdtempSync(join(tmpdir(), "catalog-disk-"))
    const disk = join(folder, "disk")
    const data = join(disk, "data")
    run("mkdir", [disk])
    run("mount", ["-t", "tmpfs", "-o", "size=128m", "tmpfs", disk])
    run("chown", ["-R", "postgres:postgres", folder])
    const probe = createServer()
    await once(probe.listen(0, "127.0.0.1"), "listening")
    const { port } = probe.address() as AddressInfo
    await once(probe.close(), "close")
    asPostgres(`${binaries}/initdb`, "-D", data, "-X", join(folder, "wal"), "-A", "trust", "-E", "UTF8", "-N")
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`
    asPostgres(`${binaries}/pg_ctl`, "-D", data, "-w", "-l", join(folder, "log"), "-o", options, "start")
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    return { folder, disk, data, url }
  }),
  ({ data, disk, folder }) =>
    Effect.sync(() => {
      asPostgres(`${binaries}/pg_ctl`, "-D", data, "-m", "immediate", "stop")
      run("umount", [disk])
      rmSync(folder, { recursive: true, force: true })
    })
)

/** Fills the rest of the disk. */
const fillUp = (disk: string) => {
  try {
    run("dd", ["if=/dev/zero", `of=${join(disk, "ballast")}`, "bs=64k"])
  } catch {
    // This fails with "No space left on device".
  }
}

const isAcknowledged = ({ body, status }: Seen) => status === 200 && JSON.parse(body).filled === 1

describe.skipIf(obstacle !== undefined)("a full disk", () => {
  it.scopedLive("refuses only writes, with 503, loses nothing, and recovers when there is space", () =>
    Effect.gen(function* () {
      const { disk, url } = yield* aSmallServer
      const writes = amount(30, 200)
      const services = Services.pipe(
        Layer.provideMerge(RepositoriesOnDatabase),
        Layer.provideMerge(Migrations.layer),
        Layer.provideMerge(Database.layerServer({ url: Redacted.make(url), maxConnections: 2 })),
        Layer.provideMerge(Logger.remove(Logger.defaultLogger))
      )
      const tenant = yield* Effect.provide(aTenant(3 * writes), services)
      const { baseUrl } = yield* serving(url)
      const { fill, get, read } = client(baseUrl)
      // A text that cannot be compressed, so that every write needs space.
      const text = (place: number) => Array.from({ length: 1_500 }, (_, at) => Math.sin(place * 7 + at)).join(" ")
      const acknowledged = new Set<string>()
      const write = (from: number) =>
        Effect.promise(async () => {
          const seen: Array<Seen> = []
          for (const [place, id] of tenant.ids.slice(from, from + writes).entries()) {
            const answer = await fill(tenant, id, text(from + place))
            if (isAcknowledged(answer)) acknowledged.add(id)
            seen.push(answer)
          }
          return seen
        })
      const before = tally("Full disk, before", yield* write(0))
      assert.strictEqual(before.ok, writes)
      assert.strictEqual(acknowledged.size, writes)

      fillUp(disk)
      const full = tally("Full disk, writes", yield* write(writes))
      assert.strictEqual(full.requests, writes)
      assert.strictEqual(full.unanswered, 0)
      assert.strictEqual(full.ok + full.unavailable, writes)
      assert.isAbove(full.unavailable, writes / 2)
      const reads: Array<Seen> = []
      for (let place = 0; place < writes; place++) reads.push(yield* Effect.promise(() => read(tenant)))
      assert.strictEqual(tally("Full disk, reads", reads).ok, writes)
      assert.strictEqual((yield* Effect.promise(() => get("/readyz"))).status, 200)

      rmSync(join(disk, "ballast"))
      const after = tally("Full disk, after", yield* write(2 * writes))
      assert.strictEqual(after.ok, writes)

      const watcher = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const opened = new pg.Client({ connectionString: url })
          await opened.connect()
          return opened
        }),
        (opened) => Effect.promise(() => opened.end())
      )
      const { rows } = yield* Effect.promise(() =>
        watcher.query<{ id: string }>("SELECT entity_id AS id FROM store_version WHERE overrides ? 'description_html'")
      )
      const stored = new Set(rows.map(({ id }) => id))
      // All acknowledged writes are there, and no refused one.
      assert.deepStrictEqual(stored, acknowledged)
      // A service that acknowledged every write would fail this check.
      assert.notDeepEqual(stored, new Set(tenant.ids.slice(0, 3 * writes)))
    })
  )
})
