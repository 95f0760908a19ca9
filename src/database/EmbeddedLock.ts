import { dirname, resolve } from "node:path"
import { FileSystem } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Data, Effect, Option, Random, Schema, type Scope } from "effect"
import { inUse, lockPath, startTokenOf } from "./LockFile.ts"

export { lockPath } from "./LockFile.ts"

/**
 * Another process, or this one, already has the embedded database of this directory open. `socket`: where that process
 * takes commands, once it does.
 */
export class DatabaseInUse extends Data.TaggedError("DatabaseInUse")<{
  readonly pid: number
  readonly dataDirectory: string
  readonly socket: Option.Option<string>
}> {
  override get message() {
    return inUse(this.dataDirectory, this.pid)
  }
}

/**
 * Who holds a directory. `startToken` tells a process from a later one with the same pid (null where the system does
 * not say); `token` tells one holding from every other; `socket` is where the holder takes commands, if it does.
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

/** Signal 0 only asks. EPERM: it runs, under another user. */
const answersSignals = (pid: number) =>
  Effect.try({ try: () => process.kill(pid, 0), catch: (error) => (error as NodeJS.ErrnoException).code }).pipe(
    Effect.match({ onSuccess: () => true, onFailure: (code) => code === "EPERM" })
  )

const lives = (holder: Holder) =>
  Effect.suspend(() => {
    const now = startTokenOf(holder.pid)
    return now !== undefined && holder.startToken !== null
      ? Effect.succeed(now === holder.startToken)
      : answersSignals(holder.pid)
  })

const isAlready = (error: PlatformError) => error._tag === "SystemError" && error.reason === "AlreadyExists"
const isAbsent = (error: PlatformError) => error._tag === "SystemError" && error.reason === "NotFound"

const newToken = Effect.map(
  Effect.replicateEffect(
    Effect.map(Random.nextIntBetween(0, 0x1_0000_0000), (part) => part.toString(16).padStart(8, "0")),
    4
  ),
  (parts) => parts.join("")
)

/** What a file without a record reads as (a disk that lost its content): nobody holds it. */
const unreadable = { token: "unreadable" } as const

const read = (path: string) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const content = yield* files.readFileString(path)
    return Option.some(Option.getOrElse(Schema.decodeOption(Holder)(content), () => unreadable))
  }).pipe(Effect.catchIf(isAbsent, () => Effect.succeedNone))

/** A hard link fails where a file exists, and its content is whole from the first moment. */
const linkIfAbsent = (from: string, to: string) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    return yield* files.link(from, to).pipe(
      Effect.as(true),
      Effect.catchIf(isAlready, () => Effect.succeed(false))
    )
  })

/**
 * Takes the lock, with `own` a file that holds our record; answers the living holder's record when there is one.
 *
 * A dead holder is inherited from, not evicted. Its heir is the one process that links its record to
 * `catalog.lock.<token of the dead>`; an heir that died in the middle has an heir of its own. Only then does the heir
 * move its record over catalog.lock and drop the links. Tokens are never used twice, and a link disappears only after
 * catalog.lock has changed: a process that was late and linked to a name that had been dropped sees the change and
 * starts again. Nothing that a crash leaves behind keeps the next process out.
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
      if ("pid" in holder && (yield* lives(holder))) {
        return Option.some(holder)
      }
      const link = `${lock}.${holder.token}`
      links.push(link)
      if (yield* linkIfAbsent(own, link)) {
        const still = yield* read(lock)
        if (Option.isSome(still) && Option.isSome(first) && still.value.token === first.value.token) {
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

/** Where a record lies until it is linked or moved into its place. */
const recordPath = (dataDirectory: string, token: string) => `${dataDirectory}/.${token}.lock`

const write = (path: string, holder: Holder) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    yield* files.writeFileString(path, yield* Effect.orDie(Schema.encode(Holder)(holder)), { flag: "wx", mode: 0o600 })
  })

/** One directory after the other: where none can be made (under /proc), Node's recursive way goes on for ever. */
const makeDirectories = (path: string): Effect.Effect<void, PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    if (yield* files.exists(path)) return
    yield* makeDirectories(dirname(path))
    yield* files
      .makeDirectory(path, { mode: 0o700 })
      // By another process that starts with this one.
      .pipe(
        Effect.catchIf(
          (error) => error._tag === "SystemError" && error.reason === "AlreadyExists",
          () => Effect.void
        )
      )
  })

/**
 * Holds `dataDirectory` for this process until the scope closes; makes the directory (mode 0700) when it is absent.
 *
 * The directory must be seen by the processes of one machine (one pid namespace) only: from another container a living
 * holder's pid means nothing, and it would be taken for dead.
 *
 * @throws DatabaseInUse with the pid of a living holder, which may be this process
 * @throws PlatformError for a directory that cannot be made or written
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

/** The record of this process in `dataDirectory` gets this socket; any other record is left as it is. */
const rewrite = (dataDirectory: string, socket: Option.Option<string>) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const lock = lockPath(dataDirectory)
    const holder = yield* read(lock)
    if (Option.isNone(holder) || !("pid" in holder.value) || holder.value.pid !== process.pid) {
      return yield* Effect.logWarning(`${lock} no longer names this process: commands will not find it`)
    }
    // The token stays, and the holder lives: whoever takes over from a dead holder sees no change of this.
    const next = recordPath(dataDirectory, holder.value.token)
    yield* write(next, { ...holder.value, socket }).pipe(
      Effect.zipRight(files.rename(next, lock)),
      Effect.onError(() => Effect.ignore(files.remove(next, { force: true })))
    )
    // A rename that outlived its fiber could overwrite the record of the next holder.
  }).pipe(Effect.uninterruptible)

/**
 * Says in the lock file where this process takes commands, until the scope closes. For the process that holds
 * `dataDirectory`, in a scope within the one of `acquire`.
 */
export const announce = (
  dataDirectory: string,
  socket: string
): Effect.Effect<void, PlatformError, FileSystem.FileSystem | Scope.Scope> =>
  Effect.acquireRelease(rewrite(dataDirectory, Option.some(socket)), () =>
    Effect.ignoreLogged(rewrite(dataDirectory, Option.none()))
  )
