import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { makeWorkHints } from "../database/WorkHintsRepo.ts"
import type { ChangeType } from "../drafts/FeedChanges.ts"
import type { FeedChange } from "../feed/FeedChange.ts"
import type { AccountId, WebhookId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { ClaimedWebhook, SetAside, StoredState, WaitingDelivery, Webhook } from "./Webhook.ts"
import { makeWebhookLeases } from "./WebhookLeases.sql.ts"
import { makeWebhookRows } from "./WebhookRows.sql.ts"

export interface NewWebhook {
  readonly id: WebhookId
  readonly url: string
  readonly topics: ReadonlyArray<ChangeType>
  readonly secret: Uint8Array
}

/** The encrypted secrets of a webhook. `previous`: the previous secret, while deliveries are signed with both secrets. */
export interface SealedSecrets {
  readonly current: Uint8Array
  readonly previous: Uint8Array | null
}

/** A failed attempt. `delaySeconds`: the time until the next attempt; null: the change is parked. */
export interface FailedDelivery {
  readonly seq: number
  readonly attempts: number
  readonly delaySeconds: number | null
  readonly problem: string
}

/** A change that is set aside. `delaySeconds` null: it waits for an earlier change of its entity. */
export interface NewSetAside {
  readonly change: FeedChange
  readonly attempts: number
  readonly delaySeconds: number | null
  readonly problem: string | null
}

/** The outcome of some deliveries. */
export interface DeliveryOutcomes {
  readonly position: number
  /** Numbers of waiting changes that were accepted. */
  readonly accepted: ReadonlyArray<number>
  /** Waiting changes that failed again. */
  readonly failed: ReadonlyArray<FailedDelivery>
  readonly setAside: ReadonlyArray<NewSetAside>
  /** `stopped` and `gone`: all waiting changes are parked. */
  readonly state: StoredState
  readonly failures: number
  readonly problem: string | null
  /** Whether any delivery was accepted. */
  readonly isAccepted: boolean
  /** Whether a failing receiver accepts deliveries again, so that all waiting changes become due. */
  readonly isRepaired: boolean
}

/** The webhooks of all accounts, the changes that were set aside, and leases. */
export class WebhooksRepo extends Context.Tag("catalog/WebhooksRepo")<
  WebhooksRepo,
  {
    /**
     * Inserts a webhook that begins after the last change of the feed. `exists`: a webhook has this id already. `full`: the account
     * has `limit` webhooks, also if others are inserted at the same moment.
     */
    readonly insert: (
      accountId: AccountId,
      webhook: NewWebhook,
      limit: number
    ) => Effect.Effect<"inserted" | "exists" | "full">
    /** Oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Webhook>>
    readonly find: (accountId: AccountId, id: WebhookId) => Effect.Effect<Option.Option<Webhook>>
    /** False: there is no such webhook. */
    readonly delete: (accountId: AccountId, id: WebhookId) => Effect.Effect<boolean>
    /** The oldest changes that were set aside; parked ones first. */
    readonly setAside: (accountId: AccountId, id: WebhookId, limit: number) => Effect.Effect<ReadonlyArray<SetAside>>
    readonly secrets: (accountId: AccountId, id: WebhookId) => Effect.Effect<Option.Option<SealedSecrets>>
    /**
     * Saves a new secret. The previous one stays valid for `overlapSeconds`; 0: it is deleted. `from`: the encrypted secret to replace; null: any. False:
     * there is no such webhook, or it has another secret.
     */
    readonly rotate: (
      accountId: AccountId,
      id: WebhookId,
      secret: Uint8Array,
      overlapSeconds: number,
      from: Uint8Array | null
    ) => Effect.Effect<boolean>
    /**
     * Replaces an encrypted secret, the current or the previous one, by another encryption of it. False: it was changed meanwhile.
     */
    readonly replaceSecret: (
      accountId: AccountId,
      id: WebhookId,
      from: Uint8Array,
      to: Uint8Array
    ) => Effect.Effect<boolean>
    /**
     * Makes a webhook active and due now, and ends its lease. `position`: delivery continues after this change, and later changes
     * that were set aside are deleted, because they are read from the feed again. Null: delivery continues at the current
     * position, and parked changes wait again. False: there is no such webhook.
     */
    readonly replay: (accountId: AccountId, id: WebhookId, position: number | null) => Effect.Effect<boolean>
    /** The position just before the first kept change at or after a time. If there is none: the number of the last change. */
    readonly positionAt: (accountId: AccountId, at: Timestamp) => Effect.Effect<number>
    /**
     * Claims webhooks with due work, the longest due first. Skips webhooks that another process is claiming. `begin` is called after each
     * claim: on a cluster, the next account may have a node that answers slowly.
     */
    readonly claim: (
      limit: number,
      leaseSeconds: number,
      begin?: (webhook: ClaimedWebhook) => Effect.Effect<void>
    ) => Effect.Effect<ReadonlyArray<ClaimedWebhook>>
    /** Waiting changes of the entities whose first waiting change is due, in the order of their numbers. */
    readonly due: (webhook: ClaimedWebhook, limit: number) => Effect.Effect<ReadonlyArray<WaitingDelivery>>
    /** Returns those of these entities that have waiting changes. */
    readonly waitingAmong: (
      webhook: ClaimedWebhook,
      entityIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlySet<string>>
    /** Saves an outcome and extends the lease. False: the webhook is no longer claimed, and nothing was saved. */
    readonly save: (webhook: ClaimedWebhook, handled: DeliveryOutcomes, leaseSeconds: number) => Effect.Effect<boolean>
    /** Ends the lease. The webhook is due again after the delay. Does nothing if it is no longer claimed. */
    readonly release: (webhook: ClaimedWebhook, delaySeconds: number) => Effect.Effect<void>
    /** Deletes parked changes of all accounts, 33 days after they were set aside. Returns their number. */
    readonly forget: Effect.Effect<number>
  }
>() {
  static readonly layer = Layer.effect(
    WebhooksRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name: holder } = yield* LeaseHolder
      const hints = yield* makeWorkHints("webhook")
      return { ...makeWebhookRows(sql, hints), ...makeWebhookLeases(sql, holder, hints) }
    })
  )
}
