import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { isForeignKeyViolation, orDie, referenceAsConflict } from "../database/SqlErrors.ts"
import type { HistoryActor } from "../drafts/History.ts"
import type { AccountId } from "../model/Ids.ts"

/**
 * Tables of access. They have few rows, which are deleted before the job starts. Tables that refer to others come
 * first.
 */
const accessTables = [
  "password_link",
  "session",
  "sign_in_device",
  "sign_in_step",
  "second_factor",
  "recovery_code",
  "saved_view",
  "oauth_code",
  "oauth_token",
  "oauth_request",
  "oauth_grant",
  "api_key",
  "app_user",
  // After the users: their rows are written in the transaction that changes a user.
  "team_event",
  "security_mail"
]

/** Rows that the job itself needs. They are deleted together with the account. */
const keptToTheEnd = ["job", "import_lock", "account_state"]

/** Deletes an account. Works on every table that has an account_id, so a new table needs no line here. */
export class AccountDeletionRepo extends Context.Tag("catalog/AccountDeletionRepo")<
  AccountDeletionRepo,
  {
    /**
     * Marks the account as being deleted, deletes its keys, users and connections, unlinks its stores, stops its drops
     * and cancels its open jobs. False: it is marked already.
     */
    readonly begin: (accountId: AccountId) => Effect.Effect<boolean>
    /** Tables with rows of accounts. Tables that refer to others come first. */
    readonly tables: Effect.Effect<ReadonlyArray<string>>
    /**
     * Deletes up to `limit` rows of the account from a table and returns their number. None: rows of other tables, which were added
     * meanwhile, refer to them, and nothing was deleted.
     */
    readonly deleteSome: (accountId: AccountId, table: string, limit: number) => Effect.Effect<Option.Option<number>>
    /**
     * Deletes the account and its last rows, and records the deletion. False: other tables still have rows, and nothing
     * was deleted.
     */
    readonly finish: (accountId: AccountId, by: HistoryActor) => Effect.Effect<boolean>
  }
>() {
  static readonly layer = Layer.effect(
    AccountDeletionRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const allTables = makeTables(sql)
      const deleteSome = makeDeleteSome(sql)
      const tables = Effect.map(allTables, (all) => all.filter((table) => !keptToTheEnd.includes(table)))

      return {
        tables,
        deleteSome,
        begin: (accountId) =>
          Effect.gen(function* () {
            const marked = yield* sql`
              UPDATE account a SET deleting_since = app_now()
              WHERE a.id = ${accountId} AND a.deleting_since IS NULL
              RETURNING a.id`
            if (marked.length === 0) return false
            yield* sql`
              UPDATE job j
              SET state = 'cancelled', claim = NULL, claimed_by = NULL, waiting_for = NULL, ended_at = app_now()
              WHERE j.account_id = ${accountId} AND j.state IN ('queued', 'running', 'paused')`
            yield* sql`UPDATE drop d SET next_step = NULL WHERE d.account_id = ${accountId} AND d.next_step IS NOT NULL`
            yield* sql`
              UPDATE store s SET status = 'unlinked', credential = NULL
              WHERE s.account_id = ${accountId} AND s.status = 'linked'`
            yield* sql`DELETE FROM shopify_shop s WHERE s.account_id = ${accountId}`
            for (const table of accessTables) yield* sql`DELETE FROM ${sql(table)} t WHERE t.account_id = ${accountId}`
            return true
          }).pipe(referenceAsConflict, orDie),
        finish: (accountId, by) =>
          Effect.gen(function* () {
            for (const table of yield* tables) {
              const left = yield* sql`
                SELECT 1 FROM ${sql(table)} t WHERE t.account_id = ${accountId} LIMIT 1 ${sql.literal(planCustom)}`
              if (left.length > 0) return false
            }
            yield* sql`
              INSERT INTO deleted_account (id, name, deleted_by, requested_at)
              SELECT a.id, a.name, ${JSON.stringify({ kind: by.kind, name: by.name })}::jsonb, a.deleting_since
              FROM account a WHERE a.id = ${accountId}`
            const last = (yield* allTables).filter((table) => keptToTheEnd.includes(table))
            for (const table of last) yield* sql`DELETE FROM ${sql(table)} t WHERE t.account_id = ${accountId}`
            yield* sql`DELETE FROM account a WHERE a.id = ${accountId}`
            return true
          }).pipe(orDie)
      }
    })
  )
}

/** A table and the tables that its foreign keys refer to. */
const Table = Schema.Struct({ name: Schema.String, parents: Schema.Array(Schema.String) })

const makeTables = (sql: SqlClient.SqlClient) => {
  const read = findAll(Table)(
    () => sql`
      SELECT c.relname AS name, coalesce((
        SELECT array_agg(DISTINCT p.relname::text) FROM pg_constraint f JOIN pg_class p ON p.oid = f.confrelid
        WHERE f.conrelid = c.oid AND f.contype = 'f' AND p.oid <> c.oid
      ), '{}') AS parents
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
      WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
      ORDER BY c.relname COLLATE "C"`
  )
  return Effect.map(read(), childrenFirst)
}

/** Orders tables so that each comes before the tables that it refers to. */
const childrenFirst = (tables: ReadonlyArray<typeof Table.Type>): ReadonlyArray<string> => {
  const ordered: Array<string> = []
  let rest = tables
  while (rest.length > 0) {
    const free = rest.filter(({ name }) => !rest.some(({ parents }) => parents.includes(name)))
    if (free.length === 0) throw new Error(`foreign keys form a circle: ${rest.map(({ name }) => name).join(", ")}`)
    ordered.push(...free.map(({ name }) => name))
    rest = rest.filter((table) => !free.includes(table))
  }
  return ordered
}

const makeDeleteSome = (sql: SqlClient.SqlClient) => (accountId: AccountId, table: string, limit: number) => {
  // Variants go before their products.
  const isFree =
    table === "entity"
      ? sql`AND NOT EXISTS (SELECT FROM entity v WHERE v.account_id = ${accountId} AND v.parent_id = t.id)`
      : sql``
  return sql`
    WITH deleted AS (
      DELETE FROM ${sql(table)} d
      WHERE d.account_id = ${accountId} AND d.ctid = ANY(ARRAY(
        SELECT t.ctid FROM ${sql(table)} t WHERE t.account_id = ${accountId} ${isFree} LIMIT ${limit}
      ))
      RETURNING 1
    )
    SELECT count(*)::integer AS count FROM deleted`.pipe(
    Effect.map(([row]) => Option.some(Number(row?.count ?? 0))),
    // A savepoint: the transaction goes on after the violation.
    sql.withTransaction,
    Effect.catchIf(isForeignKeyViolation, () => Effect.succeedNone),
    orDie
  )
}
