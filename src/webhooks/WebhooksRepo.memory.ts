import { randomUUID } from "node:crypto"
import { Clock, Effect, Layer, Option, Ref } from "effect"
import type { MemoryAccount, MemorySlices, MemoryState } from "../database/MemoryStore.memory.ts"
import { MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { FeedChange } from "../feed/FeedChange.ts"
import type { AccountId, WebhookId } from "../model/Ids.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { type ClaimedWebhook, maxFailures, type StoredState, type Webhook } from "./Webhook.ts"
import { type DeliveryOutcomes, type NewWebhook, WebhooksRepo } from "./WebhooksRepo.ts"

/** Times are milliseconds. */
interface MemoryDelivery {
  readonly change: FeedChange
  readonly state: "waiting" | "parked"
  readonly attempts: number
  readonly since: number
  readonly dueAt: number | null
  readonly problem: string | null
}

interface MemoryWebhook extends NewWebhook {
  readonly previousSecret: Uint8Array | null
  readonly previousUntil: number
  readonly state: StoredState
  readonly position: number
  readonly failures: number
  readonly failingSince: number | null
  readonly problem: string | null
  readonly deliveredAt: number | null
  readonly dueAt: number
  readonly claim: string | null
  readonly createdAt: number
  /** In the order of their numbers. */
  readonly deliveries: ReadonlyArray<MemoryDelivery>
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    /** In the order of their creation. */
    readonly webhooks: ReadonlyMap<WebhookId, MemoryWebhook>
  }
}

export const emptyWebhooks: Pick<MemorySlices, "webhooks"> = { webhooks: new Map() }

const now = Clock.currentTimeMillis
const forgottenAfter = 33 * 86_400_000

const timeOf = (millis: number | null) => (millis === null ? null : fromMillis(millis))

const lastOf = ({ feed, feedFloor }: MemoryAccount) => feedFloor + feed.length

const toWebhook = (account: MemoryAccount, hook: MemoryWebhook, millis: number): Webhook => {
  const count = (state: "waiting" | "parked") => hook.deliveries.filter((each) => each.state === state).length
  const isFailing = hook.state === "active" && hook.failures >= maxFailures
  const isBehind = hook.position < account.feedFloor
  const waiting = hook.deliveries.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt]))
  const isIdle = hook.state === "active" && !isBehind && hook.claim === null
  const next = lastOf(account) > hook.position ? hook.dueAt : Math.max(hook.dueAt, Math.min(...waiting))
  return {
    id: hook.id,
    url: hook.url,
    topics: hook.topics,
    state: isBehind ? "behind" : isFailing ? "failing" : hook.state,
    position: hook.position,
    last_seq: lastOf(account),
    waiting: count("waiting"),
    parked: count("parked"),
    problem: hook.problem,
    failing_since: timeOf(hook.failingSince),
    next_attempt_at: isIdle && Number.isFinite(next) ? fromMillis(next) : null,
    delivered_at: timeOf(hook.deliveredAt),
    previous_secret_until: hook.previousUntil > millis ? fromMillis(hook.previousUntil) : null,
    created_at: fromMillis(hook.createdAt)
  }
}

const isWaiting = ({ state }: MemoryDelivery) => state === "waiting"

/** Makes the first waiting change of each entity due if it has no due time. */
const promote = (deliveries: ReadonlyArray<MemoryDelivery>, millis: number) => {
  const entities = new Set<string>()
  return deliveries.map((each) => {
    const isFirst = isWaiting(each) && !entities.has(each.change.entity.id)
    if (isWaiting(each)) entities.add(each.change.entity.id)
    return isFirst && each.dueAt === null ? { ...each, dueAt: millis } : each
  })
}

const isDue = (millis: number) => (each: MemoryDelivery) => each.dueAt !== null && each.dueAt <= millis

/** The deliveries of a webhook after an outcome. */
const deliveriesAfter = (
  { deliveries }: MemoryWebhook,
  { accepted, failed, isRepaired, setAside, state }: DeliveryOutcomes,
  millis: number
) => {
  const again = new Map(failed.map((each) => [each.seq, each]))
  const left = deliveries
    .filter(({ change }) => !accepted.includes(change.seq))
    .map((each): MemoryDelivery => {
      const failure = again.get(each.change.seq)
      if (failure === undefined) return each
      const { attempts, delaySeconds, problem } = failure
      return delaySeconds === null
        ? { ...each, attempts, problem, state: "parked", dueAt: null }
        : { ...each, attempts, problem, dueAt: millis + delaySeconds * 1_000 }
    })
  const added = setAside.map(
    ({ attempts, change, delaySeconds, problem }): MemoryDelivery => ({
      change,
      attempts,
      problem,
      state: "waiting",
      since: millis,
      dueAt: delaySeconds === null ? null : millis + delaySeconds * 1_000
    })
  )
  const all = [...left, ...added].sort((one, other) => one.change.seq - other.change.seq)
  if (state !== "active")
    return all.map((each): MemoryDelivery => (isWaiting(each) ? { ...each, state: "parked", dueAt: null } : each))
  const due = isRepaired ? all.map((each) => (each.dueAt === null ? each : { ...each, dueAt: millis })) : all
  return promote(due, millis)
}

const makeAccess = (store: Ref.Ref<MemoryState>) => {
  const findWebhook = (accountId: AccountId, id: WebhookId) =>
    Effect.map(Ref.get(store), (state) => Option.fromNullable(state.get(accountId)?.webhooks.get(id)))
  /** Changes a webhook. False: there is none, or the change is undefined. */
  const change = (
    accountId: AccountId,
    id: WebhookId,
    to: (hook: MemoryWebhook, millis: number) => MemoryWebhook | undefined
  ) =>
    Effect.gen(function* () {
      const before = Option.getOrUndefined(yield* findWebhook(accountId, id))
      const after = before === undefined ? undefined : to(before, yield* now)
      if (after === undefined) return false
      yield* updateAccount(store, accountId, (account) => ({
        ...account,
        webhooks: new Map(account.webhooks).set(id, after)
      }))
      return true
    })
  return { change, found: findWebhook }
}

type Repo = typeof WebhooksRepo.Service

const makeLeases = (store: Ref.Ref<MemoryState>): Pick<Repo, "claim" | "due" | "release" | "save" | "waitingAmong"> => {
  const { change, found } = makeAccess(store)
  const waitingOf = ({ accountId, id }: ClaimedWebhook) =>
    Effect.map(found(accountId, id), (hook) =>
      Option.match(hook, { onNone: () => [], onSome: ({ deliveries }) => deliveries.filter(isWaiting) })
    )
  return {
    claim: (limit, leaseSeconds, begin = () => Effect.void) =>
      Effect.gen(function* () {
        const millis = yield* now
        const due = [...(yield* Ref.get(store)).values()]
          .flatMap((account) => [...account.webhooks.values()].map((hook) => ({ account, hook })))
          .filter(
            ({ account, hook }) =>
              hook.state === "active" &&
              hook.dueAt <= millis &&
              hook.position >= account.feedFloor &&
              (lastOf(account) > hook.position || hook.deliveries.some(isDue(millis)))
          )
          .sort((one, other) => one.hook.dueAt - other.hook.dueAt)
          .slice(0, limit)
        const claimed: Array<ClaimedWebhook> = []
        for (const { account, hook } of due) {
          const claim = randomUUID()
          yield* change(account.id, hook.id, (each) => ({ ...each, claim, dueAt: millis + leaseSeconds * 1_000 }))
          const webhook: ClaimedWebhook = {
            accountId: account.id,
            id: hook.id,
            claim,
            url: hook.url,
            topics: hook.topics,
            secret: hook.secret,
            previousSecret: hook.previousUntil > millis ? hook.previousSecret : null,
            position: hook.position,
            failures: hook.failures,
            failingSeconds: hook.failingSince === null ? 0 : (millis - hook.failingSince) / 1_000,
            problem: hook.problem,
            hasWaiting: hook.deliveries.some(isWaiting)
          }
          claimed.push(webhook)
          yield* begin(webhook)
        }
        return claimed
      }),
    due: (webhook, limit) =>
      Effect.gen(function* () {
        const millis = yield* now
        const waiting = yield* waitingOf(webhook)
        const entities = new Set(waiting.filter(isDue(millis)).map((each) => each.change.entity.id))
        return waiting
          .filter((each) => entities.has(each.change.entity.id))
          .slice(0, limit)
          .map(({ attempts, change, since }) => ({ change, attempts, age: (millis - since) / 1_000 }))
      }),
    waitingAmong: (webhook, entityIds) =>
      Effect.map(
        waitingOf(webhook),
        (waiting) => new Set(waiting.map((each) => each.change.entity.id).filter((id) => entityIds.includes(id)))
      ),
    save: (webhook, handled, leaseSeconds) =>
      change(webhook.accountId, webhook.id, (hook, millis) => {
        const { failures, isAccepted, position, problem, state } = handled
        return hook.claim === webhook.claim
          ? {
              ...hook,
              position,
              state,
              failures,
              problem,
              failingSince: failures > 0 ? (hook.failingSince ?? millis) : null,
              deliveredAt: isAccepted ? millis : hook.deliveredAt,
              dueAt: millis + leaseSeconds * 1_000,
              deliveries: deliveriesAfter(hook, handled, millis)
            }
          : undefined
      }),
    release: ({ accountId, claim, id }, delaySeconds) =>
      Effect.asVoid(
        change(accountId, id, (hook, millis) =>
          hook.claim === claim ? { ...hook, claim: null, dueAt: millis + delaySeconds * 1_000 } : undefined
        )
      )
  }
}

const sameBytes = (one: Uint8Array | null, other: Uint8Array) => one !== null && Buffer.from(one).equals(other)

const makeRows = (
  store: Ref.Ref<MemoryState>
): Omit<Repo, "claim" | "due" | "release" | "save" | "waitingAmong" | "forget"> => {
  const { change, found } = makeAccess(store)
  const list = (accountId: AccountId) =>
    Effect.gen(function* () {
      const account = (yield* Ref.get(store)).get(accountId)
      const millis = yield* now
      return account === undefined ? [] : [...account.webhooks.values()].map((hook) => toWebhook(account, hook, millis))
    })
  return {
    list,
    insert: (accountId, webhook, limit) =>
      Effect.gen(function* () {
        if (Option.isSome(yield* found(accountId, webhook.id))) return "exists"
        if ((yield* list(accountId)).length >= limit) return "full"
        const millis = yield* now
        yield* updateAccount(store, accountId, (account) => ({
          ...account,
          webhooks: new Map(account.webhooks).set(webhook.id, {
            ...webhook,
            previousSecret: null,
            previousUntil: 0,
            state: "active",
            position: lastOf(account),
            failures: 0,
            failingSince: null,
            problem: null,
            deliveredAt: null,
            dueAt: millis,
            claim: null,
            createdAt: millis,
            deliveries: []
          })
        }))
        return "inserted"
      }),
    find: (accountId, id) =>
      Effect.map(list(accountId), (all) => Option.fromNullable(all.find((webhook) => webhook.id === id))),
    delete: (accountId, id) =>
      Effect.gen(function* () {
        if (Option.isNone(yield* found(accountId, id))) return false
        yield* updateAccount(store, accountId, (account) => ({
          ...account,
          webhooks: new Map([...account.webhooks].filter(([each]) => each !== id))
        }))
        return true
      }),
    setAside: (accountId, id, limit) =>
      Effect.map(
        found(accountId, id),
        Option.match({
          onNone: () => [],
          onSome: ({ claim, deliveries, dueAt: turnAt }) =>
            [...deliveries.filter((each) => !isWaiting(each)), ...deliveries.filter(isWaiting)]
              .slice(0, limit)
              .map(({ attempts, change, dueAt, problem, since, state }) => ({
                seq: change.seq,
                state,
                change,
                attempts,
                since: fromMillis(since),
                next_attempt_at: timeOf(dueAt === null || claim !== null ? dueAt : Math.max(dueAt, turnAt)),
                problem
              }))
        })
      ),
    secrets: (accountId, id) =>
      Effect.map(
        found(accountId, id),
        Option.map(({ previousSecret, secret }) => ({ current: secret, previous: previousSecret }))
      ),
    rotate: (accountId, id, secret, overlapSeconds, from) =>
      change(accountId, id, (hook, millis) =>
        from !== null && !sameBytes(hook.secret, from)
          ? undefined
          : {
              ...hook,
              secret,
              previousSecret: overlapSeconds > 0 ? hook.secret : null,
              previousUntil: millis + overlapSeconds * 1_000
            }
      ),
    replaceSecret: (accountId, id, from, to) =>
      change(accountId, id, (hook) =>
        sameBytes(hook.secret, from)
          ? { ...hook, secret: to }
          : sameBytes(hook.previousSecret, from)
            ? { ...hook, previousSecret: to }
            : undefined
      ),
    replay: (accountId, id, position) =>
      change(accountId, id, (hook, millis) => ({
        ...hook,
        state: "active",
        position: position ?? hook.position,
        failures: 0,
        failingSince: null,
        problem: null,
        claim: null,
        dueAt: millis,
        deliveries: promote(
          position === null
            ? hook.deliveries.map((each) => ({ ...each, state: "waiting", dueAt: null, since: millis, attempts: 0 }))
            : hook.deliveries.filter((each) => each.change.seq <= position),
          millis
        )
      })),
    positionAt: (accountId, at) =>
      Effect.map(Ref.get(store), (state) => {
        const account = state.get(accountId)
        if (account === undefined) return 0
        const place = account.feed.findIndex((each) => each.at >= at)
        return place === -1 ? lastOf(account) : account.feedFloor + place
      })
  }
}

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerWebhooksRepoMemory = Layer.effect(
  WebhooksRepo,
  Effect.map(MemoryStore, (store) => ({
    ...makeRows(store),
    ...makeLeases(store),
    forget: Effect.gen(function* () {
      const { change } = makeAccess(store)
      const before = (yield* now) - forgottenAfter
      let count = 0
      for (const account of (yield* Ref.get(store)).values())
        for (const id of account.webhooks.keys())
          yield* change(account.id, id, (hook) => {
            const deliveries = hook.deliveries.filter((each) => isWaiting(each) || each.since > before)
            count += hook.deliveries.length - deliveries.length
            return { ...hook, deliveries }
          })
      return count
    })
  }))
)
