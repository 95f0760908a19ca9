import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { embeddedFlags } from "./EmbeddedFlags.ts"
import { dropDatabases, nameRun } from "./RunDatabases.ts"
import { emptyImage, schemaImage } from "./SchemaImages.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const changedAt = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

const newestSource = () =>
  Math.max(
    ...readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map((name) =>
      changedAt(join("src", name))
    ),
    changedAt("build.mjs"),
    changedAt("bundling.mjs")
  )

/** Builds the service if its source is newer than the build. Processes start twice as fast from the build. */
const build = () => {
  if (changedAt("dist/main.js") > newestSource()) return
  console.info("Building the service")
  execFileSync("npm", ["run", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] })
}

/** Compiles the service for the flags of processes with an embedded database, once for each build. */
const compile = () => {
  const mark = join(root, "dist/compiled-for-tests")
  if (existsSync(mark)) return
  execFileSync(process.execPath, [...embeddedFlags, "dist/WriteCode.js", "--version"], { cwd: root, stdio: "ignore" })
  writeFileSync(mark, "")
}

/**
 * Runs once before all suites, so that two workers do not prepare the same files at the same time. Returns what runs after all suites.
 */
export default async function prepare(): Promise<() => Promise<void>> {
  nameRun()
  build()
  // Imported only when needed, because loading the service takes seconds.
  if (!existsSync(emptyImage) || !existsSync(schemaImage)) await (await import("./CreateImages.ts")).createImages()
  // Last: .ci/run begins its other run of vitest when the mark of this step is there.
  compile()
  return dropDatabases
}
