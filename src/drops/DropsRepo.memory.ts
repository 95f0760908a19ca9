import { Clock, Effect, Layer, Option, Ref } from "effect"
import type { MemorySlices } from "../database/MemoryStore.memory.ts"
import { type MemoryAccount, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId, DropId, EntityId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import { fromMillis, type Timestamp } from "../model/Timestamp.ts"
import type { Drop, DropEffect, DropOutcome, DropStatus, DropTarget, PlannedChange, PlannedDrop } from "./Drop.ts"
import { DropsRepo } from "./DropsRepo.ts"

/** A drop and how far it is. */
export interface MemoryDrop {
  readonly id: DropId
  readonly planned: PlannedDrop
  readonly actor: Actor
  readonly status: DropStatus
  readonly nextStep: "start" | "settle_start" | "end" | "settle_end" | null
  /** Its ends that were carried out. */
  readonly claims: ReadonlyArray<string>
  readonly effects: ReadonlyArray<DropEffect>
  readonly outcomes: ReadonlyArray<{
    readonly ordinal: number
    readonly outcome: DropOutcome | null
    readonly error: PublishError | null
  }>
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    readonly drops: ReadonlyMap<DropId, MemoryDrop>
  }
}

export const emptyDrops: Pick<MemorySlices, "drops"> = { drops: new Map() }

/** The executable specification: it passes the same contract suite as `layer`. */
export const layerDropsRepoMemory = Layer.effect(
  DropsRepo,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const now = Effect.map(Clock.currentTimeMillis, fromMillis)
    const dropsOf = (accountId: AccountId) =>
      Effect.map(Ref.get(store), (state) => {
        const account = state.get(accountId)
        return [...(account?.drops.values() ?? [])].sort(byTime).map((drop) => ({ account, drop }))
      })
    const update = (accountId: AccountId, id: DropId, change: (drop: MemoryDrop) => MemoryDrop) =>
      updateAccount(store, accountId, (account) => {
        const drop = account.drops.get(id)
        return drop === undefined ? account : { ...account, drops: new Map(account.drops).set(id, change(drop)) }
      })
    return {
      now,
      // A memory transaction is alone anyway.
      alone: () => Effect.void,
      targets: (accountId, ids) =>
        Effect.map(Ref.get(store), (state) => {
          const account = state.get(accountId)
          return new Map(
            ids.flatMap((id): ReadonlyArray<[EntityId, DropTarget]> => {
              const aggregate = account?.entities.get(id)?.aggregate
              if (account === undefined || aggregate === undefined) return []
              const versions = aggregate.versions.filter(({ storeId }) => account.stores.has(storeId))
              return [
                [
                  id,
                  {
                    id,
                    kind: aggregate.kind,
                    layers: [aggregate.attributes, ...versions.map(({ overrides }) => overrides)],
                    storeIds: versions.map(({ storeId }) => storeId)
                  }
                ]
              ]
            })
          )
        }),
      overlaps: (accountId, planned) =>
        Effect.map(dropsOf(accountId), (all) =>
          planned.changes.flatMap((change, ordinal) =>
            all.flatMap(({ drop }) =>
              drop.nextStep !== null &&
              (planned.ends_at === null || drop.planned.starts_at < planned.ends_at) &&
              (drop.planned.ends_at === null || drop.planned.ends_at > planned.starts_at) &&
              drop.planned.changes.some((other) => meets(change, other))
                ? [{ ordinal, id: drop.id, name: drop.planned.name }]
                : []
            )
          )
        ),
      insert: (accountId, id, planned, actor) =>
        updateAccount(store, accountId, (account) => ({
          ...account,
          names: new Map(account.names).set(id, planned.name),
          drops: new Map(account.drops).set(id, {
            id,
            planned,
            actor,
            status: "scheduled",
            nextStep: "start",
            claims: [],
            effects: [],
            outcomes: []
          })
        })),
      list: (accountId, entityId) =>
        Effect.map(dropsOf(accountId), (all) =>
          all
            .map(({ account, drop }) => shown(account, drop, entityId))
            .filter(({ changes }) => entityId === null || changes.length > 0)
        ),
      find: (accountId, id) =>
        Effect.map(dropsOf(accountId), (all) => {
          const found = all.find(({ drop }) => drop.id === id)
          return Option.map(Option.fromNullable(found), ({ account, drop }) => shown(account, drop, null))
        }),
      cancel: (accountId, id) =>
        Effect.flatMap(dropsOf(accountId), (all) =>
          all.some(({ drop }) => drop.id === id && drop.status === "scheduled")
            ? Effect.as(
                update(accountId, id, (drop) => ({ ...drop, status: "cancelled", nextStep: null })),
                true
              )
            : Effect.succeed(false)
        ),
      due: (most, except) =>
        Effect.gen(function* () {
          const time = yield* now
          const accounts = [...(yield* Ref.get(store)).values()].filter(({ lockedBy }) => lockedBy === null)
          const all = accounts.flatMap((account) =>
            [...account.drops.values()].flatMap((drop) =>
              drop.nextStep !== null && !except.includes(drop.id) && isDue(account, drop, time)
                ? [{ accountId: account.id, id: drop.id, step: drop.nextStep, at: dueAt(drop) }]
                : []
            )
          )
          return all
            .sort((left, right) => (left.at === right.at ? (left.id < right.id ? -1 : 1) : left.at < right.at ? -1 : 1))
            .slice(0, most)
            .map(({ accountId, id, step }) => ({ accountId, id, step }))
        }),
      hold: ({ accountId, id, step }) =>
        Effect.gen(function* () {
          const account = (yield* Ref.get(store)).get(accountId)
          const drop = account?.drops.get(id)
          if (account === undefined || drop?.nextStep !== step) return Option.none()
          if (!isDue(account, drop, yield* now) || drop.claims.includes(step)) return Option.none()
          if (step === "start" || step === "end")
            yield* update(accountId, id, (held) => ({ ...held, claims: [...held.claims, step] }))
          const { actor, effects, planned, status } = drop
          return Option.some({ actor, status, endsAt: planned.ends_at, changes: planned.changes, effects })
        }),
      move: ({ accountId, id }, { effects, next, outcomes, status }) =>
        update(accountId, id, (drop) => {
          const isNew = (effect: DropEffect) =>
            !effects.some(({ ordinal, storeId }) => ordinal === effect.ordinal && storeId === effect.storeId)
          const named = new Set(outcomes.map(({ ordinal }) => ordinal))
          return {
            ...drop,
            status,
            nextStep: next,
            effects: [...drop.effects.filter(isNew), ...effects].sort((left, right) =>
              left.ordinal === right.ordinal ? (left.storeId < right.storeId ? -1 : 1) : left.ordinal - right.ordinal
            ),
            outcomes: [...drop.outcomes.filter(({ ordinal }) => !named.has(ordinal)), ...outcomes]
          }
        })
    }
  })
)

const byTime = (left: MemoryDrop, right: MemoryDrop) =>
  left.planned.starts_at === right.planned.starts_at
    ? left.id < right.id
      ? -1
      : 1
    : left.planned.starts_at < right.planned.starts_at
      ? -1
      : 1

const meets = (left: PlannedChange, right: PlannedChange) =>
  left.entity_id === right.entity_id &&
  left.field === right.field &&
  (left.store_id === null || right.store_id === null || left.store_id === right.store_id)

const dueAt = ({ nextStep, planned }: MemoryDrop): string =>
  nextStep === "start" ? planned.starts_at : (planned.ends_at ?? planned.starts_at)

const isDue = (account: MemoryAccount, drop: MemoryDrop, now: Timestamp): boolean => {
  const { nextStep, planned } = drop
  if (nextStep === "end") return planned.ends_at !== null && planned.ends_at <= now
  if (nextStep !== "start")
    return (
      nextStep !== null &&
      !drop.effects.some(
        ({ outcome, publicationId }) =>
          outcome === null && account.publications.some(({ id, state }) => id === publicationId && state === "pending")
      )
    )
  return (
    planned.starts_at <= now &&
    ![...account.drops.values()].some(
      (before) =>
        before.id !== drop.id &&
        before.nextStep !== null &&
        before.nextStep !== "settle_end" &&
        before.planned.ends_at !== null &&
        before.planned.ends_at <= planned.starts_at &&
        before.planned.changes.some((change) => planned.changes.some((own) => meets(change, own)))
    )
  )
}

const shown = (account: MemoryAccount | undefined, drop: MemoryDrop, entityId: EntityId | null): Drop => ({
  id: drop.id,
  name: drop.planned.name,
  status: drop.status,
  starts_at: drop.planned.starts_at,
  ends_at: drop.planned.ends_at,
  timezone: drop.planned.timezone,
  changes: drop.planned.changes.flatMap((change, index) => {
    const isLinked = change.store_id === null || account?.stores.has(change.store_id) === true
    if (!isLinked || (entityId !== null && change.entity_id !== entityId)) return []
    const { error = null, outcome = null } = drop.outcomes.find(({ ordinal }) => ordinal === index) ?? {}
    return [{ ...change, outcome, error }]
  })
})
