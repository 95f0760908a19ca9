import { assert, describe, it } from "@effect/vitest"
import type { ImportEvent } from "../../src/admin/AdminRpcs.ts"
import { makeImportText } from "../../src/cli/ImportCommands.ts"

type Step = Extract<ImportEvent, { readonly _tag: "Progress" }>["step"]

const lineOf =
  (text: ReturnType<typeof makeImportText>) =>
  (step: Step, done: number, total: number, seconds: number): string =>
    text({ _tag: "Progress", step, done, total, import_id: null }, 1_000 * seconds)

const bar = (full: number) => "█".repeat(full) + "░".repeat(30 - full)

describe("the progress of an import on the command line", () => {
  it("a file is checked by its bytes, then compared by its rows, with the time left", () => {
    const line = lineOf(makeImportText())
    assert.strictEqual(line("checking", 0, 5_000_000, 0), `checking  ${bar(0)}   0 %`)
    assert.strictEqual(line("checking", 1_000_000, 5_000_000, 30), `checking  ${bar(6)}  20 %, about 2 minutes left`)
    // The time left of a step begins with the step.
    assert.strictEqual(line("comparing", 10_000, 40_000, 60), `comparing ${bar(8)}  25 %, 10,000 of 40,000 rows`)
    assert.strictEqual(
      line("comparing", 20_000, 40_000, 90),
      `comparing ${bar(15)}  50 %, 20,000 of 40,000 rows, about 1 minute left`
    )
    assert.strictEqual(
      line("comparing", 39_999, 40_000, 149),
      `comparing ${bar(30)}  99 %, 39,999 of 40,000 rows, less than a minute left`
    )
    assert.strictEqual(line("comparing", 40_000, 40_000, 150), `comparing ${bar(30)} 100 %, 40,000 of 40,000 rows`)
  })

  it("a store is read without a total, then compared by its records", () => {
    const line = lineOf(makeImportText())
    assert.strictEqual(line("fetching", 12_500, 0, 0), "fetching  12,500 records")
    assert.strictEqual(line("comparing", 500, 12_500, 60), `comparing ${bar(1)}   4 %, 500 of 12,500 records`)
  })

  it("an import that is continued is estimated from what it did since", () => {
    const line = lineOf(makeImportText())
    assert.strictEqual(line("applying", 9_000, 10_000, 0), `applying  ${bar(27)}  90 %, 9,000 of 10,000 changes`)
    assert.strictEqual(
      line("applying", 9_100, 10_000, 60),
      `applying  ${bar(27)}  91 %, 9,100 of 10,000 changes, about 9 minutes left`
    )
  })
})
