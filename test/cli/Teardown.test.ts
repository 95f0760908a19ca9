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
  it("is what the command line answers", () => {
    assert.strictEqual(codeOf(["key", "list"], Exit.succeed(0)), 0)
    assert.strictEqual(codeOf(["key", "list"], Exit.succeed(2)), 2)
  })

  it("of a command that was interrupted is that of the signal: a key may not be revoked yet", () => {
    assert.strictEqual(codeOf(["key", "revoke", "x"], interrupted, "SIGINT"), 130)
    assert.strictEqual(codeOf(["key", "revoke", "x"], interrupted, "SIGTERM"), 143)
    assert.strictEqual(codeOf(["key", "revoke", "x"], interrupted), 1)
  })

  it("of a service that was told to stop is done", () => {
    assert.strictEqual(codeOf(["serve"], interrupted, "SIGTERM"), 0)
  })
})
