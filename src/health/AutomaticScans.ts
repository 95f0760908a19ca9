import { Context } from "effect"
import type { AccountId } from "../model/Ids.ts"

/**
 * The scans of all accounts that the service begins by itself. `afterImports`: also after refreshes, and after a store was linked
 * again. `hour`: of the nightly scans, 0 to 23, UTC.
 */
export interface AutomaticScanSettings {
  readonly nightly: boolean
  readonly afterImports: boolean
  readonly hour: number
}

/** Default: no automatic scans. The settings of a server switch them on. */
export class AutomaticScans extends Context.Reference<AutomaticScans>()("catalog/AutomaticScans", {
  defaultValue: (): AutomaticScanSettings => ({ nightly: false, afterImports: false, hour: 3 })
}) {}

/** The subject of an account's nightly job. The account has one open job with it at most. */
export const nightlySubject = "nightly-scan"

const hourMillis = 3_600_000
export const dayMillis = 24 * hourMillis

/**
 * The first time after `after` at which an account's nightly scan is due: within the hour, at a minute that follows from the account's
 * id, so that not all accounts are scanned at once. Times are in milliseconds.
 */
export const nextNight = (accountId: AccountId, after: number, hour: number): number => {
  const spread = Number.parseInt(accountId.slice(-6), 16) % hourMillis
  const sameDay = after - (after % dayMillis) + hour * hourMillis + spread
  return sameDay > after ? sameDay : sameDay + dayMillis
}
