import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Schedule } from "effect"
import { afterAll } from "vitest"
import type { ImportRun } from "../../src/imports/Import.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { actingAs, anAccount } from "../../src/testing/index.ts"
import { catalog, serveCatalog } from "../support/CommandLine.ts"
import { setClock } from "../support/TestClock.ts"
import { serverAnswers, TestDatabaseUrl } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { type Death, importDeaths, leaseSeconds, refusesWrites } from "./ImportDeaths.ts"
import { assertWroteTheSame, catalogOf, type ImportedCatalog, judgeImport } from "./ImportJudge.ts"
import { layerStoppedClock, untilQuiet } from "./ServerServices.ts"

const dies = importDeaths()

const folder = mkdtempSync(join(tmpdir(), "import-crash-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Products with four entities each: 250 of them fill a transaction. */
const products = 550
const inBase = 40

const exportOf = (name: string, count: number, price: string) => {
  const path = join(folder, name)
  const lines = Array.from({ length: count }, (_, index) => [
    `p-${index},Product ${index},Size,S,S-${index},${price},https://cdn.example/${index}.jpg`,
    `p-${index},,,M,M-${index},${price},`
  ])
  writeFileSync(
    path,
    ["Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price,Image Src", ...lines.flat(), ""].join("\n")
  )
  return path
}
const base = exportOf("base.csv", inBase, "9.00")
const file = exportOf("all.csv", products, "10.00")

const quiet = () => Effect.void

/** An account that has a few of the products from another store, so that the import changes these. */
const aMerchant = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount({ domains: ["a.example", "b.example"] })
  const imports = yield* Imports
  yield* Effect.flatMap(imports.csv(base, "b.example", quiet), ({ id }) => imports.accept(id, quiet)).pipe(
    actingAs(actor)
  )
  return accountId
})

/** A merchant for each death. */
const merchantsOf = <D extends Death>(deaths: ReadonlyArray<D>) =>
  Effect.forEach(deaths, (death) => Effect.map(aMerchant, (accountId) => ({ ...death, accountId })))

/** The newest import of the killed processes' file. The clock is stopped, so times do not order the imports. */
const runOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const run = (yield* (yield* Imports).list).find(({ fileName }) => fileName === basename(file))
    assert(run !== undefined)
    return run
  }).pipe(actingAs({ _tag: "Cli", accountId }))

/** The state and progress of the import's job. */
const jobOf = ({ id }: ImportRun) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`SELECT state, done::integer, total::integer, error_count::integer, problem FROM job WHERE id = ${id}`,
      ([job]) => job ?? assert.fail("no job")
    )
  )

/** The catalog after an undisturbed import of the same files. */
const undisturbed = (counters: boolean) =>
  Effect.gen(function* () {
    const accountId = yield* aMerchant
    const imports = yield* Imports
    yield* Effect.flatMap(imports.csv(file, "a.example", quiet), ({ id }) => imports.accept(id, quiet)).pipe(
      actingAs({ _tag: "Cli", accountId })
    )
    return yield* catalogOf(accountId, { counters })
  })

const wholeImport = { phase: "applied", applied: products, error: null } as const

/** Checks that everything was imported exactly once, and that the import's record says so. */
const assertUndisturbed = (accountId: AccountId, expected: ImportedCatalog) =>
  Effect.gen(function* () {
    const run = yield* runOf(accountId)
    assert.deepInclude(run, wholeImport)
    assert.deepInclude(run.summary, { created: products - inBase, updated: inBase, unchanged: 0, conflicts: 0 })
    assert.deepInclude(yield* jobOf(run), { state: "done", done: products, total: products, error_count: 0 })
    yield* assertWroteTheSame(accountId, run.id, expected)
    assert.isFalse(yield* refusesWrites(accountId))
  })

/** The interval at which servers look for expired leases; Sweeper.test.ts checks it. */
const betweenTakeoversSeconds = 10

describe.skipIf(!serverAnswers)("an importer that is killed while it applies an import", () => {
  /** Steps at which imports die, and the number of products that were applied by then. */
  const deaths: ReadonlyArray<Death & { readonly applied: number }> = [
    // Before a transaction ends.
    { step: "applying", occurrence: 1, applied: 0 },
    { step: "written", occurrence: 1, applied: 0 },
    { step: "written", occurrence: 2, applied: 250 },
    { step: "written", occurrence: 3, applied: 500 },
    { step: "marked", occurrence: 1, applied: 0 },
    { step: "marked", occurrence: 2, applied: 250 },
    { step: "marked", occurrence: 3, applied: 500 },
    { step: "unlocked", occurrence: 1, applied: 550 },
    // Between two transactions.
    { step: "committed", occurrence: 1, applied: 250 },
    { step: "committed", occurrence: 3, applied: 550 }
  ]

  layer(layerStoppedClock, { excludeTestServices: true })("at any step", (it) => {
    it.scoped("is replaced by a running server, which finishes the import", () =>
      Effect.gen(function* () {
        const expected = yield* undisturbed(true)
        assert.lengthOf(expected.entities, 4 * products)
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        yield* Effect.acquireRelease(
          // A scan after the import would raise the version that is compared here.
          Effect.promise(() => serveCatalog({ DATABASE_URL, HEALTH_SCANS: "off" })),
          (server) => Effect.promise(() => server.stop("SIGKILL"))
        )
        const left = yield* merchantsOf(deaths)
        yield* dies(left, { IMPORT_FILE: file })
        yield* untilQuiet
        const imports = yield* Imports
        yield* setClock(leaseSeconds - 1)
        assert.strictEqual(yield* imports.resume(Option.none()), 0)
        for (const { accountId, applied, step } of left) {
          const run = yield* runOf(accountId)
          assert.deepInclude(run, { phase: "applying", applied })
          const isBegun = step !== "applying"
          assert.deepInclude(yield* jobOf(run), { state: isBegun ? "running" : "queued", done: run.applied })
          assert.isTrue(yield* refusesWrites(accountId))
        }
        yield* setClock(leaseSeconds)
        const sql = yield* SqlClient.SqlClient
        const open = sql`SELECT id FROM import_run WHERE phase = 'applying'`
        // The clock goes on: a busy machine may fail a takeover, which is repeated when its lease has expired.
        let seconds = leaseSeconds
        yield* Effect.repeat(
          Effect.zipRight(
            Effect.suspend(() => setClock(seconds++)),
            open
          ),
          { until: (runs) => runs.length === 0, schedule: Schedule.spaced("1 second") }
        )
        assert.isAtMost(leaseSeconds + betweenTakeoversSeconds, 75)
        yield* Effect.forEach(left, ({ accountId }) => assertUndisturbed(accountId, expected), { discard: true })
        assert.lengthOf(yield* sql`SELECT FROM import_run WHERE takeovers > 0`, deaths.length)
        report("Import killed", { kills: deaths.length, entities: expected.entities.length })
        assert.lengthOf(deaths, 10)
      })
    )
  })

  layer(layerStoppedClock, { excludeTestServices: true })("and the process that takes over is killed too", (it) => {
    it.effect("is replaced by the next command, which finishes the import", () =>
      Effect.gen(function* () {
        const expected = yield* undisturbed(true)
        const lives: ReadonlyArray<readonly [first: Death, second: Death]> = [
          [
            { step: "committed", occurrence: 1 },
            { step: "committed", occurrence: 2 }
          ],
          [
            { step: "committed", occurrence: 2 },
            { step: "written", occurrence: 1 }
          ],
          [
            { step: "written", occurrence: 1 },
            { step: "marked", occurrence: 2 }
          ],
          [
            { step: "committed", occurrence: 3 },
            { step: "unlocked", occurrence: 1 }
          ],
          [
            { step: "marked", occurrence: 3 },
            { step: "committed", occurrence: 1 }
          ]
        ]
        const merchants = yield* Effect.forEach(lives, ([first, second]) =>
          Effect.map(aMerchant, (accountId) => ({ accountId, first, second }))
        )
        yield* dies(
          merchants.map(({ accountId, first }) => ({ accountId, ...first })),
          { IMPORT_FILE: file }
        )
        yield* untilQuiet
        yield* setClock(leaseSeconds)
        yield* dies(
          merchants.map(({ accountId, second }) => ({ accountId, ...second })),
          {}
        )
        yield* untilQuiet
        const DATABASE_URL = Redacted.value(yield* TestDatabaseUrl)
        for (const [index, { accountId }] of merchants.entries()) {
          const { id } = yield* runOf(accountId)
          const command = (...args: ReadonlyArray<string>) =>
            catalog([...args, "--account", accountId, "--json"], { DATABASE_URL })
          yield* setClock(2 * leaseSeconds - 1)
          const early = yield* command("import", "accept", id)
          const reason = "is already being applied; if its process stopped, another process continues within 75 s"
          assert.deepStrictEqual([early.code, early.stderr], [1, `import: ${reason}\n`])
          assert.deepStrictEqual(JSON.parse(early.stdout).error.details, [{ path: "import", message: reason }])
          assert.isTrue(yield* refusesWrites(accountId))
          yield* setClock(2 * leaseSeconds)
          if (index % 2 === 0) {
            const { code, stderr, stdout } = yield* command("import", "accept", id)
            assert.deepStrictEqual([code, stderr], [0, ""])
            assert.deepInclude(JSON.parse(stdout), { import_id: id, phase: "applied" })
          } else {
            // Before any other import, the unfinished one is completed.
            const absent = join(folder, "absent.csv")
            const { stderr } = yield* command("import", "csv", absent, "--store", "a.example")
            assert.strictEqual(stderr, `There is no such file: ${absent}\n`)
          }
        }
        report("Import killed twice, finished by a command", { kills: 2 * lives.length })
        assert.lengthOf(lives, 5)
        yield* Effect.forEach(merchants, ({ accountId }) => assertUndisturbed(accountId, expected), { discard: true })
      })
    )

    it.effect("fails after three takeovers with the number of applied products, and the same file completes it", () =>
      Effect.gen(function* () {
        const accountId = yield* aMerchant
        yield* dies([{ accountId, step: "written", occurrence: 2 }], { IMPORT_FILE: file })
        for (let takeover = 1; takeover <= 3; takeover++) {
          yield* setClock((2 + takeover) * leaseSeconds)
          yield* dies([{ accountId, step: "written", occurrence: 1 }], {})
        }
        yield* untilQuiet
        assert.isTrue(yield* refusesWrites(accountId))
        yield* setClock(6 * leaseSeconds)
        const imports = yield* Imports
        assert.strictEqual(yield* imports.resume(Option.some(accountId)), 1)
        assert.deepInclude(yield* runOf(accountId), {
          phase: "failed",
          applied: 250,
          error:
            "Applying the import was interrupted 4 times; 250 of 550 products were applied. Import the file again to complete it."
        })
        assert.deepInclude(yield* jobOf(yield* runOf(accountId)), {
          state: "failed",
          done: 250,
          problem: {
            why: "Applying the import was interrupted 4 times; 250 of 550 products were applied.",
            next: "Import the file again to complete it."
          }
        })
        assert.isFalse(yield* refusesWrites(accountId))
        yield* setClock(7 * leaseSeconds)
        yield* Effect.flatMap(imports.csv(file, "a.example", quiet), ({ id }) => imports.accept(id, quiet)).pipe(
          actingAs({ _tag: "Cli", accountId })
        )
        const run = yield* runOf(accountId)
        assert.deepInclude(run, { phase: "applied", applied: products - 250 })
        assert.deepInclude(run.summary, { created: products - 250, updated: 0, unchanged: 250, conflicts: 0 })
        assert.deepStrictEqual(
          judgeImport(yield* catalogOf(accountId, { counters: false }), yield* undisturbed(false)),
          { lost: [], twice: [], different: [] }
        )
      })
    )

    it.effect.runIf(runsPlanted)(
      "loses products if they are marked as done in their own transaction (planted fault)",
      () =>
        Effect.gen(function* () {
          const expected = yield* undisturbed(false)
          const accountId = yield* aMerchant
          yield* dies([{ accountId, step: "marked", occurrence: 2 }], { IMPORT_FILE: file, IMPORT_CARELESS: "true" })
          yield* untilQuiet
          yield* setClock(8 * leaseSeconds)
          assert.strictEqual(yield* (yield* Imports).resume(Option.some(accountId)), 1)
          assert.deepInclude(yield* runOf(accountId), wholeImport)
          const { lost } = judgeImport(yield* catalogOf(accountId, { counters: false }), expected)
          assert.lengthOf(lost, 250 * 4)
        })
    )
  })
})

describe.skipIf(!serverAnswers)("an importer that is killed before the import is accepted", () => {
  layer(layerStoppedClock, { excludeTestServices: true })((it) => {
    it.effect("does not lock the account, and its import fails when the lease expires; a review stays open", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const deaths = ["created", "checked", "staged", "reviewing"] as const
        const merchants = yield* Effect.forEach(deaths, (step) =>
          Effect.map(anAccount({ domains: ["a.example"] }), (owner) => ({ ...owner, step, occurrence: 1 }))
        )
        yield* dies(merchants, { IMPORT_FILE: file })
        yield* untilQuiet
        for (const { accountId, step } of merchants) {
          const isReview = step === "reviewing"
          assert.strictEqual((yield* runOf(accountId)).phase, isReview ? "reviewing" : "fetching")
          assert.strictEqual(yield* refusesWrites(accountId), isReview)
        }
        yield* setClock(leaseSeconds)
        const imports = yield* Imports
        assert.strictEqual(yield* imports.resume(Option.none()), 3)
        yield* setClock(leaseSeconds + 1)
        for (const { accountId, actor, step } of merchants) {
          if (step === "reviewing") continue
          assert.deepInclude(yield* runOf(accountId), {
            phase: "failed",
            error: "The process that read the file stopped; import it again."
          })
          assert.deepStrictEqual(yield* sql`SELECT ordinal FROM import_item WHERE account_id = ${accountId}`, [])
          const again = yield* imports.csv(file, "a.example", quiet).pipe(actingAs(actor))
          assert.deepInclude(again.summary, { created: products })
        }
        yield* setClock(10 * leaseSeconds)
        assert.strictEqual(yield* imports.resume(Option.none()), 0)
        const { accountId, actor } = merchants.at(-1) ?? assert.fail("no review")
        assert.isTrue(yield* refusesWrites(accountId))
        const { id } = yield* runOf(accountId)
        assert.deepInclude(yield* imports.accept(id, quiet).pipe(actingAs(actor)), {
          phase: "applied",
          applied: products
        })
        assert.isFalse(yield* refusesWrites(accountId))
      })
    )
  })
})
