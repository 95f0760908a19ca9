import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { onTestFinished } from "vitest"
import { writeTemporaryFile } from "../../src/imports/ImportSources.ts"
import { processNameOf } from "../../src/runtime/ProcessName.ts"

describe.skipIf(!existsSync("/proc/self/stat"))("the file of an uploaded export", () => {
  it.effect("is deleted with its import, or by the next upload if its process was killed", () =>
    Effect.gen(function* () {
      const content = Buffer.from("Handle,Title\ntent,The tent\n")
      const fileOf = (owner: string | undefined) => {
        const folder = mkdtempSync(join(tmpdir(), "catalog-import-"))
        onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
        writeFileSync(join(folder, "process"), String(owner))
        writeFileSync(join(folder, "export.csv"), content)
        return join(folder, "export.csv")
      }
      const running = processNameOf(process.pid)
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"])
      const ofKilled = fileOf(processNameOf(child.pid ?? 0))
      child.kill("SIGKILL")
      yield* Effect.promise(() => once(child, "close"))
      const ofRunning = fileOf(running)

      const scope = yield* Scope.make()
      const path = yield* Scope.extend(writeTemporaryFile(content), scope)
      assert.deepStrictEqual(readFileSync(path), content)
      assert.strictEqual(readFileSync(join(dirname(path), "process"), "utf8"), running)
      assert.deepStrictEqual([ofKilled, ofRunning].map(existsSync), [false, true])
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(existsSync(dirname(path)))
    })
  )
})
