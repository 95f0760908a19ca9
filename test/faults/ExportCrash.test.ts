import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { afterAll } from "vitest"
import { Imports } from "../../src/imports/Imports.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { actingAs, anAccount, Stores } from "../../src/testing/index.ts"
import { aProductOf } from "../support/ShopRecords.ts"
import { setClock } from "../support/TestClock.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { runsPlanted } from "../support/Volume.ts"
import { report } from "./Dice.ts"
import { type Death, importDeaths, leaseSeconds, refusesWrites } from "./ImportDeaths.ts"
import { layerStoppedClock, untilQuiet } from "./ServerServices.ts"

const dies = importDeaths()

const folder = mkdtempSync(join(tmpdir(), "export-crash-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const products = 60
const inShop = 40
const file = join(folder, "all.csv")
writeFileSync(
  file,
  `Handle,Title,Option1 Name,Option1 Value,Variant SKU,Variant Price\n${Array.from({ length: products }, (_, n) => `p-${n},Product ${n},Size,S,p-${n}-S,10.00`).join("\n")}\n`
)

/** An account whose shop has most of the products of the file. */
const aMerchant = Effect.gen(function* () {
  const { accountId, actor } = yield* anAccount()
  const { store } = yield* Effect.flatMap(Stores, ({ link }) => link({ domain: "a.example", platform: "demo" })).pipe(
    actingAs(actor)
  )
  const records = Array.from({ length: inShop }, (_, n) => aProductOf(`p-${n}`, ["S"])).flat()
  yield* (yield* DemoShops).put({ accountId, storeId: store.id }, records)
  return accountId
})

const states = (accountId: AccountId) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      SELECT v.last_publish_status AS status, v.accepted IS NOT NULL AS accepted, v.platform_id IS NOT NULL AS named,
             count(*)::integer AS count
      FROM store_version v WHERE v.account_id = ${accountId} GROUP BY 1, 2, 3 ORDER BY 1`
  )

/** The merchants' stores after their importers were killed and another process continued. */
const after = (round: number, deaths: ReadonlyArray<Death>, more: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    yield* setClock(2 * round * leaseSeconds)
    const merchants = yield* Effect.forEach(deaths, (death) =>
      Effect.map(aMerchant, (accountId) => ({ accountId, ...death }))
    )
    yield* dies(merchants, { IMPORT_FILE: file, ...more })
    yield* untilQuiet
    const imports = yield* Imports
    const runOf = (accountId: AccountId) =>
      Effect.map(imports.list, ([run]) => run).pipe(actingAs({ _tag: "Cli", accountId }))
    for (const { accountId, step } of merchants) {
      assert.deepInclude(yield* runOf(accountId), { phase: "applying", applied: products }, step)
      assert.isTrue(yield* refusesWrites(accountId), step)
    }
    yield* setClock((2 * round + 1) * leaseSeconds)
    return yield* Effect.forEach(merchants, ({ accountId, step }) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* imports.resume(Option.some(accountId)), 1, step)
        const run = yield* runOf(accountId)
        assert.deepInclude(run, { phase: "applied", applied: products, error: null }, step)
        assert.deepInclude(run?.summary.answer, { entities: 2 * inShop }, step)
        assert.isFalse(yield* refusesWrites(accountId), step)
        report("Export killed while its store answered", { step, entities: 2 * products })
        return [step, yield* states(accountId)] as const
      })
    )
  })

const right = [
  { status: "never_published", accepted: false, named: false, count: 2 * (products - inShop) },
  { status: "published", accepted: true, named: true, count: 2 * inShop }
]

describe.skipIf(!serverAnswers)("an export for a store with a platform whose importer is killed", () => {
  layer(layerStoppedClock, { excludeTestServices: true })((it) => {
    const deaths: ReadonlyArray<Death> = [
      { step: "askingStore", occurrence: 1 },
      { step: "pulled", occurrence: 1 },
      { step: "storeAnswered", occurrence: 1 },
      { step: "written", occurrence: 2 },
      { step: "marked", occurrence: 2 },
      { step: "unlocked", occurrence: 1 }
    ]
    it.effect("ends with the store's values, whenever it was killed, and no others count as accepted", () =>
      Effect.map(after(0, deaths), (held) =>
        assert.deepStrictEqual(
          held,
          deaths.map(({ step }) => [step, right] as const)
        )
      )
    )

    it.effect.runIf(runsPlanted)(
      "loses the store's values if an item is marked as done in its own transaction (planted fault)",
      () =>
        Effect.map(after(1, [{ step: "marked", occurrence: 2 }], { IMPORT_CARELESS: "true" }), (held) =>
          assert.deepStrictEqual(held, [
            ["marked", [{ status: "never_published", accepted: false, named: false, count: 2 * products }]]
          ])
        )
    )
  })
})
