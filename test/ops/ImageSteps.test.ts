import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { layerServerUrlEmpty, serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { isLong } from "../support/Volume.ts"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-image-steps-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** Runs a command until it exits. If the test is interrupted, the command ends too. */
const run = (command: string, args: ReadonlyArray<string>, cwd: string, env: Readonly<Record<string, string>> = {}) =>
  Effect.async<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>((resume) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
    const output = { stdout: "", stderr: "" }
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text
      })
    const closed = once(child, "close")
    void closed.then(([code]) => resume(Effect.succeed({ code, ...output })))
    return Effect.promise(() => {
      child.kill("SIGTERM")
      return closed
    })
  })

describe.skipIf(!serverAnswers)("the steps of the image", () => {
  layer(layerServerUrlEmpty, { excludeTestServices: true })((it) => {
    it.scoped.runIf(isLong)("install without scripts, build, and make a service whose health check passes", () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        const url = Redacted.value(yield* TestDatabaseUrl)
        const { code, stderr, stdout } = yield* run(process.execPath, ["ops/image-steps.mjs", folder], ".", {
          TEST_DATABASE_URL: url
        })
        assert.strictEqual(code, 0, `${stdout}${stderr}`)
        for (const line of [
          "RUN npm ci --ignore-scripts --no-audit --no-fund",
          "RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund",
          "The health check passed, and the service stopped."
        ])
          assert.include(stdout.split("\n"), line)
        assert.match(stdout, /^DATA_DIR: .* mount a volume there/m)
      })
    )

    it.scoped("fail with the step that fails (planted fault)", () =>
      Effect.gen(function* () {
        const folder = yield* temporary
        yield* run("git", ["clone", "--quiet", "--shared", resolve("."), folder], ".")
        symlinkSync(resolve("node_modules"), join(folder, "node_modules"))
        const path = join(folder, "Dockerfile")
        const planted = readFileSync(path, "utf8").replace("RUN npm ci", "RUN false && npm ci")
        assert.include(planted, "RUN false")
        writeFileSync(path, planted)
        const { code, stderr } = yield* run(process.execPath, ["ops/image-steps.mjs", join(folder, "steps")], folder)
        assert.strictEqual(code, 1)
        assert.include(stderr, "sh -c false && npm ci --ignore-scripts --no-audit --no-fund ended with 1")
      })
    )
  })
})
