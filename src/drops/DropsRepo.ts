import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import { makeWorkHints } from "../database/WorkHintsRepo.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId, DropId, EntityId, StoreId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { DropThing, ThingsQuery } from "./Composition.ts"
import type { Drop, DropPlace, DropRow, DropStatus, DropTarget, EarlierValue, Overlap, PlannedDrop } from "./Drop.ts"
import { makeDropReads, makeReadEarlierValues, makeReadThings } from "./DropReads.sql.ts"
import { makeScheduleStatements } from "./DropSchedule.sql.ts"
import type { BeginSteps, ChangeOutcome, DropEffect, DropStepName, DueStep, LockedDrop } from "./DropStep.ts"
import { makeDueSteps, makeStepWrites } from "./DropSteps.sql.ts"

/** Drops, their changes and effects, and their next steps. */
export class DropsRepo extends Context.Tag("catalog/DropsRepo")<
  DropsRepo,
  {
    /** The database's clock, which decides when drops start and end. */
    readonly now: Effect.Effect<Timestamp>
    /** Lets only one transaction of the account schedule drops at a time, so that two overlapping drops see each other. */
    readonly lockSchedule: (accountId: AccountId) => Effect.Effect<void>
    /** The existing entities with these ids. */
    readonly targets: (
      accountId: AccountId,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, DropTarget>>
    /** At most `limit` of these entities, in this order. Unknown entities are left out. */
    readonly things: (accountId: AccountId, query: ThingsQuery) => Effect.Effect<ReadonlyArray<DropThing>>
    /** Unfinished drops that overlap this drop in field and time, ordered by change, then start. */
    readonly overlaps: (accountId: AccountId, drop: PlannedDrop) => Effect.Effect<ReadonlyArray<Overlap>>
    readonly insert: (accountId: AccountId, id: DropId, drop: PlannedDrop, actor: Actor) => Effect.Effect<void>
    /**
     * Drops ordered by start, then id. `entityId`: only drops that change this entity, with only the changes of this entity. Changes
     * on unlinked stores are left out.
     */
    readonly list: (accountId: AccountId, entityId: EntityId | null) => Effect.Effect<ReadonlyArray<Drop>>
    /** At most `limit` drops after a place: with `isOpen` those with a step left, by start; else the others, the latest first. */
    readonly page: (
      accountId: AccountId,
      list: { readonly isOpen: boolean; readonly after: DropPlace | null; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<DropRow>>
    /**
     * At most `limit` drops that start before `until` and end at `from` or later, by start. A drop without an end counts as ending at
     * its start.
     */
    readonly between: (
      accountId: AccountId,
      from: Timestamp,
      until: Timestamp,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DropRow>>
    /**
     * At most `limit` drops, by start. Finds drops that start or end between `from` (included) and `until` (excluded), drops with a step
     * left that was due before `from`, and failed drops that have any step left or started in the 7 days before `from`. Leaves out
     * cancelled and reverted drops.
     */
    readonly dueBetween: (
      accountId: AccountId,
      from: Timestamp,
      until: Timestamp,
      limit: number
    ) => Effect.Effect<ReadonlyArray<DropRow>>
    /**
     * At most `limit` drops with a step left that change this entity or a variant of it, by start. The numbers and fields of a row cover
     * only these changes.
     */
    readonly openOf: (accountId: AccountId, entityId: EntityId, limit: number) => Effect.Effect<ReadonlyArray<DropRow>>
    readonly find: (accountId: AccountId, id: DropId) => Effect.Effect<Option.Option<Drop>>
    /**
     * The values that the linked stores accepted last before the drop, in the order of its changes. Without changes whose publish was not
     * requested there, or has not ended at the start.
     */
    readonly earlierValues: (accountId: AccountId, id: DropId) => Effect.Effect<ReadonlyArray<EarlierValue>>
    /** Cancels a drop that has not started. False: the drop has started, was cancelled, or does not exist. */
    readonly cancel: (accountId: AccountId, id: DropId, actor: Actor) => Effect.Effect<boolean>
    /**
     * Due steps in accounts that no import locks, in the order of their times, without the drops in `except`. `start` and `end` are
     * due by the database's clock; the settle steps are due when all publishes have ended. An end also waits for publishes of the start
     * that were pending when their store was unlinked. A start also waits until every earlier drop that writes one of the same fields
     * has ended, or has been applied if it has no end. `busy`: accounts that are left out. `begin` is called when steps were found: on a
     * cluster for each account, because the next one may have a node that answers slowly.
     */
    readonly due: (
      limit: number,
      except: ReadonlyArray<DropId>,
      busy?: ReadonlyArray<AccountId>,
      begin?: BeginSteps
    ) => Effect.Effect<ReadonlyArray<DueStep>>
    /**
     * Counts a part of a start or an end as failed, until `move` saves it: a process that dies, or loses the database, can count nothing
     * afterwards. Returns the number of failed parts before. None: the step is no longer due, or another process has locked the drop.
     */
    readonly beginPart: (due: DueStep) => Effect.Effect<Option.Option<number>>
    /**
     * Locks a drop until the transaction ends, and records that its start or end has begun. None: the step is no longer due, or
     * another process has locked the drop.
     */
    readonly lock: (due: DueStep) => Effect.Effect<Option.Option<LockedDrop>>
    /**
     * Reopens the effects on a store that failed because it was unlinked. If the end of the drop has not begun, they are settled as
     * effects of the start, or the drop is due to start there if the store was not linked at the start and the end is not over. If the
     * end has begun, the drop is due to end again, or only waits for the publishes of earlier values that are open.
     */
    readonly reopen: (accountId: AccountId, storeId: StoreId) => Effect.Effect<void>
    /** Saves the result of a step and sets the next step. Replaces existing effects. */
    readonly move: (
      due: Pick<DueStep, "accountId" | "id">,
      to: {
        readonly status: DropStatus
        readonly next: DropStepName | null
        readonly effects: ReadonlyArray<DropEffect>
        readonly outcomes: ReadonlyArray<ChangeOutcome>
        /** Default: 0. */
        readonly failedParts?: number
      }
    ) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DropsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const hints = yield* makeWorkHints("drop")
      return {
        ...makeScheduleStatements(sql, hints),
        ...makeDropReads(sql),
        ...makeReadEarlierValues(sql),
        ...makeReadThings(sql),
        ...makeDueSteps(sql, hints),
        ...makeStepWrites(sql, hints)
      }
    })
  )
}
