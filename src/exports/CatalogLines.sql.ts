import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Cause, Effect, Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { findAll } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AccountId, EntityId, StoreId } from "../model/Ids.ts"

/** The first line of an export of the whole catalog, its lines for stores, and the number of entities. */
const Head = Schema.Struct({ line: Schema.String, stores: Schema.Array(Schema.String), entities: Schema.Number })
export type CatalogHead = typeof Head.Type

/** Ids of entities in the order of their last change. `last`: the position of the last one; null: there are no more. */
const EntityIds = Schema.Struct({ ids: Schema.Array(EntityId), last: Schema.NullOr(Schema.Number) })
export type EntityIds = typeof EntityIds.Type

/** The selected entities of an export, for its first line. `entities`: with the variants of selected products. */
export interface SelectedCount {
  readonly kind: EntityKind
  readonly count: number
  readonly entities: number
}

export interface CatalogLines {
  /** `selected`: of an export of a selection; null: of the whole catalog. */
  readonly head: (accountId: AccountId, selected: SelectedCount | null) => Effect.Effect<CatalogHead>
  /** The next entities of a kind. `after`: the position of the previous entity; 0: start with the first. */
  readonly ids: (accountId: AccountId, kind: EntityKind, after: number, limit: number) => Effect.Effect<EntityIds>
  /** Those of these ids that are entities of the kind, in the order of their last change. */
  readonly known: (
    accountId: AccountId,
    kind: EntityKind,
    ids: ReadonlyArray<EntityId>
  ) => Effect.Effect<ReadonlyArray<EntityId>>
  /** The variants of these products, by product and position. */
  readonly variants: (
    accountId: AccountId,
    productIds: ReadonlyArray<EntityId>
  ) => Effect.Effect<ReadonlyArray<EntityId>>
  /** These entities of a kind as lines of JSON, in the order of their last change. */
  readonly lines: (accountId: AccountId, kind: EntityKind, ids: ReadonlyArray<EntityId>) => Effect.Effect<string>
}

/** A statement that always returns one row. */
const one = <A, E, R>(statement: Effect.Effect<A, E | Cause.NoSuchElementException, R>) =>
  orDie(Effect.catchTag(statement, "NoSuchElementException", Effect.die))

/**
 * Makes the function that reads the next ids of a kind, in the order of the last change. `storeId`: only entities on this store; null: all.
 * `after`: the position of the previous entity; 0: start with the first.
 */
export const makeReadIds = (sql: SqlClient) => {
  const read = SqlSchema.single({
    Request: Schema.Struct({
      accountId: AccountId,
      kind: EntityKind,
      storeId: Schema.NullOr(StoreId),
      after: Schema.Number,
      limit: Schema.Number
    }),
    Result: EntityIds,
    execute: ({ accountId, after, kind, limit, storeId }) => sql`
      SELECT coalesce(array_agg(p.id ORDER BY p.change_seq), '{}') AS ids, max(p.change_seq)::float8 AS last
      FROM (
        SELECT e.id, e.change_seq
        FROM entity e
        ${
          storeId === null
            ? sql``
            : sql`JOIN store_version v ON v.account_id = ${accountId} AND v.entity_id = e.id AND v.store_id = ${storeId}`
        }
        WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.change_seq > ${after}
        ORDER BY e.change_seq
        LIMIT ${limit}
      ) p`
  })
  return (request: Parameters<typeof read>[0]) => one(read(request))
}

/** Reads entities as lines of JSON, which PostgreSQL builds, because parsing and building them in this process takes longer. */
export const makeCatalogLines = (sql: SqlClient): CatalogLines => {
  const readIds = makeReadIds(sql)

  const readHead = (accountId: AccountId, selected: SelectedCount | null) =>
    SqlSchema.single({
      Request: AccountId,
      Result: Head,
      execute: (accountId) => sql`
        SELECT json_build_object(
                 'type', 'catalog', 'format', 1, 'account_id', a.account_id, 'version', a.version,
                 'exported_at', rfc3339(app_now()), 'entities', n.entities
                 ${
                   selected === null
                     ? sql``
                     : sql`, 'selected', json_build_object('kind', ${selected.kind}::text, 'count', ${selected.count}::integer)`
                 }
               )::text AS line,
               n.entities,
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
        CROSS JOIN LATERAL (${
          selected === null
            ? sql`SELECT count(*)::integer AS entities FROM entity e WHERE e.account_id = ${accountId} ${sql.literal(readsAll)}`
            : sql`SELECT ${selected.entities}::integer AS entities`
        }) n
        WHERE a.account_id = ${accountId}`
    })(accountId)

  const idsOf = (rows: ReadonlyArray<{ readonly id: EntityId }>) => rows.map(({ id }) => id)

  const readKnown = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, kind: EntityKind, ids: ReadonlyArray<EntityId>) => sql`
      SELECT e.id ${sql.literal(planCustom)}
      FROM entity e
      WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.id = ANY(${[...ids]}::uuid[])
      ORDER BY e.change_seq`
  )

  const readVariants = findAll(Schema.Struct({ id: EntityId }))(
    (accountId: AccountId, ids: ReadonlyArray<EntityId>) => sql`
      SELECT v.id ${sql.literal(planCustom)}
      FROM entity v
      WHERE v.account_id = ${accountId} AND v.parent_id = ANY(${[...ids]}::uuid[])
      ORDER BY v.parent_id, v.position, v.id`
  )

  const readLines = findAll(Schema.Struct({ lines: Schema.String }))(
    (accountId: AccountId, kind: EntityKind, ids: ReadonlyArray<EntityId>) => sql`
      SELECT ${sql.literal(planCustom)} coalesce(string_agg(l.line || E'\\n', '' ORDER BY l.change_seq), '') AS lines
      FROM (
        SELECT e.change_seq, json_build_object(
                 'type', e.kind, 'id', e.id, 'title', e.title, 'product_id', e.parent_id, 'position', e.position,
                 'attributes', e.attributes, 'draft_revision', e.draft_revision,
                 'pending_publish', e.pending_publish, 'last_publish_status', e.last_publish_status,
                 'variant_ids', CASE WHEN e.kind = 'product' THEN ARRAY(
                   SELECT v.id FROM entity v
                   WHERE v.account_id = ${accountId} AND v.parent_id = e.id
                   ORDER BY v.position, v.id
                 ) END,
                 'product_ids', CASE WHEN e.kind = 'collection' THEN ARRAY(
                   SELECT m.product_id FROM collection_member m
                   WHERE m.account_id = ${accountId} AND m.collection_id = e.id
                   ORDER BY m.position, m.product_id
                 ) END,
                 'media', CASE WHEN e.kind <> 'media' THEN (
                   SELECT coalesce(json_agg(json_build_object(
                     'media_id', g.media_id, 'store_ids', g.store_ids
                   ) ORDER BY g.position, g.media_id), '[]')
                   FROM entity_media g
                   WHERE g.account_id = ${accountId} AND g.entity_id = e.id
                 ) END,
                 'stores', (
                   SELECT coalesce(json_agg(json_build_object(
                     'store_id', s.id, 'store_domain', s.domain, 'platform_id', v.platform_id,
                     'overrides', v.overrides, 'accepted', v.accepted, 'pending_publish', v.pending_publish,
                     'last_publish_status', v.last_publish_status, 'published_at', rfc3339(v.published_at),
                     'last_publish_error', v.last_publish_error
                   ) ORDER BY s.domain COLLATE "C", s.id), '[]')
                   FROM store_version v
                   JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
                   WHERE v.account_id = ${accountId} AND v.entity_id = e.id
                 ),
                 'created_at', rfc3339(e.created_at), 'updated_at', rfc3339(e.canonical_changed_at)
               )::text AS line
        FROM entity e
        WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.id = ANY(${[...ids]}::uuid[])
      ) l`
  )

  return {
    head: (accountId, selected) => one(readHead(accountId, selected)),
    ids: (accountId, kind, after, limit) => readIds({ accountId, kind, storeId: null, after, limit }),
    known: (accountId, kind, ids) => Effect.map(readKnown(accountId, kind, ids), idsOf),
    variants: (accountId, ids) => Effect.map(readVariants(accountId, ids), idsOf),
    lines: (accountId, kind, ids) => Effect.map(readLines(accountId, kind, ids), ([row]) => row?.lines ?? "")
  }
}
