import { Either, Option, Schema } from "effect"
import { CatalogChange, type Locked } from "../drafts/CatalogChange.ts"
import { layersOf } from "../drafts/Divergence.ts"
import { typesFor } from "../drafts/DraftWrite.ts"
import { type Attributes, AttributeValue, EntityKind, valueOf } from "../model/Attribute.ts"
import { misfitOfField } from "../model/AttributeRules.ts"
import { type Issue, ValidationFailed } from "../model/Errors.ts"
import { DropId, EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { nameMisfit } from "../model/Name.ts"
import { PublishError } from "../model/PublishState.ts"
import type { Store } from "../model/Store.ts"
import { fromRfc3339, Timestamp } from "../model/Timestamp.ts"

/**
 * `applying` until every store has answered, then `applied`, or `failed` where at least one change did not arrive; `reverted`
 * once the fields are back as they were.
 */
export const DropStatus = Schema.Literal("scheduled", "applying", "applied", "failed", "cancelled", "reverted")
export type DropStatus = typeof DropStatus.Type

export const DropOutcome = Schema.Literal("applied", "failed", "reverted", "skipped")
export type DropOutcome = typeof DropOutcome.Type

/** A value that a field has for a while, on one store or on all that the entity lives on. */
export const DropChange = Schema.Struct({
  entity_id: EntityId,
  entity_type: EntityKind,
  store_id: Schema.NullOr(StoreId).annotations({ description: "null: every store the entity lives on." }),
  field: Schema.String.annotations({ description: "A built-in key, or `namespace.key` of a metafield." }),
  value: Schema.String.annotations({ description: "Always a string; lists and objects are JSON in a string." }),
  outcome: Schema.NullOr(DropOutcome).annotations({
    description:
      "null: nothing has become of it yet. `skipped`: somebody edited the field meanwhile, so it was left as it is at the end."
  }),
  error: Schema.NullOr(PublishError).annotations({ description: "Why it failed; else null." })
}).annotations({ identifier: "DropChange" })
export type DropChange = typeof DropChange.Type

/** Field changes that come at one time and, with `ends_at`, go at another. */
export const Drop = Schema.Struct({
  id: DropId,
  name: Schema.String,
  status: DropStatus,
  starts_at: Timestamp,
  ends_at: Schema.NullOr(Timestamp).annotations({ description: "null: the new values stay." }),
  timezone: Schema.String.annotations({ description: "IANA name, for display." }),
  changes: Schema.Array(DropChange)
}).annotations({ identifier: "Drop" })
export type Drop = typeof Drop.Type

/** A drop as somebody writes it down. */
export const NewDrop = Schema.Struct({
  name: Schema.String,
  /** RFC 3339 with an offset, as `ends_at`. */
  starts_at: Schema.String,
  ends_at: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  timezone: Schema.optionalWith(Schema.String, { default: () => "UTC" }),
  changes: Schema.Array(
    Schema.Struct({
      entity_id: Schema.String,
      store_id: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
      field: Schema.String,
      value: Schema.String
    })
  )
})
export type NewDrop = typeof NewDrop.Type

/** What a drop may be about: an entity, and the layers that know the types of its metafields. */
export interface DropTarget {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly layers: ReadonlyArray<Attributes>
  readonly storeIds: ReadonlyArray<StoreId>
}

export type PlannedChange = Omit<DropChange, "outcome" | "error">

/** A drop that may be kept. */
export interface PlannedDrop {
  readonly name: string
  readonly starts_at: Timestamp
  readonly ends_at: Timestamp | null
  readonly timezone: string
  readonly changes: ReadonlyArray<PlannedChange>
}

/** Changes of one drop: they are written in one transaction. */
export const mostDropChanges = 250

const isTimezone = (name: string) =>
  /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name) &&
  Option.isSome(Option.liftThrowable((timeZone: string) => new Intl.DateTimeFormat("en", { timeZone }))(name))

const sameText = (left: string, right: string) => left.toLowerCase() === right.toLowerCase()

/** Whether two changes write the same field of the same entity on a store that both mean. */
const meet = (
  left: { readonly entity_id: string; readonly store_id: string | null; readonly field: string },
  right: typeof left
) =>
  sameText(left.entity_id, right.entity_id) &&
  left.field === right.field &&
  (left.store_id === null || right.store_id === null || sameText(left.store_id, right.store_id))

/** Checks a drop against what is there; every path that does not fit is named. */
export const planDrop = (
  given: NewDrop,
  now: Timestamp,
  stores: ReadonlyArray<Store>,
  targets: ReadonlyMap<EntityId, DropTarget>,
  rules: KeyRules
): Either.Either<PlannedDrop, ValidationFailed> => {
  const issues: Array<Issue> = []
  const note = (path: string, message: string | undefined) => {
    if (message !== undefined) issues.push({ path, message })
  }
  const time = (path: string, text: string) => {
    const read = fromRfc3339(text)
    if (Either.isLeft(read)) note(path, read.left)
    return Either.getOrNull(read)
  }
  const name = given.name.trim()
  note("name", nameMisfit(name))
  const startsAt = time("starts_at", given.starts_at)
  if (startsAt !== null && startsAt < now) note("starts_at", "lies in the past")
  const endsAt = given.ends_at === null ? null : time("ends_at", given.ends_at)
  if (startsAt !== null && endsAt !== null && endsAt <= startsAt) note("ends_at", "must be later than the start")
  if (!isTimezone(given.timezone)) note("timezone", "must be an IANA time zone such as Europe/Berlin")
  if (given.changes.length < 1 || given.changes.length > mostDropChanges)
    note("changes", `must hold 1 to ${mostDropChanges} changes`)

  const changes = given.changes.slice(0, mostDropChanges).flatMap((change, index): ReadonlyArray<PlannedChange> => {
    const path = `changes[${index}]`
    const target = targets.get(change.entity_id.toLowerCase() as EntityId)
    const store = stores.find(({ id }) => id === change.store_id?.toLowerCase())
    const earlier = given.changes.findIndex((other) => meet(other, change))
    if (earlier < index) note(path, `writes the same field as changes[${earlier}]`)
    if (change.store_id !== null && store === undefined) note(`${path}.store_id`, "no such store is linked")
    if (target === undefined) {
      note(`${path}.entity_id`, "no such entity")
      return []
    }
    const reached = stores.filter(
      ({ id, platform }) =>
        platform !== "none" && target.storeIds.includes(id) && (store === undefined || id === store.id)
    )
    if (store !== undefined && !target.storeIds.includes(store.id))
      note(`${path}.store_id`, `the ${target.kind} is not on ${store.domain}`)
    else if (store?.platform === "none")
      note(`${path}.store_id`, `${store.domain} is known by its files alone: nothing can be published to it`)
    else if (change.store_id === null && reached.length === 0)
      note(`${path}.store_id`, `the ${target.kind} is on no store that anything can be published to`)
    const wrong = misfitOfField(target.kind, change.field, change.value, rules, target.layers)
    note(`${path}.${wrong?.at}`, wrong?.message)
    const { field, value } = change
    return [{ entity_id: target.id, entity_type: target.kind, store_id: store?.id ?? null, field, value }]
  })
  return issues.length > 0 || startsAt === null
    ? Either.left(new ValidationFailed({ issues }))
    : Either.right({ name, starts_at: startsAt, ends_at: endsAt, timezone: given.timezone, changes })
}

/** What a drop did, or could not do, to one field on one store. */
export const DropEffect = Schema.Struct({
  /** Which of the drop's changes, from 0. */
  ordinal: Schema.Int,
  entityId: EntityId,
  storeId: StoreId,
  field: Schema.String,
  value: Schema.String,
  /** The store's own value before; null: it inherited the canonical one. */
  overrideBefore: Schema.NullOr(AttributeValue),
  /** What the store had accepted before: known for certain once the publish that brings the value has ended. */
  acceptedBefore: Schema.String,
  /** The last publish that was asked for it; null: none was. */
  publicationId: Schema.NullOr(Schema.String),
  /** null: its publish has not ended. */
  outcome: Schema.NullOr(DropOutcome),
  error: Schema.NullOr(PublishError)
})
export type DropEffect = typeof DropEffect.Type

/** Values to publish to one store, and nothing else of the entity. */
export interface DropAsk {
  readonly entityId: EntityId
  readonly storeId: StoreId
  readonly values: Readonly<Record<string, string>>
}

/** One end of a drop, decided under the locks. */
export interface DropStep {
  readonly effects: ReadonlyArray<DropEffect>
  readonly changes: ReadonlyArray<CatalogChange>
  readonly asks: ReadonlyArray<DropAsk>
}

const asksOf = (
  entries: ReadonlyArray<{
    readonly entityId: EntityId
    readonly storeId: StoreId
    readonly field: string
    readonly value: string
  }>
): ReadonlyArray<DropAsk> => {
  const asks = new Map<string, DropAsk>()
  for (const { entityId, field, storeId, value } of entries) {
    const key = `${entityId} ${storeId}`
    const before = asks.get(key)
    asks.set(key, { entityId, storeId, values: { ...before?.values, [field]: value } })
  }
  return [...asks.values()]
}

const failure = (code: string, message: string): PublishError => ({ code, message })
const notOnStore = failure("NOT_ON_STORE", "The entity is not on the store any more.")
const onNoStore = failure("NOT_ON_STORE", "The entity is on no store that anything can be published to.")
const neverAccepted = failure(
  "NEVER_PUBLISHED",
  "The entity was never published to the store, so there is nothing to publish the new value with: publish it first."
)

const versionOn = ({ aggregates }: Locked, entityId: EntityId, storeId: StoreId) =>
  aggregates.get(entityId)?.versions.find((version) => version.storeId === storeId)

/** The start: each field gets its value on each store, as that store's own, and that alone is published. */
export const startDrop = (
  changes: ReadonlyArray<PlannedChange>,
  publishable: ReadonlySet<StoreId>,
  locked: Locked,
  rules: KeyRules
): DropStep => {
  const failed: Array<DropEffect> = []
  const effects = changes.flatMap((change, ordinal): ReadonlyArray<DropEffect> => {
    const { entity_id: entityId, field, value } = change
    const aggregate = locked.aggregates.get(entityId)
    const base = {
      ordinal,
      entityId,
      field,
      value,
      overrideBefore: null,
      acceptedBefore: "",
      publicationId: null
    }
    const storeIds =
      change.store_id === null ? (aggregate?.storeIds ?? []).filter((id) => publishable.has(id)) : [change.store_id]
    return storeIds.flatMap((storeId) => {
      const version = versionOn(locked, entityId, storeId)
      // A definition may have changed since the drop was made.
      const wrong =
        aggregate === undefined ? undefined : misfitOfField(aggregate.kind, field, value, rules, layersOf(aggregate))
      if (version?.accepted == null || wrong !== undefined) {
        const error =
          version === undefined
            ? notOnStore
            : version.accepted === null
              ? neverAccepted
              : failure("INVALID_VALUE", `The ${wrong?.at} ${field} ${wrong?.message}.`)
        failed.push({ ...base, storeId, outcome: "failed", error })
        return []
      }
      return [
        {
          ...base,
          storeId,
          overrideBefore: version.overrides[field] ?? null,
          acceptedBefore: valueOf(version.accepted.attributes, field),
          outcome: null,
          error: null
        }
      ]
    })
  })
  return {
    effects: [...effects, ...failed],
    changes: effects.map(({ entityId, field, storeId, value }) => {
      const kind = locked.aggregates.get(entityId)?.kind
      const types = kind === undefined ? {} : typesFor(rules, kind, [field])
      return CatalogChange.SetOverrides({ entityId, storeId, values: { [field]: value }, types })
    }),
    asks: asksOf(effects)
  }
}

/** Whether a store's own value is still the one that the drop gave it. */
const isUntouched = (locked: Locked, { entityId, field, storeId, value }: DropEffect) =>
  versionOn(locked, entityId, storeId)?.overrides[field]?.value === value

const restored = ({ entityId, field, overrideBefore, storeId }: DropEffect) =>
  CatalogChange.SetOverrides({
    entityId,
    storeId,
    values: { [field]: overrideBefore?.value ?? null },
    ...(overrideBefore === null ? {} : { types: { [field]: overrideBefore.type } })
  })

/** The end: what arrived goes back to what it was, unless somebody edited it since. */
export const endDrop = (effects: ReadonlyArray<DropEffect>, locked: Locked): DropStep => {
  const arrived = effects.filter(({ outcome }) => outcome === "applied")
  const [edited, untouched] = [
    arrived.filter((effect) => !isUntouched(locked, effect)),
    arrived.filter((effect) => isUntouched(locked, effect))
  ]
  return {
    effects: [
      ...untouched.map((effect) => ({ ...effect, outcome: null })),
      ...edited.map((effect) => ({ ...effect, outcome: "skipped" as const }))
    ],
    changes: untouched.map(restored),
    asks: asksOf(untouched.map((effect) => ({ ...effect, value: effect.acceptedBefore })))
  }
}

/** Drafts of what did not arrive go back, unless somebody edited them since: the next publish must not bring it. */
export const withdrawn = (effects: ReadonlyArray<DropEffect>, locked: Locked): ReadonlyArray<CatalogChange> =>
  effects.filter((effect) => effect.outcome === "failed" && isUntouched(locked, effect)).map(restored)

const worst = ["failed", "skipped", "applied", "reverted"] as const

/** What has become of each change: of its stores the worst counts. One without a store at the time failed. */
export const outcomesOf = (
  count: number,
  effects: ReadonlyArray<DropEffect>
): ReadonlyArray<{
  readonly ordinal: number
  readonly outcome: DropOutcome | null
  readonly error: PublishError | null
}> =>
  Array.from({ length: count }, (_, ordinal) => {
    const own = effects.filter((effect) => effect.ordinal === ordinal)
    if (own.length === 0) return { ordinal, outcome: "failed" as const, error: onNoStore }
    if (own.some(({ outcome }) => outcome === null)) return { ordinal, outcome: null, error: null }
    return {
      ordinal,
      outcome: worst.find((each) => own.some(({ outcome }) => outcome === each)) ?? null,
      error: own.find(({ outcome }) => outcome === "failed")?.error ?? null
    }
  })
