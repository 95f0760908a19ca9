import { appendFileSync, readFileSync } from "node:fs"
import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"
import { Option } from "effect"
import { afterAll, chai, expect } from "vitest"

Reflect.get(setTimeout, "restore")?.()

// `layer` replaces methods of vitest's `it`, which all test files of a worker share.
Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })

// Without this, chai finds that any Some equals None: both can be iterated by generators, and chai compares the iterators, which are equal.
chai.config.deepEqual = (expected, actual) =>
  chai.util.eql(expected, actual, {
    comparator: (left: unknown, right: unknown) =>
      Option.isOption(left) && Option.isOption(right) && left._tag !== right._tag ? false : null
  })

const settings = () => ({ ...process.env, cwd: process.cwd(), umask: String(process.umask()) })

const before = settings()
const { cwd, umask, ...environment } = before

/** Processor time of this process and its children that have ended, in milliseconds. */
const processorTime = () => {
  const [, fields = ""] = readFileSync("/proc/self/stat", "utf8").split(") ")
  return fields
    .split(" ")
    .slice(11, 15)
    .reduce((sum, ticks) => sum + 10 * Number(ticks), 0)
}

const times = process.env.CATALOG_TEST_TIMES
const began = times === undefined ? 0 : processorTime()

// Runs after all other hooks of the file. Restores the settings for the next file of the worker, and fails a file that
// changed them.
afterAll(({ name }) => {
  if (times !== undefined) appendFileSync(times, `${processorTime() - began} ${name}\n`)
  const after = settings()
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  process.chdir(cwd)
  process.umask(Number(umask))
  expect(after, `What ${name} left changed in the process`).toEqual(before)
})
