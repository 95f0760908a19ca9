import { Context, Schema } from "effect"
import { StoreId } from "./Ids.ts"

/** The limits that the merchant set for a connection at consent. */
export const ConnectionBounds = Schema.Struct({
  /** The only stores that the connection can use. Null: all of the account, also those that are linked later. */
  stores: Schema.NullOr(Schema.Array(StoreId)),
  /** Whether a person must confirm each publish. */
  confirmPublish: Schema.Boolean
})
export type ConnectionBounds = typeof ConnectionBounds.Type

const unbounded: ConnectionBounds = { stores: null, confirmPublish: false }

/** The limits of the connection that makes a call. Requests of other actors have none. The connector sets it. */
export class CurrentBounds extends Context.Reference<CurrentBounds>()("catalog/CurrentBounds", {
  defaultValue: () => unbounded
}) {}

/** Whether a store is one that the connection can use. */
export const includes = ({ stores }: ConnectionBounds, id: StoreId): boolean => stores === null || stores.includes(id)
