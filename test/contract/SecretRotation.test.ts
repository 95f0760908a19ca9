import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { Accounts } from "../../src/access/Accounts.ts"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import type { Store } from "../../src/model/Store.ts"
import { RepositoriesOnDatabase } from "../../src/Services.ts"
import { SecretBox, SecretKeySource } from "../../src/stores/SecretBox.ts"
import { makeRotateSecrets } from "../../src/stores/SecretRotation.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { MemoryRepositories } from "../../src/testing/index.ts"
import { engines } from "../support/TestDatabase.ts"

const [old, next, foreign] = ["ab", "cd", "ef"].map((byte) => Redacted.make(byte.repeat(32))) as [
  Redacted.Redacted,
  Redacted.Redacted,
  Redacted.Redacted
]

/** The secrets of a process with these settings. */
const withKeys = (key: Redacted.Redacted, previous?: Redacted.Redacted) =>
  Layer.fresh(
    SecretBox.layer.pipe(
      Layer.provide(
        Layer.succeed(SecretKeySource, { _tag: "Setting", key, ...(previous !== undefined && { previous }) })
      )
    )
  )

const token = "shpat_0123456789abcdef0123456789abcdef"

/** A linked store whose token is encrypted with a key. */
const aStoreUnder = (accountId: AccountId, key: Redacted.Redacted) =>
  Effect.gen(function* () {
    const repo = yield* StoresRepo
    const id = StoreId.make(crypto.randomUUID())
    const store: Store = {
      id,
      domain: `${id}.example`,
      name: "Shop",
      platform: "demo",
      status: "linked",
      primary_locale: "en",
      locales: ["en"],
      currency: "EUR",
      last_imported_at: null
    }
    yield* repo.link(accountId, store)
    const sealed = yield* Effect.flatMap(SecretBox, (box) =>
      box.seal(Redacted.make(token), { accountId, storeId: id })
    ).pipe(Effect.provide(withKeys(key)))
    yield* repo.keepCredential(accountId, id, sealed)
    return store
  })

const sealedOf = (accountId: AccountId, { id }: Store) =>
  Effect.flatMap(StoresRepo, (repo) => Effect.map(repo.credential(accountId, id), Option.getOrThrow))

/** The token of a store, read by a process with only this key. Undefined: it cannot be decrypted. */
const readWith = (key: Redacted.Redacted, accountId: AccountId, store: Store) =>
  Effect.gen(function* () {
    const sealed = yield* sealedOf(accountId, store)
    const opened = yield* Effect.option((yield* SecretBox).open(sealed, { accountId, storeId: store.id }))
    return Option.getOrUndefined(Option.map(opened, Redacted.value))
  }).pipe(Effect.provide(withKeys(key)))

const rotate = (accountId: AccountId) => Effect.flatMap(makeRotateSecrets, (run) => run(accountId))

const suite = (name: string, repositories: Layer.Layer<Accounts | StoresRepo, unknown>) =>
  describe(`changing the key of secrets (${name})`, () => {
    layer(Layer.orDie(repositories), { excludeTestServices: true })((it) => {
      it.effect("encrypts each token again once, while both keys can decrypt", () =>
        Effect.gen(function* () {
          const { id: accountId } = yield* (yield* Accounts).create("Rotating")
          const before = yield* aStoreUnder(accountId, old)
          const after = yield* aStoreUnder(accountId, next)
          const lost = yield* aStoreUnder(accountId, foreign)
          const spoiled = yield* sealedOf(accountId, lost)

          assert.strictEqual(yield* readWith(next, accountId, before), undefined)
          assert.deepStrictEqual(yield* rotate(accountId).pipe(Effect.provide(withKeys(next, old))), {
            rotated: 1,
            current: 1,
            unreadable: [lost.domain]
          })
          for (const store of [before, after]) assert.strictEqual(yield* readWith(next, accountId, store), token)
          assert.strictEqual(yield* readWith(old, accountId, before), undefined)
          // A secret that no key can decrypt is not changed.
          assert.deepStrictEqual(Buffer.from(yield* sealedOf(accountId, lost)), Buffer.from(spoiled))
          assert.deepStrictEqual(yield* rotate(accountId).pipe(Effect.provide(withKeys(next, foreign))), {
            rotated: 1,
            current: 2,
            unreadable: []
          })
        })
      )

      it.effect("does not overwrite a token that was replaced meanwhile", () =>
        Effect.gen(function* () {
          const { id: accountId } = yield* (yield* Accounts).create("Replaced")
          const store = yield* aStoreUnder(accountId, old)
          const repo = yield* StoresRepo
          const sealed = yield* sealedOf(accountId, store)
          const newer = Buffer.from("a newer credential")
          yield* repo.keepCredential(accountId, store.id, newer)
          assert.isFalse(yield* repo.replaceCredential(accountId, store.id, sealed, Buffer.from("late")))
          assert.deepStrictEqual(Buffer.from(yield* sealedOf(accountId, store)), newer)
          assert.isTrue(yield* repo.replaceCredential(accountId, store.id, newer, Buffer.from("next")))
          const other = AccountId.make(crypto.randomUUID())
          assert.isFalse(yield* repo.replaceCredential(other, store.id, Buffer.from("next"), newer))
        })
      )

      it.effect("encrypts a token again that another process replaced meanwhile with the earlier key", () =>
        Effect.gen(function* () {
          const { id: accountId } = yield* (yield* Accounts).create("Raced")
          const store = yield* aStoreUnder(accountId, old)
          const repo = yield* StoresRepo
          const newer = yield* Effect.flatMap(SecretBox, (box) =>
            box.seal(Redacted.make("shpat_newer"), { accountId, storeId: store.id })
          ).pipe(Effect.provide(withKeys(old)))
          let replacements = 0
          const raced = StoresRepo.of({
            ...repo,
            replaceCredential: (...given) =>
              replacements++ === 0
                ? Effect.zipRight(repo.keepCredential(accountId, store.id, newer), repo.replaceCredential(...given))
                : repo.replaceCredential(...given)
          })
          assert.deepStrictEqual(
            yield* rotate(accountId).pipe(
              Effect.provideService(StoresRepo, raced),
              Effect.provide(withKeys(next, old))
            ),
            { rotated: 1, current: 0, unreadable: [] }
          )
          assert.strictEqual(replacements, 2)
          assert.strictEqual(yield* readWith(next, accountId, store), "shpat_newer")
        })
      )

      it.effect("is refused without the setting, and the message names it", () =>
        Effect.gen(function* () {
          const { id: accountId } = yield* (yield* Accounts).create("Unset")
          const none = Layer.fresh(SecretBox.layer)
          const refused = yield* Effect.flip(rotate(accountId).pipe(Effect.provide(none)))
          assert.deepStrictEqual(refused.issues, [
            {
              path: "SECRET_KEY",
              message:
                "is not set: set it to the new key, and SECRET_KEY_PREVIOUS to the key that encrypted the saved secrets"
            }
          ])
        })
      )
    })
  })

const services = Accounts.layer

suite("in memory", Layer.provideMerge(services, MemoryRepositories))
for (const { absent, layer: database, name } of engines)
  if (!absent) suite(name, services.pipe(Layer.provideMerge(RepositoriesOnDatabase), Layer.provideMerge(database)))
