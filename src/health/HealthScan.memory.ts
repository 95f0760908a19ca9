import { Option } from "effect"
import type { Aggregate } from "../catalog/Aggregate.ts"
import type { StoreId } from "../model/Ids.ts"
import {
  type HealthDimension,
  type HealthResult,
  type HealthSection,
  isPerStore,
  kindsWith,
  sectionsOf
} from "./Health.ts"
import { type Finding, findingsOf, type ScannedCatalog, usedMedia } from "./HealthFindings.memory.ts"
import { type Counts, isChecked, isScanned, populationOf, resultOf } from "./HealthScan.ts"

const countBy = <A>(items: ReadonlyArray<A>, keysOf: (item: A) => ReadonlyArray<string>, idOf: (item: A) => string) => {
  const ids = new Map<string, Set<string>>()
  for (const item of items) for (const key of keysOf(item)) ids.set(key, (ids.get(key) ?? new Set()).add(idOf(item)))
  return new Map([...ids].map(([key, all]) => [key, all.size]))
}

/** The counts of the account, or of one store. */
const countsOf = (
  dimension: HealthDimension,
  catalog: ScannedCatalog,
  findings: ReadonlyArray<Finding>,
  storeId: Option.Option<StoreId>
): Counts => {
  const { kinds, leastStores } = populationOf(dimension, catalog.rules)
  const used = usedMedia(catalog.aggregates)
  const scanned = new Set(catalog.stores.filter((store) => isScanned(dimension, store)).map(({ id }) => id))
  const population = catalog.aggregates.filter(({ kind }) => kinds.includes(kind))
  const checkedOf = (aggregates: ReadonlyArray<Aggregate>, of: StoreId | null) =>
    aggregates.filter(({ storeIds }) => isChecked(storeIds, leastStores, scanned, of))
  const checked = checkedOf(population, Option.getOrNull(storeId))
  const recommended = kindsWith("recommended", catalog.rules)
  const nowhere = Option.isSome(storeId) ? [] : population.filter(({ storeIds }) => storeIds.length === 0)
  const idOf = ({ entityId }: Finding) => entityId
  const scored =
    dimension === "completeness" ? findings.filter(({ section }) => section === "completeness-required") : findings
  const affectedBy = countBy(scored, (finding) => [finding.storeId], idOf)
  const entitiesBy = countBy(findings, ({ section }) => [section], idOf)
  const rowsBy = (section: HealthSection) => findings.filter((finding) => finding.section === section).length
  return {
    checked: checked.length,
    affected: new Set(scored.map(idOf)).size,
    onNoStore: nowhere.length,
    recommendedChecked: checkedOf(
      catalog.aggregates.filter(({ kind }) => recommended.includes(kind)),
      Option.getOrNull(storeId)
    ).length,
    byStore: new Map(
      catalog.stores.map(({ id }) => [
        id,
        {
          checked: scanned.has(id) ? checked.filter(({ storeIds }) => storeIds.includes(id)).length : 0,
          affected: affectedBy.get(id) ?? 0
        }
      ])
    ),
    byField: countBy(findings, ({ fields }) => fields, idOf),
    bySection: new Map(
      sectionsOf(dimension).map((section) => [
        section,
        { rows: rowsBy(section), entities: entitiesBy.get(section) ?? 0 }
      ])
    ),
    byLocale: countBy(findings, ({ locale }) => (locale === null ? [] : [locale]), idOf),
    unusedOnNoStore:
      dimension === "media" ? nowhere.filter(({ id, kind }) => kind === "media" && !used.has(id)).length : 0
  }
}

/** The snapshot of the account or of one store, with its rows. */
export interface ScannedSnapshot {
  readonly dimension: HealthDimension
  /** null: the account. */
  readonly storeId: StoreId | null
  readonly result: HealthResult
  readonly findings: ReadonlyArray<Finding>
}

/** Scans one store, or the account. A scan of the account also makes the snapshots of its stores, in dimensions that have them. */
export const scan = (
  dimension: HealthDimension,
  catalog: ScannedCatalog,
  storeId: Option.Option<StoreId>
): ReadonlyArray<ScannedSnapshot> => {
  const all = findingsOf(dimension, catalog, storeId)
  const snapshot = (of: Option.Option<StoreId>): ScannedSnapshot => {
    const findings = all.filter((finding) => Option.isNone(of) || finding.storeId === of.value)
    const storeIds = Option.match(of, {
      onNone: () => catalog.stores.map(({ id }) => id),
      onSome: (id) => [id]
    })
    return {
      dimension,
      storeId: Option.getOrNull(of),
      result: resultOf(dimension, countsOf(dimension, catalog, findings, of), storeIds, catalog.rules),
      findings
    }
  }
  return Option.isSome(storeId)
    ? [snapshot(storeId)]
    : [
        snapshot(Option.none()),
        ...(isPerStore(dimension) ? catalog.stores.map(({ id }) => snapshot(Option.some(id))) : [])
      ]
}
