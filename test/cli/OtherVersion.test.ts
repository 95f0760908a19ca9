import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { Rpc, RpcGroup, RpcSerialization, RpcServer } from "@effect/rpc"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import * as EmbeddedLock from "../../src/database/EmbeddedLock.ts"
import { catalog } from "../support/CommandLine.ts"

/** The procedures of another version: its drops and its progress of a publish lack members. */
const OtherRpcs = RpcGroup.make(
  Rpc.make("hello", { success: Schema.Struct({ pid: Schema.Int, migrations: Schema.Array(Schema.String) }) }),
  Rpc.make("listDrops", { payload: Schema.Unknown, success: Schema.Unknown }),
  Rpc.make("publish", { payload: Schema.Unknown, success: Schema.Unknown, stream: true }),
  Rpc.make("listAccounts", { success: Schema.Unknown })
)

const handlers = OtherRpcs.toLayer({
  hello: () => Effect.succeed({ pid: 1, migrations: [] }),
  listDrops: () => Effect.succeed([{ id: "x" }]),
  publish: () => Stream.make({ _tag: "Progress", open: 1, total: 1 }),
  listAccounts: () => Effect.succeed([])
})

/** A process of another version that holds an embedded database. Returns its folder. */
const holder = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-other-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )
  const path = join(folder, "admin.sock")
  yield* EmbeddedLock.acquire(folder)
  yield* Layer.build(
    RpcServer.layer(OtherRpcs).pipe(
      Layer.provide(RpcServer.layerProtocolSocketServer),
      Layer.provide([handlers, RpcSerialization.layerMsgPack]),
      Layer.provide(NodeSocketServer.layer({ path }))
    )
  )
  yield* EmbeddedLock.announce(folder, path)
  return folder
}).pipe(Effect.provide(NodeFileSystem.layer))

describe("commands beside a process of another version that holds the embedded database", () => {
  it.scopedLive("are carried out, or say that the two versions do not understand each other", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* holder
      const run = (...args: ReadonlyArray<string>) => catalog(args, { DATA_DIR })
      const message =
        "The process that holds the database runs another version of the service: restart it. It is unknown whether the command took effect."
      for (const args of [
        // The answer is no list of drops.
        ["drop", "list"],
        // One of the events is no progress.
        ["publish", "x"],
        // The other version has no such procedure.
        ["user", "reset-second-factor", "--email", "ada@example.com"]
      ]) {
        assert.deepStrictEqual(yield* run(...args), { code: 1, stdout: "", stderr: `${message}\n` })
        const { code, stdout } = yield* run(...args, "--json")
        assert.deepStrictEqual([code, JSON.parse(stdout)], [1, { error: { code: "unavailable", message } }])
      }
      assert.strictEqual((yield* run("account", "list", "--json")).stdout, '{"accounts":[]}\n')
    })
  )
})
