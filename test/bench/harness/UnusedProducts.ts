import { connected, entityId } from "./Catalog.ts"

/** The vendor of the products, by which a filter finds them. */
export const unusedVendor = "Discontinued"

const variantsEach = 3
const picturesEach = 2

/** Adds products that are on no store, each with three variants and two pictures that no other product shows. */
export const addUnusedProducts = (url: string, accountId: string, products: number): Promise<void> =>
  connected(url, async (client) => {
    await client.query("BEGIN")
    const added = products * (1 + variantsEach + picturesEach)
    const {
      rows: [state]
    } = await client.query<{ readonly before: string }>(
      `UPDATE account_state SET change_seq = change_seq + $2::int, version = version + 1
       WHERE account_id = $1 RETURNING change_seq - $2::int AS before`,
      [accountId, added]
    )
    await client.query(
      `CREATE TEMPORARY TABLE unused ON COMMIT DROP AS
       SELECT t.*, row_number() OVER (ORDER BY t.n, t.kind) AS seq
       FROM generate_series(1, $1::int) n
       CROSS JOIN LATERAL (
         SELECT n, 0 AS i, 'product' AS kind, ${entityId("'unused product'", "n", 64)} AS id, NULL::uuid AS parent_id
         UNION ALL
         SELECT n, i, 'variant', ${entityId("'unused variant'", `n * ${variantsEach} + i`, 64)},
                ${entityId("'unused product'", "n", 64)}
         FROM generate_series(1, ${variantsEach}) i
         UNION ALL
         SELECT n, i, 'media', ${entityId("'unused media'", `n * ${picturesEach} + i`, 64)}, NULL
         FROM generate_series(1, ${picturesEach}) i
       ) t`,
      [products]
    )
    const text = (key: string, value: string) =>
      `'${key}', jsonb_build_object('type', 'single_line_text_field', 'value', ${value})`
    await client.query(
      `INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, draft_revision, change_seq,
                           canonical_changed_at, stamped_by, search_text)
       SELECT $1, id, kind, parent_id, CASE kind WHEN 'variant' THEN i END,
              CASE kind
                WHEN 'product' THEN jsonb_build_object(${text("title", "'Unused ' || n")}, ${text("vendor", "$3::text")})
                WHEN 'variant' THEN jsonb_build_object(${text("sku", "n || '-' || i")}, ${text("option1", "'Size ' || i")})
                ELSE jsonb_build_object(${text("file_name", "n || '-' || i || '.png'")})
              END,
              1, $2::bigint + seq, now(), pg_current_xact_id(), ' unused ' || n
       FROM unused ORDER BY parent_id NULLS FIRST, seq`,
      [accountId, state?.before, unusedVendor]
    )
    await client.query(
      `INSERT INTO entity_media (account_id, entity_id, media_id, position, store_ids)
       SELECT $1, p.id, m.id, m.i, '{}' FROM unused m JOIN unused p ON p.kind = 'product' AND p.n = m.n
       WHERE m.kind = 'media'`,
      [accountId]
    )
    await client.query("COMMIT")
  })
