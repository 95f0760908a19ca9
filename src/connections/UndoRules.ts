import { Array as Arr, Either, Schema } from "effect"
import { CatalogChange } from "../drafts/CatalogChange.ts"
import { typesFor } from "../drafts/DraftWrite.ts"
import { HistoryAction, HistoryActor } from "../drafts/History.ts"
import { EntityKind } from "../model/Attribute.ts"
import { attributeIssues } from "../model/AttributeRules.ts"
import { ConnectionId, EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import { fromMillis, fromRfc3339, Timestamp, toMillis } from "../model/Timestamp.ts"

/**
 * The writes to undo: from `since` to `until`, both inclusive. `until` is the time of the review, so that a confirmation undoes
 * nothing that the review did not include.
 */
export const UndoWindow = Schema.Struct({ since: Timestamp, until: Timestamp })
export type UndoWindow = typeof UndoWindow.Type

/**
 * A field that a connection wrote in a window, or another change that it made to one layer of an entity. Additions
 * to a store are left out if the entity has left it, or if it is a variant or picture that the same write added with its product: such
 * parts stay or leave with it.
 */
export const WrittenField = Schema.Struct({
  entityId: EntityId,
  kind: EntityKind,
  title: Schema.String,
  /** null: the canonical record. */
  storeId: Schema.NullOr(StoreId),
  storeDomain: Schema.NullOr(Schema.String),
  /** Whether the field's layer exists. A store's layer exists if the store is linked and has the entity. */
  isThere: Schema.Boolean,
  /** `attributes`: the value of `key` was changed. Other actions change the whole layer and have no key and values. */
  action: HistoryAction,
  key: Schema.String,
  /** The current value. Null: no value; an override then inherits the canonical value. */
  now: Schema.NullOr(Schema.String),
  /**
   * The value before the connection's last uninterrupted run of writes: nobody else wrote during or after it. If a drop wrote that value and
   * has ended since, or failed: the value before the drop.
   */
  before: Schema.NullOr(Schema.String),
  /** The actor that changed the field after the connection; of an addition: anything on that store, or the gallery. Null: no actor did. */
  laterActor: Schema.NullOr(HistoryActor),
  /** If the later change is an undo: the connection whose writes it undid. */
  laterUndoOf: Schema.NullOr(ConnectionId),
  /** Whether an addition must stay: the store has the entity, or one of its variants, may have it, or is about to get it. */
  isKept: Schema.Boolean,
  /**
   * Whether a variant or picture that would leave the store with the added product was changed or created there since, by somebody else, or
   * by the connection after the review.
   */
  hasEditedParts: Schema.Boolean
})
export type WrittenField = typeof WrittenField.Type

const compare = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0)

/** By entity, domain (canonical values first), store, action and key. */
export const byField = (left: WrittenField, right: WrittenField): number =>
  compare(left.entityId, right.entityId) ||
  compare(left.storeDomain ?? "", right.storeDomain ?? "") ||
  compare(left.storeId ?? "", right.storeId ?? "") ||
  compare(left.action, right.action) ||
  compare(left.key, right.key)

/**
 * Why a field is not undone. `edited_since`: somebody else changed it after the connection. `already_back`: it has its earlier
 * value. `not_on_store`: the entity is no longer on the store, or the store is not linked.
 * `misfit`: the earlier value no longer fits the rule of its key. `kept_on_store`: the entity was published to the store that it was added
 * to, is being published, or a gallery there shows it. `not_a_value`: a change of media, members or the order of variants.
 */
export const NotUndoneReason = Schema.Literal(
  "edited_since",
  "already_back",
  "not_on_store",
  "misfit",
  "kept_on_store",
  "not_a_value"
)
export type NotUndoneReason = typeof NotUndoneReason.Type

/**
 * The effect of an undo on a field. If `left` is null, the value changes from `now` back to `before`, or the entity leaves the store
 * (`isAddition`).
 */
export const FieldUndo = Schema.Struct({
  ...WrittenField.omit("hasEditedParts", "isKept", "isThere", "laterUndoOf").fields,
  left: Schema.NullOr(NotUndoneReason)
})
export type FieldUndo = typeof FieldUndo.Type

/** Whether the change added an entity to a store. Its undo takes it off again. */
export const isAddition = ({ action }: Pick<FieldUndo, "action">): boolean => action === "added_to_store"

const reasonOfAddition = ({ hasEditedParts, isKept, isThere, laterActor }: WrittenField): NotUndoneReason | null => {
  if (!isThere) return "not_on_store"
  if (isKept) return "kept_on_store"
  return laterActor !== null || hasEditedParts ? "edited_since" : null
}

const reasonOf = (id: ConnectionId, field: WrittenField, rules: KeyRules): NotUndoneReason | null => {
  const { action, before, isThere, key, kind, laterActor, laterUndoOf, now } = field
  if (isAddition(field)) return reasonOfAddition(field)
  // Its layer left the store with an addition that an earlier undo has undone.
  if (laterActor !== null && laterUndoOf === id) return "already_back"
  if (!isThere) return "not_on_store"
  if (action !== "attributes") return "not_a_value"
  if (laterActor !== null) return "edited_since"
  if (now === before) return "already_back"
  const layers = now === null ? [] : [{ [key]: { value: now, type: "" } }]
  return attributeIssues(kind, [{ key, value: before }], rules, layers).length > 0 ? "misfit" : null
}

export const decideField = (id: ConnectionId, field: WrittenField, rules: KeyRules): FieldUndo => {
  const { hasEditedParts: _, isKept: __, isThere: ___, laterUndoOf: ____, ...shown } = field
  return { ...shown, left: reasonOf(id, field, rules) }
}

/** The layer of values that a field belongs to. */
export const layerKey = ({ entityId, storeId }: Pick<FieldUndo, "entityId" | "storeId">): string =>
  `${entityId} ${storeId}`

/** The catalog changes that write the earlier values of fields: at most one per layer of an entity. */
export const undoChanges = (fields: ReadonlyArray<FieldUndo>, rules: KeyRules): ReadonlyArray<CatalogChange> => {
  const undone = fields.filter((field) => field.left === null && !isAddition(field))
  return Object.values(Arr.groupBy(undone, layerKey)).map((layer) => {
    const [{ entityId, kind, storeId }] = layer
    const values = Object.fromEntries(layer.map(({ before, key }) => [key, before]))
    const types = typesFor(rules, kind, Object.keys(values))
    return storeId === null
      ? CatalogChange.SetAttributes({ entityId, values, types })
      : CatalogChange.SetOverrides({ entityId, storeId, values, types })
  })
}

const day = 86_400_000

/** Named starts of a window, in milliseconds since 1970. */
const starts: Readonly<Record<string, (now: number) => number>> = {
  hour: (now) => now - 3_600_000,
  today: (now) => now - (now % day),
  week: (now) => now - 7 * day
}

const startNames = Object.keys(starts)

/** The start of a window: `hour`, `today` (UTC), `week` (seven days), or an RFC 3339 time. Left: a message for people. */
export const parseSince = (text: string, now: Timestamp): Either.Either<Timestamp, string> => {
  const start = Object.hasOwn(starts, text) ? starts[text] : undefined
  return start === undefined
    ? Either.mapLeft(fromRfc3339(text), (rule) => `${rule}, or one of ${startNames.join(", ")}`)
    : Either.right(fromMillis(start(toMillis(now))))
}
