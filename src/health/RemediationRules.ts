import { Schema } from "effect"
import type { Aggregate, VersionState } from "../catalog/Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "../drafts/CatalogChange.ts"
import {
  type ComparedBy,
  type Comparison,
  comparedByOf,
  disagreeingGroups,
  effectiveValue,
  layersOf
} from "../drafts/Divergence.ts"
import { typesFor } from "../drafts/DraftWrite.ts"
import { type Attributes, type EntityKind, singleLineText, valueOf } from "../model/Attribute.ts"
import { misfitOfField } from "../model/AttributeRules.ts"
import { isEmptyValue } from "../model/Emptiness.ts"
import { EntityId, inAnyCase, nilUuid, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"
import type { Store } from "../model/Store.ts"

/** Limit of the operations in one batch. */
export const maxOperations = 500

/** Fills one empty field, canonical or on a store. */
export const FillOperation = Schema.Struct({
  entity_id: inAnyCase(EntityId),
  store_id: Schema.optionalWith(inAnyCase(StoreId), { exact: true }).annotations({
    description: "Omitted: the canonical value."
  }),
  field: Schema.String,
  value: Schema.String.annotations({ description: "The new value. It must not be empty." })
}).annotations({ identifier: "FillOperation" })
export type FillOperation = typeof FillOperation.Type

/** Gives the stores of an entity the same value in one field: the value of one store, or a new one. */
export const ReconcileOperation = Schema.Struct({
  entity_id: inAnyCase(EntityId),
  field: Schema.String,
  winner_store_id: Schema.optionalWith(inAnyCase(StoreId), { exact: true }).annotations({
    description: "The store whose value the others adopt. Exactly one of this and `value`."
  }),
  value: Schema.optionalWith(Schema.String, { exact: true }).annotations({
    description: "The value that all stores adopt; it may be empty. Exactly one of this and `winner_store_id`."
  }),
  store_id: Schema.optionalWith(inAnyCase(StoreId), { exact: true }).annotations({
    description: "Limits `value` to one store."
  })
})
  .pipe(
    Schema.filter(({ store_id, value, winner_store_id }) => {
      if ((winner_store_id === undefined) === (value === undefined))
        return { path: ["winner_store_id"], message: "give exactly one of winner_store_id and value" }
      return store_id !== undefined && value === undefined
        ? { path: ["store_id"], message: "applies only to value: leave it out with winner_store_id" }
        : true
    })
  )
  .annotations({ identifier: "ReconcileOperation" })
export type ReconcileOperation = typeof ReconcileOperation.Type

/** Why one operation of a batch failed. The other operations are not affected. */
const OperationError = Schema.Struct({
  code: Schema.Literal("not_found", "validation_failed"),
  message: Schema.String.annotations({ description: "For people; its wording may change." })
}).annotations({ identifier: "OperationError" })
type OperationError = typeof OperationError.Type

const error = Schema.optionalWith(OperationError, { exact: true }).annotations({ description: "Set if `ok` is false." })

const draftRevision = Schema.optionalWith(Schema.Int, { exact: true }).annotations({
  description: "Set if `ok` is true: the revision of the entity's draft after the batch."
})

export const FillResult = Schema.Struct({
  entity_id: EntityId,
  store_id: Schema.NullOr(StoreId).annotations({ description: "As in the operation; null: the canonical value." }),
  field: Schema.String,
  ok: Schema.Boolean.annotations({ description: "Whether the operation succeeded." }),
  filled: Schema.Boolean.annotations({
    description: "Whether it wrote the value. False with `ok` true: the field was no longer empty."
  }),
  draft_revision: draftRevision,
  error
}).annotations({ identifier: "FillResult" })
export type FillResult = typeof FillResult.Type

export const ReconcileResult = Schema.Struct({
  entity_id: EntityId,
  store_id: StoreId.annotations({
    description:
      "`store_id` of the operation, else the winner, else the first store of the entity by id, else the nil UUID."
  }),
  ok: Schema.Boolean.annotations({ description: "Whether the operation succeeded." }),
  patched_store_ids: Schema.Array(StoreId).annotations({
    description: "The stores whose version was written, by domain."
  }),
  unchanged: Schema.optionalWith(Schema.Literal(true), { exact: true }).annotations({
    description: "Set if `ok` is true and nothing was written, because the stores already agree."
  }),
  draft_revision: draftRevision,
  error
}).annotations({ identifier: "ReconcileResult" })
export type ReconcileResult = typeof ReconcileResult.Type

/** The changes of a batch, and the results of its operations. */
export interface Remedy<Result> {
  readonly changes: ReadonlyArray<CatalogChange>
  /** In the order of the operations. */
  readonly results: ReadonlyArray<Result>
}

/** The draft revisions that operations are based on. An entity without one is written whatever its revision is. */
export type BasedOn = ReadonlyMap<EntityId, number>

const basedOnNothing: BasedOn = new Map()

/** Undefined: the draft still has the revision that the operation is based on. */
const changedMeanwhile = (id: EntityId, basedOn: BasedOn, { revisions }: LockedCatalog): OperationError | undefined => {
  const current = revisions.get(id)
  const expected = basedOn.get(id)
  return expected === undefined || expected === current
    ? undefined
    : misfit("draft_revision", `the draft was changed meanwhile: its revision is ${current}, not ${expected}`)
}

/** The linked stores that the caller can use. */
type NamedStores = ReadonlyMap<StoreId, Pick<Store, "currency" | "domain" | "primary_locale">>

/** Why the entity, or its version on a store, was not found. It reveals nothing about other accounts, nor about hidden stores. */
const describeAbsence = (
  kind: EntityKind,
  id: EntityId,
  storeId: StoreId | undefined,
  aggregate: Aggregate | undefined,
  stores: NamedStores
): OperationError => {
  const noun = kind === "media" ? "media file" : kind
  const domain = storeId === undefined ? undefined : stores.get(storeId)?.domain
  return {
    code: "not_found",
    message:
      aggregate === undefined
        ? `This account has no ${noun} with the id ${id}.`
        : domain === undefined
          ? `This account has no linked store with the id ${storeId}.`
          : `The ${noun} is not on ${domain}.`
  }
}
const misfit = (path: string, message: string): OperationError => ({
  code: "validation_failed",
  message: `${path}: ${message}`
})

/** The validation error of a field and its value; undefined: both are valid. */
const misfitIn = (
  kind: EntityKind,
  key: string,
  value: string,
  rules: KeyRules,
  layers: ReadonlyArray<Attributes>
): OperationError | undefined => {
  const wrong = misfitOfField(kind, key, value, rules, layers)
  return wrong === undefined ? undefined : misfit(wrong.at, wrong.message)
}

/** Holds the entities of a batch, including the changes of earlier operations. */
class WorkingCopy {
  private readonly kind: EntityKind
  private readonly rules: KeyRules
  private readonly aggregates: Map<EntityId, Aggregate>
  readonly changes: Array<CatalogChange> = []

  constructor(kind: EntityKind, rules: KeyRules, locked: LockedCatalog) {
    this.kind = kind
    this.rules = rules
    this.aggregates = new Map(locked.aggregates)
  }

  find(id: EntityId): Aggregate | undefined {
    const aggregate = this.aggregates.get(id)
    return aggregate?.kind === this.kind ? aggregate : undefined
  }

  typeOf(aggregate: Aggregate, key: string): string {
    return this.rules.typeOf(this.kind, key, layersOf(aggregate)) ?? singleLineText
  }

  /** Writes a store's override. Null removes it, so the canonical value applies. */
  write(aggregate: Aggregate, { overrides, storeId }: VersionState, key: string, value: string | null): void {
    const { [key]: _, ...others } = overrides
    const next = value === null ? others : { ...others, [key]: { value, type: this.typeOf(aggregate, key) } }
    const types = typesFor(this.rules, this.kind, [key])
    this.changes.push(CatalogChange.SetOverrides({ entityId: aggregate.id, storeId, values: { [key]: value }, types }))
    this.update(aggregate, (current) => ({
      ...current,
      versions: current.versions.map((version) =>
        version.storeId === storeId ? { ...version, overrides: next } : version
      )
    }))
  }

  /** Writes the canonical value. */
  writeCanonical(aggregate: Aggregate, key: string, value: string): void {
    const types = typesFor(this.rules, this.kind, [key])
    this.changes.push(CatalogChange.SetAttributes({ entityId: aggregate.id, values: { [key]: value }, types }))
    const type = this.typeOf(aggregate, key)
    this.update(aggregate, (current) => ({
      ...current,
      attributes: { ...current.attributes, [key]: { value, type } }
    }))
  }

  private update(aggregate: Aggregate, change: (current: Aggregate) => Aggregate): void {
    this.aggregates.set(aggregate.id, change(this.aggregates.get(aggregate.id) ?? aggregate))
  }
}

/**
 * Fills fields that are empty now. With a store the value becomes its override, without one the canonical value. A
 * field that is not empty stays unchanged: the result is `ok`, not `filled`. An operation sees the changes of earlier
 * ones.
 */
export const decideFills =
  (
    kind: EntityKind,
    operations: ReadonlyArray<FillOperation>,
    rules: KeyRules,
    stores: NamedStores,
    basedOn = basedOnNothing
  ) =>
  (locked: LockedCatalog): Remedy<FillResult> => {
    const working = new WorkingCopy(kind, rules, locked)
    const results = operations.map(({ entity_id, field, store_id, value }): FillResult => {
      const target = { entity_id, store_id: store_id ?? null, field }
      const failed = (error: OperationError): FillResult => ({ ...target, ok: false, filled: false, error })
      const aggregate = working.find(entity_id)
      const version = aggregate?.versions.find(({ storeId }) => storeId === store_id)
      if (aggregate === undefined || (store_id !== undefined && version === undefined))
        return failed(describeAbsence(kind, entity_id, store_id, aggregate, stores))
      const wrong = misfitIn(kind, field, value, rules, layersOf(aggregate))
      if (wrong !== undefined) return failed(wrong)
      const type = working.typeOf(aggregate, field)
      if (isEmptyValue(type, value)) return failed(misfit("value", `must not be empty: ${emptyHint(type)}`))
      const current =
        version === undefined ? valueOf(aggregate.attributes, field) : effectiveValue(aggregate, version, field)
      if (!isEmptyValue(type, current)) return { ...target, ok: true, filled: false }
      const changed = changedMeanwhile(entity_id, basedOn, locked)
      if (changed !== undefined) return failed(changed)
      if (version === undefined) working.writeCanonical(aggregate, field, value)
      else working.write(aggregate, version, field, value)
      return { ...target, ok: true, filled: true }
    })
    return { changes: working.changes, results }
  }

const emptyHint = (type: string) =>
  type === "html"
    ? "it needs text or an image"
    : type.startsWith("list.")
      ? "it needs an item"
      : "it needs more than white space"

/** An entity, limited to its versions on the compared stores. */
const onStores = (aggregate: Aggregate | undefined, { stores }: Comparison): Aggregate | undefined =>
  aggregate && {
    ...aggregate,
    storeIds: aggregate.storeIds.filter((id) => stores.has(id)),
    versions: aggregate.versions.filter(({ storeId }) => stores.has(storeId))
  }

const nowhere = StoreId.make(nilUuid)

const severalGroups = (by: ComparedBy) =>
  misfit("value", `the stores disagree in more than one ${by}; name the store to write, or one winner for each ${by}`)

/**
 * Gives a field the same value on stores that have different ones. The groups are those of a divergence scan: texts are
 * compared within a language, prices within a currency. The value of a winning store goes only to stores of its own
 * group, so no text reaches a store of another language. A new value is written if exactly one group has different
 * values. If several do, the operation is refused, because the value fits at most one of them.
 *
 * Stores that already have the value are not written. If the new value equals the canonical value, the store's override
 * is removed. An operation sees the changes of earlier ones.
 */
export const decideReconciles =
  (
    kind: EntityKind,
    operations: ReadonlyArray<ReconcileOperation>,
    rules: KeyRules,
    comparison: Comparison & { readonly stores: NamedStores },
    basedOn = basedOnNothing
  ) =>
  (locked: LockedCatalog): Remedy<ReconcileResult> => {
    const working = new WorkingCopy(kind, rules, locked)
    const results = operations.map((operation): ReconcileResult => {
      const { entity_id, field, store_id, winner_store_id } = operation
      const aggregate = onStores(working.find(entity_id), comparison)
      const target = {
        entity_id,
        store_id: store_id ?? winner_store_id ?? [...(aggregate?.storeIds ?? [])].sort()[0] ?? nowhere
      }
      const failed = (error: OperationError): ReconcileResult => ({
        ...target,
        ok: false,
        patched_store_ids: [],
        error
      })
      const changed = changedMeanwhile(entity_id, basedOn, locked)
      if (aggregate !== undefined && changed !== undefined) return failed(changed)
      const chosenStoreId = store_id ?? winner_store_id
      const version = aggregate?.versions.find(({ storeId }) => storeId === chosenStoreId)
      if (aggregate === undefined || (chosenStoreId !== undefined && version === undefined))
        return failed(describeAbsence(kind, entity_id, chosenStoreId, aggregate, comparison.stores))
      const value = operation.value ?? (version === undefined ? "" : effectiveValue(aggregate, version, field))
      const wrong = misfitIn(kind, field, value, rules, layersOf(aggregate))
      if (wrong !== undefined) return failed(wrong)
      const disagreeing = disagreeingGroups(aggregate, field, comparison)
      const groups = version === undefined ? disagreeing : disagreeing.filter((group) => group.includes(version))
      if (groups.length > 1) return failed(severalGroups(comparedByOf(aggregate, field, comparison.rules)))
      const next = value === valueOf(aggregate.attributes, field) ? null : value
      const patched = groups
        .flat()
        .filter(
          (other) =>
            (store_id === undefined || other.storeId === store_id) && effectiveValue(aggregate, other, field) !== value
        )
      if (patched.length === 0) return { ...target, ok: true, patched_store_ids: [], unchanged: true }
      for (const other of patched) working.write(aggregate, other, field, next)
      return { ...target, ok: true, patched_store_ids: patched.map(({ storeId }) => storeId) }
    })
    return { changes: working.changes, results }
  }
