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
export type CommandServices = Layer.Layer.Context<typeof AdminHandlers>

/** Maximum bytes of a socket path. Node silently truncates a path after 107 bytes (fewer on systems other than Linux). */
const longestPathBytes = 100

class PathTooLong extends Data.TaggedError("PathTooLong")<{ readonly path: string }> {
  override get message() {
    return `The path ${this.path} is too long for a socket.`
  }
}

/** The path of the socket: in the data directory or, if that path is too long, in a private temporary directory. */
const chooseSocketPath = (dataDirectory: string) =>
  Effect.gen(function* () {
    const inDataDirectory = resolve(dataDirectory, "admin.sock")
    if (Buffer.byteLength(inDataDirectory) <= longestPathBytes) return inDataDirectory
    const files = yield* FileSystem.FileSystem
    const path = `${yield* files.makeTempDirectoryScoped({ prefix: "catalog-" })}/admin.sock`
    return Buffer.byteLength(path) <= longestPathBytes ? path : yield* new PathTooLong({ path })
  })

/** Closes the server with a time limit, because a client that neither reads nor disconnects would keep the process alive. */
const closeSoon = (scope: Scope.CloseableScope) =>
  Scope.close(scope, Exit.void).pipe(
    Effect.interruptible,
    Effect.timeoutOption("2 seconds"),
    // The real clock, because a test's clock may stand still.
    Effect.withClock(Clock.make())
  )

/** Listens on a private socket. The umask applies to the whole process, so it is restored as soon as the socket exists. */
const listen = (path: string) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    // This process holds the lock, so an existing socket file belongs to a process that died.
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

/** Writes the socket's path to the lock file. It is built last and released first, so that a socket named there always answers. */
const layerSocketPath = (dataDirectory: string) =>
  Layer.scopedDiscard(
    Effect.flatMap(SocketServer.SocketServer, ({ address }) =>
      address._tag === "UnixAddress" ? EmbeddedLock.announce(dataDirectory, address.path) : Effect.void
    )
  )

/**
 * Accepts commands on a Unix socket in `dataDirectory` (mode 0600) and names it in the lock file, which this process must
 * hold. If no socket can be created, the service runs without it and logs a warning.
 */
export const layer = (dataDirectory: string): Layer.Layer<never, never, CommandServices> =>
  layerSocketPath(dataDirectory).pipe(
    Layer.provide(RpcServer.layer(AdminRpcs)),
    Layer.provide(RpcServer.layerProtocolSocketServer),
    Layer.provide([AdminHandlers, RpcSerialization.layerMsgPack]),
    Layer.provide(Listening(dataDirectory)),
    Layer.catchAll((error) =>
      Layer.effectDiscard(
        Effect.logWarning(`This process cannot accept commands, because its socket cannot be used: ${error.message}`)
      )
    ),
    Layer.provide(NodeFileSystem.layer)
  )
