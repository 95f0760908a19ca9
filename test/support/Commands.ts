import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { catalog } from "./CommandLine.ts"

type Words = ReadonlyArray<string>

/** Commands under these settings, each judged by how it ends. */
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
    /** What a command prints that is done. */
    said,
    /** What it prints with --json. */
    json: (...args: Words) => Effect.map(said(...args, "--json"), (text) => JSON.parse(text)),
    /** Why one is refused: a line. */
    refusal: (...args: Words) =>
      Effect.tap(ended(1, "stdout")(...args), (reason) => assert.notInclude(reason, "\n", args.join(" "))),
    /** What is said of one that was used wrongly. */
    misuse: ended(2, "stdout")
  }
}
