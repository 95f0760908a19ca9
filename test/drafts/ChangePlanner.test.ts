import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { CatalogChange, type Target } from "../../src/drafts/CatalogChange.ts"
import { planChanges } from "../../src/drafts/ChangePlan.ts"
import type { EntityId } from "../../src/model/Ids.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"
import { collectionOf, idOf } from "./Collections.ts"

const collectionId = idOf(0)
/** One more than the members that a move from one end to the other may have. */
const members = Array.from({ length: 100_002 }, (_, index) => idOf(index + 1))

const move = (productId: EntityId, to: Target) =>
  planChanges(
    {
      now: Timestamp.make("2026-11-28T10:00:00.000000Z"),
      storeIds: [],
      aggregates: new Map([[collectionId, collectionOf(members)]]),
      summaries: new Map(),
      unreadMembers: new Map(),
      revisions: new Map(),
      sequences: new Map(),
      kinds: new Map()
    },
    [CatalogChange.MoveMember({ collectionId, productId, to })]
  ).pipe(
    Either.map(({ updated }) => updated[0]?.after.members.indexOf(productId)),
    Either.mapLeft((error) => (error._tag === "ValidationFailed" ? error.issues : error._tag))
  )

describe("a move of a product in a collection", () => {
  it("passes at most 100,000 others", () => {
    const [first, second] = [idOf(1), idOf(2)]
    assert.deepStrictEqual(move(second, members.length), Either.right(members.length - 1))
    assert.deepStrictEqual(
      move(first, members.length),
      Either.left([{ path: "to", message: "must be at most 100000 places from place 1" }])
    )
    assert.deepStrictEqual(
      move(idOf(members.length), 1),
      Either.left([{ path: "to", message: "must be at most 100000 places from place 100002" }])
    )
  })
})
