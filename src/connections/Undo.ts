import { Context, Effect, Either, Layer, type Types } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { Transaction } from "../database/Transaction.ts"
import type { CatalogChange, LockedCatalog } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { planChanges, stateAfter } from "../drafts/ChangePlan.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { makeDecideRemovals, type Removal } from "../drafts/StoreMembership.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { PimLocked } from "../model/Errors.ts"
import { type ConnectionId, EntityId, nilUuid, type StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { UndoRepo } from "./UndoRepo.ts"
import { decideField, type FieldUndo, isAddition, layerKey, type UndoWindow, undoChanges } from "./UndoRules.ts"

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

/** The additions to stores that are undone, by store. */
const additionsOf = (fields: ReadonlyArray<FieldUndo>): ReadonlyMap<StoreId, ReadonlyArray<EntityId>> => {
  const byStore = new Map<StoreId, Array<EntityId>>()
  for (const { action, entityId, left, storeId } of fields) {
    if (left !== null || storeId === null || !isAddition({ action })) continue
    byStore.set(storeId, [...(byStore.get(storeId) ?? []), entityId])
  }
  return byStore
}

/** Maximum entities per transaction, and transactions per part. A page of the console waits for a whole part. */
const maxBatch = 50
const maxBatches = 20
/** Maximum variants and media that leave a store with the products of one transaction, unless a single product has more. */
const maxParts = 500

/** The fields of entities that a connection wrote, with the effect of an undo on each. */
type Decide = (
  id: ConnectionId,
  window: UndoWindow,
  ids: ReadonlyArray<EntityId>
) => Effect.Effect<{ readonly fields: ReadonlyArray<FieldUndo>; readonly rules: KeyRules }, never, CurrentActor>

/** Makes the function that undoes the writes to some entities, in one transaction. */
const makeRunBatch = (decide: Decide) =>
  Effect.gen(function* () {
    const catalog = yield* CatalogRepo
    const changes = yield* CatalogChanges
    const decideRemovals = makeDecideRemovals(catalog)
    const repo = yield* UndoRepo
    const faults = yield* FaultInjector

    /** The variants and media that leave with the products whose additions are undone. */
    const partsOf = (fields: ReadonlyArray<FieldUndo>) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        const parts = yield* Effect.forEach(additionsOf(fields), ([storeId, ids]) =>
          catalog.partsOnStore(accountId, storeId, ids, true)
        )
        return parts.flat()
      })

    /**
     * The changes that take additions off their stores. `removed`: the layers that leave. `isMoved`: variants or media that would leave
     * with a product are not locked.
     */
    const removalsOf = (
      id: ConnectionId,
      window: UndoWindow,
      fields: ReadonlyArray<FieldUndo>,
      locked: LockedCatalog
    ) =>
      Effect.gen(function* () {
        const { accountId } = yield* CurrentActor
        const changes: Array<CatalogChange> = []
        const removed = new Set<string>()
        let isMoved = false
        let state = locked
        for (const [storeId, ids] of additionsOf(fields)) {
          const { along, of } = yield* decideRemovals(accountId, ids, storeId, state)
          // A picture that was on the store before stays there, also if only the galleries of these products showed it.
          const added = yield* repo.added(
            accountId,
            id,
            window,
            storeId,
            along.map(({ entityId }) => entityId)
          )
          const ofStore = new Map<string, CatalogChange>()
          // A product leaves with its variants, which can have an addition of their own.
          const put = (removals: ReadonlyArray<Removal>) => {
            for (const removal of removals) ofStore.set(`${removal._tag} ${removal.entityId}`, removal)
          }
          put(along.filter(({ _tag, entityId }) => _tag === "ChangeGallery" || added.includes(entityId)))
          for (const [entityId, decided] of of) {
            if (Either.isRight(decided)) {
              put(decided.right)
              removed.add(layerKey({ entityId, storeId }))
            } else if (decided.left._tag === "PartsMoved") isMoved = true
          }
          changes.push(...ofStore.values())
          // Each removal writes the whole gallery of a product, so the next one starts from that gallery.
          state = stateAfter(state, yield* Effect.orDie(planChanges(state, [...ofStore.values()])))
        }
        return { changes, removed, isMoved }
      })

    /** `parts`: variants and media that leave with products. They are read when a removal needs them. */
    const runBatch = (
      id: ConnectionId,
      window: UndoWindow,
      ids: ReadonlyArray<EntityId>,
      parts: ReadonlyArray<EntityId> = []
    ): Effect.Effect<ReadonlyArray<FieldUndo>, PimLocked, CurrentActor> =>
      Effect.gen(function* () {
        const actor = yield* CurrentActor
        const undone = yield* changes.applyRemedy(
          [...ids, ...parts],
          (locked) =>
            Effect.gen(function* () {
              const { fields, rules } = yield* decide(id, window, ids)
              // `fields` and `locked` are two reads, and a store may be unlinked between them.
              const decided = fields.map((field) =>
                field.left !== null || hasLayer(locked, field) ? field : { ...field, left: "not_on_store" as const }
              )
              const removals = yield* removalsOf(id, window, decided, locked)
              if (removals.isMoved) return { fields: decided, changes: [], isMoved: true }
              const isRemoved = (field: FieldUndo) => removals.removed.has(layerKey(field))
              return {
                fields: decided.map((field) =>
                  isAddition(field) && field.left === null && !isRemoved(field)
                    ? { ...field, left: "kept_on_store" as const }
                    : field
                ),
                // The values on a store leave with the entity.
                changes: [
                  ...undoChanges(
                    decided.filter((field) => !isRemoved(field)),
                    rules
                  ),
                  ...removals.changes
                ],
                isMoved: false
              }
            }).pipe(Effect.provideService(CurrentActor, actor)),
          id
        )
        if (!undone.remedy.isMoved) {
          yield* faults.at("undone")
          return undone.remedy.fields
        }
        const needed = yield* partsOf(undone.remedy.fields)
        if (needed.length <= maxParts || ids.length === 1) return yield* runBatch(id, window, ids, needed)
        const half = Math.ceil(ids.length / 2)
        return [...(yield* runBatch(id, window, ids.slice(0, half))), ...(yield* runBatch(id, window, ids.slice(half)))]
      })

    return runBatch
  })

const make = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
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

  const runBatch = yield* makeRunBatch(decide)

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
 * Undoes the writes of a connection to drafts: each value that the connection wrote last returns to the value before, and an entity that
 * it added to a store leaves the store, unless it was published there or somebody else has written its values there. An edit by
 * somebody else is kept, also one between two writes of the connection. An undo is a draft write, so stores keep the published
 * values until the next publish. Changes are decided under the locks of their entities, so no concurrent edit is lost. An undo
 * can be repeated, because an undone value is no longer last written by the connection.
 */
export class Undo extends Context.Tag("catalog/Undo")<Undo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Undo, make)
}

const hasLayer = ({ aggregates }: LockedCatalog, { entityId, storeId }: FieldUndo) =>
  storeId === null || aggregates.get(entityId)?.storeIds.includes(storeId) === true
