import { Either, Schema } from "effect"
import type { CatalogChange, LockedCatalog } from "../drafts/CatalogChange.ts"
import { withNames } from "../drafts/DeletedEntities.ts"
import type { DecidedDeletions } from "../drafts/Deletion.ts"
import { decideUpdate } from "../drafts/DraftWrite.ts"
import { type DecidedRemovals, decideAddition, movedMeanwhile, type PartsMoved } from "../drafts/StoreMembership.ts"
import { FoundEntities } from "../jobs/FoundEntities.ts"
import { type DeletedEntity, type JobError, noLongerExists } from "../jobs/Job.ts"
import { EntityKind } from "../model/Attribute.ts"
import { isMetafieldKey } from "../model/Definition.ts"
import type { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"

/**
 * A change of the drafts of many entities. `SetField`: writes one field; `storeId` null: the canonical value, else the override of a
 * store. `value` null: empties the canonical value, or removes the override. `AddToStore`: adds the entities to a store; products
 * with their variants and galleries. `RemoveFromStore`: takes them off a store that they were never published to. `Delete`: deletes those
 * that no linked store has, products with their variants; `withMedia`: also the media of their galleries that nothing else shows.
 */
export const BulkChange = Schema.Union(
  Schema.TaggedStruct("SetField", {
    storeId: Schema.NullOr(StoreId),
    key: Schema.String,
    value: Schema.NullOr(Schema.String)
  }),
  Schema.TaggedStruct("AddToStore", { storeId: StoreId }),
  Schema.TaggedStruct("RemoveFromStore", { storeId: StoreId }),
  Schema.TaggedStruct("Delete", { withMedia: Schema.optionalWith(Schema.Boolean, { exact: true }) })
)
export type BulkChange = typeof BulkChange.Type

/** The store of a change. null: it is not about one store. */
export const storeOf = (change: BulkChange): StoreId | null => (change._tag === "Delete" ? null : change.storeId)

/** The change of a job, and the kind that all its entities have. */
export const BulkWork = Schema.Struct({ kind: EntityKind, change: BulkChange })
export type BulkWork = typeof BulkWork.Type

/**
 * The input of a job. With `found`, the job collects its entities itself. That form has no `kind`, so that a process of an older version,
 * which knows no `found`, cannot read it: it would end the job without a change.
 */
export const BulkInput = Schema.Union(
  BulkWork,
  Schema.Struct({
    change: BulkChange,
    found: Schema.Struct({ ...FoundEntities.fields, kinds: Schema.Tuple(EntityKind) })
  })
)
export type BulkInput = typeof BulkInput.Type

/**
 * A number counts the processed entities. They are removed from the job, so the next step begins with the first remaining one.
 * `Collecting`: the next step collects entities after an id. `place`: in the job's list; `collected`: their number until now.
 */
export const BulkCursor = Schema.Union(
  Schema.Int,
  Schema.TaggedStruct("Collecting", { after: EntityId, place: Schema.Int, collected: Schema.Int })
)
export type BulkCursor = typeof BulkCursor.Type

/** The revision of an entity that did not exist when the job was begun. Drafts begin with 1. */
export const noRevision = 0

/** An entity of a bulk change. `revision`: the revision of its draft when the job was begun; `noRevision`: it did not exist. */
export const BulkItem = Schema.Struct({ id: EntityId, revision: Schema.Int })
export type BulkItem = typeof BulkItem.Type

/** The changes of one step, and the entities that it refuses. */
interface BulkStep {
  readonly changes: ReadonlyArray<CatalogChange>
  readonly refused: ReadonlyArray<JobError>
}

const wordsOf = (kind: EntityKind, refusal: NotFound | ValidationFailed | PartsMoved) => {
  switch (refusal._tag) {
    case "NotFound":
      return `the ${kind} is not on this store`
    case "PartsMoved":
      return movedMeanwhile
    case "ValidationFailed":
      return refusal.reasons
  }
}

type Decided = Either.Either<ReadonlyArray<CatalogChange>, string>

/** The changes of one entity, or why it is refused. */
type DecideItem = (item: BulkItem) => Decided

const isOn = (locked: LockedCatalog, id: EntityId, storeId: StoreId) =>
  locked.aggregates.get(id)?.storeIds.includes(storeId) === true

/** Refuses an entity whose draft has another revision than at the begin of the job. */
const unlessChanged =
  (locked: LockedCatalog, decide: DecideItem): DecideItem =>
  (item) =>
    Either.flatMap(decide(item), (changes): Decided => {
      const current = locked.revisions.get(item.id)
      return current === item.revision
        ? Either.right(changes)
        : Either.left(
            `somebody changed the draft after the job was begun, so it was not overwritten: its revision is ${current}, not ${item.revision}`
          )
    })

/** Whether the entity existed at the begin of the job, and was not deleted since. */
const doesExist = ({ id, revision }: BulkItem, locked: LockedCatalog) =>
  revision !== noRevision && locked.aggregates.has(id)

type Change<Tag extends BulkChange["_tag"]> = Extract<BulkChange, { readonly _tag: Tag }>

/** Whether a change removes values of a metafield that has no definition any more. */
export const removesUndefined = (kind: EntityKind, { key, value }: Change<"SetField">, rules: KeyRules): boolean =>
  value === null && isMetafieldKey(key) && rules.find(kind, key) === undefined

export const fieldDecision = (
  kind: EntityKind,
  change: Change<"SetField">,
  rules: KeyRules,
  locked: LockedCatalog
): DecideItem =>
  unlessChanged(locked, ({ id, revision }) => {
    const { key, storeId, value } = change
    const update = { draft_revision: revision, attributes: [{ key, value }] }
    const decided = decideUpdate(id, { storeId }, update, rules)(locked)
    if (Either.isRight(decided)) return Either.right(decided.right.changes)
    // An entity that has no value of the metafield stays as it is.
    return decided.left._tag === "ValidationFailed" && removesUndefined(kind, change, rules)
      ? Either.right([])
      : Either.left(wordsOf(kind, decided.left))
  })

/** An addition overwrites nothing, so it is based on no revision. */
export const additionDecision =
  (kind: EntityKind, { storeId }: Change<"AddToStore">, locked: LockedCatalog): DecideItem =>
  ({ id }) =>
    isOn(locked, id, storeId)
      ? Either.right([])
      : Either.mapLeft(decideAddition(id, storeId)(locked), (refusal) => wordsOf(kind, refusal))

/** An entity that is not on the store stays as it is. */
export const removalDecision = (
  kind: EntityKind,
  { storeId }: Change<"RemoveFromStore">,
  { of }: DecidedRemovals,
  locked: LockedCatalog
): DecideItem => {
  const remove = unlessChanged(locked, ({ id }) =>
    Either.mapLeft(of.get(id) ?? Either.right([]), (refusal) => wordsOf(kind, refusal))
  )
  return (item) => (isOn(locked, item.id, storeId) ? remove(item) : Either.right([]))
}

export const deletionDecision = ({ of }: DecidedDeletions, locked: LockedCatalog): DecideItem =>
  unlessChanged(locked, ({ id }) => of.get(id) ?? Either.right([]))

/** How a refusal names an entity of the kind: by its name in lists, or by its id. */
export const nameOf = (kind: EntityKind, id: EntityId, { aggregates }: LockedCatalog): string => {
  const [named] = withNames([id], aggregates)
  return `${kind} ${named?.name || id}`
}

/** Decides one step. Each entity is changed or refused separately; one that was deleted is refused. */
export const decideStep = (
  kind: EntityKind,
  items: ReadonlyArray<BulkItem>,
  locked: LockedCatalog,
  decide: DecideItem
): BulkStep => {
  const changes: Array<CatalogChange> = []
  const refused: Array<JobError> = []
  for (const item of items) {
    const decided = doesExist(item, locked) ? decide(item) : Either.left(noLongerExists)
    if (Either.isRight(decided)) changes.push(...decided.right)
    else refused.push({ item: nameOf(kind, item.id, locked), message: decided.left })
  }
  return { changes, refused }
}

/** The items whose entities a step deleted, then their media that it deleted too. Variants went with their products and are not listed. */
export const deletedBy = (
  items: ReadonlyArray<BulkItem>,
  before: LockedCatalog,
  after: LockedCatalog
): ReadonlyArray<DeletedEntity> => {
  const media = [...before.aggregates.values()].filter(({ kind }) => kind === "media")
  const ids = new Set([...items, ...media].map(({ id }) => id))
  return withNames(
    [...ids].filter((id) => !after.aggregates.has(id)),
    before.aggregates
  ).map(({ id, kind, name }) => ({ id, kind, name }))
}
