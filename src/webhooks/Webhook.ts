import { Schema } from "effect"
import { ChangeType } from "../drafts/FeedChanges.ts"
import { FeedChange } from "../feed/FeedChange.ts"
import { AccountId, WebhookId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/**
 * `active`: changes are delivered; some may have failed and wait. `failing`: the last five deliveries failed, and one at a time is tried.
 * `stopped`: no delivery was accepted for three days. `gone`: the receiver answered 410. `behind`: changes that were not delivered are no
 * longer in the feed.
 */
export const WebhookState = Schema.Literal("active", "failing", "stopped", "gone", "behind")
export type WebhookState = typeof WebhookState.Type

/** The stored states. The other states are derived from the feed and from the number of failures. */
export const StoredState = Schema.Literal("active", "stopped", "gone")
export type StoredState = typeof StoredState.Type

/** An address that receives the changes of the account's feed. */
export const Webhook = Schema.Struct({
  id: WebhookId,
  url: Schema.String,
  /** Types of changes. Empty: all. */
  topics: Schema.Array(ChangeType),
  state: WebhookState,
  /** The number of the last change that was handled, and of the last change of the feed. */
  position: Schema.Int,
  last_seq: Schema.Int,
  /** Changes that wait for another attempt, and changes that failed for three days or whose webhook was stopped or is gone. */
  waiting: Schema.Int,
  parked: Schema.Int,
  /** Why the last delivery failed. Null: it was accepted, or there was none. */
  problem: Schema.NullOr(Schema.String),
  failing_since: Schema.NullOr(Timestamp),
  /** The time from which on a server makes the next delivery. Null: there is nothing to deliver, or it is being delivered. */
  next_attempt_at: Schema.NullOr(Timestamp),
  delivered_at: Schema.NullOr(Timestamp),
  /** Until this time, deliveries are signed with the previous secret too. */
  previous_secret_until: Schema.NullOr(Timestamp),
  created_at: Timestamp
})
export type Webhook = typeof Webhook.Type

/** A change that was set aside. */
export const SetAside = Schema.Struct({
  seq: Schema.Int,
  state: Schema.Literal("waiting", "parked"),
  change: FeedChange,
  attempts: Schema.Int,
  since: Timestamp,
  /**
   * The earliest time of the next attempt, also by the delays of a failing webhook. Null: the change is parked, or waits for an earlier
   * change of its entity.
   */
  next_attempt_at: Schema.NullOr(Timestamp),
  problem: Schema.NullOr(Schema.String)
})
export type SetAside = typeof SetAside.Type

/** A webhook that this process has claimed. */
export const ClaimedWebhook = Schema.Struct({
  accountId: AccountId,
  id: WebhookId,
  claim: Schema.String,
  url: Schema.String,
  topics: Schema.Array(ChangeType),
  secret: Schema.Uint8ArrayFromSelf,
  previousSecret: Schema.NullOr(Schema.Uint8ArrayFromSelf),
  position: Schema.Int,
  /** Failed deliveries since the last accepted one, and the seconds since the first of them. */
  failures: Schema.Int,
  failingSeconds: Schema.Number,
  /** Why the last delivery failed, or null. */
  problem: Schema.NullOr(Schema.String),
  /** Whether changes were set aside and wait for another attempt. */
  hasWaiting: Schema.Boolean
})
export type ClaimedWebhook = typeof ClaimedWebhook.Type

/** A change that waits for another attempt. `age`: seconds since it was set aside. */
export const WaitingDelivery = Schema.Struct({ change: FeedChange, attempts: Schema.Int, age: Schema.Number })
export type WaitingDelivery = typeof WaitingDelivery.Type

/** The result of a test message. `problem`: why it was not accepted, or null. */
export const WebhookTest = Schema.Struct({
  url: Schema.String,
  problem: Schema.NullOr(Schema.String),
  millis: Schema.Int
})
export type WebhookTest = typeof WebhookTest.Type

/** Maximum number of webhooks of an account. */
export const maxWebhooks = 50

const daySeconds = 86_400

/** Time in which a failed delivery is repeated. Then the change is parked or, if all deliveries fail, the webhook is stopped. */
export const retrySeconds = 3 * daySeconds

/** Time after a rotation in which deliveries are signed with both secrets. */
export const overlapSeconds = daySeconds

/** Seconds before the second and each further attempt. The last value repeats. */
const delays = [5, 60, 300, 1_800, 7_200, 21_600] as const

/** The delay after a number of failed attempts. */
export const delayAfter = (attempts: number): number => delays[Math.min(attempts, delays.length) - 1] ?? delays[0]

/** Number of consecutive failures after which only one delivery at a time is tried, with the delays of `delayAfter`. */
export const maxFailures = 5

/** How a merchant repairs a webhook in this state. Undefined: no repair is needed. */
export const nextSteps: Readonly<Record<WebhookState, string | undefined>> = {
  active: undefined,
  failing:
    "Deliveries are repeated automatically, up to six hours apart. After you have repaired the receiver, replay the webhook: it continues at once.",
  stopped:
    "Repair the receiver, then replay the webhook. It continues at the change where it stopped, for up to 30 days.",
  gone: "The receiver answered 410: it wants no more messages. Replay the webhook if that was a mistake, or delete it.",
  behind:
    "Some changes were not delivered within 30 days, so the feed has deleted them. Read all lists again, then replay the webhook from `latest`."
}
