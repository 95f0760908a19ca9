import type { SqlClient } from "@effect/sql/SqlClient"
import { Array as Arr, type Context, Effect } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import { readMetafieldRules } from "../drafts/DefinitionsRepo.ts"
import type { StoreId } from "../model/Ids.ts"
import { builtInKeyRules, KeyRules } from "../model/KeyRules.ts"
import { type HealthDimension, type HealthRules, isPerStore, kindsWith } from "./Health.ts"
import type { HealthRepo } from "./HealthRepo.ts"
import { makeHealthRules } from "./HealthRules.sql.ts"
import { type Counts, isChecked, isScanned, populationOf, resultOf } from "./HealthScan.ts"
import { makeCountRows, makeWriteRows, type RowCount, type WrittenRows } from "./HealthScanRows.sql.ts"
import { makeNextRun, makeReplaceSnapshots } from "./HealthSnapshots.sql.ts"

/** Scans a dimension: writes the rows, counts them, and replaces the snapshots. */
export const makeScan = (sql: SqlClient): Context.Tag.Service<HealthRepo>["scan"] => {
  const readRules = makeHealthRules(sql).rules
  const metafields = readMetafieldRules(sql)
  const nextRun = makeNextRun(sql)
  const writeRows = makeWriteRows(sql)
  const countRows = makeCountRows(sql)
  const replaceSnapshots = makeReplaceSnapshots(sql)

  return (accountId, dimension, storeId) =>
    Effect.gen(function* () {
      // A scan reads and sorts the whole catalog. It needs more time and memory than a page.
      yield* sql`SET LOCAL statement_timeout = '10min'`
      yield* sql`SET LOCAL work_mem = '64MB'`
      const rules = yield* readRules(accountId)
      const run = yield* nextRun
      const keys = dimension === "structure" ? new KeyRules(yield* metafields(accountId)) : builtInKeyRules
      const written = yield* writeRows({ accountId, dimension, storeId, run, rules, keys })
      const counted = yield* countRows({ accountId, dimension, run })
      const storeIds = written.stores.map(({ id }) => id)
      const results = scopesOf(dimension, storeId, storeIds).map((scope) => {
        // All rows of one store's scan are of that store.
        const ofScope = counted.filter((row) => row.storeId === (storeId === null ? scope : null))
        const counts = countsOf(dimension, rules, scope, written, counted, ofScope)
        return {
          storeId: scope,
          result: JSON.stringify(resultOf(dimension, counts, scope === null ? storeIds : [scope], rules))
        }
      })
      yield* replaceSnapshots({ accountId, dimension, storeId, run, asOfVersion: written.asOfVersion, results })
      return run
    }).pipe(Effect.catchTag("NoSuchElementException", Effect.die), orDie)
}

/** The snapshots that a scan writes: of the account (null), or of a store. */
const scopesOf = (
  dimension: HealthDimension,
  storeId: StoreId | null,
  storeIds: ReadonlyArray<StoreId>
): ReadonlyArray<StoreId | null> =>
  storeId === null ? [null, ...(isPerStore(dimension) ? storeIds : [])] : storeIds.filter((id) => id === storeId)

/** The numbers of one snapshot. `ofScope`: the counts of the rows that it includes. */
const countsOf = (
  dimension: HealthDimension,
  rules: HealthRules,
  scope: StoreId | null,
  { groups, stores, unusedOnNoStore }: WrittenRows,
  counted: ReadonlyArray<RowCount>,
  ofScope: ReadonlyArray<RowCount>
): Counts => {
  const { kinds, leastStores } = populationOf(dimension, rules)
  const recommended = kindsWith("recommended", rules)
  const scanned = new Set(stores.filter((store) => isScanned(dimension, store)).map(({ id }) => id))
  const population = groups.filter(({ kind }) => kinds.includes(kind))
  const checkedIn = (some: WrittenRows["groups"]) =>
    some.filter(({ storeIds }) => isChecked(storeIds, leastStores, scanned, scope))
  const checked = checkedIn(population)
  const named = (what: RowCount["what"]) => ofScope.filter((row) => row.what === what)
  return {
    checked: entitiesIn(checked),
    affected: named("all")[0]?.entities ?? 0,
    onNoStore: scope === null ? entitiesIn(population.filter(({ storeIds }) => storeIds.length === 0)) : 0,
    recommendedChecked: entitiesIn(checkedIn(groups.filter(({ kind }) => recommended.includes(kind)))),
    byStore: new Map(
      stores.map(({ id }) => [
        id,
        {
          checked: scanned.has(id) ? entitiesIn(checked.filter(({ storeIds }) => storeIds.includes(id))) : 0,
          affected: counted.find((row) => row.storeId === id && row.what === "all")?.entities ?? 0
        }
      ])
    ),
    byField: new Map(named("field").map(({ entities, name }) => [name, entities])),
    bySection: new Map(named("section").map(({ entities, name, rows }) => [name, { rows, entities }])),
    byLocale: new Map(named("locale").map(({ entities, name }) => [name, entities])),
    unusedOnNoStore
  }
}

const entitiesIn = (groups: WrittenRows["groups"]) => Arr.reduce(groups, 0, (sum, { entities }) => sum + entities)
