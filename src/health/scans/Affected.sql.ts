import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import type { HealthDimension } from "../Health.ts"

/**
 * Selects the ids of entities whose rows may differ after changes, by dimension. `changed`: the entities that the notes
 * name. `note`: the notes. A rule that reads other entities than its own, its versions and its gallery needs a line
 * here. OFFSET 0 makes the planner look up rows by key: it does not know that few entities changed, and would choose
 * joins of whole tables.
 */
export const makeAffected = (sql: SqlClient): Readonly<Record<HealthDimension, (accountId: string) => Fragment>> => {
  const changed = sql`SELECT c.id FROM changed c`
  const products = (accountId: string) => sql`
    SELECT v.parent_id
    FROM changed c
    CROSS JOIN LATERAL (
      SELECT v.parent_id FROM entity v
      WHERE v.account_id = ${accountId} AND v.id = c.id AND v.parent_id IS NOT NULL OFFSET 0
    ) v`
  return {
    completeness: () => changed,
    divergence: () => changed,
    // A note names the media that entered or left a gallery.
    media: () => changed,
    translations: () => changed,
    // The row of a product depends on its variants.
    sync: (accountId) => sql`${changed} UNION ${products(accountId)}`,
    // The row of a variant depends on the status of its product, and shows the titles of other variants with its SKU
    // and of their products.
    structure: (accountId) => sql`
      WITH near AS MATERIALIZED (
        ${changed}
        UNION
        ${products(accountId)}
        UNION
        SELECT v.id
        FROM changed c
        CROSS JOIN LATERAL (SELECT v.id FROM entity v WHERE v.account_id = ${accountId} AND v.parent_id = c.id OFFSET 0) v
      ), sku AS MATERIALIZED (
        SELECT v.sku AS value
        FROM near n
        CROSS JOIN LATERAL (
          SELECT v.attributes #>> '{sku,value}' AS sku FROM entity v
          WHERE v.account_id = ${accountId} AND v.id = n.id AND v.kind = 'variant' OFFSET 0
        ) v
        UNION
        SELECT s.value FROM note n CROSS JOIN LATERAL unnest(n.skus) AS s (value)
      )
      SELECT n.id FROM near n
      UNION
      SELECT v.id
      FROM sku s
      CROSS JOIN LATERAL (
        SELECT v.id FROM entity v
        WHERE v.account_id = ${accountId} AND v.kind = 'variant' AND (v.attributes #>> '{sku,value}') = s.value OFFSET 0
      ) v
      WHERE NOT is_empty_text(s.value)`
  }
}
