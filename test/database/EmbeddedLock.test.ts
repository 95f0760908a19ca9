import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { FileSystem } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Fiber, Option, Scope } from "effect"
import * as EmbeddedLock from "../../src/database/EmbeddedLock.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-lock-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** A process that does nothing. `end` kills it and waits until its pid is gone. */
const neighbour = Effect.gen(function* () {
  const end = (child: ChildProcess) =>
    Effect.promise(() => {
      const gone = once(child, "exit")
      child.kill("SIGKILL")
      return child.exitCode === null && child.signalCode === null ? gone : Promise.resolve([])
    })
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"])),
    end
  )
  return { pid: child.pid ?? 0, end: end(child) }
})

const onLinux = existsSync("/proc/self/stat")

const startTokenOf = (pid: number) => {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return `${boot}:${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`
}

const record = (pid: number, startToken: string | null, token = "a".repeat(32)) =>
  JSON.stringify({ pid, startToken, token })

const lockIn = (directory: string) => EmbeddedLock.lockPath(directory)

const own = (directory: string) => JSON.parse(readFileSync(lockIn(directory), "utf8"))

const test = (name: string, self: () => Effect.Effect<void, unknown, Scope.Scope | FileSystem.FileSystem>) =>
  it.scopedLive(name, () => Effect.provide(self(), NodeFileSystem.layer))

describe("EmbeddedLock", () => {
  test("creates the directory and a complete record that only this user can read, and removes the record", () =>
    Effect.gen(function* () {
      const directory = join(yield* temporary, "data", "catalog")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* EmbeddedLock.acquire(directory)
          assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
          assert.strictEqual(statSync(lockIn(directory)).mode & 0o777, 0o600)
          assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
          assert.strictEqual(own(directory).pid, process.pid)
          assert.strictEqual(own(directory).startToken, onLinux ? startTokenOf(process.pid) : null)
        })
      )
      assert.deepStrictEqual(readdirSync(directory), [])
    }))

  test("refuses the same process a second time, and opens again after the first has closed", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* EmbeddedLock.acquire(directory)
          const refused = yield* Effect.flip(EmbeddedLock.acquire(directory))
          assert.strictEqual(
            refused.message,
            `The database in ${directory} is in use by process ${process.pid}: stop that process, or choose another DATA_DIR.`
          )
          assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
        })
      )
      yield* EmbeddedLock.acquire(directory)
    }))

  test("refuses while another process is alive, and takes over after it is killed", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const other = yield* neighbour
      writeFileSync(lockIn(directory), record(other.pid, onLinux ? startTokenOf(other.pid) : null))
      const refused = yield* Effect.flip(EmbeddedLock.acquire(directory))
      assert.strictEqual(refused._tag, "DatabaseInUse")
      assert.strictEqual(
        refused.message,
        `The database in ${directory} is in use by process ${other.pid}: stop that process, or choose another DATA_DIR.`
      )
      yield* other.end
      yield* EmbeddedLock.acquire(directory)
      assert.strictEqual(own(directory).pid, process.pid)
      assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
    }))

  test("assumes that a running process without a recorded start time is the holder", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const other = yield* neighbour
      writeFileSync(lockIn(directory), record(other.pid, null))
      assert.strictEqual((yield* Effect.flip(EmbeddedLock.acquire(directory)))._tag, "DatabaseInUse")
      yield* other.end
      yield* EmbeddedLock.acquire(directory)
    }))

  it.scopedLive.skipIf(!onLinux)(
    "does not take a process with the same pid, but another start time, for the holder",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const other = yield* neighbour
        writeFileSync(lockIn(directory), record(other.pid, `${startTokenOf(other.pid)}0`))
        yield* EmbeddedLock.acquire(directory)
        assert.strictEqual(own(directory).pid, process.pid)
      }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  test("takes over a lock file that has lost its record", () =>
    Effect.gen(function* () {
      for (const content of ["", "\0\0\0\0", "{", '{"pid":0,"startToken":null,"token":"x"}', '{"pid":"1"}']) {
        const directory = yield* temporary
        writeFileSync(lockIn(directory), content)
        yield* EmbeddedLock.acquire(directory)
        assert.strictEqual(own(directory).pid, process.pid, content)
        assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
      }
    }))

  test("takes over from a process that died while it took over", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      writeFileSync(lockIn(directory), record(1, "dead", "first"))
      writeFileSync(`${lockIn(directory)}.first`, record(1, "dead", "second"))
      writeFileSync(`${lockIn(directory)}.second`, record(1, "dead", "third"))
      yield* EmbeddedLock.acquire(directory)
      assert.strictEqual(own(directory).pid, process.pid)
      assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
    }))

  test("is refused while another process takes over", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const other = yield* neighbour
      writeFileSync(lockIn(directory), record(1, "dead", "first"))
      writeFileSync(`${lockIn(directory)}.first`, record(other.pid, null, "second"))
      const refused = yield* Effect.flip(EmbeddedLock.acquire(directory))
      assert.deepInclude(refused, { _tag: "DatabaseInUse", pid: other.pid })
    }))

  test("names the socket of the holder in a refusal", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const socketSeen = Effect.map(Effect.flip(EmbeddedLock.acquire(directory)), (refused) =>
        refused._tag === "DatabaseInUse" ? refused.socket : assert.fail(refused.message)
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* EmbeddedLock.acquire(directory)
          const before = own(directory)
          assert.deepStrictEqual(yield* socketSeen, Option.none())
          yield* Effect.scoped(
            Effect.gen(function* () {
              yield* EmbeddedLock.announce(directory, "/run/手.sock")
              assert.deepStrictEqual(own(directory), { ...before, socket: "/run/手.sock" })
              assert.strictEqual(statSync(lockIn(directory)).mode & 0o777, 0o600)
              assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
              assert.deepStrictEqual(yield* socketSeen, Option.some("/run/手.sock"))
            })
          )
          assert.deepStrictEqual(own(directory), before)
          assert.deepStrictEqual(yield* socketSeen, Option.none())
          // The record of a process that was killed while it accepted commands.
          yield* Scope.extend(EmbeddedLock.announce(directory, "/run/a.sock"), yield* Scope.make())
        })
      )
      assert.deepStrictEqual(readdirSync(directory), [])
    }))

  test("takes over from a process that accepted commands", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const dead = JSON.stringify({ pid: 1, startToken: "dead", token: "first", socket: "/run/a.sock" })
      writeFileSync(lockIn(directory), dead)
      yield* EmbeddedLock.acquire(directory)
      assert.strictEqual(own(directory).pid, process.pid)
      assert.notProperty(own(directory), "socket")
      assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
    }))

  test("has a complete record at every moment while the socket changes", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* EmbeddedLock.acquire(directory)
      const writer = yield* Effect.fork(Effect.forever(Effect.scoped(EmbeddedLock.announce(directory, "/run/a.sock"))))
      for (let round = 0; round < 200; round++) {
        assert.deepInclude(yield* Effect.flip(EmbeddedLock.acquire(directory)), {
          _tag: "DatabaseInUse",
          pid: process.pid
        })
      }
      yield* Fiber.interrupt(writer)
      assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
    }))

  test("does not write a socket into the record of another process", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* EmbeddedLock.acquire(directory)
      const other = record(1, null, "someone else's")
      writeFileSync(lockIn(directory), other)
      yield* Effect.scoped(EmbeddedLock.announce(directory, "/run/a.sock"))
      assert.strictEqual(readFileSync(lockIn(directory), "utf8"), other)
    }))

  test("does not remove the record of another process", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const other = record(1, null, "someone else's")
      yield* Effect.scoped(
        Effect.zipRight(
          EmbeddedLock.acquire(directory),
          Effect.sync(() => writeFileSync(lockIn(directory), other))
        )
      )
      assert.strictEqual(readFileSync(lockIn(directory), "utf8"), other)
    }))

  test("lets one of many processes take over from a dead holder", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 40; round++) {
        const directory = yield* temporary
        writeFileSync(lockIn(directory), record(1, "dead", "first"))
        if (round % 2 === 1) {
          writeFileSync(`${lockIn(directory)}.first`, record(1, "dead", "second"))
        }
        // The processes start with different delays, so some read the old record after it was replaced.
        const scope = yield* Scope.make()
        const contenders = Array.from({ length: 16 }, (_, lateness) =>
          Effect.repeatN(Effect.yieldNow(), lateness * 3).pipe(
            Effect.zipRight(Effect.either(Scope.extend(EmbeddedLock.acquire(directory), scope)))
          )
        )
        const outcomes = yield* Effect.all(contenders, { concurrency: "unbounded" })
        assert.lengthOf(outcomes.filter(Either.isRight), 1)
        for (const outcome of outcomes.filter(Either.isLeft)) {
          assert.deepInclude(outcome.left, { _tag: "DatabaseInUse", pid: process.pid })
        }
        assert.deepStrictEqual(readdirSync(directory), ["catalog.lock"])
        yield* Scope.close(scope, yield* Effect.exit(Effect.void))
        assert.deepStrictEqual(readdirSync(directory), [])
      }
    }))
})
