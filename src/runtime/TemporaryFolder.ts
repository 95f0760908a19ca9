import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { hasEnded, processNameOf } from "./ProcessName.ts"

/** The file in a folder with the name of the process that made it. */
const ownerPath = (folder: string) => join(folder, "process")

const removeFolder = (folder: string) => rmSync(folder, { recursive: true, force: true })

/** Deletes the folders of processes that were killed. A folder that cannot be read or deleted is another user's. */
const removeAbandoned = (prefix: string, own: string) => {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(prefix))) {
    const folder = join(tmpdir(), name)
    try {
      if (hasEnded(readFileSync(ownerPath(folder), "utf8"), own)) removeFolder(folder)
    } catch {}
  }
}

/**
 * Makes a folder for temporary files, and deletes it when the scope ends. If the process is killed, the next process that makes a folder
 * with this prefix deletes it. Its file `process` must stay.
 */
export const temporaryFolder = (prefix: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const own = processNameOf(process.pid)
      const folder = mkdtempSync(join(tmpdir(), prefix))
      if (own === undefined) return folder
      writeFileSync(ownerPath(folder), own)
      removeAbandoned(prefix, own)
      return folder
    }),
    (folder) => Effect.sync(() => removeFolder(folder))
  )
