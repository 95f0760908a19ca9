import { Either, Schema } from "effect"
import type { CatalogChange, LockedCatalog } from "../drafts/CatalogChange.ts"
import { decideAddition, decideUpdate, type GalleryMoved } from "../drafts/DraftWrite.ts"
import { FoundEntities } from "../jobs/FoundEntities.ts"
import type { JobError } from "../jobs/Job.ts"
import { EntityKind, titleOf } from "../model/Attribute.ts"
import type { NotFound, ValidationFailed } from "../model/Errors.ts"
import { EntityId, StoreId } from "../model/Ids.ts"
import type { KeyRules } from "../model/KeyRules.ts"

/**
 * A change of the drafts of many entities. `SetField`: writes one field; `storeId` null: the canonical value, else the override of a
 * store. `value` null: empties the canonical value, or removes the override. `AddToStore`: adds the entities to a store; products
 * with their variants and galleries.
 */
export const BulkChange = Schema.Union(
  Schema.TaggedStruct("SetField", {
    storeId: Schema.NullOr(StoreId),
    key: Schema.String,
    value: Schema.NullOr(Schema.String)
  }),
  Schema.TaggedStruct("AddToStore", { storeId: StoreId })
)
export type BulkChange = typeof BulkChange.Type

/** What a step does: all entities of a job have the same kind. */
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
 * A number: of entities that were processed. They are removed from the job, so the next step begins with the first remaining one.
 * `Collecting`: the next step collects entities after an id. `place`: in the job's list; `collected`: their number until now.
 */
export const BulkCursor = Schema.Union(
  Schema.Int,
  Schema.TaggedStruct("Collecting", { after: EntityId, place: Schema.Int, collected: Schema.Int })
)
export type BulkCursor = typeof BulkCursor.Type

/** An entity of a bulk change. `revision`: the revision of its draft when the job was begun. */
export const BulkItem = Schema.Struct({ id: EntityId, revision: Schema.Int })
export type BulkItem = typeof BulkItem.Type

/** The changes of one step, and the entities that it refuses. */
export interface BulkStep {
  readonly changes: ReadonlyArray<CatalogChange>
  readonly refused: ReadonlyArray<JobError>
}

const wordsOf = (kind: EntityKind, refusal: NotFound | ValidationFailed | GalleryMoved) => {
  switch (refusal._tag) {
    case "NotFound":
      return `the ${kind} is not on this store`
    case "GalleryMoved":
      return "somebody changed it at the same moment: add it again"
    case "ValidationFailed":
      return refusal.reasons
  }
}

type Decided = Either.Either<ReadonlyArray<CatalogChange>, string>

/**
 * Decides one step. Each entity is changed or refused separately. A field is refused if the draft has another revision than at the
 * begin of the job. An addition to a store overwrites nothing, so it is based on no revision.
 */
export const decideStep =
  ({ change, kind }: BulkWork, items: ReadonlyArray<BulkItem>, rules: KeyRules) =>
  (locked: LockedCatalog): BulkStep => {
    const decide = ({ id, revision }: BulkItem): Decided => {
      if (change._tag === "AddToStore")
        return locked.aggregates.get(id)?.storeIds.includes(change.storeId) === true
          ? Either.right([])
          : Either.mapBoth(decideAddition(id, change.storeId)(locked), {
              onLeft: (refusal) => wordsOf(kind, refusal),
              onRight: ({ changes }) => changes
            })
      const { key, storeId, value } = change
      const update = { draft_revision: revision, attributes: [{ key, value }] }
      const current = locked.revisions.get(id)
      return Either.flatMap(
        Either.mapLeft(decideUpdate(id, { storeId }, update, rules)(locked), (refusal) => wordsOf(kind, refusal)),
        ({ changes }): Decided =>
          current === revision
            ? Either.right(changes)
            : Either.left(
                `somebody changed the draft after the job was begun, so it was not overwritten: its revision is ${current}, not ${revision}`
              )
      )
    }
    const nameOf = (id: EntityId) => {
      const aggregate = locked.aggregates.get(id)
      const title = aggregate === undefined ? "" : titleOf(aggregate.kind, aggregate.attributes)
      return `${kind} ${title.trim() === "" ? id : title}`
    }
    const changes: Array<CatalogChange> = []
    const refused: Array<JobError> = []
    for (const item of items) {
      const decided = decide(item)
      if (Either.isRight(decided)) changes.push(...decided.right)
      else refused.push({ item: nameOf(item.id), message: decided.left })
    }
    return { changes, refused }
  }
