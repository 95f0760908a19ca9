import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { orDie } from "../database/SqlErrors.ts"
import type { Actor } from "../model/Actor.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { AccountId, ApiKeyId, ConnectionId, DropId, EntityId, StoreId, UserId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import { Timestamp } from "../model/Timestamp.ts"
import {
  Drop,
  DropChange,
  DropEffect,
  type DropOutcome,
  type DropStatus,
  type DropTarget,
  type PlannedChange,
  type PlannedDrop
} from "./Drop.ts"

/** What remains to be done of a drop. `start` and `end` are due at their times, the others when the stores have answered. */
export const DropStepName = Schema.Literal("start", "settle_start", "end", "settle_end")
export type DropStepName = typeof DropStepName.Type

/** A step that somebody may take now. */
export const DueStep = Schema.Struct({ accountId: AccountId, id: DropId, step: DropStepName })
export type DueStep = typeof DueStep.Type

/** A drop in the hands of the transaction that takes its next step. */
export interface HeldDrop {
  readonly actor: Actor
  readonly status: DropStatus
  readonly endsAt: Timestamp | null
  readonly changes: ReadonlyArray<PlannedChange>
  readonly effects: ReadonlyArray<DropEffect>
}

/** What became of a change. */
export interface ChangeOutcome {
  readonly ordinal: number
  readonly outcome: DropOutcome | null
  readonly error: PublishError | null
}

/** A drop whose time and fields another one already has. */
export const Overlap = Schema.Struct({ ordinal: Schema.Int, id: DropId, name: Schema.String })
export type Overlap = typeof Overlap.Type

const Kept = Schema.Union(
  Schema.TaggedStruct("Key", { accountId: AccountId, keyId: ApiKeyId }),
  Schema.TaggedStruct("Connection", { accountId: AccountId, connectionId: ConnectionId }),
  Schema.TaggedStruct("User", { accountId: AccountId, userId: UserId }),
  Schema.TaggedStruct("Cli", { accountId: AccountId })
)
/** As it is kept: whoever acts for an account. An actor of a new kind does not compile before it can be kept. */
const ActorJson: Schema.Schema<Actor, typeof Kept.Encoded> = Kept

/** Scheduled field changes, and how far each is. */
export class DropsRepo extends Context.Tag("catalog/DropsRepo")<
  DropsRepo,
  {
    /** The database's clock, by which drops come and go. */
    readonly now: Effect.Effect<Timestamp>
    /** Until the transaction ends nobody else adds a drop to the account: two that overlap cannot both find nothing. */
    readonly alone: (accountId: AccountId) => Effect.Effect<void>
    /** Those of these entities that exist. */
    readonly targets: (
      accountId: AccountId,
      ids: ReadonlyArray<EntityId>
    ) => Effect.Effect<ReadonlyMap<EntityId, DropTarget>>
    /** Drops with something left to do that write a field of this one at a time of this one; by change, then time. */
    readonly overlaps: (accountId: AccountId, drop: PlannedDrop) => Effect.Effect<ReadonlyArray<Overlap>>
    readonly insert: (accountId: AccountId, id: DropId, drop: PlannedDrop, actor: Actor) => Effect.Effect<void>
    /** By time, then id; with `entityId` those that change it, narrowed to that. Changes on unlinked stores are left out. */
    readonly list: (accountId: AccountId, entityId: EntityId | null) => Effect.Effect<ReadonlyArray<Drop>>
    readonly find: (accountId: AccountId, id: DropId) => Effect.Effect<Option.Option<Drop>>
    /** Cancels a drop that has not started; false: it has, or there is none. */
    readonly cancel: (accountId: AccountId, id: DropId, actor: Actor) => Effect.Effect<boolean>
    /**
     * Steps that may be taken now, the longest due first, of accounts that no import locks and of drops that are not `except`:
     * whose time has come by the database's clock, or whose publishes have all ended. A start waits for the end of a drop
     * before it that wrote one of its fields.
     */
    readonly due: (most: number, except: ReadonlyArray<DropId>) => Effect.Effect<ReadonlyArray<DueStep>>
    /**
     * Takes a drop until the transaction ends, where this is still its next step and due; none: it is not, or another process
     * has it. A start or an end leaves its unique claim.
     */
    readonly hold: (due: DueStep) => Effect.Effect<Option.Option<HeldDrop>>
    /** Writes what a held drop did, and what comes next. Effects that are there are replaced. */
    readonly move: (
      due: Pick<DueStep, "accountId" | "id">,
      to: {
        readonly status: DropStatus
        readonly next: DropStepName | null
        readonly effects: ReadonlyArray<DropEffect>
        readonly outcomes: ReadonlyArray<ChangeOutcome>
      }
    ) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DropsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const now = SqlSchema.single({
        Request: Schema.Void,
        Result: Schema.Struct({ now: Timestamp }),
        execute: () => sql`SELECT rfc3339(app_now()) AS now`
      })

      const targets = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, ids: Schema.Array(EntityId) }),
        Result: Schema.Struct({
          id: EntityId,
          kind: EntityKind,
          attributes: Attributes,
          versions: Schema.Array(Schema.Struct({ storeId: StoreId, overrides: Attributes }))
        }),
        execute: ({ accountId, ids }) => sql`
          SELECT e.id, e.kind, e.attributes, (
                   SELECT coalesce(json_agg(json_build_object('storeId', v.store_id, 'overrides', v.overrides)
                                            ORDER BY s.domain COLLATE "C", s.id), '[]')
                   FROM store_version v
                   JOIN store s ON s.account_id = v.account_id AND s.id = v.store_id AND s.status = 'linked'
                   WHERE v.account_id = e.account_id AND v.entity_id = e.id
                 ) AS versions
          FROM unnest(${ids}::uuid[]) AS k (id)
          JOIN entity e ON e.account_id = ${accountId} AND e.id = k.id`
      })

      const rowsOf = (changes: ReadonlyArray<PlannedChange>) =>
        JSON.stringify(changes.map((change, ordinal) => ({ ordinal, ...change })))
      const planned = (changes: ReadonlyArray<PlannedChange>) => sql`
        jsonb_to_recordset(${rowsOf(changes)}::jsonb) AS n (
          ordinal integer, entity_id uuid, store_id uuid, field text, value text
        )`

      const overlaps = (accountId: AccountId, { changes, ends_at, starts_at }: PlannedDrop) => sql`
        SELECT n.ordinal, d.id, d.name
        FROM ${planned(changes)}
        JOIN drop_change c ON c.account_id = ${accountId} AND c.entity_id = n.entity_id AND c.field = n.field
        JOIN drop d ON d.account_id = c.account_id AND d.id = c.drop_id
        WHERE (c.store_id IS NULL OR n.store_id IS NULL OR c.store_id = n.store_id)
          AND d.next_step IS NOT NULL
          AND d.starts_at < coalesce(${ends_at}::timestamptz, 'infinity')
          AND coalesce(d.ends_at, 'infinity') > ${starts_at}::timestamptz
        ORDER BY n.ordinal, d.starts_at, d.id`

      const changesOf = (entityId: string | null) => sql`
        SELECT json_agg(json_build_object(
                 'entity_id', c.entity_id, 'entity_type', e.kind, 'store_id', c.store_id, 'field', c.field,
                 'value', c.value, 'outcome', c.outcome, 'error', c.error
               ) ORDER BY c.ordinal) AS list
        FROM drop_change c
        JOIN entity e ON e.account_id = c.account_id AND e.id = c.entity_id
        LEFT JOIN store s ON s.account_id = c.account_id AND s.id = c.store_id
        WHERE c.account_id = d.account_id AND c.drop_id = d.id AND (c.store_id IS NULL OR s.status = 'linked')
          AND (${entityId}::uuid IS NULL OR c.entity_id = ${entityId}::uuid)`
      const dropColumns = sql`
        d.id, d.name, d.status, rfc3339(d.starts_at) AS starts_at, rfc3339(d.ends_at) AS ends_at, d.timezone`

      const list = SqlSchema.findAll({
        Request: AccountId,
        Result: Drop,
        execute: (accountId) => sql`
          SELECT ${dropColumns}, coalesce(changes.list, '[]') AS changes
          FROM drop d CROSS JOIN LATERAL (${changesOf(null)}) changes
          WHERE d.account_id = ${accountId}
          ORDER BY d.starts_at, d.id`
      })
      const ofEntity = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: AccountId, entityId: EntityId }),
        Result: Drop,
        execute: ({ accountId, entityId }) => sql`
          SELECT ${dropColumns}, changes.list AS changes
          FROM (
            SELECT DISTINCT c.drop_id FROM drop_change c
            WHERE c.account_id = ${accountId} AND c.entity_id = ${entityId}
          ) k
          JOIN drop d ON d.account_id = ${accountId} AND d.id = k.drop_id
          CROSS JOIN LATERAL (${changesOf(entityId)}) changes
          WHERE changes.list IS NOT NULL
          ORDER BY d.starts_at, d.id`
      })
      const find = SqlSchema.findOne({
        Request: Schema.Struct({ accountId: AccountId, id: DropId }),
        Result: Drop,
        execute: ({ accountId, id }) => sql`
          SELECT ${dropColumns}, coalesce(changes.list, '[]') AS changes
          FROM drop d CROSS JOIN LATERAL (${changesOf(null)}) changes
          WHERE d.account_id = ${accountId} AND d.id = ${id}`
      })

      /** Nothing before it that writes one of its fields and has still to end. */
      const isFree = sql`
        NOT EXISTS (
          SELECT FROM drop_change c
          JOIN drop_change b ON b.account_id = c.account_id AND b.entity_id = c.entity_id AND b.field = c.field
            AND b.drop_id <> c.drop_id AND (b.store_id IS NULL OR c.store_id IS NULL OR b.store_id = c.store_id)
          JOIN drop before ON before.account_id = b.account_id AND before.id = b.drop_id
          WHERE c.account_id = d.account_id AND c.drop_id = d.id
            AND before.next_step IN ('start', 'settle_start', 'end') AND before.ends_at <= d.starts_at
        )`

      const due = SqlSchema.findAll({
        Request: Schema.Struct({ most: Schema.Int, except: Schema.Array(DropId) }),
        Result: DueStep,
        execute: ({ except, most }) => sql`
          SELECT k.account_id AS "accountId", k.id, k.step
          FROM (
            (SELECT d.account_id, d.id, 'end' AS step, d.ends_at AS at FROM drop d
             JOIN import_lock l ON l.account_id = d.account_id AND l.run_id IS NULL
             WHERE d.next_step = 'end' AND d.ends_at <= app_now() AND d.id <> ALL(${except}::uuid[])
             ORDER BY d.ends_at LIMIT ${most})
            UNION ALL
            (SELECT d.account_id, d.id, 'start', d.starts_at FROM drop d
             JOIN import_lock l ON l.account_id = d.account_id AND l.run_id IS NULL
             WHERE d.next_step = 'start' AND d.starts_at <= app_now() AND d.id <> ALL(${except}::uuid[]) AND ${isFree}
             ORDER BY d.starts_at LIMIT ${most})
            UNION ALL
            (SELECT d.account_id, d.id, d.next_step, coalesce(d.ends_at, d.starts_at) FROM drop d
             JOIN import_lock l ON l.account_id = d.account_id AND l.run_id IS NULL
             WHERE d.next_step IN ('settle_start', 'settle_end') AND d.id <> ALL(${except}::uuid[])
               AND NOT EXISTS (
                 SELECT FROM drop_effect f
                 JOIN publication p ON p.account_id = f.account_id AND p.id = f.publication_id
                 WHERE f.account_id = d.account_id AND f.drop_id = d.id AND f.outcome IS NULL AND p.state = 'pending'
               )
             LIMIT ${most})
          ) k
          ORDER BY k.at, k.id
          LIMIT ${most}`
      })

      const Held = Schema.Struct({
        actor: ActorJson,
        status: Drop.fields.status,
        endsAt: Schema.NullOr(Timestamp),
        changes: Schema.Array(DropChange.pipe(Schema.pick("entity_id", "entity_type", "store_id", "field", "value"))),
        effects: Schema.Array(DropEffect)
      })
      const lock = SqlSchema.findOne({
        Request: DueStep,
        Result: Held,
        execute: ({ accountId, id, step }) => sql`
          WITH held AS MATERIALIZED (
            SELECT d.account_id, d.id, d.actor, d.status, d.ends_at
            FROM drop d
            WHERE d.account_id = ${accountId} AND d.id = ${id} AND d.next_step = ${step}
              AND CASE d.next_step
                WHEN 'start' THEN d.starts_at <= app_now() AND ${isFree}
                WHEN 'end' THEN d.ends_at <= app_now()
                ELSE true
              END
            FOR UPDATE OF d SKIP LOCKED
          )
          SELECT h.actor, h.status, rfc3339(h.ends_at) AS "endsAt",
                 (
                   SELECT json_agg(json_build_object(
                            'entity_id', c.entity_id, 'entity_type', e.kind, 'store_id', c.store_id, 'field', c.field,
                            'value', c.value
                          ) ORDER BY c.ordinal)
                   FROM drop_change c
                   JOIN entity e ON e.account_id = c.account_id AND e.id = c.entity_id
                   WHERE c.account_id = h.account_id AND c.drop_id = h.id
                 ) AS changes,
                 (
                   SELECT coalesce(json_agg(json_build_object(
                            'ordinal', f.ordinal, 'entityId', c.entity_id, 'storeId', f.store_id, 'field', c.field,
                            'value', c.value, 'overrideBefore', f.override_before, 'acceptedBefore', f.accepted_before,
                            'publicationId', f.publication_id, 'outcome', f.outcome, 'error', f.error
                          ) ORDER BY f.ordinal, f.store_id), '[]')
                   FROM drop_effect f
                   JOIN drop_change c ON c.account_id = f.account_id AND c.drop_id = f.drop_id AND c.ordinal = f.ordinal
                   WHERE f.account_id = h.account_id AND f.drop_id = h.id
                 ) AS effects
          FROM held h`
      })

      const decodeOverlaps = Schema.decodeUnknown(Schema.Array(Overlap))

      return {
        now: Effect.map(Effect.orDie(now()), (row) => row.now),
        alone: (accountId) =>
          sql`SELECT pg_advisory_xact_lock(hashtextextended('drops ' || ${accountId}::text, 0))`.pipe(
            Effect.asVoid,
            orDie
          ),
        targets: (accountId, ids) =>
          Effect.map(
            orDie(targets({ accountId, ids })),
            (rows) =>
              new Map(
                rows.map(({ attributes, id, kind, versions }): [EntityId, DropTarget] => [
                  id,
                  {
                    id,
                    kind,
                    layers: [attributes, ...versions.map(({ overrides }) => overrides)],
                    storeIds: versions.map(({ storeId }) => storeId)
                  }
                ])
              )
          ),
        overlaps: (accountId, drop) => orDie(Effect.flatMap(overlaps(accountId, drop), decodeOverlaps)),
        insert: (accountId, id, { changes, ends_at, name, starts_at, timezone }, actor) =>
          Effect.gen(function* () {
            yield* sql`
              INSERT INTO drop (account_id, id, name, starts_at, ends_at, timezone, actor)
              VALUES (${accountId}, ${id}, ${name}, ${starts_at}, ${ends_at}, ${timezone},
                      ${JSON.stringify(actor)}::jsonb)`
            yield* sql`
              INSERT INTO drop_change (account_id, drop_id, ordinal, entity_id, store_id, field, value)
              SELECT ${accountId}::uuid, ${id}::uuid, n.ordinal, n.entity_id, n.store_id, n.field, n.value
              FROM ${planned(changes)}`
          }).pipe(orDie),
        list: (accountId, entityId) => orDie(entityId === null ? list(accountId) : ofEntity({ accountId, entityId })),
        find: (accountId, id) => orDie(find({ accountId, id })),
        cancel: (accountId, id, actor) =>
          sql`
            UPDATE drop
            SET status = 'cancelled', next_step = NULL, cancelled_by = ${JSON.stringify(actor)}::jsonb,
                cancelled_at = app_now()
            WHERE account_id = ${accountId} AND id = ${id} AND status = 'scheduled'
            RETURNING id`.pipe(
            Effect.map((rows) => rows.length > 0),
            orDie
          ),
        due: (most, except) => orDie(due({ most, except })),
        hold: (step) =>
          Effect.gen(function* () {
            const held = yield* lock(step)
            if (Option.isNone(held) || (step.step !== "start" && step.step !== "end")) return held
            const mine = yield* sql`
              INSERT INTO drop_claim (account_id, drop_id, step)
              VALUES (${step.accountId}, ${step.id}, ${step.step})
              ON CONFLICT DO NOTHING
              RETURNING step`
            return mine.length === 0 ? Option.none() : held
          }).pipe(orDie),
        move: ({ accountId, id }, { effects, next, outcomes, status }) =>
          Effect.gen(function* () {
            yield* sql`
              INSERT INTO drop_effect (account_id, drop_id, ordinal, store_id, override_before, accepted_before,
                                       publication_id, outcome, error)
              SELECT ${accountId}::uuid, ${id}::uuid, n.ordinal, n."storeId", nullif(n."overrideBefore", 'null'),
                     n."acceptedBefore", n."publicationId", n.outcome, nullif(n.error, 'null')
              FROM jsonb_to_recordset(${JSON.stringify(effects)}::jsonb) AS n (
                ordinal integer, "storeId" uuid, "overrideBefore" jsonb, "acceptedBefore" text, "publicationId" uuid,
                outcome text, error jsonb
              )
              ON CONFLICT (account_id, drop_id, ordinal, store_id) DO UPDATE
              SET accepted_before = excluded.accepted_before, publication_id = excluded.publication_id, outcome = excluded.outcome, error = excluded.error`
            yield* sql`
              UPDATE drop_change c SET outcome = n.outcome, error = nullif(n.error, 'null')
              FROM jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb) AS n (ordinal integer, outcome text, error jsonb)
              WHERE c.account_id = ${accountId} AND c.drop_id = ${id} AND c.ordinal = n.ordinal`
            yield* sql`
              UPDATE drop SET status = ${status}, next_step = ${next} WHERE account_id = ${accountId} AND id = ${id}`
          }).pipe(orDie)
      }
    })
  )
}
