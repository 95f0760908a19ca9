import { randomUUID } from "node:crypto"
import { close, openSync, read, rmSync, write } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect, Fiber, Option, Queue, Stream } from "effect"
import type { ExportId } from "../model/Ids.ts"

/** The result of a complete export. */
export interface ExportEnd {
  /** null: the export cannot count as published. */
  readonly exportId: ExportId | null
  /** Sentences for people: values that an import of the file would refuse or change. */
  readonly notes: ReadonlyArray<string>
}

/** A part of an export. `done` of `total` entities were written when the part was read. Only the last part has `end`. */
export interface ExportPart {
  readonly bytes: Uint8Array
  readonly done: number
  readonly total: number
  readonly end: ExportEnd | null
}

/** Appends text to an export. */
export type WriteExport = (text: string, done: number, total: number) => Effect.Effect<void>

/** Maximum bytes of one part that is read from the file. */
const partBytes = 131_072

/** Bytes that wait in memory for a receiver that keeps up, before the file is used. */
const maxInMemory = 4_194_304

const [closeFile, readFile, writeFile] = [promisify(close), promisify(read), promisify(write)]

/**
 * Opens a temporary file and removes its name, so that the system deletes it when the process ends. Both calls are made at once: a busy
 * process that is killed between them would leave the file behind.
 */
const openUnnamed = Effect.acquireRelease(
  Effect.sync(() => {
    const path = join(tmpdir(), `catalog-export-${randomUUID()}`)
    const file = openSync(path, "wx+", 0o600)
    rmSync(path)
    return file
  }),
  (file) => Effect.promise(() => closeFile(file))
)

/**
 * Streams the text that `produce` writes. Text that a slow receiver has not read yet waits in a temporary file. So `produce` never waits
 * for the receiver, and its database snapshot is open only while it reads the catalog.
 */
export const spool = <E, R>(
  produce: (write: WriteExport) => Effect.Effect<ExportEnd, E, R>
): Stream.Stream<ExportPart, E, R> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const file = yield* openUnnamed
      const more = yield* Queue.sliding<void>(1)
      const state = { written: 0, read: 0, done: 0, total: 0, isEnded: false }
      /** Older than all bytes of the file that are not read yet. */
      const inMemory: Array<Buffer> = []
      const hasRoom = ({ length }: Buffer) =>
        state.read === state.written && inMemory.reduce((sum, each) => sum + each.length, length) <= maxInMemory
      const append = async (bytes: Buffer) => {
        for (let at = 0; at < bytes.length; ) {
          const { bytesWritten } = await writeFile(file, bytes, at, bytes.length - at, state.written)
          at += bytesWritten
          state.written += bytesWritten
        }
      }
      const write: WriteExport = (text, done, total) =>
        Effect.zipRight(
          Effect.promise(async () => {
            const bytes = Buffer.from(text)
            if (hasRoom(bytes)) inMemory.push(bytes)
            else await append(bytes)
            state.done = done
            state.total = total
          }),
          Queue.offer(more, undefined)
        )
      const part = (bytes: Uint8Array): ExportPart => ({ bytes, done: state.done, total: state.total, end: null })
      const end = Effect.sync(() => {
        state.isEnded = true
      })
      const producing = yield* Effect.forkScoped(
        Effect.ensuring(produce(write), Effect.zipRight(end, Queue.offer(more, undefined)))
      )
      const readPart = Effect.promise(async () => {
        const buffer = Buffer.allocUnsafeSlow(Math.min(partBytes, state.written - state.read))
        const { bytesRead } = await readFile(file, buffer, 0, buffer.length, state.read)
        state.read += bytesRead
        return part(buffer.subarray(0, bytesRead))
      })
      const next: Effect.Effect<ExportPart, Option.Option<E>> = Effect.suspend(() => {
        const bytes = inMemory.shift()
        if (bytes !== undefined) return Effect.succeed(part(bytes))
        if (state.read < state.written) return readPart
        if (!state.isEnded) return Effect.zipRight(Queue.take(more), next)
        return Effect.fail(Option.none())
      })
      const lastPart = Effect.map(Fiber.join(producing), (end): ExportPart => ({ ...part(new Uint8Array()), end }))
      return Stream.concat(Stream.repeatEffectOption(next), Stream.fromEffect(lastPart))
    })
  )
