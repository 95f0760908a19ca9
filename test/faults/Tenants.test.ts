import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { isServerCluster, layerServer, serverAnswers } from "../support/TestDatabase.ts"

/** Tables that belong to no account, with the reason. */
const globalTables: Readonly<Record<string, string>> = {
  account: "is the tenant itself",
  installation: "one row for the whole database",
  catalog_migration: "the schema's own history",
  attempt: "counts attempts of those who are not known yet",
  oauth_client: "a program that registered itself belongs to nobody",
  deleted_account: "what is left of an account that is gone"
}

/** Columns that are unique over all accounts, with the reason. */
const globalUniques: Readonly<Record<string, string>> = {
  "api_key (hash)": "looked up before the account is known",
  "app_user (email)": "signs in before the account is known",
  "oauth_code (hash)": "looked up before the account is known",
  "oauth_token (hash)": "looked up before the account is known",
  "password_link (hash)": "looked up before the account is known",
  "session (hash)": "looked up before the account is known",
  "shopify_shop (domain)": "a Shopify store is one account's alone; who has no token of it is not told whose",
  "sign_in_device (hash)": "looked up before the account is known",
  "sign_in_step (hash)": "looked up before the account is known"
}

const Table = Schema.Struct({ name: Schema.String, owned: Schema.Boolean })
const Unique = Schema.Struct({ table: Schema.String, columns: Schema.Array(Schema.String), primary: Schema.Boolean })
const Reference = Schema.Struct({
  table: Schema.String,
  columns: Schema.Array(Schema.String),
  target: Schema.String,
  targetColumns: Schema.Array(Schema.String)
})

const rows = <A, I>(schema: Schema.Schema<A, I>, found: unknown) =>
  Schema.decodeUnknown(Schema.Array(schema))(found, { errors: "all" })

/** Everything in the schema that could connect rows of two accounts. */
const leaks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* rows(
    Table,
    yield* sql`
      SELECT c.relname AS name,
             EXISTS (
               SELECT FROM pg_attribute a
               WHERE a.attrelid = c.oid AND a.attname = 'account_id' AND a.attnotnull AND NOT a.attisdropped
             ) AS owned
      FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'm', 'f')
      ORDER BY c.relname`
  )
  const uniques = yield* rows(
    Unique,
    yield* sql`
      SELECT c.relname AS table, i.indisprimary AS primary,
             ARRAY(
               SELECT pg_get_indexdef(i.indexrelid, n, true) FROM generate_series(1, i.indnkeyatts) AS n ORDER BY n
             ) AS columns
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indrelid
      WHERE c.relnamespace = current_schema()::regnamespace AND i.indisunique
      ORDER BY c.relname, i.indexrelid`
  )
  const references = yield* rows(
    Reference,
    yield* sql`
      SELECT c.relname AS table, t.relname AS target,
             ARRAY(
               SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS key (number, n)
               JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = key.number ORDER BY key.n
             ) AS columns,
             ARRAY(
               SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY AS key (number, n)
               JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = key.number ORDER BY key.n
             ) AS "targetColumns"
      FROM pg_constraint k
      JOIN pg_class c ON c.oid = k.conrelid
      JOIN pg_class t ON t.oid = k.confrelid
      WHERE c.relnamespace = current_schema()::regnamespace AND k.contype = 'f'
      ORDER BY c.relname, k.conname`
  )
  const owned = new Set(tables.filter((table) => table.owned).map(({ name }) => name))
  const keyed = new Set(uniques.filter(({ primary }) => primary).map(({ table }) => table))
  const found = [
    ...tables
      .filter((table) => !table.owned && globalTables[table.name] === undefined)
      .map(({ name }) => `table ${name} has no account_id that is always set`),
    ...tables.filter(({ name }) => !keyed.has(name)).map(({ name }) => `table ${name} has no primary key`),
    ...uniques
      .filter(({ columns, table }) => owned.has(table) && columns[0] !== "account_id")
      .map(({ columns, table }) => `${table} (${columns.join(", ")})`)
      .filter((name) => globalUniques[name] === undefined)
      .map((name) => `unique ${name} does not begin with account_id`),
    ...references
      .filter(({ columns, table, target, targetColumns }) => {
        const [first, targetFirst] = [columns[0], targetColumns[0]]
        const fits = first === "account_id" && targetFirst === (target === "account" ? "id" : "account_id")
        const isGlobal = target !== "account" && globalTables[target] !== undefined
        return owned.has(table) ? !fits && !isGlobal : owned.has(target)
      })
      .map(
        ({ columns, table, target, targetColumns }) =>
          `reference ${table} (${columns.join(", ")}) to ${target} (${targetColumns.join(", ")}) crosses accounts`
      )
  ]
  return {
    found,
    volume: { tables: tables.length, uniques: uniques.length, references: references.length },
    uniques,
    tables
  }
})

describe.skipIf(!serverAnswers)("every table keeps accounts apart", () => {
  layer(layerServer, { excludeTestServices: true })((it) => {
    it.effect("account_id is first in every key, unique index and reference, except for those listed here", () =>
      Effect.gen(function* () {
        const { found, tables, uniques, volume } = yield* leaks
        assert.deepStrictEqual(found, [])
        assert.isAtLeast(volume.tables, 9)
        assert.isAtLeast(volume.uniques, 11)
        assert.isAtLeast(volume.references, 10)
        // The lists above name only existing tables and columns.
        assert.includeMembers(
          tables.filter(({ owned }) => !owned).map(({ name }) => name),
          Object.keys(globalTables)
        )
        assert.includeMembers(
          uniques.map(({ columns, table }) => `${table} (${columns.join(", ")})`),
          Object.keys(globalUniques)
        )
      })
    )

    // Citus refuses the references of the planted tables itself.
    it.effect.skipIf(isServerCluster)("a table that breaks this rule is detected (planted fault)", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe(`
          CREATE TABLE planted_orphan (id uuid PRIMARY KEY, account uuid REFERENCES account (id));
          CREATE TABLE planted_note (
            account_id uuid NOT NULL,
            entity_id  uuid NOT NULL,
            slug       text NOT NULL UNIQUE,
            author_id  uuid REFERENCES planted_orphan (id),
            PRIMARY KEY (entity_id, account_id),
            FOREIGN KEY (entity_id, account_id) REFERENCES entity (id, account_id)
          );
          CREATE UNIQUE INDEX ON planted_note (lower(slug), account_id);
          CREATE TABLE planted_heap (account_id uuid NOT NULL REFERENCES account (id));
          CREATE TABLE planted_loose (account_id uuid, id uuid, PRIMARY KEY (id));
        `)
        const { found } = yield* leaks
        assert.deepStrictEqual(found, [
          "table planted_loose has no account_id that is always set",
          "table planted_orphan has no account_id that is always set",
          "table planted_heap has no primary key",
          "unique planted_note (entity_id, account_id) does not begin with account_id",
          "unique planted_note (slug) does not begin with account_id",
          "unique planted_note (lower(slug), account_id) does not begin with account_id",
          "reference planted_note (author_id) to planted_orphan (id) crosses accounts",
          "reference planted_note (entity_id, account_id) to entity (id, account_id) crosses accounts"
        ])
      })
    )
  })
})
