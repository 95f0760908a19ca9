import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { afterAll } from "vitest"
import { AccountId, StoreId } from "../../src/model/Ids.ts"
import { SecretBox, type SecretKey, SecretKeySource } from "../../src/stores/SecretBox.ts"

const folder = mkdtempSync(join(tmpdir(), "catalog-secrets-"))
afterAll(() => rmSync(folder, { recursive: true }))

const on = (source: SecretKey) =>
  SecretBox.layer.pipe(Layer.provide(Layer.succeed(SecretKeySource, source)), Layer.fresh)

const setting = (key: string) => on({ _tag: "Setting", key: Redacted.make(key) })
const key = Buffer.alloc(32, 7)
const box = setting(key.toString("base64"))

const owner = { accountId: AccountId.make(crypto.randomUUID()), storeId: StoreId.make(crypto.randomUUID()) }
const secret = "shpat_0123456789abcdef0123456789abcdef"

const seal = Effect.flatMap(SecretBox, (box) => box.seal(Redacted.make(secret), owner))
const open = (sealed: Uint8Array, of = owner) =>
  Effect.flatMap(SecretBox, (box) => Effect.map(box.open(sealed, of), Redacted.value))
const whyNot = (sealed: Uint8Array, of = owner) => Effect.map(Effect.flip(open(sealed, of)), ({ message }) => message)

const unreadable = (why: string, name = "SECRET_KEY") =>
  `The store's access token cannot be decrypted: ${why}. Restore the key in ${name}, or link the store again with its token.`
const otherKey = unreadable("SECRET_KEY is not the key that it was encrypted with")

describe("a secret", () => {
  it.effect("is decrypted unchanged, and the encrypted bytes contain no part of it", () =>
    Effect.gen(function* () {
      const sealed = Buffer.from(yield* seal)
      assert.strictEqual(yield* open(sealed), secret)
      for (const part of [secret, secret.slice(6, 14), Buffer.from(secret).toString("base64").slice(0, 12)])
        assert.isFalse(sealed.includes(part))
    }).pipe(Effect.provide(box))
  )

  it.effect("is encrypted differently each time", () =>
    Effect.gen(function* () {
      const kept = yield* Effect.replicateEffect(seal, 200)
      assert.strictEqual(new Set(kept.map((sealed) => Buffer.from(sealed).toString("hex").slice(2, 26))).size, 200)
    }).pipe(Effect.provide(box))
  )

  it.effect("is decrypted only for its own account and store", () =>
    Effect.gen(function* () {
      const sealed = yield* seal
      const other = crypto.randomUUID()
      assert.strictEqual(yield* whyNot(sealed, { ...owner, accountId: AccountId.make(other) }), otherKey)
      assert.strictEqual(yield* whyNot(sealed, { ...owner, storeId: StoreId.make(other) }), otherKey)
    }).pipe(Effect.provide(box))
  )

  it.effect("is not decrypted if a byte was changed or the end is missing", () =>
    Effect.gen(function* () {
      const sealed = Buffer.from(yield* seal)
      assert.isAbove(sealed.length, 60)
      for (let index = 1; index < sealed.length; index++) {
        const changed = Buffer.from(sealed)
        changed[index] = (changed[index] ?? 0) ^ 1
        assert.strictEqual(yield* whyNot(changed), otherKey)
      }
      for (const length of [1, 5, 20, sealed.length - 1])
        assert.strictEqual(yield* whyNot(sealed.subarray(0, length)), otherKey)
      for (const odd of [new Uint8Array(0), Buffer.concat([Buffer.of(2), sealed.subarray(1)])])
        assert.strictEqual(yield* whyNot(odd), unreadable("it was encrypted by a newer version of this service"))
    }).pipe(Effect.provide(box))
  )

  it.effect("is decrypted only with its own key, in base64 or hexadecimal", () =>
    Effect.gen(function* () {
      const sealed = yield* Effect.provide(seal, box)
      assert.strictEqual(yield* Effect.provide(open(sealed), setting(key.toString("hex").toUpperCase())), secret)
      assert.strictEqual(yield* Effect.provide(whyNot(sealed), setting("0".repeat(64))), otherKey)
      assert.strictEqual(
        yield* Effect.provide(whyNot(sealed), on({ _tag: "None" })),
        unreadable("SECRET_KEY is not set")
      )
    })
  )

  it.effect("cannot be encrypted without a key, and the message names the setting", () =>
    Effect.gen(function* () {
      const message =
        "SECRET_KEY: is not set, so the tokens of stores and the secrets of webhooks and of second factors cannot be saved: set it to 32 bytes in base64 (`openssl rand -base64 32`), the same for every process on this database"
      const { ready } = yield* SecretBox
      assert.strictEqual((yield* Effect.flip(ready)).message, message)
      assert.strictEqual((yield* Effect.flip(seal)).message, message)
    }).pipe(Effect.provide(on({ _tag: "None" })))
  )
})

describe("a key in a file", () => {
  it.effect("is created once, when it is first needed, readable only by its owner", () =>
    Effect.gen(function* () {
      const place = mkdtempSync(join(folder, "data-"))
      const path = join(place, "secret.key")
      const here = on({ _tag: "File", path })
      yield* Effect.provide(open(new Uint8Array(1)), here).pipe(Effect.flip)
      assert.isFalse(existsSync(path))
      // Several processes need it at the same time.
      const kept = yield* Effect.all(
        Array.from({ length: 20 }, () => Effect.provide(seal, here)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(statSync(path).mode & 0o777, 0o600)
      assert.match(readFileSync(path, "utf8"), /^[A-Za-z0-9+/]{43}=\n$/)
      assert.deepStrictEqual(readdirSync(place), ["secret.key"])
      for (const sealed of kept) assert.strictEqual(yield* Effect.provide(open(sealed), here), secret)

      rmSync(path)
      assert.strictEqual(
        yield* Effect.provide(whyNot(kept[0] ?? assert.fail()), here),
        unreadable(`there is no ${path}`, path)
      )
      writeFileSync(path, "nonsense\n")
      assert.strictEqual(
        yield* Effect.provide(whyNot(kept[0] ?? assert.fail()), here),
        unreadable(`${path} does not contain a key of 32 bytes in base64`, path)
      )
      // An existing file is never overwritten.
      assert.strictEqual(
        (yield* Effect.provide(Effect.flip(seal), here)).message,
        `DATA_DIR: ${path} does not contain a key of 32 bytes in base64`
      )
      assert.strictEqual(readFileSync(path, "utf8"), "nonsense\n")
    })
  )

  it.effect("is named in the message if it cannot be created", () =>
    Effect.gen(function* () {
      const path = join(folder, "nowhere", "secret.key")
      assert.strictEqual(
        (yield* Effect.provide(Effect.flip(seal), on({ _tag: "File", path }))).message,
        `DATA_DIR: ${path} cannot be written (ENOENT)`
      )
    })
  )
})
