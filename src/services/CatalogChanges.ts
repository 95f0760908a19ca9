import { Context, Effect, Layer, Option } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { type CatalogChange, isEmpty, ownersOf, planChanges, referencesOf } from "../domain/CatalogChange.ts"
import { type NotFound, PimLocked, type ValidationFailed } from "../domain/Errors.ts"
import { DraftsRepo } from "../repos/DraftsRepo.ts"
import { ImportLockRepo } from "../repos/ImportLockRepo.ts"

type Outcome = Effect.Effect<void, NotFound | ValidationFailed, CurrentActor>

/** The one way in which the catalog is written. */
export class CatalogChanges extends Context.Tag("catalog/CatalogChanges")<
  CatalogChanges,
  {
    /**
     * Applies a list of changes to the drafts of the actor's account, in order, as a whole or not at all; changes that
     * change nothing write nothing. At most about 1,000 entities at once: they are held in memory and locked together.
     *
     * NotFound: an entity, store or store version that is not there. ValidationFailed: a change that cannot hold.
     * PimLocked: an import of the account is under review or being applied.
     */
    readonly apply: (
      changes: ReadonlyArray<CatalogChange>
    ) => Effect.Effect<void, NotFound | ValidationFailed | PimLocked, CurrentActor>
    /** The same, by the import that keeps the account locked, inside its transaction. */
    readonly applyImported: (changes: ReadonlyArray<CatalogChange>) => Outcome
  }
>() {
  static readonly layer = Layer.effect(
    CatalogChanges,
    Effect.gen(function* () {
      const drafts = yield* DraftsRepo
      const importLock = yield* ImportLockRepo
      const transaction = yield* Transaction

      const write = (changes: ReadonlyArray<CatalogChange>, carryOut: typeof drafts.save): Outcome =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const owners = [...new Set(changes.flatMap(ownersOf))]
          const references = [...new Set(changes.flatMap(referencesOf))]
          const locked = yield* drafts.lock(accountId, owners, references)
          const plan = yield* planChanges(locked, changes)
          if (isEmpty(plan)) return
          yield* carryOut(accountId, plan)
        })
      // The counter last: a walk must not pass what is not committed, and no writer may wait for one that waits for it.
      const saveAndRaise: typeof drafts.save = (accountId, plan) =>
        Effect.zipRight(drafts.save(accountId, plan), drafts.raise(accountId, plan))

      return {
        apply: Effect.fn("CatalogChanges.apply")(function* (changes) {
          const { accountId } = yield* CurrentActor
          yield* transaction.run(
            Effect.gen(function* () {
              if (Option.isSome(yield* importLock.share(accountId))) return yield* new PimLocked()
              yield* write(changes, saveAndRaise)
            })
          )
        }),
        applyImported: (changes) => write(changes, drafts.saveStamped)
      }
    })
  )
}
