import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Stream } from "effect"
import { onTestFinished, vi } from "vitest"
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
    it.effect(`keeps the order for a receiver that pauses after every ${every} parts`, () =>
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

  it.effect("has no name in the temporary folder when the process does something else", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "catalog-spool-"))
      vi.stubEnv("TMPDIR", folder)
      onTestFinished(() => {
        vi.unstubAllEnvs()
        rmSync(folder, { recursive: true })
      })
      const seen = new Set<string>()
      for (let round = 0; round < 20; round++) {
        const reading = yield* Effect.fork(Stream.runDrain(spool((write) => Effect.as(write("line", 1, 1), end))))
        while (Option.isNone(yield* Fiber.poll(reading))) {
          yield* Effect.promise(() => new Promise(setImmediate))
          for (const name of readdirSync(folder)) seen.add(name)
        }
        yield* Fiber.join(reading)
      }
      assert.deepStrictEqual([...seen], [])
    })
  )
})
