import { execFileSync } from "node:child_process"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))

const changedAt = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

const newestSource = () =>
  Math.max(
    ...readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map((name) =>
      changedAt(join("src", name))
    ),
    changedAt("build.mjs")
  )

/** Builds the service unless what is built is newer than its source: processes of it start from there in half the time. */
export default function build(): void {
  if (changedAt("dist/main.js") > newestSource()) return
  console.info("Building the service")
  execFileSync("npm", ["run", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] })
}
