import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { EntityId } from "../../src/model/Ids.ts"

export const idOf = (number: number) => EntityId.make(`00000000-0000-4000-8000-${String(number).padStart(12, "0")}`)

/** A collection with the id 0, on no store. `memberPositions`: of its rows; absent: 0, 1, 2 and so on. */
export const collectionOf = (
  members: ReadonlyArray<EntityId>,
  memberPositions: ReadonlyArray<number> | null = null
): Aggregate => ({
  id: idOf(0),
  kind: "collection",
  parentId: null,
  position: null,
  attributes: {},
  pendingPublish: false,
  lastPublishStatus: "never_published",
  storeIds: [],
  searchText: "",
  versions: [],
  gallery: [],
  members,
  memberPositions
})
