import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { open, realpath, rename, rm, stat } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { Clock, Effect, Option, Predicate, Stream } from "effect"
import type { ExportPart } from "../admin/AdminRpcs.ts"
import { formatCount, Refused } from "./Output.ts"
import { draw } from "./ProgressLine.ts"

/** The estimated remaining time, for example "2 min 5 s left". Empty before the first progress. */
const timeLeft = (done: number, total: number, millis: number) => {
  if (done === 0 || done >= total) return ""
  const seconds = Math.ceil(((millis / done) * (total - done)) / 1_000)
  return `, ${seconds < 60 ? "" : `${Math.floor(seconds / 60)} min `}${seconds % 60} s left`
}

/** The refusal if a file, or stdout, cannot be written. */
export const cannotWrite = (path: string, error: unknown) => {
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : "unknown"
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "its directory does not exist",
    ENOTDIR: "its directory is a file",
    EACCES: "you may not write there",
    EPERM: "you may not write there",
    EISDIR: "it is a directory",
    ENOSPC: "the disk is full",
    EROFS: "the disk is read-only",
    EPIPE: "the program that reads it has ended"
  }
  return new Refused({ message: `${path} cannot be written: ${reasons[code] ?? code}.` })
}

const writing = <A>(path: string, write: () => Promise<A>) =>
  Effect.tryPromise({ try: write, catch: (error) => cannotWrite(path, error) })

const toStdout = (bytes: Uint8Array) =>
  writing(
    "stdout",
    () =>
      new Promise<void>((resolve, reject) => {
        process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()))
      })
  )

/** The file at a path, after following symbolic links. Undefined: there is none. */
const findFile = (path: string) =>
  writing(path, async () => {
    const found = await stat(path).catch((error: unknown) => {
      if (Predicate.hasProperty(error, "code") && error.code === "ENOENT") return undefined
      throw error
    })
    if (found?.isDirectory()) throw Object.assign(new Error("a directory"), { code: "EISDIR" })
    return found
  })

/** A device or a pipe is written directly, because renaming the temporary file would replace it. */
const toDevice = (path: string) =>
  Effect.map(
    Effect.acquireRelease(
      writing(path, () => open(path, constants.O_WRONLY)),
      (device) => Effect.promise(() => device.close())
    ),
    (device) => ({
      write: (bytes: Uint8Array) => writing(path, () => device.writeFile(bytes)),
      complete: Effect.void
    })
  )

/**
 * A file is written under a temporary name, and renamed when it is complete. Its content is on the disk by then. A symbolic link
 * stays one, and a replaced file keeps its permissions.
 */
const toFile = (path: string) =>
  Effect.gen(function* () {
    const found = yield* findFile(path)
    if (found !== undefined && !found.isFile()) return yield* toDevice(path)
    const target = found === undefined ? path : yield* writing(path, () => realpath(path))
    const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}.part`)
    const file = yield* Effect.acquireRelease(
      writing(path, () => open(temporary, "wx", found?.mode)),
      (file) =>
        Effect.promise(async () => {
          await file.close()
          await rm(temporary, { force: true })
        })
    )
    return {
      write: (bytes: Uint8Array) => writing(path, () => file.appendFile(bytes)),
      complete: writing(path, async () => {
        await file.sync()
        await rename(temporary, target)
        const directory = await open(dirname(target))
        await directory.sync().finally(() => directory.close())
      })
    }
  })

interface ExportResult {
  readonly bytes: number
  readonly done: number
  readonly end: ExportPart["end"]
}

/** Writes an export to a file, or to stdout. Draws the progress on stderr. Refused: it cannot be written, or is not complete. */
export const receiveExport = <E, R>(
  parts: Stream.Stream<ExportPart, E, R>,
  path: Option.Option<string>,
  noun: string
) =>
  Effect.gen(function* () {
    const { complete, write } = yield* Option.match(path, {
      onNone: () => Effect.succeed({ write: toStdout, complete: Effect.void }),
      onSome: toFile
    })
    const begunAt = yield* Clock.currentTimeMillis
    const begin: ExportResult = { bytes: 0, done: 0, end: null }
    const last = yield* Stream.runFoldEffect(parts, begin, (sum, { bytes, done, end, total }) =>
      Effect.gen(function* () {
        yield* write(bytes)
        const millis = (yield* Clock.currentTimeMillis) - begunAt
        yield* draw(`exporting: ${formatCount(done)} of ${formatCount(total)} ${noun}${timeLeft(done, total, millis)}`)
        return { bytes: sum.bytes + bytes.length, done, end }
      })
    ).pipe(Effect.ensuring(draw("")))
    if (last.end === null)
      return yield* new Refused({ message: "The export ended before it was complete: nothing was written." })
    yield* complete
    return last
  }).pipe(Effect.scoped)
