import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { root } from "../support/CommandLine.ts"

/** Asks about holders while this process has no descriptor left, so that it cannot read /proc. */
const script = `
  import { openSync } from "node:fs"
  import { Effect } from "effect"
  import { LeaseHolder } from "./src/database/LeaseHolder.ts"
  import { processNameOf } from "./src/runtime/ProcessName.ts"
  const { isGone, name } = Effect.runSync(LeaseHolder)
  const parent = processNameOf(process.ppid)
  const ended = parent.replace(\` \${process.ppid} \`, \` \${process.argv[1]} \`)
  const read = () => ({ own: isGone(name), parent: isGone(parent), later: isGone(\`\${parent}0\`), ended: isGone(ended) })
  const before = read()
  let code
  while (code === undefined) try { openSync("/dev/null") } catch (error) { code = error.code }
  console.log(JSON.stringify({ code, before, after: read() }))`

describe.skipIf(!existsSync("/proc/self/stat"))("the holder of a lease", () => {
  it("is gone if its process has certainly ended, also if this process cannot open files; it is never this process", async () => {
    const child = spawn(process.execPath, ["-e", ""])
    await once(child, "close")
    // `exec`, so that the parent of Node is this process.
    const command = `ulimit -n 256; exec "$0" --import tsx --input-type=module -e "$1" -- ${child.pid}`
    const output = execFileSync("sh", ["-c", command, process.execPath, script], { cwd: root })
    assert.deepStrictEqual(JSON.parse(output.toString()), {
      code: "EMFILE",
      before: { own: false, parent: false, later: true, ended: true },
      // Whether the pid has a later process is unknown then.
      after: { own: false, parent: false, later: false, ended: true }
    })
  })
})
