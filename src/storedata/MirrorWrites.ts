import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect, Schema } from "effect"
import { planCustom } from "../database/PlannerHints.ts"
import { type AccountId, type ImportId, nilUuid, type StoreId } from "../model/Ids.ts"
import type { MirrorItem } from "./MirrorRecords.ts"

/** Records that one statement takes over, or rows that it looks through, at most: it ends long before its time is over. */
const rowsAtOnce = 1_000

/** What an import took over, of one store. */
interface Taken {
  readonly accountId: AccountId
  readonly importId: ImportId
  readonly storeId: StoreId
}
/** A part of what there is: behind one key, and up to another. */
interface Span extends Taken {
  readonly after: string
  readonly last: string
}

/** The statements by which an import takes over what it read beside a catalog: answers whether any row was written. */
export const makeMirrorWrites = (sql: SqlClient) => {
  // Of tables that an import has just filled the planner knows nothing: each statement is planned when it runs.
  const grown = sql.literal(planCustom)

  type Kind = MirrorItem["kind"]
  const ofKind = ({ accountId, importId }: Taken, kind: Kind) =>
    sql`i.account_id = ${accountId} AND i.import_id = ${importId} AND i.kind = ${kind}`
  const inSpan = (span: Span, kind: Kind) =>
    sql`${ofKind(span, kind)} AND i.name > ${span.after} AND i.name <= ${span.last}`

  type Written = Effect.Effect<ReadonlyArray<unknown>, SqlError>

  /** How many rows a list of statements wrote, one after another. */
  const total = (statements: ReadonlyArray<Written>) =>
    Effect.map(
      Effect.forEach(statements, (statement) => Effect.map(statement, (rows) => rows.length)),
      (counts) => counts.reduce((sum, each) => sum + each, 0)
    )

  const Last = Schema.Struct({ last: Schema.NullOr(Schema.String) })
  const Behind = Schema.Struct({
    accountId: Schema.String,
    id: Schema.String,
    kind: Schema.String,
    after: Schema.String
  })
  const most = sql.literal(String(rowsAtOnce))

  /** The last name of the next records of a kind that an import has read. */
  const nextRecords = SqlSchema.single({
    Request: Behind,
    Result: Last,
    execute: ({ accountId, after, id, kind }) => sql`
      SELECT max(n.name) AS last
      FROM (
        SELECT i.name FROM mirror_item i
        WHERE i.account_id = ${accountId} AND i.import_id = ${id} AND i.kind = ${kind} AND i.name > ${after}
        ORDER BY i.name LIMIT ${most}
      ) n ${grown}`
  })

  /** The last entity of the next rows of a store in a table that holds some of each entity. */
  const nextOf = (table: "store_version" | "translatable_field" | "translation") =>
    SqlSchema.single({
      Request: Behind,
      Result: Last,
      execute: ({ accountId, after, id }) => sql`
        SELECT max(n.entity_id::text) AS last
        FROM (
          SELECT t.entity_id FROM ${sql(table)} t
          WHERE t.account_id = ${accountId} AND t.store_id = ${id} AND t.entity_id > ${after}
          ORDER BY t.entity_id LIMIT ${most}
        ) n ${grown}`
    })

  /** The last key of the next rows of a store in one of the tables that may be large. */
  const nextRows = {
    metaobject_entry: SqlSchema.single({
      Request: Behind,
      Result: Last,
      execute: ({ accountId, after, id }) => sql`
        SELECT max(n.platform_id) AS last
        FROM (
          SELECT e.platform_id FROM metaobject_entry e
          WHERE e.account_id = ${accountId} AND e.store_id = ${id} AND e.platform_id > ${after}
          ORDER BY e.platform_id LIMIT ${most}
        ) n ${grown}`
    }),
    store_version: nextOf("store_version"),
    translatable_field: nextOf("translatable_field"),
    translation: nextOf("translation")
  }

  const inSpans = (
    taken: Taken,
    first: string,
    next: (after: string) => Effect.Effect<typeof Last.Type, unknown>,
    statements: (span: Span) => ReadonlyArray<Written>
  ) =>
    Effect.gen(function* () {
      let written = 0
      for (let after = first; ; ) {
        const { last }: typeof Last.Type = yield* Effect.orDie(next(after))
        if (last === null) return written
        written += yield* total(statements({ ...taken, after, last }))
        after = last
      }
    })

  /** The rows that statements write over all records of a kind, some at a time. */
  const ofRecords = (taken: Taken, kind: Kind, statements: (span: Span) => ReadonlyArray<Written>) =>
    inSpans(
      taken,
      "",
      (after) => nextRecords({ accountId: taken.accountId, id: taken.importId, kind, after }),
      statements
    )

  /** The same over all rows of the store in a table. */
  const ofRows = (taken: Taken, table: keyof typeof nextRows, statements: (span: Span) => ReadonlyArray<Written>) =>
    inSpans(
      taken,
      table === "metaobject_entry" ? "" : nilUuid,
      (after) => nextRows[table]({ accountId: taken.accountId, id: taken.storeId, kind: "", after }),
      statements
    )

  // What is there as it should be is left out before: a row that DO UPDATE looks at is locked, which writes it too.

  const markets = (taken: Taken) => [
    sql`
      INSERT INTO market (account_id, id, handle)
      SELECT i.account_id, i.id, i.content ->> 'handle'
      FROM mirror_item i
      WHERE ${ofKind(taken, "market")}
      ON CONFLICT (account_id, handle) DO NOTHING
      RETURNING id`,
    // Their catalogs go with them.
    sql`
      DELETE FROM market_store o
      USING market m
      WHERE o.account_id = ${taken.accountId} AND o.store_id = ${taken.storeId}
        AND m.account_id = o.account_id AND m.id = o.market_id
        AND NOT EXISTS (
          SELECT FROM mirror_item i WHERE ${ofKind(taken, "market")} AND i.name = m.handle COLLATE "C" OFFSET 0
        )
      RETURNING o.market_id ${grown}`,
    sql`
      INSERT INTO market_store (account_id, store_id, market_id, platform_id, name, status, type, currency, regions, web_presences)
      SELECT i.account_id, ${taken.storeId}::uuid, m.id, i.content ->> 'platform_id', i.content ->> 'name',
             i.content ->> 'status', i.content ->> 'type', i.content ->> 'currency', i.content -> 'regions',
             i.content -> 'web_presences'
      FROM mirror_item i
      JOIN market m ON m.account_id = i.account_id AND m.handle = i.content ->> 'handle'
      WHERE ${ofKind(taken, "market")}
        AND NOT EXISTS (
          SELECT FROM market_store o
          WHERE o.account_id = i.account_id AND o.store_id = ${taken.storeId} AND o.market_id = m.id
            AND (o.platform_id, o.name, o.status, o.type, o.currency, o.regions, o.web_presences)
              IS NOT DISTINCT FROM (i.content ->> 'platform_id', i.content ->> 'name', i.content ->> 'status', i.content ->> 'type',
                i.content ->> 'currency', i.content -> 'regions', i.content -> 'web_presences')
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, market_id) DO UPDATE
      SET platform_id = excluded.platform_id, name = excluded.name, status = excluded.status, type = excluded.type,
          currency = excluded.currency, regions = excluded.regions, web_presences = excluded.web_presences
      RETURNING market_id ${grown}`,
    sql`
      DELETE FROM market_catalog c
      WHERE c.account_id = ${taken.accountId} AND c.store_id = ${taken.storeId}
        AND NOT EXISTS (
          SELECT FROM market m
          CROSS JOIN LATERAL (
            SELECT FROM mirror_item i
            WHERE ${ofKind(taken, "market")} AND i.name = m.handle COLLATE "C"
              AND i.content -> 'catalogs' @> jsonb_build_array(jsonb_build_object('id', c.id))
            OFFSET 0
          ) i
          WHERE m.account_id = ${taken.accountId} AND m.id = c.market_id OFFSET 0
        )
      RETURNING c.id ${grown}`,
    sql`
      INSERT INTO market_catalog (account_id, store_id, market_id, id, title, status, currency, price_adjustment)
      SELECT i.account_id, ${taken.storeId}::uuid, m.id, c.id, c.title, c.status, c.currency, c.price_adjustment
      FROM mirror_item i
      JOIN market m ON m.account_id = i.account_id AND m.handle = i.content ->> 'handle'
      CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'catalogs') AS c (
        id text, title text, status text, currency text, price_adjustment jsonb
      )
      WHERE ${ofKind(taken, "market")}
        AND NOT EXISTS (
          SELECT FROM market_catalog o
          WHERE o.account_id = i.account_id AND o.store_id = ${taken.storeId} AND o.market_id = m.id AND o.id = c.id
            AND (o.title, o.status, o.currency, o.price_adjustment)
              IS NOT DISTINCT FROM (c.title, c.status, c.currency, c.price_adjustment)
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, market_id, id) DO UPDATE
      SET title = excluded.title, status = excluded.status, currency = excluded.currency,
          price_adjustment = excluded.price_adjustment
      RETURNING id ${grown}`
  ]

  const metafieldDefinitions = (taken: Taken) => [
    sql`
      INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key)
      SELECT i.account_id, i.id, i.content ->> 'owner_type', i.content ->> 'namespace', i.content ->> 'key'
      FROM mirror_item i
      WHERE ${ofKind(taken, "metafield_definition")}
      ON CONFLICT (account_id, owner_type, namespace, key) DO NOTHING
      RETURNING id`,
    sql`
      DELETE FROM metafield_definition_store o
      USING metafield_definition d
      WHERE o.account_id = ${taken.accountId} AND o.store_id = ${taken.storeId}
        AND d.account_id = o.account_id AND d.id = o.definition_id
        AND NOT EXISTS (
          SELECT FROM mirror_item i
          WHERE ${ofKind(taken, "metafield_definition")}
            AND i.name = (d.owner_type || ' ' || d.namespace || ' ' || d.key) COLLATE "C" OFFSET 0
        )
      RETURNING o.definition_id ${grown}`,
    sql`
      INSERT INTO metafield_definition_store (account_id, store_id, definition_id, platform_id, name, description, type,
                                              validations, metafields_count)
      SELECT i.account_id, ${taken.storeId}::uuid, d.id, i.content ->> 'platform_id', i.content ->> 'name',
             i.content ->> 'description', i.content ->> 'type', i.content -> 'validations',
             (i.content ->> 'metafields_count')::bigint
      FROM mirror_item i
      JOIN metafield_definition d
        ON d.account_id = i.account_id AND d.owner_type = i.content ->> 'owner_type'
       AND d.namespace = i.content ->> 'namespace' AND d.key = i.content ->> 'key'
      WHERE ${ofKind(taken, "metafield_definition")}
        AND NOT EXISTS (
          SELECT FROM metafield_definition_store o
          WHERE o.account_id = i.account_id AND o.store_id = ${taken.storeId} AND o.definition_id = d.id
            AND (o.platform_id, o.name, o.description, o.type, o.validations, o.metafields_count)
              IS NOT DISTINCT FROM (i.content ->> 'platform_id', i.content ->> 'name', i.content ->> 'description',
                i.content ->> 'type', i.content -> 'validations', (i.content ->> 'metafields_count')::bigint)
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, definition_id) DO UPDATE
      SET platform_id = excluded.platform_id, name = excluded.name, description = excluded.description, type = excluded.type,
          validations = excluded.validations, metafields_count = excluded.metafields_count
      RETURNING definition_id ${grown}`
  ]

  const metaobjectDefinitions = (taken: Taken) => [
    sql`
      INSERT INTO metaobject_definition (account_id, id, type)
      SELECT i.account_id, i.id, i.content ->> 'type'
      FROM mirror_item i
      WHERE ${ofKind(taken, "metaobject_definition")}
      ON CONFLICT (account_id, type) DO NOTHING
      RETURNING id`,
    sql`
      DELETE FROM metaobject_definition_store o
      USING metaobject_definition d
      WHERE o.account_id = ${taken.accountId} AND o.store_id = ${taken.storeId}
        AND d.account_id = o.account_id AND d.id = o.definition_id
        AND NOT EXISTS (
          SELECT FROM mirror_item i
          WHERE ${ofKind(taken, "metaobject_definition")} AND i.name = d.type COLLATE "C" OFFSET 0
        )
      RETURNING o.definition_id ${grown}`,
    sql`
      INSERT INTO metaobject_definition_store (account_id, store_id, definition_id, platform_id, name, description,
                                               display_name_key, fields, entries_count, translatable)
      SELECT i.account_id, ${taken.storeId}::uuid, d.id, i.content ->> 'platform_id', i.content ->> 'name',
             i.content ->> 'description', i.content ->> 'display_name_key', i.content -> 'fields',
             (i.content ->> 'entries_count')::bigint, (i.content ->> 'translatable')::boolean
      FROM mirror_item i
      JOIN metaobject_definition d ON d.account_id = i.account_id AND d.type = i.content ->> 'type'
      WHERE ${ofKind(taken, "metaobject_definition")}
        AND NOT EXISTS (
          SELECT FROM metaobject_definition_store o
          WHERE o.account_id = i.account_id AND o.store_id = ${taken.storeId} AND o.definition_id = d.id
            AND (o.platform_id, o.name, o.description, o.display_name_key, o.fields, o.entries_count,
                 o.translatable)
              IS NOT DISTINCT FROM (i.content ->> 'platform_id', i.content ->> 'name', i.content ->> 'description',
                i.content ->> 'display_name_key', i.content -> 'fields', (i.content ->> 'entries_count')::bigint,
                (i.content ->> 'translatable')::boolean)
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, definition_id) DO UPDATE
      SET platform_id = excluded.platform_id, name = excluded.name, description = excluded.description,
          display_name_key = excluded.display_name_key, fields = excluded.fields, entries_count = excluded.entries_count,
          translatable = excluded.translatable
      RETURNING definition_id ${grown}`
  ]

  const lostEntries = (span: Span) => sql`
    DELETE FROM metaobject_entry e
    WHERE e.account_id = ${span.accountId} AND e.store_id = ${span.storeId}
      AND e.platform_id > ${span.after} AND e.platform_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM mirror_item i
        WHERE ${ofKind(span, "metaobject_entry")} AND i.name = e.platform_id COLLATE "C" OFFSET 0
      )
    RETURNING e.id ${grown}`

  const entries = (span: Span) => [
    sql`
      INSERT INTO metaobject_entry (account_id, id, definition_id, store_id, platform_id, handle, display_name, status, fields,
                                    updated_at)
      SELECT i.account_id, i.id, d.id, ${span.storeId}::uuid, i.content ->> 'platform_id', i.content ->> 'handle',
             i.content ->> 'display_name', i.content ->> 'status', i.content -> 'fields',
             (i.content ->> 'updated_at')::timestamptz
      FROM mirror_item i
      JOIN metaobject_definition d ON d.account_id = i.account_id AND d.type = i.content ->> 'type'
      WHERE ${inSpan(span, "metaobject_entry")}
        AND NOT EXISTS (
          SELECT FROM metaobject_entry o
          WHERE o.account_id = i.account_id AND o.store_id = ${span.storeId} AND o.platform_id = i.content ->> 'platform_id'
            AND (o.definition_id, o.handle, o.display_name, o.status, o.fields, o.updated_at)
              IS NOT DISTINCT FROM (d.id, i.content ->> 'handle', i.content ->> 'display_name', i.content ->> 'status',
                i.content -> 'fields', (i.content ->> 'updated_at')::timestamptz)
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, platform_id) DO UPDATE
      SET definition_id = excluded.definition_id, handle = excluded.handle, display_name = excluded.display_name,
          status = excluded.status, fields = excluded.fields, updated_at = excluded.updated_at
      RETURNING id ${grown}`
  ]

  // The store's entities are walked, and what was read of each is looked up. The other way round, by platform id, the planner
  // could take another index of a table that was just filled, and read all of the store for each record.
  const ownersIn = ({ accountId, after, last, storeId }: Span) => sql`
    SELECT w.entity_id, w.platform_id FROM store_version w
    WHERE w.account_id = ${accountId} AND w.store_id = ${storeId} AND w.entity_id > ${after} AND w.entity_id <= ${last}`

  /** What was read of the fields of an owner. */
  const fieldsOf = (span: Span) => sql`
    SELECT i.account_id, i.content FROM mirror_item i
    WHERE ${ofKind(span, "translatable_fields")} AND i.name = v.platform_id COLLATE "C"
    OFFSET 0`

  /** What was read of an owner in each language: names that begin with its platform id and a blank. */
  const languagesOf = (span: Span) => sql`
    SELECT i.account_id, i.content FROM mirror_item i
    WHERE ${ofKind(span, "translations")}
      AND i.name > (v.platform_id || ' ') COLLATE "C" AND i.name < (v.platform_id || '!') COLLATE "C"
      AND i.content ->> 'platform_id' = v.platform_id
    OFFSET 0`

  const lostFields = (span: Span) => sql`
    DELETE FROM translatable_field f
    WHERE f.account_id = ${span.accountId} AND f.store_id = ${span.storeId}
      AND f.entity_id > ${span.after} AND f.entity_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM store_version v
        CROSS JOIN LATERAL (
          SELECT FROM mirror_item i
          WHERE ${ofKind(span, "translatable_fields")} AND i.name = v.platform_id COLLATE "C" OFFSET 0
        ) i
        WHERE v.account_id = ${span.accountId} AND v.entity_id = f.entity_id AND v.store_id = ${span.storeId} OFFSET 0
      )
    RETURNING f.key ${grown}`

  const fields = (span: Span) => [
    // By their place: of a join the planner might make a scan.
    sql`
      DELETE FROM translatable_field f
      WHERE f.ctid = ANY(ARRAY(
        SELECT o.ctid
        FROM (${ownersIn(span)}) v
        CROSS JOIN LATERAL (${fieldsOf(span)}) i
        CROSS JOIN LATERAL (
          SELECT t.ctid, t.key FROM translatable_field t
          WHERE t.account_id = ${span.accountId} AND t.store_id = ${span.storeId} AND t.entity_id = v.entity_id OFFSET 0
        ) o
        WHERE NOT (i.content -> 'fields' @> jsonb_build_array(jsonb_build_object('key', o.key)))
      ))
      RETURNING f.key ${grown}`,
    sql`
      INSERT INTO translatable_field (account_id, store_id, entity_id, key, type, source_locale, source_value, digest)
      SELECT i.account_id, ${span.storeId}::uuid, v.entity_id, f.key, f.type, f.source_locale, f.source_value, f.digest
      FROM (${ownersIn(span)}) v
      CROSS JOIN LATERAL (${fieldsOf(span)}) i
      CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'fields') AS f (
        key text, type text, source_locale text, source_value text, digest text
      )
      WHERE NOT EXISTS (
          SELECT FROM translatable_field o
          WHERE o.account_id = i.account_id AND o.store_id = ${span.storeId} AND o.entity_id = v.entity_id AND o.key = f.key
            AND (o.type, o.source_locale, o.source_value, o.digest)
              IS NOT DISTINCT FROM (f.type, f.source_locale, f.source_value, f.digest)
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, entity_id, key) DO UPDATE
      SET type = excluded.type, source_locale = excluded.source_locale, source_value = excluded.source_value,
          digest = excluded.digest
      RETURNING key ${grown}`
  ]

  const lostTranslations = (span: Span) => sql`
    DELETE FROM translation t
    WHERE t.account_id = ${span.accountId} AND t.store_id = ${span.storeId}
      AND t.entity_id > ${span.after} AND t.entity_id <= ${span.last}
      AND NOT EXISTS (
        SELECT FROM store_version v
        CROSS JOIN LATERAL (
          SELECT FROM mirror_item i
          WHERE ${ofKind(span, "translations")} AND i.name = (v.platform_id || ' ' || t.locale) COLLATE "C" OFFSET 0
        ) i
        WHERE v.account_id = ${span.accountId} AND v.entity_id = t.entity_id AND v.store_id = ${span.storeId} OFFSET 0
      )
    RETURNING t.key ${grown}`

  const translations = (span: Span) => [
    sql`
      DELETE FROM translation t
      WHERE t.ctid = ANY(ARRAY(
        SELECT o.ctid
        FROM (${ownersIn(span)}) v
        CROSS JOIN LATERAL (${languagesOf(span)}) i
        CROSS JOIN LATERAL (
          SELECT h.ctid, h.key FROM translation h
          WHERE h.account_id = ${span.accountId} AND h.store_id = ${span.storeId} AND h.entity_id = v.entity_id
            AND h.locale = i.content ->> 'locale' OFFSET 0
        ) o
        WHERE NOT (i.content -> 'translations' @> jsonb_build_array(jsonb_build_object('key', o.key)))
      ))
      RETURNING t.key ${grown}`,
    sql`
      INSERT INTO translation (account_id, store_id, entity_id, locale, key, value, source_digest, digest, said_outdated,
                               updated_at)
      SELECT i.account_id, ${span.storeId}::uuid, v.entity_id, i.content ->> 'locale', t.key, t.value, t.source_digest,
             t.digest, t.outdated, t.updated_at
      FROM (${ownersIn(span)}) v
      CROSS JOIN LATERAL (${languagesOf(span)}) i
      CROSS JOIN LATERAL jsonb_to_recordset(i.content -> 'translations') AS t (
        key text, value text, outdated boolean, source_digest text, digest text, updated_at timestamptz
      )
      WHERE NOT EXISTS (
          SELECT FROM translation o
          WHERE o.account_id = i.account_id AND o.store_id = ${span.storeId} AND o.entity_id = v.entity_id AND o.locale = i.content ->> 'locale' AND o.key = t.key
            AND (o.value, o.source_digest, o.digest, o.said_outdated, o.updated_at)
              IS NOT DISTINCT FROM (t.value, t.source_digest, t.digest, t.outdated, t.updated_at)
          OFFSET 0
        )
      ON CONFLICT (account_id, store_id, entity_id, locale, key) DO UPDATE
      SET value = excluded.value, source_digest = excluded.source_digest, digest = excluded.digest,
          said_outdated = excluded.said_outdated, updated_at = excluded.updated_at
      RETURNING key ${grown}`
  ]

  return (taken: Taken) =>
    Effect.gen(function* () {
      let written = yield* total([...markets(taken), ...metafieldDefinitions(taken), ...metaobjectDefinitions(taken)])
      written += yield* ofRows(taken, "metaobject_entry", (span) => [lostEntries(span)])
      written += yield* ofRecords(taken, "metaobject_entry", entries)
      written += yield* ofRows(taken, "translatable_field", (span) => [lostFields(span)])
      written += yield* ofRows(taken, "translation", (span) => [lostTranslations(span)])
      written += yield* ofRows(taken, "store_version", (span) => [...fields(span), ...translations(span)])
      return written > 0
    })
}
