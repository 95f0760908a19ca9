import { createHash, randomBytes } from "node:crypto"
import { Clock, Context, Data, Effect, Either, Layer, Option, Redacted } from "effect"
import { ChangeType } from "../drafts/FeedChanges.ts"
import { ChangeFeed } from "../feed/ChangeFeed.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, WebhookId } from "../model/Ids.ts"
import { fromMillis, fromRfc3339 } from "../model/Timestamp.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { SecretBox } from "../stores/SecretBox.ts"
import { makeEncryptAgain, type SavedSecret } from "../stores/SecretRotation.ts"
import { makeReceivers } from "./Addresses.ts"
import { makePrepare, messageOf } from "./Delivery.ts"
import { maxWebhooks, overlapSeconds } from "./Webhook.ts"
import { WebhooksRepo } from "./WebhooksRepo.ts"

/** Changes that were set aside, of one webhook in a list. */
const maxListed = 100

/** A webhook with this id exists already. Its secret was shown when it was created. */
class WebhookExists extends Data.TaggedError("WebhookExists") {}

/** The secret was rotated after the caller read its digest. */
class SecretRotated extends Data.TaggedError("SecretRotated") {}

const isTopic = (topic: string): topic is ChangeType => ChangeType.literals.some((type) => type === topic)

const checkTopics = (requested: ReadonlyArray<string>) => {
  const topics = [...new Set(requested.map((topic) => topic.trim()))].filter((topic) => topic !== "")
  const unknown = topics.filter((topic) => !isTopic(topic))
  return unknown.length === 0
    ? Effect.succeed(topics.filter(isTopic))
    : ValidationFailed.at(
        "topics",
        `${unknown.join(", ")}: choose from ${ChangeType.literals.join(", ")}, or none for all`
      )
}

/** 32 bytes, as Standard Webhooks writes them. */
const newSecret = Effect.sync(() => Redacted.make(`whsec_${randomBytes(32).toString("base64")}`))

/** Identifies an encrypted secret without disclosing it. */
const digestOf = (sealed: Uint8Array) => createHash("sha256").update(sealed).digest("base64url")

/** The encrypted secrets of an account's webhooks. */
const savedSecretsOf = (repo: WebhooksRepo["Type"], accountId: AccountId) =>
  Effect.gen(function* () {
    const saved: Array<SavedSecret> = []
    for (const { id } of yield* repo.list(accountId))
      for (const { current, previous } of Option.toArray(yield* repo.secrets(accountId, id)))
        for (const sealed of previous === null ? [current] : [current, previous])
          saved.push({
            name: id,
            owner: { accountId, webhookId: id },
            sealed,
            replace: (again) => repo.replaceSecret(accountId, id, sealed, again)
          })
    return saved
  })

/** The position before the place that `from` names. */
const makePositionOf = (feed: ChangeFeed["Type"], repo: WebhooksRepo["Type"]) => (accountId: AccountId, from: string) =>
  Effect.gen(function* () {
    const { floor, last } = yield* feed.read(accountId, 0, 0)
    if (from === "oldest") return floor
    if (from === "latest") return last
    if (/^\d{1,15}$/.test(from)) {
      const position = Number(from) - 1
      return position >= floor && position <= last
        ? position
        : yield* ValidationFailed.at("from", `must be ${floor + 1} to ${last + 1}, the changes that the feed has`)
    }
    const time = fromRfc3339(from)
    return Either.isRight(time)
      ? yield* repo.positionAt(accountId, time.right)
      : yield* ValidationFailed.at(
          "from",
          "must be oldest, latest, the number of a change, or a time such as 2026-01-31T09:30:00Z"
        )
  })

const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const encryptAgain = yield* makeEncryptAgain
  const prepare = yield* makePrepare
  const receivers = yield* makeReceivers
  const repo = yield* WebhooksRepo
  const positionOf = makePositionOf(yield* ChangeFeed, repo)

  const get = (id: WebhookId) =>
    withAccountId((accountId) =>
      Effect.flatMap(
        repo.find(accountId, id),
        Option.match({ onNone: () => new NotFound(), onSome: (found) => Effect.succeed(found) })
      )
    )

  const sealedOf = (accountId: AccountId, id: WebhookId) =>
    Effect.mapError(Effect.flatten(repo.secrets(accountId, id)), () => new NotFound())

  const seal = (accountId: AccountId, webhookId: WebhookId) =>
    Effect.flatMap(newSecret, (secret) =>
      Effect.map(box.seal(secret, { accountId, webhookId }), (sealed) => ({ secret, sealed }))
    )

  return {
    /**
     * Creates a webhook that receives changes from now on. `topics`: types of changes; none: all. ValidationFailed: the address
     * cannot receive webhooks, a topic is unknown, the account has too many webhooks, or the secret cannot be saved (SECRET_KEY).
     * WebhookExists: a webhook has this id already.
     */
    create: Effect.fn("Webhooks.create")(function* (
      id: WebhookId,
      request: { readonly url: string; readonly topics: ReadonlyArray<string> }
    ) {
      const { accountId } = yield* CurrentActor
      const url = yield* receivers.usable(request.url)
      const topics = yield* checkTopics(request.topics)
      const { sealed, secret } = yield* seal(accountId, id)
      const outcome = yield* repo.insert(accountId, { id, url, topics, secret: sealed }, maxWebhooks)
      if (outcome === "exists") return yield* new WebhookExists()
      if (outcome === "full") return yield* ValidationFailed.at("", `An account has at most ${maxWebhooks} webhooks`)
      return { webhook: yield* Effect.orDie(get(id)), secret }
    }),
    get,
    /** Oldest first. */
    list: withAccountId(repo.list),
    /** The first 100 changes that were set aside: parked ones, then those that wait. */
    setAside: (id: WebhookId) =>
      withAccountId((accountId) => Effect.zipRight(get(id), repo.setAside(accountId, id, maxListed))),
    /** Sends a message of the type `webhook.test` now, once. */
    test: Effect.fn("Webhooks.test")(function* (id: WebhookId) {
      const { accountId } = yield* CurrentActor
      const { url } = yield* get(id)
      const sealed = yield* sealedOf(accountId, id)
      const number = yield* mintId(WebhookId)
      const began = yield* Clock.currentTimeMillis
      const problem = yield* prepare(url, [sealed.current], { accountId, webhookId: id }).pipe(
        Effect.flatMap((deliver) =>
          deliver(messageOf(`test_${number.replaceAll("-", "")}`, "webhook.test", fromMillis(began), {}))
        ),
        Effect.map((failure) => failure?.problem ?? null),
        Effect.scoped
      )
      return { url, problem, millis: (yield* Clock.currentTimeMillis) - began }
    }),
    /**
     * Makes a webhook active. `from` undefined: it continues at its position, and parked changes are tried again. Otherwise it
     * delivers the changes of the feed from this place on: `oldest`, `latest` (only new ones), the number of a change, or an RFC
     * 3339 time. ValidationFailed: the feed does not have this place.
     */
    replay: Effect.fn("Webhooks.replay")(function* (id: WebhookId, from: string | undefined) {
      const { accountId } = yield* CurrentActor
      const position = from === undefined ? null : yield* positionOf(accountId, from.trim())
      if (!(yield* repo.replay(accountId, id, position))) return yield* new NotFound()
      return yield* get(id)
    }),
    /** Identifies the current secret. Another encryption of the same secret has another digest. */
    secretDigest: (id: WebhookId) =>
      withAccountId((accountId) => Effect.map(sealedOf(accountId, id), ({ current }) => digestOf(current))),
    /**
     * Replaces the secret. For 24 hours deliveries are signed with the previous secret too, unless SECRET_KEY does not decrypt it: such a
     * secret signs nothing, and `secret rotate` would report it. `digest`: of the secret to replace.
     * SecretRotated: it is not the current one any more, so a form that is sent twice does not end the secret that receivers use.
     */
    rotate: Effect.fn("Webhooks.rotate")(function* (id: WebhookId, digest?: string) {
      const { accountId } = yield* CurrentActor
      const { current } = yield* sealedOf(accountId, id)
      if (digest !== undefined && digest !== digestOf(current)) return yield* new SecretRotated()
      const { sealed, secret } = yield* seal(accountId, id)
      const from = digest === undefined ? null : current
      const isReadable = Option.isSome(yield* Effect.option(box.open(current, { accountId, webhookId: id })))
      if (!(yield* repo.rotate(accountId, id, sealed, isReadable ? overlapSeconds : 0, from)))
        return yield* Effect.zipRight(get(id), new SecretRotated())
      return { webhook: yield* get(id), secret }
    }),
    delete: (id: WebhookId) =>
      withAccountId((accountId) =>
        Effect.flatMap(repo.delete(accountId, id), (isDeleted) => (isDeleted ? Effect.void : new NotFound()))
      ),
    /** Encrypts all secrets of an account with the current key. ValidationFailed: SECRET_KEY is not set. */
    rotateSecrets: (accountId: AccountId) => encryptAgain(savedSecretsOf(repo, accountId)),
    /** Deletes changes that were parked more than 30 days ago. Returns their number. */
    forget: repo.forget
  }
})

/** Messages to receivers of an account's changes. `WebhookWorker` delivers them. */
export class Webhooks extends Context.Tag("catalog/Webhooks")<Webhooks, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Webhooks, make)
}
