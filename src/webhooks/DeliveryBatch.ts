import type { FeedChange } from "../feed/FeedChange.ts"
import type { Failure, Outcome } from "./Delivery.ts"
import { type ClaimedWebhook, delayAfter, maxFailures, retrySeconds, type WaitingDelivery } from "./Webhook.ts"
import type { DeliveryOutcomes, FailedDelivery, NewSetAside } from "./WebhooksRepo.ts"

/** A change to deliver. `isNew`: it was read from the feed; otherwise it was set aside before. */
interface Item {
  readonly change: FeedChange
  readonly isNew: boolean
  readonly attempts: number
  readonly age: number
}

/** Changes of one entity in their order. A change is delivered only after the previous one was accepted. */
export type Chain = ReadonlyArray<Item>

const chainsOf = (items: ReadonlyArray<Item>): ReadonlyArray<Chain> => {
  const chains = new Map<string, Array<Item>>()
  for (const item of items) {
    const chain = chains.get(item.change.entity.id)
    if (chain === undefined) chains.set(item.change.entity.id, [item])
    else chain.push(item)
  }
  return [...chains.values()]
}

/** The next changes of a webhook, and the outcomes of their deliveries. */
export class DeliveryBatch {
  readonly chains: ReadonlyArray<Chain>
  private readonly webhook: ClaimedWebhook
  private readonly news: ReadonlyArray<FeedChange>
  private readonly end: number
  private readonly handled = new Set<number>()
  private readonly accepted: Array<number> = []
  private readonly failed: Array<FailedDelivery> = []
  private readonly setAside: Array<NewSetAside> = []
  private failures: number
  private problem: string | null
  private retryAfter = 0
  private isTried = false
  private isAccepted = false
  private isRepaired = false
  private isGone = false
  private hasFailedAgain = false

  /**
   * `changes`: changes of the feed after the webhook's position. `waiting`: changes to try again. `entitiesWithWaiting`: entities with
   * waiting changes; newer changes of these entities are set aside too. While the receiver fails, new changes are tried first.
   */
  constructor(
    webhook: ClaimedWebhook,
    changes: ReadonlyArray<FeedChange>,
    waiting: ReadonlyArray<WaitingDelivery>,
    entitiesWithWaiting: ReadonlySet<string>
  ) {
    this.webhook = webhook
    this.failures = webhook.failures
    this.problem = webhook.problem
    this.end = changes.at(-1)?.seq ?? webhook.position
    this.news = changes.filter(({ type }) => webhook.topics.length === 0 || webhook.topics.includes(type))
    const items: Array<Item> = []
    for (const change of this.news)
      if (entitiesWithWaiting.has(change.entity.id)) this.putBehind(change)
      else items.push({ change, isNew: true, attempts: 0, age: 0 })
    const again = waiting.map((each): Item => ({ ...each, isNew: false }))
    this.chains = this.isFailing && items.length > 0 ? chainsOf(items) : [...chainsOf(again), ...chainsOf(items)]
  }

  private putBehind(change: FeedChange) {
    this.handled.add(change.seq)
    this.setAside.push({ change, attempts: 0, delaySeconds: null, problem: null })
  }

  /** Whether the receiver fails, so that one delivery at a time is tried. */
  get isFailing() {
    return this.failures >= maxFailures
  }

  /** Whether the receiver fails, and a delivery of this batch was tried. Without an attempt, the webhook must not wait for the next. */
  get hasFailed() {
    return this.isFailing && this.isTried
  }

  /** Whether to stop sending: a failing receiver has failed again, or the receiver wants no more messages. */
  get isOver() {
    return this.isGone || this.hasFailedAgain
  }

  /** Records an attempt. False: later changes of its chain must wait. */
  record(chain: Chain, place: number, outcome: Outcome): boolean {
    const item = chain[place]
    if (item === undefined) return false
    this.isTried = true
    if (outcome === null) {
      this.handled.add(item.change.seq)
      if (!item.isNew) this.accepted.push(item.change.seq)
      this.isRepaired ||= this.isFailing
      this.isAccepted = true
      this.failures = 0
      this.hasFailedAgain = false
      this.problem = null
      return true
    }
    this.problem = outcome.problem
    this.retryAfter = Math.max(this.retryAfter, outcome.retryAfter)
    this.isGone ||= outcome.isGone
    if (item.isNew || this.isFailing) this.failures++
    this.hasFailedAgain = this.isFailing
    if (!outcome.isGone) this.fail(item, outcome)
    for (const { change, isNew } of outcome.isGone ? [] : chain.slice(place + 1)) if (isNew) this.putBehind(change)
    return false
  }

  private fail({ age, change, isNew, attempts }: Item, { problem, retryAfter }: Failure) {
    const delaySeconds = Math.max(delayAfter(attempts + 1), retryAfter)
    const attempt = { attempts: attempts + 1, problem }
    if (isNew) {
      this.handled.add(change.seq)
      this.setAside.push({ ...attempt, change, delaySeconds })
    } else this.failed.push({ ...attempt, seq: change.seq, delaySeconds: age >= retrySeconds ? null : delaySeconds })
  }

  /**
   * The outcome so far. The new position is just before the first change that was not handled. Changes after it, even those set
   * aside in this batch, are read again from the feed.
   */
  get outcome(): DeliveryOutcomes {
    const { accepted, failed, failures, hasFailed, isAccepted, isGone, isRepaired, problem, webhook } = this
    const left = this.news.find(({ seq }) => !this.handled.has(seq))
    const position = left === undefined ? this.end : left.seq - 1
    const isStopped = hasFailed && !isAccepted && webhook.failingSeconds >= retrySeconds
    return {
      position,
      accepted,
      failed,
      setAside: this.setAside.filter(({ change }) => change.seq <= position),
      state: isGone ? "gone" : isStopped ? "stopped" : "active",
      failures,
      problem,
      isAccepted,
      isRepaired
    }
  }

  /** Seconds until the webhook is due again. */
  get delaySeconds() {
    return this.hasFailed ? Math.max(delayAfter(this.failures - maxFailures + 1), this.retryAfter) : 0
  }
}
