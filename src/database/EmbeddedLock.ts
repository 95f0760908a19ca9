import { dirname, resolve } from "node:path"
import { FileSystem } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Data, Effect, Option, Random, Schema, type Scope } from "effect"
import { startTokenOf } from "../runtime/ProcessName.ts"
import { inUse, lockPath } from "./LockFile.ts"

export { lockPath } from "./LockFile.ts"

/**
 * The embedded database of this directory is already open, in this process or another one. `socket`: where that process
 * accepts commands, once it does.
 */
export class DatabaseInUse extends Data.TaggedError("DatabaseInUse")<{
  readonly pid: number
  readonly dataDirectory: string
  readonly socket: Option.Option<string>
  /** Whether that process did not answer a command in time. */
  readonly isSilent?: boolean
}> {
  override get message() {
    return this.isSilent === true
      ? `Process ${this.pid}, which holds the database in ${this.dataDirectory}, does not answer. It may be busy: try again, or stop it.`
      : inUse(this.dataDirectory, this.pid)
  }
}

/**
 * The process that holds a directory. `startToken` distinguishes it from a later process with the same pid (null: the
 * system does not provide one). `token` is new each time the directory is locked. `socket`: where the process accepts
 * commands, once it does.
 */
const Holder = Schema.parseJson(
  Schema.Struct({
    pid: Schema.Int.pipe(Schema.positive()),
    startToken: Schema.NullOr(Schema.String),
    token: Schema.NonEmptyString,
    socket: Schema.optionalWith(Schema.NonEmptyString, { as: "Option" })
  })
)
type Holder = typeof Holder.Type

const isAlive = ({ pid, startToken }: Holder) =>
  Effect.sync(() => {
    const now = startTokenOf(pid)
    return now === undefined || (startToken === null ? now !== "ended" : now === startToken)
  })

const alreadyExists = (error: PlatformError) => error._tag === "SystemError" && error.reason === "AlreadyExists"
const isAbsent = (error: PlatformError) => error._tag === "SystemError" && error.reason === "NotFound"

const newToken = Effect.map(
  Effect.replicateEffect(
    Effect.map(Random.nextIntBetween(0, 0x1_0000_0000), (part) => part.toString(16).padStart(8, "0")),
    4
  ),
  (parts) => parts.join("")
)

/**
 * Stands for a lock file without a readable record, which a crash of the disk can leave. No process holds the lock
 * then.
 */
const unreadable = { token: "unreadable" } as const

const read = (path: string) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const content = yield* files.readFileString(path)
    return Option.some(Option.getOrElse(Schema.decodeOption(Holder)(content), () => unreadable))
  }).pipe(Effect.catchIf(isAbsent, () => Effect.succeedNone))

/** A hard link fails if the file exists. The new file has its whole content at once. */
const linkIfAbsent = (from: string, to: string) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    return yield* files.link(from, to).pipe(
      Effect.as(true),
      Effect.catchIf(alreadyExists, () => Effect.succeed(false))
    )
  })

/**
 * Takes the lock with `own`, a file with this process's record. Returns the record of the holder if it is alive.
 *
 * A dead holder has one heir: the process that links its own record to `catalog.lock.<token of the dead holder>`. An heir that
 * dies meanwhile has an heir itself. The last heir renames its record to catalog.lock and then deletes the links. Tokens are
 * never used twice, and links are deleted only after catalog.lock has changed: a late process that links to a deleted name
 * sees the change and starts again. So no crash leaves files that keep the next process out.
 */
const claim = (lock: string, own: string): Effect.Effect<Option.Option<Holder>, PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    if (yield* linkIfAbsent(own, lock)) {
      return Option.none()
    }
    const first = yield* read(lock)
    const links: Array<string> = []
    let current = first
    while (Option.isSome(current)) {
      const holder = current.value
      if ("pid" in holder && (yield* isAlive(holder))) {
        return Option.some(holder)
      }
      const link = `${lock}.${holder.token}`
      links.push(link)
      if (yield* linkIfAbsent(own, link)) {
        const latest = yield* read(lock)
        if (Option.isSome(latest) && Option.isSome(first) && latest.value.token === first.value.token) {
          yield* files.rename(own, lock)
          yield* Effect.forEach(links, (path) => files.remove(path, { force: true }))
          return Option.none()
        }
        yield* files.remove(link)
        return yield* claim(lock, own)
      }
      current = yield* read(link)
    }
    return yield* claim(lock, own)
  })

/** The temporary file of a record, before it is linked or renamed. */
const recordPath = (dataDirectory: string, token: string) => `${dataDirectory}/.${token}.lock`

const write = (path: string, holder: Holder) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    yield* files.writeFileString(path, yield* Effect.orDie(Schema.encode(Holder)(holder)), { flag: "wx", mode: 0o600 })
  })

/** Creates missing parent directories one by one: Node's recursive option never returns under /proc. */
const makeDirectories = (path: string): Effect.Effect<void, PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    if (yield* files.exists(path)) return
    yield* makeDirectories(dirname(path))
    yield* files
      .makeDirectory(path, { mode: 0o700 })
      // Another process may have created it meanwhile.
      .pipe(Effect.catchIf(alreadyExists, () => Effect.void))
  })

/**
 * Fails with DatabaseInUse if the lock file names a living process. Success proves nothing: only `acquire` takes the
 * lock and reports a directory that cannot be read.
 */
export const vacant = (dataDirectory: string): Effect.Effect<void, DatabaseInUse, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const holder = yield* Effect.orElseSucceed(read(lockPath(dataDirectory)), Option.none)
    if (Option.isNone(holder) || !("pid" in holder.value) || !(yield* isAlive(holder.value))) return
    const { pid, socket } = holder.value
    return yield* new DatabaseInUse({ pid, dataDirectory, socket })
  })

/**
 * Holds `dataDirectory` for this process until the scope closes. Creates the directory (mode 0700) if it is missing.
 *
 * Only processes of one machine (one pid namespace) may share the directory: another container cannot check the pid of the
 * holder and would take it for dead.
 *
 * @throws DatabaseInUse with the pid of the holder, which may be this process
 * @throws PlatformError for a directory that cannot be created or written
 */
export const acquire = (
  dataDirectory: string
): Effect.Effect<void, DatabaseInUse | PlatformError, FileSystem.FileSystem | Scope.Scope> =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      yield* makeDirectories(resolve(dataDirectory))
      const token = yield* newToken
      const lock = lockPath(dataDirectory)
      const own = recordPath(dataDirectory, token)
      const startToken = startTokenOf(process.pid) ?? null
      yield* write(own, { pid: process.pid, startToken, token, socket: Option.none() })
      const holder = yield* Effect.ensuring(claim(lock, own), Effect.ignore(files.remove(own, { force: true })))
      if (Option.isSome(holder)) {
        const { pid, socket } = holder.value
        return yield* new DatabaseInUse({ pid, dataDirectory, socket })
      }
      return token
    }),
    (token) =>
      Effect.gen(function* () {
        const files = yield* FileSystem.FileSystem
        const lock = lockPath(dataDirectory)
        const holder = yield* read(lock)
        if (Option.isSome(holder) && holder.value.token === token) {
          yield* files.remove(lock)
        }
      }).pipe(Effect.ignoreLogged)
  ).pipe(Effect.asVoid)

/** Sets the socket in the record of this process in `dataDirectory`. Leaves any other record unchanged. */
const rewrite = (dataDirectory: string, socket: Option.Option<string>) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const lock = lockPath(dataDirectory)
    const holder = yield* read(lock)
    if (Option.isNone(holder) || !("pid" in holder.value) || holder.value.pid !== process.pid) {
      return yield* Effect.logWarning(`${lock} no longer names this process: commands will not find it`)
    }
    // The token does not change, so an heir of a dead holder does not notice this.
    const next = recordPath(dataDirectory, holder.value.token)
    yield* write(next, { ...holder.value, socket }).pipe(
      Effect.zipRight(files.rename(next, lock)),
      Effect.onError(() => Effect.ignore(files.remove(next, { force: true })))
    )
    // A rename after an interruption could overwrite the record of the next holder.
  }).pipe(Effect.uninterruptible)

/**
 * Writes the socket on which this process accepts commands into the lock file, until the scope closes. The process must
 * hold `dataDirectory`, and this scope must be inside the one of `acquire`.
 */
export const announce = (
  dataDirectory: string,
  socket: string
): Effect.Effect<void, PlatformError, FileSystem.FileSystem | Scope.Scope> =>
  Effect.acquireRelease(rewrite(dataDirectory, Option.some(socket)), () =>
    Effect.ignoreLogged(rewrite(dataDirectory, Option.none()))
  )
