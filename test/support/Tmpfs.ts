import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "./OwnServers.ts"

/** Mounts a disk in memory of this size, such as `128m`. */
export const mountTmpfs = (folder: string, size: string) =>
  run("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder])

/** Why no disk can be mounted on this machine; undefined: one can. */
export const noTmpfs = (() => {
  const folder = mkdtempSync(join(tmpdir(), "catalog-mount-"))
  try {
    mountTmpfs(folder, "1m")
    run("umount", [folder])
    return undefined
  } catch {
    return "no tmpfs can be mounted here"
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})()
