import { Cause, Context, Effect, FiberSet, Layer, Queue } from "effect"
import { ChangeFeed } from "../feed/ChangeFeed.ts"
import type { FeedChange } from "../feed/FeedChange.ts"
import { monotonicMillis } from "../runtime/MonotonicClock.ts"
import { maxConnections } from "./Addresses.ts"
import { type Deliver, makePrepare, messageOfChange } from "./Delivery.ts"
import { type Chain, DeliveryBatch } from "./DeliveryBatch.ts"
import { type ClaimedWebhook, maxFailures } from "./Webhook.ts"
import { WebhooksRepo } from "./WebhooksRepo.ts"

/**
 * Lifetime of a lease. It is extended when an outcome is saved. A turn begins no delivery `turnMillis` after its first, and a delivery
 * ends within 15 s, so a lease expires only if its process has stalled or died, or the database takes most of a minute to read a batch.
 */
const leaseSeconds = 60
const turnMillis = 2_000
/** Webhooks that one process works on at the same time, so that slow receivers delay no others. */
const maxAtOnce = 100
/** Interval between queries for webhooks with work. */
const pollInterval = "1 second"
/** Number of changes that are read from the feed at once, in general and for a failing receiver. */
const sliceSize = 500
const failingSliceSize = 20
/** Delay after a turn failed, for example because the database could not be reached. */
const pauseSeconds = 5

/**
 * Delivers the changes of a batch: of different entities at the same time, of one entity in order. The change with the smallest number
 * is always next: when the turn ends, all changes after the first undelivered one are delivered again, so few should be delivered by then.
 */
const deliverAll = (
  batch: DeliveryBatch,
  { accountId }: ClaimedWebhook,
  deliver: Deliver,
  isLate: Effect.Effect<boolean>
) => {
  /** Chains of which no change is being delivered, with the place of their next change. */
  const idle = new Map<Chain, number>(batch.chains.map((chain) => [chain, 0]))
  const takeFirst = () => {
    let first: { readonly chain: Chain; readonly place: number; readonly change: FeedChange } | undefined
    for (const [chain, place] of idle) {
      const change = chain[place]?.change
      if (change !== undefined && (first === undefined || change.seq < first.change.seq))
        first = { chain, place, change }
    }
    if (first !== undefined) idle.delete(first.chain)
    return first
  }
  // If no chain is idle, each is being delivered by another loop, which goes on with it.
  const loop = Effect.gen(function* () {
    while (!(batch.isOver || (yield* isLate))) {
      const next = takeFirst()
      if (next === undefined) return
      const { chain, change, place } = next
      if (batch.record(chain, place, yield* deliver(messageOfChange(accountId, change)))) idle.set(chain, place + 1)
    }
  })
  return Effect.all(
    Array.from({ length: batch.isFailing ? 1 : maxConnections }, () => loop),
    { concurrency: "unbounded", discard: true }
  )
}

/** Runs the end of an interrupted turn. A failure is only logged: the lease expires then. */
const quietly = <A, E>(end: Effect.Effect<A, E>) => Effect.ignoreLogged(Effect.sandbox(end))

const makeRunTurn = Effect.gen(function* () {
  const feed = yield* ChangeFeed
  const repo = yield* WebhooksRepo
  const prepare = yield* makePrepare

  const readBatch = (webhook: ClaimedWebhook) =>
    Effect.gen(function* () {
      const limit = webhook.failures >= maxFailures ? failingSliceSize : sliceSize
      const { changes, floor } = yield* feed.read(webhook.accountId, webhook.position, limit)
      // Changes were deleted after the claim. The position must not move over them, so that the webhook is `behind`.
      if (webhook.position < floor) return undefined
      const ids = [...new Set(changes.map(({ entity }) => entity.id))]
      const waiting = webhook.hasWaiting ? yield* repo.due(webhook, sliceSize) : []
      const entitiesWithWaiting =
        webhook.hasWaiting && ids.length > 0 ? yield* repo.waitingAmong(webhook, ids) : new Set<string>()
      return changes.length + waiting.length === 0
        ? undefined
        : new DeliveryBatch(webhook, changes, waiting, entitiesWithWaiting)
    })

  /**
   * Delivers until no change is left, the receiver fails, the webhook is behind or the turn's time is over. Returns the seconds until
   * the webhook is due again.
   */
  const work = (claimed: ClaimedWebhook) =>
    Effect.gen(function* () {
      let began: number | undefined
      const isLate = Effect.map(monotonicMillis, (now) => began !== undefined && now - began >= turnMillis)
      const { accountId, id, previousSecret, secret, url } = claimed
      const sealed = [secret, ...(previousSecret === null ? [] : [previousSecret])] as const
      const deliver = yield* prepare(url, sealed, { accountId, webhookId: id })
      for (let webhook = claimed; ; ) {
        const batch = yield* readBatch(webhook)
        if (batch === undefined) return 0
        // The time begins here, so that a turn delivers something even if the host or the batch took longer than a turn.
        began ??= yield* monotonicMillis
        const save = Effect.suspend(() => {
          const { outcome } = batch
          return Effect.map(repo.save(webhook, outcome, leaseSeconds), (isSaved) => (isSaved ? outcome : undefined))
        })
        // A process that is being stopped saves what the receiver has accepted, so that only messages on their way are sent again.
        const outcome = yield* Effect.uninterruptibleMask((restore) =>
          restore(deliverAll(batch, webhook, deliver, isLate)).pipe(
            Effect.onInterrupt(() => quietly(save)),
            Effect.zipRight(save)
          )
        )
        // The webhook was deleted or replayed, or another process has claimed it.
        if (outcome === undefined) return 0
        if (batch.hasFailed || outcome.state !== "active") return batch.delaySeconds
        if (yield* isLate) return 0
        const { failures, position, problem, setAside } = outcome
        webhook = { ...webhook, failures, position, problem, hasWaiting: webhook.hasWaiting || setAside.length > 0 }
      }
    }).pipe(Effect.scoped)

  return (webhook: ClaimedWebhook): Effect.Effect<void> =>
    work(webhook).pipe(
      Effect.flatMap((delay) => repo.release(webhook, delay)),
      // A process that is being stopped releases the webhook immediately.
      Effect.onInterrupt(() => quietly(repo.release(webhook, 0))),
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.void
          : Effect.logWarning(`A turn of webhook ${webhook.id} failed`, cause).pipe(
              Effect.zipRight(repo.release(webhook, pauseSeconds)),
              Effect.catchAllCause((second) =>
                Effect.logWarning(`Webhook ${webhook.id} keeps its lease until it expires`, second)
              )
            )
      )
    )
})

const make = Effect.gen(function* () {
  const repo = yield* WebhooksRepo
  const runTurn = yield* makeRunTurn
  return {
    /** Runs turns of all webhooks with due work until no work is due. Returns the number of turns. */
    runDue: Effect.gen(function* () {
      for (let turns = 0; ; ) {
        const claimed = yield* repo.claim(maxAtOnce, leaseSeconds)
        if (claimed.length === 0) return turns
        yield* Effect.forEach(claimed, runTurn, { concurrency: "unbounded", discard: true })
        turns += claimed.length
      }
    }),
    /** Delivers until it is interrupted. */
    work: Effect.gen(function* () {
      const fork = yield* FiberSet.makeRuntime<never>()
      const ended = yield* Queue.sliding<void>(1)
      let running = 0
      const end = Effect.suspend(() => {
        running--
        return ended.offer(undefined)
      })
      const begin = (webhook: ClaimedWebhook) =>
        Effect.sync(() => {
          running++
          fork(Effect.ensuring(runTurn(webhook), end))
        })
      const look = Effect.suspend(() =>
        running < maxAtOnce ? repo.claim(maxAtOnce - running, leaseSeconds, begin) : Effect.void
      ).pipe(Effect.catchAllCause((cause) => Effect.logWarning("Looking for webhooks with work failed", cause)))
      return yield* look.pipe(Effect.zipRight(Effect.raceFirst(ended.take, Effect.sleep(pollInterval))), Effect.forever)
    }).pipe(Effect.scoped)
  }
})

/** Delivers changes to webhooks of all accounts. Any number of processes may do so at the same time. */
export class WebhookWorker extends Context.Tag("catalog/WebhookWorker")<
  WebhookWorker,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(WebhookWorker, make)
}

/** Starts the worker of a server in the background. */
export const layerWorker: Layer.Layer<never, never, WebhookWorker> = Layer.scopedDiscard(
  Effect.flatMap(WebhookWorker, ({ work }) => Effect.forkScoped(work))
)
