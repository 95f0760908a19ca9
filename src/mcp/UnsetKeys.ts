import { Effect } from "effect"
import { Catalog } from "../catalog/Catalog.ts"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import { type NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId } from "../model/Ids.ts"
import { toSafeText } from "./Vocabulary.ts"

/** Returns the keys if an entity of this kind can have them. ValidationFailed names similar keys, or the kinds that have the key. */
export type FindUnset = (
  id: EntityId,
  keys: ReadonlyArray<string>
) => Effect.Effect<ReadonlyArray<string>, ValidationFailed | NotFound, CurrentActor>

/** Maximum number of unknown keys in a refusal. */
const maxNamed = 3

/** Distinguishes keys without a value from keys that do not exist, by the account's definitions. */
export const makeFindUnset = Effect.gen(function* () {
  const catalog = yield* Catalog
  const definitions = yield* MetafieldDefinitions

  const findUnset: FindUnset = (id, keys) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const kind = yield* catalog.kindOf(id)
      const rules = yield* definitions.rules(accountId)
      const unknown = keys.filter((key) => rules.find(kind, key) === undefined)
      if (unknown.length === 0) return keys
      const named = unknown
        .slice(0, maxNamed)
        .map((key) => ({ path: "attributes", message: `${toSafeText(key) || '""'} ${rules.whyUnknown(kind, key)}` }))
      const more = unknown.length - named.length
      return yield* new ValidationFailed({
        issues: more === 0 ? named : [...named, { path: "attributes", message: `${more} more are unknown` }]
      })
    })
  return findUnset
})
