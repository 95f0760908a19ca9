import { Effect } from "effect"
import { PlatformRefused } from "./PlatformErrors.ts"
import { Publication, type PublishedEntity } from "./Publication.ts"
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

/** The found records that the catalog does not have as other entities: a second record may have the same SKU. */
const withoutOthers = <E, R>(findSame: Effect.Effect<ReadonlyArray<SameRecord>, E, R>) =>
  Effect.gen(function* () {
    const records = yield* findSame
    if (records.length === 0) return []
    const { among } = yield* RecordsOfOthers
    const others = yield* among(records.map(({ platformId }) => platformId))
    return records.filter(({ platformId }) => !others.has(platformId))
  })

/**
 * Refuses the first publish of an entity if the store has a record that may be the same and that the catalog has neither created nor read.
 * `findSame`: finds such records.
 */
export const failIfUnread = <E, R>(
  { isAccepted, platformId }: PublishedEntity,
  findSame: Effect.Effect<ReadonlyArray<SameRecord>, E, R>
): Effect.Effect<void, E | PlatformRefused, R> =>
  Effect.gen(function* () {
    if (platformId !== null || isAccepted === true) return
    const [unread] = yield* withoutOthers(findSame)
    if (unread !== undefined) return yield* unreadRecord(unread)
  })

type FindSame<E, R> = (publication: Publication) => Effect.Effect<ReadonlyArray<SameRecord>, E, R>

/** The id of the record that is the entity's, because the store has accepted the entity without telling its id. */
const ownId = <E, R>(publication: Publication, findSame: FindSame<E, R>) =>
  Effect.gen(function* () {
    if (publication.platformId !== null || publication.isAccepted !== true) return publication.platformId
    const [own] = yield* withoutOthers(findSame(publication))
    return own?.platformId ?? null
  })

/**
 * The publication to send. An entity that the store has accepted without telling its id gets the id of the record that is the same, and so
 * does each such variant of a product. Fails as `failIfUnread` does.
 */
export const identified = <E, R>(publication: Publication, findSame: FindSame<E, R>) =>
  Effect.gen(function* () {
    yield* failIfUnread(publication, findSame(publication))
    const platformId = yield* ownId(publication, findSame)
    if (publication._tag !== "Product" || platformId === null) return { ...publication, platformId }
    const { key } = publication
    const variants = yield* Effect.forEach(publication.variants, (variant) =>
      Effect.map(ownId(Publication.Variant({ ...variant, key, productPlatformId: platformId }), findSame), (id) => ({
        ...variant,
        platformId: id
      }))
    )
    return { ...publication, platformId, variants }
  })
