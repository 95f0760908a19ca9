import { Schema } from "effect"
import { Attributes, EntityKind, valueOf } from "../model/Attribute.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import type { Store } from "../model/Store.ts"
import { discounted } from "./Discount.ts"
import type { NewDrop, Overlap } from "./Drop.ts"

/** An entity that can be chosen for a drop, with its values on linked stores. */
export const DropThing = Schema.Struct({
  id: EntityId,
  kind: EntityKind,
  title: Schema.String,
  /** The product of a variant. */
  parentId: Schema.NullOr(EntityId),
  parentTitle: Schema.NullOr(Schema.String),
  attributes: Attributes,
  versions: Schema.Array(
    Schema.Struct({
      storeId: StoreId,
      overrides: Attributes,
      /** The values that the store accepted last. null: it was never published there. */
      accepted: Schema.NullOr(Attributes),
      /** The values that the end of another drop will publish, by field. */
      restored: Schema.Record({ key: Schema.String, value: Schema.String })
    })
  )
})
export type DropThing = typeof DropThing.Type

/** Selects the entities to read, and their fields. */
export interface ThingsQuery {
  readonly ids: ReadonlyArray<EntityId>
  /** Whether each product is followed by its variants that are not among `ids`. */
  readonly withVariants: boolean
  readonly fields: ReadonlyArray<string>
  readonly limit: number
}

/** A value for one field of all chosen things of a kind. */
export interface FieldValue {
  readonly kind: EntityKind
  readonly field: string
  readonly value: string
}

/** The changes of a drop as merchants choose them: for all chosen things at once. */
export interface Choice {
  /** null: all stores of each thing. */
  readonly store: Store | null
  /** A discount on the prices of variants, in hundredths of a percent. Only with one store. */
  readonly discount: bigint | null
  /** Whether the discount also copies the current price into `compare_at_price`. */
  readonly keepsOldPrice: boolean
  readonly values: ReadonlyArray<FieldValue>
}

/** A change, and the store's value before it. `before` null: the stores have different values. */
export interface ComposedChange {
  readonly thing: DropThing
  readonly store_id: StoreId | null
  readonly field: string
  readonly before: string | null
  readonly value: string
  /** Whether the thing was never published to the store, so the change would fail unless it is published first. */
  readonly isUnpublished: boolean
}

/** A thing that a part of the choice cannot change, and why. */
export interface LeftOut {
  readonly thing: DropThing
  readonly reason: "no_price" | "not_reduced" | "not_on_store"
  /** The price that the discount would not reduce; otherwise empty. */
  readonly price: string
}

interface Composition {
  readonly changes: ReadonlyArray<ComposedChange>
  readonly leftOut: ReadonlyArray<LeftOut>
}

/** The value that a store shows: the accepted one. Before the first publish: the draft's. */
const shownOn = ({ attributes }: DropThing, { accepted, overrides }: DropThing["versions"][number], field: string) =>
  valueOf(accepted ?? { ...attributes, ...overrides }, field)

const onStore = (thing: DropThing, storeId: StoreId) => thing.versions.find((version) => version.storeId === storeId)

const versionsOn = ({ versions }: DropThing, store: StoreId | null) =>
  versions.filter(({ storeId }) => store === null || storeId === store)

/** The value that `store` shows now; null: each linked store. Returns null if the stores show different values. */
export const valueNow = (thing: DropThing, store: StoreId | null, field: string): string | null => {
  const [first = "", ...others] = new Set(versionsOn(thing, store).map((version) => shownOn(thing, version, field)))
  return others.length > 0 ? null : first
}

const changeOf = (thing: DropThing, store: StoreId | null, field: string, value: string): ComposedChange => ({
  thing,
  store_id: store,
  field,
  before: valueNow(thing, store, field),
  value,
  isUnpublished: versionsOn(thing, store).some(({ accepted }) => accepted === null)
})

/** The changes of one variant's prices, or the reason why it keeps them. */
const discountOf = (thing: DropThing, store: Store, { discount, keepsOldPrice }: Choice): Composition => {
  const version = onStore(thing, store.id)
  if (version === undefined || discount === null) return { changes: [], leftOut: [] }
  // Another drop that has changed the price ends before the new one starts: two drops of a field may not overlap.
  const price = version.restored.price ?? shownOn(thing, version, "price")
  const reduced = discounted(price, discount, store.currency)
  if (reduced === undefined) return { changes: [], leftOut: [{ thing, reason: "no_price", price: "" }] }
  if (reduced === price || Number(reduced) >= Number(price))
    return { changes: [], leftOut: [{ thing, reason: "not_reduced", price }] }
  return {
    changes: [
      changeOf(thing, store.id, "price", reduced),
      ...(keepsOldPrice ? [changeOf(thing, store.id, "compare_at_price", price)] : [])
    ],
    leftOut: []
  }
}

/** Works out the changes of a choice: the discount first, then the fields, thing by thing. */
export const compose = (things: ReadonlyArray<DropThing>, choice: Choice): Composition => {
  const { discount, store, values } = choice
  const parts = things.map((thing): Composition => {
    const own = values.filter(({ kind }) => kind === thing.kind)
    const isDiscounted = discount !== null && thing.kind === "variant"
    if (own.length === 0 && !isDiscounted) return { changes: [], leftOut: [] }
    if (store !== null && onStore(thing, store.id) === undefined)
      return { changes: [], leftOut: [{ thing, reason: "not_on_store", price: "" }] }
    const reduced = isDiscounted && store !== null ? discountOf(thing, store, choice) : { changes: [], leftOut: [] }
    return {
      changes: [...reduced.changes, ...own.map(({ field, value }) => changeOf(thing, store?.id ?? null, field, value))],
      leftOut: reduced.leftOut
    }
  })
  return { changes: parts.flatMap(({ changes }) => changes), leftOut: parts.flatMap(({ leftOut }) => leftOut) }
}

export const toNewChanges = (changes: ReadonlyArray<ComposedChange>): NewDrop["changes"] =>
  changes.map(({ field, store_id, thing, value }) => ({ entity_id: thing.id, store_id, field, value }))

/** The changes that no other drop writes at the same time. */
export const withoutOverlaps = (
  changes: ReadonlyArray<ComposedChange>,
  overlaps: ReadonlyArray<Overlap>
): ReadonlyArray<ComposedChange> => {
  const ordinals = new Set(overlaps.map(({ ordinal }) => ordinal))
  return changes.filter((_, index) => !ordinals.has(index))
}
