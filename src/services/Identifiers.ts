import { randomUUID } from "node:crypto"
import { Effect, type Schema } from "effect"

/** A new random id. */
export const mintId = <A>(id: Schema.Schema<A, string> & { readonly make: (value: string) => A }): Effect.Effect<A> =>
  Effect.sync(() => id.make(randomUUID()))
