import { readFileSync } from "node:fs"

// Imports only Node's modules: a second start is refused before the rest of the program is loaded.

/** The lock file of a data directory. */
export const lockPath = (dataDirectory: string): string => `${dataDirectory}/catalog.lock`

export const inUse = (dataDirectory: string, pid: number): string =>
  `The database in ${dataDirectory} is in use by process ${pid}: stop that process, or choose another DATA_DIR.`

/**
 * Boot id and start time of a process from /proc, to distinguish it from a later process with the same pid. Undefined:
 * unknown.
 */
export const startTokenOf = (pid: number): string | undefined => {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8")
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The command in parentheses can contain spaces and parentheses, so fields count from the last one. The state is field 3,
    // the start time field 22 (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const start = fields[19]
    // A zombie has ended and holds nothing.
    return start === undefined ? undefined : fields[0] === "Z" ? "ended" : `${boot.trim()}:${start}`
  } catch {
    return undefined
  }
}
