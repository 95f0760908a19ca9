import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Effect, Schema } from "effect"
import { memberIdsOf } from "../catalog/OrderedIds.sql.ts"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { findAll, findSingle } from "../database/Rows.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { type AccountId, EntityId, type StoreId } from "../model/Ids.ts"

/** The first line of an export as lines of JSON, and its lines for stores. */
const Head = Schema.Struct({ line: Schema.String, stores: Schema.Array(Schema.String) })
export type CatalogHead = typeof Head.Type

/** The entities that one statement of an export reads: those with these ids, or the next ones after a position. `after` 0: from the first. */
export type Part = { readonly ids: ReadonlyArray<EntityId> } | { readonly after: number; readonly limit: number }

/**
 * The condition on the entities `e` of a part, and their order. Positions are in the order of the last change. The limit is part of the text,
 * so that a prepared statement keeps one plan: for a limit that it does not know, PostgreSQL assumes a tenth of all rows.
 */
export const inPart = (sql: SqlClient, part: Part) =>
  "ids" in part
    ? sql`e.id = ANY(${[...part.ids]}::uuid[]) ORDER BY e.change_seq ${sql.literal(planCustom)}`
    : sql`e.change_seq > ${part.after} ORDER BY e.change_seq LIMIT ${sql.literal(String(part.limit))}`

/**
 * Entities as lines of JSON. If one of the lines is too long, the text is empty, and `ids` and `bytes` are the part's entities and the
 * lengths of their lines; else both are empty.
 */
const Lines = Schema.Struct({
  lines: Schema.String,
  entities: Schema.Number,
  ids: Schema.Array(EntityId),
  bytes: Schema.Array(Schema.Number)
})
export type Lines = typeof Lines.Type
const none: Lines = { lines: "", entities: 0, ids: [], bytes: [] }

/** Maximum number of parts that one statement finds. */
const maxPlaces = 64

/** A number of entities. `last`: the position of the last of them, if there may be more. */
const Counted = Schema.Struct({ count: Schema.Int, last: Schema.NullOr(Schema.Number) })

/** The selected entities of an export, for its first line. */
export interface SelectedCount {
  readonly kind: EntityKind
  readonly count: number
}

export interface CatalogLines {
  /** The number of the next entities of a kind after a position, up to `limit`. */
  readonly countAfter: (
    accountId: AccountId,
    kind: EntityKind,
    after: number,
    limit: number
  ) => Effect.Effect<typeof Counted.Type>
  /** `entities`: the number of all that the export has. `selected`: of an export of a selection; null: of the whole catalog. */
  readonly head: (accountId: AccountId, entities: number, selected: SelectedCount | null) => Effect.Effect<CatalogHead>
  /** The variants of these products, by product and position. */
  readonly variants: (
    accountId: AccountId,
    productIds: ReadonlyArray<EntityId>
  ) => Effect.Effect<ReadonlyArray<EntityId>>
  /**
   * The last positions of the next parts after a position: of a number of entities of a kind, that are on a store if one is given. Only
   * of complete parts, so the entities of the last part come after the last of these positions. `hasMore`: there may be more parts.
   */
  readonly places: (
    accountId: AccountId,
    kind: EntityKind,
    after: number,
    size: number,
    storeId: StoreId | null
  ) => Effect.Effect<{ readonly places: ReadonlyArray<number>; readonly hasMore: boolean }>
  /** The entities of a part that are of a kind, in the order of their last change. `maxBytes`: maximum length of a line. */
  readonly lines: (accountId: AccountId, kind: EntityKind, part: Part, maxBytes: number) => Effect.Effect<Lines>
}

/** The same text as `json_build_object`, which takes longer because it looks up each type in each row. Members: JSON, or null. */
export const jsonObject = (sql: SqlClient, members: Readonly<Record<string, Fragment>>) => {
  const texts = Object.entries(members).map(
    ([name, json], index) =>
      sql`${sql.literal(`'${index === 0 ? "{" : ", "}"${name}" : '`)}, coalesce((${json})::text, 'null')`
  )
  return sql`concat(${sql.csv(texts)}, '}')`
}

/** The text of a JSON list of such objects: an aggregate, so it stands in a SELECT of its own. */
export const jsonList = (sql: SqlClient, members: Readonly<Record<string, Fragment>>, order: Fragment) =>
  sql`'[' || coalesce(string_agg(${jsonObject(sql, members)}, ', ' ORDER BY ${order}), '') || ']'`

/** The line of an entity `e`. */
const lineOf = (sql: SqlClient, accountId: AccountId) =>
  jsonObject(sql, {
    type: sql`'"' || e.kind || '"'`,
    id: sql`'"' || e.id || '"'`,
    title: sql`to_json(e.title)`,
    product_id: sql`'"' || e.parent_id || '"'`,
    position: sql`e.position`,
    attributes: sql`e.attributes`,
    draft_revision: sql`e.draft_revision`,
    pending_publish: sql`e.pending_publish`,
    last_publish_status: sql`'"' || e.last_publish_status || '"'`,
    variant_ids: sql`CASE WHEN e.kind = 'product' THEN array_to_json(ARRAY(
      SELECT v.id FROM entity v
      WHERE v.account_id = ${accountId} AND v.parent_id = e.id
      ORDER BY v.position, v.id
    )) END`,
    product_ids: sql`CASE WHEN e.kind = 'collection' THEN array_to_json(ARRAY(${memberIdsOf(sql, accountId, sql`e.id`)})) END`,
    media: sql`CASE WHEN e.kind <> 'media' THEN (
      SELECT ${jsonList(
        sql,
        { media_id: sql`'"' || g.media_id || '"'`, store_ids: sql`array_to_json(g.store_ids)` },
        sql`g.position, g.media_id`
      )}
      FROM entity_media g
      WHERE g.account_id = ${accountId} AND g.entity_id = e.id
    ) END`,
    stores: sql`
      SELECT ${jsonList(
        sql,
        {
          store_id: sql`'"' || s.id || '"'`,
          store_domain: sql`to_json(s.domain)`,
          platform_id: sql`to_json(v.platform_id)`,
          overrides: sql`v.overrides`,
          accepted: sql`v.accepted`,
          pending_publish: sql`v.pending_publish`,
          last_publish_status: sql`'"' || v.last_publish_status || '"'`,
          published_at: sql`'"' || rfc3339(v.published_at) || '"'`,
          last_publish_error: sql`v.last_publish_error`
        },
        sql`s.domain COLLATE "C", s.id`
      )}
      FROM store_version v
      JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
      WHERE v.account_id = ${accountId} AND v.entity_id = e.id`,
    created_at: sql`'"' || rfc3339(e.created_at) || '"'`,
    updated_at: sql`'"' || rfc3339(e.canonical_changed_at) || '"'`
  })

/** Reads entities as lines of JSON, which PostgreSQL builds, because parsing and building them in this process takes longer. */
export const makeCatalogLines = (sql: SqlClient): CatalogLines => {
  const readCount = findSingle(Counted)(
    (accountId: AccountId, kind: EntityKind, after: number, limit: number) => sql`
      SELECT count(*)::integer AS count, (CASE WHEN count(*) = ${limit} THEN max(n.change_seq) END)::float8 AS last
             ${sql.literal(`${planCustom} ${readsAll}`)}
      FROM (
        SELECT e.change_seq
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.change_seq > ${after}
        ORDER BY e.change_seq LIMIT ${limit}
      ) n`
  )

  const readHead = findSingle(Head)(
    (accountId: AccountId, entities: number, selected: SelectedCount | null) => sql`
      SELECT json_build_object(
               'type', 'catalog', 'format', 1, 'account_id', a.account_id, 'version', a.version,
               'exported_at', rfc3339(app_now()), 'entities', ${entities}::integer
               ${
                 selected === null
                   ? sql``
                   : sql`, 'selected', json_build_object('kind', ${selected.kind}::text, 'count', ${selected.count}::integer)`
               }
             )::text AS line,
             ARRAY(
               SELECT json_build_object(
                 'type', 'store', 'id', s.id, 'domain', s.domain, 'name', s.name, 'platform', s.platform,
                 'primary_locale', s.primary_locale, 'locales', s.locales, 'currency', s.currency
               )::text
               FROM store s
               WHERE s.account_id = ${accountId} AND s.status = 'linked'
               ORDER BY s.domain COLLATE "C", s.id
             ) AS stores
      FROM account_state a
      WHERE a.account_id = ${accountId}`
  )

  const readVariants = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT v.id ${sql.literal(planCustom)}
      FROM entity v
      WHERE v.account_id = ${accountId} AND v.parent_id = ANY(${[...ids]}::uuid[])
      ORDER BY v.parent_id, v.position, v.id`
  )

  // The lines are aggregated in the order of the subquery: sorting them again would copy each.
  const readLines = findAll(Lines)(
    (accountId: AccountId, kind: EntityKind, part: Part, maxBytes: number) => sql`
      SELECT CASE WHEN p.longest > ${maxBytes} THEN '' ELSE p.lines END AS lines, p.entities,
             CASE WHEN p.longest > ${maxBytes} THEN p.ids ELSE '{}' END AS ids,
             CASE WHEN p.longest > ${maxBytes} THEN p.bytes ELSE '{}' END AS bytes
      FROM (
        SELECT coalesce(string_agg(l.line || E'\\n', '') FILTER (WHERE octet_length(l.line) <= ${maxBytes}), '') AS lines,
               count(*)::integer AS entities, max(octet_length(l.line)) AS longest,
               array_agg(l.id) AS ids, array_agg(octet_length(l.line)) AS bytes
        FROM (
          SELECT e.id, ${lineOf(sql, accountId)} AS line
          FROM entity e
          WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND ${inPart(sql, part)}
        ) l
      ) p`
  )

  const readPlaces = findAll(Schema.Struct({ place: Schema.Number }))(
    (accountId: AccountId, kind: EntityKind, after: number, size: number, storeId: StoreId | null) => sql`
      SELECT p.place::float8 AS place ${sql.literal(`${planCustom} ${readsAll}`)}
      FROM (
        SELECT o.change_seq AS place, row_number() OVER (ORDER BY o.change_seq) AS number
        FROM (
          SELECT e.change_seq
          FROM entity e
          WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.change_seq > ${after}
          ${
            storeId === null
              ? sql``
              : sql`AND EXISTS (
                  SELECT FROM store_version v
                  WHERE v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ${storeId} OFFSET 0
                )`
          }
          ORDER BY e.change_seq LIMIT ${size * maxPlaces}
        ) o
      ) p
      WHERE p.number % ${size} = 0
      ORDER BY p.place`
  )

  return {
    countAfter: readCount,
    head: readHead,
    variants: (accountId, ids) => Effect.map(readVariants(accountId, ids), (rows) => rows.map(({ id }) => id)),
    places: (...parameters) =>
      Effect.map(readPlaces(...parameters), (rows) => ({
        places: rows.map(({ place }) => place),
        hasMore: rows.length === maxPlaces
      })),
    lines: (...parameters) => Effect.map(readLines(...parameters), ([lines = none]) => lines)
  }
}
