import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { type Aggregate, byPosition } from "../../src/catalog/Aggregate.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { derive } from "../../src/drafts/Aggregate.ts"
import { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import { valueOf } from "../../src/model/Attribute.ts"
import { type AccountId, EntityId } from "../../src/model/Ids.ts"

/** The entities whose derived fields differ from the result of the pure function on their sources. `all`: products with all their variants. */
export const wronglyDerived = (all: ReadonlyArray<Aggregate>): ReadonlyArray<Aggregate> =>
  all.filter((aggregate) => {
    const product = all.find(({ id }) => id === aggregate.parentId)
    const afresh = derive(aggregate, {
      productTitle: product === undefined ? "" : valueOf(product.attributes, "title"),
      variants: all.filter(({ parentId }) => parentId === aggregate.id).sort(byPosition)
    })
    return JSON.stringify(afresh) !== JSON.stringify(aggregate)
  })

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
    const isStored = ({ id, storeIds }: Aggregate) => JSON.stringify(storeIds) === JSON.stringify(stored.get(id))
    return {
      entities: all.length,
      wrong: [...new Set([...wronglyDerived(all), ...all.filter((each) => !isStored(each))])]
    }
  })
