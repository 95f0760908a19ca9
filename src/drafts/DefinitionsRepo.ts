import { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { discardRows, findAll, findOne } from "../database/Rows.ts"
import type { EntityKind } from "../model/Attribute.ts"
import {
  type AccountMetafieldDefinition,
  MetafieldDefinition,
  MetafieldRule,
  type OwnerType
} from "../model/Definition.ts"
import { type AccountId, EntityId, RecordId, type StoreId } from "../model/Ids.ts"

/**
 * Selects the definition that applies to a metafield definition `d`, from the first of these that has one: the platform of a
 * linked store, by domain; the account itself; the imported file of a store, by domain. Without any, `d` is not returned.
 */
const definitionInForce = (sql: SqlClient.SqlClient, accountId: string): Fragment => sql`
  CROSS JOIN LATERAL (
    SELECT o.name, o.description, o.type, o.validations
    FROM (
      SELECT CASE WHEN h.platform_id = '' THEN 2 ELSE 0 END AS rank, s.domain, s.id, h.name, h.description, h.type,
             h.validations
      FROM store s
      JOIN metafield_definition_store h
        ON h.account_id = ${accountId} AND h.store_id = s.id AND h.definition_id = d.id
      WHERE s.account_id = ${accountId} AND s.status = 'linked'
      UNION ALL
      SELECT 1, '', NULL, d.own ->> 'name', d.own ->> 'description', d.own ->> 'type', d.own -> 'validations'
      WHERE d.own IS NOT NULL
    ) o
    ORDER BY o.rank, o.domain COLLATE "C", o.id
    LIMIT 1
  ) o`

/** The applicable definition of `d`, and the linked stores that have a definition. */
export const definitionColumns = (sql: SqlClient.SqlClient, accountId: string): Fragment => sql`
  d.id, d.owner_type, d.namespace, d.key, o.name, o.description, o.type, o.validations,
  (
    SELECT coalesce(json_agg(json_build_object(
      'store_id', s.id, 'platform_id', h.platform_id, 'metafields_count', h.metafields_count
    ) ORDER BY s.domain COLLATE "C", s.id), '[]')
    FROM store s
    JOIN metafield_definition_store h
      ON h.account_id = ${accountId} AND h.store_id = s.id AND h.definition_id = d.id
    WHERE s.account_id = ${accountId} AND s.status = 'linked'
  ) AS stores
  FROM metafield_definition d
  ${definitionInForce(sql, accountId)}`

/** Leaves out definitions that neither the account itself nor one of these stores (null: all) has. */
export const isVisible = (
  sql: SqlClient.SqlClient,
  accountId: string,
  stores: ReadonlyArray<string> | null
): Fragment =>
  stores === null
    ? sql``
    : sql`
  AND (d.own IS NOT NULL OR EXISTS (
    SELECT FROM store s
    JOIN metafield_definition_store h ON h.account_id = ${accountId} AND h.store_id = s.id AND h.definition_id = d.id
    WHERE s.account_id = ${accountId} AND s.status = 'linked' AND s.id = ANY (${[...stores]}::uuid[])
  ))`

/** Reads the applicable definitions of all owner types, ordered by owner type and key. */
export const readMetafieldRules = (sql: SqlClient.SqlClient) =>
  findAll(MetafieldRule)(
    ({ accountId, stores }: { readonly accountId: AccountId; readonly stores: ReadonlyArray<StoreId> | null }) => sql`
      SELECT d.owner_type AS "ownerType", d.namespace || '.' || d.key AS key, o.type, o.validations
      FROM metafield_definition d
      ${definitionInForce(sql, accountId)}
      WHERE d.account_id = ${accountId} ${isVisible(sql, accountId, stores)}
      ORDER BY d.owner_type COLLATE "C", key COLLATE "C"`
  )

interface Metafield {
  readonly kind: EntityKind
  readonly key: string
  readonly type: string
}

/** The metafield definitions of an account: those of its stores, and its own. */
export class DefinitionsRepo extends Context.Tag("catalog/DefinitionsRepo")<
  DefinitionsRepo,
  {
    /**
     * The applicable definitions of all owner types, ordered by owner type and key, without those that neither the account
     * itself nor one of these stores (null: all) has.
     */
    readonly metafields: (
      accountId: AccountId,
      stores: ReadonlyArray<StoreId> | null
    ) => Effect.Effect<ReadonlyArray<MetafieldRule>>
    /** The applicable definition of a key. */
    readonly find: (
      accountId: AccountId,
      ownerType: OwnerType,
      namespace: string,
      key: string
    ) => Effect.Effect<Option.Option<MetafieldDefinition>>
    /** Entities of a kind, by id, that have a value of this key with another type although the value fits this type. */
    readonly mistyped: (
      accountId: AccountId,
      metafield: Metafield,
      after: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /** Creates or replaces the account's own definition of a key. `id` is used if the key has no definition yet. */
    readonly define: (accountId: AccountId, id: RecordId, definition: AccountMetafieldDefinition) => Effect.Effect<void>
    /** Deletes the account's own definition of a key, and returns its id. None: there is none. */
    readonly undefine: (
      accountId: AccountId,
      ownerType: OwnerType,
      namespace: string,
      key: string
    ) => Effect.Effect<Option.Option<RecordId>>
  }
>() {
  static readonly layer = Layer.effect(
    DefinitionsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const metafields = readMetafieldRules(sql)

      const find = findOne(MetafieldDefinition)(
        (accountId: AccountId, ownerType: OwnerType, namespace: string, key: string) => sql`
          SELECT ${definitionColumns(sql, accountId)}
          WHERE d.account_id = ${accountId} AND d.owner_type = ${ownerType} AND d.namespace = ${namespace}
            AND d.key = ${key}`
      )

      // AND would also call key_fits without a value, which it does not take: null is not false.
      const isMistyped = (attributes: Fragment, key: string, type: string) => sql`
        CASE WHEN ${attributes} -> ${key}::text ->> 'type' <> ${type}
          THEN key_fits(jsonb_build_object('type', ${type}::text), NULL, ${attributes} -> ${key}::text ->> 'value')
          ELSE false
        END`

      const mistyped = findAll(Schema.Struct({ id: EntityId }))(
        (accountId: AccountId, { key, kind, type }: Metafield, after: EntityId, limit: number) => sql`
          SELECT e.id FROM entity e
          WHERE e.account_id = ${accountId} AND e.kind = ${kind} AND e.id > ${after}
            AND (
              ${isMistyped(sql`e.attributes`, key, type)}
              OR EXISTS (
                SELECT FROM store_version v
                WHERE v.account_id = ${accountId} AND v.entity_id = e.id
                  AND (${isMistyped(sql`v.overrides`, key, type)} OR ${isMistyped(sql`(v.accepted -> 'attributes')`, key, type)})
              )
            )
          ORDER BY e.id
          LIMIT ${limit} ${sql.literal(`${planCustom} ${readsAll}`)}`
      )

      // The row stays: stores may refer to it, and a later definition of the key has the same id.
      const undefine = findOne(Schema.Struct({ id: RecordId }))(
        (accountId: AccountId, ownerType: OwnerType, namespace: string, key: string) => sql`
          UPDATE metafield_definition d SET own = NULL
          WHERE d.account_id = ${accountId} AND d.owner_type = ${ownerType} AND d.namespace = ${namespace}
            AND d.key = ${key} AND d.own IS NOT NULL
          RETURNING d.id`
      )

      return {
        metafields: (accountId, stores) => metafields({ accountId, stores }),
        find,
        mistyped: (accountId, metafield, after, limit) =>
          Effect.map(mistyped(accountId, metafield, after, limit), (rows) => rows.map(({ id }) => id)),
        define: (accountId, id, { key, namespace, owner_type, ...own }) =>
          sql`
            INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key, own)
            VALUES (${accountId}, ${id}, ${owner_type}, ${namespace}, ${key}, ${JSON.stringify(own)}::jsonb)
            ON CONFLICT (account_id, owner_type, namespace, key) DO UPDATE SET own = excluded.own`.pipe(discardRows),
        undefine: (...definition) =>
          Effect.map(
            undefine(...definition),
            Option.map(({ id }) => id)
          )
      }
    })
  )
}
