import { readFileSync } from "node:fs"

// Imports only Node's modules: a second start is refused before the rest of the program is loaded.

/** The lock file of a data directory. */
export const lockPath = (dataDirectory: string): string => `${dataDirectory}/catalog.lock`

export const inUse = (dataDirectory: string, pid: number): string =>
  `The database in ${dataDirectory} is in use by process ${pid}: stop that process, or choose another DATA_DIR.`

/** Whether no process has this pid. Needs no file, so it works without free descriptors. */
const isMissing = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    // EPERM: the process runs under another user.
    return (error as NodeJS.ErrnoException).code === "ESRCH"
  }
}

/**
 * Boot id and start time of a process from /proc, to distinguish it from a later process with the same pid. Undefined:
 * unknown, because /proc cannot be read. "ended": no such process is left.
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
    return isMissing(pid) ? "ended" : undefined
  }
}
