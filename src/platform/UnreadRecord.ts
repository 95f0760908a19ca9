import { Effect } from "effect"
import { PlatformRefused } from "./PlatformErrors.ts"
import type { PublishedEntity } from "./Publication.ts"
import { RecordsOfOthers } from "./RecordsOfOthers.ts"

/** The code of a first publish that is refused because the store has a record that may be the same, and that the catalog has not read. */
export const recordNotRead = "RECORD_NOT_READ"

const messages = {
  handle: (name: string, id: string) =>
    `In the store, ${name} (${id}) has the same handle, and no refresh has read it. Nothing was changed there. Refresh the store, then decide which values stay, or change the handle.`,
  SKU: (name: string, id: string) =>
    `In the store, ${name} (${id}) has the same SKU, and no refresh has read it. Nothing was changed there. Refresh the store, then decide which values stay, or change the SKU.`,
  options: (name: string, id: string) =>
    `In the store, ${name} (${id}) has the same option values, and no refresh has read it. Nothing was changed there. Refresh the store, then decide which values stay, or change the option values.`,
  address: (name: string, id: string) =>
    `In the store, ${name} (${id}) has the same address, and no refresh has read it. Nothing was changed there. Refresh the store, then decide which values stay, or change the address.`
}

/** A record of a store that may be the same as a new entity. */
export interface SameRecord {
  readonly platformId: string
  /** Names the record in the message. */
  readonly name: string
  /** What the two have in common. */
  readonly key: keyof typeof messages
}

export const unreadRecord = ({ key, name, platformId }: SameRecord) =>
  new PlatformRefused({ code: recordNotRead, message: messages[key](name, platformId), field: null })

/**
 * Refuses the first publish of an entity if the store has a record that may be the same and that the catalog has neither created nor read.
 * `findSame`: finds such records. Those that the catalog has as other entities do not count: a second record may have the same SKU.
 */
export const failIfUnread = <E, R>(
  { isAccepted, platformId }: PublishedEntity,
  findSame: Effect.Effect<ReadonlyArray<SameRecord>, E, R>
): Effect.Effect<void, E | PlatformRefused, R> =>
  Effect.gen(function* () {
    if (platformId !== null || isAccepted === true) return
    const records = yield* findSame
    if (records.length === 0) return
    const { among } = yield* RecordsOfOthers
    const others = yield* among(records.map((record) => record.platformId))
    const unread = records.find((record) => !others.has(record.platformId))
    if (unread !== undefined) return yield* unreadRecord(unread)
  })
