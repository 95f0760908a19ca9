import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { createRequire } from "node:module"
import { basename } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"

/** A program of this folder in one file, which starts in a sixth of the time; where it lies, it finds its packages and migrations. */
export const bundledProgram = (source: string): string => {
  const program = `node_modules/.cache/${basename(source, ".ts")}.${process.pid}.mjs`
  beforeAll(() => {
    // tsx brings its compiler along.
    const { buildSync } = createRequire(createRequire(import.meta.url).resolve("tsx"))("esbuild")
    buildSync({
      entryPoints: [source],
      outfile: program,
      bundle: true,
      platform: "node",
      format: "esm",
      external: ["@electric-sql/pglite", "pg"],
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' }
    })
  })
  afterAll(() => rmSync(program, { force: true }))
  return program
}

export const killProgram = (child: ChildProcess) =>
  Effect.promise(async () => {
    const gone = once(child, "exit")
    child.kill("SIGKILL")
    if (child.exitCode === null && child.signalCode === null) await gone
  })

/** Starts a bundled program, and kills it with the scope. */
export const startProgram = (program: string, environment: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [program], {
        env: { ...process.env, ...environment },
        stdio: ["pipe", "pipe", "inherit"]
      })
    ),
    killProgram
  )
