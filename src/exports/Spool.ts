import { randomUUID } from "node:crypto"
import { open, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
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

/** Maximum bytes of one part. */
const partBytes = 131_072

/** Opens a temporary file and removes its name, so that the system deletes it when the process ends. */
const openUnnamed = Effect.acquireRelease(
  Effect.promise(async () => {
    const path = join(tmpdir(), `catalog-export-${randomUUID()}`)
    const file = await open(path, "wx+", 0o600)
    await rm(path)
    return file
  }),
  (file) => Effect.promise(() => file.close())
)

/**
 * Streams the text that `produce` writes, through a temporary file. So a slow receiver does not keep the snapshot of the database
 * open: it ends when the catalog is read.
 */
export const spool = <E, R>(
  produce: (write: WriteExport) => Effect.Effect<ExportEnd, E, R>
): Stream.Stream<ExportPart, E, R> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const file = yield* openUnnamed
      const more = yield* Queue.sliding<void>(1)
      const state = { written: 0, read: 0, done: 0, total: 0, isEnded: false }
      const write: WriteExport = (text, done, total) =>
        Effect.zipRight(
          Effect.promise(async () => {
            const bytes = Buffer.from(text)
            for (let at = 0; at < bytes.length; ) {
              const { bytesWritten } = await file.write(bytes, at, bytes.length - at, state.written)
              at += bytesWritten
              state.written += bytesWritten
            }
            state.done = done
            state.total = total
          }),
          Queue.offer(more, undefined)
        )
      const end = Effect.sync(() => {
        state.isEnded = true
      })
      const producing = yield* Effect.forkScoped(
        Effect.ensuring(produce(write), Effect.zipRight(end, Queue.offer(more, undefined)))
      )
      const readPart = Effect.promise(async (): Promise<ExportPart> => {
        const buffer = Buffer.allocUnsafeSlow(Math.min(partBytes, state.written - state.read))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, state.read)
        state.read += bytesRead
        return { bytes: buffer.subarray(0, bytesRead), done: state.done, total: state.total, end: null }
      })
      const next: Effect.Effect<ExportPart, Option.Option<E>> = Effect.suspend(() => {
        if (state.read < state.written) return readPart
        if (!state.isEnded) return Effect.zipRight(Queue.take(more), next)
        return Effect.fail(Option.none())
      })
      const lastPart = Effect.map(
        Fiber.join(producing),
        (end): ExportPart => ({ bytes: new Uint8Array(), done: state.done, total: state.total, end })
      )
      return Stream.concat(Stream.repeatEffectOption(next), Stream.fromEffect(lastPart))
    })
  )
