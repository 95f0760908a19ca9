import { Effect, Ref } from "effect"
import type { MemorySlices, MemoryState } from "../database/MemoryStore.memory.ts"
import type { AccountId, PublicationId, StoreId } from "../model/Ids.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import type { AttemptError, PublicationState, PublishAttempt } from "./PublicationRecord.ts"
import type { NewPublication } from "./PublicationsRepo.ts"

/** A publication and its state in the queue. Times are in milliseconds since 1970. */
export interface MemoryPublication extends NewPublication {
  readonly state: PublicationState
  readonly givenBack: number
  readonly nextAttemptAt: number
  readonly claim: string | null
  readonly leaseUntil: number
  readonly requestedAt: number
  readonly finishedAt: number | null
  /** The attempts that were started, in order. */
  readonly attempts: ReadonlyArray<PublishAttempt>
}

/** The last outage of a store, as the columns of `store` have it. Times are in milliseconds since 1970. */
interface MemoryOutage {
  readonly until: number
  readonly error: AttemptError | null
  readonly metBy: PublicationId | null
  readonly aloneSince: number | null
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** Publications in the order of their requests. */
    readonly publications: ReadonlyArray<MemoryPublication>
    readonly outages: ReadonlyMap<StoreId, MemoryOutage>
  }
}

export const emptyPublishing: Pick<MemorySlices, "outages" | "publications"> = { publications: [], outages: new Map() }

export const publicationsOf = (store: Ref.Ref<MemoryState>, accountId: AccountId) =>
  Effect.map(Ref.get(store), (state) => state.get(accountId)?.publications ?? [])

export const isOpen = ({ state }: MemoryPublication): boolean => state === "pending"

/** Whether a publication was requested until a time; null: until now. */
export const isUntil = ({ requestedAt }: MemoryPublication, until: Timestamp | null): boolean =>
  until === null || fromMillis(requestedAt) <= until

const overlap = (left: MemoryPublication, right: MemoryPublication) =>
  left.storeId === right.storeId && left.entityIds.some((id) => right.entityIds.includes(id))

/** These publications, and all open ones that must run before them, oldest first. */
export const lineOf = (
  all: ReadonlyArray<MemoryPublication>,
  isMeant: (publication: MemoryPublication) => boolean
): ReadonlyArray<MemoryPublication> => {
  const line = new Set<MemoryPublication>()
  const join = (publication: MemoryPublication) => {
    if (line.has(publication)) return
    line.add(publication)
    for (const earlier of earlierOf(all, publication)) join(earlier)
  }
  for (const publication of all) if (isMeant(publication)) join(publication)
  return all.filter((each) => line.has(each))
}

/** The earlier open publications that have an entity in common with this one, so that they run before it. */
export const earlierOf = (
  all: ReadonlyArray<MemoryPublication>,
  publication: MemoryPublication
): ReadonlyArray<MemoryPublication> =>
  all.slice(0, all.indexOf(publication)).filter((earlier) => isOpen(earlier) && overlap(earlier, publication))
