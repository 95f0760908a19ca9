import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { insertAll, insertRows } from "../database/Inserts.ts"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { Actor } from "../model/Actor.ts"
import { type AccountId, ConnectionId, DropId, type EntityId, ImportId, StoreId } from "../model/Ids.ts"
import { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { makeActorNames } from "./ActorNames.sql.ts"
import { makeBeforeEndedDrops, type ValueBeforeDrop } from "./EndedDrops.sql.ts"
import {
  authorOf,
  HistoryAction,
  HistoryActor,
  type HistoryEntry,
  type HistoryFilter,
  type LayerChange,
  maxHistoryEntries,
  type PublishEvent,
  ValueChange
} from "./History.ts"
import { type DroppedOverride, makeOfOpenDrops } from "./OpenDrops.sql.ts"

/**
 * The author of a write. `by`: the actor, as `nameOf` returns it. `importId`: the import that the actor accepted. `dropId`: the drop
 * that the actor scheduled. `undoOf`: the connection whose writes the actor undid.
 */
export interface Author {
  readonly by: HistoryActor
  readonly importId: ImportId | null
  readonly dropId: DropId | null
  readonly undoOf: ConnectionId | null
}

const recordedColumns = {
  entity_id: "uuid",
  draft_revision: "integer",
  store_id: "uuid",
  action: "text",
  changes: "jsonb",
  sequence: "bigint"
}

/** The rows of changes, each numbered after the history of its entity. */
const recordedRows = (changes: ReadonlyArray<LayerChange>, sequences: ReadonlyMap<EntityId, number>) =>
  changes.map(({ action, changes, draftRevision, entityId, storeId }, index) => ({
    entity_id: entityId,
    draft_revision: draftRevision,
    store_id: storeId,
    action,
    changes,
    sequence: (sequences.get(entityId) ?? 0) + index + 1
  }))

const HistoryRow = Schema.Struct({
  draftRevision: Schema.Int,
  at: Timestamp,
  kind: HistoryActor.fields.kind,
  actorId: Schema.NullOr(Schema.String),
  actorName: Schema.NullOr(Schema.String),
  importId: Schema.NullOr(ImportId),
  dropId: Schema.NullOr(DropId),
  dropName: Schema.NullOr(Schema.String),
  undoOf: Schema.NullOr(ConnectionId),
  storeId: Schema.NullOr(StoreId),
  storeDomain: Schema.NullOr(Schema.String),
  action: HistoryAction,
  changes: Schema.Array(ValueChange),
  error: Schema.NullOr(PublishError)
})

/** The history of drafts: authors, times and values. */
export class HistoryRepo extends Context.Tag("catalog/HistoryRepo")<
  HistoryRepo,
  {
    /**
     * Records changes. Call it in their transaction, under the locks of the entities, before the account's counter is raised.
     * `sequences`: the number of the newest entry of each entity that has any, read under the same locks. `at`: the time of all these changes,
     * by which an undo knows what came to a store together; if it is left out, each has the time at which its row is written.
     */
    readonly record: (
      accountId: AccountId,
      author: Author,
      changes: ReadonlyArray<LayerChange>,
      sequences: ReadonlyMap<EntityId, number>,
      at?: Timestamp
    ) => Effect.Effect<void>
    /**
     * The actor as history stores it, with the current name. Call it before a transaction that runs `atNode`, because only the coordinator has
     * the names.
     */
    readonly nameOf: (actor: Actor) => Effect.Effect<HistoryActor>
    /** Records publish requests and their outcomes. `by`: the actor of the request; `dropId`: the drop that made the request. */
    readonly recordPublishes: (
      accountId: AccountId,
      by: HistoryActor,
      dropId: DropId | null,
      events: ReadonlyArray<PublishEvent>
    ) => Effect.Effect<void>
    /** Changes of an entity that the filter finds among the newest `maxHistoryEntries` (or `limit`, if it is more), newest first. */
    readonly list: (
      accountId: AccountId,
      entityId: EntityId,
      limit: number,
      filter: HistoryFilter
    ) => Effect.Effect<ReadonlyArray<HistoryEntry>>
    /** The values before drops that an undo of this revision restores: of its fields whose earlier values are those of ended drops. */
    readonly beforeEndedDrops: (
      accountId: AccountId,
      entityId: EntityId,
      revision: number
    ) => Effect.Effect<ReadonlyArray<ValueBeforeDrop>>
    /** The overrides that drops have written to these entities, of the drops that will end. Later edits of them are not looked at. */
    readonly ofOpenDrops: (
      accountId: AccountId,
      entityIds: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyArray<DroppedOverride>>
  }
>() {
  static readonly layer = Layer.effect(
    HistoryRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = findAll(HistoryRow)(
        (accountId: string, entityId: EntityId, limit: number, { key, revision, storeId }: HistoryFilter) => sql`
          SELECT h.draft_revision AS "draftRevision", rfc3339(h.at) AS at, h.actor_kind AS kind, h.actor_id AS "actorId",
                 h.actor_name AS "actorName", h.import_id AS "importId", h.drop_id AS "dropId",
                 d.name AS "dropName", h.undo_of AS "undoOf", h.store_id AS "storeId",
                 s.domain AS "storeDomain", h.action, h.error,
                 ${
                   key === undefined
                     ? sql`h.changes`
                     : sql`(SELECT jsonb_agg(c.change) FROM jsonb_array_elements(h.changes) AS c (change) WHERE c.change ->> 'key' = ${key}) AS changes`
                 }
          FROM (
            SELECT * FROM entity_history n
            WHERE n.account_id = ${accountId} AND n.entity_id = ${entityId}
            ORDER BY n.sequence DESC
            LIMIT ${Math.max(limit, maxHistoryEntries)}
          ) h
          LEFT JOIN store s ON s.account_id = ${accountId} AND s.id = h.store_id
          LEFT JOIN drop d ON d.account_id = ${accountId} AND d.id = h.drop_id
          WHERE true
            ${revision === undefined ? sql`` : sql`AND h.draft_revision = ${revision}`}
            ${key === undefined ? sql`` : sql`AND h.changes @> jsonb_build_array(jsonb_build_object('key', ${key}::text))`}
            ${storeId === undefined ? sql`` : sql`AND h.store_id IS NOT DISTINCT FROM ${storeId}::uuid`}
          ORDER BY h.sequence DESC
          LIMIT ${limit}`
      )

      const nameOf = makeActorNames(sql)

      /** The rows as JSON, each with its place from 1. */
      const toNumberedJson = (rows: ReadonlyArray<object>) =>
        JSON.stringify(rows.map((row, index) => ({ ...row, n: index + 1 })))

      /** Numbers a row `r` after the history of its entity, which the caller has locked. */
      const nextSequence = (accountId: AccountId) => sql`
        r.n + (
          SELECT coalesce(max(h.sequence), 0) FROM entity_history h
          WHERE h.account_id = ${accountId} AND h.entity_id = r."entityId"
        )`

      return {
        beforeEndedDrops: makeBeforeEndedDrops(sql),
        ofOpenDrops: makeOfOpenDrops(sql),
        record: (accountId, { by, dropId, importId, undoOf }, changes, sequences, at) =>
          changes.length === 0
            ? Effect.void
            : insertAll(
                insertRows(sql, accountId, {
                  table: "entity_history",
                  columns: recordedColumns,
                  rows: recordedRows(changes, sequences),
                  shared: {
                    actor_kind: sql`${by.kind}`,
                    actor_id: sql`${by.id}::uuid`,
                    actor_name: sql`${by.name}::text`,
                    import_id: sql`${importId}::uuid`,
                    drop_id: sql`${dropId}::uuid`,
                    undo_of: sql`${undoOf}::uuid`,
                    ...(at !== undefined && { at: sql`${at}::timestamptz` })
                  }
                }),
                changes.length
              ).pipe(orDie),
        nameOf: (actor) =>
          Effect.suspend(() => {
            const author = authorOf(actor)
            return Effect.map(nameOf(actor.accountId, author.kind, author.id), (name) => ({ ...author, name }))
          }),
        recordPublishes: (accountId, by, dropId, events) =>
          events.length === 0
            ? Effect.void
            : insertAll(
                sql`
                INSERT INTO entity_history (account_id, entity_id, draft_revision, store_id, action, changes, actor_kind,
                                            actor_id, actor_name, drop_id, error, sequence)
                SELECT own.account_id, r."entityId", r."draftRevision", r."storeId", r.action, '[]', ${by.kind},
                       ${by.id}::uuid, ${by.name}, ${dropId}::uuid, nullif(r.error, 'null'), ${nextSequence(accountId)}
                FROM account_state own
                CROSS JOIN jsonb_to_recordset(${toNumberedJson(events)}::jsonb) AS r (
                  "entityId" uuid, "draftRevision" integer, "storeId" uuid, action text, error jsonb, n integer
                )
                WHERE own.account_id = ${accountId}`,
                events.length
              ).pipe(orDie),
        list: (...parameters) =>
          Effect.gen(function* () {
            const [accountId] = parameters
            const rows = yield* list(...parameters)
            return yield* Effect.forEach(rows, (row) =>
              Effect.map(
                nameOf(accountId, "connection", row.undoOf),
                (undoneName): HistoryEntry => ({
                  draft_revision: row.draftRevision,
                  at: row.at,
                  actor: { kind: row.kind, id: row.actorId, name: row.actorName },
                  import_id: row.importId,
                  drop: row.dropId === null ? null : { id: row.dropId, name: row.dropName ?? "" },
                  undo_of: row.undoOf === null ? null : { id: row.undoOf, name: undoneName },
                  store_id: row.storeId,
                  store_domain: row.storeDomain,
                  action: row.action,
                  changes: row.changes,
                  error: row.error
                })
              )
            )
          })
      }
    })
  )
}
