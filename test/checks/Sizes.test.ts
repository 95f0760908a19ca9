import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

const root = fileURLToPath(new URL("../../", import.meta.url))

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "catalog-sizes-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs the check on a folder with one file, and returns its exit code and output. */
const check = (text: string) => {
  mkdirSync(join(folder, "part"))
  writeFileSync(join(folder, "part", "Planted.ts"), text)
  return new Promise<{ readonly code: unknown; readonly output: string }>((resolve) =>
    execFile(process.execPath, ["check-sizes.mjs", folder], { cwd: root }, (error, _, stderr) =>
      resolve({ code: error?.code ?? 0, output: stderr })
    )
  )
}

const functionOf = (lines: number) => `export const planted = () => {\n${"  run()\n".repeat(lines - 2)}}\n`
const statementOf = (lines: number) => `export const planted = () => sql\`\n${"  SELECT 1\n".repeat(lines - 2)}\`\n`

describe("the check of sizes", () => {
  it("finds a function of 121 lines", async () => {
    const { code, output } = await check(`// First line.\n${functionOf(121)}`)
    assert.strictEqual(code, 1)
    assert.strictEqual(output, `${folder}/part/Planted.ts:2: planted has 121 lines, more than 120\n`)
  })

  it("counts the lines of a template literal", async () => {
    const { output } = await check(statementOf(121))
    assert.strictEqual(output, `${folder}/part/Planted.ts:1: planted has 121 lines, more than 120\n`)
  })

  it("finds a file of 501 lines", async () => {
    const { code, output } = await check("run()\n".repeat(501))
    assert.strictEqual(code, 1)
    assert.strictEqual(output, `${folder}/part/Planted.ts has 501 lines, more than 500\n`)
  })

  it("accepts functions of 120 lines in a file of 500 lines", async () => {
    const { code, output } = await check(functionOf(120).repeat(4) + "run()\n".repeat(20))
    assert.deepStrictEqual({ code, output }, { code: 0, output: "" })
  })
})
