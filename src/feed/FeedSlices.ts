import type { ChangeSlice } from "../drafts/FeedChanges.ts"
import type { StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"
import type { FeedChange } from "./FeedChange.ts"

/** A stored slice. `first`: the number of its first change. */
interface NumberedSlice extends ChangeSlice {
  readonly first: number
  readonly at: string
}

/** Builds a change of the feed, with its members in the order that the API shows. */
export const toFeedChange = (
  seq: number,
  at: Timestamp,
  id: string,
  { kind, store, type, what }: Pick<ChangeSlice["groups"][number], "kind" | "store" | "type" | "what">
): FeedChange => ({
  seq,
  at,
  type,
  entity: { id, type: kind },
  ...(store === null ? {} : { store_id: store satisfies StoreId }),
  what
})

/** Up to `limit` changes after a number, from slices in their order. */
export const changesIn = (slices: ReadonlyArray<NumberedSlice>, after: number, limit: number) => {
  const changes: Array<FeedChange> = []
  for (const { at, first, groups, ids } of slices) {
    let place = 0
    for (const group of groups)
      for (const id of ids.slice(place, place + group.count)) {
        const seq = first + place
        place += 1
        if (seq > after && changes.length < limit) changes.push(toFeedChange(seq, Timestamp.make(at), id, group))
      }
  }
  return changes
}
