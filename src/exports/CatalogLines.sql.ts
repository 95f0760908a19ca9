import { SqlSchema } from "@effect/sql"
import type { SqlClient } from "@effect/sql/SqlClient"
import { type Cause, Effect, Schema } from "effect"
import { readsAll } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import { AccountId } from "../model/Ids.ts"

/** The first line of an export of the whole catalog, its lines for stores, and the number of entities. */
const Head = Schema.Struct({ line: Schema.String, stores: Schema.Array(Schema.String), entities: Schema.Number })
export type CatalogHead = typeof Head.Type

/** A batch of entities as lines of JSON. `last`: the position of the last one; null: there are no more. */
const Lines = Schema.Struct({
  lines: Schema.String,
  entities: Schema.Number,
  last: Schema.NullOr(Schema.Number)
})
export type EntityLines = typeof Lines.Type

export interface CatalogLines {
  readonly head: (accountId: AccountId) => Effect.Effect<CatalogHead>
  /**
   * The next entities of a kind, in the order of their last change. `after`: the position of the previous entity; 0:
   * start with the first.
   */
  readonly lines: (accountId: AccountId, kind: EntityKind, after: number, limit: number) => Effect.Effect<EntityLines>
}

/** A statement that always returns one row. */
const one = <A, E, R>(statement: Effect.Effect<A, E | Cause.NoSuchElementException, R>) =>
  orDie(Effect.catchTag(statement, "NoSuchElementException", Effect.die))

/** Reads entities as lines of JSON, which PostgreSQL builds, because parsing and building them in this process takes longer. */
export const makeCatalogLines = (sql: SqlClient): CatalogLines => {
  const readHead = SqlSchema.single({
    Request: AccountId,
    Result: Head,
    execute: (accountId) => sql`
      SELECT json_build_object(
               'type', 'catalog', 'format', 1, 'account_id', a.account_id, 'version', a.version,
               'exported_at', rfc3339(app_now()), 'entities', n.entities
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
      CROSS JOIN LATERAL (
        SELECT count(*)::integer AS entities FROM entity e WHERE e.account_id = ${accountId}
      ) n
      WHERE a.account_id = ${accountId} ${sql.literal(readsAll)}`
  })

  const readLines = SqlSchema.single({
    Request: Schema.Struct({ accountId: AccountId, kind: EntityKind, after: Schema.Number, limit: Schema.Number }),
    Result: Lines,
    execute: ({ accountId, after, kind, limit }) => sql`
      SELECT coalesce(string_agg(l.line || E'\\n', '' ORDER BY l.change_seq), '') AS lines,
             count(*)::integer AS entities, max(l.change_seq)::float8 AS last
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
        WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.change_seq > ${after}
        ORDER BY e.change_seq
        LIMIT ${limit}
      ) l`
  })

  return {
    head: (accountId) => one(readHead(accountId)),
    lines: (accountId, kind, after, limit) => one(readLines({ accountId, kind, after, limit }))
  }
}
