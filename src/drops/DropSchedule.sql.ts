import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Schema } from "effect"
import { insertAll } from "../database/Inserts.ts"
import { discardRows, findAll, findSingle } from "../database/Rows.ts"
import { orDie, referenceAsConflict } from "../database/SqlErrors.ts"
import type { WorkHints } from "../database/WorkHintsRepo.ts"
import { Attributes, EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type DropTarget, Overlap, type PlannedChange, type PlannedDrop } from "./Drop.ts"
import type { DropsRepo } from "./DropsRepo.ts"

type ScheduleStatements = Pick<
  Context.Tag.Service<DropsRepo>,
  "cancel" | "insert" | "lockSchedule" | "now" | "overlaps" | "targets"
>

const decodeOverlaps = Schema.decodeUnknown(Schema.Array(Overlap))

/** Statements that check, insert and cancel drops. */
export const makeScheduleStatements = (sql: SqlClient, hints: WorkHints | undefined): ScheduleStatements => {
  const now = findSingle(Schema.Struct({ now: Timestamp }))(() => sql`SELECT rfc3339(app_now()) AS now`)

  const targets = findAll(
    Schema.Struct({
      id: EntityId,
      kind: EntityKind,
      attributes: Attributes,
      versions: Schema.Array(Schema.Struct({ storeId: StoreId, overrides: Attributes }))
    })
  )(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT e.id, e.kind, e.attributes, (
               SELECT coalesce(json_agg(json_build_object('storeId', v.store_id, 'overrides', v.overrides)
                                        ORDER BY s.domain COLLATE "C", s.id), '[]')
               FROM store_version v
               JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
               WHERE v.account_id = ${accountId} AND v.entity_id = e.id
             ) AS versions
      FROM unnest(${ids}::uuid[]) AS k (id)
      JOIN entity e ON e.account_id = ${accountId} AND e.id = k.id`
  )

  const rowsOf = (changes: ReadonlyArray<PlannedChange>) => sql`
    jsonb_to_recordset(${JSON.stringify(changes.map((change, ordinal) => ({ ordinal, ...change })))}::jsonb) AS n (
      ordinal integer, entity_id uuid, store_id uuid, field text, value text
    )`

  const overlaps = (accountId: AccountId, { changes, ends_at, starts_at }: PlannedDrop) => sql`
    SELECT n.ordinal, d.id, d.name, rfc3339(d.starts_at) AS starts_at, rfc3339(d.ends_at) AS ends_at, d.timezone
    FROM ${rowsOf(changes)}
    JOIN drop_change c ON c.account_id = ${accountId} AND c.entity_id = n.entity_id AND c.field = n.field
    JOIN drop d ON d.account_id = ${accountId} AND d.id = c.drop_id
    WHERE (c.store_id IS NULL OR n.store_id IS NULL OR c.store_id = n.store_id)
      AND d.next_step IS NOT NULL
      AND d.starts_at < coalesce(${ends_at}::timestamptz, 'infinity')
      AND coalesce(d.ends_at, 'infinity') > ${starts_at}::timestamptz
    ORDER BY n.ordinal, d.starts_at, d.id`

  return {
    now: Effect.map(now(), (row) => row.now),
    lockSchedule: (accountId) =>
      sql`
        SELECT pg_advisory_xact_lock(hashtextextended('drops ' || ${accountId}::text, 0))
        FROM account_state a WHERE a.account_id = ${accountId}`.pipe(discardRows),
    targets: (accountId, ids) =>
      Effect.map(
        targets(accountId, ids),
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
        yield* insertAll(
          sql`
            INSERT INTO drop_change (account_id, drop_id, ordinal, entity_id, store_id, field, value)
            SELECT own.account_id, ${id}::uuid, n.ordinal, n.entity_id, n.store_id, n.field, n.value
            FROM account_state own CROSS JOIN ${rowsOf(changes)}
            WHERE own.account_id = ${accountId}`,
          changes.length
        )
        // The hint is due now. The worker that reads it replaces its time by the start of the drop.
        if (hints !== undefined) yield* hints.add(accountId)
        // Another transaction deleted an entity of the drop after it was read.
      }).pipe(referenceAsConflict, orDie),
    cancel: (accountId, id, actor) =>
      sql`
        UPDATE drop
        SET status = 'cancelled', next_step = NULL, cancelled_by = ${JSON.stringify(actor)}::jsonb,
            cancelled_at = app_now()
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'scheduled'
        RETURNING id`.pipe(
        Effect.map((rows) => rows.length > 0),
        orDie
      )
  }
}
