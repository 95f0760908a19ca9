import { SqlClient } from "@effect/sql"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Option, Redacted } from "effect"
import type { Transaction } from "../../src/database/Transaction.ts"
import type { DraftsRepo } from "../../src/drafts/DraftsRepo.ts"
import type { HistoryRepo } from "../../src/drafts/HistoryRepo.ts"
import { ImportLockRepo } from "../../src/drafts/ImportLockRepo.ts"
import type { DropsRepo } from "../../src/drops/DropsRepo.ts"
import type { HealthRepo } from "../../src/health/HealthRepo.ts"
import type { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { ValidationFailed } from "../../src/model/Errors.ts"
import { type AccountId, ImportId, type StoreId } from "../../src/model/Ids.ts"
import type { PlatformClient } from "../../src/platform/PlatformClient.ts"
import type { PlatformRegistry } from "../../src/platform/PlatformRegistry.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { SalesChannels } from "../../src/storedata/SalesChannels.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import { StoreAccess } from "../../src/stores/StoreAccess.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import {
  type Accounts,
  type ApiKeys,
  actingAs,
  anAccount,
  anEntity,
  type CatalogChanges,
  MemoryRepositories,
  Stores
} from "../../src/testing/index.ts"
import { adminSchema } from "../platform/AdminSchema.ts"
import { layerServer, layerShopify, ShopifyTestServer } from "../platform/PlatformShops.ts"
import { scopesWithout } from "../platform/ShopifyAccess.ts"
import { databaseContent } from "../support/BadExports.ts"
import { layerStores } from "../support/LayerStores.ts"
import { engines } from "../support/TestDatabase.ts"

/** The domain of all shops of the test server. */
const domain = "tern.myshopify.com"
const revoked = "The store does not accept the access token: the token is wrong or was revoked."

const key = Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })

/** Everything that the tests here log, at every level. */
const logged: Array<string> = []
const Logged = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ cause, message }) => {
    logged.push(`${String(message)} ${JSON.stringify(message)} ${String(cause)}`)
  })
)

const shopify = layerShopify().pipe(Layer.provideMerge(layerServer))
const services = Services.pipe(Layer.provide(key), Layer.provideMerge(Logged))

/** The services that the tests need, with repositories in memory or on a database. */
type Needed =
  | Accounts
  | ApiKeys
  | CatalogChanges
  | DraftsRepo
  | DropsRepo
  | HealthRepo
  | ImportLockRepo
  | PlatformClient
  | PlatformRegistry
  | SalesChannels
  | ShopifyTestServer
  | StoreAccess
  | HistoryRepo
  | JobsRepo
  | Stores
  | StoresRepo
  | Transaction

const Planted = Layer.fresh(layerStores).pipe(
  Layer.provide(SecretBox.layer),
  Layer.provide(key),
  Layer.provide(
    Layer.effect(
      StoresRepo,
      Effect.map(StoresRepo, (repo) => ({ ...repo, reserveShop: () => Effect.succeed(true) }))
    )
  )
)

const all: ReadonlyArray<{ readonly name: string; readonly absent: boolean; readonly layer: Layer.Layer<Needed> }> = [
  {
    name: "memory",
    absent: false,
    layer: services.pipe(Layer.provideMerge(Layer.merge(MemoryRepositories, shopify)))
  },
  ...engines.map(({ absent, layer, name }) => ({
    name,
    absent,
    layer: services.pipe(
      Layer.provideMerge(Layer.merge(RepositoriesOnDatabase, shopify)),
      Layer.provideMerge(layer),
      Layer.orDie
    )
  }))
]

const aToken = Effect.map(ShopifyTestServer, (server) => {
  const token = `shpat_${crypto.randomUUID().replaceAll("-", "")}`
  server.open(token)
  return token
})

const linking = (token: string | undefined, more: object = {}) =>
  Effect.flatMap(Stores, ({ link }) =>
    link({
      domain,
      platform: "shopify",
      ...(token !== undefined && { credentials: { token: Redacted.make(token) } }),
      ...more
    })
  )

const refusal = <A, E extends { readonly message: string }, R>(refused: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(refused), (error) => error.message)

const kept = (accountId: AccountId, storeId: StoreId) =>
  Effect.flatMap(StoreAccess, ({ open }) =>
    Effect.map(open(accountId, storeId), ({ credentials: { token } }) =>
      token === undefined ? null : Redacted.value(token)
    )
  )

/** Runs a test on its own account. Only one account can have the domain, so it is unlinked afterwards. */
const alone = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { accountId, actor } = yield* anAccount()
    const result = yield* test.pipe(actingAs(actor))
    yield* Effect.flatMap(Stores, ({ unlink }) => Effect.ignore(unlink(domain))).pipe(actingAs(actor))
    return { accountId, result }
  })

for (const engine of all) {
  describe.skipIf(engine.absent || adminSchema === undefined)(`a Shopify store on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("is linked with the name, languages and currency that it reports, and later calls use its token", () =>
        alone(
          Effect.gen(function* () {
            const token = yield* aToken
            const { list } = yield* Stores
            const { entities, store } = yield* linking(token, { domain: " Tern.MyShopify.com " })
            const { id, ...said } = store
            assert.deepStrictEqual(
              [said, entities],
              [
                {
                  domain,
                  name: "Tern & Daughters",
                  platform: "shopify",
                  status: "linked",
                  primary_locale: "en",
                  locales: ["en", "de"],
                  currency: "EUR",
                  last_imported_at: null
                },
                0
              ]
            )
            assert.deepStrictEqual(yield* list, [store])
            return { id, token }
          })
        ).pipe(Effect.asVoid)
      )

      it.effect("is called with its newest token; an unlinked store has none", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { link, unlink } = yield* Stores
            const access = yield* StoreAccess
            const [first, second] = [yield* aToken, yield* aToken]
            const { store } = yield* linking(first)
            assert.strictEqual(yield* kept(accountId, store.id), first)
            assert.deepStrictEqual(yield* linking(second), { store, entities: 0 })
            assert.strictEqual(yield* kept(accountId, store.id), second)
            assert.include(
              String(yield* access.open(accountId, store.id).pipe(Effect.map(({ credentials }) => credentials.token))),
              "<redacted>"
            )

            const product = yield* anEntity("product", { title: "Boots" }, { on: [store] })
            yield* unlink(domain)
            assert.deepInclude(yield* Effect.flip(access.open(accountId, store.id)), { _tag: "NotFound" })
            // Without the platform's name the error is the same, because the store's platform is stored.
            assert.strictEqual(
              yield* refusal(link({ domain })),
              "token: is required: an Admin API access token of the store"
            )
            assert.deepStrictEqual(yield* linking(first), { store, entities: 1 })
            assert.strictEqual(yield* kept(accountId, store.id), first)
            assert.isDefined(product)
            yield* unlink(domain)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a store that refuses the token is not linked, and the caller learns nothing about the store", () =>
        Effect.gen(function* () {
          const owner = yield* anAccount()
          const other = yield* anAccount()
          const { list, unlink } = yield* Stores
          const token = yield* aToken
          const { store } = yield* linking(token).pipe(actingAs(owner.actor))
          // Only a caller with a valid token learns that another account has the domain.
          assert.strictEqual(yield* refusal(linking("shpat_wrong").pipe(actingAs(other.actor))), revoked)
          assert.strictEqual(
            yield* refusal(linking(yield* aToken).pipe(actingAs(other.actor))),
            "domain: tern.myshopify.com is linked to another account: unlink it there first"
          )
          assert.deepStrictEqual(yield* list.pipe(actingAs(other.actor)), [])
          assert.strictEqual(yield* refusal(linking("shpat_wrong").pipe(actingAs(owner.actor))), revoked)
          assert.strictEqual(yield* kept(owner.accountId, store.id), token)
          yield* unlink(domain).pipe(actingAs(owner.actor))
          yield* linking(token).pipe(actingAs(other.actor))
          yield* unlink(domain).pipe(actingAs(other.actor))
        })
      )

      it.effect("the last answer to the token is kept until the token is replaced or the store is unlinked", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          const other = yield* anAccount()
          const { credentialTests, list, testCredential, unlink } = yield* Stores
          const server = yield* ShopifyTestServer
          const [first, second] = [yield* aToken, yield* aToken]
          const { store } = yield* linking(first).pipe(actingAs(actor))
          const refusalOf = Effect.map(credentialTests, (tests) => tests.get(store.id)?.refusal).pipe(actingAs(actor))
          const test = testCredential(store.id).pipe(actingAs(actor))
          assert.strictEqual(yield* refusalOf, null)
          server.script(first, "Verify", "server", 99)
          assert.deepInclude(yield* Effect.flip(test), { _tag: "PlatformUnavailable" })
          assert.strictEqual(yield* refusalOf, null)
          server.repair(first)
          server.revoke(first)
          assert.strictEqual(yield* test, revoked)
          assert.strictEqual(yield* refusalOf, revoked)
          const { recordRefusal } = yield* (yield* StoreAccess).read(accountId, store.id)
          yield* linking(second).pipe(actingAs(actor))
          assert.strictEqual(yield* refusalOf, null)
          // A call that began with the earlier token is refused only now.
          yield* recordRefusal({ code: "UNAUTHORIZED", message: revoked })
          assert.strictEqual(yield* refusalOf, null)
          const { recordRefusal: recordNew } = yield* (yield* StoreAccess).read(accountId, store.id)
          yield* recordNew({ code: "UNAUTHORIZED", message: revoked })
          assert.strictEqual(yield* refusalOf, revoked)
          assert.strictEqual(yield* test, null)
          assert.strictEqual(yield* refusalOf, null)
          const stranger = testCredential(store.id).pipe(actingAs(other.actor))
          assert.deepInclude(yield* Effect.flip(stranger), { _tag: "NotFound" })
          yield* unlink(domain).pipe(actingAs(actor))
          assert.deepStrictEqual([yield* refusalOf, yield* list.pipe(actingAs(actor))], [undefined, []])
        })
      )

      it.effect("a token without a required permission is refused with the names, and replaces no other token", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { credentialTests, list, testCredential, unlink } = yield* Stores
            const server = yield* ShopifyTestServer
            const limited = (...names: ReadonlyArray<string>) =>
              Effect.sync(() => {
                const token = `shpat_${crypto.randomUUID()}`
                server.open(token).scopes = scopesWithout(...names)
                return token
              })
            const lacks = (missing: string) =>
              `The access token lacks permissions: ${missing}. Grant them to the app in the store, then link the store again with the app's token.`
            const files = "write_files (pictures and videos cannot be published)"
            assert.strictEqual(
              yield* refusal(linking(yield* limited("write_files", "read_markets"))),
              lacks(`${files}, read_markets (markets cannot be read)`)
            )
            // Shopify refuses the question itself: it contains the languages.
            const languages = "read_locales (the languages of the store cannot be read)"
            const error = yield* Effect.flip(linking(yield* limited("read_locales", "write_publications")))
            assert.deepEqual({ ...error, message: error.message }, {
              _tag: "PlatformRefused",
              code: "MISSING_PERMISSIONS",
              message: lacks(languages),
              field: null
            } as never)
            assert.deepStrictEqual(yield* list, [])
            const token = yield* aToken
            const { store } = yield* linking(token)
            assert.strictEqual(yield* refusal(linking(yield* limited("write_files"))), lacks(files))
            assert.strictEqual(yield* kept(accountId, store.id), token)
            // The merchant takes a permission away later.
            server.open(token).scopes = scopesWithout("write_files")
            assert.strictEqual(yield* testCredential(store.id), lacks(files))
            assert.strictEqual((yield* credentialTests).get(store.id)?.refusal, lacks(files))
            yield* unlink(domain)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("a token without an optional permission is accepted, and its test says which are missing", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { beginLink, credentialTests, testCredential, unlink } = yield* Stores
            const server = yield* ShopifyTestServer
            const [token, better] = [yield* aToken, yield* aToken]
            server.open(token).scopes = scopesWithout("write_publications")
            const given = { domain, platform: "shopify", credentials: { token: Redacted.make(token) } }
            const { missingPermissions, store } = yield* beginLink(given)
            const both = ["read_publications", "write_publications"]
            assert.deepStrictEqual(missingPermissions, both)
            const missing = Effect.map(credentialTests, (tests) => tests.get(store.id)?.missingPermissions)
            assert.deepStrictEqual(yield* missing, both)
            server.open(token).scopes = new Set([...scopesWithout("write_publications"), "read_publications"])
            assert.strictEqual(yield* testCredential(store.id), null)
            assert.deepStrictEqual(yield* missing, ["write_publications"])
            yield* linking(better)
            assert.deepStrictEqual(yield* missing, [])
            server.open(better).scopes = scopesWithout("write_publications")
            assert.strictEqual(yield* testCredential(store.id), null)
            assert.deepStrictEqual(yield* missing, both)
            // Until a new token was tested, nothing is known of its permissions.
            const repo = yield* StoresRepo
            const other = Buffer.from("another credential")
            yield* repo.keepCredential(accountId, store.id, other)
            assert.strictEqual(yield* missing, undefined)
            yield* repo.recordCredentialTest(accountId, store.id, Option.some(other), null)
            assert.deepStrictEqual(yield* missing, [])
            yield* unlink(domain)
          }).pipe(actingAs(actor))
        })
      )

      it.effect(
        "the sales channels for new records are chosen from those of the store, and kept while it is unlinked",
        () =>
          Effect.gen(function* () {
            const { accountId, actor } = yield* anAccount()
            const other = yield* anAccount()
            yield* Effect.gen(function* () {
              const { link, unlink } = yield* Stores
              const { chooseForNewRecords, forNewRecords } = yield* SalesChannels
              const access = yield* StoreAccess
              const server = yield* ShopifyTestServer
              const token = yield* aToken
              const ids = [1, 2].map((number) => `gid://shopify/Publication/${number}`)
              server.open(token).sections.publications = ids.map((id) => ({
                id,
                autoPublish: false,
                supportsFuturePublishing: false,
                catalog: null,
                channels: { nodes: [] }
              }))
              const { store } = yield* linking(token)
              const sent = Effect.map(access.open(accountId, store.id), ({ newRecordChannels }) => newRecordChannels)
              assert.deepStrictEqual([yield* forNewRecords(store.id), yield* sent], [null, undefined])
              assert.isTrue(yield* chooseForNewRecords(store.id, [...ids, ...ids]))
              assert.deepStrictEqual([yield* forNewRecords(store.id), yield* sent], [ids, ids])
              assert.strictEqual(
                yield* refusal(chooseForNewRecords(store.id, ["gid://shopify/Publication/9"])),
                "channels: tern.myshopify.com has no sales channel gid://shopify/Publication/9"
              )
              // A choice that was made meanwhile is not overwritten.
              for (const before of [null, [], [...ids].reverse(), ids.slice(0, 1)])
                assert.isFalse(yield* chooseForNewRecords(store.id, ids.slice(1), before))
              assert.isTrue(yield* chooseForNewRecords(store.id, null, ids))
              assert.isFalse(yield* chooseForNewRecords(store.id, null, ids))
              assert.isTrue(yield* chooseForNewRecords(store.id, ids, null))
              assert.deepStrictEqual(yield* sent, ids)
              const stranger = chooseForNewRecords(store.id, []).pipe(actingAs(other.actor))
              assert.strictEqual((yield* Effect.flip(stranger))._tag, "NotFound")
              yield* unlink(domain)
              assert.strictEqual((yield* Effect.flip(forNewRecords(store.id)))._tag, "NotFound")
              yield* linking(token)
              assert.deepStrictEqual(yield* sent, ids)
              yield* chooseForNewRecords(store.id, [])
              assert.deepStrictEqual(yield* sent, [])
              yield* chooseForNewRecords(store.id, null)
              assert.deepStrictEqual(yield* sent, undefined)
              const demo = yield* link({ domain: "tern.demo.example", platform: "demo" })
              assert.strictEqual(
                yield* refusal(chooseForNewRecords(demo.store.id, [])),
                "channels: cannot be chosen on tern.demo.example: its platform decides"
              )
              yield* unlink(domain)
            }).pipe(actingAs(actor))
          })
      )

      it.effect("a store that sends an invalid response, or none, is not linked", () =>
        alone(
          Effect.gen(function* () {
            const server = yield* ShopifyTestServer
            const { list } = yield* Stores
            for (const [fault, why] of [
              ["html", "its answer is not valid"],
              ["odd", "its answer is not valid"],
              ["half", "the connection failed"],
              ["server", "it reports an internal error"]
            ] as const) {
              const token = yield* aToken
              server.script(token, "Verify", fault, 99)
              assert.strictEqual(yield* refusal(linking(token)), `The store's platform cannot be reached: ${why}.`)
            }
            assert.deepStrictEqual(yield* list, [])
          })
        ).pipe(Effect.asVoid)
      )

      it.effect("accepts only a valid token, and only for an address of Shopify", () =>
        alone(
          Effect.gen(function* () {
            const token = yield* aToken
            const server = yield* ShopifyTestServer
            const address = "domain: must be the store's address on Shopify, such as tarn-and-tern.myshopify.com"
            for (const wrong of [
              "shop.example.com",
              "myshopify.com",
              "tern.myshopify.com.evil.example",
              "tern-myshopify.com",
              "a.tern.myshopify.com"
            ])
              assert.strictEqual(yield* refusal(linking(token, { domain: wrong })), address, wrong)
            for (const wrong of ["", "two words", "shpat_\u00e9", "line\nbreak", "x".repeat(1_025), "nul\u0000"]) {
              const message = yield* refusal(linking(wrong))
              assert.strictEqual(message, "token: must be one word of at most 1024 visible ASCII characters")
            }
            for (const [flag, more] of [
              ["name", { name: "Mine" }],
              ["locale", { primaryLocale: "fr" }],
              ["currency", { currency: "CHF" }]
            ] as const)
              assert.strictEqual(
                yield* refusal(linking(token, more)),
                `${flag}: is read from the store itself: leave it out`
              )
            assert.strictEqual(
              yield* refusal(linking(token, { platform: "none" })),
              "token: is only for stores on the platform shopify"
            )
            assert.strictEqual(
              yield* refusal(linking(undefined, { platform: "demo" })),
              "domain: belongs to Shopify: a demo store needs another one"
            )
            assert.strictEqual(
              yield* refusal(linking(undefined, { platform: "woo" })),
              "platform: must be one of shopify, demo, none"
            )
            assert.strictEqual(
              yield* refusal(linking(token, { domain: "other.myshopify.com" })),
              "domain: is an alias of tern.myshopify.com: link tern.myshopify.com instead"
            )
            assert.deepStrictEqual(server.asked.get(token), ["Verify"])
          })
        ).pipe(Effect.asVoid)
      )

      it.effect("a store that had only imported files can be linked on its platform", () =>
        alone(
          Effect.gen(function* () {
            const { link } = yield* Stores
            const { store } = yield* link({ domain, name: "By hand" })
            assert.strictEqual(store.platform, "none")
            const asked = yield* linking(yield* aToken)
            assert.deepInclude(asked.store, { id: store.id, platform: "shopify", name: "Tern & Daughters" })
            assert.strictEqual(
              yield* refusal(link({ domain, platform: "none" })),
              `domain: ${domain} is already linked`
            )
          })
        ).pipe(Effect.asVoid)
      )

      it.effect("gets a new token while an import locks the account; an unlinked store cannot be linked then", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const { unlink } = yield* Stores
            const { keep } = yield* ImportLockRepo
            const token = yield* aToken
            const { store } = yield* linking(yield* aToken)
            yield* keep(accountId, ImportId.make(crypto.randomUUID()))
            yield* linking(token)
            assert.strictEqual(yield* kept(accountId, store.id), token)
            yield* keep(accountId, null)
            yield* unlink(domain)
            yield* keep(accountId, ImportId.make(crypto.randomUUID()))
            assert.strictEqual(
              yield* refusal(linking(token)),
              "An import or refresh has locked the catalog; retry after it has ended."
            )
            yield* keep(accountId, null)
          }).pipe(actingAs(actor))
        })
      )

      it.effect("reports a token that is missing or cannot be decrypted", () =>
        Effect.gen(function* () {
          const { accountId, actor } = yield* anAccount()
          yield* Effect.gen(function* () {
            const stores = yield* StoresRepo
            const { unlink } = yield* Stores
            const { store } = yield* linking(yield* aToken)
            const sealed = Buffer.from(Option.getOrThrow(yield* stores.credential(accountId, store.id)))
            yield* stores.keepCredential(accountId, store.id, Buffer.concat([sealed, Buffer.of(0)]))
            assert.deepInclude(yield* Effect.flip(kept(accountId, store.id)), {
              _tag: "PlatformRefused",
              code: "ACCESS_TOKEN_UNREADABLE",
              message:
                "The store's access token cannot be decrypted: SECRET_KEY is not the key that it was encrypted with. Restore the key in SECRET_KEY, or link the store again with its token."
            })
            yield* unlink(domain)
            assert.isTrue(Option.isNone(yield* stores.credential(accountId, store.id)))
            // No credential is stored for a store that is not linked.
            yield* stores.keepCredential(accountId, store.id, sealed)
            yield* stores.link(accountId, store)
            assert.deepInclude(yield* Effect.flip(kept(accountId, store.id)), { code: "NO_ACCESS_TOKEN" })
            yield* unlink(domain)
          }).pipe(actingAs(actor))
        })
      )

      const linkedAtOnce = Effect.gen(function* () {
        const { link, list, unlink } = yield* Stores
        const accounts = yield* Effect.replicateEffect(anAccount(), 6)
        const exits = yield* Effect.forEach(
          accounts,
          ({ actor }) =>
            Effect.flatMap(aToken, (token) =>
              Effect.exit(link({ domain, platform: "shopify", credentials: { token: Redacted.make(token) } }))
            ).pipe(actingAs(actor)),
          { concurrency: "unbounded" }
        )
        const linked = yield* Effect.forEach(accounts, ({ actor }) => actingAs(actor)(list))
        yield* Effect.forEach(accounts, ({ actor }) => Effect.ignore(unlink(domain)).pipe(actingAs(actor)))
        const failures = exits.flatMap((exit) => (Exit.isFailure(exit) ? [Cause.squash(exit.cause)] : []))
        return {
          linked: linked.flat().length,
          told: failures.flatMap((error) => (error instanceof ValidationFailed ? [error.message] : [])),
          defects: failures.filter((error) => !(error instanceof ValidationFailed)).length
        }
      })

      it.effect("a store that several accounts link at once belongs to one of them", () =>
        Effect.gen(function* () {
          const { defects, linked, told } = yield* linkedAtOnce
          assert.deepStrictEqual([linked, defects], [1, 0])
          assert.deepStrictEqual(
            told,
            Array(5).fill("domain: tern.myshopify.com is linked to another account: unlink it there first")
          )
        })
      )

      if (engine.name === "server")
        it.effect(
          "a store that is not reserved (planted fault) still belongs to one account; the others fail with a defect",
          () =>
            Effect.gen(function* () {
              const { defects, linked } = yield* linkedAtOnce
              assert.deepStrictEqual([linked, defects], [1, 5])
            }).pipe(Effect.provide(Planted))
        )

      it.effect("has its token neither in the database in plain text nor in the log", () =>
        Effect.gen(function* () {
          const { actor } = yield* anAccount()
          const token = yield* aToken
          yield* linking(token).pipe(actingAs(actor))
          yield* Effect.ignore(linking(`${token}x`)).pipe(actingAs(actor))
          yield* Effect.logError("as it would be logged", Redacted.make(token))
          const sql = yield* Effect.serviceOption(SqlClient.SqlClient)
          const database = Option.isNone(sql)
            ? ""
            : JSON.stringify(yield* Effect.provideService(databaseContent, SqlClient.SqlClient, sql.value))
          if (Option.isSome(sql)) assert.include(database, domain)
          assert.isAtLeast(logged.length, 1)
          for (const place of [database, ...logged])
            for (const spelling of [
              token,
              Buffer.from(token).toString("base64").slice(0, 40),
              Buffer.from(token).toString("hex")
            ])
              assert.notInclude(place, spelling)
          yield* Effect.flatMap(Stores, ({ unlink }) => unlink(domain)).pipe(actingAs(actor))
        })
      )
    })
  })
}
