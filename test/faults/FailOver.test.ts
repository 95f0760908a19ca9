import { spawn } from "node:child_process"
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { installation, missingCommands } from "../../ops/high-availability/Cluster.ts"
import { hangLimitOfLongTest } from "../support/HangLimit.ts"
import { isLong } from "../support/Volume.ts"

const missing = missingCommands()

if (missing.length > 0)
  console.warn(`The suite of fail-overs is SKIPPED: ${missing.join(", ")} not found. On Debian 12: ${installation}`)

/** In the long run, writes and reads must work again within the 30 s that the script checks by default; otherwise the time does not matter. */
const within = isLong ? [] : ["--within", "0"]

/** Runs the script until it exits. If the test is interrupted, the script stops all servers. */
const failOver = (...options: ReadonlyArray<string>) =>
  Effect.async<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>((resume) => {
    const script = "ops/high-availability/failover.ts"
    const child = spawn(process.execPath, ["--import", "tsx", script, ...within, ...options], {
      stdio: ["ignore", "pipe", "pipe"]
    })
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

describe.skipIf(missing.length > 0)("a database under Patroni behind HAProxy", () => {
  it.live(
    "recovers by itself when its primary is killed or hangs, and loses nothing",
    () =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* failOver("kill", "stop", "lag")
        process.stdout.write(stdout)
        assert.strictEqual(code, 0, `${stdout}${stderr}`)
      }),
    hangLimitOfLongTest
  )

  it.live(
    "loses acknowledged writes with asynchronous replicas that lag (planted fault)",
    () =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* failOver("--asynchronous", "lag")
        process.stdout.write(stdout)
        assert.strictEqual(code, 1, `${stdout}${stderr}`)
        assert.match(stdout, /^NOT AS IT SHOULD BE: lag: acknowledged writes lost, in products: [1-9]/m)
      }),
    hangLimitOfLongTest
  )
})
