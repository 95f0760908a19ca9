import type { SqlClient } from "@effect/sql/SqlClient"
import { type Context, Effect, Option, Schema } from "effect"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { type AccountId, StoreId } from "../model/Ids.ts"
import { Store } from "../model/Store.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { StoresRepo } from "./StoresRepo.ts"

type Repo = Context.Tag.Service<StoresRepo>

/** Reads stores. */
export const makeStoreReads = (
  sql: SqlClient
): Pick<Repo, "access" | "find" | "findByDomain" | "list" | "timeZones"> => {
  const columns = sql`
    id, domain, name, platform, 'linked' AS status, primary_locale, locales, currency,
    rfc3339(last_imported_at) AS last_imported_at`

  const list = findAll(Store)(
    (accountId: AccountId) => sql`
      SELECT ${columns}
      FROM store
      WHERE account_id = ${accountId} AND status = 'linked'
      ORDER BY domain COLLATE "C", id`
  )

  const find = findOne(Store)(
    (accountId: AccountId, id: StoreId) => sql`
      SELECT ${columns}
      FROM store
      WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`
  )

  const access = findOne(
    Schema.Struct({
      ...Store.fields,
      credential: Schema.NullOr(Schema.Uint8ArrayFromSelf),
      newRecordChannels: Schema.NullOr(Schema.Array(Schema.String))
    })
  )(
    (accountId: AccountId, id: StoreId) => sql`
      SELECT ${columns}, credential, new_record_channels AS "newRecordChannels"
      FROM store
      WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`
  )

  const findByDomain = findOne(Schema.Struct({ ...Store.fields, isLinked: Schema.Boolean }))(
    (accountId: AccountId, domain: string) => sql`
      SELECT ${columns}, status = 'linked' AS "isLinked"
      FROM store
      WHERE account_id = ${accountId} AND domain = ${domain}`
  )

  const timeZones = findAll(Schema.Struct({ id: StoreId, timeZone: Schema.String }))(
    (accountId: AccountId) => sql`
      SELECT s.id, s.time_zone AS "timeZone" FROM store s
      WHERE s.account_id = ${accountId} AND s.status = 'linked' AND s.time_zone IS NOT NULL`
  )

  return {
    timeZones: (accountId) =>
      Effect.map(timeZones(accountId), (rows) => new Map(rows.map(({ id, timeZone }) => [id, timeZone]))),
    list,
    find,
    access: (accountId, id) =>
      Effect.map(
        access(accountId, id),
        Option.map(({ credential, newRecordChannels, ...store }) => ({
          store,
          sealed: Option.fromNullable(credential),
          newRecordChannels
        }))
      ),
    findByDomain: (accountId, domain) =>
      Effect.map(
        findByDomain(accountId, domain),
        Option.map(({ isLinked, ...store }) => ({ store, isLinked }))
      )
  }
}

/** If two accounts link the same store at once, the second one waits here and then finds the key taken. */
const makeReserveShop =
  (sql: SqlClient): Repo["reserveShop"] =>
  (accountId, domain) =>
    sql`
      INSERT INTO shopify_shop AS s (domain, account_id) VALUES (${domain}, ${accountId})
      ON CONFLICT (domain) DO UPDATE SET account_id = excluded.account_id WHERE s.account_id = excluded.account_id
      RETURNING s.domain`.pipe(hasRows)

/** Writes stores. */
export const makeStoreWrites = (
  sql: SqlClient
): Pick<
  Repo,
  | "completeLink"
  | "countVersions"
  | "keepNewRecordChannels"
  | "keepTimeZone"
  | "link"
  | "recordImport"
  | "reserveShop"
  | "unlink"
> => ({
  keepNewRecordChannels: (accountId, id, channels, before) =>
    sql`
      UPDATE store s SET new_record_channels = ${channels}
      WHERE s.account_id = ${accountId} AND s.id = ${id} AND s.status = 'linked'
        AND (${before === undefined} OR s.new_record_channels IS NOT DISTINCT FROM ${before ?? null}::text[])
      RETURNING s.id`.pipe(hasRows),
  reserveShop: makeReserveShop(sql),
  link: (accountId, store, isReserved = false) =>
    Effect.gen(function* () {
      if (isReserved && !(yield* makeReserveShop(sql)(accountId, store.domain)))
        return yield* Effect.dieMessage(`the store ${store.domain} is reserved for another account`)
      yield* sql`
      INSERT INTO store (account_id, id, domain, name, platform, status, primary_locale, locales, currency, last_imported_at)
      VALUES (${accountId}, ${store.id}, ${store.domain}, ${store.name}, ${store.platform}, ${store.status},
              ${store.primary_locale}, ${store.locales}, ${store.currency}, ${store.last_imported_at})
      ON CONFLICT (account_id, id) DO UPDATE
      SET name = excluded.name, platform = excluded.platform, status = excluded.status,
          primary_locale = excluded.primary_locale, locales = excluded.locales, currency = excluded.currency`
    }).pipe(orDie),
  countVersions: (accountId, id) =>
    sql`
      SELECT count(*) AS count FROM store_version v WHERE v.account_id = ${accountId} AND v.store_id = ${id}`.pipe(
      Effect.map(([row]) => Number(row?.count)),
      orDie
    ),
  completeLink: (accountId, id) =>
    sql`
      UPDATE store s SET unlinked_at_seq = NULL
      WHERE s.account_id = ${accountId} AND s.id = ${id} AND s.status = 'linked'`.pipe(discardRows),
  unlink: (accountId, id) =>
    Effect.gen(function* () {
      // An earlier unlinked_at_seq is kept, because it means that the job that linked the store again has not finished.
      const unlinked = yield* sql<{ domain: string }>`
        UPDATE store s
        SET status = 'unlinked', unlinked_at_seq = coalesce(s.unlinked_at_seq, a.change_seq), credential = NULL,
            tested_at = NULL, refusal = NULL, missing_permissions = '{}'
        FROM account_state a
        WHERE s.account_id = ${accountId} AND s.id = ${id} AND a.account_id = ${accountId}
        RETURNING s.domain`
      yield* Effect.forEach(
        unlinked,
        ({ domain }) => sql`DELETE FROM shopify_shop WHERE domain = ${domain} AND account_id = ${accountId}`
      )
    }).pipe(orDie),
  keepTimeZone: (accountId, id, timeZone) =>
    sql`
      UPDATE store s SET time_zone = ${timeZone}
      WHERE s.account_id = ${accountId} AND s.id = ${id} AND s.time_zone IS DISTINCT FROM ${timeZone}`.pipe(
      discardRows
    ),
  recordImport: (accountId, id) =>
    sql`UPDATE store SET last_imported_at = app_now() WHERE account_id = ${accountId} AND id = ${id}`.pipe(discardRows)
})

/** Reads and writes the encrypted credentials of linked stores. */
export const makeStoreCredentials = (
  sql: SqlClient
): Pick<Repo, "credential" | "credentialTests" | "keepCredential" | "recordCredentialTest" | "replaceCredential"> => {
  const credential = findOne(Schema.Struct({ credential: Schema.NullOr(Schema.Uint8ArrayFromSelf) }))(
    (accountId: AccountId, id: StoreId) => sql`
      SELECT credential
      FROM store
      WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`
  )

  const credentialTests = findAll(
    Schema.Struct({
      id: StoreId,
      testedAt: Timestamp,
      refusal: Schema.NullOr(Schema.String),
      missingPermissions: Schema.Array(Schema.String)
    })
  )(
    (accountId: AccountId) => sql`
      SELECT s.id, rfc3339(s.tested_at) AS "testedAt", s.refusal, s.missing_permissions AS "missingPermissions"
      FROM store s
      WHERE s.account_id = ${accountId} AND s.status = 'linked' AND s.tested_at IS NOT NULL`
  )

  return {
    credentialTests: (accountId) =>
      Effect.map(credentialTests(accountId), (rows) => new Map(rows.map(({ id, ...test }) => [id, test]))),
    recordCredentialTest: (accountId, id, tested, refusal, missingPermissions = []) =>
      sql`
        UPDATE store SET tested_at = app_now(), refusal = ${refusal}, missing_permissions = ${missingPermissions}::text[]
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'
          AND credential IS NOT DISTINCT FROM ${Option.getOrNull(Option.map(tested, Buffer.from))}::bytea`.pipe(
        discardRows
      ),
    credential: (accountId, id) =>
      Effect.map(
        credential(accountId, id),
        Option.flatMapNullable(({ credential }) => credential)
      ),
    keepCredential: (accountId, id, sealed) =>
      sql`
        UPDATE store
        SET credential = ${Buffer.from(sealed)}, tested_at = NULL, refusal = NULL, missing_permissions = '{}'
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked'`.pipe(discardRows),
    replaceCredential: (accountId, id, from, to) =>
      sql`
        UPDATE store SET credential = ${Buffer.from(to)}
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'linked' AND credential = ${Buffer.from(from)}
        RETURNING id`.pipe(hasRows)
  }
}
