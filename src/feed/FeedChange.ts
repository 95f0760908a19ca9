import { Schema } from "effect"
import { ChangedKind, ChangeType } from "../drafts/FeedChanges.ts"
import { StoreId } from "../model/Ids.ts"
import { Timestamp } from "../model/Timestamp.ts"

/** A change in the feed. */
export const FeedChange = Schema.Struct({
  seq: Schema.Int.annotations({
    description: "The number of the change in the account: it rises by one, without gaps."
  }),
  at: Timestamp.annotations({ description: "When it was made. The order is that of `seq`, not of times." }),
  type: ChangeType,
  entity: Schema.Struct({ id: Schema.UUID, type: ChangedKind }).annotations({ description: "What changed." }),
  store_id: Schema.optionalWith(StoreId.annotations({ description: "The store, if the change is of one store." }), {
    exact: true
  }),
  what: Schema.Array(Schema.String).annotations({
    description:
      "The parts that changed: keys of attributes, members of the single read, or `overrides`, `publish_state` and `accepted_values` of a store version. Empty: all of it."
  })
}).annotations({ identifier: "Change" })
export type FeedChange = typeof FeedChange.Type
