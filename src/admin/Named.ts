import { Effect, Schema } from "effect"
import { NotFound } from "../domain/Errors.ts"
import type { Store } from "../domain/Store.ts"
import { Stores } from "../services/Stores.ts"
import { Refusal } from "./AdminRpcs.ts"

/** An id as somebody typed it. NotFound: what is no id names nothing. */
export const idOf =
  <Id extends string>(schema: Schema.Schema<Id, string>) =>
  (typed: string): Effect.Effect<Id, NotFound> =>
    Effect.mapError(Schema.decode(schema)(typed.trim().toLowerCase()), () => new NotFound())

/** The refusal of a store that is not there. */
export const unknownStore = (domain: string): Refusal =>
  new Refusal({ message: `No store ${domain} is linked: see \`catalog store list\`.` })

/** The linked store of a domain as somebody typed it. */
export const makeStoreNamed = Effect.map(
  Stores,
  (stores) => (domain: string) =>
    Effect.flatMap(stores.list, (linked): Effect.Effect<Store, Refusal> => {
      const store = linked.find((each) => each.domain === domain.trim().toLowerCase())
      return store === undefined ? unknownStore(domain) : Effect.succeed(store)
    })
)
