import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { isDistributedAtStart } from "../database/Distribution.ts"
import type { AccountId, EntityId } from "../model/Ids.ts"
import type { LockedCatalog, Plan } from "./CatalogChange.ts"
import type { ChangeNote } from "./ChangeNote.ts"
import { makeDraftReads } from "./DraftReads.sql.ts"
import { makeDraftWrites } from "./DraftWrites.ts"

/**
 * How the other variants of the affected products, and the members of the affected collections, are read. `complete`: with all data, the
 * variants locked. `summarized`: only in part and not locked, for changes that do not need them. A product can have thousands of variants,
 * each with a version for every store, and a collection a million members, each once more in the accepted values of every store.
 */
export type ReadExtent = "complete" | "summarized"

/** Reads the entities that a change affects, and the kinds of those that it refers to. `extent`: `complete` if it is left out. */
export type ReadForChange = (
  accountId: AccountId,
  owners: ReadonlyArray<EntityId>,
  references: ReadonlyArray<EntityId>,
  extent?: ReadExtent
) => Effect.Effect<LockedCatalog>

/** The steps of every write to the catalog, in one transaction and in this order: lock, save, raise. */
export class DraftsRepo extends Context.Tag("catalog/DraftsRepo")<
  DraftsRepo,
  {
    /**
     * Locks the existing entities among `owners` and the products of variants among them, then the variants of all these products.
     * Reads all data that a plan needs. Owners are locked before variants, each set in the order of ids, so writers cannot
     * deadlock. Nobody writes a variant without the lock of its product, so summaries stay true without a lock.
     */
    readonly lock: ReadForChange
    /** As `lock`, without locks. For work that does not write what it reads, and for a write that is refused anyway. */
    readonly read: ReadForChange
    /** Writes a plan, except the rows of existing entities whose revision rises. `raise` writes those rows. */
    readonly save: (accountId: AccountId, plan: Plan) => Effect.Effect<void>
    /**
     * Builds the statements of a plan, and returns an effect that runs them in a transaction. It raises the account's counters first,
     * then writes the plan with the new counters, so that each new entity is written only once. Only for an import, because an import
     * excludes all other writes of the account.
     */
    readonly prepareStamped: (accountId: AccountId, plan: Plan) => Effect.Effect<Effect.Effect<void>>
    /**
     * Raises the account's version, and writes revisions and change_seq of a plan. It must be the last step of a transaction, so that a
     * reader of lists misses no entity. Without a plan, only the version rises. `note`: the changes of the transaction, if they differ
     * from those of the plan.
     */
    readonly raise: (accountId: AccountId, plan?: Plan, note?: ChangeNote) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DraftsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const isDistributed = yield* isDistributedAtStart
      return { ...makeDraftReads(sql, isDistributed), ...makeDraftWrites(sql, isDistributed) }
    })
  )
}
