import { Cause, Exit, FiberId } from "effect"
import { assert, describe, it } from "vitest"
import { teardown } from "../../src/cli/Cli.ts"

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

  it("of a stopped service is 0, also after options of every command", () => {
    assert.strictEqual(codeOf(["serve"], interrupted, "SIGTERM"), 0)
    assert.strictEqual(codeOf(["--log-level", "debug", "serve"], interrupted, "SIGTERM"), 0)
  })

  it("of an interrupted command with the argument `serve` is that of the signal", () => {
    assert.strictEqual(codeOf(["key", "create", "--name", "serve"], interrupted, "SIGINT"), 130)
    assert.strictEqual(codeOf(["--log-level", "debug", "key", "create", "--name", "serve"], interrupted, "SIGINT"), 130)
  })
})
