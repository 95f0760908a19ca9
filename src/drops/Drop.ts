import { Array as Arr, Either, Option, Schema } from "effect"
import { type Attributes, EntityKind } from "../model/Attribute.ts"
import { misfitOfField } from "../model/AttributeRules.ts"
import { type Issue, ValidationFailed } from "../model/Errors.ts"
import { DropId, EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { nameMisfit } from "../model/Name.ts"
import { PublishError } from "../model/PublishState.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import { fromRfc3339, Timestamp } from "../model/Timestamp.ts"

/**
 * State of a drop. `applying` until all publishes of the start have ended; then `applied`, or `failed` if at least one change
 * failed. `reverted` after the end, when the fields have their earlier values again.
 */
export const DropStatus = Schema.Literal("scheduled", "applying", "applied", "failed", "cancelled", "reverted")
export type DropStatus = typeof DropStatus.Type

export const DropOutcome = Schema.Literal("applied", "failed", "reverted", "skipped")
export type DropOutcome = typeof DropOutcome.Type

/** A new value for a field, on one store or on all stores of the entity. */
export const DropChange = Schema.Struct({
  entity_id: EntityId,
  entity_type: EntityKind,
  store_id: Schema.NullOr(StoreId).annotations({ description: "null: all stores of the entity." }),
  field: Schema.String.annotations({ description: "A built-in key, or `namespace.key` of a metafield." }),
  value: Schema.String.annotations({ description: "Always a string; lists and objects are JSON in a string." }),
  outcome: Schema.NullOr(DropOutcome).annotations({
    description:
      "null: no outcome yet. `skipped`: the field was edited meanwhile, so the end of the drop did not change it."
  }),
  error: Schema.NullOr(PublishError).annotations({ description: "Why it failed; else null." }),
  /** The last name of an entity that was deleted after the drop had ended. */
  deleted_name: Schema.NullOr(Schema.String).annotations({ description: "null: not deleted." })
}).annotations({ identifier: "DropChange" })
export type DropChange = typeof DropChange.Type

/** Field changes that are published at one time and, with `ends_at`, reverted at another time. */
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

/** A drop without its changes, for lists. */
export const DropRow = Schema.Struct({
  ...Drop.omit("changes").fields,
  /** Whether a step is left: it is scheduled or under way, or its end will come. */
  isOpen: Schema.Boolean,
  /** Number of changes. */
  changes: Schema.Int,
  /** Number of changed entities. */
  entities: Schema.Int,
  /** The changed fields, in the order of their keys. */
  fields: Schema.Array(Schema.String)
})
export type DropRow = typeof DropRow.Type

/** The value that a change of a drop has replaced. null: it differs between the stores of the change. */
export const EarlierValue = Schema.Struct({
  ...DropChange.pick("entity_id", "store_id", "field").fields,
  value: Schema.NullOr(Schema.String)
})
export type EarlierValue = typeof EarlierValue.Type

/** The place of a drop in lists by start, then id. */
export type DropPlace = Pick<Drop, "starts_at" | "id">

/** A request to schedule a drop, before it is checked. Times are RFC 3339 with an offset. */
export const NewDrop = Schema.Struct({
  name: Schema.String,
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

/** An entity that a drop can change. `layers`: attributes in which the types of metafields are looked up. */
export interface DropTarget {
  readonly id: EntityId
  readonly kind: EntityKind
  readonly layers: ReadonlyArray<Attributes>
  readonly storeIds: ReadonlyArray<StoreId>
}

export const PlannedChange = DropChange.omit("outcome", "error", "deleted_name")
export type PlannedChange = typeof PlannedChange.Type

/** A drop that has passed the checks. */
export interface PlannedDrop {
  readonly name: string
  readonly starts_at: Timestamp
  readonly ends_at: Timestamp | null
  readonly timezone: string
  readonly changes: ReadonlyArray<PlannedChange>
}

/** Another drop that changes the same field on the same store at the same time. `ordinal`: index of the change. */
export const Overlap = Schema.Struct({
  ordinal: Schema.Int,
  ...Drop.pick("id", "name", "starts_at", "ends_at", "timezone").fields
})
export type Overlap = typeof Overlap.Type

/** Maximum number of changes of a drop. It is limited because answers, and each part of a step, read all of them. */
export const maxDropChanges = 2_000

const isTimezone = (name: string) =>
  /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name) &&
  Option.isSome(Option.liftThrowable((timeZone: string) => new Intl.DateTimeFormat("en", { timeZone }))(name))

const sameText = (left: string, right: string) => left.toLowerCase() === right.toLowerCase()

/** Whether two changes write the same field of an entity on a common store. */
export const isSameField = (
  left: { readonly entity_id: string; readonly store_id: string | null; readonly field: string },
  right: typeof left
) =>
  sameText(left.entity_id, right.entity_id) &&
  left.field === right.field &&
  (left.store_id === null || right.store_id === null || sameText(left.store_id, right.store_id))

const fieldKey = ({ entity_id, field }: Pick<NewDrop["changes"][number], "entity_id" | "field">) =>
  `${entity_id.toLowerCase()} ${field}`

/** Whether two drops are under way at the same time. A drop that starts when the other ends is not. */
export const isSameTime = (
  left: Pick<PlannedDrop, "starts_at" | "ends_at">,
  right: Pick<PlannedDrop, "starts_at" | "ends_at">
): boolean =>
  (right.ends_at === null || left.starts_at < right.ends_at) &&
  (left.ends_at === null || right.starts_at < left.ends_at)

/** Checks a drop against the current state of the account. Each issue has the path of the wrong field. */
export const planDrop = (
  newDrop: NewDrop,
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
  const name = newDrop.name.trim()
  note("name", nameMisfit(name))
  const startsAt = time("starts_at", newDrop.starts_at)
  if (startsAt !== null && startsAt < now) note("starts_at", "must not be in the past")
  const endsAt = newDrop.ends_at === null ? null : time("ends_at", newDrop.ends_at)
  if (startsAt !== null && endsAt !== null && endsAt <= startsAt) note("ends_at", "must be later than the start")
  if (!isTimezone(newDrop.timezone)) note("timezone", "must be an IANA time zone such as Europe/Berlin")
  if (newDrop.changes.length < 1 || newDrop.changes.length > maxDropChanges)
    note("changes", `must have 1 to ${maxDropChanges} changes`)

  const given = newDrop.changes.slice(0, maxDropChanges)
  const ofField = Arr.groupBy(
    given.map((change, index) => ({ ...change, index })),
    fieldKey
  )
  const changes = given.flatMap((change, index): ReadonlyArray<PlannedChange> => {
    const path = `changes[${index}]`
    const target = targets.get(change.entity_id.toLowerCase() as EntityId)
    const store = stores.find(({ id }) => id === change.store_id?.toLowerCase())
    const earlier = (ofField[fieldKey(change)] ?? []).find((other) => isSameField(other, change))?.index ?? index
    if (earlier < index) note(path, `writes the same field as changes[${earlier}]`)
    if (change.store_id !== null && store === undefined) note(`${path}.store_id`, "no such store is linked")
    if (target === undefined) {
      note(`${path}.entity_id`, "no such entity")
      return []
    }
    const publishable = stores.filter(({ id, platform }) => platform !== filesOnly && target.storeIds.includes(id))
    if (store !== undefined && !target.storeIds.includes(store.id))
      note(`${path}.store_id`, `the ${target.kind} is not on ${store.domain}`)
    else if (store?.platform === filesOnly)
      note(`${path}.store_id`, `${store.domain} has no platform: nothing can be published to it`)
    else if (change.store_id === null && publishable.length === 0)
      note(`${path}.store_id`, `the ${target.kind} is not on any store that can be published to`)
    const misfit = misfitOfField(target.kind, change.field, change.value, rules, target.layers)
    note(`${path}.${misfit?.at}`, misfit?.message)
    const { field, value } = change
    return [{ entity_id: target.id, entity_type: target.kind, store_id: store?.id ?? null, field, value }]
  })
  return issues.length > 0 || startsAt === null
    ? Either.left(new ValidationFailed({ issues }))
    : Either.right({ name, starts_at: startsAt, ends_at: endsAt, timezone: newDrop.timezone, changes })
}
