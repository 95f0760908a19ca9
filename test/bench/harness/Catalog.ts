import pg from "pg"
import { mustRun, run } from "./Processes.ts"
import { progress } from "./Progress.ts"

/** A filled benchmark database, and an API key of its account. */
export interface BenchCatalog {
  readonly url: string
  readonly accountId: string
  readonly token: string
  readonly products: number
  readonly postgresVersion: string
}

/** Any database of the server. The benchmark creates its own databases on this server. */
const serverUrl = process.env.BENCH_DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/test"

/** Raise it when the fill changes: databases with another version are created again. */
const fillVersion = 4
const stores = 3

export const urlOf = (database: string): string => {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

/** Runs a function with a connection of its own. */
export const connected = async <A>(url: string, use: (client: pg.Client) => Promise<A>): Promise<A> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return await use(client).finally(() => client.end())
}

const serve = ["dist/main.js"]
/** Runs a command of the service on a database. Returns its stdout. */
export const catalog = (url: string, ...command: ReadonlyArray<string>) =>
  mustRun(process.execPath, [...serve, ...command], { DATABASE_URL: url })

/**
 * SQL: the id of an entity, by its kind (an expression) and number. As an import gives them, ids of entities that are created together
 * begin with the same 48 bits. `perRun`: how many numbers share them.
 */
export const entityId = (kind: string, n: string, perRun: number) =>
  `(left(md5('run ' || (${n}) / ${perRun}), 12) || substr(md5(${kind} || ' ' || (${n})), 13))::uuid`

/** The content of a benchmark database. */
export interface Content {
  /** The name of its account, which contains the version of the fill. */
  readonly account: string
  readonly products: number
  /** The number of store versions of the account's entities. */
  readonly versions: number
  readonly fill: (url: string) => Promise<void>
}

/** The account of a database, if this version of the benchmark filled it. */
const findAccount = (url: string, { account, products, versions }: Content): Promise<string | undefined> =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly id: string; readonly whole: boolean }>(
      `SELECT a.id,
              (SELECT count(*) FROM entity e WHERE e.account_id = a.id AND e.kind = 'product') = $2
              AND (SELECT count(*) FROM store_version v WHERE v.account_id = a.id) = $3 AS whole
       FROM account a WHERE a.name = $1`,
      [account, products, versions]
    )
    return rows.find(({ whole }) => whole)?.id
  })

/**
 * Fills the tables in one transaction of set-based statements. Entities get positions in the change order with
 * matching times, and one stamp per row, as the service writes them. Of each hundred products, two failed on the first
 * store, eight wait for their publication on the second, and ten were never published; entities agree with their store
 * versions.
 */
const fill = (url: string, name: string, products: number): Promise<void> =>
  connected(url, async (client) => {
    await client.query("BEGIN")
    const {
      rows: [account]
    } = await client.query<{ readonly id: string }>(
      `WITH added AS (INSERT INTO account (id, name) VALUES (gen_random_uuid(), $1) RETURNING id)
       INSERT INTO account_state (account_id, version, change_seq, last_changed_at)
       SELECT id, $2::int, $2::int, timestamptz '2026-01-05 08:00Z' + $2::int * interval '1.234567 s' FROM added
       RETURNING account_id AS id`,
      [name, products]
    )
    const accountId = account?.id
    await client.query("INSERT INTO import_lock (account_id) VALUES ($1)", [accountId])
    await client.query(
      `INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
       SELECT $1, md5('store ' || s)::uuid, 'store-' || s || '.example', 'Store ' || s, 'none', 'en', '{en}', 'EUR'
       FROM generate_series(1, $2::int) s`,
      [accountId, stores]
    )
    await client.query(
      `CREATE TEMPORARY TABLE version ON COMMIT DROP AS
       SELECT n, s, ${entityId("'product'", "n", 64)} AS entity_id, md5('store ' || s)::uuid AS store_id,
              CASE WHEN n % 100 < 2 AND s = 1 THEN 'failed'
                   WHEN n % 100 BETWEEN 2 AND 9 AND s = 2 THEN 'pending'
                   WHEN n % 100 BETWEEN 10 AND 19 THEN 'never_published'
                   ELSE 'published' END AS status
       FROM generate_series(1, $1::int) n, generate_series(1, $2::int) s`,
      [products, stores]
    )
    await client.query(
      `INSERT INTO entity (account_id, id, kind, attributes, draft_revision, change_seq, canonical_changed_at, stamped_by,
                           created_at, pending_publish, last_publish_status, store_ids, search_text)
       SELECT $1, v.entity_id, 'product',
              jsonb_build_object(
                'title', jsonb_build_object('type', 'single_line_text_field', 'value', p.title),
                'handle', jsonb_build_object('type', 'single_line_text_field', 'value', 'product-' || v.n),
                'description_html', jsonb_build_object('type', 'html', 'value', '<p>' || repeat(p.title || '. ', 8) || '</p>'),
                'vendor', jsonb_build_object('type', 'single_line_text_field', 'value', p.vendor),
                'product_type', jsonb_build_object('type', 'single_line_text_field', 'value', p.product_type),
                'tags', jsonb_build_object('type', 'list.single_line_text_field', 'value', '["new","outdoor"]'),
                'status', jsonb_build_object('type', 'single_line_text_field', 'value', 'active'),
                'seo_title', jsonb_build_object('type', 'single_line_text_field', 'value', p.title)
              ),
              1 + v.n % 9, v.n, timestamptz '2026-01-05 08:00Z' + v.n * interval '1.234567 s', pg_current_xact_id(),
              timestamptz '2026-01-05 08:00Z', v.pending, v.status, v.store_ids,
              ' ' || lower(p.title) || E'\\n ' || lower(p.vendor) || E'\\n new\\n outdoor'
       FROM (
         SELECT n, entity_id, array_agg(store_id ORDER BY s) AS store_ids, bool_or(status <> 'published') AS pending,
                CASE WHEN bool_or(status = 'failed') THEN 'failed'
                     WHEN bool_or(status = 'pending') THEN 'pending'
                     WHEN bool_or(status = 'published') THEN 'published'
                     ELSE 'never_published' END AS status
         FROM version GROUP BY n, entity_id
       ) v
       CROSS JOIN LATERAL (
         SELECT (ARRAY['Kestrel', 'Tarn', 'Fjell', 'Brèche', 'Sörgel', 'Ödland', 'Corrie'])[1 + v.n % 7] AS vendor,
                (ARRAY['Backpack', 'Tent', 'Lantern', 'Bottle', 'Jacket'])[1 + v.n % 5] AS product_type
       ) q
       CROSS JOIN LATERAL (
         SELECT q.vendor, q.product_type, q.vendor || ' ' || q.product_type || ' ' || v.n AS title
       ) p
       ORDER BY v.n`,
      [accountId]
    )
    await client.query(
      `INSERT INTO store_version (account_id, entity_id, store_id, accepted, pending_publish, last_publish_status,
                                  published_at, last_publish_error, platform_id)
       SELECT $1, entity_id, store_id,
              CASE status WHEN 'never_published' THEN NULL
                          WHEN 'published' THEN jsonb_build_object('attributes', e.attributes)
                          ELSE jsonb_build_object('attributes', e.attributes - 'seo_title') END,
              status <> 'published', status,
              CASE WHEN status = 'published' THEN timestamptz '2026-01-06 08:00Z' END,
              CASE WHEN status = 'failed' THEN '{"code": "invalid", "message": "The price is missing."}'::jsonb END,
              CASE WHEN status <> 'never_published' THEN 'gid://product/' || n END
       FROM version JOIN entity e ON e.account_id = $1 AND e.id = entity_id ORDER BY n, s`,
      [accountId]
    )
    await client.query("COMMIT")
  })

/** Products on three stores, without variants. */
export const productsOnStores = (products: number): Content => {
  const account = `Benchmark of ${products} products, fill ${fillVersion}`
  return { account, products, versions: products * stores, fill: (url) => fill(url, account, products) }
}

/** Creates an empty database with this name; an existing one is dropped. */
export const recreate = (database: string) =>
  connected(serverUrl, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${database}`)
  })

const exists = (database: string) =>
  connected(serverUrl, async (client) => {
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [database])
    return rowCount === 1
  })

/** The account in a database of an earlier run, if this build can update its schema. */
const kept = async (database: string, content: Content): Promise<string | undefined> => {
  if (!(await exists(database))) return undefined
  const url = urlOf(database)
  const { code } = await run(process.execPath, [...serve, "migrate"], { DATABASE_URL: url })
  return code === 0 ? await findAccount(url, content) : undefined
}

const filled = async (database: string, content: Content): Promise<string> => {
  const url = urlOf(database)
  progress(`Filling the database ${database}: ${content.account}`)
  await recreate(database)
  await catalog(url, "migrate")
  await content.fill(url)
  await connected(url, async (client) => {
    await client.query("VACUUM (ANALYZE)")
    await client.query("CHECKPOINT")
  })
  const accountId = await findAccount(url, content)
  if (accountId === undefined) throw new Error(`The fill of ${database} is not what it should be.`)
  return accountId
}

export const postgresVersionOf = (url: string): Promise<string> =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ readonly server_version: string }>("SHOW server_version")
    return rows[0]?.server_version ?? "unknown"
  })

/** A database with this content. Reuses the one of an earlier run if it fits. */
export const openFilled = async (database: string, content: Content): Promise<BenchCatalog> => {
  const accountId = (await kept(database, content)) ?? (await filled(database, content))
  const url = urlOf(database)
  const minted = await catalog(url, "key", "create", "--account", accountId, "--name", "Benchmark", "--json")
  const { key: token } = JSON.parse(minted) as { readonly key: string }
  return { url, accountId, token, products: content.products, postgresVersion: await postgresVersionOf(url) }
}

/** A database with this number of products, each on three stores. */
export const openCatalog = (database: string, products: number): Promise<BenchCatalog> =>
  openFilled(database, productsOnStores(products))
