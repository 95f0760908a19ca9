// Loaded into each worker before vitest. A worker that computes for 60 s on a busy machine, for example a random catalog in memory,
// would fail the run: vitest gives its own messages 60 s, without a setting. EachFile.ts restores `setTimeout` before the tests.
const { setTimeout } = globalThis
const vitestLimit = 60_000
const hour = 3_600_000
globalThis.setTimeout = Object.assign(
  (run, millis, ...values) => setTimeout(run, millis === vitestLimit ? hour : millis, ...values),
  setTimeout,
  { restore: () => Object.assign(globalThis, { setTimeout }) }
)
