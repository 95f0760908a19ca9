import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import type { AccountId, EntityId } from "../model/Ids.ts"
import type { Locked, Plan } from "./CatalogChange.ts"
import type { ChangeNote } from "./ChangeNote.ts"
import { makeDraftLock } from "./DraftLocks.sql.ts"
import { makeDraftWrites } from "./DraftWrites.ts"

/** The steps of every write to the catalog: lock, save, raise, in one transaction and in this order. */
export class DraftsRepo extends Context.Tag("catalog/DraftsRepo")<
  DraftsRepo,
  {
    /**
     * Locks the existing entities among `owners`, the products of the variants among them, and then the variants of the
     * products. Reads everything that a plan needs. Owners are locked before variants, each by id, so writers cannot
     * deadlock.
     */
    readonly lock: (
      accountId: AccountId,
      owners: ReadonlyArray<EntityId>,
      references: ReadonlyArray<EntityId>
    ) => Effect.Effect<Locked>
    /** Writes a plan, except the rows of existing entities whose revision rises: `raise` writes those. */
    readonly save: (accountId: AccountId, plan: Plan) => Effect.Effect<void>
    /**
     * Raises the account's counters first and writes a plan with its stamps, so that a new entity is written only once.
     * Only for an import, which excludes all other writes of the account.
     */
    readonly saveStamped: (accountId: AccountId, plan: Plan) => Effect.Effect<void>
    /**
     * Raises the account's version, and the revisions and stamps of a plan, in one statement. It must be the last statement of
     * a transaction, so that a walk misses no entity. Without a plan, only the version rises. `note`: what the transaction
     * changed, if that is not what the plan changes.
     */
    readonly raise: (accountId: AccountId, plan?: Plan, note?: ChangeNote) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DraftsRepo,
    Effect.map(SqlClient.SqlClient, (sql) => ({ lock: makeDraftLock(sql), ...makeDraftWrites(sql) }))
  )
}
