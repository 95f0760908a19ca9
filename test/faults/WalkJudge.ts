import type { EntityId } from "../../src/model/Ids.ts"

/**
 * The canonical fields of a copy. Changes on a store raise draft_revision without moving the row, so only the revision
 * of a copy may be outdated.
 */
interface Canonical {
  readonly title: string
  readonly updatedAt: string
}

/** One row of a received page. */
export interface Delivery extends Canonical {
  /** The number of the walk; pages of the last walk have the highest. */
  readonly walk: number
  readonly id: EntityId
  readonly revision: number
}

/** All rows that a walker received, in order, and its expected copy after the last walk. */
export interface WalkRecord {
  readonly deliveries: ReadonlyArray<Delivery>
  /** For a walk from the beginning: the entities that were committed before it began. */
  readonly begun: ReadonlyMap<number, ReadonlyArray<EntityId>>
  /** The database's content after the last commit. */
  readonly truth: ReadonlyMap<EntityId, Canonical>
}

export interface WalkVerdict {
  /** Entities that exist but were never received, or that existed during a complete walk that did not have them. */
  readonly skipped: ReadonlyArray<EntityId>
  /** Rows that were received twice with the same revision in one walk. */
  readonly repeated: ReadonlyArray<EntityId>
  /** Entities whose last copy differs from the database. */
  readonly stale: ReadonlyArray<EntityId>
  /** Rows that were received but do not exist: an uncommitted transaction was visible. */
  readonly phantom: ReadonlyArray<EntityId>
}

/** The errors of a client that synchronizes. */
export const judge = ({ begun, deliveries, truth }: WalkRecord): WalkVerdict => {
  const copies = new Map(deliveries.map((delivery) => [delivery.id, delivery]))
  const seen = new Set<string>()
  const repeated = deliveries.filter(({ id, revision, walk }) => {
    const key = `${walk} ${id} ${revision}`
    return seen.size === seen.add(key).size
  })
  const walked = new Set(deliveries.map(({ id, walk }) => `${walk} ${id}`))
  const missed = [...begun].flatMap(([walk, ids]) => ids.filter((id) => !walked.has(`${walk} ${id}`)))
  return {
    skipped: [...new Set([...[...truth.keys()].filter((id) => !copies.has(id)), ...missed])],
    repeated: repeated.map(({ id }) => id),
    stale: [...truth].flatMap(([id, { title, updatedAt }]) => {
      const copy = copies.get(id)
      return copy === undefined || (copy.title === title && copy.updatedAt === updatedAt) ? [] : [id]
    }),
    phantom: [...copies.keys()].filter((id) => !truth.has(id))
  }
}
