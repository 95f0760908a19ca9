import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import { isDistributedAtStart } from "../database/Distribution.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { HealthDimension, HealthIssue, HealthRules, HealthSection, LastScan, ScanCause } from "./Health.ts"
import { makeTidyScans, makeUnfinished } from "./HealthBases.sql.ts"
import { makeHealthIssues } from "./HealthIssues.sql.ts"
import { makeHealthRules } from "./HealthRules.sql.ts"
import { makeCurrent, makeScan, type ScanSizes } from "./HealthScanWrites.ts"
import { makeForgetting, makeHealthDays, makeHealthSnapshots } from "./HealthSnapshots.sql.ts"
import type { HealthDay } from "./HealthTrend.ts"

/** A page of a section's rows. */
export interface IssueQuery {
  readonly section: HealthSection
  /** From 1. */
  readonly page: number
  readonly pageSize: number
  readonly storeId: StoreId | null
  readonly locale: string | null
  /** Only rows with one of these fields. Such a page is found by reading all rows before it. */
  readonly fields?: ReadonlyArray<string> | undefined
}

export type IssueFilter = Omit<IssueQuery, "page" | "pageSize" | "fields">

/** A page of a section, as of its last scan. */
export interface IssueRows {
  readonly scannedAt: Timestamp
  readonly rows: ReadonlyArray<HealthIssue>
  readonly hasNext: boolean
  /** The snapshot's number of compared values; null: the snapshot has none. */
  readonly compared: number | null
}

/** The result of one step of a scan. */
export interface ScanStep {
  /** The number of the scan if this step finished it, otherwise null. */
  readonly run: number | null
  /** Number of entities scanned so far. */
  readonly scanned: number
  /** Number of entities that the scan has to look at; of a full scan that is not finished: when it began. */
  readonly entities: number
}

/** A full scan that is not finished. */
export interface ScanProgress extends Omit<ScanStep, "run"> {
  readonly dimension: HealthDimension
  /** null: the scan of the account. */
  readonly storeId: StoreId | null
  readonly begunAt: Timestamp
  /** The time that its steps took so far. */
  readonly seconds: number
  /** The time since the last step. */
  readonly idleSeconds: number
}

/** Snapshots of the catalog's quality, and their rows. Readers see the last finished scan. */
export class HealthRepo extends Context.Tag("catalog/HealthRepo")<
  HealthRepo,
  {
    /** Draws the number of a scan. A scan with a larger number, from any process, began later. */
    readonly ticket: Effect.Effect<number>
    /** Dies with `Unavailable` if the account is being deleted, or was deleted. */
    readonly mustExist: (accountId: AccountId) => Effect.Effect<void>
    /** Locks a dimension for a scan until the transaction ends. False: another scan has the lock, or the account was deleted. Never waits. */
    readonly tryLock: (accountId: AccountId, dimension: HealthDimension) => Effect.Effect<boolean>
    /** The number of the last scan of the account or of a store; 0: there was none. */
    readonly lastRun: (
      accountId: AccountId,
      dimension: HealthDimension,
      storeId: StoreId | null
    ) => Effect.Effect<number>
    /**
     * The number of entities, if a scan of the account would change nothing: the last one is complete, and since then no entity, rule
     * or store has changed. Otherwise None. The caller locks the dimension.
     */
    readonly current: (accountId: AccountId, dimension: HealthDimension) => Effect.Effect<Option.Option<number>>
    /** The last finished scan of any dimension, of the account or of a store. None: nothing was ever scanned. */
    readonly lastScan: (accountId: AccountId) => Effect.Effect<Option.Option<LastScan>>
    /**
     * Runs one step of a scan of the account or of one store. The caller opens the transaction, locks the dimension,
     * and repeats the step until it returns the scan's number. A full scan has many steps; any process can continue it.
     * An incremental scan has one step, which applies the changes since the last scan. The last step replaces the
     * snapshots, and the caller then raises the account's version, so rows and numbers show the state at that step. In
     * dimensions with snapshots per store, a scan of the account also writes those of its stores and deletes those of
     * stores that are not linked. `cause` is saved with the snapshots; default: `request`.
     */
    readonly scan: (
      accountId: AccountId,
      dimension: HealthDimension,
      storeId: StoreId | null,
      cause?: ScanCause
    ) => Effect.Effect<ScanStep>
    /** Full scans that are not finished. It is possible that no process works on them at the moment. */
    readonly unfinished: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ScanProgress>>
    /**
     * Deletes rows that are no longer shown, and change notes that no scan needs any more. Returns the number of
     * deleted rows. Uses several short transactions, so it must not be called inside one.
     */
    readonly tidy: (accountId: AccountId) => Effect.Effect<number>
    /** Runs `tidy` for every account that was ever scanned. */
    readonly tidyAll: Effect.Effect<number>
    /** The last snapshots of the account, or of a store in dimensions with snapshots per store, as JSON text by dimension. */
    readonly snapshots: (
      accountId: AccountId,
      storeId: StoreId | null
    ) => Effect.Effect<ReadonlyMap<HealthDimension, string>>
    /** The account's numbers of the last 400 days, by day. */
    readonly days: (accountId: AccountId) => Effect.Effect<ReadonlyArray<HealthDay>>
    /** None: the section was never scanned. */
    readonly issues: (accountId: AccountId, query: IssueQuery) => Effect.Effect<Option.Option<IssueRows>>
    /** Number of rows on all pages of `issues`; also 0 if the section was never scanned. */
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
    /**
     * Makes the next scans of the account full scans. The snapshots stay. Waits for running scans as `forgetStore`
     * does.
     */
    readonly forgetBases: (accountId: AccountId) => Effect.Effect<void>
  }
>() {
  static readonly layerOf = (sizes: ScanSizes) =>
    Layer.effect(
      HealthRepo,
      Effect.map(Effect.all([SqlClient.SqlClient, isDistributedAtStart]), ([sql, onCluster]) => ({
        ...makeHealthSnapshots(sql),
        ...makeHealthDays(sql),
        ...makeHealthIssues(sql),
        ...makeHealthRules(sql),
        ...makeTidyScans(sql),
        current: makeCurrent(sql),
        scan: makeScan(sql, onCluster, sizes),
        unfinished: makeUnfinished(sql),
        ...makeForgetting(sql)
      }))
    )

  // A larger step reads fewer pages twice: ids of earlier versions are random. On a cluster the rows of a step go through this process.
  static readonly layer = Layer.unwrapEffect(
    Effect.map(isDistributedAtStart, (onCluster) =>
      HealthRepo.layerOf({ entitiesPerStep: onCluster ? 20_000 : 40_000, rowsPerBlock: 400 })
    )
  )
}
