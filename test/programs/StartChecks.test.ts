import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { AccountId, StoreId, UserId, WebhookId } from "../../src/model/Ids.ts"
import { nonePlatform } from "../../src/platform/NonePlatform.ts"
import { layerOf } from "../../src/platform/PlatformRegistry.ts"
import { shopifyAdapter } from "../../src/platform/shopify/ShopifyAdapter.ts"
import { makeStartChecks } from "../../src/programs/StartChecks.sql.ts"
import { SecretBox, type SecretKey, SecretKeySource, type SecretOwner } from "../../src/stores/SecretBox.ts"
import { aConnectionTo } from "../mcp/Connector.ts"
import { warningLog } from "../support/ErrorLog.ts"
import { engines } from "../support/TestDatabase.ts"

const [old, next] = ["ab".repeat(32), "cd".repeat(32)].map((key) => Redacted.make(key)) as [
  Redacted.Redacted,
  Redacted.Redacted
]

const boxOf = (key: SecretKey) => Layer.provide(SecretBox.layer, Layer.succeed(SecretKeySource, key))

const seal = (owner: SecretOwner) =>
  SecretBox.pipe(
    Effect.flatMap((box) => box.seal(Redacted.make("a secret"), owner)),
    Effect.map((sealed) => Buffer.from(sealed)),
    Effect.provide(boxOf({ _tag: "Setting", key: old }))
  )

/** The platforms of a process whose PLATFORM_MODULES has an adapter for each of these names. */
const platformsOf = (added: ReadonlyArray<string>) =>
  layerOf<never>(["shopify", ...added].map((name) => ({ ...shopifyAdapter, name, make: Effect.succeed(nonePlatform) })))

/** The warnings of a start with these settings. */
const warningsOf = (key: SecretKey, baseUrl: string, added: ReadonlyArray<string> = []) => {
  const log = warningLog()
  return makeStartChecks.pipe(
    Effect.flatMap((check) => check(baseUrl)),
    Effect.provide([log.layer, boxOf(key), platformsOf(added)]),
    Effect.as(log.warnings)
  )
}

const needsOneKey = (counts: string) =>
  `${counts} cannot be decrypted. All processes on this database need the same SECRET_KEY: one with another key fails publishes, webhooks and second factors. The store's access token cannot be decrypted: `

for (const { absent, layer: database, name } of engines)
  describe.skipIf(absent)(`a start, ${name}`, () => {
    layer(database, { excludeTestServices: true })((it) => {
      it.effect("names a SECRET_KEY that does not decrypt saved secrets, and connections of another address", () =>
        Effect.gen(function* () {
          const here = "https://here.example"
          assert.deepStrictEqual(yield* warningsOf({ _tag: "None" }, here), [])

          const sql = yield* SqlClient.SqlClient
          const accountId = AccountId.make(crypto.randomUUID())
          yield* sql`INSERT INTO account (id, name) VALUES (${accountId}, 'Mine')`
          const { userId } = yield* aConnectionTo(here, accountId)
          const [storeId, webhookId] = [StoreId.make(crypto.randomUUID()), WebhookId.make(crypto.randomUUID())]
          yield* sql`
            INSERT INTO store (account_id, id, domain, name, platform, primary_locale, locales, currency, credential)
            VALUES (${accountId}, ${storeId}, 'tern.myshopify.com', 'Tern', 'shopify', 'en', '{en}', 'EUR',
                    ${yield* seal({ accountId, storeId })})`
          yield* sql`
            INSERT INTO webhook (account_id, id, url, topics, secret, position)
            VALUES (${accountId}, ${webhookId}, 'https://a.example/', '{}', ${yield* seal({ accountId, webhookId })}, 0)`
          yield* sql`
            INSERT INTO second_factor (account_id, user_id, secret, confirmed_at)
            VALUES (${accountId}, ${userId}, ${yield* seal({ accountId, userId: UserId.make(userId) })}, app_now())`

          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: old }, here), [])
          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: next, previous: old }, here), [])
          const restore = "Restore the key in SECRET_KEY, or link the store again with its token."
          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: next }, here), [
            `${needsOneKey("Of 3 saved secrets that were tested, 3")}SECRET_KEY is not the key that it was encrypted with. ${restore}`
          ])
          assert.deepStrictEqual(yield* warningsOf({ _tag: "None" }, here), [
            `${needsOneKey("Of 3 saved secrets that were tested, 3")}SECRET_KEY is not set. ${restore}`
          ])

          yield* sql`
            UPDATE oauth_grant SET lapses_at = app_now() + interval '1 day' WHERE account_id = ${accountId}`
          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: old }, here), [])
          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: old }, "http://127.0.0.1:4080"), [
            "The address of this process is http://127.0.0.1:4080 (BASE_URL), and 1 connection of agents was made at another address: this process refuses it. All processes on this database need the same BASE_URL. If the address has changed for good, connect the agents again."
          ])
          yield* sql`
            INSERT INTO store (account_id, id, domain, name, platform, status, primary_locale, locales, currency)
            SELECT ${accountId}, gen_random_uuid(), s.domain, s.domain, s.platform, s.status, 'en', '{en}', 'EUR'
            FROM (VALUES ('a.example', 'plainshop', 'linked'), ('b.example', 'plainshop', 'linked'),
                         ('c.example', 'acme', 'linked'), ('d.example', 'none', 'linked'),
                         ('e.example', 'gone', 'unlinked')) AS s (domain, platform, status)`
          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: old }, here), [
            "This process has no adapter for platforms of linked stores: acme (1 store), plainshop (2 stores). It sends nothing to these stores, and refuses to publish to them or to read them. All processes on this database need the same PLATFORM_MODULES."
          ])
          assert.deepStrictEqual(
            yield* warningsOf({ _tag: "Setting", key: old }, here, ["acme", "plainshop", "another"]),
            []
          )
          yield* sql`UPDATE store SET status = 'unlinked' WHERE account_id = ${accountId} AND platform <> 'shopify'`
          yield* sql`UPDATE oauth_grant SET ended_at = app_now(), end_reason = 'disconnected' WHERE account_id = ${accountId}`
          assert.deepStrictEqual(yield* warningsOf({ _tag: "Setting", key: old }, "http://127.0.0.1:4080"), [])
        })
      )
    })
  })
