import { SqlClient, SqlSchema } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer, type Option, Schema } from "effect"
import { planCustom, readsAll } from "../database/PlannerHints.ts"
import { orDie } from "../database/SqlErrors.ts"
import { EntityKind } from "../model/Attribute.ts"
import {
  type AccountMetafieldDefinition,
  DefinitionValidation,
  MetafieldDefinition,
  type MetafieldRule,
  OwnerType
} from "../model/Definition.ts"
import { AccountId, EntityId, type RecordId } from "../model/Ids.ts"

/**
 * The definition in force of a metafield definition `d`: that of the first linked store, by domain, whose platform has it; else
 * the account's own; else that of the first store whose imported file has it. A definition without any of these is not joined.
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

/** The definition in force of `d`, and the linked stores that have it. */
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

/** Reads the definitions in force, of every owner type, by owner type and key. */
export const readMetafieldRules = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
    Request: AccountId,
    Result: Schema.Struct({
      ownerType: OwnerType,
      key: Schema.String,
      type: Schema.String,
      validations: Schema.Array(DefinitionValidation)
    }),
    execute: (accountId) => sql`
      SELECT d.owner_type AS "ownerType", d.namespace || '.' || d.key AS key, o.type, o.validations
      FROM metafield_definition d
      ${definitionInForce(sql, accountId)}
      WHERE d.account_id = ${accountId}
      ORDER BY d.owner_type COLLATE "C", key COLLATE "C"`
  })

/** The metafield definitions of an account, from its stores and its own. */
export class DefinitionsRepo extends Context.Tag("catalog/DefinitionsRepo")<
  DefinitionsRepo,
  {
    /** The definitions in force, of every owner type, by owner type and key. */
    readonly metafields: (accountId: AccountId) => Effect.Effect<ReadonlyArray<MetafieldRule>>
    /** The definition in force of a key. */
    readonly find: (
      accountId: AccountId,
      ownerType: OwnerType,
      namespace: string,
      key: string
    ) => Effect.Effect<Option.Option<MetafieldDefinition>>
    /** The next entities of a kind, by id, with a value of this key that has another type and fits this one. */
    readonly mistyped: (
      accountId: AccountId,
      metafield: { readonly kind: EntityKind; readonly key: string; readonly type: string },
      after: EntityId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<EntityId>>
    /** Creates or replaces the account's own definition of a key. `id`: used if the key has no definition yet. */
    readonly define: (accountId: AccountId, id: RecordId, definition: AccountMetafieldDefinition) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    DefinitionsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const metafields = readMetafieldRules(sql)

      const find = SqlSchema.findOne({
        Request: Schema.Struct({
          accountId: AccountId,
          ownerType: OwnerType,
          namespace: Schema.String,
          key: Schema.String
        }),
        Result: MetafieldDefinition,
        execute: ({ accountId, key, namespace, ownerType }) => sql`
          SELECT ${definitionColumns(sql, accountId)}
          WHERE d.account_id = ${accountId} AND d.owner_type = ${ownerType} AND d.namespace = ${namespace}
            AND d.key = ${key}`
      })

      const isMistyped = (attributes: Fragment, key: string, type: string) => sql`(
        ${attributes} -> ${key}::text ->> 'type' <> ${type}
        AND key_fits(jsonb_build_object('type', ${type}::text), NULL, ${attributes} -> ${key}::text ->> 'value')
      )`

      const mistyped = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          kind: EntityKind,
          key: Schema.String,
          type: Schema.String,
          after: EntityId,
          limit: Schema.Int
        }),
        Result: Schema.Struct({ id: EntityId }),
        execute: ({ accountId, after, key, kind, limit, type }) => sql`
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
      })

      return {
        metafields: (accountId) => orDie(metafields(accountId)),
        find: (accountId, ownerType, namespace, key) => orDie(find({ accountId, ownerType, namespace, key })),
        mistyped: (accountId, metafield, after, limit) =>
          Effect.map(orDie(mistyped({ accountId, ...metafield, after, limit })), (rows) => rows.map(({ id }) => id)),
        define: (accountId, id, { key, namespace, owner_type, ...own }) =>
          sql`
            INSERT INTO metafield_definition (account_id, id, owner_type, namespace, key, own)
            VALUES (${accountId}, ${id}, ${owner_type}, ${namespace}, ${key}, ${JSON.stringify(own)}::jsonb)
            ON CONFLICT (account_id, owner_type, namespace, key) DO UPDATE SET own = excluded.own`.pipe(
            Effect.asVoid,
            orDie
          )
      }
    })
  )
}
