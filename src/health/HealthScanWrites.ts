import { createHash } from "node:crypto"
import type { SqlClient } from "@effect/sql/SqlClient"
import { Array as Arr, type Context, Effect, Option } from "effect"
import { findAll } from "../database/Rows.ts"
import { orDie, referenceAsConflict } from "../database/SqlErrors.ts"
import { readMetafieldRules } from "../drafts/DefinitionsRepo.ts"
import { EntityId, nilUuid, type StoreId } from "../model/Ids.ts"
import { builtInKeyRules, KeyRules } from "../model/KeyRules.ts"
import { addBlocks, type DividedRows, fullestBlock, noBlocks } from "./BlockedLists.ts"
import { type HealthDimension, type HealthRules, isPerStore, kindsWith, type ScanCause } from "./Health.ts"
import { type HealthBase, makeHealthBases, maxChanged, type ScanOf } from "./HealthBases.sql.ts"
import type { HealthRepo } from "./HealthRepo.ts"
import { makeHealthRules } from "./HealthRules.sql.ts"
import { type Counts, isChecked, isScanned, populationOf, resultOf, unusedOnNoStore } from "./HealthScan.ts"
import {
  LinkedStore,
  makeDivideRows,
  makeInsertRows,
  makeStep,
  type Population,
  type RowCount,
  type StepResult
} from "./HealthScanRows.sql.ts"
import { makeHealthScans } from "./HealthScans.ts"
import { makeNextRun, makeReplaceSnapshots } from "./HealthSnapshots.sql.ts"
import { makeLinkedStores } from "./scans/ScanParts.sql.ts"

/** Sizes of the steps and blocks of a scan. */
export interface ScanSizes {
  /** Number of entities that one step of a full scan reads. */
  readonly entitiesPerStep: number
  /** Number of rows in a block, over all sections. */
  readonly rowsPerBlock: number
}

/** The base is divided into blocks again when one block of a list has more than this many times `rowsPerBlock` rows. */
const maxPerBlock = 10

/** Signals that stores were linked, unlinked or changed during a step. */
class StoresChanged {
  readonly _tag = "StoresChanged"
}

/** Reads the other inputs of a scan: its rules and stores. */
const makeScanPlans = (sql: SqlClient) => {
  const readRules = makeHealthRules(sql).rules
  const metafields = readMetafieldRules(sql)
  const scans = makeHealthScans(sql)
  const linkedStores = makeLinkedStores(sql)

  /** The rules of the scan, and a hash of all inputs except the catalog. */
  const readPlan = ({ accountId, dimension }: ScanOf) =>
    Effect.gen(function* () {
      const rules = yield* readRules(accountId)
      const keys =
        dimension === "structure" ? new KeyRules(yield* metafields({ accountId, stores: null })) : builtInKeyRules
      const [text, parameters] = sql`${scans[dimension]({ accountId, keys, rules })}`.compile()
      const fingerprint = createHash("sha256")
        .update(JSON.stringify([text, parameters, populationOf(dimension, rules), kindsWith("recommended", rules)]))
        .digest("hex")
      return { rules, keys, fingerprint }
    })
  const readLinked = findAll(LinkedStore)(
    ({ accountId, storeId }: ScanOf) => sql`
      SELECT l.id, l.domain, l.platform, l.locales, l.language, l.currency FROM (${linkedStores(accountId, storeId)}) l`
  )

  return { readPlan, readLinked }
}

type ScanPlan = Effect.Effect.Success<ReturnType<ReturnType<typeof makeScanPlans>["readPlan"]>>

/**
 * Runs one step of a scan. The caller opens the transaction and locks the dimension. Without a usable base, the first
 * step creates one and each later step adds a range of entities. With a usable base, the scan is incremental and has
 * one step.
 */
export const makeScan = (
  sql: SqlClient,
  isDistributed: boolean,
  { entitiesPerStep, rowsPerBlock }: ScanSizes
): Context.Tag.Service<HealthRepo>["scan"] => {
  const nextRun = makeNextRun(sql)
  const step = makeStep(sql, isDistributed)
  const insertRows = makeInsertRows(sql)
  const divideRows = makeDivideRows(sql, rowsPerBlock)
  const replaceSnapshots = makeReplaceSnapshots(sql)
  const { begin, changedSince, endOf, lists, newest, save, saveLists, undivide } = makeHealthBases(sql)

  const { readLinked, readPlan } = makeScanPlans(sql)
  /**
   * Whether a base can be updated incrementally. After too many changes it cannot: a full scan is slower, but its steps
   * have a bounded length.
   */
  const isUsable = (scan: ScanOf, base: HealthBase, linked: ReadonlyArray<LinkedStore>, { fingerprint }: ScanPlan) =>
    Effect.gen(function* () {
      if (base.fingerprint !== fingerprint || !keepsStores(scan.dimension, base.stores, linked)) return false
      const { changed } = yield* changedSince(scan.accountId, base.version)
      return changed <= Math.max(maxChanged.entities, base.entities / maxChanged.part)
    })

  /** Updates the blocks of a base after a step. */
  const divide = ({ accountId, dimension }: ScanOf, base: HealthBase, end: EntityId | null, { blocks }: StepResult) =>
    Effect.gen(function* () {
      const before = yield* lists(accountId, base.base)
      const range: DividedRows =
        base.reached === null ? noBlocks : yield* divideRows(accountId, base.base, dimension, base.reached, end)
      const changed = addBlocks(before, blocks, range, base.blocks)
      yield* saveLists(accountId, base.base, changed)
      if (base.reached !== null || fullestBlock(changed) <= maxPerBlock * rowsPerBlock) return range.starts
      yield* undivide(accountId, base.base)
      const all = yield* divideRows(accountId, base.base, dimension, EntityId.make(nilUuid), null)
      yield* saveLists(accountId, base.base, addBlocks([], [], all))
      return all.starts
    })

  /** Replaces the snapshots by those of a complete base. */
  const show = (scan: ScanOf & { readonly cause: ScanCause }, run: number, base: HealthBase, rules: HealthRules) => {
    const storeIds = base.stores.map(({ id }) => id)
    const results = scopesOf(scan.dimension, scan.storeId, storeIds).map((scope) => ({
      storeId: scope,
      result: resultOf(scan.dimension, countsOf(scan, rules, scope, base), scope === null ? storeIds : [scope], rules)
    }))
    return replaceSnapshots({ ...scan, run, base: base.base, asOfVersion: base.version, results })
  }

  /**
   * Adds the next range to an incomplete base, and applies the changes since its last step. Returns the base once it is
   * complete.
   */
  const advance = (scan: ScanOf, base: HealthBase, linked: ReadonlyArray<LinkedStore>, plan: ScanPlan) =>
    Effect.gen(function* () {
      const { accountId } = scan
      const end = base.reached === null ? null : (yield* endOf(accountId, base.reached, entitiesPerStep)).end
      const stepped = yield* step({
        ...scan,
        ...plan,
        base: base.base,
        version: base.version,
        reached: base.reached,
        end
      })
      // Rows from earlier steps depend on the stores as they were then.
      if (!keepsStores(scan.dimension, linked, stepped.stores)) return yield* Effect.fail(new StoresChanged())
      if (stepped.found !== null) yield* insertRows(accountId, base.base, stepped.found)
      const starts = yield* divide(scan, base, end, stepped)
      const next: HealthBase = {
        ...base,
        version: stepped.version,
        reached: end,
        stores: stepped.stores,
        population: addPopulation(base.population, stepped.population),
        counts: addCounts(base.counts, stepped.counts),
        scanned: base.scanned + stepped.scanned
      }
      yield* save(accountId, next, starts)
      return next
    })

  return (accountId, dimension, storeId, cause = "request") =>
    Effect.gen(function* () {
      const scan: ScanOf = { accountId, dimension, storeId }
      // A step reads many rows, but must find everything except the changed entities by key. A plan that reads whole
      // tables would make each step as slow as a full scan. On a cluster the nodes get each SET LOCAL, but no `set_config`.
      yield* sql`
        DO 'BEGIN
          SET LOCAL statement_timeout = ''10min''; SET LOCAL work_mem = ''64MB''; SET LOCAL jit = off;
          SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
        END'`
      // Drawn before anything is read: callers with lower numbers see the scan with the rules that they had written.
      const run = yield* nextRun
      const plan = yield* readPlan(scan)
      const linked = yield* readLinked(scan)
      const base = Option.getOrUndefined(yield* newest(scan))
      if (base === undefined || !(yield* isUsable(scan, base, linked, plan))) {
        yield* begin({ ...scan, base: run, fingerprint: plan.fingerprint, stores: linked })
        const { entities, scanned } = Option.getOrThrow(yield* newest(scan))
        return { run: null, scanned, entities }
      }
      const next = yield* advance(scan, base, linked, plan).pipe(
        sql.withTransaction,
        // The next step sees that the base is not usable and creates a new one.
        Effect.catchTag("StoresChanged", () => Effect.succeed(base))
      )
      if (next === base || next.reached !== null) return { run: null, scanned: next.scanned, entities: next.entities }
      yield* show({ ...scan, cause }, run, next, plan.rules)
      const entities = entitiesIn(next.population)
      return { run, scanned: entities, entities }
      // The deletion of the account has deleted the base meanwhile. The step that runs again finds the account's mark.
    }).pipe(referenceAsConflict, orDie)
}

/** Compares the last base of the account with everything that a scan reads. */
export const makeCurrent = (sql: SqlClient): Context.Tag.Service<HealthRepo>["current"] => {
  const { readLinked, readPlan } = makeScanPlans(sql)
  const { isNoted, newest } = makeHealthBases(sql)
  return (accountId, dimension) =>
    Effect.gen(function* () {
      const scan: ScanOf = { accountId, dimension, storeId: null }
      const base = Option.getOrUndefined(yield* newest(scan))
      if (base === undefined || base.reached !== null) return Option.none()
      if (base.fingerprint !== (yield* readPlan(scan)).fingerprint) return Option.none()
      const linked = yield* readLinked(scan)
      if (!keepsStores(dimension, base.stores, linked) || linked.length > base.stores.length) return Option.none()
      if ((yield* isNoted(accountId, base.version)).noted) return Option.none()
      return Option.some(entitiesIn(base.population))
    }).pipe(orDie)
}

/** The settings of a store that affect the rows of a dimension. */
const basisOf = (dimension: HealthDimension, { currency, language, locales, platform }: LinkedStore): string => {
  switch (dimension) {
    case "sync":
      return platform
    case "divergence":
      return JSON.stringify([language, currency])
    case "translations":
      return JSON.stringify(locales)
    default:
      return ""
  }
}

/**
 * Whether all these stores are still linked and have the same settings as before, where the dimension depends on them.
 * More stores may be linked.
 */
const keepsStores = (
  dimension: HealthDimension,
  before: ReadonlyArray<LinkedStore>,
  after: ReadonlyArray<LinkedStore>
): boolean =>
  before.every((store) =>
    after.some((other) => other.id === store.id && basisOf(dimension, other) === basisOf(dimension, store))
  )

const addPopulation = (
  before: ReadonlyArray<Population>,
  change: ReadonlyArray<Population>
): ReadonlyArray<Population> => {
  const groups = new Map<string, Population>()
  for (const group of [...before, ...change]) {
    const storeIds = [...group.storeIds].sort()
    const key = `${group.kind} ${storeIds.join()}`
    groups.set(key, { kind: group.kind, storeIds, entities: (groups.get(key)?.entities ?? 0) + group.entities })
  }
  return [...groups.values()].filter(({ entities }) => entities !== 0)
}

const addCounts = (before: ReadonlyArray<RowCount>, change: ReadonlyArray<RowCount>): ReadonlyArray<RowCount> => {
  const counts = new Map<string, RowCount>()
  for (const count of [...before, ...change]) {
    const key = `${count.storeId} ${count.what} ${count.name}`
    const { entities = 0, rows = 0 } = counts.get(key) ?? {}
    counts.set(key, { ...count, rows: rows + count.rows, entities: entities + count.entities })
  }
  return [...counts.values()].filter(({ entities, rows }) => entities !== 0 || rows !== 0)
}

/** The snapshots that a scan writes: null is the account's, an id is a store's. */
const scopesOf = (
  dimension: HealthDimension,
  storeId: StoreId | null,
  storeIds: ReadonlyArray<StoreId>
): ReadonlyArray<StoreId | null> =>
  storeId === null ? [null, ...(isPerStore(dimension) ? storeIds : [])] : storeIds.filter((id) => id === storeId)

/** The counts for one snapshot. */
const countsOf = (
  { dimension, storeId }: ScanOf,
  rules: HealthRules,
  scope: StoreId | null,
  { counts, population: groups, stores }: HealthBase
): Counts => {
  // A scan of one store has only rows of that store.
  const ofScope = counts.filter((row) => row.storeId === (storeId === null ? scope : null))
  const { kinds, leastStores } = populationOf(dimension, rules)
  const recommended = kindsWith("recommended", rules)
  const scanned = new Set(stores.filter((store) => isScanned(dimension, store)).map(({ id }) => id))
  const population = groups.filter(({ kind }) => kinds.includes(kind))
  const checkedIn = (some: ReadonlyArray<Population>) =>
    some.filter(({ storeIds }) => isChecked(storeIds, leastStores, scanned, scope))
  const checked = checkedIn(population)
  const rowsOf = (what: RowCount["what"]) => ofScope.filter((row) => row.what === what)
  return {
    checked: entitiesIn(checked),
    affected: rowsOf("all")[0]?.entities ?? 0,
    onNoStore: scope === null ? entitiesIn(population.filter(({ storeIds }) => storeIds.length === 0)) : 0,
    recommendedChecked: entitiesIn(checkedIn(groups.filter(({ kind }) => recommended.includes(kind)))),
    byStore: new Map(
      stores.map(({ id }) => [
        id,
        {
          checked: scanned.has(id) ? entitiesIn(checked.filter(({ storeIds }) => storeIds.includes(id))) : 0,
          affected: counts.find((row) => row.storeId === id && row.what === "all")?.entities ?? 0
        }
      ])
    ),
    byField: new Map(rowsOf("field").map(({ entities, name }) => [name, entities])),
    bySection: new Map(rowsOf("section").map(({ entities, name, rows }) => [name, { rows, entities }])),
    byLocale: new Map(rowsOf("locale").map(({ entities, name }) => [name, entities])),
    unusedOnNoStore: rowsOf("section").find(({ name }) => name === unusedOnNoStore)?.entities ?? 0
  }
}

const entitiesIn = (groups: ReadonlyArray<Population>) => Arr.reduce(groups, 0, (sum, { entities }) => sum + entities)
