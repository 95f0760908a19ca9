import { resolve } from "node:path"
import { FileSystem, SocketServer } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { RpcSerialization, RpcServer } from "@effect/rpc"
import { Clock, Data, Effect, Exit, Layer, Scope } from "effect"
import * as EmbeddedLock from "../database/EmbeddedLock.ts"
import { AdminHandlers } from "./AdminHandlers.ts"
import { AdminRpcs } from "./AdminRpcs.ts"

/** The services that commands need. */
export type Commanded = Layer.Layer.Context<typeof AdminHandlers>

/** Node cuts the path of a socket after 107 bytes (fewer on other systems than Linux) and says nothing. */
const longestPathBytes = 100

class PathTooLong extends Data.TaggedError("PathTooLong")<{ readonly path: string }> {
  override get message() {
    return `The path ${this.path} is too long for a socket.`
  }
}

/** Beside the database, or, where that is too long a path, in a folder that only this user may enter. */
const chooseSocketPath = (dataDirectory: string) =>
  Effect.gen(function* () {
    const beside = resolve(dataDirectory, "admin.sock")
    if (Buffer.byteLength(beside) <= longestPathBytes) return beside
    const files = yield* FileSystem.FileSystem
    const path = `${yield* files.makeTempDirectoryScoped({ prefix: "catalog-" })}/admin.sock`
    return Buffer.byteLength(path) <= longestPathBytes ? path : yield* new PathTooLong({ path })
  })

/** A client that neither reads nor leaves must not keep the process from ending. */
const closeSoon = (scope: Scope.CloseableScope) =>
  Scope.close(scope, Exit.void).pipe(
    Effect.interruptible,
    Effect.timeoutOption("2 seconds"),
    // A test's clock must not keep it from ending.
    Effect.withClock(Clock.make())
  )

/** For this user only from its first moment; the mask of a process is its own, so it is back at once. */
const listen = (path: string) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    // The lock is held: whoever left a socket here has died.
    yield* files.remove(path, { force: true })
    const scope = yield* Effect.acquireRelease(Scope.make(), closeSoon)
    const server = yield* Effect.acquireUseRelease(
      Effect.sync(() => process.umask(0o077)),
      () => Scope.extend(NodeSocketServer.make({ path }), scope),
      (mask) => Effect.sync(() => process.umask(mask))
    )
    yield* files.chmod(path, 0o600)
    return server
  })

const Listening = (dataDirectory: string) =>
  Layer.scoped(SocketServer.SocketServer, Effect.flatMap(chooseSocketPath(dataDirectory), listen))

/** Last to be built and first to go: whoever finds the socket in the lock file is answered. */
const Announced = (dataDirectory: string) =>
  Layer.scopedDiscard(
    Effect.flatMap(SocketServer.SocketServer, ({ address }) =>
      address._tag === "UnixAddress" ? EmbeddedLock.announce(dataDirectory, address.path) : Effect.void
    )
  )

/**
 * Takes commands on a Unix socket in `dataDirectory` (mode 0600) and names it in the lock file, which this process must
 * hold. Where no socket can be made the service runs without, and says so in the log.
 */
export const layer = (dataDirectory: string): Layer.Layer<never, never, Commanded> =>
  Announced(dataDirectory).pipe(
    Layer.provide(RpcServer.layer(AdminRpcs)),
    Layer.provide(RpcServer.layerProtocolSocketServer),
    Layer.provide([AdminHandlers, RpcSerialization.layerMsgPack]),
    Layer.provide(Listening(dataDirectory)),
    Layer.catchAll((error) =>
      Layer.effectDiscard(Effect.logWarning(`Commands cannot reach this process while it runs: ${error.message}`))
    ),
    Layer.provide(NodeFileSystem.layer)
  )
