import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { HealthDimension, HealthIssue, HealthRules, HealthSection } from "./Health.ts"
import { makeHealthIssues } from "./HealthIssues.sql.ts"
import { makeHealthRules } from "./HealthRules.sql.ts"
import { makeScan } from "./HealthScanWrites.ts"
import { makeForgetStore, makeHealthSnapshots } from "./HealthSnapshots.sql.ts"

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

/**
 * Snapshots of the catalog's quality, and their rows. One transaction writes a whole scan. Readers see the last scan.
 */
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
     * Scans the account or one store. A scan of the account also writes the snapshots of its stores, in dimensions that have
     * them. Everything is read as of one moment. Returns the scan's number. The caller raises the account's counter. A store
     * that is not linked has no snapshot afterwards.
     */
    readonly scan: (accountId: AccountId, dimension: HealthDimension, storeId: StoreId | null) => Effect.Effect<number>
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
  }
>() {
  static readonly layer = Layer.effect(
    HealthRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return {
        ...makeHealthSnapshots(sql),
        ...makeHealthIssues(sql),
        ...makeHealthRules(sql),
        scan: makeScan(sql),
        forgetStore: makeForgetStore(sql)
      }
    })
  )
}
