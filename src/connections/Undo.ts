import { Context, Effect, Layer, type Types } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { LockedCatalog } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type ConnectionId, EntityId, nilUuid } from "../model/Ids.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { UndoRepo } from "./UndoRepo.ts"
import { decideField, type FieldUndo, type UndoWindow, undoChanges } from "./UndoRules.ts"

/** One part of a review, which is read in parts by entity id. */
export interface ReviewPart {
  readonly fields: ReadonlyArray<FieldUndo>
  /** The entity after which the next part starts. Null: this was the last part. */
  readonly next: EntityId | null
}

/** The result of one part of an undo, which runs in parts by entity id. */
export interface UndonePart {
  /** Number of entities that the undo changed. */
  readonly entities: number
  /** Number of fields that were undone. */
  readonly fields: number
  /** The fields that were not undone, except those that had their earlier values already. The values are left out: they can be long. */
  readonly left: ReadonlyArray<FieldUndo>
  /** As `next` of `ReviewPart`. */
  readonly next: EntityId | null
}

const isBack = ({ left }: FieldUndo) => left === null

const isLeftAlone = ({ left }: FieldUndo) => left !== null && left !== "already_back"

/** The position before the first entity, to start the first part. */
export const firstPart = EntityId.make(nilUuid)

/** Maximum entities per transaction, and transactions per part. A page of the console waits for a whole part. */
const maxBatch = 50
const maxBatches = 20

const make = Effect.gen(function* () {
  const changes = yield* CatalogChanges
  const definitions = yield* MetafieldDefinitions
  const faults = yield* FaultInjector
  const importLock = yield* ImportLockRepo
  const repo = yield* UndoRepo
  const transaction = yield* Transaction

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
      // Reads one more entity than a page has, to see whether another page follows.
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
            // `fields` and `locked` are two reads, and a store may be unlinked between them.
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
    /**
     * The current time, when no write is under way: all writes until then are committed. As the end of a window it ensures that an undo has
     * no writes that its review did not show.
     */
    settledNow: Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      // All writes share this lock, and are recorded with a time after they have it.
      yield* importLock.take(accountId)
      return yield* repo.now
    }).pipe(transaction.run, Effect.withSpan("Undo.settledNow")),
    /** Number of entities whose drafts the connection changed in the window, after this entity by id. */
    count: Effect.fn("Undo.count")(function* (id: ConnectionId, window: UndoWindow, after: EntityId) {
      const { accountId } = yield* CurrentActor
      return yield* repo.countWritten(accountId, id, window, after)
    }),
    /** Previews an undo of the next `limit` entities. Writes nothing. */
    review: Effect.fn("Undo.review")(function* (id: ConnectionId, window: UndoWindow, after: EntityId, limit: number) {
      const { ids, next } = yield* select(id, window, after, limit)
      const { fields } = yield* decide(id, window, ids)
      return { fields, next }
    }),
    /**
     * Undoes the writes to the next entities, at most 1,000, in transactions of at most 50. PimLocked: an import locks
     * the account; earlier transactions of the part stay.
     */
    run: Effect.fn("Undo.run")(function* (id: ConnectionId, window: UndoWindow, after: EntityId) {
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

/**
 * Undoes the writes of a connection to drafts: each value that the connection wrote last returns to the value before. An edit by
 * somebody else is kept, also one between two writes of the connection. An undo is a draft write, so stores keep the published
 * values until the next publish. Changes are decided under the locks of their entities, so no concurrent edit is lost. An undo
 * can be repeated, because an undone value is no longer last written by the connection.
 */
export class Undo extends Context.Tag("catalog/Undo")<Undo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Undo, make)
}

const hasLayer = ({ aggregates }: LockedCatalog, { entityId, storeId }: FieldUndo) =>
  storeId === null || aggregates.get(entityId)?.storeIds.includes(storeId) === true
