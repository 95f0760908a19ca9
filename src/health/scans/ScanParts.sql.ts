import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { builtInFields, EntityKind } from "../../model/Attribute.ts"
import { isWritable, type KeyRules } from "../../model/KeyRules.ts"
import type { HealthRules } from "../Health.ts"

/** The account to scan, and its rules. */
export interface ScanScope {
  readonly accountId: string
  readonly rules: HealthRules
  readonly keys: KeyRules
}

/**
 * The linked stores of a scan, each with the group for its texts and the group for its prices. A store with an unknown
 * language or currency forms its own group (drafts/Divergence.ts).
 */
export const makeLinkedStores = (sql: SqlClient) => (accountId: string, storeId: string | null) =>
  sql`
  SELECT s.id, s.domain, s.platform, s.locales,
         coalesce(nullif(lower(substring(s.primary_locale from '^[A-Za-z]{2,8}(?![A-Za-z0-9])') COLLATE "C"), 'und'),
                  s.id::text) AS language,
         coalesce(nullif(upper(substring(s.currency from '^[A-Za-z]{3}$') COLLATE "C"), 'XXX'), s.id::text) AS currency
  FROM store s
  WHERE s.account_id = ${accountId} AND s.status = 'linked' AND (${storeId}::uuid IS NULL OR s.id = ${storeId})`

/**
 * SQL that several scans share. It expects three CTEs: `linked` (`makeLinkedStores`), the stores of the scan; `subject`, the
 * entities to read: all, a range, or those that changed; and `overridden`, their versions with overrides. Everything else is
 * looked up from these by key.
 */
export const makeScanParts = (sql: SqlClient) => {
  /** For each kind: its keys in definition order, and its read-only keys. */
  const definitions = sql`
    (VALUES ${sql.csv(
      EntityKind.literals.map((kind) => {
        const keys = Object.keys(builtInFields[kind])
        return sql`(${kind}, ${keys}::text[], ${keys.filter((key) => !isWritable(kind, key))}::text[])`
      })
    )}) AS definition (kind, keys, read_only)`

  /** Sorts keys in the order of their definitions, then by name. */
  const keyOrder = (key: Fragment) => sql`coalesce(array_position(definition.keys, ${key}), 1000), ${key} COLLATE "C"`

  /**
   * All versions of a subject on linked stores. `which`: a condition on them. OFFSET 0 makes the planner use one
   * look-up by key per entity instead of a join.
   */
  const versions = (accountId: string, which: Fragment = sql``) => sql`
    subject e
    CROSS JOIN LATERAL (
      SELECT v.* FROM store_version v WHERE v.account_id = ${accountId} AND v.entity_id = e.id ${which} OFFSET 0
    ) v
    JOIN linked l ON l.id = v.store_id`

  /**
   * All versions of a subject on linked stores that have overrides. Most subjects have none, so the subjects are looked up
   * from these versions.
   */
  const overridden = (accountId: string, which: Fragment = sql``) => sql`
    overridden v
    JOIN linked l ON l.id = v.store_id
    CROSS JOIN LATERAL (
      SELECT e.id, e.kind, e.title, e.parent_id, e.attributes, e.store_ids
      FROM entity e WHERE e.account_id = ${accountId} AND e.id = v.entity_id ${which} OFFSET 0
    ) e`

  /**
   * True if no version of the entity `e` on the store `on_store` has an override. `which`: a condition, for example on
   * one key.
   */
  const inherits = (accountId: string, which: Fragment = sql``) => sql`
    NOT EXISTS (
      SELECT FROM store_version o
      WHERE o.account_id = ${accountId} AND o.entity_id = e.id AND o.store_id = on_store.id AND o.overrides <> '{}' ${which}
    )`

  return { definitions, inherits, keyOrder, overridden, versions }
}

export type ScanParts = ReturnType<typeof makeScanParts>

/**
 * Builds the SELECT of one dimension, with the columns (section, entity_id, entity_type, title, store_id, locale,
 * fields, shown).
 */
export type Scan = (scope: ScanScope) => Fragment
