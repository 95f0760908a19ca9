import { readFileSync } from "node:fs"
import { inUse, lockPath } from "./database/LockFile.ts"
import { startTokenOf } from "./runtime/ProcessName.ts"

/** The pid in the lock file, if that process certainly still runs. */
const holderOf = (dataDirectory: string): number | undefined => {
  try {
    const { pid, startToken } = JSON.parse(readFileSync(lockPath(dataDirectory), "utf8"))
    return typeof startToken === "string" && startTokenOf(pid) === startToken ? pid : undefined
  } catch {
    return undefined
  }
}

/**
 * The message if another process holds the embedded database, so that `serve` cannot start. Checked before the rest of the
 * program is loaded, because loading takes most of a start's time. Undefined: no such process, or it is not certain.
 */
export const refusalOfSecondStart = (
  argv: ReadonlyArray<string>,
  { DATABASE_URL, DATA_DIR = "data" }: Readonly<Record<string, string | undefined>>
): string | undefined => {
  if (argv.length !== 3 || argv[2] !== "serve" || DATABASE_URL !== undefined || DATA_DIR.trim() === "") return undefined
  const pid = holderOf(DATA_DIR)
  return pid === undefined ? undefined : inUse(DATA_DIR, pid)
}
