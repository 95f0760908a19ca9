import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { ClusterNodes } from "../database/ClusterNodes.ts"
import { DirectQuery } from "../database/DirectQuery.ts"
import { isDistributedAtStart } from "../database/Distribution.ts"
import { discardRows, findAll, findOne, hasRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import type { HistoryActor } from "../drafts/History.ts"
import { AccountId, ApiKeyId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { type FindVersions, makeAccountVersions } from "./AccountVersions.sql.ts"
import { ApiKey, type Credential } from "./ApiKey.ts"
import { AnyScope, type Scope } from "./ApiKeyToken.ts"

const Account = Schema.Struct({
  id: AccountId,
  name: Schema.NonEmptyString,
  createdAt: Timestamp,
  /** Start of the account's deletion. Null: the account is not being deleted. */
  deletingSince: Schema.NullOr(Timestamp)
})
export type Account = typeof Account.Type

interface NewApiKey {
  readonly id: ApiKeyId
  /** SHA-256 of the token, in hexadecimal. */
  readonly hash: string
  readonly name: string
  readonly lastFour: string
  readonly scopes: ReadonlyArray<Scope>
  readonly expiresAt: Timestamp | null
  readonly createdBy: HistoryActor
}

/** Accounts and their API keys. */
export class AccessRepo extends Context.Tag("catalog/AccessRepo")<
  AccessRepo,
  {
    readonly createAccount: (account: { readonly id: AccountId; readonly name: string }) => Effect.Effect<void>
    /** Every account, oldest first. */
    readonly accounts: Effect.Effect<ReadonlyArray<Account>>
    /** The name of an account. None: no such account. */
    readonly accountName: (id: AccountId) => Effect.Effect<Option.Option<string>>
    /** Stores a new key. False: a key with this id already exists. */
    readonly createKey: (accountId: AccountId, key: NewApiKey) => Effect.Effect<boolean>
    /** All keys of the account, including revoked and expired ones, oldest first. */
    readonly listKeys: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Revokes a key. A second revocation keeps the time and the author of the first. False: the account has no such key. */
    readonly revokeKey: (accountId: AccountId, id: ApiKeyId, by: HistoryActor) => Effect.Effect<boolean>
    /** Finds keys by the SHA-256 of their tokens in hexadecimal. Revoked and expired keys are left out. */
    readonly findCredentials: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Credential>>
    /** Undefined: `findCredentials` returns the versions of the accounts. */
    readonly findVersions: FindVersions | undefined
    /** Records that the key was used in this minute. */
    readonly recordUse: (accountId: AccountId, id: ApiKeyId) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    AccessRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const direct = yield* DirectQuery
      const versions = makeAccountVersions(sql, direct, yield* isDistributedAtStart, yield* ClusterNodes)

      const accounts = findAll(Account)(
        () => sql`
          SELECT id, name, rfc3339(created_at) AS "createdAt", rfc3339(deleting_since) AS "deletingSince"
          FROM account ORDER BY created_at, id`
      )

      const accountName = findOne(Account.pick("name"))(
        (id: AccountId) => sql`SELECT name FROM account WHERE id = ${id}`
      )

      const listKeys = findAll(ApiKey)(
        (accountId: AccountId) => sql`
          SELECT id, name, last_four AS "lastFour", scopes, rfc3339(created_at) AS "createdAt", created_by AS "createdBy",
                 rfc3339(last_used_at) AS "lastUsedAt", rfc3339(expires_at) AS "expiresAt", rfc3339(revoked_at) AS "revokedAt",
                 revoked_by AS "revokedBy"
          FROM api_key
          WHERE account_id = ${accountId}
          ORDER BY created_at, id`
      )

      const decodeCredentials = Schema.decodeUnknown(
        Schema.Array(
          Schema.Struct({
            hash: Schema.String,
            accountId: AccountId,
            keyId: ApiKeyId,
            scopes: Schema.Array(AnyScope),
            accountVersion: Schema.NullOr(Schema.Number),
            useUnrecorded: Schema.Boolean
          })
        )
      )

      const findCredentials = (hashes: ReadonlyArray<string>) =>
        direct(sql`
          SELECT encode(api_key.hash, 'hex') AS hash, api_key.account_id AS "accountId", api_key.id AS "keyId", api_key.scopes,
                 api_key.last_used_at IS NULL OR api_key.last_used_at < date_trunc('minute', app_now()) AS "useUnrecorded"
                 ${versions.column}
          FROM api_key
          ${versions.join(sql`api_key.account_id`)}
          WHERE api_key.hash = ANY(${hashes.map((hash) => Buffer.from(hash, "hex"))}::bytea[])
            AND api_key.revoked_at IS NULL
            AND (api_key.expires_at IS NULL OR api_key.expires_at > app_now())`).pipe(
          Effect.flatMap(decodeCredentials),
          Effect.map((found) => new Map(found.map(({ hash, ...credential }) => [hash, credential])))
        )

      return {
        createAccount: ({ id, name }) =>
          Effect.gen(function* () {
            yield* sql`INSERT INTO account (id, name) VALUES (${id}, ${name})`
            yield* sql`INSERT INTO account_state (account_id) VALUES (${id})`
            yield* sql`INSERT INTO import_lock (account_id) VALUES (${id})`
          }).pipe(sql.withTransaction, orDie),
        accounts: accounts(),
        accountName: (id) =>
          Effect.map(
            accountName(id),
            Option.map(({ name }) => name)
          ),
        createKey: (accountId, key) =>
          sql`
            INSERT INTO api_key (account_id, id, hash, name, last_four, scopes, expires_at, created_by)
            VALUES (${accountId}, ${key.id}, decode(${key.hash}, 'hex'), ${key.name}, ${key.lastFour}, ${key.scopes},
                    ${key.expiresAt}, ${JSON.stringify(key.createdBy)}::jsonb)
            ON CONFLICT (account_id, id) DO NOTHING
            RETURNING id`.pipe(hasRows),
        listKeys,
        revokeKey: (accountId, id, by) =>
          sql`
            UPDATE api_key
            SET revoked_at = coalesce(revoked_at, app_now()),
                revoked_by = CASE WHEN revoked_at IS NULL THEN ${JSON.stringify(by)}::jsonb ELSE revoked_by END
            WHERE account_id = ${accountId} AND id = ${id}
            RETURNING id`.pipe(hasRows),
        findCredentials: (hashes) => orDie(findCredentials(hashes)),
        findVersions: versions.findVersions,
        recordUse: (accountId, id) =>
          sql`
            UPDATE api_key SET last_used_at = app_now()
            WHERE account_id = ${accountId} AND id = ${id}
              AND (last_used_at IS NULL OR last_used_at < date_trunc('minute', app_now()))`.pipe(discardRows)
      }
    })
  )
}
