import { catalog, connected, entityId, postgresVersionOf, recreate, urlOf } from "./Catalog.ts"
import { distribute } from "./Cluster.ts"
import { progress } from "./Progress.ts"

/** A database whose account has issues in every dimension of data health. */
export interface HealthCatalog {
  readonly url: string
  readonly accountId: string
  readonly token: string
  readonly storeIds: ReadonlyArray<string>
  readonly products: number
  readonly postgresVersion: string
}

const stores = 3

/** SQL: the id of an entity. A product, its variant and half a media file have consecutive ids. */
const idOf = (kind: string, n = "n") => entityId(kind, n, 25)

/**
 * Products with one variant each (one in a hundred has none, two share a SKU), on three stores each. 95 of a hundred
 * have all required fields. Of a hundred, ten were changed since their publish, one failed, two were never published;
 * five have an own title on the second store; two have no gallery; one has an invalid value. Nine in ten are
 * translated into German on every store; five in a hundred of these translations are outdated. There are half as many
 * media; one in twenty has no alt text.
 */
const fill = (url: string, products: number): Promise<{ accountId: string; storeIds: ReadonlyArray<string> }> =>
  connected(url, async (client) => {
    await client.query("BEGIN")
    const { rows } = await client.query<{ readonly id: string }>(
      `WITH added AS (INSERT INTO account (id, name) VALUES (gen_random_uuid(), 'Health') RETURNING id)
       INSERT INTO account_state (account_id, version, change_seq, last_changed_at)
       SELECT id, 1, $1::int * 3, timestamptz '2026-01-05 08:00Z' FROM added RETURNING account_id AS id`,
      [products]
    )
    const accountId = rows[0]?.id ?? ""
    await client.query("INSERT INTO import_lock (account_id) VALUES ($1)", [accountId])
    await client.query(
      `INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
       SELECT $1, md5('store ' || s)::uuid, 'store-' || s || '.example', 'Store ' || s, 'demo', 'en', '{en,de}', 'EUR'
       FROM generate_series(1, $2::int) s`,
      [accountId, stores]
    )
    await client.query(
      `INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, draft_revision, change_seq, canonical_changed_at, stamped_by,
                           pending_publish, last_publish_status, store_ids, search_text)
       SELECT $1, ${idOf("k.kind")}, k.kind, CASE WHEN k.kind = 'variant' THEN ${idOf("'product'")} END,
              CASE WHEN k.kind = 'variant' THEN 0 END, k.attributes, 1, k.seq, timestamptz '2026-01-05 08:00Z' + k.seq * interval '1 s',
              pg_current_xact_id(), k.kind <> 'variant' AND n % 100 < 13, 'published',
              ARRAY(SELECT md5('store ' || s)::uuid FROM generate_series(1, $3::int) s), ' ' || n
       FROM generate_series(1, $2::int) n
       CROSS JOIN LATERAL (
         SELECT 'product' AS kind, n AS seq, jsonb_strip_nulls(jsonb_build_object(
           'title', jsonb_build_object('type', 'single_line_text_field', 'value', 'Kestrel Backpack ' || n),
           'handle', jsonb_build_object('type', 'single_line_text_field', 'value', 'product-' || n),
           'description_html', CASE WHEN n % 100 <> 7 THEN jsonb_build_object('type', 'html',
             'value', '<p>' || repeat('Kestrel Backpack ' || n || '. ', 8) || '</p>') END,
           'vendor', CASE WHEN n % 100 NOT IN (8, 9) THEN jsonb_build_object('type', 'single_line_text_field', 'value', 'Tarn') END,
           'product_type', CASE WHEN n % 100 NOT IN (9, 10) THEN jsonb_build_object('type', 'single_line_text_field', 'value', 'Backpack') END,
           'tags', jsonb_build_object('type', 'list.single_line_text_field', 'value', '["new","outdoor"]'),
           'status', jsonb_build_object('type', 'single_line_text_field', 'value', CASE WHEN n % 100 = 11 THEN 'live' ELSE 'active' END),
           'seo_title', CASE WHEN n % 10 <> 1 THEN jsonb_build_object('type', 'single_line_text_field', 'value', 'Backpack ' || n) END,
           'seo_description', jsonb_build_object('type', 'multi_line_text_field', 'value', 'For days and nights. ' || n)
         )) AS attributes
         UNION ALL
         SELECT 'media', $2::int + n, jsonb_strip_nulls(jsonb_build_object(
           'url', jsonb_build_object('type', 'url', 'value', 'https://cdn.example/' || n || '.jpg'),
           'alt', CASE WHEN n % 20 <> 1 THEN jsonb_build_object('type', 'single_line_text_field', 'value', 'A backpack') END
         )) WHERE n % 2 = 0
         UNION ALL
         SELECT 'variant', 2 * $2::int + n, jsonb_strip_nulls(jsonb_build_object(
           'title', jsonb_build_object('type', 'single_line_text_field', 'value', 'Default'),
           'sku', jsonb_build_object('type', 'single_line_text_field', 'value', 'SKU-' || CASE WHEN n % 100 = 14 THEN n - 1 ELSE n END),
           'price', jsonb_build_object('type', 'number_decimal', 'value', '49.00'),
           'barcode', CASE WHEN n % 20 <> 1 THEN jsonb_build_object('type', 'single_line_text_field', 'value', 'B' || n) END
         )) WHERE n % 100 <> 15
       ) k`,
      [accountId, products, stores]
    )
    await client.query(
      `INSERT INTO store_version (account_id, entity_id, store_id, overrides, accepted, pending_publish, last_publish_status)
       SELECT $1, e.id, s.id,
              CASE WHEN e.change_seq % 20 = 3 AND s.domain = 'store-2.example'
                THEN jsonb_build_object('title', jsonb_build_object('type', 'single_line_text_field', 'value', 'Rucksack ' || e.change_seq))
                ELSE '{}' END,
              CASE WHEN e.kind = 'variant' OR e.change_seq % 100 <> 12 THEN jsonb_build_object(
                'attributes', CASE WHEN e.change_seq % 100 < 10 THEN e.attributes - 'vendor' ELSE e.attributes END, 'media', '[]'::jsonb,
                'variants', CASE WHEN e.kind = 'product' AND e.change_seq % 100 <> 15
                  THEN jsonb_build_array(${idOf("'variant'", "e.change_seq")}) ELSE '[]' END) END,
              e.kind <> 'variant' AND e.change_seq % 100 IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12),
              CASE WHEN e.kind <> 'variant' AND e.change_seq % 100 = 5 THEN 'failed'
                   WHEN e.kind <> 'variant' AND e.change_seq % 100 = 12 THEN 'never_published' ELSE 'published' END
       FROM entity e CROSS JOIN store s WHERE e.account_id = $1 AND s.account_id = $1`,
      [accountId]
    )
    await client.query(
      `INSERT INTO entity_media (account_id, entity_id, media_id, position, store_ids)
       SELECT $1, ${idOf("'product'")}, ${idOf("'media'", "2 * (1 + n % ($2::int / 2))")}, 0,
              ARRAY(SELECT md5('store ' || s)::uuid FROM generate_series(1, $3::int) s)
       FROM generate_series(1, $2::int) n WHERE n % 50 <> 6`,
      [accountId, products, stores]
    )
    await client.query(
      `INSERT INTO translatable_field (account_id, store_id, entity_id, key, type, source_locale, source_value, digest)
       SELECT $1, s.id, ${idOf("'product'")}, 'title', 'single_line_text_field', 'en', 'Backpack ' || n, 'digest'
       FROM generate_series(1, $2::int) n CROSS JOIN store s WHERE s.account_id = $1`,
      [accountId, products]
    )
    await client.query(
      `INSERT INTO translation (account_id, store_id, entity_id, locale, key, value, source_digest, digest, said_outdated)
       SELECT $1, s.id, ${idOf("'product'")}, 'de', 'title', 'Rucksack ' || n,
              CASE WHEN n % 20 = 3 THEN 'older' ELSE 'digest' END, 'digest', false
       FROM generate_series(1, $2::int) n CROSS JOIN store s WHERE s.account_id = $1 AND n % 10 <> 4`,
      [accountId, products]
    )
    const linked = await client.query<{ readonly id: string }>(
      "SELECT id FROM store WHERE account_id = $1 ORDER BY domain",
      [accountId]
    )
    await client.query("COMMIT")
    await client.query("VACUUM (ANALYZE)")
    await client.query("CHECKPOINT")
    return { accountId, storeIds: linked.rows.map(({ id }) => id) }
  })

/** A new database with this number of products. `cluster`: an empty database of a cluster, which is used instead. */
export const openHealthCatalog = async (products: number, cluster?: string): Promise<HealthCatalog> => {
  const database = "catalog_bench_health"
  const url = cluster ?? urlOf(database)
  progress(
    `Filling ${cluster === undefined ? `the database ${database}` : "the cluster"}: ${products} products on ${stores} stores`
  )
  if (cluster === undefined) await recreate(database)
  await catalog(url, "migrate")
  const { accountId, storeIds } = await fill(url, products)
  if (cluster !== undefined) await distribute(cluster)
  const minted = await catalog(
    url,
    ...["key", "create", "--account", accountId, "--name", "Benchmark", "--scopes", "pim:read,pim:write", "--json"]
  )
  const { key: token } = JSON.parse(minted) as { readonly key: string }
  return { url, accountId, token, storeIds, products, postgresVersion: await postgresVersionOf(url) }
}
