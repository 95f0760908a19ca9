import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { Transaction } from "../../src/database/Transaction.ts"
import { derive } from "../../src/drafts/Aggregate.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { valueOf } from "../../src/model/Attribute.ts"
import { type AccountId, EntityId } from "../../src/model/Ids.ts"

/** The derived fields of all entities that differ from the result of the pure function on their sources. */
export const wrongDerivations = (accountId: AccountId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const drafts = yield* DraftsRepo
    const transaction = yield* Transaction
    const rows = yield* sql`SELECT id, store_ids FROM entity WHERE account_id = ${accountId}`
    const stored = new Map(rows.map((row) => [String(row.id), row.store_ids]))
    const ids = [...stored.keys()].map((id) => EntityId.make(id))
    const { aggregates } = yield* transaction.run(drafts.lock(accountId, ids, []))
    const all = [...aggregates.values()]
    const wrong = all.filter((aggregate) => {
      const product = aggregate.parentId === null ? undefined : aggregates.get(aggregate.parentId)
      const afresh = derive(aggregate, {
        productTitle: product === undefined ? "" : valueOf(product.attributes, "title"),
        variants: all
          .filter(({ parentId }) => parentId === aggregate.id)
          .sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
      })
      return (
        JSON.stringify({ ...afresh, stored: afresh.storeIds }) !==
        JSON.stringify({ ...aggregate, stored: stored.get(aggregate.id) })
      )
    })
    return { entities: all.length, wrong }
  })
