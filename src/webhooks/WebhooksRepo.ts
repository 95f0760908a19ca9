import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, type Option } from "effect"
import { LeaseHolder } from "../database/LeaseHolder.ts"
import { makeWorkHints } from "../database/WorkHintsRepo.ts"
import type { ChangeType } from "../drafts/FeedChanges.ts"
import type { FeedChange } from "../feed/FeedChange.ts"
import type { AccountId, WebhookId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import type { SetAside, StoredState, Webhook } from "./Webhook.ts"
import { makeWebhookLeases } from "./WebhookLeases.sql.ts"
import { makeWebhookRows } from "./WebhookRows.sql.ts"

export interface NewWebhook {
  readonly id: WebhookId
  readonly url: string
  readonly topics: ReadonlyArray<ChangeType>
  readonly secret: Uint8Array
}

/** The encrypted secrets of a webhook. `previous`: the one before, while deliveries are signed with both. */
export interface SealedSecrets {
  readonly current: Uint8Array
  readonly previous: Uint8Array | null
}

/** A webhook that this process has claimed. */
export interface ClaimedWebhook {
  readonly accountId: AccountId
  readonly id: WebhookId
  readonly claim: string
  readonly url: string
  readonly topics: ReadonlyArray<ChangeType>
  readonly secret: Uint8Array
  readonly previousSecret: Uint8Array | null
  readonly position: number
  /** Failed deliveries since the last accepted one, and the seconds since the first of them. */
  readonly failures: number
  readonly failingSeconds: number
  /** Whether changes are set aside and wait. */
  readonly hasWaiting: boolean
}

/** A change that waits for another attempt. `age`: seconds since it was set aside. */
export interface WaitingDelivery {
  readonly change: FeedChange
  readonly attempts: number
  readonly age: number
}

/** A failed attempt. `delaySeconds`: until the next one; null: the change is parked. */
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
export interface Handled {
  readonly position: number
  /** Numbers of waiting changes that were accepted. */
  readonly accepted: ReadonlyArray<number>
  /** Waiting changes that failed again. */
  readonly failed: ReadonlyArray<FailedDelivery>
  readonly setAside: ReadonlyArray<NewSetAside>
  /** `stopped`: the changes that wait are parked. */
  readonly state: StoredState
  readonly failures: number
  readonly problem: string | null
  /** Whether any delivery was accepted. */
  readonly isAccepted: boolean
  /** The webhook accepts deliveries again, so that the changes that wait are due now. */
  readonly isRepaired: boolean
}

/** The webhooks of all accounts, the changes that were set aside, and leases. */
export class WebhooksRepo extends Context.Tag("catalog/WebhooksRepo")<
  WebhooksRepo,
  {
    /** Inserts a webhook that begins after the last change of the feed. False: the id exists already. */
    readonly insert: (accountId: AccountId, webhook: NewWebhook) => Effect.Effect<boolean>
    /** Oldest first. */
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<Webhook>>
    readonly find: (accountId: AccountId, id: WebhookId) => Effect.Effect<Option.Option<Webhook>>
    /** False: there is no such webhook. */
    readonly delete: (accountId: AccountId, id: WebhookId) => Effect.Effect<boolean>
    /** The oldest changes that were set aside; parked ones first. */
    readonly setAside: (accountId: AccountId, id: WebhookId, limit: number) => Effect.Effect<ReadonlyArray<SetAside>>
    readonly secrets: (accountId: AccountId, id: WebhookId) => Effect.Effect<Option.Option<SealedSecrets>>
    /** Saves a new secret. The one before stays valid for a time. False: there is no such webhook. */
    readonly rotate: (
      accountId: AccountId,
      id: WebhookId,
      secret: Uint8Array,
      overlapSeconds: number
    ) => Effect.Effect<boolean>
    /** Replaces an encrypted secret, the current or the previous one, by another encryption. False: it has changed meanwhile. */
    readonly replaceSecret: (
      accountId: AccountId,
      id: WebhookId,
      from: Uint8Array,
      to: Uint8Array
    ) => Effect.Effect<boolean>
    /**
     * Makes a webhook active and due now, and ends its lease. `position`: it goes on after this change, and what was set aside of
     * later changes is deleted; null: it goes on where it is, and parked changes wait again. False: there is no such webhook.
     */
    readonly replay: (accountId: AccountId, id: WebhookId, position: number | null) => Effect.Effect<boolean>
    /** The number before that of the first change at or after a time. None of the kept changes is: the last number. */
    readonly positionAt: (accountId: AccountId, at: Timestamp) => Effect.Effect<number>
    /** Claims webhooks with work that is due: those first that have been due longest. Skips those that are being claimed. */
    readonly claim: (limit: number, leaseSeconds: number) => Effect.Effect<ReadonlyArray<ClaimedWebhook>>
    /** Waiting changes in the order of their numbers: of entities whose first one is due. */
    readonly due: (webhook: ClaimedWebhook, limit: number) => Effect.Effect<ReadonlyArray<WaitingDelivery>>
    /** Those of these entities that have changes which wait. */
    readonly waitingAmong: (
      webhook: ClaimedWebhook,
      entityIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlySet<string>>
    /** Saves an outcome and extends the lease. False: the webhook is no longer claimed, and nothing was saved. */
    readonly save: (webhook: ClaimedWebhook, handled: Handled, leaseSeconds: number) => Effect.Effect<boolean>
    /** Ends the lease. The webhook is due after a delay. Does nothing if it is no longer claimed. */
    readonly release: (webhook: ClaimedWebhook, delaySeconds: number) => Effect.Effect<void>
    /** Deletes changes of all accounts that were parked more than 30 days ago. Returns their number. */
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
