import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Imports } from "../../src/imports/Imports.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import type { PlatformRecord } from "../../src/platform/PlatformRecord.ts"
import { actingAs, anAccount, Stores } from "../../src/testing/index.ts"
import { held } from "../support/ShopRecords.ts"
import { setClock } from "../support/TestClock.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { type Death, importDeaths, leaseSeconds, refusesWrites } from "./ImportDeaths.ts"
import { assertWroteTheSame, catalogOf, type ImportedCatalog, judgeImport } from "./ImportJudge.ts"
import { layerStoppedClock, untilQuiet } from "./ServerServices.ts"

const dies = importDeaths()

/** Products with four entities each. Files come first: all files and some products fill the first transaction. */
const products = 300
const inBase = 20
const items = 2 * products
const inFirst = Math.floor((1_000 - products) / 3)

const quiet = () => Effect.void

const shopOf = (count: number, price: string): ReadonlyArray<PlatformRecord> =>
  Array.from({ length: count }, (_, index) => [
    held("media", `file/${index}`, { url: `https://cdn.example/${index}.jpg` }),
    held(
      "product",
      `product/${index}`,
      { handle: `p-${index}`, title: `Product ${index}` },
      { media: [`file/${index}`] }
    ),
    ...["S", "M"].map((size) =>
      held(
        "variant",
        `variant/${index}/${size}`,
        { sku: `${size}-${index}`, option1: size, title: size, price },
        { parentId: `product/${index}` }
      )
    )
  ]).flat()

/** An account with two shops. One was imported before, and the import of the other one changes some of its products. */
const aMerchant = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const { link } = yield* Stores
  const imports = yield* Imports
  const shops = yield* DemoShops
  yield* Effect.gen(function* () {
    const { store: all } = yield* link({ domain: "a.example", platform: "demo" })
    const { store: base } = yield* link({ domain: "b.example", platform: "demo" })
    yield* shops.put({ accountId, storeId: all.id }, shopOf(products, "10.00"))
    yield* shops.put({ accountId, storeId: base.id }, shopOf(inBase, "9.00"))
    yield* Effect.flatMap(imports.refresh("b.example", quiet), ({ id }) => imports.accept(id, quiet))
  }).pipe(actingAs(actor))
  return accountId
})

/** A merchant for each death. */
const merchantsOf = <D extends Death>(deaths: ReadonlyArray<D>) =>
  Effect.forEach(deaths, (death) => Effect.map(aMerchant, (accountId) => ({ ...death, accountId })))

const cli = (accountId: AccountId) => actingAs({ _tag: "Cli", accountId })

/** The refresh that the killed processes run. */
const runOf = (accountId: AccountId) =>
  Effect.gen(function* () {
    const run = (yield* (yield* Imports).list).find(({ storeDomain }) => storeDomain === "a.example")
    assert(run !== undefined)
    return run
  }).pipe(cli(accountId))

const undisturbed = (counters: boolean) =>
  Effect.gen(function* () {
    const accountId = yield* aMerchant
    const imports = yield* Imports
    yield* Effect.flatMap(imports.refresh("a.example", quiet), ({ id }) => imports.accept(id, quiet)).pipe(
      cli(accountId)
    )
    return yield* catalogOf(accountId, { counters })
  })

const assertUndisturbed = (accountId: AccountId, expected: ImportedCatalog) =>
  Effect.gen(function* () {
    const run = yield* runOf(accountId)
    assert.deepInclude(run, { phase: "applied", applied: items, error: null })
    assert.deepInclude(run.summary, { created: products - inBase, updated: inBase, conflicts: 0, unlinked: 0 })
    yield* assertWroteTheSame(accountId, run.id, expected)
    assert.isFalse(yield* refusesWrites(accountId))
  })

describe.skipIf(!serverAnswers)("a refresh that is killed", () => {
  layer(layerStoppedClock, { excludeTestServices: true })((it) => {
    const deaths: ReadonlyArray<Death & { readonly applied: number }> = [
      { step: "written", occurrence: 1, applied: 0 },
      { step: "marked", occurrence: 2, applied: products + inFirst },
      { step: "committed", occurrence: 1, applied: products + inFirst },
      { step: "unlocked", occurrence: 1, applied: items }
    ]
    it.effect("while it is applied continues at the first item that is not done, and writes each item once", () =>
      Effect.gen(function* () {
        const expected = yield* undisturbed(true)
        assert.lengthOf(expected.entities, 4 * products)
        const merchants = yield* merchantsOf(deaths)
        yield* dies(merchants, { IMPORT_REFRESH: "a.example" })
        yield* untilQuiet
        const imports = yield* Imports
        for (const { accountId, applied } of merchants) {
          assert.deepInclude(yield* runOf(accountId), { phase: "applying", applied })
          assert.isTrue(yield* refusesWrites(accountId))
        }
        yield* setClock(leaseSeconds)
        for (const { accountId, step } of merchants) {
          assert.strictEqual(yield* imports.resume(Option.some(accountId)), 1)
          yield* assertUndisturbed(accountId, expected)
          report("Refresh killed while it was applied", { step, entities: expected.entities.length })
        }
      })
    )

    it.effect.runIf(runsPlanted)(
      "loses products if they are marked as done in their own transaction (planted fault)",
      () =>
        Effect.gen(function* () {
          yield* setClock(10 * leaseSeconds)
          const whole = yield* undisturbed(false)
          const accountId = yield* aMerchant
          yield* dies([{ accountId, step: "marked", occurrence: 2 }], {
            IMPORT_REFRESH: "a.example",
            IMPORT_CARELESS: "true"
          })
          yield* untilQuiet
          yield* setClock(11 * leaseSeconds)
          assert.strictEqual(yield* (yield* Imports).resume(Option.some(accountId)), 1)
          const { lost } = judgeImport(yield* catalogOf(accountId, { counters: false }), whole)
          // Products are read in the order of their platform ids; those of the other shop existed before.
          const inOrder = Array.from({ length: products }, (_, index) => String(index)).sort()
          assert.lengthOf(lost, 3 * inOrder.slice(inFirst).filter((index) => Number(index) >= inBase).length)
        })
    )

    const early: ReadonlyArray<Death> = [
      { step: "created", occurrence: 1 },
      { step: "pulled", occurrence: 2 },
      { step: "fetched", occurrence: 1 },
      { step: "staged", occurrence: 2 }
    ]
    it.effect("while it reads the store locks nothing, and fails when its lease expires", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* setClock(12 * leaseSeconds)
        const merchants = yield* merchantsOf(early)
        const before = yield* Effect.forEach(merchants, ({ accountId }) => catalogOf(accountId, { counters: true }))
        yield* dies(merchants, { IMPORT_REFRESH: "a.example" })
        yield* untilQuiet
        for (const { accountId } of merchants) {
          assert.strictEqual((yield* runOf(accountId)).phase, "fetching")
          assert.isFalse(yield* refusesWrites(accountId))
        }
        yield* setClock(13 * leaseSeconds)
        const imports = yield* Imports
        for (const [index, { accountId }] of merchants.entries()) {
          assert.strictEqual(yield* imports.resume(Option.some(accountId)), 1)
          assert.deepInclude(yield* runOf(accountId), {
            phase: "failed",
            error: "The process that read the store stopped; refresh it again."
          })
          for (const table of ["import_record", "import_conflict"])
            assert.deepStrictEqual(yield* sql`SELECT ordinal FROM ${sql(table)} WHERE account_id = ${accountId}`, [])
          assert.deepStrictEqual(
            yield* sql`
              SELECT i.ordinal FROM import_item i JOIN import_run r ON r.account_id = i.account_id AND r.id = i.run_id
              WHERE i.account_id = ${accountId} AND r.phase = 'failed'`,
            []
          )
          assert.deepStrictEqual(yield* catalogOf(accountId, { counters: true }), before[index])
        }
        yield* setClock(13 * leaseSeconds + 1)
        for (const { accountId } of merchants) {
          const again = yield* imports.refresh("a.example", quiet).pipe(cli(accountId))
          assert.deepInclude(again.summary, { created: products - inBase, updated: inBase })
          yield* imports.discard(again.id).pipe(cli(accountId))
        }
      })
    )
  })
})
