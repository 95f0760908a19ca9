import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { mustRun, root } from "./Processes.ts"
import { progress } from "./Progress.ts"

const changedAt = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

const newestSource = () =>
  Math.max(
    ...readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map((name) =>
      changedAt(join("src", name))
    ),
    changedAt("tsconfig.build.json")
  )

/** Builds the service unless what is built is newer than its source. */
export const build = async (): Promise<void> => {
  if (changedAt("dist/main.js") > newestSource()) return
  progress("Building the service")
  await mustRun("npm", ["run", "build"])
}
