import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { AccessRepo } from "../../src/access/AccessRepo.ts"
import { AccountId, ApiKeyId, nilUuid } from "../../src/model/Ids.ts"
import { fromMillis, plusMicros } from "../../src/model/Timestamp.ts"
import { Accounts, ApiKeys, actingAs, anAccount } from "../../src/testing/index.ts"
import { serviceEngines } from "../support/ServiceEngines.ts"

/** The author of changes by the command line. */
const operator = { kind: "cli", id: null, name: null } as const

const never = ApiKeyId.make("00000000-0000-4000-8000-00000000dead")

for (const engine of serviceEngines) {
  describe.skipIf(engine.absent)(`access on ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("accounts are listed in the order of their creation, with trimmed names", () =>
        Effect.gen(function* () {
          const accounts = yield* Accounts
          const first = yield* accounts.create("  First  ")
          const second = yield* accounts.create("Second")
          const listed = (yield* accounts.list).filter(({ id }) => id === first.id || id === second.id)
          assert.sameMembers(
            listed.map(({ name }) => name),
            ["First", "Second"]
          )
          const places = listed.map(({ createdAt, id }) => `${createdAt} ${id}`)
          assert.deepStrictEqual(places, [...places].sort())
          assert.deepStrictEqual(yield* accounts.nameOf(first.id), Option.some("First"))
          assert.deepStrictEqual(yield* accounts.nameOf(AccountId.make(nilUuid)), Option.none())
        })
      )

      it.effect("an account needs a name", () =>
        Effect.gen(function* () {
          const refused = yield* Effect.flip((yield* Accounts).create("   "))
          assert.strictEqual(refused.message, "name: must have 1 to 200 characters")
          for (const name of ["two\nlines", "\u001b[31mred", "not \uFFFD UTF-8"]) {
            const odd = yield* Effect.flip((yield* Accounts).create(name))
            assert.strictEqual(odd.message, "name: must be one line of valid text")
          }
          assert.strictEqual((yield* (yield* Accounts).create("😀".repeat(200))).name.length, 400)
        })
      )

      it.effect("a key gives access to its account with the granted scopes, until it is revoked", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { accountId } = yield* anAccount()
          const created = yield* keys.create(accountId, { name: " Shop ", scopes: ["pim:read"], expiresAt: null })
          const token = Redacted.value(created.token)
          const credential = Option.getOrThrow(yield* keys.authenticate(token))
          assert.deepInclude(credential, { accountId, keyId: created.id, scopes: ["pim:read"] })

          const listed = (yield* keys.list(accountId)).find(({ id }) => id === created.id)
          assert.deepInclude(listed, { name: "Shop", lastFour: token.slice(-4), scopes: ["pim:read"], revokedAt: null })
          assert.notInclude(JSON.stringify(listed), token)

          yield* keys.revoke(accountId, created.id)
          assert.isTrue(Option.isNone(yield* keys.authenticate(token)))
          const first = (yield* keys.list(accountId)).find(({ id }) => id === created.id)?.revokedAt
          yield* keys.revoke(accountId, created.id)
          assert.strictEqual((yield* keys.list(accountId)).find(({ id }) => id === created.id)?.revokedAt, first)
        })
      )

      it.effect("a key has its author, and the author of its first revocation", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { accountId } = yield* anAccount()
          const key = { scopes: ["pim:read"], expiresAt: null }
          const first = yield* keys.create(accountId, { ...key, name: "First" })
          const byFirst = actingAs({ _tag: "Key", accountId, keyId: first.id })
          const id = ApiKeyId.make(crypto.randomUUID())
          const second = yield* byFirst(keys.createOnce(accountId, id, { ...key, name: "Second" }))
          const authorsOf = Effect.map(keys.list(accountId), (list) =>
            [first, second].map(({ id }) => {
              const found = list.find((each) => each.id === id)
              return [found?.createdBy, found?.revokedBy]
            })
          )
          const firstKey = { kind: "key", id: first.id, name: "First" } as const
          assert.deepStrictEqual(yield* authorsOf, [
            [operator, null],
            [firstKey, null]
          ])
          yield* byFirst(keys.revoke(accountId, second.id))
          for (const { id } of [first, second]) yield* keys.revoke(accountId, id)
          assert.deepStrictEqual(yield* authorsOf, [
            [operator, operator],
            [firstKey, firstKey]
          ])
        })
      )

      it.scoped(
        "a repeated creation makes one key, and shows its token only for a short time and in the same process",
        () =>
          Effect.gen(function* () {
            const keys = yield* ApiKeys
            const { accountId } = yield* anAccount()
            const stranger = yield* anAccount()
            const id = ApiKeyId.make(crypto.randomUUID())
            const asked = { name: "Twice", scopes: ["pim:read"], expiresAt: null }
            const once = keys.createOnce(accountId, id, asked)
            // The first request is interrupted, as browsers do on a second click.
            const first = yield* Effect.fork(once)
            const second = yield* Effect.fork(once)
            yield* Effect.yieldNow()
            yield* Fiber.interrupt(first)
            const made = yield* Fiber.join(second)
            assert.strictEqual(Redacted.value((yield* once).token), Redacted.value(made.token))
            assert.isTrue(Option.isSome(yield* keys.authenticate(Redacted.value(made.token))))
            const elsewhere = Context.get(yield* Layer.build(Layer.fresh(ApiKeys.layer)), ApiKeys)
            assert.strictEqual((yield* Effect.flip(elsewhere.createOnce(accountId, id, asked)))._tag, "AlreadyCreated")
            const other = keys.createOnce(accountId, id, { ...asked, name: "Other" })
            assert.strictEqual((yield* Effect.flip(other))._tag, "AlreadyCreated")
            assert.lengthOf(yield* keys.list(accountId), 2)
            // An invalid request is not remembered, and the same id in another account creates another key.
            const blank = keys.createOnce(stranger.accountId, id, { ...asked, name: " " })
            assert.strictEqual((yield* Effect.flip(blank))._tag, "ValidationFailed")
            const theirs = yield* keys.createOnce(stranger.accountId, id, asked)
            assert.notStrictEqual(Redacted.value(theirs.token), Redacted.value(made.token))
          })
      )

      it.effect("a token that was never created gives no access", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { accountId, token } = yield* anAccount()
          const revoked = yield* keys.create(accountId, { name: "x", scopes: ["pim:read"], expiresAt: null })
          yield* keys.revoke(accountId, revoked.id)
          for (const wrong of [
            "",
            "pk_live_",
            token.slice(0, -1),
            `${token}x`,
            token.toUpperCase(),
            Redacted.value(revoked.token)
          ])
            assert.isTrue(Option.isNone(yield* keys.authenticate(wrong)), wrong)
        })
      )

      it.effect("an expired key gives no access", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const access = yield* AccessRepo
          const { accountId } = yield* anAccount()
          const past = plusMicros(fromMillis(Date.now()), -1_000_000)
          const refused = yield* Effect.flip(
            keys.create(accountId, { name: "x", scopes: ["pim:read"], expiresAt: past })
          )
          assert.strictEqual(refused.message, "expires: must not be in the past")
          const id = ApiKeyId.make(crypto.randomUUID())
          const hash = "ab".repeat(32)
          yield* access.createKey(accountId, {
            id,
            hash,
            name: "x",
            lastFour: "abcd",
            scopes: ["pim:read"],
            expiresAt: past,
            createdBy: operator
          })
          assert.isTrue(!(yield* access.findCredentials([hash])).has(hash))
        })
      )

      it.effect("scopes and expiries that cannot be granted are refused with the reason", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { accountId } = yield* anAccount()
          const create = (scopes: ReadonlyArray<string>, name = "x") =>
            Effect.map(Effect.flip(keys.create(accountId, { name, scopes, expiresAt: null })), ({ message }) => message)
          assert.strictEqual(
            yield* create(["pim:read", "pim:delete"]),
            "scopes: pim:delete cannot be granted to any key; choose from pim:read, pim:write"
          )
          assert.strictEqual(yield* create(["read"]), "scopes: choose from pim:read, pim:write")
          assert.strictEqual(yield* create([]), "scopes: choose from pim:read, pim:write")
          assert.strictEqual(yield* create(["pim:read"], "  "), "name: must have 1 to 200 characters")
        })
      )

      it.effect("a key of another account cannot be revoked, and its id is treated as unknown", () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const ours = yield* anAccount()
          const theirs = yield* anAccount()
          const [key] = yield* keys.list(theirs.accountId)
          const foreign = yield* Effect.flip(keys.revoke(ours.accountId, key?.id ?? never))
          const absent = yield* Effect.flip(keys.revoke(ours.accountId, never))
          assert.deepStrictEqual(foreign, absent)
          assert.isTrue(Option.isSome(yield* keys.authenticate(theirs.token)))
        })
      )

      it.effect("the use of a key is recorded once a minute", () =>
        Effect.gen(function* () {
          const access = yield* AccessRepo
          const keys = yield* ApiKeys
          const { accountId } = yield* anAccount()
          const id = ApiKeyId.make(crypto.randomUUID())
          const hash = "cd".repeat(31) + id.slice(0, 2)
          yield* access.createKey(accountId, {
            id,
            hash,
            name: "x",
            lastFour: "abcd",
            scopes: ["pim:read"],
            expiresAt: null,
            createdBy: operator
          })
          assert.isTrue((yield* access.findCredentials([hash])).get(hash)?.useUnrecorded)
          yield* access.recordUse(accountId, id)
          const used = (yield* keys.list(accountId)).find((key) => key.id === id)?.lastUsedAt
          assert.isString(used)
          assert.isFalse((yield* access.findCredentials([hash])).get(hash)?.useUnrecorded)
          yield* access.recordUse(accountId, id)
          assert.strictEqual((yield* keys.list(accountId)).find((key) => key.id === id)?.lastUsedAt, used)
        })
      )
    })
  })
}
