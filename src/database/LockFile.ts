import { readFileSync } from "node:fs"

// Imports nothing but Node: a second start is refused by this before the rest of the program is loaded.

/** The lock file of a data directory. */
export const lockPath = (dataDirectory: string): string => `${dataDirectory}/catalog.lock`

export const inUse = (dataDirectory: string, pid: number): string =>
  `The database in ${dataDirectory} is in use by process ${pid}: stop that process, or choose another DATA_DIR.`

/** Boot and start time of a process, from /proc, which tell it from a later one with the same pid; undefined where the system does not say. */
export const startTokenOf = (pid: number): string | undefined => {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8")
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The command in parentheses may hold spaces and parentheses: fields count from the last one. State is the third
    // field of the line, the start time the twenty-second (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const start = fields[19]
    // A process that only waits to be reaped holds nothing any more.
    return start === undefined ? undefined : fields[0] === "Z" ? "ended" : `${boot.trim()}:${start}`
  } catch {
    return undefined
  }
}
