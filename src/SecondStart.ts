import { readFileSync } from "node:fs"
import { inUse, lockPath, startTokenOf } from "./database/LockFile.ts"

/** The process of a lock file that certainly still runs. */
const holderOf = (dataDirectory: string): number | undefined => {
  try {
    const { pid, startToken } = JSON.parse(readFileSync(lockPath(dataDirectory), "utf8"))
    return typeof startToken === "string" && startTokenOf(pid) === startToken ? pid : undefined
  } catch {
    return undefined
  }
}

/**
 * Why `serve` cannot have the embedded database: another process has it. Told before the rest of the program is loaded, which
 * takes most of the time of a start; whatever is not certain is left to that.
 */
export const refusalOfSecondStart = (
  argv: ReadonlyArray<string>,
  { DATABASE_URL, DATA_DIR = "data" }: Readonly<Record<string, string | undefined>>
): string | undefined => {
  if (argv.length !== 3 || argv[2] !== "serve" || DATABASE_URL !== undefined || DATA_DIR.trim() === "") return undefined
  const pid = holderOf(DATA_DIR)
  return pid === undefined ? undefined : inUse(DATA_DIR, pid)
}
