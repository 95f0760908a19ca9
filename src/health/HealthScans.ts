import type { SqlClient } from "@effect/sql/SqlClient"
import type { HealthDimension } from "./Health.ts"
import { makeCompletenessScan } from "./scans/CompletenessScans.ts"
import { makeDivergenceScan } from "./scans/DivergenceScans.ts"
import { makeMediaScan } from "./scans/MediaScans.ts"
import { makeScanParts, type Scan } from "./scans/ScanParts.sql.ts"
import { makeStructureScan } from "./scans/StructureScans.ts"
import { makeSyncScan } from "./scans/SyncScans.ts"
import { makeTranslationScan } from "./scans/TranslationScans.ts"

/**
 * The scan of each dimension in SQL. It checks the effective values of all versions on linked stores.
 * HealthFindings.memory.ts has the same rules in memory. Column `shown`: a list becomes the `values` of an issue, an
 * object becomes its other fields.
 */
export const makeHealthScans = (sql: SqlClient): Readonly<Record<HealthDimension, Scan>> => {
  const parts = makeScanParts(sql)
  return {
    sync: makeSyncScan(sql, parts),
    completeness: makeCompletenessScan(sql, parts),
    media: makeMediaScan(sql, parts),
    structure: makeStructureScan(sql, parts),
    divergence: makeDivergenceScan(sql, parts),
    translations: makeTranslationScan(sql, parts)
  }
}
