import type { SqlClient } from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { LRUCache } from "lru-cache"
import { findSingle } from "../database/Rows.ts"
import type { AccountId } from "../model/Ids.ts"
import type { HistoryActor } from "./History.ts"

/** Reads the name of an actor. Null: it has none. */
export const makeActorNames = (sql: SqlClient) => {
  const findName = findSingle(Schema.Struct({ name: Schema.NullOr(Schema.String) }))(
    (accountId: string, kind: string, id: string) => sql`
      SELECT CASE ${kind}
        WHEN 'key' THEN (SELECT k.name FROM api_key k WHERE k.account_id = ${accountId} AND k.id = ${id})
        WHEN 'connection' THEN
          (SELECT g.client_name FROM oauth_grant g WHERE g.account_id = ${accountId} AND g.id = ${id})
        WHEN 'user' THEN (SELECT u.email FROM app_user u WHERE u.account_id = ${accountId} AND u.id = ${id})
      END AS name`
  )

  // The names of keys, connections and users never change.
  const names = new LRUCache<string, string>({ max: 10_000 })

  return Effect.fnUntraced(function* (accountId: AccountId, kind: HistoryActor["kind"], id: string | null) {
    if (id === null) return null
    const key = `${accountId} ${kind} ${id}`
    const known = names.get(key)
    if (known !== undefined) return known
    const { name } = yield* findName(accountId, kind, id)
    if (name !== null) names.set(key, name)
    return name
  })
}
