import { appendFileSync, readFileSync } from "node:fs"
import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"
import { afterAll, expect } from "vitest"

// `layer` overwrites the methods of vitest's one `it`, and the files of a worker share it.
Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })

const settings = () => ({ ...process.env, cwd: process.cwd(), umask: String(process.umask()) })

const before = settings()
const { cwd, umask, ...environment } = before

/** What the process and those of its children that have ended took of the processor, in milliseconds. */
const processorTime = () => {
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(") ")
  return fields
    .split(" ")
    .slice(11, 15)
    .reduce((sum, ticks) => sum + 10 * Number(ticks), 0)
}

const times = process.env.CATALOG_TEST_TIMES
const began = times === undefined ? 0 : processorTime()

// Runs after all other hooks of the file. The next file of the worker begins with the same settings, and the file that changed them fails.
afterAll(({ name }) => {
  if (times !== undefined) appendFileSync(times, `${processorTime() - began} ${name}\n`)
  const after = settings()
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  process.chdir(cwd)
  process.umask(Number(umask))
  expect(after, `What ${name} left changed in the process`).toEqual(before)
})
