import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { findAll, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { ViewsOf } from "./SavedViews.ts"

/** `query`: the filters and the order, as the query of the list's address. */
export const SavedView = Schema.Struct({ name: Schema.String, query: Schema.String })
export type SavedView = typeof SavedView.Type

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const list = findAll(SavedView)(
    ({ accountId, list, userId }: ViewsOf) => sql`
      SELECT name, query FROM saved_view
      WHERE account_id = ${accountId} AND user_id = ${userId} AND list = ${list}
      ORDER BY lower(name), name`
  )

  return {
    /** Ordered by name. */
    list,
    // Two saves at the same moment may both count as the last one: the limit bounds the table, not exactly.
    /** Replaces a view of the same name. False: the user has `limit` other views of the list. */
    save: ({ accountId, list, userId }: ViewsOf, { name, query }: SavedView, limit: number) =>
      sql`
        INSERT INTO saved_view (account_id, user_id, list, name, query)
        SELECT ${accountId}, ${userId}, ${list}, ${name}, ${query}
        WHERE (
          SELECT count(*) FROM saved_view v
          WHERE v.account_id = ${accountId} AND v.user_id = ${userId} AND v.list = ${list} AND v.name <> ${name}
        ) < ${limit}
        ON CONFLICT (account_id, user_id, list, name) DO UPDATE SET query = excluded.query
        RETURNING name`.pipe(hasRows),
    remove: ({ accountId, list, userId }: ViewsOf, name: string) =>
      orDie(sql`
        DELETE FROM saved_view
        WHERE account_id = ${accountId} AND user_id = ${userId} AND list = ${list} AND name = ${name}`)
  }
})

/** Saved filters of the console's lists. There is no in-memory implementation. */
export class SavedViewsRepo extends Context.Tag("catalog/SavedViewsRepo")<
  SavedViewsRepo,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(SavedViewsRepo, make)
}
