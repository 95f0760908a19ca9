import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import pg from "pg"
import * as Database from "../../src/database/Database.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { freePort } from "../support/FreePort.ts"
import { initialize, noServer, run, start, stop, urlOn } from "../support/OwnServers.ts"
import { mountTmpfs, noTmpfs } from "../support/Tmpfs.ts"
import { amount } from "../support/Volume.ts"
import { aTenant, client, type Seen, serving, tally } from "./Stalls.ts"

/** Why no server with a small disk can be created on this machine; undefined: it can. */
const obstacle = noServer ?? noTmpfs

if (obstacle !== undefined) console.warn(`The suite of a full disk is SKIPPED: ${obstacle}`)

/** A server whose tables are on a disk of 128 MB. Its write-ahead log is on another disk, as is usual. */
const aSmallServer = Effect.acquireRelease(
  Effect.promise(async () => {
    const folder = mkdtempSync(join(tmpdir(), "catalog-disk-"))
    const disk = join(folder, "disk")
    const data = join(disk, "data")
    run("mkdir", [disk])
    mountTmpfs(disk, "128m")
    run("chown", ["-R", "postgres:postgres", folder])
    const port = await freePort()
    initialize(data, "-X", join(folder, "wal"))
    start(data, port, "", join(folder, "log"))
    return { folder, disk, data, url: urlOn(port) }
  }),
  ({ data, disk, folder }) =>
    Effect.sync(() => {
      stop(data)
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
      const answers = tally("Full disk, reads", reads)
      // A read that needs another connection is refused if the server cannot write the file that a new connection reads.
      assert.strictEqual(answers.ok + answers.unavailable, writes)
      assert.isAtLeast(answers.ok, 0.9 * writes)
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
