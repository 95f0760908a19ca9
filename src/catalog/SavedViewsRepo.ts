import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import type { ViewsOf } from "./SavedViews.ts"

/** `query`: the filters and the order, as the query of the list's address. */
export const SavedView = Schema.Struct({ name: Schema.String, query: Schema.String })
export type SavedView = typeof SavedView.Type

/** Saved filters of the console's lists. There is no in-memory implementation. */
export class SavedViewsRepo extends Context.Tag("catalog/SavedViewsRepo")<
  SavedViewsRepo,
  {
    /** Ordered by name. */
    readonly list: (of: ViewsOf) => Effect.Effect<ReadonlyArray<SavedView>>
    /** Replaces a view of the same name. False: the user has `limit` other views of the list. */
    readonly save: (of: ViewsOf, view: SavedView, limit: number) => Effect.Effect<boolean>
    readonly remove: (of: ViewsOf, name: string) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    SavedViewsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, userId: Schema.String, list: Schema.String }),
        Result: SavedView,
        execute: ({ accountId, list, userId }) => sql`
          SELECT name, query FROM saved_view
          WHERE account_id = ${accountId} AND user_id = ${userId} AND list = ${list}
          ORDER BY lower(name), name`
      })

      return {
        list: (of) => orDie(list(of)),
        // Two saves at the same moment may both count as the last one: the limit bounds the table, not exactly.
        save: ({ accountId, list, userId }, { name, query }, limit) =>
          sql`
            INSERT INTO saved_view (account_id, user_id, list, name, query)
            SELECT ${accountId}, ${userId}, ${list}, ${name}, ${query}
            WHERE (
              SELECT count(*) FROM saved_view v
              WHERE v.account_id = ${accountId} AND v.user_id = ${userId} AND v.list = ${list} AND v.name <> ${name}
            ) < ${limit}
            ON CONFLICT (account_id, user_id, list, name) DO UPDATE SET query = excluded.query
            RETURNING name`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        remove: ({ accountId, list, userId }, name) =>
          orDie(sql`
            DELETE FROM saved_view
            WHERE account_id = ${accountId} AND user_id = ${userId} AND list = ${list} AND name = ${name}`)
      }
    })
  )
}
