import { Either } from "effect"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId } from "../model/Ids.ts"
import type { Target } from "./CatalogChange.ts"

/**
 * The most places that a move can pass, because each item that it passes is written. PostgreSQL checks all of them in the commit, which
 * has the deadline of one statement.
 */
const maxPassed = 100_000

/** The list with one item at another place. */
export const withMoved = (
  ids: ReadonlyArray<EntityId>,
  id: EntityId,
  to: Target
): Either.Either<ReadonlyArray<EntityId>, NotFound | ValidationFailed> => {
  const from = ids.indexOf(id)
  if (from < 0) return Either.left(new NotFound())
  const last = ids.length - 1
  const index = to === "up" ? Math.max(from - 1, 0) : to === "down" ? Math.min(from + 1, last) : to - 1
  if (!Number.isInteger(index) || index < 0 || index > last)
    return Either.left(ValidationFailed.at("to", `must be a whole number from 1 to ${ids.length}`))
  if (Math.abs(index - from) > maxPassed)
    return Either.left(ValidationFailed.at("to", `must be at most ${maxPassed} places from place ${from + 1}`))
  return Either.right(ids.toSpliced(from, 1).toSpliced(index, 0, id))
}
