import { Context, Schema } from "effect"
import { StoreId } from "./Ids.ts"

/** The limits that the merchant set for a connection at consent. */
export const ConnectionBounds = Schema.Struct({
  /** The stores to which the connection is limited. Null: all stores of the account, also those that are linked later. */
  stores: Schema.NullOr(Schema.Array(StoreId)),
  /** Whether a person must confirm each publish. */
  confirmPublish: Schema.Boolean
})
export type ConnectionBounds = typeof ConnectionBounds.Type

const unbounded: ConnectionBounds = { stores: null, confirmPublish: false }

/** The limits of the connection that makes the current call. The connector sets them; other actors have no limits. */
export class CurrentBounds extends Context.Reference<CurrentBounds>()("catalog/CurrentBounds", {
  defaultValue: () => unbounded
}) {}

/** Whether the connection can use a store. */
export const includes = ({ stores }: ConnectionBounds, id: StoreId): boolean => stores === null || stores.includes(id)
