import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { afterAll } from "vitest"
import { Imports } from "../../src/imports/Imports.ts"
import type { AccountId } from "../../src/model/Ids.ts"
import { DemoShops } from "../../src/platform/demo/DemoShops.ts"
import { ServicesOnDatabase } from "../../src/Services.ts"
import { actingAs, anAccount, Stores } from "../../src/testing/index.ts"
import { aProductOf } from "../support/ShopRecords.ts"
import { setClock, stopClock } from "../support/TestClock.ts"
import { serverAnswers } from "../support/TestDatabase.ts"
import { report } from "./Dice.ts"
import { type Death, importDeaths, leaseSeconds, refusesWrites } from "./ImportDeaths.ts"
import { layerDatabase, untilQuiet } from "./ServerServices.ts"

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

/** The merchant's stores after an importer was killed and another process continued. */
const after = (round: number, death: Death, more: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    if (round === 0) yield* stopClock
    yield* setClock(2 * round * leaseSeconds)
    const accountId = yield* aMerchant
    yield* dies(accountId, death, { IMPORT_FILE: file, ...more })
    yield* untilQuiet
    const imports = yield* Imports
    const runOf = Effect.map(imports.list, ([run]) => run).pipe(actingAs({ _tag: "Cli", accountId }))
    assert.deepInclude(yield* runOf, { phase: "applying", applied: products })
    assert.isTrue(yield* refusesWrites(accountId))
    yield* setClock((2 * round + 1) * leaseSeconds)
    assert.strictEqual(yield* imports.resume(Option.some(accountId)), 1)
    const run = yield* runOf
    assert.deepInclude(run, { phase: "applied", applied: products, error: null })
    assert.deepInclude(run?.summary.answer, { entities: 2 * inShop })
    assert.isFalse(yield* refusesWrites(accountId))
    report("Export killed while its store answered", { step: death.step, entities: 2 * products })
    return yield* states(accountId)
  })

const right = [
  { status: "never_published", accepted: false, named: false, count: 2 * (products - inShop) },
  { status: "published", accepted: true, named: true, count: 2 * inShop }
]

describe.skipIf(!serverAnswers)("an export for a store with a platform whose importer is killed", () => {
  layer(ServicesOnDatabase.pipe(Layer.provideMerge(layerDatabase(6))), { excludeTestServices: true })((it) => {
    const deaths: ReadonlyArray<Death> = [
      { step: "askingStore", occurrence: 1 },
      { step: "pulled", occurrence: 1 },
      { step: "storeAnswered", occurrence: 1 },
      { step: "written", occurrence: 2 },
      { step: "marked", occurrence: 2 },
      { step: "unlocked", occurrence: 1 }
    ]
    for (const [round, death] of deaths.entries())
      it.effect(`(${death.step}) ends with the store's values, and no others count as accepted`, () =>
        Effect.map(after(round, death), (held) => assert.deepStrictEqual(held, right))
      )

    it.effect("loses the store's values if an item is marked as done in its own transaction (planted fault)", () =>
      Effect.map(after(deaths.length, { step: "marked", occurrence: 2 }, { IMPORT_CARELESS: "true" }), (held) =>
        assert.deepStrictEqual(held, [
          { status: "never_published", accepted: false, named: false, count: 2 * products }
        ])
      )
    )
  })
})
