import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import { type AccountId, type ConnectionId, EntityId, type StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type AboutWrites, makeOfConnection, makeUndoAdditions, makeUndoFields } from "./UndoFields.sql.ts"
import { byField, type UndoWindow, type WrittenField } from "./UndoRules.ts"

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
    /** Those of these entities that the connection added to the store in the window. */
    readonly added: (
      accountId: AccountId,
      id: ConnectionId,
      window: UndoWindow,
      storeId: StoreId,
      entityIds: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyArray<EntityId>>
  }
>() {
  static readonly layer = Layer.effect(
    UndoRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const ofConnection = makeOfConnection(sql)

      const now = findSingle(Schema.Struct({ now: Timestamp }))(() => sql`SELECT rfc3339(app_now()) AS now`)

      const written = findAll(Schema.Struct({ entityId: EntityId }))(
        (about: AboutWrites, after: EntityId, limit: number) => sql`
          SELECT DISTINCT h.entity_id AS "entityId" FROM entity_history h
          WHERE ${ofConnection(about)} AND h.entity_id > ${after}
          ORDER BY h.entity_id
          LIMIT ${limit} ${sql.literal(planCustom)}`
      )

      const countWritten = findSingle(Schema.Struct({ count: Schema.Int }))(
        (about: AboutWrites, after: EntityId) => sql`
          SELECT count(DISTINCT h.entity_id)::integer AS count FROM entity_history h
          WHERE ${ofConnection(about)} AND h.entity_id > ${after} ${sql.literal(planCustom)}`
      )

      const added = findAll(Schema.Struct({ entityId: EntityId }))(
        (about: AboutWrites, storeId: StoreId, ids: ReadonlyArray<EntityId>) => sql`
          SELECT k.id AS "entityId"
          FROM unnest(${ids}::uuid[]) AS k (id)
          CROSS JOIN LATERAL (
            SELECT FROM entity_history h
            WHERE ${ofConnection(about)} AND h.entity_id = k.id AND h.store_id = ${storeId} AND h.action = 'added_to_store'
            LIMIT 1
          ) a ${sql.literal(planCustom)}`
      )

      const additions = makeUndoAdditions(sql)
      const fields = makeUndoFields(sql)

      return {
        now: Effect.map(now(), (row) => row.now),
        written: (accountId, id, window, after, limit) =>
          Effect.map(written({ accountId, id, ...window }, after, limit), (rows) =>
            rows.map(({ entityId }) => entityId)
          ),
        countWritten: (accountId, id, window, after) =>
          Effect.map(countWritten({ accountId, id, ...window }, after), ({ count }) => count),
        fields: (...about) =>
          Effect.zipWith(fields(...about), additions(...about), (written, added) =>
            [...written, ...added].sort(byField)
          ),
        added: (accountId, id, window, storeId, ids) =>
          ids.length === 0
            ? Effect.succeed([])
            : Effect.map(added({ accountId, id, ...window }, storeId, ids), (rows) =>
                rows.map(({ entityId }) => entityId)
              )
      }
    })
  )
}
