import { randomUUID } from "node:crypto"
import { Context, Effect, type Schema } from "effect"

/** The source of new ids: random UUIDs, or repeatable ids in tests. */
export class UuidSource extends Context.Reference<UuidSource>()("catalog/UuidSource", {
  defaultValue: (): (() => string) => randomUUID
}) {}

/** A new random id. */
export const mintId = <A>(id: Schema.Schema<A, string> & { readonly make: (value: string) => A }): Effect.Effect<A> =>
  Effect.map(UuidSource, (next) => id.make(next()))
