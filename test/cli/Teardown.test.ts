import { spawnSync } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { Cause, Exit, FiberId } from "effect"
import { assert, describe, it } from "vitest"
import { teardown } from "../../src/cli/Cli.ts"
import { environment, program } from "../support/CommandLine.ts"

const codeOf = (argv: ReadonlyArray<string>, exit: Exit.Exit<unknown, unknown>, signal?: NodeJS.Signals) => {
  let code: number | undefined
  teardown(["node", "catalog", ...argv], () => signal)(exit, (answered) => {
    code = answered
  })
  return code
}

const interrupted = Exit.failCause(Cause.interrupt(FiberId.none))

describe("the exit code", () => {
  it("of a command is the one that the command returns", () => {
    assert.strictEqual(codeOf(["key", "list"], Exit.succeed(0)), 0)
    assert.strictEqual(codeOf(["key", "list"], Exit.succeed(2)), 2)
  })

  it("of an interrupted command is that of the signal", () => {
    assert.strictEqual(codeOf(["key", "revoke", "x"], interrupted, "SIGINT"), 130)
    assert.strictEqual(codeOf(["key", "revoke", "x"], interrupted, "SIGTERM"), 143)
    assert.strictEqual(codeOf(["key", "revoke", "x"], interrupted), 1)
  })

  it("of a command whose result cannot be written is 1", () => {
    // Each write to this device fails as on a full disk.
    const full = openSync("/dev/full", "w")
    const { status, stderr } = spawnSync(process.execPath, [program, "--version"], {
      env: environment({}),
      encoding: "utf8",
      stdio: ["ignore", full, "pipe"]
    })
    closeSync(full)
    assert.deepStrictEqual([status, stderr], [1, "stdout cannot be written: the disk is full.\n"])
  })

  it("of a stopped service is 0, also with global options before `serve`", () => {
    assert.strictEqual(codeOf(["serve"], interrupted, "SIGTERM"), 0)
    assert.strictEqual(codeOf(["--log-level", "debug", "serve"], interrupted, "SIGTERM"), 0)
  })

  it("of an interrupted command with the argument `serve` is that of the signal", () => {
    assert.strictEqual(codeOf(["key", "create", "--name", "serve"], interrupted, "SIGINT"), 130)
    assert.strictEqual(codeOf(["--log-level", "debug", "key", "create", "--name", "serve"], interrupted, "SIGINT"), 130)
  })
})
