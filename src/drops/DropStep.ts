import { Array as Arr, type Effect, Schema } from "effect"
import { CatalogChange, type LockedCatalog } from "../drafts/CatalogChange.ts"
import { layersOf } from "../drafts/Divergence.ts"
import { typesFor } from "../drafts/DraftWrite.ts"
import { ActorJson } from "../model/Actor.ts"
import { AttributeValue, valueOf } from "../model/Attribute.ts"
import { misfitOfField } from "../model/AttributeRules.ts"
import { AccountId, DropId, EntityId, StoreId } from "../model/Ids.ts"
import { fits } from "../model/KeyRule.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { PublishError } from "../model/PublishState.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import { Timestamp } from "../model/Timestamp.ts"
import { DropOutcome, DropStatus, PlannedChange } from "./Drop.ts"

/**
 * The next step of a drop. `start` and `end` are due at their times. `settle_start` and `settle_end` are due when all publishes have
 * ended.
 */
export const DropStepName = Schema.Literal("start", "settle_start", "end", "settle_end")
export type DropStepName = typeof DropStepName.Type

/** A step that can be carried out now. */
export const DueStep = Schema.Struct({ accountId: AccountId, id: DropId, step: DropStepName })
export type DueStep = typeof DueStep.Type

/** Begins due steps, in the order of their times. */
export type BeginSteps = (steps: ReadonlyArray<DueStep>) => Effect.Effect<void>

/** The effect of a change on one store. */
export const DropEffect = Schema.Struct({
  /** Index of the change, from 0. */
  ordinal: Schema.Int,
  entityId: EntityId,
  /** Whether the entity was deleted. Nothing of the effect is carried out any more, also if its store is linked again. */
  isDeleted: Schema.Boolean,
  storeId: StoreId,
  field: Schema.String,
  value: Schema.String,
  /** The store's override before the drop; null: it inherited the canonical value. */
  overrideBefore: Schema.NullOr(AttributeValue),
  /** The store's accepted value before the drop. It is final when the publish of the start has ended. */
  acceptedBefore: Schema.String,
  /** The publication that was requested last; null: none. */
  publicationId: Schema.NullOr(Schema.String),
  /** null: the publish has not ended yet, or was refused and is not settled yet. */
  outcome: Schema.NullOr(DropOutcome),
  /** `refusal`: why the publish was refused before the store was unlinked. */
  error: Schema.NullOr(
    Schema.Struct({ ...PublishError.fields, refusal: Schema.optionalWith(PublishError, { exact: true }) })
  )
})
export type DropEffect = typeof DropEffect.Type

export const LockedChange = Schema.Struct({ ...PlannedChange.fields, outcome: Schema.NullOr(DropOutcome) })

/** A drop whose next step is being carried out. The transaction holds its row lock. */
export const LockedDrop = Schema.Struct({
  actor: ActorJson,
  status: DropStatus,
  endsAt: Schema.NullOr(Timestamp),
  changes: Schema.Array(LockedChange),
  effects: Schema.Array(DropEffect)
})
export type LockedDrop = typeof LockedDrop.Type

/** A change on one of its stores. `ordinal`: index of the change. */
export type StepTarget = Pick<DropEffect, "ordinal" | "entityId" | "storeId">

/** The outcome of a change on all its stores. */
export interface ChangeOutcome {
  readonly ordinal: number
  readonly outcome: DropOutcome | null
  readonly error: PublishError | null
}

/** Values of one entity to publish to one store. Other fields keep their accepted values. */
export interface ValuesToPublish {
  readonly entityId: EntityId
  readonly storeId: StoreId
  readonly values: Readonly<Record<string, string>>
}

/** The plan of a part of a start or an end: drafts to write, values to publish and effects to save. */
export interface PlannedStep {
  readonly effects: ReadonlyArray<DropEffect>
  readonly changes: ReadonlyArray<CatalogChange>
  readonly publishes: ReadonlyArray<ValuesToPublish>
}

/** The start wrote nothing, because the store was not linked. */
export const notLinkedCode = "STORE_NOT_LINKED"
/** The store was unlinked after the publish of the start had ended, and before the end. */
export const unlinkedCode = "STORE_UNLINKED"
/**
 * The store was unlinked before the publish of the start had ended. The end of the change waits for that publish, because its outcome has
 * the value that the store had before the drop.
 */
export const unsettledCode = "STORE_UNLINKED_AT_START"
/**
 * The store was unlinked before the publish of the earlier value had ended. It is sent when the store is linked again, so the end is not
 * planned again.
 */
export const unrevertedCode = "STORE_UNLINKED_AT_END"

export const unlinkedBeforePublished: PublishError = {
  code: unsettledCode,
  message: "The store was unlinked before the publish had ended."
}

export const unlinkedBeforeReverted: PublishError = {
  code: unrevertedCode,
  message: "The store was unlinked before the earlier value was published."
}

const unlinkedBeforeEnd: PublishError = {
  code: unlinkedCode,
  message: "The store was unlinked before the drop ended."
}

const hasFailedWith =
  (code: string) =>
  ({ error, isDeleted, outcome }: DropEffect) =>
    !isDeleted && outcome === "failed" && error?.code === code

/** Whether an effect failed because its store was unlinked before the publish of the start had ended. */
export const isUnsettled = hasFailedWith(unsettledCode)

/** Whether an effect failed because its store was unlinked before the earlier value was published. */
export const isUnreverted = hasFailedWith(unrevertedCode)

/** Why the publish of an effect of the start was refused; null: it was not. */
export const refusalOf = (effect: DropEffect): PublishError | null =>
  isUnsettled(effect) ? (effect.error?.refusal ?? null) : effect.error

/** Whether an effect failed because its store was not linked at the start. */
export const isNotLinked = hasFailedWith(notLinkedCode)

/** Whether an effect failed because its store was unlinked after the publish of the start, and before the end was planned there. */
const isUnended = hasFailedWith(unlinkedCode)

/** Whether an effect failed because its store was unlinked before the end was planned there. */
export const isUnlinked = (effect: DropEffect) => isUnsettled(effect) || isUnended(effect)

const toPublishes = (
  entries: ReadonlyArray<Pick<DropEffect, "entityId" | "storeId" | "field" | "value">>
): ReadonlyArray<ValuesToPublish> => {
  const publishes = new Map<string, ValuesToPublish>()
  for (const { entityId, field, storeId, value } of entries) {
    const key = `${entityId} ${storeId}`
    const before = publishes.get(key)
    publishes.set(key, { entityId, storeId, values: { ...before?.values, [field]: value } })
  }
  return [...publishes.values()]
}

const failure = (code: string, message: string): PublishError => ({ code, message })
const notLinked = failure(notLinkedCode, "The store was not linked when the drop started.")
const notOnStore = failure("NOT_ON_STORE", "The entity is no longer on the store.")
const onNoStore = failure("NOT_ON_STORE", "The entity is not on any store that can be published to.")
const neverAccepted = failure(
  "NEVER_PUBLISHED",
  "The entity was never published to the store. Publish it first: a drop changes values of a published entity."
)

const versionOn = ({ aggregates }: LockedCatalog, entityId: EntityId, storeId: StoreId) =>
  aggregates.get(entityId)?.versions.find((version) => version.storeId === storeId)

/** Why a change cannot start on a store; undefined: it can. Checked again here, because rules may have changed meanwhile. */
const startError = (
  { entity_id, field, value }: PlannedChange,
  storeId: StoreId,
  locked: LockedCatalog,
  rules: KeyRules
): PublishError | undefined => {
  if (!locked.storeIds.includes(storeId)) return notLinked
  const aggregate = locked.aggregates.get(entity_id)
  const version = versionOn(locked, entity_id, storeId)
  if (aggregate === undefined || version === undefined) return notOnStore
  if (version.accepted === null) return neverAccepted
  const misfit = misfitOfField(aggregate.kind, field, value, rules, layersOf(aggregate))
  return misfit && failure("INVALID_VALUE", `The ${misfit.at} ${field} ${misfit.message}.`)
}

/** The effects of each change. */
const byOrdinal = Arr.groupBy(({ ordinal }: DropEffect) => String(ordinal))

/** Maximum number of publishes that one transaction requests: until it ends, all writers of the account wait. */
const maxPublishes = 50

/** After this many failed parts, the next part is as small as it can be. */
export const maxFailedParts = Math.floor(Math.log2(maxPublishes))

/**
 * The next targets of a step, which one transaction carries out. All targets of an entity are in one part, because their values are
 * published together. Each of the `failedParts` halves the maximum number of publishes. If an entity alone has more, it is a part.
 */
export const takePart = <T extends StepTarget>(targets: ReadonlyArray<T>, failedParts: number): ReadonlyArray<T> => {
  const max = maxPublishes / 2 ** failedParts
  const part: Array<T> = []
  let publishes = 0
  for (const own of Object.values(Arr.groupBy(targets, ({ entityId }) => entityId))) {
    publishes += new Set(own.map(({ storeId }) => storeId)).size
    if (part.length > 0 && publishes > max) return part
    part.push(...own)
  }
  return part
}

/**
 * The targets on which a drop has still to start, perhaps on stores that do not have the entity. A change that has started before
 * starts on the stores that were not linked then, and are now.
 */
export const targetsToStart = (
  { changes, effects }: Pick<LockedDrop, "changes" | "effects">,
  stores: ReadonlyArray<Store>
): ReadonlyArray<StepTarget> => {
  const linked = new Set(stores.map(({ id }) => id))
  const publishable = stores.filter(({ platform }) => platform !== filesOnly).map(({ id }) => id)
  const earlier = byOrdinal(effects)
  return changes.flatMap(({ entity_id: entityId, outcome, store_id }, ordinal) => {
    const own = earlier[ordinal] ?? []
    const hasStarted = outcome !== null || own.length > 0
    const unlinked = own.filter((effect) => isNotLinked(effect) && linked.has(effect.storeId))
    const storeIds = hasStarted ? unlinked.map(({ storeId }) => storeId) : store_id === null ? publishable : [store_id]
    return storeIds.map((storeId) => ({ ordinal, entityId, storeId }))
  })
}

/**
 * Plans a part of the start: each value becomes an override of the store, and only the changed fields are published. `outcomes`: of
 * changes that no store has.
 */
export const startDrop = (
  changes: ReadonlyArray<PlannedChange>,
  part: ReadonlyArray<StepTarget>,
  locked: LockedCatalog,
  rules: KeyRules
): PlannedStep & { readonly outcomes: ReadonlyArray<ChangeOutcome> } => {
  const effects = part.flatMap(({ entityId, ordinal, storeId }): ReadonlyArray<DropEffect> => {
    const change = changes[ordinal]
    if (change === undefined) return []
    const { field, store_id, value } = change
    if (store_id === null && !locked.aggregates.get(entityId)?.storeIds.includes(storeId)) return []
    const base = { ordinal, entityId, isDeleted: false, storeId, field, value, publicationId: null }
    const error = startError(change, storeId, locked, rules)
    if (error !== undefined) return [{ ...base, overrideBefore: null, acceptedBefore: "", outcome: "failed", error }]
    const version = versionOn(locked, entityId, storeId)
    const overrideBefore = version?.overrides[field] ?? null
    const acceptedBefore = valueOf(version?.accepted?.attributes ?? {}, field)
    return [{ ...base, overrideBefore, acceptedBefore, outcome: null, error: null }]
  })
  const started = effects.filter(({ outcome }) => outcome === null)
  const withEffects = new Set(effects.map(({ ordinal }) => ordinal))
  const ordinals = new Set(part.map(({ ordinal }) => ordinal))
  return {
    effects,
    changes: started.map(({ entityId, field, storeId, value }) => {
      const kind = locked.aggregates.get(entityId)?.kind
      const types = kind === undefined ? {} : typesFor(rules, kind, [field])
      return CatalogChange.SetOverrides({ entityId, storeId, values: { [field]: value }, types })
    }),
    publishes: toPublishes(started),
    outcomes: [...ordinals].filter((ordinal) => !withEffects.has(ordinal)).map((ordinal) => outcomeOf(ordinal, []))
  }
}

/** Whether the store's override still has the value of the drop. */
const isUntouched = (locked: LockedCatalog, { entityId, field, storeId, value }: DropEffect) =>
  versionOn(locked, entityId, storeId)?.overrides[field]?.value === value

/** If a definition has given all values of the store another type since the start, the override gets that type. */
const typeBefore = (
  locked: LockedCatalog,
  { entityId, field, storeId }: DropEffect,
  before: AttributeValue
): string => {
  const version = versionOn(locked, entityId, storeId)
  const type = version?.overrides[field]?.type
  const isOfAll = type !== undefined && type === version?.accepted?.attributes[field]?.type
  return isOfAll && fits({ type }, before.value) ? type : before.type
}

const restoreOverride =
  (locked: LockedCatalog) =>
  (effect: DropEffect): CatalogChange => {
    const { entityId, field, overrideBefore, storeId } = effect
    return CatalogChange.SetOverrides({
      entityId,
      storeId,
      values: { [field]: overrideBefore?.value ?? null },
      ...(overrideBefore && { types: { [field]: typeBefore(locked, effect, overrideBefore) } })
    })
  }

/**
 * The effects that have still to end. Unsettled ones are among them: their start is settled first. Those that failed because their
 * store was unlinked wait until it is linked again.
 */
export const targetsToEnd = (
  effects: ReadonlyArray<DropEffect>,
  linked: ReadonlySet<StoreId>
): ReadonlyArray<DropEffect> =>
  effects.filter((effect) => effect.outcome === "applied" || (isUnlinked(effect) && linked.has(effect.storeId)))

/**
 * Plans a part of the end: applied changes get their earlier values back. Fields that were edited meanwhile do not change. Changes of
 * entities that are no longer on the store fail. Changes on stores that are not linked fail, and end when the store is linked again.
 */
export const endDrop = (
  effects: ReadonlyArray<DropEffect>,
  linked: ReadonlySet<StoreId>,
  locked: LockedCatalog
): PlannedStep => {
  // The start of an effect may have failed when it was settled.
  const toEnd = effects.filter((effect) => effect.outcome === "applied" || isUnended(effect))
  const onLinked = toEnd.filter(({ storeId }) => linked.has(storeId))
  const open = onLinked.filter((effect) => isUntouched(locked, effect))
  return {
    effects: [
      ...open.map((effect) => ({ ...effect, outcome: null, error: null })),
      ...onLinked
        .filter((effect) => !isUntouched(locked, effect))
        .map((effect) =>
          versionOn(locked, effect.entityId, effect.storeId) === undefined
            ? { ...effect, outcome: "failed" as const, error: notOnStore }
            : { ...effect, outcome: "skipped" as const, error: null }
        ),
      ...toEnd
        .filter(({ storeId }) => !linked.has(storeId))
        .map((effect) => ({ ...effect, outcome: "failed" as const, error: unlinkedBeforeEnd }))
    ],
    changes: open.map(restoreOverride(locked)),
    publishes: toPublishes(open.map((effect) => ({ ...effect, value: effect.acceptedBefore })))
  }
}

/** Restores the drafts of failed changes, so that the next publish does not send them. Edited fields do not change. */
export const withdrawFailed = (
  effects: ReadonlyArray<DropEffect>,
  locked: LockedCatalog
): ReadonlyArray<CatalogChange> =>
  effects.filter((effect) => effect.outcome === "failed" && isUntouched(locked, effect)).map(restoreOverride(locked))

const worstFirst = ["failed", "skipped", "applied", "reverted"] as const

/** The worst outcome of a change on its stores. A change without any store has failed. `effects`: those of the change. */
const outcomeOf = (ordinal: number, effects: ReadonlyArray<DropEffect>): ChangeOutcome => {
  if (effects.length === 0) return { ordinal, outcome: "failed", error: onNoStore }
  if (effects.some(({ outcome }) => outcome === null)) return { ordinal, outcome: null, error: null }
  const error = effects.find(({ outcome }) => outcome === "failed")?.error
  return {
    ordinal,
    outcome: worstFirst.find((each) => effects.some(({ outcome }) => outcome === each)) ?? null,
    error: error ? failure(error.code, error.message) : null
  }
}

/** The outcome of each change. */
export const outcomesOf = (count: number, effects: ReadonlyArray<DropEffect>): ReadonlyArray<ChangeOutcome> => {
  const own = byOrdinal(effects)
  return Array.from({ length: count }, (_, ordinal) => outcomeOf(ordinal, own[ordinal] ?? []))
}
