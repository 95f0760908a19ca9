import { Context, Effect, Layer, Option } from "effect"
import { atNode } from "../database/ClusterNodes.ts"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type NotFound, PimLocked, RevisionConflict, type ValidationFailed } from "../model/Errors.ts"
import type { ConnectionId, DropId, EntityId, ImportId } from "../model/Ids.ts"
import {
  type CatalogChange,
  type Decision,
  idsOf,
  type LockedCatalog,
  type Plan,
  wholeCollectionsOf,
  wholeProductsOf
} from "./CatalogChange.ts"
import { isEmpty, planChanges, stateAfter } from "./ChangePlan.ts"
import { DraftsRepo, type ReadExtent } from "./DraftsRepo.ts"
import { layerChanges } from "./History.ts"
import { type Author, HistoryRepo } from "./HistoryRepo.ts"
import { isStill, makeImportedPlans, type PlannedAhead } from "./ImportedPlans.ts"
import { ImportLockRepo } from "./ImportLockRepo.ts"

type Refusal = NotFound | ValidationFailed

/** Changes that no import, drop or undo made. */
const ofActor = { importId: null, dropId: null, undoOf: null }

/**
 * Reads the summarized variants of products completely if the changes may write all variants of the product, and the unread members of
 * collections if the changes need them.
 */
const completing =
  (drafts: DraftsRepo["Type"]) =>
  (locked: LockedCatalog, changes: ReadonlyArray<CatalogChange>): Effect.Effect<LockedCatalog, never, CurrentActor> =>
    Effect.gen(function* () {
      const summarized = new Set([...locked.summaries.values()].map(({ parentId }) => parentId))
      const products = changes.flatMap(wholeProductsOf).filter((id) => summarized.has(id))
      const collections = changes.flatMap(wholeCollectionsOf).filter((id) => locked.unreadMembers.has(id))
      const ids = new Set([...products, ...collections])
      if (ids.size === 0) return locked
      const { accountId } = yield* CurrentActor
      const whole = yield* drafts.lock(accountId, [...ids], [])
      return {
        ...locked,
        aggregates: new Map([...locked.aggregates, ...whole.aggregates]),
        summaries: new Map([...locked.summaries].filter(([id]) => !whole.aggregates.has(id))),
        unreadMembers: new Map([...locked.unreadMembers].filter(([id]) => !whole.aggregates.has(id))),
        revisions: new Map([...locked.revisions, ...whole.revisions]),
        sequences: new Map([...locked.sequences, ...whole.sequences])
      }
    })

/** The only way to write the catalog. Every revision of a draft gets an entry in the entity's history. */
export class CatalogChanges extends Context.Tag("catalog/CatalogChanges")<
  CatalogChanges,
  {
    /**
     * Applies a list of changes to the actor's account in order, either completely or not at all. Changes without effect write
     * nothing. A list may write about 1,000 entities at most, because they are held in memory and locked together.
     *
     * NotFound: an entity, store or store version does not exist. ValidationFailed: a change is not possible. PimLocked: an
     * import locks the account.
     */
    readonly apply: (changes: ReadonlyArray<CatalogChange>) => Effect.Effect<void, Refusal | PimLocked, CurrentActor>
    /** As `apply`. History names the drop, which the actor has scheduled. */
    readonly applyDropped: (
      dropId: DropId,
      changes: ReadonlyArray<CatalogChange>
    ) => Effect.Effect<void, Refusal | PimLocked, CurrentActor>
    /**
     * As `apply`, for changes that depend on the current state. `decide` gets that state under the locks; if the transaction is
     * repeated, it is called again. The changes may write only `owners`, and refer only to these and `references`. `extent`: what
     * `decide` gets; by default variants are summarized and members are not read. Returns the state after the changes.
     *
     * Errors of `decide` come first, then PimLocked, then RevisionConflict: a current revision differs from the one that the
     * decision is based on.
     */
    readonly applyDecided: <E>(
      owners: ReadonlyArray<EntityId>,
      decide: (locked: LockedCatalog) => Effect.Effect<Decision, E>,
      references?: ReadonlyArray<EntityId>,
      extent?: ReadExtent
    ) => Effect.Effect<LockedCatalog, E | Refusal | PimLocked | RevisionConflict, CurrentActor>
    /**
     * As `applyDecided`, for a batch whose parts can fail separately. `decide` returns the changes and the outcome of each part.
     * Returns the result of `decide` and the state after the changes. PimLocked comes before `decide`. `undoOf`: the connection
     * whose writes the batch undoes.
     */
    readonly applyRemedy: <R extends { readonly changes: ReadonlyArray<CatalogChange> }>(
      owners: ReadonlyArray<EntityId>,
      decide: (locked: LockedCatalog) => Effect.Effect<R>,
      undoOf?: ConnectionId
    ) => Effect.Effect<{ readonly remedy: R; readonly locked: LockedCatalog }, PimLocked, CurrentActor>
    /**
     * Plans changes for `applyImported` before its transaction, and builds their statements. It takes short steps, so that the batch that
     * is written meanwhile does not wait. None: a group writes entities that it does not create, or refers to entities that neither it nor an earlier group creates.
     */
    readonly planAhead: (
      importId: ImportId,
      groups: ReadonlyArray<ReadonlyArray<CatalogChange>>
    ) => Effect.Effect<Option.Option<PlannedAhead>, never, CurrentActor>
    /**
     * As `apply`, for the import that holds the import lock. Runs in that import's transaction. `select` gets the locked state and
     * returns the changes to apply. `ahead`: the write of these changes; it is used if the locked state is still the one that it is based on.
     */
    readonly applyImported: (
      importId: ImportId,
      changes: ReadonlyArray<CatalogChange>,
      select?: (locked: LockedCatalog) => ReadonlyArray<CatalogChange>,
      ahead?: PlannedAhead | undefined
    ) => Effect.Effect<void, Refusal, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    CatalogChanges,
    Effect.gen(function* () {
      const drafts = yield* DraftsRepo
      const history = yield* HistoryRepo
      const importLock = yield* ImportLockRepo
      const imported = makeImportedPlans(drafts, history)
      const transaction = yield* Transaction

      const complete = completing(drafts)

      const carryOut = (locked: LockedCatalog, changes: ReadonlyArray<CatalogChange>, author: Author) =>
        Effect.gen(function* () {
          const completed = yield* complete(locked, changes)
          return yield* carryOutPlan(completed, yield* planChanges(completed, changes), author)
        })

      const carryOutPlan = (locked: LockedCatalog, plan: Plan, author: Author) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          if (isEmpty(plan)) return locked
          if (author.importId === null) {
            yield* drafts.save(accountId, plan)
            yield* history.record(accountId, author, layerChanges(plan, locked.revisions), locked.sequences, locked.now)
            // The counter comes last: otherwise a reader could pass changes that are not committed, and writers could deadlock.
            yield* drafts.raise(accountId, plan)
          } else {
            yield* Effect.flatten(imported.prepare(locked, plan, author))
          }
          return stateAfter(locked, plan)
        })

      const write = (
        changes: ReadonlyArray<CatalogChange>,
        author: Author,
        select: (locked: LockedCatalog) => ReadonlyArray<CatalogChange> = () => changes,
        ahead?: PlannedAhead
      ) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const { owners, references } = ahead ?? idsOf(changes)
          const locked = yield* drafts.lock(accountId, owners, references, "summarized")
          yield* ahead !== undefined && isStill(locked, ahead) ? ahead.write : carryOut(locked, select(locked), author)
        })

      const applyFor = (dropId: DropId | null, changes: ReadonlyArray<CatalogChange>) =>
        Effect.gen(function* () {
          const actor = yield* CurrentActor
          const by = yield* history.nameOf(actor)
          yield* transaction
            .run(
              Effect.gen(function* () {
                if (Option.isSome(yield* importLock.share(actor.accountId))) return yield* new PimLocked()
                yield* write(changes, { ...ofActor, by, dropId })
              })
            )
            .pipe(atNode)
        })

      return {
        apply: Effect.fn("CatalogChanges.apply")((changes) => applyFor(null, changes)),
        applyDropped: Effect.fn("CatalogChanges.applyDropped")(applyFor),
        applyDecided: Effect.fn("CatalogChanges.applyDecided")(function* (
          owners,
          decide,
          references = [],
          extent = "summarized"
        ) {
          const actor = yield* CurrentActor
          const by = yield* history.nameOf(actor)
          return yield* transaction
            .run(
              Effect.gen(function* () {
                const holder = yield* importLock.share(actor.accountId)
                const read = Option.isSome(holder) ? drafts.read : drafts.lock
                const locked = yield* read(actor.accountId, owners, references, extent)
                const { basedOn, changes } = yield* decide(locked)
                if (Option.isSome(holder)) return yield* new PimLocked()
                for (const [entityId, revision] of basedOn) {
                  const currentRevision = locked.revisions.get(entityId) ?? 0
                  if (revision !== currentRevision) return yield* new RevisionConflict({ entityId, currentRevision })
                }
                return yield* carryOut(locked, changes, { ...ofActor, by })
              })
            )
            .pipe(atNode)
        }),
        applyRemedy: Effect.fn("CatalogChanges.applyRemedy")(function* (owners, decide, undoOf) {
          const actor = yield* CurrentActor
          const by = yield* history.nameOf(actor)
          return yield* transaction.run(
            Effect.gen(function* () {
              if (Option.isSome(yield* importLock.share(actor.accountId))) return yield* new PimLocked()
              const locked = yield* drafts.lock(actor.accountId, owners, [], "summarized")
              const remedy = yield* decide(locked)
              // The changes were decided from the locked state. A change that is not possible is therefore a defect.
              const after = yield* Effect.orDie(
                carryOut(locked, remedy.changes, { ...ofActor, by, undoOf: undoOf ?? null })
              )
              return { remedy, locked: after }
            })
          )
        }),
        planAhead: (importId, groups) =>
          Effect.flatMap(Effect.flatMap(CurrentActor, history.nameOf), (by) =>
            imported.planAhead(groups, { ...ofActor, by, importId })
          ),
        applyImported: (importId, changes, select, ahead) =>
          Effect.flatMap(Effect.flatMap(CurrentActor, history.nameOf), (by) =>
            write(changes, { ...ofActor, by, importId }, select, ahead)
          )
      }
    })
  )
}
