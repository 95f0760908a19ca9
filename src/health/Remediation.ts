import { Context, Effect, Layer } from "effect"
import { Transaction } from "../database/Transaction.ts"
import type { LockedCatalog } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import type { EntityId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { HealthRepo } from "./HealthRepo.ts"
import {
  type BasedOn,
  decideFills,
  decideReconciles,
  type FillOperation,
  type FillResult,
  type ReconcileOperation,
  type ReconcileResult,
  type Remedy
} from "./RemediationRules.ts"

/** The results of a batch of fills. */
export interface Filled {
  /** Number of written fields. */
  readonly filled: number
  readonly results: ReadonlyArray<FillResult>
}

/** The results of a batch of reconciles. */
export interface Reconciled {
  /** Number of written store versions, summed over the operations. */
  readonly patched: number
  readonly results: ReadonlyArray<ReconcileResult>
}

const make = Effect.gen(function* () {
  const changes = yield* CatalogChanges
  const definitions = yield* MetafieldDefinitions
  const faults = yield* FaultInjector
  const health = yield* HealthRepo
  const stores = yield* StoresRepo
  const transaction = yield* Transaction

  /** The linked stores that the caller can use. */
  const linked = Effect.gen(function* () {
    const { accountId } = yield* CurrentActor
    const bounds = yield* CurrentBounds
    const all = yield* stores.list(accountId)
    return new Map(all.flatMap((store) => (includes(bounds, store.id) ? [[store.id, store]] : [])))
  })

  /** The stores and rules that a divergence scan compares, limited to stores that the caller can use. */
  const comparison = Effect.gen(function* () {
    const { divergence } = yield* health.rules((yield* CurrentActor).accountId)
    return { stores: yield* linked, rules: divergence }
  })

  const carryOut = <Result extends { readonly entity_id: EntityId; readonly ok: boolean }>(
    kind: EntityKind,
    operations: ReadonlyArray<{ readonly entity_id: EntityId; readonly field: string }>,
    decision: Effect.Effect<(rules: KeyRules) => (locked: LockedCatalog) => Remedy<Result>, never, CurrentActor>
  ) =>
    Effect.gen(function* () {
      if (operations.length === 0) return []
      const { accountId } = yield* CurrentActor
      const keys = [...new Set(operations.map(({ field }) => field))]
      const owners = [...new Set(operations.map(({ entity_id }) => entity_id))]
      const { locked, remedy } = yield* transaction.run(
        Effect.gen(function* () {
          yield* faults.at("batchBegun")
          const decide = yield* decision
          const written = yield* changes.applyRemedy(owners, (locked) =>
            Effect.map(definitions.rulesFor(accountId, kind, keys), (rules) => decide(rules)(locked))
          )
          yield* faults.at("batchWritten")
          return written
        })
      )
      yield* faults.at("batchCommitted")
      return remedy.results.map((result) =>
        result.ok ? { ...result, draft_revision: locked.revisions.get(result.entity_id) ?? 0 } : result
      )
    })

  const fill = Effect.fn("Remediation.fill")(
    (kind: EntityKind, operations: ReadonlyArray<FillOperation>, basedOn?: BasedOn) =>
      Effect.map(
        carryOut(
          kind,
          operations,
          Effect.map(linked, (stores) => (rules: KeyRules) => decideFills(kind, operations, rules, stores, basedOn))
        ),
        (results): Filled => ({ filled: results.filter(({ filled }) => filled).length, results })
      )
  )

  return {
    /**
     * Fills empty fields, canonical or of a store. At most 500 operations, all on one kind. `basedOn`: an operation on an entity
     * whose draft has another revision fails.
     */
    fill,
    /**
     * Fills empty canonical fields, then the fields that are still empty on stores, in one transaction. At most 500 operations
     * each, on the same entities.
     */
    fillCanonicalThenStores: Effect.fn("Remediation.fillCanonicalThenStores")(
      (kind: EntityKind, canonical: ReadonlyArray<FillOperation>, onStores: ReadonlyArray<FillOperation>) =>
        transaction.run(Effect.all([fill(kind, canonical), fill(kind, onStores)]))
    ),
    /**
     * Gives a field the same value on all stores of one language or currency that have different values. At most 500
     * operations, all on one kind. `basedOn` as for `fill`.
     */
    reconcile: Effect.fn("Remediation.reconcile")(
      (kind: EntityKind, operations: ReadonlyArray<ReconcileOperation>, basedOn?: BasedOn) =>
        Effect.map(
          carryOut(
            kind,
            operations,
            Effect.map(
              comparison,
              (compared) => (rules: KeyRules) => decideReconciles(kind, operations, rules, compared, basedOn)
            )
          ),
          (results) => ({
            patched: results.reduce((sum, { patched_store_ids }) => sum + patched_store_ids.length, 0),
            results
          })
        )
    )
  }
})

/**
 * Repairs many drafts at once. A batch is one transaction: it locks its entities in the order of all writers, checks each
 * operation again under the locks, and writes all changes or none. It publishes nothing. PimLocked: an import locks the account.
 */
export class Remediation extends Context.Tag("catalog/Remediation")<Remediation, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Remediation, make)
}
