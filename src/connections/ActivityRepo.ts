import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { makeForget } from "../database/Forgetting.ts"
import { discardRows, findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { AccountId, ConnectionId, type EntityId } from "../model/Ids.ts"
import { ActivityDay, type ChangePlace, ConnectionChange } from "./ActivityRecord.ts"

/** A number of tool calls of a connection. */
export interface CallCount {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly calls: number
}

/** Number of days for which call counts are kept. */
export const keptDays = 90

/** The activity of connections. */
export class ActivityRepo extends Context.Tag("catalog/ActivityRepo")<
  ActivityRepo,
  {
    /** Adds calls to the current UTC day, at most one count per connection. */
    readonly addCalls: (counts: ReadonlyArray<CallCount>) => Effect.Effect<void>
    /** The last `days` UTC days, newest first. Days without activity are left out. */
    readonly days: (accountId: AccountId, id: ConnectionId, days: number) => Effect.Effect<ReadonlyArray<ActivityDay>>
    /** Changes of drafts, newest first; with `before`, only older ones. */
    readonly changes: (
      accountId: AccountId,
      id: ConnectionId,
      before: ChangePlace | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<ConnectionChange>>
    /** Deletes the call counts of all accounts that are older than `keptDays`. Returns their number. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    ActivityRepo,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const today = sql`(app_now() AT TIME ZONE 'UTC')::date`

      const Days = Schema.Struct({ accountId: AccountId, id: ConnectionId, days: Schema.Int })

      const callDays = findAll(ActivityDay.pick("day", "calls"))(
        ({ accountId, days, id }: typeof Days.Type) => sql`
          SELECT to_char(a.day, 'YYYY-MM-DD') AS day, a.calls::integer AS calls
          FROM connection_activity a
          WHERE a.account_id = ${accountId} AND a.connection_id = ${id} AND a.day > ${today} - ${days}::integer`
      )

      const writeDays = findAll(ActivityDay.omit("calls"))(
        ({ accountId, days, id }: typeof Days.Type) => sql`
          SELECT to_char(h.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
                 (count(DISTINCT (h.entity_id, h.draft_revision))
                   FILTER (WHERE h.action NOT IN ('publish_asked', 'published', 'publish_failed')))::integer AS writes,
                 (count(*) FILTER (WHERE h.action = 'publish_asked'))::integer AS publishes
          FROM entity_history h
          WHERE h.account_id = ${accountId} AND h.actor_kind = 'connection' AND h.actor_id = ${id}
            AND h.at >= (${today} - ${days}::integer + 1)::timestamp AT TIME ZONE 'UTC'
          GROUP BY 1`
      )

      /** Two statements, because a cluster keeps the counts of calls and the history in different places. */
      const findDays = Effect.fnUntraced(function* (request: typeof Days.Type) {
        const days = new Map<string, ActivityDay>()
        const rows = [...(yield* callDays(request)), ...(yield* writeDays(request))]
        for (const row of rows)
          days.set(row.day, { ...(days.get(row.day) ?? { calls: 0, writes: 0, publishes: 0 }), ...row })
        return [...days.values()]
          .filter(({ calls, publishes, writes }) => calls + publishes + writes > 0)
          .sort((left, right) => (left.day < right.day ? 1 : -1))
      })

      const changes = findAll(ConnectionChange)(
        (
          accountId: AccountId,
          id: ConnectionId,
          at: string | null,
          sequence: number,
          entityId: EntityId | null,
          limit: number
        ) => sql`
          SELECT rfc3339(h.at) AS at, h.sequence::float8 AS sequence, h.entity_id AS "entityId", e.kind, e.title,
                 h.store_id AS "storeId", s.domain AS "storeDomain", h.action,
                 ARRAY(SELECT c.value ->> 'key' FROM jsonb_array_elements(h.changes) WITH ORDINALITY c ORDER BY c.ordinality) AS keys,
                 ARRAY(
                   SELECT DISTINCT o.domain COLLATE "C"
                   FROM entity_history p
                   JOIN store o ON o.account_id = ${accountId} AND o.id = p.store_id
                   WHERE p.account_id = ${accountId} AND p.entity_id = h.entity_id AND p.action = 'published'
                     AND p.sequence > h.sequence AND p.draft_revision >= h.draft_revision
                     AND (h.store_id IS NULL OR p.store_id = h.store_id)
                   ORDER BY 1
                 ) AS "publishedOn"
          FROM (
            SELECT * FROM entity_history
            WHERE account_id = ${accountId} AND actor_kind = 'connection' AND actor_id = ${id}
              AND action NOT IN ('publish_asked', 'published', 'publish_failed')
              AND (
                ${at}::timestamptz IS NULL
                OR (at, sequence, entity_id) < (${at}::timestamptz, ${sequence}::bigint, ${entityId}::uuid)
              )
            ORDER BY at DESC, sequence DESC, entity_id DESC
            LIMIT ${limit}
          ) h
          JOIN entity e ON e.account_id = ${accountId} AND e.id = h.entity_id
          LEFT JOIN store s ON s.account_id = ${accountId} AND s.id = h.store_id
          ORDER BY h.at DESC, h.sequence DESC, h.entity_id DESC`
      )

      const forget = makeForget(sql)

      return {
        // Upserts in the order of the primary key, so that two processes that add at once cannot deadlock.
        addCalls: (counts) =>
          counts.length === 0
            ? Effect.void
            : sql`
                INSERT INTO connection_activity (account_id, connection_id, day, calls)
                SELECT r."accountId", r."connectionId", ${today}, r.calls
                FROM jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) AS r (
                  "accountId" uuid, "connectionId" uuid, calls bigint
                )
                -- An account that was deleted since its calls must not keep those of the others from being saved.
                JOIN account a ON a.id = r."accountId"
                ORDER BY 1, 2
                ON CONFLICT (account_id, connection_id, day)
                DO UPDATE SET calls = connection_activity.calls + excluded.calls`.pipe(discardRows),
        days: (accountId, id, count) => orDie(findDays({ accountId, id, days: count })),
        changes: (accountId, id, before, limit) =>
          changes(accountId, id, before?.at ?? null, before?.sequence ?? 0, before?.entityId ?? null, limit),
        forget: orDie(forget({ connection_activity: sql`t.day < ${today} - ${keptDays}::integer` }))
      }
    })
  )
}
