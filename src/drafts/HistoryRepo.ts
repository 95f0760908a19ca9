import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import type { Actor } from "../model/Actor.ts"
import { type AccountId, ConnectionId, DropId, EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import {
  authorOf,
  HistoryAction,
  HistoryActor,
  type HistoryEntry,
  type LayerChange,
  type PublishEvent,
  ValueChange
} from "./History.ts"

/**
 * The author of a write. `importId`, `dropId`: the import that the actor accepted, or the drop that the actor scheduled. `undoOf`:
 * the connection whose writes the actor undid.
 */
export interface Author {
  readonly actor: Actor
  readonly importId: ImportId | null
  readonly dropId: DropId | null
  readonly undoOf: ConnectionId | null
}

/** Who changed which draft, when and how. */
export class HistoryRepo extends Context.Tag("catalog/HistoryRepo")<
  HistoryRepo,
  {
    /** Runs in the transaction of the changes, under the locks of their entities and before the counter is raised. */
    readonly record: (author: Author, changes: ReadonlyArray<LayerChange>) => Effect.Effect<void>
    /** The actor with the current name. */
    readonly nameOf: (actor: Actor) => Effect.Effect<HistoryActor>
    /** As `record`, for publish requests and their outcomes. `by`: who requested them; `dropId`: the drop that did so for them. */
    readonly recordPublishes: (
      accountId: AccountId,
      by: HistoryActor,
      dropId: DropId | null,
      events: ReadonlyArray<PublishEvent>
    ) => Effect.Effect<void>
    /** The newest changes of an entity, newest first. */
    readonly list: (
      accountId: AccountId,
      entityId: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HistoryEntry>>
  }
>() {
  static readonly layer = Layer.effect(
    HistoryRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, entityId: EntityId, limit: Schema.Int }),
        Result: Schema.Struct({
          draftRevision: Schema.Int,
          at: Timestamp,
          kind: HistoryActor.fields.kind,
          actorId: Schema.NullOr(Schema.String),
          actorName: Schema.NullOr(Schema.String),
          importId: Schema.NullOr(ImportId),
          dropId: Schema.NullOr(DropId),
          dropName: Schema.NullOr(Schema.String),
          undoOf: Schema.NullOr(ConnectionId),
          undoneName: Schema.NullOr(Schema.String),
          storeId: Schema.NullOr(StoreId),
          storeDomain: Schema.NullOr(Schema.String),
          action: HistoryAction,
          changes: Schema.Array(ValueChange),
          error: Schema.NullOr(PublishError)
        }),
        execute: ({ accountId, entityId, limit }) => sql`
          SELECT h.draft_revision AS "draftRevision", rfc3339(h.at) AS at, h.actor_kind AS kind, h.actor_id AS "actorId",
                 h.actor_name AS "actorName", h.import_id AS "importId", h.drop_id AS "dropId",
                 d.name AS "dropName", h.undo_of AS "undoOf", g.client_name AS "undoneName", h.store_id AS "storeId",
                 s.domain AS "storeDomain", h.action, h.changes, h.error
          FROM entity_history h
          LEFT JOIN store s ON s.account_id = h.account_id AND s.id = h.store_id
          LEFT JOIN drop d ON d.account_id = h.account_id AND d.id = h.drop_id
          LEFT JOIN oauth_grant g ON g.account_id = h.account_id AND g.id = h.undo_of
          WHERE h.account_id = ${accountId} AND h.entity_id = ${entityId}
          ORDER BY h.sequence DESC
          LIMIT ${limit}`
      })

      /** The current name of an actor. */
      const actorName = (accountId: string, kind: string, id: string | null) => sql`
        CASE ${kind}
          WHEN 'key' THEN (SELECT k.name FROM api_key k WHERE k.account_id = ${accountId} AND k.id = ${id})
          WHEN 'connection' THEN (SELECT g.client_name FROM oauth_grant g WHERE g.account_id = ${accountId} AND g.id = ${id})
          WHEN 'user' THEN (SELECT u.email FROM app_user u WHERE u.account_id = ${accountId} AND u.id = ${id})
        END`

      const nameOf = SqlSchema.single({
        Request: Schema.Struct({ accountId: Schema.String, kind: Schema.String, id: Schema.NullOr(Schema.String) }),
        Result: Schema.Struct({ name: Schema.NullOr(Schema.String) }),
        execute: ({ accountId, id, kind }) => sql`SELECT ${actorName(accountId, kind, id)} AS name`
      })

      /** The rows as JSON, each with its place from 1. */
      const numbered = (rows: ReadonlyArray<object>) =>
        JSON.stringify(rows.map((row, index) => ({ ...row, n: index + 1 })))

      /** Numbers a row `r` after the history of its entity, which the caller has locked. */
      const nextSequence = (accountId: AccountId) => sql`
        r.n + (
          SELECT coalesce(max(h.sequence), 0) FROM entity_history h
          WHERE h.account_id = ${accountId} AND h.entity_id = r."entityId"
        )`

      return {
        record: ({ actor, dropId, importId, undoOf }, changes) => {
          const { id, kind } = authorOf(actor)
          return changes.length === 0
            ? Effect.void
            : sql`
                INSERT INTO entity_history (account_id, entity_id, draft_revision, store_id, action, changes, actor_kind,
                                            actor_id, actor_name, import_id, drop_id, undo_of, sequence)
                SELECT own.account_id, r."entityId", r."draftRevision", r."storeId", r.action, r.changes,
                       ${kind}, ${id}::uuid,
                       ${actorName(actor.accountId, kind, id)},
                       ${importId}::uuid, ${dropId}::uuid, ${undoOf}::uuid, ${nextSequence(actor.accountId)}
                FROM account_state own
                CROSS JOIN jsonb_to_recordset(${numbered(changes)}::jsonb) AS r (
                  "entityId" uuid, "draftRevision" integer, "storeId" uuid, action text, changes jsonb, n integer
                )
                WHERE own.account_id = ${actor.accountId}`.pipe(Effect.asVoid, orDie)
        },
        nameOf: (actor) =>
          Effect.orDie(nameOf({ accountId: actor.accountId, ...authorOf(actor) })).pipe(
            Effect.map(({ name }) => ({ ...authorOf(actor), name }))
          ),
        recordPublishes: (accountId, by, dropId, events) =>
          events.length === 0
            ? Effect.void
            : sql`
                INSERT INTO entity_history (account_id, entity_id, draft_revision, store_id, action, changes, actor_kind,
                                            actor_id, actor_name, drop_id, error, sequence)
                SELECT own.account_id, r."entityId", r."draftRevision", r."storeId", r.action, '[]', ${by.kind},
                       ${by.id}::uuid, ${by.name}, ${dropId}::uuid, nullif(r.error, 'null'), ${nextSequence(accountId)}
                FROM account_state own
                CROSS JOIN jsonb_to_recordset(${numbered(events)}::jsonb) AS r (
                  "entityId" uuid, "draftRevision" integer, "storeId" uuid, action text, error jsonb, n integer
                )
                WHERE own.account_id = ${accountId}`.pipe(Effect.asVoid, orDie),
        list: (accountId, entityId, limit) =>
          Effect.map(orDie(list({ accountId, entityId, limit })), (rows) =>
            rows.map(
              (row): HistoryEntry => ({
                draft_revision: row.draftRevision,
                at: row.at,
                actor: { kind: row.kind, id: row.actorId, name: row.actorName },
                import_id: row.importId,
                drop: row.dropId === null ? null : { id: row.dropId, name: row.dropName ?? "" },
                undo_of: row.undoOf === null ? null : { id: row.undoOf, name: row.undoneName },
                store_id: row.storeId,
                store_domain: row.storeDomain,
                action: row.action,
                changes: row.changes,
                error: row.error
              })
            )
          )
      }
    })
  )
}
