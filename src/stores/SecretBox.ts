import { createCipheriv, createDecipheriv, hash, randomBytes, randomUUID } from "node:crypto"
import { link, readFile, rm, writeFile } from "node:fs/promises"
import { Context, Data, Effect, Layer, Option, Predicate, Redacted } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import type { AccountId, StoreId, UserId, WebhookId } from "../model/Ids.ts"

/** The source of the key that encrypts secrets. */
export type SecretKey =
  /** There is no key, so secrets cannot be saved. */
  | { readonly _tag: "None" }
  /** The key is a setting: 32 bytes in base64 or hexadecimal. `previous` still decrypts secrets, but does not encrypt new ones. */
  | { readonly _tag: "Setting"; readonly key: Redacted.Redacted; readonly previous?: Redacted.Redacted }
  /** The key is in a file beside the embedded database. The file is created with the first secret. */
  | { readonly _tag: "File"; readonly path: string }

/** The key source of this process. */
export class SecretKeySource extends Context.Reference<SecretKeySource>()("catalog/SecretKeySource", {
  defaultValue: (): SecretKey => ({ _tag: "None" })
}) {}

/** The owner of a secret: a store, a webhook or a user. A secret cannot be decrypted for another owner. */
export type SecretOwner = { readonly accountId: AccountId } & (
  | { readonly storeId: StoreId }
  | { readonly webhookId: WebhookId }
  | { readonly userId: UserId }
)

/** A saved secret cannot be decrypted. `message` gives the reason and what to do. */
export class SecretUnreadable extends Data.TaggedError("SecretUnreadable")<{ readonly message: string }> {}

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
/** The version of the format, which is the first byte of an encrypted secret. */
const version = 1

/** Decodes a key in base64 or hexadecimal. None: the text is not a key. */
export const secretKeyBytes = (text: string): Option.Option<Buffer> =>
  /^[0-9a-fA-F]{64}$/.test(text)
    ? Option.some(Buffer.from(text, "hex"))
    : Option.filter(
        Option.liftPredicate(Buffer.from(text, "base64"), () => /^[A-Za-z0-9+/]{43}=$/.test(text)),
        ({ length }) => length === keyBytes
      )

/** Identifies a key in base64 or hexadecimal without revealing it. */
export const secretKeyDigest = (text: string): Option.Option<string> => Option.map(secretKeyBytes(text), digestOf)

const digestOf = (key: Buffer) => hash("sha256", key, "hex")

const boundTo = (owner: SecretOwner) =>
  Buffer.from(
    "storeId" in owner
      ? `store-credential ${owner.accountId} ${owner.storeId}`
      : "webhookId" in owner
        ? `webhook-secret ${owner.accountId} ${owner.webhookId}`
        : `second-factor ${owner.accountId} ${owner.userId}`
  )

/** The secret of an owner, and how to replace it if its key is lost. */
const wordsOf = (owner: SecretOwner) =>
  "storeId" in owner
    ? { name: "The store's access token", replace: "link the store again with its token" }
    : "webhookId" in owner
      ? { name: "The webhook's secret", replace: "rotate it with `catalog webhook rotate`" }
      : { name: "The secret of a user's second factor", replace: "reset the second factor on the page Team" }

const encrypt = (key: Buffer, secret: string, owner: SecretOwner): Buffer => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(owner))
  const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()])
  return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), text])
}

const decrypt = (key: Buffer, sealed: Buffer, owner: SecretOwner): string => {
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const tag = sealed.subarray(1 + nonceBytes, 1 + nonceBytes + tagBytes)
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
    .setAAD(boundTo(owner))
    .setAuthTag(tag)
  return decipher.update(sealed.subarray(1 + nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8")
}

const decryptedWith = (key: Buffer, sealed: Buffer, owner: SecretOwner): Option.Option<string> =>
  Option.liftThrowable(decrypt)(key, sealed, owner)

/** Runs a file operation. Fails with Node's error code. */
const onFiles = <A>(work: () => Promise<A>): Effect.Effect<A, string> =>
  Effect.tryPromise({
    try: work,
    catch: (cause) => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "unknown error")
  })

/** Reads the key from a file. None: the file does not exist. Fails with a message. */
const readKey = (path: string): Effect.Effect<Option.Option<Buffer>, string> =>
  Effect.gen(function* () {
    const text = yield* onFiles(() => readFile(path, "utf8")).pipe(
      Effect.map((content): string | null => content),
      Effect.catchIf(
        (code) => code === "ENOENT",
        () => Effect.succeed(null)
      ),
      Effect.mapError((code) => `${path} cannot be read (${code})`)
    )
    if (text === null) return Option.none()
    const key = secretKeyBytes(text.trim())
    return Option.isSome(key) ? key : yield* Effect.fail(`${path} does not contain a key of 32 bytes in base64`)
  })

/** Creates the key file atomically. If another process creates it first, that file stays. Fails with a message. */
const makeKey = (path: string): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const draft = `${path}.${randomUUID()}`
    const text = `${randomBytes(keyBytes).toString("base64")}\n`
    yield* onFiles(() => writeFile(draft, text, { flag: "wx", mode: 0o600 }))
    yield* onFiles(() => link(draft, path)).pipe(
      Effect.catchIf(
        (code) => code === "EEXIST",
        () => Effect.void
      ),
      Effect.ensuring(Effect.promise(() => rm(draft, { force: true })))
    )
  }).pipe(Effect.mapError((code) => `${path} cannot be written (${code})`))

const make = Effect.gen(function* () {
  const source = yield* SecretKeySource
  const name = source._tag === "File" ? source.path : "SECRET_KEY"
  const previous = Option.flatMap(Option.fromNullable(source._tag === "Setting" ? source.previous : undefined), (key) =>
    secretKeyBytes(Redacted.value(key))
  )

  /** The existing key. None: there is no setting, or the file was not created yet. */
  const existingKey: Effect.Effect<Option.Option<Buffer>, string> = source._tag === "File"
    ? readKey(source.path)
    : Effect.succeed(source._tag === "None" ? Option.none() : secretKeyBytes(Redacted.value(source.key)))

  const getKey = Effect.gen(function* () {
    const found = yield* existingKey
    if (Option.isSome(found)) return found.value
    if (source._tag !== "File") return yield* Effect.fail(null)
    yield* makeKey(source.path)
    const key = yield* readKey(source.path)
    return Option.isSome(key) ? key.value : yield* Effect.fail(`${source.path} has disappeared`)
  }).pipe(
    Effect.mapError((why) =>
      why === null
        ? ValidationFailed.at(
            "SECRET_KEY",
            "is not set, so the tokens of stores and the secrets of webhooks and of second factors cannot be saved: set it to 32 bytes in base64 (`openssl rand -base64 32`), the same for every process on this database"
          )
        : ValidationFailed.at("DATA_DIR", why)
    )
  )

  const unreadable = (owner: SecretOwner, why: string) => {
    const words = wordsOf(owner)
    return new SecretUnreadable({
      message: `${words.name} cannot be decrypted: ${why}. Restore the key in ${name}, or ${words.replace}.`
    })
  }

  return {
    /** Creates the key if there is none. ValidationFailed: names the setting that is missing or wrong. */
    ready: Effect.asVoid(getKey),
    /** Encrypts a secret. ValidationFailed: as for `ready`. */
    seal: (secret: Redacted.Redacted, owner: SecretOwner) =>
      Effect.map(getKey, (key) => encrypt(key, Redacted.value(secret), owner)),
    /** Decrypts a secret. SecretUnreadable: the key is missing or not the right one, or the secret was changed or has another owner. */
    open: (sealed: Uint8Array, owner: SecretOwner) =>
      Effect.gen(function* () {
        const found = yield* Effect.mapError(existingKey, (why) => unreadable(owner, why))
        if (Option.isNone(found))
          return yield* unreadable(owner, source._tag === "File" ? `there is no ${name}` : `${name} is not set`)
        const bytes = Buffer.from(sealed)
        if (bytes[0] !== version) return yield* unreadable(owner, "it was encrypted by a newer version of this service")
        const opened = decryptedWith(found.value, bytes, owner)
        const text = Option.orElse(opened, () => Option.flatMap(previous, (old) => decryptedWith(old, bytes, owner)))
        return Option.isSome(text)
          ? Redacted.make(text.value)
          : yield* unreadable(owner, `${name} is not the key that it was encrypted with`)
      }),
    /** Whether the current key decrypts a secret, and not only the previous one. */
    isCurrent: (sealed: Uint8Array, owner: SecretOwner) =>
      Effect.map(Effect.option(existingKey), (key) =>
        Option.isSome(Option.flatMap(Option.flatten(key), (found) => decryptedWith(found, Buffer.from(sealed), owner)))
      ),
    /** Whether the current key has this digest (see `secretKeyDigest`). */
    hasDigest: (digest: string) =>
      Effect.map(Effect.option(existingKey), (key) =>
        Option.exists(Option.flatten(key), (bytes) => digestOf(bytes) === digest)
      ),
    /** ValidationFailed: the key is not a setting, so there is no other key to change to. */
    mustBeSetting:
      source._tag === "Setting"
        ? Effect.void
        : ValidationFailed.at(
            "SECRET_KEY",
            source._tag === "File"
              ? `is not set, so the key is in ${name}: to change it, set SECRET_KEY to a new key and SECRET_KEY_PREVIOUS to the content of that file`
              : "is not set: set it to the new key, and SECRET_KEY_PREVIOUS to the key that encrypted the saved secrets"
          )
  }
})

/** Encrypts the tokens of stores and the secrets of webhooks and of second factors (AES-256-GCM). Each secret is bound to its owner. */
export class SecretBox extends Context.Tag("catalog/SecretBox")<SecretBox, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(SecretBox, make)
}
