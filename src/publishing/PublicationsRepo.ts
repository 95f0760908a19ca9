import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { makeWorkHints } from "../database/WorkHintsRepo.ts"
import type { HistoryActor } from "../drafts/History.ts"
import type { EntityKind } from "../model/Attribute.ts"
import type { AccountId, DropId, EntityId, JobId, PublicationId, StoreId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { makePendingScans } from "./PendingScans.ts"
import { makePublicationCancels } from "./PublicationCancels.sql.ts"
import type {
  AttemptEnd,
  BeginAttempts,
  ClaimedPublication,
  ClaimRequest,
  SilentPublication,
  UnclaimedStore
} from "./PublicationClaim.ts"
import { makeClaimPublications, makeClaimWrites } from "./PublicationClaims.sql.ts"
import type { KnownVersion, MemberVersion, PublicationContent } from "./PublicationContent.ts"
import { makePublicationOutcomes } from "./PublicationOutcomes.sql.ts"
import type {
  AttemptError,
  FailedPublication,
  FailuresBefore,
  OpenPublication,
  PendingCount,
  PendingEntity,
  PublicationRecord,
  PublishAttempt,
  QueuePlace
} from "./PublicationRecord.ts"
import { makePublicationRequests } from "./PublicationRequests.sql.ts"
import { makeUnclaimed } from "./UnclaimedPublications.sql.ts"

/** A publication to insert. */
export interface NewPublication {
  readonly id: PublicationId
  readonly entityId: EntityId
  readonly storeId: StoreId
  readonly draftRevision: number
  /** All entities that the publication writes or depends on. Publications that have one in common run one after the other. */
  readonly entityIds: ReadonlyArray<EntityId>
  readonly content: PublicationContent
  readonly actor: HistoryActor
  /** The drop that requests the publish on behalf of the actor; null: no drop. */
  readonly dropId: DropId | null
  /** The job that requests the publish and counts its failure; null: no such job. */
  readonly jobId: JobId | null
  /** Why the publish waits from the begin on; null: it does not. */
  readonly error: AttemptError | null
  /** Versions that had another open publication are left out. null: they are not known. */
  readonly failuresBefore: FailuresBefore | null
}

/** The newest pending publication of an entity. `error`: of its last attempt. */
export interface NewestPublication {
  readonly id: PublicationId
  readonly content: PublicationContent
  readonly error: PublishError | null
}

/** The members that cancel publishes. */
export type PublicationCancels = Pick<
  Context.Tag.Service<PublicationsRepo>,
  "cancel" | "lastCancelled" | "lastFailures" | "lockOpen" | "openBefore" | "openEntities"
>

/** The members that request publishes. */
export type PublicationRequests = Pick<
  Context.Tag.Service<PublicationsRepo>,
  | "ahead"
  | "broughtAgain"
  | "requestedAgain"
  | "related"
  | "insert"
  | "storeVersions"
  | "memberVersions"
  | "newest"
  | "recordsOfOthers"
>

/**
 * Publications and their queue. Publications to the same store that have an entity in common run one after the other, in
 * the order in which they were requested.
 */
export class PublicationsRepo extends Context.Tag("catalog/PublicationsRepo")<
  PublicationsRepo,
  {
    /** Inserts a publication. Call it in the transaction that makes the versions pending, with all its entities locked. */
    readonly insert: (accountId: AccountId, publication: NewPublication) => Effect.Effect<void>
    /** Why publishes to a store wait now. None: its platform has answered, or its next call is due. */
    readonly outage: (accountId: AccountId, storeId: StoreId) => Effect.Effect<Option.Option<AttemptError>>
    /** Why the first pending publication to a store waits that has one of these entities and waits for the platform. None: there is none. */
    readonly delayAhead: (
      accountId: AccountId,
      storeId: StoreId,
      entityIds: ReadonlyArray<EntityId>
    ) => Effect.Effect<Option.Option<PublishError>>
    /** The newest pending publication of an entity to a store. */
    readonly newest: (
      accountId: AccountId,
      entityId: EntityId,
      storeId: StoreId
    ) => Effect.Effect<Option.Option<NewestPublication>>
    /** Returns which of these entities have a pending publication to the store other than `id`. */
    readonly requestedAgain: (
      accountId: AccountId,
      storeId: StoreId,
      entityIds: ReadonlyArray<EntityId>,
      id: PublicationId
    ) => Effect.Effect<ReadonlySet<EntityId>>
    /**
     * Returns which of these entities a pending publication to the store other than `id` writes or depends on. `isIncluded`: one of these
     * publications includes the entity.
     */
    readonly broughtAgain: (
      accountId: AccountId,
      storeId: StoreId,
      entityIds: ReadonlyArray<EntityId>,
      id: PublicationId
    ) => Effect.Effect<ReadonlyMap<EntityId, { readonly isIncluded: boolean }>>
    /** The publications with these ids, oldest first. Unknown ids are left out. */
    readonly find: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyArray<PublicationRecord>>
    /** Contents of publications in any state. */
    readonly contents: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyMap<PublicationId, PublicationContent>>
    /** Entities whose last publish to a linked store failed, most recent failure first. A newer request removes an entity. */
    readonly failures: (accountId: AccountId, limit: number) => Effect.Effect<ReadonlyArray<FailedPublication>>
    /** Attempts of one publication, in order. */
    readonly attempts: (accountId: AccountId, id: PublicationId) => Effect.Effect<ReadonlyArray<PublishAttempt>>
    /** These publications, and all pending publications that must run before them. */
    readonly ahead: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyArray<PublicationId>>
    /**
     * The entities that a publish request locks together with its own entity: the media of the gallery, and products of a
     * collection that are live on the store but have no platform id.
     */
    readonly related: (
      accountId: AccountId,
      entityId: EntityId,
      storeId: StoreId
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /** The state of these entities on a store. Entities that are not on the store are left out. */
    readonly storeVersions: (
      accountId: AccountId,
      storeId: StoreId,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, KnownVersion>>
    /** The state of a collection's products on a store. Products that are not on the store are left out. */
    readonly memberVersions: (
      accountId: AccountId,
      storeId: StoreId,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, MemberVersion>>
    /** Which of these records of a store belong to other entities, by their platform ids. */
    readonly recordsOfOthers: (
      accountId: AccountId,
      storeId: StoreId,
      entityId: EntityId,
      platformIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlySet<string>>
    /**
     * Claims due publications and starts an attempt of each. Due: the store is linked, no import locks the account, the delay is
     * over, no lease runs, and no earlier publication must run first. Attempts that dead processes left open end as `lost`. `begin` is called
     * after each transaction that claimed some: on a cluster there is one for each account.
     */
    readonly claim: (request: ClaimRequest, begin?: BeginAttempts) => Effect.Effect<ReadonlyArray<ClaimedPublication>>
    /**
     * Stores on other platforms than these whose first publication is due, and of which no process holds any. At most 1,000, of all
     * accounts.
     */
    readonly unclaimed: (platforms: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<UnclaimedStore>>
    /**
     * The first pending publications of a store that no attempt holds, and whose versions do not say why they wait. `ahead`: only those that
     * one of these publications must run before, and that no drop requested.
     */
    readonly silent: (
      accountId: AccountId,
      storeId: StoreId,
      limit: number,
      ahead?: ReadonlyArray<PublicationId>
    ) => Effect.Effect<ReadonlyArray<SilentPublication>>
    /** Saves why a pending publication waits. False: an attempt holds it, or it has ended. */
    readonly sayWhy: (accountId: AccountId, id: PublicationId, error: AttemptError) => Effect.Effect<boolean>
    /** Extends the lease. False: this attempt does not hold the claim any more. */
    readonly renew: (claimed: ClaimedPublication, leaseSeconds: number) => Effect.Effect<boolean>
    /** Replaces the content of the publication. False: as for `renew`. */
    readonly pin: (claimed: ClaimedPublication, content: PublicationContent) => Effect.Effect<boolean>
    /** Ends the attempt. The next attempt can start after the delay. `isCounted` false: it does not count against the limits. False: as for `finish`. */
    readonly postpone: (
      claimed: ClaimedPublication,
      end: AttemptEnd,
      error: AttemptError,
      delaySeconds: number,
      options?: { readonly isCounted: boolean }
    ) => Effect.Effect<boolean>
    /**
     * Ends an attempt that met an outage of the store's platform. It does not count against the limits, and the next attempt can start after
     * the delay. If another publication met the outage before, no publication to the store is claimed until then, or until one that is under
     * way is published or refused. False: as for `finish`.
     */
    readonly meetOutage: (
      claimed: ClaimedPublication,
      end: AttemptEnd,
      error: AttemptError,
      delaySeconds: number
    ) => Effect.Effect<boolean>
    /**
     * Saves that the platform failed for this publication alone. Returns since when it fails alone. None: since the platform last answered,
     * it has failed for another open publication too, so the failure belongs to the platform.
     */
    readonly failsAlone: (claimed: ClaimedPublication) => Effect.Effect<Option.Option<Timestamp>>
    /**
     * Publications to a store that wait because its platform did not answer (`isDelayed`): their next attempt can start at once. `entityId`:
     * only those that write this entity or depend on it, and the pause of the store ends; null: all, after the platform has answered.
     */
    readonly hasten: (accountId: AccountId, storeId: StoreId, entityId: EntityId | null) => Effect.Effect<void>
    /** Ends an attempt that does not count against the limits. The next attempt can start at once. */
    readonly giveBack: (claimed: ClaimedPublication) => Effect.Effect<void>
    /** Ends the attempt and the publication. False: this attempt does not hold the claim any more, and nothing is written. */
    readonly finish: (
      claimed: ClaimedPublication,
      end: AttemptEnd,
      state: "published" | "failed",
      error: PublishError | null
    ) => Effect.Effect<boolean>
    /** The entities that the open publications of these entities to a store include. */
    readonly openEntities: (
      accountId: AccountId,
      entityIds: ReadonlyArray<EntityId>,
      storeId: StoreId
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /**
     * The open publications of these entities to a store that were requested until a time (null: until now), oldest first. No process can
     * claim them until the transaction ends.
     */
    readonly lockOpen: (
      accountId: AccountId,
      entityIds: ReadonlyArray<EntityId>,
      storeId: StoreId,
      until: Timestamp | null
    ) => Effect.Effect<ReadonlyArray<OpenPublication>>
    /**
     * The open publications to a store that were requested until a time, newest first, from those before a place (null: from the newest).
     * `entityIds`: only those of these entities; null: all.
     */
    readonly openBefore: (
      accountId: AccountId,
      storeId: StoreId,
      until: Timestamp,
      before: QueuePlace | null,
      entityIds: ReadonlyArray<EntityId> | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<QueuePlace & { readonly entityId: EntityId }>>
    /** The newest publication of an entity to a store, in any state, if it was cancelled. */
    readonly lastCancelled: (
      accountId: AccountId,
      entityId: EntityId,
      storeId: StoreId
    ) => Effect.Effect<Option.Option<{ readonly dropId: DropId | null }>>
    /**
     * Ends publications that `lockOpen` has locked, and that no attempt holds, as failed. Forgets that one of them fails alone, unless
     * another attempt ends at this moment.
     */
    readonly cancel: (
      accountId: AccountId,
      ids: ReadonlyArray<PublicationId>,
      error: PublishError
    ) => Effect.Effect<void>
    /**
     * Those of these entities whose last publish to a store failed, and why. Cancelled publishes, and those before the entity was added to the
     * store, do not count.
     */
    readonly lastFailures: (
      accountId: AccountId,
      storeId: StoreId,
      entityIds: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, PublishError>>
    /** Store versions of a kind, in all accounts, with the status `pending` but without a publication. At most 1,000. */
    readonly orphans: (
      kind: EntityKind
    ) => Effect.Effect<
      ReadonlyArray<{ readonly accountId: AccountId; readonly entityId: EntityId; readonly storeId: StoreId }>
    >
    /** Counts entities whose draft is unpublished on a store, by kind. Kinds without such entities are left out. */
    readonly pendingCounts: (accountId: AccountId, storeId: StoreId) => Effect.Effect<ReadonlyArray<PendingCount>>
    /** Entities of these kinds whose draft is unpublished on a store and not requested, by id, starting after `after`. */
    readonly pendingAfter: (
      accountId: AccountId,
      storeId: StoreId,
      kinds: ReadonlyArray<EntityKind>,
      after: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<PendingEntity>>
    /** These entities by id. Those that do not exist are left out. */
    readonly entities: (
      accountId: AccountId,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyArray<PendingEntity>>
    /**
     * Number of pending publications to a store that were requested until a time (null: until now), and the time now. `delay`: why some of
     * them wait for the store's platform; null: none does. `entityIds`: as for `openBefore`.
     */
    readonly pendingUntil: (
      accountId: AccountId,
      storeId: StoreId,
      until: Timestamp | null,
      entityIds?: ReadonlyArray<EntityId> | null
    ) => Effect.Effect<{ readonly count: number; readonly delay: string | null; readonly now: Timestamp }>
    /** Numbers of publications that a job requested: `failed`; `incomplete`: the store has accepted them, but not done a part. */
    readonly outcomesOf: (
      accountId: AccountId,
      jobId: JobId
    ) => Effect.Effect<{ readonly failed: number; readonly incomplete: number }>
    /**
     * Why the open publications that write an entity wait for their stores' platforms: the error of one that must run before, or of the
     * store's outage. Stores whose platforms answer are left out.
     */
    readonly delaysOf: (accountId: AccountId, entityId: EntityId) => Effect.Effect<ReadonlyMap<StoreId, PublishError>>
    /** Deletes publications that ended more than 30 days ago, with their attempts. Returns their number. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    PublicationsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name: holder } = yield* LeaseHolder
      const hints = yield* makeWorkHints("publication")
      return {
        ...makePublicationRequests(sql, hints),
        ...makePendingScans(sql),
        ...makePublicationCancels(sql),
        claim: makeClaimPublications(sql, holder, hints),
        ...makeClaimWrites(sql, hints),
        ...makeUnclaimed(sql),
        ...makePublicationOutcomes(sql)
      }
    })
  )
}
