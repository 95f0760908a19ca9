import { Either } from "effect"
import type { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { CatalogChange, LockedCatalog, Plan } from "./CatalogChange.ts"
import { ChangePlanner } from "./ChangePlanner.ts"

/** Whether a plan has nothing to write. */
export const isEmpty = (plan: Plan): boolean =>
  plan.created.length + plan.updated.length + plan.deleted.length + plan.stamped.length + plan.drafted.length === 0

/**
 * Plans the changes, in order, against the locked state. A pure function: the SQL repository and the in-memory repository write
 * the same plan. NotFound: an entity, store or store version does not exist. ValidationFailed: a change is not possible.
 */
export const planChanges = (
  locked: LockedCatalog,
  changes: ReadonlyArray<CatalogChange>
): Either.Either<Plan, NotFound | ValidationFailed> => {
  const planner = new ChangePlanner(locked)
  for (const change of changes) {
    const outcome = planner.apply(change)
    if (Either.isLeft(outcome)) return Either.left(outcome.left)
  }
  return Either.right(planner.plan())
}

/**
 * Computes the derived fields of all locked entities again, after stores were linked or unlinked. change_seq and
 * revisions stay the same. If a product or one of its variants is locked, the product and all its variants must be
 * locked.
 */
export const planDerivations = (locked: LockedCatalog): Plan => {
  const planner = new ChangePlanner(locked)
  for (const id of locked.aggregates.keys()) planner.touched.add(id)
  return planner.plan()
}

/** Joins plans of different entities. */
export const joinPlans = (plans: ReadonlyArray<Plan>): Plan => ({
  created: plans.flatMap(({ created }) => created),
  updated: plans.flatMap(({ updated }) => updated),
  toUnlinked: plans.flatMap(({ toUnlinked }) => toUnlinked),
  deleted: plans.flatMap(({ deleted }) => deleted),
  stamped: plans.flatMap(({ stamped }) => stamped),
  drafted: plans.flatMap(({ drafted }) => drafted)
})

/** The locked state after the plan was written. */
export const stateAfter = (locked: LockedCatalog, plan: Plan): LockedCatalog => {
  const aggregates = new Map([
    ...locked.aggregates,
    ...[...plan.created, ...plan.updated.map(({ after }) => after)].map(
      (aggregate) => [aggregate.id, aggregate] as const
    )
  ])
  for (const { id } of plan.deleted) aggregates.delete(id)
  return {
    ...locked,
    aggregates,
    revisions: new Map([
      ...locked.revisions,
      ...[...plan.stamped, ...plan.drafted].map((id) => [id, (locked.revisions.get(id) ?? 0) + 1] as const)
    ])
  }
}
