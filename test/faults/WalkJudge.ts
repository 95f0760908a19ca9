import type { EntityId } from "../../src/model/Ids.ts"

/** The canonical fields of a copy. Store edits raise draft_revision in place, so a copy may be behind in that alone. */
export interface Canonical {
  readonly title: string
  readonly updatedAt: string
}

/** One row of one page, as it was handed over. */
export interface Delivery extends Canonical {
  /** Counts the walker's walks: a page of the last one has the largest. */
  readonly walk: number
  readonly id: EntityId
  readonly revision: number
}

/** All that one walker was handed, in order, and what it should know after its last walk. */
export interface WalkRecord {
  readonly deliveries: ReadonlyArray<Delivery>
  /** For a walk that began from nothing: the entities that had been committed by then. */
  readonly begun: ReadonlyMap<number, ReadonlyArray<EntityId>>
  /** The database after the last commit. */
  readonly truth: ReadonlyMap<EntityId, Canonical>
}

export interface WalkVerdict {
  /** Exist and were never delivered, or existed throughout a walk from nothing that did not deliver them. */
  readonly skipped: ReadonlyArray<EntityId>
  /** Delivered twice at one revision within one walk. */
  readonly repeated: ReadonlyArray<EntityId>
  /** Their last copy is not what the database holds. */
  readonly stale: ReadonlyArray<EntityId>
  /** Were delivered, and do not exist: a transaction that was undone had shown through. */
  readonly phantom: ReadonlyArray<EntityId>
}

/** What a syncing client suffered. */
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
