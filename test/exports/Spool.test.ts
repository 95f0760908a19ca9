import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { type ExportEnd, spool, type WriteExport } from "../../src/exports/Spool.ts"

/** More than the four megabytes that wait in memory. */
const lines = Array.from({ length: 12_000 }, (_, index) => `${index} ${"ü".repeat(500)}\n`)
const end: ExportEnd = { exportId: null, notes: ["a note"] }

const writeAll = (write: WriteExport) =>
  Effect.as(
    Effect.forEach(lines, (line, index) => write(line, index + 1, lines.length), { discard: true }),
    end
  )

describe("the file of an export", () => {
  it.effect("lets the export end before the receiver reads anything, and loses no byte", () =>
    Effect.gen(function* () {
      const isWritten = yield* Deferred.make<void>()
      const parts = yield* spool((write) =>
        Effect.ensuring(writeAll(write), Deferred.succeed(isWritten, undefined))
      ).pipe(
        Stream.tap(() => Deferred.await(isWritten)),
        Stream.runCollect
      )
      const all = [...parts]
      assert.strictEqual(Buffer.concat(all.map(({ bytes }) => bytes)).toString(), lines.join(""))
      assert.strictEqual(all.at(-1)?.end, end)
      assert.isAbove(all.length, 2)
    })
  )

  for (const every of [1, 7, 3_000])
    it.effect(`keeps the order for a receiver that stops reading after each part number ${every}`, () =>
      Effect.gen(function* () {
        let read = 0
        const parts = yield* spool(writeAll).pipe(
          Stream.tap(() => (++read % every === 0 ? Effect.promise(() => new Promise(setImmediate)) : Effect.void)),
          Stream.runFold("", (text, { bytes }) => text + Buffer.from(bytes).toString("latin1"))
        )
        assert.strictEqual(Buffer.from(parts, "latin1").toString(), lines.join(""))
      })
    )

  it.effect("ends the export with its receiver", () =>
    Effect.gen(function* () {
      const hasBegun = yield* Deferred.make<void>()
      const isInterrupted = yield* Deferred.make<void>()
      const reading = yield* Effect.fork(
        spool((write) =>
          Effect.zipRight(
            Effect.zipRight(write("first", 1, 2), Deferred.succeed(hasBegun, undefined)),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(isInterrupted, undefined))
          )
        ).pipe(Stream.runDrain)
      )
      yield* Deferred.await(hasBegun)
      yield* Fiber.interrupt(reading)
      yield* Deferred.await(isInterrupted)
    })
  )
})
