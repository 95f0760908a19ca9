import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { afterAll } from "vitest"
import { AutomaticScans } from "../../src/health/AutomaticScans.ts"
import { DataHealth } from "../../src/health/DataHealth.ts"
import { HealthDimension, HealthOverview } from "../../src/health/Health.ts"
import { Imports } from "../../src/imports/Imports.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { engines } from "../support/TestDatabase.ts"

const folder = mkdtempSync(join(tmpdir(), "scans-after-imports-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (name: string, title: string) => {
  const path = join(folder, name)
  writeFileSync(path, `Handle,Title,Variant SKU,Variant Price\nhat,${title},H-1,5.00\n`)
  return path
}
const first = file("first.csv", "Hat")
const second = file("second.csv", "Cap")

const quiet = () => Effect.void

/** The states of the account's scans, in order of creation. Lists of jobs leave out scans that wait or are done. */
const scansOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql`
      SELECT j.state, j.done::int, j.total::int, j.title, j.author ->> 'kind' AS author FROM job j
      WHERE j.account_id = ${accountId} AND j.kind = 'health_scan' ORDER BY j.created_at`
    return rows
  })

const scanned = Effect.gen(function* () {
  const { text } = yield* (yield* DataHealth).overview()
  const { dimensions } = yield* Schema.decode(Schema.parseJson(HealthOverview))(text)
  return dimensions.filter((each) => each.scanned).length
})

const runDue = Effect.flatMap(JobWorker, (worker) => worker.runDue)

const one = { title: "Scan data health after an import", author: "cli" }
const [waiting, done] = [
  { ...one, state: "queued", done: 0, total: null },
  // A product and its variant, once in each dimension.
  { ...one, state: "done", done: 2 * HealthDimension.literals.length, total: 2 * HealthDimension.literals.length }
]

for (const engine of engines)
  for (const afterImports of [true, false]) {
    const TestLayer = ServicesOnDatabase.pipe(
      Layer.provide(Layer.succeed(AutomaticScans, { nightly: false, afterImports, hour: 3 })),
      Layer.provideMerge(engine.layer),
      Layer.orDie
    )

    describe.skipIf(engine.absent)(`scans after imports on ${engine.name}, ${afterImports ? "on" : "off"}`, () => {
      layer(TestLayer, { excludeTestServices: true })((it) => {
        it.effect("an applied import begins one scan of all dimensions, a discarded one none", () =>
          Effect.gen(function* () {
            const { accountId, actor } = yield* anAccount({ domains: ["us.example", "eu.example"] })
            yield* Effect.gen(function* () {
              const imports = yield* Imports
              const { id } = yield* imports.csv(first, "us.example", quiet)
              assert.deepStrictEqual(yield* scansOf(accountId), [], "nothing is applied yet")
              yield* imports.accept(id, quiet)
              assert.deepStrictEqual(yield* scansOf(accountId), afterImports ? [waiting] : [])
              const kinds = (yield* (yield* Jobs).list).map(({ kind }) => kind)
              assert.deepStrictEqual(kinds, ["import"], "scans that wait are not listed")

              // The review of another store's import locks the account. A scan changes no draft, so it does not wait.
              const review = yield* imports.csv(second, "eu.example", quiet)
              assert.strictEqual(review.phase, "reviewing")
              yield* runDue
              assert.deepStrictEqual(yield* scansOf(accountId), afterImports ? [done] : [])
              assert.strictEqual(yield* scanned, afterImports ? HealthDimension.literals.length : 0)
              assert.strictEqual((yield* imports.get(review.id)).phase, "reviewing")
              yield* imports.discard(review.id)
              yield* runDue
              assert.deepStrictEqual(yield* scansOf(accountId), afterImports ? [done] : [])

              const again = yield* imports.csv(second, "eu.example", quiet)
              yield* imports.accept(again.id, quiet)
              yield* runDue
              assert.deepStrictEqual(yield* scansOf(accountId), afterImports ? [done, done] : [])
            }).pipe(actingAs(actor))
          })
        )
      })
    })
  }
