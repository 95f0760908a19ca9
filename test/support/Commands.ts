import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { catalog } from "./CommandLine.ts"

type Words = ReadonlyArray<string>

/** Runs commands with these settings, and checks their exit codes and silent streams. */
export const commandsWith = (env: Readonly<Record<string, string>>) => {
  const run = (...args: Words) => catalog(args, env)

  const ended =
    (code: number, silent: "stderr" | "stdout") =>
    (...args: Words) =>
      Effect.map(run(...args), (output) => {
        assert.deepStrictEqual([output.code, output[silent]], [code, ""], args.join(" "))
        return output[silent === "stdout" ? "stderr" : "stdout"].trimEnd()
      })
  const said = ended(0, "stderr")

  return {
    run,
    /** The output and the error line of a command that prints its result, and is refused. */
    partly: (...args: Words) =>
      Effect.map(run(...args), ({ code, stderr, stdout }) => {
        assert.strictEqual(code, 1, args.join(" "))
        return { output: stdout.trimEnd(), reason: stderr.trimEnd() }
      }),
    /** The output of a command that succeeds. */
    said,
    /** The JSON output of a command that succeeds. */
    json: (...args: Words) => Effect.map(said(...args, "--json"), (text) => JSON.parse(text)),
    /** The error line of a command that is refused. */
    refusal: (...args: Words) =>
      Effect.tap(ended(1, "stdout")(...args), (reason) => assert.notInclude(reason, "\n", args.join(" "))),
    /** The error of a command with wrong usage. */
    misuse: ended(2, "stdout")
  }
}
