import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { type AccountId, type ConnectionId, EntityId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { AboutWrites, makeOfConnection, makeUndoFields } from "./UndoFields.sql.ts"
import type { UndoWindow, WrittenField } from "./UndoRules.ts"

/** Reads the writes of a connection for an undo. */
export class UndoRepo extends Context.Tag("catalog/UndoRepo")<
  UndoRepo,
  {
    readonly now: Effect.Effect<Timestamp>
    /** Entities whose drafts the connection changed in the window, in the order of their ids, starting after `after`. */
    readonly written: (
      accountId: AccountId,
      id: ConnectionId,
      window: UndoWindow,
      after: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /** Number of entities that `written` would list without a limit. */
    readonly countWritten: (
      accountId: AccountId,
      id: ConnectionId,
      window: UndoWindow,
      after: EntityId
    ) => Effect.Effect<number>
    /**
     * The fields of these entities that the connection wrote in the window, sorted by entity, domain (canonical values first),
     * store, action and key.
     */
    readonly fields: (
      accountId: AccountId,
      id: ConnectionId,
      window: UndoWindow,
      entityIds: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyArray<WrittenField>>
  }
>() {
  static readonly layer = Layer.effect(
    UndoRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const ofConnection = makeOfConnection(sql)

      const now = SqlSchema.single({
        Request: Schema.Void,
        Result: Schema.Struct({ now: Timestamp }),
        execute: () => sql`SELECT rfc3339(app_now()) AS now`
      })

      const written = SqlSchema.findAll({
        Request: Schema.Struct({ ...AboutWrites.fields, after: EntityId, limit: Schema.Int }),
        Result: Schema.Struct({ entityId: EntityId }),
        execute: ({ after, limit, ...about }) => sql`
          SELECT DISTINCT h.entity_id AS "entityId" FROM entity_history h
          WHERE ${ofConnection(about)} AND h.entity_id > ${after}
          ORDER BY h.entity_id
          LIMIT ${limit} ${sql.literal(planCustom)}`
      })

      const countWritten = SqlSchema.single({
        Request: Schema.Struct({ ...AboutWrites.fields, after: EntityId }),
        Result: Schema.Struct({ count: Schema.Int }),
        execute: ({ after, ...about }) => sql`
          SELECT count(DISTINCT h.entity_id)::integer AS count FROM entity_history h
          WHERE ${ofConnection(about)} AND h.entity_id > ${after} ${sql.literal(planCustom)}`
      })

      const fields = makeUndoFields(sql)

      return {
        now: Effect.map(Effect.orDie(now()), (row) => row.now),
        written: (accountId, id, window, after, limit) =>
          Effect.map(orDie(written({ accountId, id, ...window, after, limit })), (rows) =>
            rows.map(({ entityId }) => entityId)
          ),
        countWritten: (accountId, id, window, after) =>
          Effect.map(Effect.orDie(countWritten({ accountId, id, ...window, after })), ({ count }) => count),
        fields
      }
    })
  )
}
