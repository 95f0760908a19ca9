import { createHash } from "node:crypto"
import pg from "pg"
import { nothingPlanned } from "../../src/imports/Import.ts"
import type { EntityKind } from "../../src/model/Attribute.ts"
import { AccountId, ClientId, ConnectionId, ConsentId, EntityId, StoreId, UserId } from "../../src/model/Ids.ts"

/** The entities of the large account by number, from 1. They are the same in every test database. */
export const largeCatalog = {
  accountId: AccountId.make("10000000-0000-4000-8000-000000000000"),
  stores: [1, 2, 3].map((n) => StoreId.make(`30000000-0000-4000-8000-00000000000${n}`)),
  product: (n: number) => EntityId.make(idOf("a", n)),
  variant: (n: number) => EntityId.make(idOf("b", n)),
  collection: (n: number) => EntityId.make(idOf("c", n)),
  media: (n: number) => EntityId.make(idOf("d", n)),
  /** The connections that changed the products, 20 of them from 1 on. */
  agent: (n: number) => ConnectionId.make(idOf("f", n))
}

/** A user who signed in to one of the small accounts and connected a client, by number, from 1 to 12,000. */
export const largeAccess = (n: number) => {
  const digest = (secret: string) => createHash("sha256").update(`${secret}${n}`).digest("hex")
  return {
    accountId: AccountId.make(idOf("e", 1 + (n % 200))),
    userId: UserId.make(idOf("f", n)),
    clientId: ClientId.make(idOf("f", n)),
    consentId: ConsentId.make(idOf("f", n)),
    connectionId: ConnectionId.make(idOf("f", n)),
    email: `user-${n}@example.com`,
    hashes: {
      session: digest("session"),
      device: digest("device"),
      link: digest("link"),
      code: digest("code"),
      access: digest("access"),
      refresh: digest("refresh"),
      attempt: digest("attempt")
    }
  }
}

const people = 12_000

const accessStatements: ReadonlyArray<string> = [
  `INSERT INTO app_user (account_id, id, email, role)
   SELECT ACCOUNT, ID, 'user-' || n || '@example.com', 'admin' FROM N`,
  `INSERT INTO team_event (account_id, actor_kind, action, email)
   SELECT ACCOUNT, 'cli', 'invited', 'user-' || n || '@example.com' FROM N`,
  `INSERT INTO security_mail (account_id, user_id, kind, due_at)
   SELECT ACCOUNT, ID, 'password_set', now() + interval '1 hour' FROM N`,
  `INSERT INTO session (account_id, hash, user_id) SELECT ACCOUNT, sha256(('session' || n)::bytea), ID FROM N`,
  `INSERT INTO password_link (account_id, user_id, hash, expires_at)
   SELECT ACCOUNT, ID, sha256(('link' || n)::bytea), now() + interval '1 day' FROM N`,
  `INSERT INTO sign_in_device (account_id, hash, user_id) SELECT ACCOUNT, sha256(('device' || n)::bytea), ID FROM N`,
  `INSERT INTO attempt (kind, subject) SELECT 'sign-in', sha256(('attempt' || n)::bytea) FROM N`,
  `INSERT INTO oauth_client (id, name, redirect_uris) SELECT ID, 'Client', '{https://agent.example/cb}' FROM N`,
  `INSERT INTO oauth_request (account_id, id, user_id, session_hash, form_hash, client_id, redirect_uri, tier,
                              code_challenge, resource, expires_at)
   SELECT ACCOUNT, ID, ID, sha256(('session' || n)::bytea), sha256('form'), ID, 'https://agent.example/cb', 'pim:read',
          'x', 'https://pim.example/mcp', now() + interval '1 day' FROM N`,
  `INSERT INTO oauth_grant (account_id, id, user_id, client_id, client_name, redirect_host, tier, resource,
                            lapses_at)
   SELECT ACCOUNT, ID, ID, ID, 'Client', 'agent.example', 'pim:read', 'https://pim.example/mcp', now() + interval '1 day'
   FROM N`,
  `INSERT INTO oauth_code (account_id, hash, user_id, client_id, redirect_uri, tier, code_challenge, resource, expires_at)
   SELECT ACCOUNT, sha256(('code' || n)::bytea), ID, ID, 'https://agent.example/cb', 'pim:read', 'x',
          'https://pim.example/mcp', now() + interval '1 day' FROM N`,
  `INSERT INTO connection_activity (account_id, connection_id, day, calls) SELECT ACCOUNT, ID, now()::date - n % 60, n FROM N`,
  `INSERT INTO oauth_token (account_id, hash, grant_id, kind, tier, expires_at)
   SELECT ACCOUNT, sha256((k || n)::bytea), ID, k, 'pim:read', now() + interval '1 day'
   FROM N, unnest('{access,refresh}'::text[]) k`
]

const idOf = (letter: string, n: number) => `${letter}0000000-0000-4000-8000-${String(n).padStart(12, "0")}`
const id = (letter: string, n: string) => `('${letter}0000000-0000-4000-8000-' || lpad((${n})::text, 12, '0'))::uuid`

const attributes = (values: Readonly<Record<string, string>>) =>
  `jsonb_build_object(${Object.entries(values)
    .map(([key, value]) => `'${key}', jsonb_build_object('type', 'single_line_text_field', 'value', ${value})`)
    .join(", ")})`

const account = `'${largeCatalog.accountId}'::uuid`
const storeIds = `'{${largeCatalog.stores.join()}}'::uuid[]`
const firstStore = `'{${largeCatalog.stores[0]}}'::uuid[]`
const nowhere = "'{}'::uuid[]"
const at = (seq: string) => `timestamptz '2026-01-05 08:00Z' + (${seq}) * interval '1 millisecond'`

/** Of each hundred products, two failed on a store, eight wait for their publication, and ten were never published. */
const status = (n: string) => `
  CASE WHEN ${n} % 100 < 2 THEN 'failed' WHEN ${n} % 100 < 10 THEN 'pending'
       WHEN ${n} % 100 < 20 THEN 'never_published' ELSE 'published' END`

/** One kind of entity. All members except `seqBefore` and `kind` are SQL, in which `n` is the entity's number. */
interface Entities {
  readonly kind: EntityKind
  readonly letter: string
  readonly parent: string
  readonly stores: string
  readonly search: string
  readonly values: Readonly<Record<string, string>>
  /** The number of entities before these in the change order. */
  readonly seqBefore: number
}

const entities = (count: number, { kind, letter, parent, search, seqBefore, stores, values }: Entities) => `
  INSERT INTO entity (account_id, id, kind, parent_id, position, attributes, draft_revision, change_seq,
                      canonical_changed_at, stamped_by, pending_publish, last_publish_status, store_ids, search_text)
  SELECT ${account}, ${id(letter, "n")}, '${kind}', ${parent}, ${parent === "NULL" ? "NULL" : "0"}, ${attributes(values)},
         1, n + ${seqBefore}, ${at(`n + ${seqBefore}`)}, pg_current_xact_id(), ${
           stores === nowhere ? "false, 'never_published'" : `n % 100 < 20, ${status("n")}`
         }, ${stores},
         ${search}
  FROM generate_series(1, ${count}) n`

const versions = (letter: string, stores: string, count: number) => `
  INSERT INTO store_version (account_id, entity_id, store_id, accepted, pending_publish, last_publish_status, last_publish_error,
                             published_at, platform_id)
  SELECT ${account}, ${id(letter, "n")}, s, '{"attributes": {}}', n % 100 < 20, ${status("n")},
         CASE WHEN n % 100 < 2 THEN '{"code": "TAKEN", "message": "Taken."}'::jsonb END, CASE WHEN n % 100 >= 20 THEN ${at("n")} END, 'demo://${letter}/' || n
  FROM generate_series(1, ${count}) n, unnest(${stores}) s`

const word = (n: string) =>
  `(ARRAY['backpack', 'tent', 'lantern', 'bottle', 'jacket', '手 机 壳', 'boots xl'])[1 + ${n} % 7]`

/** The numbers of media and collections in a catalog with this many products and variants. */
export const countsBeside = (products: number) => ({
  media: Math.ceil(products / 2),
  collections: Math.ceil(products / 1_000) + 2
})

/** The statements that fill the tables. Collections have a thousand members; the last one has half of all products. */
const statements = (products: number): ReadonlyArray<string> => {
  const { collections, media } = countsBeside(products)
  const entitiesInAll = 2 * products + media + collections
  return [
    `INSERT INTO account (id, name) VALUES (${account}, 'Large')`,
    `INSERT INTO account_state (account_id, version, change_seq, last_changed_at)
     VALUES (${account}, 1, ${entitiesInAll}, ${at(String(entitiesInAll))})`,
    `INSERT INTO account (id, name) SELECT ${id("e", "n")}, 'Account ' || n FROM generate_series(1, 200) n`,
    `INSERT INTO account_state (account_id) SELECT ${id("e", "n")} FROM generate_series(1, 200) n`,
    "INSERT INTO import_lock (account_id) SELECT id FROM account",
    `INSERT INTO api_key (account_id, id, hash, name, last_four, scopes)
     SELECT ${id("e", "1 + n % 200")}, ${id("f", "n")}, sha256(n::text::bytea), 'Key', 'abcd', '{pim:read}'
     FROM generate_series(1, 12000) n`,
    `INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency)
     SELECT ${account}, s, 'store-' || n || '.example', 'Store', 'none', 'en', '{en}', 'EUR'
     FROM unnest(${storeIds}) WITH ORDINALITY AS t (s, n)`,
    entities(products, {
      kind: "product",
      letter: "a",
      parent: "NULL",
      stores: storeIds,
      seqBefore: 0,
      values: { title: `initcap(${word("n")}) || ' ' || n`, handle: "'product-' || n", vendor: "'Fjell'" },
      search: `' ' || ${word("n")} || ' ' || n || E'\\n fjell'`
    }),
    entities(products, {
      kind: "variant",
      letter: "b",
      parent: id("a", "n"),
      stores: firstStore,
      seqBefore: products,
      values: { title: "'Default'", sku: "'sku-' || n", price: "'10.00'" },
      search: `' default' || E'\\n sku - ' || n || E'\\n ' || ${word("n")}`
    }),
    entities(media, {
      kind: "media",
      letter: "d",
      parent: "NULL",
      stores: nowhere,
      seqBefore: 2 * products,
      values: { url: "'https://cdn.example/' || n", file_name: "n || '.jpg'", mime_type: "'image/jpeg'" },
      search: "' ' || n || ' . jpg'"
    }),
    entities(collections, {
      kind: "collection",
      letter: "c",
      parent: "NULL",
      stores: nowhere,
      seqBefore: 2 * products + media,
      values: { title: "'Collection ' || n", handle: "'collection-' || n" },
      search: "' collection ' || n"
    }),
    ...[versions("a", storeIds, products), versions("b", firstStore, products)],
    `INSERT INTO entity_media (account_id, entity_id, media_id, position, store_ids)
     SELECT ${account}, ${id("a", "n")}, ${id("d", `1 + n % ${media}`)}, 0, ${storeIds} FROM generate_series(1, ${products}) n`,
    `INSERT INTO entity_history (account_id, entity_id, draft_revision, action, changes, actor_kind, actor_id, at, sequence)
     SELECT ${account}, ${id("a", "n")}, 1, 'created', '[]'::jsonb, 'cli', NULL::uuid, now() - interval '90 days', 1
     FROM generate_series(1, ${products}) n
     UNION ALL
     SELECT ${account}, ${id("a", "n")}, 2 + r, 'attributes', '[{"key": "vendor", "old": null, "new": "Fjell"}]'::jsonb, 'connection',
            ${id("f", "1 + n % 20")}, now() - (n % 79) * interval '1 day', 2 + r
     FROM generate_series(1, ${products}) n, generate_series(0, 1) r`,
    `INSERT INTO entity_history (account_id, entity_id, draft_revision, store_id, action, changes, actor_kind, actor_id, at, sequence)
     SELECT ${account}, ${id("a", "n")}, 4, '${largeCatalog.stores[0]}', 'added_to_store', '[]'::jsonb, 'connection',
            ${id("f", "1 + n % 20")}, now() - (n % 79) * interval '1 day', 4
     FROM generate_series(1, ${products}) n`,
    `INSERT INTO collection_member (account_id, collection_id, product_id, position)
     SELECT ${account}, ${id("c", "1 + n / 1000")}, ${id("a", "n")}, n % 1000 FROM generate_series(1, ${products}) n
     UNION ALL
     SELECT ${account}, ${id("c", String(collections))}, ${id("a", "2 * n")}, n FROM generate_series(1, ${products} / 2) n`,
    `INSERT INTO import_run (account_id, id, store_id, source, file_name, phase, summary, done_through, applied)
     SELECT ${account}, ${id("f", "n")}, '${largeCatalog.stores[0]}', 'csv', 'old.csv', 'applied', '${JSON.stringify(nothingPlanned)}',
            12000, 300
     FROM generate_series(1, 40) n`,
    `INSERT INTO import_item (account_id, run_id, ordinal, entities, changes)
     SELECT ${account}, ${id("f", "1 + n % 40")}, n, 2, '[]' FROM generate_series(1, 12000) n`,
    // Imports that ended have no such rows: the sweep would delete them.
    `INSERT INTO mirror_item (account_id, import_id, kind, name, id, content)
     SELECT ${account}, ${id("f", "101 + n % 4")}, 'translations', 'demo://a/' || n || ' de', ${id("f", "n")},
            jsonb_build_object('platform_id', 'demo://a/' || n, 'locale', 'de', 'translations', '[]'::jsonb)
     FROM generate_series(1, 12000) n`,
    `INSERT INTO translatable_field (account_id, store_id, entity_id, key, type, source_locale, source_value, digest)
     SELECT ${account}, s, ${id("a", "n")}, 'title', 'uri', 'en', 'Tent ' || n, 'digest ' || n
     FROM generate_series(1, ${products}) n, unnest(${storeIds}) s`,
    `INSERT INTO translation (account_id, store_id, entity_id, locale, key, value, source_digest, digest, said_outdated)
     SELECT ${account}, s, ${id("a", "n")}, 'de', 'title', 'Zelt ' || n, 'digest ' || n, 'digest ' || n, false
     FROM generate_series(1, ${products}) n, unnest(${storeIds}) s`,
    `INSERT INTO metaobject_definition (account_id, id, type)
     SELECT ${account}, ${id("f", "n")}, 'type-' || n FROM generate_series(1, 12) n`,
    `INSERT INTO metaobject_definition_store (account_id, store_id, definition_id, platform_id, name, fields, entries_count,
                                              translatable)
     SELECT ${account}, s, ${id("f", "n")}, 'demo://f/' || n, 'Type', '[]', 1000, false
     FROM generate_series(1, 12) n, unnest(${storeIds}) s`,
    `INSERT INTO metaobject_entry (account_id, id, definition_id, store_id, platform_id, handle, display_name, status, fields,
                                   updated_at)
     SELECT ${account}, ${id("f", "1000000 * s + n")}, ${id("f", "1 + n % 12")}, (${storeIds})[s], 'demo://e/' || n,
            'entry-' || n, 'Entry', 'active', '[]', ${at("n")}
     FROM generate_series(1, 12000) n, generate_series(1, 3) s`,
    ...accessStatements.map((statement) =>
      statement
        .replaceAll("ACCOUNT", id("e", "1 + n % 200"))
        .replaceAll("ID", id("f", "n"))
        .replaceAll("FROM N", `FROM generate_series(1, ${people}) n`)
    )
  ]
}

/**
 * Fills an empty database that has the schema: one large account with this many products and variants, and 200 small
 * ones. Triggers are off and indexes are built at the end, so a million products take minutes instead of an hour.
 */
export const fillLargeCatalog = async (url: string, products: number): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: indexes } = await client.query<{ readonly name: string; readonly definition: string }>(`
      SELECT indexname AS name, indexdef AS definition FROM pg_indexes
      WHERE schemaname = 'public' AND indexname NOT IN (SELECT conname FROM pg_constraint)`)
    await client.query("SET session_replication_role = replica")
    await client.query("SET synchronous_commit = off")
    await client.query("SET maintenance_work_mem = '256MB'")
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
    for (const statement of statements(products)) await client.query(statement)
    for (const { definition } of indexes) await client.query(definition)
    await client.query("VACUUM (ANALYZE)")
  } finally {
    await client.end()
  }
}
