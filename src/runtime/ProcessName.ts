import { readFileSync, readlinkSync } from "node:fs"

// Imports only Node's modules: a second start is refused before the rest of the program is loaded.

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

/** The boot and pid namespace in which a pid is valid. Undefined: /proc cannot be read. */
const placeOf = (startToken: string) => {
  try {
    return `${readlinkSync("/proc/self/ns/pid")}:${startToken.split(":")[0]}`
  } catch {
    return undefined
  }
}

/** A name that no other process of any host has. Undefined: the system does not provide the process's start time. */
export const processNameOf = (pid: number): string | undefined => {
  const start = startTokenOf(pid)
  const place = start === undefined ? undefined : placeOf(start)
  return place === undefined ? undefined : `${place} ${pid} ${start}`
}

/**
 * Whether another process has certainly ended. `own`: the name of this process. A process of another host or container cannot be
 * checked from here, so it has not.
 */
export const hasEnded = (name: string, own: string): boolean => {
  const [place, pid, start] = name.split(" ")
  if (name === own || place !== own.split(" ")[0]) return false
  const now = startTokenOf(Number(pid))
  return now !== undefined && now !== start
}
