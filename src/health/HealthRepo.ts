import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { HealthDimension, HealthIssue, HealthRules, HealthSection } from "./Health.ts"
import { makeTidyScans, makeUnfinished } from "./HealthBases.sql.ts"
import { makeHealthIssues } from "./HealthIssues.sql.ts"
import { makeHealthRules } from "./HealthRules.sql.ts"
import { makeScan, type ScanSizes } from "./HealthScanWrites.ts"
import { makeForgetting, makeHealthSnapshots } from "./HealthSnapshots.sql.ts"

/** A page of a section's rows. */
export interface IssueQuery {
  readonly section: HealthSection
  /** From 1. */
  readonly page: number
  readonly pageSize: number
  readonly storeId: StoreId | null
  readonly locale: string | null
  /** Only rows with one of these fields. Such a page is read from the first row of the section on. */
  readonly fields?: ReadonlyArray<string> | undefined
}

export type IssueFilter = Omit<IssueQuery, "page" | "pageSize" | "fields">

/** A page of a section, as of its last scan. */
export interface IssueRows {
  readonly scannedAt: Timestamp
  readonly rows: ReadonlyArray<HealthIssue>
  readonly hasNext: boolean
  /** `compared` of the snapshot; null: the snapshot has none. */
  readonly compared: number | null
}

/** What a step of a scan did. */
export interface ScanStep {
  /** The number of the scan, if the step finished it. */
  readonly run: number | null
  /** The entities that were scanned so far, of all that there were when the scan began. */
  readonly scanned: number
  readonly entities: number
}

/** A scan from nothing that is not finished. */
export interface ScanProgress extends Omit<ScanStep, "run"> {
  readonly dimension: HealthDimension
  /** null: the scan of the account. */
  readonly storeId: StoreId | null
  readonly begunAt: Timestamp
}

/** Snapshots of the catalog's quality, and their rows. Readers see the last finished scan. */
export class HealthRepo extends Context.Tag("catalog/HealthRepo")<
  HealthRepo,
  {
    /** Draws the number of a scan. A scan with a larger number, from any process, began later. */
    readonly ticket: Effect.Effect<number>
    /** Locks a dimension for a scan until the transaction ends. False: another scan has the lock. Never waits. */
    readonly tryLock: (accountId: AccountId, dimension: HealthDimension) => Effect.Effect<boolean>
    /** The number of the last scan of the account or of a store; 0: there was none. */
    readonly lastRun: (
      accountId: AccountId,
      dimension: HealthDimension,
      storeId: StoreId | null
    ) => Effect.Effect<number>
    /**
     * Does one step of a scan of the account or of one store, in the caller's transaction, which holds the lock of the
     * dimension. Repeat it until it returns the scan's number. A scan from nothing has many steps, and any process can go on
     * with it; a scan after it brings its result up to date in one. The step that finishes a scan replaces the snapshots, and
     * its caller raises the account's counter: all rows and numbers are then of the moment of that step. A scan of the account
     * also writes the snapshots of its stores, in dimensions that have them. A store that is not linked has no snapshot afterwards.
     */
    readonly scan: (
      accountId: AccountId,
      dimension: HealthDimension,
      storeId: StoreId | null
    ) => Effect.Effect<ScanStep>
    /** The scans from nothing that are not finished. Nobody may be working on them. */
    readonly unfinished: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ScanProgress>>
    /**
     * Deletes what scans have left: rows that are no longer shown, and notes of changes that every scan knows or that no scan
     * will use. Returns the number of deleted rows. In several short transactions, so not inside one.
     */
    readonly tidy: (accountId: AccountId) => Effect.Effect<number>
    /** The same for every account that was ever scanned. */
    readonly tidyAll: Effect.Effect<number>
    /** The last snapshots of the account, or of a store in dimensions with snapshots per store, as JSON text by dimension. */
    readonly snapshots: (
      accountId: AccountId,
      storeId: StoreId | null
    ) => Effect.Effect<ReadonlyMap<HealthDimension, string>>
    /** None: the section was never scanned. */
    readonly issues: (accountId: AccountId, query: IssueQuery) => Effect.Effect<Option.Option<IssueRows>>
    /** The number of rows on all pages of `issues`; 0 also when the section was never scanned. */
    readonly countIssues: (accountId: AccountId, filter: IssueFilter) => Effect.Effect<number>
    readonly rules: (accountId: AccountId) => Effect.Effect<HealthRules>
    /** Reads the rules and locks them until the transaction ends. */
    readonly lockRules: (accountId: AccountId) => Effect.Effect<HealthRules>
    readonly keepRules: (accountId: AccountId, rules: HealthRules) => Effect.Effect<void>
    /**
     * Deletes the snapshots that include a store that is being unlinked: its own, and those of the account. Returns the
     * dimensions of the latter. Waits for running scans and prevents new ones until the transaction ends.
     */
    readonly forgetStore: (accountId: AccountId, storeId: StoreId) => Effect.Effect<ReadonlyArray<HealthDimension>>
    /** Lets the next scans of the account be from nothing. The snapshots stay. Waits as `forgetStore` does. */
    readonly forgetBases: (accountId: AccountId) => Effect.Effect<void>
  }
>() {
  static readonly layerOf = (sizes: ScanSizes) =>
    Layer.effect(
      HealthRepo,
      Effect.map(SqlClient.SqlClient, (sql) => ({
        ...makeHealthSnapshots(sql),
        ...makeHealthIssues(sql),
        ...makeHealthRules(sql),
        ...makeTidyScans(sql),
        scan: makeScan(sql, sizes),
        unfinished: makeUnfinished(sql),
        ...makeForgetting(sql)
      }))
    )

  static readonly layer = HealthRepo.layerOf({ entitiesPerStep: 20_000, rowsPerBlock: 400 })
}
