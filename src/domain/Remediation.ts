import { Schema } from "effect"
import type { Aggregate, VersionState } from "./Aggregate.ts"
import { type Attributes, type EntityKind, singleLineText, valueOf } from "./Attribute.ts"
import { misfitOfField } from "./AttributeRules.ts"
import { CatalogChange, type Locked } from "./CatalogChange.ts"
import { layersOf, typesFor } from "./DraftWrite.ts"
import { isEmptyValue } from "./Emptiness.ts"
import { isDivergent } from "./HealthScan.ts"
import { EntityId, inAnyCase, nilUuid, StoreId } from "./Ids.ts"
import type { KeyRules } from "./KeyRules.ts"

/** Most operations of one batch. */
export const mostOperations = 500

/** A value for a field that is empty on a store. */
export const FillOperation = Schema.Struct({
  entity_id: inAnyCase(EntityId),
  store_id: inAnyCase(StoreId),
  field: Schema.String,
  value: Schema.String.annotations({ description: "What to write; it must not be empty." })
}).annotations({ identifier: "FillOperation" })
export type FillOperation = typeof FillOperation.Type

/** A field to make equal on an entity's stores, to the value of one of them or to another one. */
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
    description: "Narrows a `value` to one store."
  })
})
  .pipe(
    Schema.filter(({ store_id, value, winner_store_id }) => {
      if ((winner_store_id === undefined) === (value === undefined))
        return { path: ["winner_store_id"], message: "give exactly one of winner_store_id and value" }
      return store_id !== undefined && value === undefined
        ? { path: ["store_id"], message: "narrows a value only: leave it out with winner_store_id" }
        : true
    })
  )
  .annotations({ identifier: "ReconcileOperation" })
export type ReconcileOperation = typeof ReconcileOperation.Type

/** Why one operation of a batch could not be done; the others are not touched by it. */
const OperationError = Schema.Struct({
  code: Schema.Literal("not_found", "validation_failed"),
  message: Schema.String.annotations({ description: "For people; its wording may change." })
}).annotations({ identifier: "OperationError" })
type OperationError = typeof OperationError.Type

const error = Schema.optionalWith(OperationError, { exact: true }).annotations({ description: "Where `ok` is false." })

export const FillResult = Schema.Struct({
  entity_id: EntityId,
  store_id: StoreId,
  field: Schema.String,
  ok: Schema.Boolean.annotations({ description: "Whether the operation could be carried out." }),
  filled: Schema.Boolean.annotations({
    description: "Whether it wrote: false, with `ok` true, where the field was not empty any more."
  }),
  error
}).annotations({ identifier: "FillResult" })
export type FillResult = typeof FillResult.Type

export const ReconcileResult = Schema.Struct({
  entity_id: EntityId,
  store_id: StoreId.annotations({
    description:
      "The narrowing store, else the winner, else the first (by id) that the entity lives on; the nil UUID where there is none."
  }),
  ok: Schema.Boolean.annotations({ description: "Whether the operation could be carried out." }),
  patched_store_ids: Schema.Array(StoreId).annotations({
    description: "The stores whose version was written, by domain."
  }),
  error
}).annotations({ identifier: "ReconcileResult" })
export type ReconcileResult = typeof ReconcileResult.Type

/** What a batch writes, and what became of each operation. */
export interface Remedy<Result> {
  readonly changes: ReadonlyArray<CatalogChange>
  /** `results[i]` answers `operations[i]`. */
  readonly results: ReadonlyArray<Result>
}

const absent: OperationError = { code: "not_found", message: "No such record." }
const misfit = (path: string, message: string): OperationError => ({
  code: "validation_failed",
  message: `${path}: ${message}`
})

/** What is wrong with a field, or with a value for it; undefined: nothing. */
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

/** The entities of a batch as its operations find and leave them. */
class Working {
  private readonly kind: EntityKind
  private readonly rules: KeyRules
  private readonly aggregates: Map<EntityId, Aggregate>
  readonly changes: Array<CatalogChange> = []

  constructor(kind: EntityKind, rules: KeyRules, locked: Locked) {
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

  /** Writes a store's own value; null returns to the canonical one. */
  write(aggregate: Aggregate, { overrides, storeId }: VersionState, key: string, value: string | null): void {
    const { [key]: _, ...others } = overrides
    const next = value === null ? others : { ...others, [key]: { value, type: this.typeOf(aggregate, key) } }
    const types = typesFor(this.rules, this.kind, [key])
    this.changes.push(CatalogChange.SetOverrides({ entityId: aggregate.id, storeId, values: { [key]: value }, types }))
    const current = this.aggregates.get(aggregate.id) ?? aggregate
    this.aggregates.set(aggregate.id, {
      ...current,
      versions: current.versions.map((version) =>
        version.storeId === storeId ? { ...version, overrides: next } : version
      )
    })
  }
}

const effectiveValue = (aggregate: Aggregate, version: VersionState, key: string) =>
  version.overrides[key]?.value ?? valueOf(aggregate.attributes, key)

/**
 * Fills what is empty on a store at the moment of writing, as that store's override. A field that somebody filled meanwhile
 * stays as it is (`ok`, not `filled`). A later operation sees what an earlier one did.
 */
export const decideFills =
  (kind: EntityKind, operations: ReadonlyArray<FillOperation>, rules: KeyRules) =>
  (locked: Locked): Remedy<FillResult> => {
    const working = new Working(kind, rules, locked)
    const results = operations.map(({ entity_id, field, store_id, value }): FillResult => {
      const target = { entity_id, store_id, field }
      const failed = (error: OperationError): FillResult => ({ ...target, ok: false, filled: false, error })
      const aggregate = working.find(entity_id)
      const version = aggregate?.versions.find(({ storeId }) => storeId === store_id)
      if (aggregate === undefined || version === undefined) return failed(absent)
      const wrong = misfitIn(kind, field, value, rules, layersOf(aggregate))
      if (wrong !== undefined) return failed(wrong)
      const type = working.typeOf(aggregate, field)
      if (isEmptyValue(type, value)) return failed(misfit("value", `must not be empty: ${emptyHint(type)}`))
      if (!isEmptyValue(type, effectiveValue(aggregate, version, field))) return { ...target, ok: true, filled: false }
      working.write(aggregate, version, field, value)
      return { ...target, ok: true, filled: true }
    })
    return { changes: working.changes, results }
  }

const emptyHint = (type: string) =>
  type === "html" ? "text or an image is needed" : "something else than white space is needed"

const nowhere = StoreId.make(nilUuid)

/**
 * Makes a field equal on an entity's stores where they disagree at the moment of writing. A store whose value is that
 * already is left alone; one whose new value is the canonical one inherits it again. A later operation sees what an earlier
 * one did.
 */
export const decideReconciles =
  (kind: EntityKind, operations: ReadonlyArray<ReconcileOperation>, rules: KeyRules) =>
  (locked: Locked): Remedy<ReconcileResult> => {
    const working = new Working(kind, rules, locked)
    const results = operations.map((operation): ReconcileResult => {
      const { entity_id, field, store_id, winner_store_id } = operation
      const aggregate = working.find(entity_id)
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
      const named = store_id ?? winner_store_id
      const version = aggregate?.versions.find(({ storeId }) => storeId === named)
      if (aggregate === undefined || (named !== undefined && version === undefined)) return failed(absent)
      const value = operation.value ?? (version === undefined ? "" : effectiveValue(aggregate, version, field))
      const wrong = misfitIn(kind, field, value, rules, layersOf(aggregate))
      if (wrong !== undefined) return failed(wrong)
      if (!isDivergent(aggregate, field)) return { ...target, ok: true, patched_store_ids: [] }
      const next = value === valueOf(aggregate.attributes, field) ? null : value
      const patched = aggregate.versions.filter(
        (other) =>
          (store_id === undefined || other.storeId === store_id) && effectiveValue(aggregate, other, field) !== value
      )
      for (const other of patched) working.write(aggregate, other, field, next)
      return { ...target, ok: true, patched_store_ids: patched.map(({ storeId }) => storeId) }
    })
    return { changes: working.changes, results }
  }
