import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { layerServices } from "../faults/ServerServices.ts"
import { environment } from "../support/CommandLine.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** A folder whose `npm start` is this script. */
const folderWith = (start: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = await mkdtemp(join(tmpdir(), "npm-start-"))
      await writeFile(join(folder, "package.json"), JSON.stringify({ scripts: { start } }))
      return folder
    }),
    (folder) => Effect.promise(() => rm(folder, { recursive: true }))
  )

/** Runs `npm start` and waits until it prints its address; its process group is killed with the scope. */
const npmStart = (folder: string, drainSeconds = 0) =>
  Effect.gen(function* () {
    const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
    const npm = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn("npm", ["start"], {
          cwd: folder,
          env: environment({ DATABASE_URL, PORT: "0", DRAIN_DELAY: String(drainSeconds) }),
          detached: true,
          stdio: ["ignore", "pipe", "ignore"]
        })
      ),
      ({ pid }) =>
        Effect.sync(() => {
          try {
            if (pid !== undefined) process.kill(-pid, "SIGKILL")
          } catch {
            // Every process of the group has ended.
          }
        })
    )
    const ended = once(npm, "exit")
    const baseUrl = yield* Effect.promise(async () => {
      let output = ""
      for await (const text of npm.stdout) {
        output += text
        const found = /served at (\S+)/.exec(output)?.[1]
        if (found !== undefined) return found
      }
      return assert.fail(`npm start ended: ${output}`)
    })
    const answer = Effect.promise(() =>
      fetch(`${baseUrl}/readyz`).then(
        ({ status }) => status,
        () => "none"
      )
    )
    const signalGroup = Effect.sync(() => npm.pid !== undefined && process.kill(-npm.pid, "SIGTERM"))
    return { npm, ended: Effect.promise(() => ended), answer, signalGroup }
  })

describe.skipIf(!serverAnswers)("npm start", () => {
  layer(layerServices(2), { excludeTestServices: true })("when npm receives a signal", (it) => {
    it.scoped("ends the service too", () =>
      Effect.gen(function* () {
        const { answer, ended, npm } = yield* npmStart(root)
        assert.strictEqual(yield* answer, 200)
        npm.kill("SIGTERM")
        yield* ended
        assert.strictEqual(yield* answer, "none")
      })
    )

    it.scoped("leaves the service running if a shell runs between them", () =>
      Effect.gen(function* () {
        const { scripts } = JSON.parse(yield* Effect.promise(() => readFile(join(root, "package.json"), "utf8")))
        const start = scripts.start.replace("exec ", "").replace("dist/main.js", join(root, "dist/main.js"))
        assert.notStrictEqual(start, scripts.start)
        const { answer, ended, npm, signalGroup } = yield* npmStart(yield* folderWith(start), 300)
        npm.kill("SIGTERM")
        yield* ended
        // A signal that npm or the shell sent is handled before the third answer.
        assert.deepStrictEqual(yield* Effect.replicateEffect(answer, 3), [200, 200, 200])
        // Only the first signal lets the service answer until its delay is over; a second one ends it at once.
        yield* signalGroup
        assert.strictEqual(yield* Effect.repeat(answer, { until: (status) => status !== 200 }), 503)
      })
    )
  })
})
