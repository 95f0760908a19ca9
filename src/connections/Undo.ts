import { Context, Effect, Layer, type Types } from "effect"
import type { Locked } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { PimLocked } from "../model/Errors.ts"
import { type ConnectionId, EntityId, nilUuid } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { UndoRepo } from "./UndoRepo.ts"
import { decideField, type FieldUndo, type UndoWindow, undoChanges } from "./UndoRules.ts"

/** A part of a review, by entity id. */
export interface ReviewPart {
  readonly fields: ReadonlyArray<FieldUndo>
  /** The place after which the next part starts; null: this was the last. */
  readonly next: EntityId | null
}

/** The result of a part of an undo, by entity id. */
export interface UndonePart {
  /** Number of entities that were written. */
  readonly entities: number
  /** Number of fields that were taken back. */
  readonly fields: number
  /** The fields that were left alone, except those that had their earlier values already. Without values, which may be long. */
  readonly left: ReadonlyArray<FieldUndo>
  /** As in `ReviewPart`. */
  readonly next: EntityId | null
}

const isBack = ({ left }: FieldUndo) => left === null

const isLeftAlone = ({ left }: FieldUndo) => left !== null && left !== "already_back"

/** Where the first part starts. */
export const firstPart = EntityId.make(nilUuid)

/** Entities per transaction, and transactions per part. A page waits for a whole part. */
const maxBatch = 50
const maxBatches = 20

/**
 * Takes back what a connection wrote to drafts: each value whose last writer is the connection returns to the value before it.
 * An edit by somebody else is kept, also one between two writes of the connection. An undo is a draft write: what is published
 * stays published until the next publish. Its changes are decided under the locks of its entities, so no concurrent edit is
 * lost, and it can be repeated: what was taken back has another last writer.
 */
export class Undo extends Context.Tag("catalog/Undo")<
  Undo,
  {
    /** The time to use as `until` of a window. */
    readonly now: Effect.Effect<Timestamp>
    /** Number of entities after this place whose drafts the connection changed in the window. */
    readonly count: (
      id: ConnectionId,
      window: UndoWindow,
      after: EntityId
    ) => Effect.Effect<number, never, CurrentActor>
    /** What an undo would do to the next `limit` entities. Writes nothing. */
    readonly review: (
      id: ConnectionId,
      window: UndoWindow,
      after: EntityId,
      limit: number
    ) => Effect.Effect<ReviewPart, never, CurrentActor>
    /**
     * Undoes the writes to the next entities, at most 1,000, in transactions of at most 50. PimLocked: an import of the account
     * is under review or being applied; earlier transactions of the part stay.
     */
    readonly run: (
      id: ConnectionId,
      window: UndoWindow,
      after: EntityId
    ) => Effect.Effect<UndonePart, PimLocked, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Undo,
    Effect.gen(function* () {
      const changes = yield* CatalogChanges
      const definitions = yield* MetafieldDefinitions
      const faults = yield* FaultInjector
      const repo = yield* UndoRepo

      const decide = (id: ConnectionId, window: UndoWindow, ids: ReadonlyArray<EntityId>) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const written = yield* repo.fields(accountId, id, window, ids)
          const rules = yield* definitions.rules(accountId)
          return { fields: written.map((field) => decideField(id, field, rules)), rules }
        })

      const select = (id: ConnectionId, window: UndoWindow, after: EntityId, limit: number) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          // One more, to see whether more follow.
          const found = yield* repo.written(accountId, id, window, after, limit + 1)
          const ids = found.slice(0, limit)
          return { ids, next: found.length > limit ? (ids.at(-1) ?? null) : null }
        })

      const runBatch = (id: ConnectionId, window: UndoWindow, ids: ReadonlyArray<EntityId>) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          const undone = yield* changes.applyRemedy(
            ids,
            (locked) =>
              Effect.map(Effect.provideService(decide(id, window, ids), CurrentActor, actor), ({ fields, rules }) => {
                // The lists of stores are two reads: a store may be unlinked between them.
                const decided = fields.map((field) =>
                  hasLayer(locked, field) ? field : { ...field, left: "not_on_store" as const }
                )
                return { fields: decided, changes: undoChanges(decided, rules) }
              }),
            id
          )
          yield* faults.at("undone")
          return undone.remedy.fields
        })

      return {
        now: repo.now,
        count: Effect.fn("Undo.count")(function* (id, window, after) {
          const { accountId } = yield* CurrentActor
          return yield* repo.countWritten(accountId, id, window, after)
        }),
        review: Effect.fn("Undo.review")(function* (id, window, after, limit) {
          const { ids, next } = yield* select(id, window, after, limit)
          const { fields } = yield* decide(id, window, ids)
          return { fields, next }
        }),
        run: Effect.fn("Undo.run")(function* (id, window, after) {
          const total: Types.Mutable<UndonePart> = { entities: 0, fields: 0, left: [], next: after }
          for (let batch = 0; batch < maxBatches && total.next !== null; batch++) {
            const { ids, next } = yield* select(id, window, total.next, maxBatch)
            const fields = yield* runBatch(id, window, ids)
            const back = fields.filter(isBack)
            total.entities += new Set(back.map(({ entityId }) => entityId)).size
            total.fields += back.length
            total.left = [
              ...total.left,
              ...fields.filter(isLeftAlone).map((field) => ({ ...field, now: null, before: null }))
            ]
            total.next = next
          }
          return total
        })
      }
    })
  )
}

const hasLayer = ({ aggregates }: Locked, { entityId, storeId }: FieldUndo) =>
  storeId === null || aggregates.get(entityId)?.storeIds.includes(storeId) === true
