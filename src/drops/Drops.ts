import { Context, Duration, Effect, Either, Layer, Option, Schedule, Schema } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { Transaction } from "../database/Transaction.ts"
import type { Locked } from "../drafts/CatalogChange.ts"
import { CatalogChanges } from "../drafts/CatalogChanges.ts"
import { DraftsRepo } from "../drafts/DraftsRepo.ts"
import { ImportLockRepo } from "../drafts/ImportLockRepo.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import { valueOf } from "../model/Attribute.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { DropId, EntityId, type PublicationId } from "../model/Ids.ts"
import type { PublishError } from "../model/PublishState.ts"
import type { PublicationContent } from "../publishing/PublicationContent.ts"
import { PublicationsRepo } from "../publishing/PublicationsRepo.ts"
import { Publishing } from "../publishing/Publishing.ts"
import { FaultInjector } from "../runtime/FaultInjector.ts"
import { mintId } from "../runtime/Identifiers.ts"
import type { ChannelKind } from "../storedata/SalesChannels.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import {
  type Drop,
  type DropAsk,
  type DropEffect,
  type DropStep,
  endDrop,
  type NewDrop,
  outcomesOf,
  planDrop,
  startDrop,
  withdrawn
} from "./Drop.ts"
import { DropsRepo, type DueStep, type HeldDrop } from "./DropsRepo.ts"

/** How soon after its time a drop is seen. */
const lookEvery = Duration.seconds(1)
/** Steps that are looked up together. */
const stepsAtOnce = 20

/** Scheduled field changes of the account of whoever asks. Whoever makes one is the author of what it changes. */
export class Drops extends Context.Tag("catalog/Drops")<
  Drops,
  {
    /**
     * Schedules a drop. May be done while an import keeps the account locked; a drop that is due then waits.
     *
     * ValidationFailed, with a path for each thing that does not fit: a name or time zone that is none, a start in the past,
     * an end that is not after it, no changes or too many; of a change an unknown entity or store, an entity that is not on
     * the store, a store that nothing can be published to, an unknown or read-only field, a value that does not fit, a field
     * that another change writes too, or that a scheduled or applied drop, which is named, has at the same time.
     *
     * `id` names the creation: whoever repeats it is answered with the drop that it made, as it is by now.
     */
    readonly create: (drop: NewDrop, id?: DropId) => Effect.Effect<Drop, ValidationFailed, CurrentActor>
    /** Cancels a drop. NotFound: there is none. ValidationFailed: it has started, or was cancelled before. */
    readonly cancel: (id: DropId) => Effect.Effect<Drop, NotFound | ValidationFailed, CurrentActor>
    /** By their start, then id. */
    readonly list: Effect.Effect<ReadonlyArray<Drop>, never, CurrentActor>
    readonly get: (id: DropId) => Effect.Effect<Drop, NotFound, CurrentActor>
    /** Drops that change an entity, narrowed to what changes it. NotFound: no such entity of this kind. */
    readonly ofEntity: (kind: ChannelKind, id: EntityId) => Effect.Effect<ReadonlyArray<Drop>, NotFound, CurrentActor>
    /** Takes every step of any account's drops that is due, beside whoever else does; how many this process took. */
    readonly runDue: Effect.Effect<number>
    /** `runDue`, again and again, until it is interrupted. */
    readonly work: Effect.Effect<never>
  }
>() {
  static readonly layer = Layer.effect(
    Drops,
    Effect.gen(function* () {
      const catalog = yield* CatalogRepo
      const changes = yield* CatalogChanges
      const definitions = yield* MetafieldDefinitions
      const drafts = yield* DraftsRepo
      const faults = yield* FaultInjector
      const importLock = yield* ImportLockRepo
      const publications = yield* PublicationsRepo
      const publishing = yield* Publishing
      const repo = yield* DropsRepo
      const stores = yield* StoresRepo
      const transaction = yield* Transaction

      const find = (id: DropId) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const drop = yield* repo.find(accountId, id)
          return Option.isNone(drop) ? yield* new NotFound() : drop.value
        })

      /** Locks all that the asks of a step will lock, in one order: two steps, or a step and an ask, never wait for each other. */
      const lockAll = (pairs: ReadonlyArray<Pick<DropAsk, "entityId" | "storeId">>) =>
        Effect.gen(function* () {
          const { accountId } = yield* CurrentActor
          const beside = yield* Effect.forEach(pairs, ({ entityId, storeId }) =>
            publications.besides(accountId, entityId, storeId)
          )
          const owners = new Set([...pairs.map(({ entityId }) => entityId), ...beside.flat()])
          return yield* drafts.lock(accountId, [...owners], [])
        })

      /** Writes the drafts of a step and asks for its publishes; its effects with what became of the asks. */
      const carryOut = (dropId: DropId, step: DropStep) =>
        Effect.gen(function* () {
          // They are locked, and the import lock is shared: nothing can refuse them any more.
          yield* Effect.orDie(changes.applyDropped(dropId, step.changes))
          const asked = new Map<string, Either.Either<PublicationId | null, PublishError>>()
          for (const { entityId, storeId, values } of step.asks) {
            const answer = yield* Effect.either(publishing.askValues(entityId, storeId, values, dropId))
            asked.set(
              `${entityId} ${storeId}`,
              Either.mapBoth(answer, {
                onLeft: ({ message }): PublishError => ({ code: "REFUSED", message }),
                onRight: (ask) => (ask.outcome === "nothing_to_publish" ? null : ask.publicationId)
              })
            )
          }
          return step.effects.map((effect): DropEffect => {
            if (effect.outcome !== null) return effect
            const answer = asked.get(`${effect.entityId} ${effect.storeId}`)
            if (answer === undefined) return effect
            return Either.match(answer, {
              onLeft: (error) => ({ ...effect, outcome: "failed" as const, error }),
              onRight: (publicationId) => ({ ...effect, publicationId })
            })
          })
        })

      const start = (due: DueStep, held: HeldDrop) =>
        Effect.gen(function* () {
          const linked = yield* stores.list(due.accountId)
          const publishable = new Set(linked.filter(({ platform }) => platform !== "none").map(({ id }) => id))
          const pairs = held.changes.flatMap(({ entity_id: entityId, store_id }) =>
            (store_id === null ? [...publishable] : [store_id]).map((storeId) => ({ entityId, storeId }))
          )
          const locked = yield* lockAll(pairs)
          const step = startDrop(held.changes, publishable, locked, yield* definitions.rules(due.accountId))
          yield* repo.move(due, {
            status: "applying",
            next: "settle_start",
            effects: yield* carryOut(due.id, step),
            outcomes: []
          })
        })

      const end = (due: DueStep, held: HeldDrop) =>
        Effect.gen(function* () {
          const locked = yield* lockAll(held.effects)
          const effects = yield* carryOut(due.id, endDrop(held.effects, locked))
          yield* repo.move(due, { status: held.status, next: "settle_end", effects, outcomes: [] })
        })

      /** Once every publish has ended: what became of each change. False: one has not. */
      const settle = (due: DueStep, held: HeldDrop) =>
        Effect.gen(function* () {
          const isStart = due.step === "settle_start"
          const open = held.effects.filter(({ outcome }) => outcome === null)
          const ids = [...new Set(open.flatMap(({ publicationId }) => publicationId ?? []))] as Array<PublicationId>
          const ended = new Map((yield* publishing.find(ids)).map((record) => [record.id as string, record]))
          if ([...ended.values()].some(({ state }) => state === "pending")) return false
          const contents = isStart ? yield* publications.contents(due.accountId, ids) : new Map()
          const settled = open.map((effect): DropEffect => {
            const record = ended.get(effect.publicationId ?? "")
            if (record === undefined || record.state === "failed")
              return { ...effect, outcome: "failed", error: record?.error ?? noRecord }
            if (!isStart) return { ...effect, outcome: "reverted" }
            const acceptedBefore = hadBefore(contents.get(record.id), effect.field) ?? effect.acceptedBefore
            return { ...effect, outcome: "applied", acceptedBefore }
          })
          const isSettled = (effect: DropEffect) =>
            settled.some(({ ordinal, storeId }) => ordinal === effect.ordinal && storeId === effect.storeId)
          const effects = [...held.effects.filter((effect) => !isSettled(effect)), ...settled]
          if (isStart) {
            const failed = effects.filter(({ outcome }) => outcome === "failed")
            const locked: Locked = yield* drafts.lock(
              due.accountId,
              [...new Set(failed.map(({ entityId }) => entityId))],
              []
            )
            yield* Effect.orDie(changes.applyDropped(due.id, withdrawn(failed, locked)))
          }
          const outcomes = outcomesOf(held.changes.length, effects)
          const hasFailed = outcomes.some(({ outcome }) => outcome === "failed")
          yield* repo.move(due, {
            status: hasFailed ? "failed" : isStart ? "applied" : "reverted",
            next: isStart && held.endsAt !== null ? "end" : null,
            effects: settled,
            outcomes
          })
          return true
        })

      /** One step in one transaction, whoever else tries; whether it was taken here. */
      const take = (due: DueStep) =>
        transaction
          .run(
            Effect.gen(function* () {
              // A drop of an account that an import keeps locked waits until that is over.
              if (Option.isSome(yield* importLock.share(due.accountId))) return false
              const held = yield* repo.hold(due)
              if (Option.isNone(held)) return false
              const isEnd = due.step === "start" || due.step === "end"
              const moved = yield* (
                due.step === "start"
                  ? Effect.as(start(due, held.value), true)
                  : due.step === "end"
                    ? Effect.as(end(due, held.value), true)
                    : settle(due, held.value)
              ).pipe(Effect.provideService(CurrentActor, held.value.actor))
              if (!moved) return false
              yield* faults.at(isEnd ? "dropMoving" : "dropSettling")
              yield* drafts.raise(due.accountId)
              return true
            })
          )
          .pipe(
            Effect.tap((isTaken) =>
              isTaken
                ? faults.at(due.step === "start" || due.step === "end" ? "dropMoved" : "dropSettled")
                : Effect.void
            ),
            Effect.catchAllCause((cause) =>
              Effect.as(Effect.logWarning(`The drop ${due.id} could not take its step ${due.step}`, cause), false)
            )
          )

      const runDue = Effect.gen(function* () {
        let taken = 0
        // Of others by now, or at fault: they are left alone until the next look, and keep nobody waiting.
        const left = new Set<DropId>()
        for (;;) {
          const steps = yield* repo.due(stepsAtOnce, [...left])
          if (steps.length === 0) return taken
          for (const due of steps) {
            if (yield* take(due)) taken++
            else left.add(due.id)
          }
        }
      })

      return {
        create: Effect.fn("Drops.create")(function* (given, creation) {
          const actor = yield* CurrentActor
          const { accountId } = actor
          const named = given.changes.flatMap(({ entity_id }) =>
            Option.toArray(Schema.decodeOption(EntityId)(entity_id.toLowerCase()))
          )
          const id = creation ?? (yield* mintId(DropId))
          yield* transaction.run(
            Effect.gen(function* () {
              yield* repo.alone(accountId)
              if (Option.isSome(yield* repo.find(accountId, id))) return
              const targets = yield* repo.targets(accountId, [...new Set(named)])
              const drop = yield* planDrop(
                given,
                yield* repo.now,
                yield* stores.list(accountId),
                targets,
                yield* definitions.rules(accountId)
              )
              const overlaps = yield* repo.overlaps(accountId, drop)
              if (overlaps.length > 0)
                return yield* new ValidationFailed({
                  issues: overlaps.map(({ id, name, ordinal }) => ({
                    path: `changes[${ordinal}]`,
                    message: `the drop ${JSON.stringify(name)} (${id}) has this field at the same time`
                  }))
                })
              yield* repo.insert(accountId, id, drop, actor)
              yield* drafts.raise(accountId)
            })
          )
          return yield* Effect.orDie(find(id))
        }),
        cancel: Effect.fn("Drops.cancel")(function* (id) {
          const actor = yield* CurrentActor
          const { accountId } = actor
          yield* transaction.run(
            Effect.gen(function* () {
              if (yield* repo.cancel(accountId, id, actor)) return yield* drafts.raise(accountId)
              const { status } = yield* find(id)
              return yield* ValidationFailed.at("id", `the drop is ${status}: only a scheduled one can be cancelled`)
            })
          )
          return yield* find(id)
        }),
        list: Effect.flatMap(CurrentActor, ({ accountId }) => repo.list(accountId, null)),
        get: Effect.fn("Drops.get")(find),
        ofEntity: Effect.fn("Drops.ofEntity")(function* (kind, id) {
          const { accountId } = yield* CurrentActor
          if (Option.isNone(yield* catalog.find(accountId, kind, id))) return yield* new NotFound()
          return yield* repo.list(accountId, id)
        }),
        runDue,
        work: runDue.pipe(
          Effect.catchAllCause((cause) => Effect.as(Effect.logWarning("Looking for drops failed", cause), 0)),
          Effect.repeat(Schedule.spaced(lookEvery)),
          Effect.zipRight(Effect.never)
        )
      }
    })
  )
}

const noRecord: PublishError = {
  code: "OUTCOME_UNKNOWN",
  message: "Nothing is known any more of what became of its publish."
}

/** What the store had of a field when this publish came: those before it may have failed. */
const hadBefore = (content: PublicationContent | undefined, field: string) =>
  content?._tag === "Fields" && content.before !== undefined ? valueOf(content.before, field) : undefined

/** The drops of a server: they come and go while it runs. */
export const layerWorker: Layer.Layer<never, never, Drops> = Layer.scopedDiscard(
  Effect.flatMap(Drops, ({ work }) => Effect.forkScoped(work))
)
