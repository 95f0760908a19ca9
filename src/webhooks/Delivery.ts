import { Array as Arr, Duration, Effect, Redacted } from "effect"
import { Webhook as Signer } from "standardwebhooks"
import type { OutsideResponse } from "../connections/OutsideRequest.ts"
import type { FeedChange } from "../feed/FeedChange.ts"
import type { AccountId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { SecretBox, type SecretOwner } from "../stores/SecretBox.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { failures, makeReceivers } from "./Addresses.ts"

/** A message as Standard Webhooks defines it. `id`: the same for every attempt. */
export interface Message {
  readonly id: string
  readonly body: string
}

export const messageOf = (id: string, type: string, timestamp: Timestamp, data: unknown): Message => ({
  id,
  body: JSON.stringify({ type, timestamp, data })
})

/** The message of a change. */
export const messageOfChange = (accountId: AccountId, { at, type, ...data }: FeedChange): Message =>
  messageOf(`chg_${accountId.replaceAll("-", "")}_${data.seq}`, type, at, data)

/** A delivery that was not accepted. */
export interface Failure {
  /** A sentence for people, without content of the receiver's answer. */
  readonly problem: string
  /** The receiver wants no more messages (410). */
  readonly isGone: boolean
  /** Seconds that the receiver asked to wait, or 0. */
  readonly retryAfter: number
}

/** Null: the message was accepted. */
export type Outcome = Failure | null

/** Sends a message. */
export type Deliver = (message: Message) => Effect.Effect<Outcome>

/** Maximum time until a receiver has answered. */
const timeout = Duration.seconds(15)
/** Maximum bytes of an answer that are read and discarded, so that its connection can be used again. */
const maxAnswerBytes = 65_536
const maxRetryAfter = 21_600

const results = metrics.webhookDeliveries

const toFailure = (result: "refused" | "unanswered" | "blocked", problem: string, others: Partial<Failure> = {}) =>
  Effect.sync((): Outcome => {
    results.of(result).add(1)
    return { problem, isGone: false, retryAfter: 0, ...others }
  })

const accepted = Effect.sync((): Outcome => {
  results.of("accepted").add(1)
  return null
})

/** The seconds of a `Retry-After` header, which is a number or a date. 0: it has neither. */
const secondsOf = (header: string): number => {
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1_000)
  // A date that cannot be parsed is NaN.
  return seconds > 0 ? Math.min(seconds, maxRetryAfter) : 0
}

const outcomeOf = ({ headers, status }: OutsideResponse) => {
  if (status >= 200 && status < 300) return accepted
  return toFailure(
    "refused",
    status >= 300 && status < 400
      ? `It answered ${status}: redirects are not followed.`
      : `It answered ${status}${status === 410 ? ": it wants no more messages" : ""}.`,
    { isGone: status === 410, retryAfter: secondsOf(headers["retry-after"] ?? "") }
  )
}

/** The headers of Standard Webhooks, with one signature for each secret. */
const headersOf = ({ body, id }: Message, signers: ReadonlyArray<Signer>) => {
  const now = new Date()
  return {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "user-agent": "catalog-webhooks",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": signers.map((signer) => signer.sign(id, now, body)).join(" ")
  }
}

/**
 * Prepares to send messages to a receiver: decrypts the secrets, and resolves and checks its host, once for all connections of the
 * scope. If that fails, every delivery fails.
 */
export const makePrepare = Effect.gen(function* () {
  const box = yield* SecretBox
  const receivers = yield* makeReceivers

  /** `sealed`: the current secret, then the previous one while it is valid. */
  return (address: string, [current, ...previous]: Arr.NonEmptyReadonlyArray<Uint8Array>, owner: SecretOwner) =>
    Effect.gen(function* () {
      const opened = yield* box.open(current, owner)
      // If SECRET_KEY was lost, the previous secret cannot be decrypted. After `webhook rotate` the current one can, and deliveries must not
      // wait until the previous one expires.
      const before = yield* Effect.forEach(previous, (each) => Effect.option(box.open(each, owner)))
      const secrets = [opened, ...Arr.getSomes(before)]
      const { origin, url } = yield* receivers.open(address)
      const signers = secrets.map((secret) => new Signer(Redacted.value(secret)))
      const deliver: Deliver = (message) =>
        origin.send(url, { body: message.body, headers: headersOf(message, signers), maxBytes: maxAnswerBytes }).pipe(
          Effect.timeout(timeout),
          Effect.matchEffect({
            onFailure: (error) =>
              toFailure(
                "unanswered",
                error._tag === "TimeoutException"
                  ? `It did not answer within ${Duration.toSeconds(timeout)} seconds.`
                  : failures[error.reason]
              ),
            onSuccess: outcomeOf
          })
        )
      return deliver
    }).pipe(
      Effect.catchTags({
        OutsideFailure: ({ reason }) => Effect.succeed<Deliver>(() => toFailure("blocked", failures[reason])),
        ReceiverUnencrypted: ({ message }) => Effect.succeed<Deliver>(() => toFailure("blocked", message)),
        SecretUnreadable: ({ message }) => Effect.succeed<Deliver>(() => toFailure("blocked", message))
      })
    )
})
