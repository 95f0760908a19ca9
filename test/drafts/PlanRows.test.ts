import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { differences } from "../../src/drafts/PlanRows.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { collectionOf, idOf } from "./Collections.ts"

/** The position of each member's row. */
type Rows = ReadonlyMap<EntityId, number>

const inOrder = (rows: Rows) => [...rows].sort(([, left], [, right]) => left - right)

const collectionWith = (rows: Rows) => {
  const ordered = inOrder(rows)
  return collectionOf(
    ordered.map(([id]) => id),
    ordered.map(([, position]) => position)
  )
}

/** The rows after a write of these members, and the number of rows that it inserts or updates, and deletes. */
const write = (rows: Rows, members: ReadonlyArray<EntityId>) => {
  const before = collectionWith(rows)
  const plan = { created: [], toUnlinked: [], deleted: [], stamped: [], drafted: [] }
  const [written] = differences({ ...plan, updated: [{ before, after: { ...before, members } }] }).members
  assert(written !== undefined)
  const after = new Map(rows)
  for (const { productId } of written.removed) after.delete(productId)
  for (const { position, productId } of written.upserted) after.set(productId, position)
  return { after, upserted: written.upserted.length, removed: written.removed.length }
}

const ids = (...numbers: ReadonlyArray<number>) => numbers.map(idOf)

describe("the rows of a collection's members", () => {
  it("are written only if they must change", () => {
    const rows: Rows = new Map([1, 2, 3, 4, 5, 6].map((number) => [idOf(number), number - 1]))
    const without = write(rows, ids(1, 3, 4, 5, 6))
    assert.deepStrictEqual([without.upserted, without.removed], [0, 1])
    for (const [members, upserted, removed] of [
      [ids(1, 3, 4, 5, 6, 7), 1, 0],
      [ids(1, 3, 5, 4, 6), 2, 0],
      [ids(3, 4, 5, 6), 0, 1],
      [ids(1, 3, 4, 5), 0, 1],
      [ids(7, 3, 4, 5, 6), 1, 1],
      [ids(1, 3, 4, 5, 7), 1, 1],
      [ids(), 0, 5],
      // More than half of the positions would be free.
      [ids(5, 6), 2, 3]
    ] as const) {
      const found = write(without.after, members)
      assert.deepStrictEqual([found.upserted, found.removed], [upserted, removed], members.join())
      assert.deepStrictEqual(
        inOrder(found.after).map(([id]) => id),
        [...members]
      )
    }
  })

  it("keep the order of the members, each at a position of its own, and leave at most as many positions free as they use", () => {
    const lists = fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 12 })), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(lists, (all) => {
        let rows: Rows = new Map()
        for (const numbers of all) {
          const before = collectionWith(rows).members
          const members = ids(...numbers)
          if (before.join() === members.join()) continue
          rows = write(rows, members).after
          assert.deepStrictEqual(
            inOrder(rows).map(([id]) => id),
            members
          )
          const positions = inOrder(rows).map(([, position]) => position)
          assert.strictEqual(new Set(positions).size, members.length)
          assert.isAtMost((positions.at(-1) ?? -1) + 1, 2 * members.length)
        }
      })
    )
  })
})
