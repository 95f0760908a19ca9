import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { findAll, findOne } from "../database/Rows.ts"
import { definitionColumns, isVisible } from "../drafts/DefinitionsRepo.ts"
import { MetafieldDefinition, MetaobjectDefinition, type MetaobjectEntry, type OwnerType } from "../model/Definition.ts"
import { AccountId, type EntityId, type RecordId, StoreId } from "../model/Ids.ts"
import { JsonText } from "../model/JsonText.ts"
import { Market } from "../platform/Market.ts"
import {
  type EntityTranslations,
  TranslatableField,
  type TranslatedKind,
  Translations
} from "../platform/Translation.ts"

/**
 * Markets, definitions and translations of the account's stores, as of the last refresh. Records that no linked store has are
 * left out. Names and keys are ordered by character code, stores by domain.
 */
export class StoreDataRepo extends Context.Tag("catalog/StoreDataRepo")<
  StoreDataRepo,
  {
    /** Ordered by handle. */
    readonly markets: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Market>>
    readonly market: (accountId: AccountId, id: RecordId) => Effect.Effect<Option.Option<Market>>
    /**
     * The definitions that the account itself or one of these stores (null: all) has, ordered by owner type, namespace and
     * key. `ownerType` null: all owner types.
     */
    readonly metafieldDefinitions: (
      accountId: AccountId,
      stores: ReadonlyArray<StoreId> | null,
      ownerType: OwnerType | null
    ) => Effect.Effect<ReadonlyArray<MetafieldDefinition>>
    /** As of these stores (null: all), ordered by type. */
    readonly metaobjectDefinitions: (
      accountId: AccountId,
      stores: ReadonlyArray<StoreId> | null
    ) => Effect.Effect<ReadonlyArray<MetaobjectDefinition>>
    /** Of these stores (null: all), ordered by handle, then store. None: they have no such definition. */
    readonly metaobjectEntries: (
      accountId: AccountId,
      stores: ReadonlyArray<StoreId> | null,
      definitionId: RecordId
    ) => Effect.Effect<Option.Option<JsonText<ReadonlyArray<MetaobjectEntry>>>>
    /** None: no such entity of this kind. */
    readonly translations: (
      accountId: AccountId,
      kind: TranslatedKind,
      id: EntityId
    ) => Effect.Effect<Option.Option<EntityTranslations>>
  }
>() {
  static readonly layer = Layer.effect(
    StoreDataRepo,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      ...makeMarketReads(sql),
      ...makeDefinitionReads(sql),
      ...makeTranslationReads(sql)
    }))
  )
}

type Repo = Context.Tag.Service<StoreDataRepo>

/** Fields that the stores share come from the first store in this order. */
const domainOrder = `ORDER BY s.domain COLLATE "C", s.id`

const makeMarketReads = (sql: SqlClient.SqlClient): Pick<Repo, "market" | "markets"> => {
  const byDomain = sql.literal(domainOrder)

  const marketColumns = (accountId: string) => sql`
    m.id, m.handle, o.name, o.status, o.type, o.stores,
    (
      SELECT coalesce(json_agg(json_build_object(
        'store_id', s.id, 'id', c.id, 'title', c.title, 'status', c.status, 'currency', c.currency,
        'price_adjustment', c.price_adjustment
      ) ORDER BY s.domain COLLATE "C", s.id, c.title COLLATE "C", c.id COLLATE "C"), '[]')
      FROM store s
      JOIN market_catalog c ON c.account_id = ${accountId} AND c.store_id = s.id AND c.market_id = m.id
      WHERE s.account_id = ${accountId} AND s.status = 'linked'
    ) AS catalogs
    FROM market m
    CROSS JOIN LATERAL (
      SELECT (array_agg(h.name ${byDomain}))[1] AS name,
             CASE WHEN bool_or(h.status = 'active') THEN 'active' ELSE 'draft' END AS status,
             (array_agg(h.type ${byDomain}))[1] AS type,
             json_agg(json_build_object(
               'store_id', s.id, 'platform_id', h.platform_id, 'name', h.name, 'status', h.status,
               'currency', h.currency, 'regions', h.regions, 'web_presences', h.web_presences
             ) ${byDomain}) AS stores
      FROM store s
      JOIN market_store h ON h.account_id = ${accountId} AND h.store_id = s.id AND h.market_id = m.id
      WHERE s.account_id = ${accountId} AND s.status = 'linked'
    ) o`

  const markets = findAll(Market)(
    (accountId: AccountId) => sql`
      SELECT ${marketColumns(accountId)}
      WHERE m.account_id = ${accountId} AND o.stores IS NOT NULL
      ORDER BY m.handle COLLATE "C"`
  )

  const market = findOne(Market)(
    (accountId: AccountId, id: RecordId) => sql`
      SELECT ${marketColumns(accountId)}
      WHERE m.account_id = ${accountId} AND m.id = ${id} AND o.stores IS NOT NULL`
  )

  return {
    markets,
    market
  }
}

const makeDefinitionReads = (
  sql: SqlClient.SqlClient
): Pick<Repo, "metafieldDefinitions" | "metaobjectDefinitions" | "metaobjectEntries"> => {
  const byDomain = sql.literal(domainOrder)
  const OfStores = Schema.Struct({ accountId: AccountId, stores: Schema.NullOr(Schema.Array(StoreId)) })
  const among = (stores: ReadonlyArray<string> | null) =>
    stores === null ? sql`` : sql`AND s.id = ANY (${[...stores]}::uuid[])`

  const metafieldDefinitions = findAll(MetafieldDefinition)(
    (accountId: AccountId, stores: ReadonlyArray<StoreId> | null, ownerType: OwnerType | null) => sql`
      SELECT ${definitionColumns(sql, accountId)}
      WHERE d.account_id = ${accountId} AND (${ownerType}::text IS NULL OR d.owner_type = ${ownerType})
        ${isVisible(sql, accountId, stores)}
      ORDER BY d.owner_type COLLATE "C", d.namespace COLLATE "C", d.key COLLATE "C"`
  )

  const metaobjectDefinitions = findAll(MetaobjectDefinition)(
    ({ accountId, stores }: typeof OfStores.Type) => sql`
      SELECT d.id, d.type, o.name, o.description, o.display_name_key, o.fields, o.entries_count, o.translatable, o.stores
      FROM metaobject_definition d
      CROSS JOIN LATERAL (
        SELECT (array_agg(h.name ${byDomain}))[1] AS name, (array_agg(h.description ${byDomain}))[1] AS description,
               (array_agg(h.display_name_key ${byDomain}))[1] AS display_name_key,
               (array_agg(h.fields ${byDomain}))[1] AS fields, sum(h.entries_count)::bigint AS entries_count,
               bool_or(h.translatable) AS translatable,
               json_agg(json_build_object('store_id', s.id, 'platform_id', h.platform_id) ${byDomain}) AS stores
        FROM store s
        JOIN metaobject_definition_store h
          ON h.account_id = ${accountId} AND h.store_id = s.id AND h.definition_id = d.id
        WHERE s.account_id = ${accountId} AND s.status = 'linked' ${among(stores)}
      ) o
      WHERE d.account_id = ${accountId} AND o.stores IS NOT NULL
      ORDER BY d.type COLLATE "C"`
  )

  // PostgreSQL builds the JSON text, because a store may have 10,000 entries.
  const metaobjectEntries = findOne(Schema.Struct({ entries: Schema.String }))(
    (accountId: AccountId, stores: ReadonlyArray<StoreId> | null, definitionId: RecordId) => sql`
      SELECT coalesce((
        SELECT json_agg(json_build_object(
          'id', e.id, 'handle', e.handle, 'display_name', e.display_name, 'status', e.status, 'fields', e.fields,
          'store_id', s.id, 'updated_at', rfc3339(e.updated_at)
        ) ORDER BY e.handle COLLATE "C", s.domain COLLATE "C", s.id, e.id)::text
        FROM metaobject_entry e
        JOIN store s ON s.account_id = ${accountId} AND s.id = e.store_id AND s.status = 'linked' ${among(stores)}
        WHERE e.account_id = ${accountId} AND e.definition_id = ${definitionId}
      ), '[]') AS entries
      FROM metaobject_definition d
      WHERE d.account_id = ${accountId} AND d.id = ${definitionId}
        AND EXISTS (
          SELECT FROM metaobject_definition_store h
          JOIN store s ON s.account_id = ${accountId} AND s.id = h.store_id AND s.status = 'linked' ${among(stores)}
          WHERE h.account_id = ${accountId} AND h.definition_id = ${definitionId}
        )`
  )

  return {
    metafieldDefinitions,
    metaobjectDefinitions: (accountId, stores) => metaobjectDefinitions({ accountId, stores }),
    metaobjectEntries: (accountId, stores, definitionId) =>
      Effect.map(
        metaobjectEntries(accountId, stores, definitionId),
        Option.map(({ entries }) => new JsonText<ReadonlyArray<MetaobjectEntry>>(entries))
      )
  }
}

const makeTranslationReads = (sql: SqlClient.SqlClient): Pick<Repo, "translations"> => {
  const translations = findOne(
    Schema.Struct({
      data: Schema.Array(Translations),
      translatable_fields: Schema.Array(TranslatableField)
    })
  )(
    (accountId: AccountId, kind: string, id: EntityId) => sql`
      WITH on_store AS MATERIALIZED (
        SELECT s.id, row_number() OVER (ORDER BY s.domain COLLATE "C", s.id) AS place
        FROM store_version v
        JOIN store s ON s.account_id = ${accountId} AND s.id = v.store_id AND s.status = 'linked'
        WHERE v.account_id = ${accountId} AND v.entity_id = ${id}
      )
      SELECT (
               SELECT coalesce(json_agg(json_build_object('locale', l.locale, 'stores', l.stores) ORDER BY l.locale COLLATE "C"), '[]')
               FROM (
                 SELECT o.locale,
                        json_agg(json_build_object('store_id', o.id, 'translations', o.translations) ORDER BY o.place) AS stores
                 FROM (
                   SELECT t.locale, h.id, h.place,
                          json_agg(json_build_object(
                            'key', t.key, 'value', t.value, 'outdated', t.outdated, 'source_digest', t.source_digest,
                            'updated_at', rfc3339(t.updated_at)
                          ) ORDER BY t.key COLLATE "C") AS translations
                   FROM on_store h
                   JOIN translation t ON t.account_id = ${accountId} AND t.store_id = h.id AND t.entity_id = ${id}
                   GROUP BY t.locale, h.id, h.place
                 ) o
                 GROUP BY o.locale
               ) l
             ) AS data,
             (
               SELECT coalesce(json_agg(json_build_object(
                 'key', d.key, 'type', d.type, 'source_locale', d.source_locale, 'source_value', d.source_value,
                 'digest', d.digest, 'store_ids', d.store_ids
               ) ORDER BY d.key COLLATE "C", d.place), '[]')
               FROM (
                 SELECT f.key, f.type, f.source_locale, f.source_value, f.digest, min(h.place) AS place,
                        json_agg(h.id ORDER BY h.place) AS store_ids
                 FROM on_store h
                 JOIN translatable_field f ON f.account_id = ${accountId} AND f.store_id = h.id AND f.entity_id = ${id}
                 GROUP BY f.key, f.type, f.source_locale, f.source_value, f.digest
               ) d
             ) AS translatable_fields
      FROM entity e
      WHERE e.account_id = ${accountId} AND e.id = ${id} AND e.kind = ${kind}`
  )

  return { translations }
}
