/**
 * A process that delivers webhooks until it is killed. WEBHOOKS_DATABASE_URL is the database, WEBHOOKS_HOST the
 * receiver that may be private, WEBHOOKS_KEY the SECRET_KEY. WEBHOOKS_PLANTED plants a fault: the position is saved
 * before the deliveries.
 */
import { Config, Context, Effect, Layer, Option, Redacted, Schedule } from "effect"
import * as Database from "../../src/database/Database.ts"
import { LeasesRepo } from "../../src/database/LeasesRepo.ts"
import { ChangeFeed } from "../../src/feed/ChangeFeed.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { PrivateReceivers } from "../../src/webhooks/Addresses.ts"
import type { ClaimedWebhook } from "../../src/webhooks/Webhook.ts"
import { WebhooksRepo } from "../../src/webhooks/WebhooksRepo.ts"
import { WebhookWorker } from "../../src/webhooks/WebhookWorker.ts"
import { endWithParent } from "./EndWithParent.ts"

const isPlanted = process.env.WEBHOOKS_PLANTED === "yes"

/** The planted fault: changes count as handled when they are read, before they are delivered. */
const Planted = Layer.effectContext(
  Effect.gen(function* () {
    const feed = yield* ChangeFeed
    const repo = yield* WebhooksRepo
    const claimed = new Map<string, ClaimedWebhook>()
    const early: typeof feed.read = (accountId, after, limit) =>
      Effect.tap(feed.read(accountId, after, limit), ({ changes }) => {
        const webhook = claimed.get(accountId)
        const position = changes.at(-1)?.seq
        return webhook === undefined || position === undefined
          ? Effect.void
          : repo.save(
              webhook,
              {
                position,
                accepted: [],
                failed: [],
                setAside: [],
                state: "active",
                failures: 0,
                problem: null,
                isAccepted: false,
                isRepaired: false
              },
              60
            )
      })
    const claim: typeof repo.claim = (limit, leaseSeconds, begin = () => Effect.void) =>
      repo.claim(limit, leaseSeconds, (webhook) => {
        claimed.set(webhook.accountId, webhook)
        return begin(webhook)
      })
    return Context.make(ChangeFeed, { ...feed, read: early }).pipe(Context.add(WebhooksRepo, { ...repo, claim }))
  })
)

const Settings = Layer.unwrapEffect(
  Effect.gen(function* () {
    const url = yield* Config.string("WEBHOOKS_DATABASE_URL")
    return Layer.mergeAll(
      Database.layer({ url: Option.some(Redacted.make(url)), dataDirectory: "", maxConnections: 4 }),
      Layer.succeed(PrivateReceivers, [yield* Config.string("WEBHOOKS_HOST")]),
      Layer.succeed(SecretKeySource, {
        _tag: "Setting",
        key: Redacted.make(yield* Config.string("WEBHOOKS_KEY"))
      })
    )
  })
)

endWithParent()

Effect.runFork(
  Effect.gen(function* () {
    const { endOfGone } = yield* LeasesRepo
    const { work } = yield* WebhookWorker
    yield* Effect.fork(Effect.repeat(endOfGone, Schedule.spaced("100 millis")))
    process.stdout.write("delivering\n")
    return yield* work
  }).pipe(
    Effect.provide(
      Layer.fresh(WebhookWorker.layer).pipe(
        Layer.provide(isPlanted ? Planted : Layer.empty),
        Layer.provideMerge(Services),
        Layer.provideMerge(RepositoriesOnDatabase),
        Layer.provide(Settings)
      )
    ),
    Effect.tapErrorCause(Effect.logError),
    Effect.onExit(() => Effect.sync((): void => process.exit(1)))
  )
)
