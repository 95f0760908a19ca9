import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { DirectQuery } from "../database/DirectQuery.ts"
import { untilNone } from "../database/Forgetting.ts"
import { allAccounts } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { scanLockKey } from "../drafts/ChangeNotes.sql.ts"
import { maxSlice, StoredGroup } from "../drafts/FeedChanges.ts"
import type { AccountId } from "../model/Ids.ts"
import type { FeedChange } from "./FeedChange.ts"
import { changesIn } from "./FeedSlices.ts"

/** A part of the feed. */
export interface FeedPart {
  readonly changes: ReadonlyArray<FeedChange>
  /** Changes up to this number were deleted. */
  readonly floor: number
  /** The number of the account's last change. */
  readonly last: number
}

/** The feed of an account's changes. Writers of the catalog insert them (`DraftsRepo.raise`). */
export class FeedRepo extends Context.Tag("catalog/FeedRepo")<
  FeedRepo,
  {
    /** Up to `limit` changes after the number `after`, and the ends of the feed at the same moment. */
    readonly read: (accountId: AccountId, after: number, limit: number) => Effect.Effect<FeedPart>
    /**
     * Deletes changes that are older than 30 days, in batches, and returns the number of rows. If a scan's earlier result is older
     * than the deleted changes, the next scan of data health reads the whole catalog.
     */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    FeedRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return { read: makeRead(sql, yield* DirectQuery), forget: makeForgetChanges(sql) }
    })
  )
}

const Read = Schema.Struct({
  floor: Schema.Number,
  last: Schema.Number,
  slices: Schema.Array(
    Schema.Struct({
      first: Schema.Number,
      at: Schema.String,
      groups: Schema.Array(StoredGroup),
      ids: Schema.Array(Schema.String)
    })
  )
})
const decodeRead = Schema.decodeUnknown(Schema.Array(Read))

/**
 * One statement, so that changes and ends are of one moment. Numbers have no gaps and a row has at most `maxSlice` changes, so the
 * rows of a page are in a range of numbers, and a page costs the same at every place of the feed.
 */
const makeRead =
  (sql: SqlClient.SqlClient, direct: Context.Tag.Service<DirectQuery>): Context.Tag.Service<FeedRepo>["read"] =>
  (accountId, after, limit) =>
    direct(
      sql`
      SELECT a.feed_floor AS floor, a.feed_seq AS last, (
               SELECT coalesce(json_agg(json_build_object(
                 'first', n.last_seq - n.rows + 1, 'at', rfc3339(n.at), 'groups', n.groups, 'ids', n.ids
               ) ORDER BY n.last_seq), '[]')
               FROM change_note n
               WHERE n.account_id = ${accountId} AND n.last_seq > ${after}::bigint
                 AND n.last_seq < ${after}::bigint + ${limit}::bigint + ${maxSlice} AND n.rows > 0
             ) AS slices
      FROM account_state a WHERE a.account_id = ${accountId}`,
      accountId
    ).pipe(
      Effect.flatMap(decodeRead),
      Effect.map(([read]) =>
        read === undefined
          ? { changes: [], floor: 0, last: 0 }
          : { changes: changesIn(read.slices, after, limit), floor: read.floor, last: read.last }
      ),
      orDie
    )

/** Maximum number of rows that one transaction deletes. */
const rowsAtOnce = 1_000

const age = "interval '30 days'"

const makeForgetChanges = (sql: SqlClient.SqlClient): Effect.Effect<number> => {
  // Finds each account's oldest row without a sort: it ends within `maxSlice` numbers after the floor.
  const accounts = sql<{ id: string }>`
    SELECT DISTINCT a.account_id AS id
    FROM account_state a
    JOIN change_note n ON n.account_id = a.account_id AND n.last_seq <= a.feed_floor + ${sql.literal(String(maxSlice))}
    WHERE n.at < app_now() - ${sql.literal(age)} ${sql.literal(allAccounts)}`

  /** The end of the rows to delete: the last row of a batch, or the last one before the first row that is kept. */
  const lastOf = (accountId: string) => sql<{ seq: number | null; version: number | null }>`
    WITH oldest AS MATERIALIZED (
      SELECT n.last_seq, n.version, n.at FROM change_note n
      WHERE n.account_id = ${accountId} ORDER BY n.last_seq, n.version LIMIT ${sql.literal(String(rowsAtOnce))}
    )
    SELECT max(o.last_seq) AS seq, max(o.version) AS version FROM oldest o
    WHERE o.last_seq < coalesce(
      (SELECT min(y.last_seq) FROM oldest y WHERE y.at >= app_now() - ${sql.literal(age)}),
      (SELECT max(y.last_seq) + 1 FROM oldest y)
    )`

  /** Locks the dimensions whose bases need these notes, as scans do. Never waits. */
  const lockDimensions = (accountId: string, version: number) => sql<{ locked: boolean | null }>`
    SELECT bool_and(pg_try_advisory_xact_lock(${scanLockKey(sql, sql.literal("d.dimension"), accountId)})) AS locked
    FROM (
      SELECT DISTINCT b.dimension FROM health_base b
      WHERE b.account_id = ${accountId} AND b.version < ${version} AND b.fingerprint <> ''
    ) d`

  const forgetSome = (accountId: string) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const [last] = yield* lastOf(accountId)
        if (last === undefined || last.seq === null || last.version === null) return 0
        // A scan under way has read its base and needs these notes, so they stay until the next hour.
        const [dimensions] = yield* lockDimensions(accountId, last.version)
        if (dimensions?.locked === false) return 0
        // Raises the version, because the first page of the feed changes.
        yield* sql`
          UPDATE account_state a SET feed_floor = greatest(a.feed_floor, ${last.seq}::bigint), version = a.version + 1
          WHERE a.account_id = ${accountId}`
        yield* sql`
          UPDATE health_base b SET fingerprint = ''
          WHERE b.account_id = ${accountId} AND b.version < ${last.version} AND b.fingerprint <> ''`
        const deleted = yield* sql`
          DELETE FROM change_note n
          WHERE n.account_id = ${accountId} AND n.last_seq <= ${last.seq}::bigint AND n.version <= ${last.version}::bigint
          RETURNING 1`
        return deleted.length
      })
    )

  return accounts.pipe(
    Effect.flatMap((found) =>
      Effect.reduce(found, 0, (total, { id }) => Effect.map(untilNone(forgetSome(id)), (deleted) => total + deleted))
    ),
    orDie
  )
}
