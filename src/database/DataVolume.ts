import { existsSync, statfsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"

/** Types of file systems in memory (statfs(2)): tmpfs and ramfs. */
const inMemory: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6])

const existingAbove = (path: string): string => (existsSync(path) ? path : existingAbove(dirname(path)))

/**
 * The reason why files in this directory are lost when the container is removed. Undefined: the directory is on a
 * mounted disk. `root`: the container's root directory.
 */
export const whyLost = (directory: string, root = "/"): string | undefined => {
  const place = existingAbove(resolve(directory))
  if (inMemory.has(statfsSync(place).type)) return "is in memory"
  return statSync(place).dev === statSync(root).dev ? "is not on a volume" : undefined
}

/** The engine needs room for the next file of its write-ahead log (16 MB), and fails without a reason if there is none. */
const littleMegabytes = 64

/** What to add to a failure of the embedded engine in this directory if its disk is nearly full; else an empty text. */
export const littleSpaceOn = (directory: string): string => {
  if (!existsSync(directory)) return ""
  const { bavail, bsize } = statfsSync(directory)
  const free = Math.floor((bavail * bsize) / 1_000_000)
  return free < littleMegabytes ? ` (its disk has ${free} MB free)` : ""
}
