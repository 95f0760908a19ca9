import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { onTestFinished } from "vitest"
import { processNameOf } from "../../src/runtime/ProcessName.ts"
import { temporaryFolder } from "../../src/runtime/TemporaryFolder.ts"

describe.skipIf(!existsSync("/proc/self/stat"))("a temporary folder", () => {
  it.scoped("is deleted with its scope, or after its process was killed", () =>
    Effect.gen(function* () {
      const prefix = `catalog-test-${process.pid}-`
      const folderOf = (owner?: string) => {
        const folder = mkdtempSync(join(tmpdir(), prefix))
        if (owner !== undefined) writeFileSync(join(folder, "process"), owner)
        onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
        return folder
      }
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"])
      const running = folderOf(processNameOf(child.pid ?? 0))
      const other = folderOf(processNameOf(process.pid)?.replace(/\[\d+\]/, "[1]"))
      const unnamed = folderOf()

      const first = yield* Scope.make()
      const own = yield* Scope.extend(temporaryFolder(prefix), first)
      assert.strictEqual(dirname(own), tmpdir())
      assert.strictEqual(readFileSync(join(own, "process"), "utf8"), processNameOf(process.pid))
      child.kill("SIGKILL")
      yield* Effect.promise(() => once(child, "close"))
      yield* temporaryFolder(prefix)
      assert.deepStrictEqual([running, other, unnamed, own].map(existsSync), [false, true, true, true])
      yield* Scope.close(first, Exit.void)
      assert.isFalse(existsSync(own))
    })
  )
})
