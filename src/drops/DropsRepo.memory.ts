import { Clock, type Context, Effect, Layer, Option, Ref } from "effect"
import { type Aggregate, byPosition } from "../catalog/Aggregate.ts"
import type { MemorySlices, MemoryState } from "../database/MemoryStore.memory.ts"
import { type MemoryAccount, MemoryStore, updateAccount } from "../database/MemoryStore.memory.ts"
import type { Actor } from "../model/Actor.ts"
import { type Attributes, titleOf } from "../model/Attribute.ts"
import type { AccountId, DropId, EntityId, StoreId } from "../model/Ids.ts"
import { fromMillis, plusMicros, type Timestamp } from "../model/Timestamp.ts"
import type { DropThing } from "./Composition.ts"
import {
  type Drop,
  type DropRow,
  type DropStatus,
  type DropTarget,
  isSameField,
  isSameTime,
  type PlannedDrop
} from "./Drop.ts"
import {
  type ChangeOutcome,
  type DropEffect,
  type DropStepName,
  isNotLinked,
  isUnlinked,
  isUnreverted,
  isUnsettled,
  maxFailedParts
} from "./DropStep.ts"
import { DropsRepo } from "./DropsRepo.ts"

/** A drop, its next step and its effects. */
interface MemoryDrop {
  readonly id: DropId
  readonly planned: PlannedDrop
  readonly actor: Actor
  readonly status: DropStatus
  readonly nextStep: DropStepName | null
  /** Whether a part of the end was carried out. */
  readonly hasEndBegun: boolean
  readonly effects: ReadonlyArray<DropEffect>
  readonly outcomes: ReadonlyArray<ChangeOutcome>
  readonly failedParts: number
}

declare module "../database/MemoryStore.memory.ts" {
  interface MemoryAccount {
    readonly drops: ReadonlyMap<DropId, MemoryDrop>
  }
}

export const emptyDrops: Pick<MemorySlices, "drops"> = { drops: new Map() }

/** The in-memory repository. It passes the same contract suite as `layer`. */
export const layerDropsRepoMemory = Layer.effect(
  DropsRepo,
  Effect.map(MemoryStore, (store) => ({ ...makeSchedule(store), ...makeReads(store), ...makeSteps(store) }))
)

type Repo = Context.Tag.Service<DropsRepo>
type Store = Ref.Ref<MemoryState>

const now = Effect.map(Clock.currentTimeMillis, fromMillis)

const dropsOf = (store: Store, accountId: AccountId) =>
  Effect.map(Ref.get(store), (state) => {
    const account = state.get(accountId)
    return [...(account?.drops.values() ?? [])].sort(byStart).map((drop) => ({ account, drop }))
  })

const updateDrop = (store: Store, accountId: AccountId, id: DropId, change: (drop: MemoryDrop) => MemoryDrop) =>
  updateAccount(store, accountId, (account) => {
    const drop = account.drops.get(id)
    return drop === undefined ? account : { ...account, drops: new Map(account.drops).set(id, change(drop)) }
  })

const makeSchedule = (
  store: Store
): Pick<Repo, "cancel" | "insert" | "lockSchedule" | "now" | "overlaps" | "targets" | "things"> => ({
  now,
  // In-memory transactions run one at a time, so no lock is needed.
  lockSchedule: () => Effect.void,
  targets: (accountId, ids) =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      return new Map(
        ids.flatMap((id): ReadonlyArray<[EntityId, DropTarget]> => {
          const aggregate = account?.entities.get(id)?.aggregate
          if (account === undefined || aggregate === undefined) return []
          const { attributes, kind } = aggregate
          const versions = aggregate.versions.filter(({ storeId }) => account.stores.has(storeId))
          const layers = [attributes, ...versions.map(({ overrides }) => overrides)]
          return [[id, { id, kind, layers, storeIds: versions.map(({ storeId }) => storeId) }]]
        })
      )
    }),
  things: (accountId, { fields, ids, limit, withVariants }) =>
    Effect.map(Ref.get(store), (state) => {
      const account = state.get(accountId)
      const all = [...(account?.entities.values() ?? [])].map(({ aggregate }) => aggregate)
      return ids
        .flatMap((id) => [
          ...all.filter((each) => each.id === id),
          ...all.filter((each) => withVariants && each.parentId === id && !ids.includes(each.id)).sort(byPosition)
        ])
        .slice(0, limit)
        .map((aggregate) => toThing(account, aggregate, fields))
    }),
  overlaps: (accountId, planned) =>
    Effect.map(dropsOf(store, accountId), (all) =>
      planned.changes.flatMap((change, ordinal) =>
        all.flatMap(({ drop }) =>
          drop.nextStep !== null &&
          isSameTime(planned, drop.planned) &&
          drop.planned.changes.some((other) => isSameField(change, other))
            ? [{ ordinal, id: drop.id, ...overlapOf(drop.planned) }]
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
        hasEndBegun: false,
        effects: [],
        outcomes: [],
        failedParts: 0
      })
    })),
  cancel: (accountId, id) =>
    Effect.gen(function* () {
      const all = yield* dropsOf(store, accountId)
      if (!all.some(({ drop }) => drop.id === id && drop.status === "scheduled")) return false
      yield* updateDrop(store, accountId, id, (drop) => ({ ...drop, status: "cancelled", nextStep: null }))
      return true
    })
})

const toThing = (
  account: MemoryAccount | undefined,
  { attributes, id, kind, parentId, versions }: Aggregate,
  fields: ReadonlyArray<string>
): DropThing => {
  const only = (all: Attributes): Attributes =>
    Object.fromEntries(Object.entries(all).filter(([key]) => fields.includes(key)))
  const parent = parentId === null ? undefined : account?.entities.get(parentId)?.aggregate
  return {
    id,
    kind,
    title: titleOf(kind, attributes),
    parentId,
    parentTitle: parent === undefined ? null : titleOf("product", parent.attributes),
    attributes: only(attributes),
    versions: versions
      .filter(({ storeId }) => account?.stores.has(storeId) === true)
      .map(({ accepted, overrides, storeId }) => ({
        storeId,
        overrides: only(overrides),
        accepted: accepted === null ? null : only(accepted.attributes),
        restored: Object.fromEntries(
          [...(account?.drops.values() ?? [])]
            .flatMap(({ effects, nextStep, planned }) => (planned.ends_at === null || nextStep === null ? [] : effects))
            .filter(
              ({ entityId, field, outcome, storeId: on, value }) =>
                entityId === id &&
                on === storeId &&
                fields.includes(field) &&
                (outcome === null || (outcome === "applied" && overrides[field]?.value === value))
            )
            .map(({ acceptedBefore, field }) => [field, acceptedBefore])
        )
      }))
  }
}

const overlapOf = ({ ends_at, name, starts_at, timezone }: PlannedDrop) => ({ name, starts_at, ends_at, timezone })

const makeReads = (
  store: Store
): Pick<Repo, "between" | "dueBetween" | "earlierValues" | "find" | "list" | "openOf" | "page"> => ({
  earlierValues: (accountId, id) =>
    Effect.map(dropsOf(store, accountId), (all) =>
      all
        .filter(({ drop }) => drop.id === id)
        .flatMap(({ account, drop: { effects, nextStep, planned } }) =>
          planned.changes.flatMap(({ entity_id, field, store_id }, index) => {
            const started = effects.filter(
              ({ ordinal, outcome, publicationId, storeId }) =>
                ordinal === index &&
                account?.stores.has(storeId) === true &&
                publicationId !== null &&
                (outcome !== null || nextStep === "end" || nextStep === "settle_end")
            )
            const [value, ...others] = new Set(started.map(({ acceptedBefore }) => acceptedBefore))
            return value === undefined ? [] : [{ entity_id, store_id, field, value: others.length > 0 ? null : value }]
          })
        )
    ),
  page: (accountId, { after, isOpen, limit }) =>
    Effect.map(dropsOf(store, accountId), (all) => {
      const own = all.filter(({ drop }) => (drop.nextStep !== null) === isOpen)
      const isBeyond = (order: number) => (isOpen ? order > 0 : order < 0)
      return (isOpen ? own : own.reverse())
        .filter(({ drop: { id, planned } }) => {
          const order =
            after === null ? undefined : compare(planned.starts_at, after.starts_at) || compare(id, after.id)
          return order === undefined || isBeyond(order)
        })
        .slice(0, limit)
        .map(({ account, drop }) => toRow(account, drop))
    }),
  between: (accountId, from, until, limit) =>
    Effect.map(dropsOf(store, accountId), (all) =>
      all
        .filter(({ drop: { planned } }) => planned.starts_at < until && (planned.ends_at ?? planned.starts_at) >= from)
        .slice(0, limit)
        .map(({ account, drop }) => toRow(account, drop))
    ),
  dueBetween: (accountId, from, until, limit) =>
    Effect.map(dropsOf(store, accountId), (all) => {
      const isWithin = (at: string | null) => at !== null && at >= from && at < until
      const weekBefore = plusMicros(from, -7 * 86_400_000_000)
      return all
        .filter(({ drop: { nextStep, planned, status } }) => {
          const { ends_at, starts_at } = planned
          if (status === "failed" && (nextStep !== null || (starts_at >= weekBefore && starts_at < from))) return true
          const isOverdue =
            nextStep !== null && starts_at < from && (nextStep !== "end" || (ends_at !== null && ends_at < from))
          return (
            status !== "cancelled" && status !== "reverted" && (isWithin(starts_at) || isWithin(ends_at) || isOverdue)
          )
        })
        .slice(0, limit)
        .map(({ account, drop }) => toRow(account, drop))
    }),
  openOf: (accountId, entityId, limit) =>
    Effect.map(dropsOf(store, accountId), (all) =>
      all
        .filter(({ drop }) => drop.nextStep !== null)
        .map(({ account, drop }) =>
          toRow(account, drop, (id) => id === entityId || account?.entities.get(id)?.aggregate.parentId === entityId)
        )
        .filter(({ changes }) => changes > 0)
        .slice(0, limit)
    ),
  list: (accountId, entityId) =>
    Effect.map(dropsOf(store, accountId), (all) =>
      all
        .map(({ account, drop }) => toDrop(account, drop, entityId))
        .filter(({ changes }) => entityId === null || changes.length > 0)
    ),
  find: (accountId, id) =>
    Effect.map(dropsOf(store, accountId), (all) => {
      const found = all.find(({ drop }) => drop.id === id)
      return Option.map(Option.fromNullable(found), ({ account, drop }) => toDrop(account, drop, null))
    })
})

const makeSteps = (store: Store): Pick<Repo, "beginPart" | "due" | "lock" | "move" | "reopen"> => ({
  due: (limit, except, busy = [], begin = () => Effect.void) =>
    Effect.gen(function* () {
      const time = yield* now
      const accounts = [...(yield* Ref.get(store)).values()].filter(
        ({ id, lockedBy }) => lockedBy === null && !busy.includes(id)
      )
      const all = accounts.flatMap((account) =>
        [...account.drops.values()].flatMap((drop) =>
          drop.nextStep !== null && !except.includes(drop.id) && isDue(account, drop, time)
            ? [{ accountId: account.id, id: drop.id, step: drop.nextStep, at: dueAt(drop) }]
            : []
        )
      )
      return all
        .sort((left, right) => compare(left.at, right.at) || compare(left.id, right.id))
        .slice(0, limit)
        .map(({ accountId, id, step }) => ({ accountId, id, step }))
    }).pipe(Effect.tap(begin)),
  beginPart: ({ accountId, id, step }) =>
    Effect.gen(function* () {
      const drop = (yield* Ref.get(store)).get(accountId)?.drops.get(id)
      if (drop?.nextStep !== step) return Option.none()
      const failedParts = Math.min(drop.failedParts + 1, maxFailedParts)
      yield* updateDrop(store, accountId, id, (drop) => ({ ...drop, failedParts }))
      return Option.some(drop.failedParts)
    }),
  lock: ({ accountId, id, step }) =>
    Effect.gen(function* () {
      const account = (yield* Ref.get(store)).get(accountId)
      const drop = account?.drops.get(id)
      if (account === undefined || drop?.nextStep !== step) return Option.none()
      if (!isDue(account, drop, yield* now)) return Option.none()
      if (step === "end") yield* updateDrop(store, accountId, id, (drop) => ({ ...drop, hasEndBegun: true }))
      const { actor, effects, outcomes, planned, status } = drop
      const outcomeOf = new Map(outcomes.map(({ ordinal, outcome }) => [ordinal, outcome]))
      const changes = planned.changes.map((change, ordinal) => ({ ...change, outcome: outcomeOf.get(ordinal) ?? null }))
      return Option.some({
        actor,
        status,
        endsAt: planned.ends_at,
        changes,
        effects: effects.map((effect) => withDeletion(account, effect))
      })
    }),
  reopen: (accountId, storeId) =>
    Effect.flatMap(now, (time) =>
      updateAccount(store, accountId, (account) => ({
        ...account,
        drops: new Map([...account.drops].map(([id, drop]) => [id, reopenOn(account, drop, storeId, time)]))
      }))
    ),
  move: ({ accountId, id }, { effects, failedParts = 0, next, outcomes, status }) =>
    updateDrop(store, accountId, id, (drop) => {
      const isKept = (effect: DropEffect) =>
        !effects.some(({ ordinal, storeId }) => ordinal === effect.ordinal && storeId === effect.storeId)
      const replaced = new Set(outcomes.map(({ ordinal }) => ordinal))
      return {
        ...drop,
        status,
        nextStep: next,
        failedParts,
        effects: [...drop.effects.filter(isKept), ...effects].sort(
          (left, right) => left.ordinal - right.ordinal || compare(left.storeId, right.storeId)
        ),
        outcomes: [...drop.outcomes.filter(({ ordinal }) => !replaced.has(ordinal)), ...outcomes]
      }
    })
})

const withDeletion = ({ deletedNames }: MemoryAccount, effect: DropEffect): DropEffect => ({
  ...effect,
  isDeleted: deletedNames.has(effect.entityId)
})

const reopenOn = (account: MemoryAccount, drop: MemoryDrop, storeId: StoreId, time: Timestamp): MemoryDrop => {
  const failedWith = (is: (effect: DropEffect) => boolean) =>
    drop.effects.filter((effect) => effect.storeId === storeId && is(withDeletion(account, effect)))
  const unstarted = failedWith(isNotLinked)
  const unlinked = failedWith(isUnlinked)
  const unreverted = failedWith(isUnreverted)
  const reopening = (reopened: ReadonlyArray<DropEffect>) =>
    drop.effects.map((effect) =>
      reopened.includes(effect) ? { ...effect, outcome: null, error: effect.error?.refusal ?? null } : effect
    )
  if (drop.hasEndBegun) {
    const next = drop.nextStep ?? (unreverted.length > 0 ? "settle_end" : null)
    return { ...drop, effects: reopening(unreverted), nextStep: unlinked.length > 0 ? "end" : next }
  }
  // The effects of a change that starts again keep their outcomes: the start replaces them.
  const starting = drop.planned.ends_at === null || drop.planned.ends_at > time ? unstarted : []
  if (starting.length + unlinked.length === 0) return drop
  const ordinals = new Set([...starting, ...unlinked].map(({ ordinal }) => ordinal))
  return {
    ...drop,
    status: "applying",
    nextStep: starting.length > 0 || drop.nextStep === "start" ? "start" : "settle_start",
    effects: reopening(unlinked),
    outcomes: drop.outcomes.filter(({ ordinal }) => !ordinals.has(ordinal))
  }
}

const compare = (left: string, right: string) => (left === right ? 0 : left < right ? -1 : 1)

const byStart = (left: MemoryDrop, right: MemoryDrop) =>
  compare(left.planned.starts_at, right.planned.starts_at) || compare(left.id, right.id)

const dueAt = ({ nextStep, planned }: MemoryDrop): string =>
  nextStep === "start" ? planned.starts_at : (planned.ends_at ?? planned.starts_at)

const isDue = (account: MemoryAccount, drop: MemoryDrop, time: Timestamp): boolean => {
  const { nextStep, planned } = drop
  switch (nextStep) {
    case null:
      return false
    case "start":
      return planned.starts_at <= time && !isBlocked(account, drop)
    case "end":
      return planned.ends_at !== null && planned.ends_at <= time && !isPublishing(account, drop, isUnsettled)
    default:
      return !isPublishing(account, drop, ({ outcome }) => outcome === null)
  }
}

/** Whether a publish of such an effect is pending to a linked store. */
const isPublishing = (account: MemoryAccount, drop: MemoryDrop, isMeant: (effect: DropEffect) => boolean) =>
  drop.effects.some(
    (effect) =>
      isMeant(effect) &&
      account.stores.has(effect.storeId) &&
      account.publications.some(({ id, state }) => id === effect.publicationId && state === "pending")
  )

/** Whether the drop must wait for an earlier drop of the same field to end, or to be applied if that drop has no end. */
const isBlocked = (account: MemoryAccount, { id, planned }: MemoryDrop): boolean =>
  [...account.drops.values()].some(
    (before) =>
      before.id !== id &&
      before.nextStep !== null &&
      before.nextStep !== "settle_end" &&
      (before.planned.ends_at === null
        ? before.planned.starts_at < planned.starts_at
        : before.planned.ends_at <= planned.starts_at) &&
      before.planned.changes.some((change) => planned.changes.some((own) => isSameField(change, own)))
  )

const toDrop = (account: MemoryAccount | undefined, drop: MemoryDrop, entityId: EntityId | null): Drop => ({
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
    return [{ ...change, outcome, error, deleted_name: account?.deletedNames.get(change.entity_id) ?? null }]
  })
})

/** A drop as a row that counts the changes of these entities. */
const toRow = (
  account: MemoryAccount | undefined,
  drop: MemoryDrop,
  isCounted: (id: EntityId) => boolean = () => true
): DropRow => {
  const { changes, ...rest } = toDrop(account, drop, null)
  const counted = changes.filter(({ entity_id }) => isCounted(entity_id))
  return {
    ...rest,
    isOpen: drop.nextStep !== null,
    changes: counted.length,
    entities: new Set(counted.map(({ entity_id }) => entity_id)).size,
    fields: [...new Set(counted.map(({ field }) => field))].sort()
  }
}
