import { type Effect, Schema } from "effect"
import { HistoryActor } from "../drafts/History.ts"
import { AccountId, DropId, EntityId, PublicationId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { PublicationContent } from "./PublicationContent.ts"
import { AttemptError, type AttemptOutcome, answeredOutcomes } from "./PublicationRecord.ts"

/** The limits of one claim. */
export interface ClaimRequest {
  /** Maximum number of publications to claim. */
  readonly limit: number
  /** Maximum number of claimed publications of one store, in all processes together. */
  readonly maxPerStore: number
  readonly leaseSeconds: number
  /** Claim only these publications; null: any. */
  readonly only: ReadonlyArray<PublicationId> | null
  /** Claim only publications to stores on these platforms. Absent: on any. */
  readonly platforms?: ReadonlyArray<string>
}

/** A store with due publications that no process claims. `id`: the first of them, with its number of attempts. */
export const UnclaimedStore = Schema.Struct({
  accountId: AccountId,
  storeId: StoreId,
  domain: Schema.String,
  platform: Schema.String,
  id: PublicationId,
  attempts: Schema.Int
})
export type UnclaimedStore = typeof UnclaimedStore.Type

/** A publication that waits, and whose versions do not say why. */
export const SilentPublication = Schema.Struct({ id: PublicationId, entityId: EntityId, content: PublicationContent })
export type SilentPublication = typeof SilentPublication.Type

/** A publication that one attempt has claimed until the lease expires. */
export const ClaimedPublication = Schema.Struct({
  accountId: AccountId,
  id: PublicationId,
  /** Identifies the attempt. If another process has claimed the publication since, writes of this attempt have no effect. */
  claim: Schema.String,
  entityId: EntityId,
  storeId: StoreId,
  draftRevision: Schema.Int,
  content: PublicationContent,
  actor: HistoryActor,
  dropId: Schema.NullOr(DropId),
  /** Number of attempts that were started, including this one. */
  attempts: Schema.Int,
  /**
   * Number of attempts that the limits ignore: the process stopped, the store was unlinked, or its whole platform did not answer.
   */
  givenBack: Schema.Int,
  /** Number of attempts whose process died. */
  lost: Schema.Int,
  requestedAt: Timestamp,
  /** When this attempt began. */
  claimedAt: Timestamp,
  /** Until when publishes to the store waited last, because its platform did not answer. */
  outageUntil: Schema.NullOr(Timestamp),
  /** The error of the last attempt. */
  error: Schema.NullOr(AttemptError)
})
export type ClaimedPublication = typeof ClaimedPublication.Type

/** Begins the attempts of claimed publications. `claimedAt`: a time before the claim, in milliseconds of the monotonic clock. */
export type BeginAttempts = (claimed: ReadonlyArray<ClaimedPublication>, claimedAt: number) => Effect.Effect<void>

/** The end of an attempt. */
export interface AttemptEnd {
  readonly outcome: AttemptOutcome
  /** The class of the failure, or the platform's error code. */
  readonly reason: string | null
  /** Whether the publication was refused here, without a call that sends it. Then the platform has not answered. */
  readonly isUnsent?: boolean
}

/** Whether the platform has decided an attempt. This ends the outage of its store. */
export const isAnswered = ({ isUnsent = false, outcome }: AttemptEnd): boolean =>
  !isUnsent && answeredOutcomes.has(outcome)
