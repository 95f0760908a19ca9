import { Context, Duration, Effect, FiberSet, Layer, Option, Queue, Random, Schedule, Schema } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { Transaction } from "../database/Transaction.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, DropId, EntityId } from "../model/Ids.ts"
import type { Timestamp } from "../model/Timestamp.ts"
import { mintId } from "../runtime/Identifiers.ts"
import type { ChannelKind } from "../storedata/SalesChannels.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import type { ThingsQuery } from "./Composition.ts"
import { type DropPlace, type NewDrop, planDrop } from "./Drop.ts"
import { makeDropExecution } from "./DropExecution.ts"
import type { BeginSteps, DueStep } from "./DropStep.ts"
import { DropsRepo } from "./DropsRepo.ts"

/** Interval between queries for due steps. */
const pollInterval = Duration.seconds(1)
/** Maximum number of steps that one query returns. */
const maxSteps = 20
/**
 * Maximum number of accounts whose steps one process carries out at the same time. It leaves a connection of the background pool, which has
 * four by default, for other work.
 */
const maxAccounts = 3

interface PageQuery {
  readonly isOpen: boolean
  readonly after: DropPlace | null
  readonly limit: number
}

const make = Effect.gen(function* () {
  const catalog = yield* CatalogRepo
  const definitions = yield* MetafieldDefinitions
  const repo = yield* DropsRepo
  const schedule = yield* makeSchedule
  const { runDue } = yield* makeRunDue

  return {
    /**
     * Schedules a drop. This also works while an import locks the account; the drop's steps wait until the import ends.
     *
     * ValidationFailed, with a path for each problem: an invalid name or time zone; a start in the past, or an end before the
     * start; no changes, or too many; an unknown entity or store; an entity that is not on the store; a store without a
     * platform; an unknown or read-only field; an invalid value; a field that another change of this drop writes, or another
     * drop at the same time.
     *
     * `requestedId`: makes the request repeatable. If the drop exists already, returns that drop.
     */
    create: Effect.fn("Drops.create")(function* (drop: NewDrop, requestedId?: DropId) {
      const id = requestedId ?? (yield* mintId(DropId))
      yield* schedule.insert(id, drop)
      return yield* Effect.orDie(schedule.find(id))
    }),
    /**
     * Checks a drop as `create` does, without storing it. Returns the other drops that change the same fields at the same time,
     * for which `create` would refuse it.
     */
    check: Effect.fn("Drops.check")(schedule.check),
    /** At most `limit` of these entities, in this order. Unknown entities are left out. */
    things: Effect.fn("Drops.things")(function* (query: ThingsQuery) {
      const { accountId } = yield* CurrentActor
      return yield* repo.things(accountId, query)
    }),
    /** The fields that drops of the account can change, by kind. */
    rules: withAccountId(definitions.rules),
    /** Cancels a drop. ValidationFailed: it has started, or was cancelled before. */
    cancel: Effect.fn("Drops.cancel")(function* (id: DropId) {
      yield* schedule.cancel(id)
      return yield* schedule.find(id)
    }),
    /** Ordered by start, then id. */
    list: withAccountId((accountId) => repo.list(accountId, null)),
    /**
     * A page of drops: with `isOpen` those with a step left, by start; else the others, the latest first. `next`: the place from
     * which the next page continues; undefined: there is none.
     */
    page: Effect.fn("Drops.page")(function* ({ limit, ...list }: PageQuery) {
      const { accountId } = yield* CurrentActor
      const found = yield* repo.page(accountId, { ...list, limit: limit + 1 })
      const rows = found.slice(0, limit)
      return { rows, next: found.length > limit ? rows.at(-1) : undefined }
    }),
    /**
     * At most `limit` drops that start before `until` and end at `from` or later, by start. A drop without an end counts as ending at
     * its start.
     */
    between: Effect.fn("Drops.between")(function* (from: Timestamp, until: Timestamp, limit: number) {
      const { accountId } = yield* CurrentActor
      return yield* repo.between(accountId, from, until, limit)
    }),
    /**
     * At most `limit` drops, by start. Finds drops that start or end between `from` (included) and `until` (excluded), drops with a step
     * left that was due before `from`, and failed drops that have any step left or started in the 7 days before `from`. Leaves out
     * cancelled and reverted drops.
     */
    dueBetween: Effect.fn("Drops.dueBetween")(function* (from: Timestamp, until: Timestamp, limit: number) {
      const { accountId } = yield* CurrentActor
      return yield* repo.dueBetween(accountId, from, until, limit)
    }),
    /**
     * At most `limit` drops with a step left that change this entity or a variant of it, by start. The numbers and fields of a row cover
     * only these changes.
     */
    openOf: Effect.fn("Drops.openOf")(function* (entityId: EntityId, limit: number) {
      const { accountId } = yield* CurrentActor
      return yield* repo.openOf(accountId, entityId, limit)
    }),
    get: Effect.fn("Drops.get")(schedule.find),
    /**
     * The values that the linked stores accepted last before the drop, in the order of its changes. Without changes whose publish was not
     * requested there, or has not ended at the start.
     */
    earlierValues: Effect.fn("Drops.earlierValues")(function* (id: DropId) {
      const { accountId } = yield* CurrentActor
      return yield* repo.earlierValues(accountId, id)
    }),
    /** Drops that change an entity, with only the changes of that entity. NotFound: no such entity of this kind. */
    ofEntity: Effect.fn("Drops.ofEntity")(function* (kind: ChannelKind, id: EntityId) {
      const { accountId } = yield* CurrentActor
      if (Option.isNone(yield* catalog.find(accountId, kind, id))) return yield* new NotFound()
      return yield* repo.list(accountId, id)
    }),
    /** Carries out all due steps of all accounts, in addition to other workers. Returns the number that this process carried out. */
    runDue,
    /** Repeats `runDue` until it is interrupted. */
    work: runDue.pipe(
      Effect.catchAllCause((cause) => Effect.as(Effect.logWarning("Looking for due drops failed", cause), 0)),
      Effect.repeat(Schedule.spaced(pollInterval)),
      Effect.zipRight(Effect.never)
    )
  }
})

/** Scheduled field changes of the actor's account. The actor who schedules a drop is the author of its changes. */
export class Drops extends Context.Tag("catalog/Drops")<Drops, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Drops, make)
}

/** Inserts, finds and cancels drops of the actor's account. */
const makeSchedule = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
  const drafts = yield* DraftsRepo
  const repo = yield* DropsRepo
  const stores = yield* StoresRepo
  const transaction = yield* Transaction

  const find = (id: DropId) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const drop = yield* repo.find(accountId, id)
      return Option.isNone(drop) ? yield* new NotFound() : drop.value
    })

  /** The drop as it would be stored, and the other drops that overlap it. */
  const plan = (newDrop: NewDrop) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const drop = yield* planDrop(
        newDrop,
        yield* repo.now,
        yield* stores.list(accountId),
        yield* repo.targets(accountId, entityIdsOf(newDrop)),
        yield* definitions.rules(accountId)
      )
      return { drop, overlaps: yield* repo.overlaps(accountId, drop) }
    })

  const check = (newDrop: NewDrop) => Effect.map(plan(newDrop), ({ overlaps }) => overlaps)

  /** Inserts the drop, unless it exists already. */
  const insert = (id: DropId, newDrop: NewDrop) =>
    transaction.run(
      Effect.gen(function* () {
        const actor = yield* CurrentActor
        const { accountId } = actor
        yield* repo.lockSchedule(accountId)
        if (Option.isSome(yield* repo.find(accountId, id))) return
        const { drop, overlaps } = yield* plan(newDrop)
        if (overlaps.length > 0)
          return yield* new ValidationFailed({
            issues: overlaps.map(({ id, name, ordinal }) => ({
              path: `changes[${ordinal}]`,
              message: `the drop ${JSON.stringify(name)} (${id}) changes this field at the same time`
            }))
          })
        yield* repo.insert(accountId, id, drop, actor)
        yield* drafts.raise(accountId)
      })
    )

  const cancel = (id: DropId) =>
    transaction.run(
      Effect.gen(function* () {
        const actor = yield* CurrentActor
        if (yield* repo.cancel(actor.accountId, id, actor)) return yield* drafts.raise(actor.accountId)
        const { status } = yield* find(id)
        return yield* ValidationFailed.at("id", `the drop is ${status}: only a scheduled one can be cancelled`)
      })
    )

  return { find, check, insert, cancel }
})

const entityIdsOf = ({ changes }: NewDrop): ReadonlyArray<EntityId> => [
  ...new Set(changes.flatMap(({ entity_id }) => Option.toArray(Schema.decodeOption(EntityId)(entity_id.toLowerCase()))))
]

const makeRunDue = Effect.gen(function* () {
  const repo = yield* DropsRepo
  const carryOut: (due: DueStep) => Effect.Effect<boolean> = yield* makeDropExecution

  /** One run: the steps of one account one after the other, those of different accounts side by side. */
  const runDue = Effect.gen(function* () {
    let count = 0
    // Drops that another process has locked or that failed. They are skipped until the next poll.
    const skipped = new Set<DropId>()
    const busy = new Set<AccountId>()
    let hasBegun = false
    const ended = yield* Queue.sliding<void>(1)
    const fork = yield* FiberSet.makeRuntime<never>()

    const runAccount = (steps: ReadonlyArray<DueStep>) =>
      Effect.gen(function* () {
        let own = 0
        for (const due of steps) {
          if (yield* carryOut(due)) {
            own++
            count++
            continue
          }
          skipped.add(due.id)
          // Another process may have the step, so the due steps are read again.
          if (own > 0) return
        }
      })

    const begin: BeginSteps = (steps) =>
      Effect.map(Random.nextIntBetween(0, Math.max(steps.length, 1)), (first) => {
        // Each process begins with the account of a random step, so that several processes rarely wait for the same account.
        const turned = [...steps.slice(first), ...steps.slice(0, first)]
        for (const accountId of new Set(turned.map((due) => due.accountId))) {
          if (busy.has(accountId) || busy.size === maxAccounts) continue
          busy.add(accountId)
          hasBegun = true
          const end = Effect.suspend(() => {
            busy.delete(accountId)
            return ended.offer(undefined)
          })
          fork(Effect.ensuring(runAccount(steps.filter((due) => due.accountId === accountId)), end))
        }
      })

    for (;;) {
      const before = busy.size
      hasBegun = false
      if (before < maxAccounts)
        yield* Effect.catchAllCause(repo.due(maxSteps, [...skipped], [...busy], begin), (cause) =>
          // The steps that run must not be interrupted.
          busy.size === 0 ? Effect.failCause(cause) : Effect.logWarning("Looking for due drops failed", cause)
        )
      if (!hasBegun && busy.size === 0 && before === 0) return count
      // The steps of one account may have filled the query.
      if (hasBegun && busy.size < maxAccounts) continue
      yield* Effect.raceFirst(
        ended.take,
        Effect.andThen(Effect.sleep(pollInterval), () => skipped.clear())
      )
    }
  }).pipe(Effect.scoped)
  return { runDue }
})

/** Starts the worker of a server in the background. */
export const layerWorker: Layer.Layer<never, never, Drops> = Layer.scopedDiscard(
  Effect.flatMap(Drops, ({ work }) => Effect.forkScoped(work))
)
