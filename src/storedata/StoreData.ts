import { Context, Effect, Layer, type Option } from "effect"
import { CurrentActor, withAccountId } from "../model/Actor.ts"
import { CurrentBounds } from "../model/ConnectionBounds.ts"
import type { OwnerType } from "../model/Definition.ts"
import { NotFound } from "../model/Errors.ts"
import type { EntityId, RecordId } from "../model/Ids.ts"
import { type TranslatedKind, withAttributeKeys } from "../platform/Translation.ts"
import { StoreDataRepo } from "./StoreDataRepo.ts"

const make = Effect.gen(function* () {
  const repo = yield* StoreDataRepo

  const orNotFound = <A>(found: Effect.Effect<Option.Option<A>>): Effect.Effect<A, NotFound> =>
    Effect.flatMap(
      found,
      Effect.mapError(() => new NotFound())
    )

  return {
    /** Ordered by handle. */
    markets: withAccountId(repo.markets),
    market: Effect.fnUntraced(function* (id: RecordId) {
      const { accountId } = yield* CurrentActor
      return yield* orNotFound(repo.market(accountId, id))
    }),
    /** Ordered by owner type, namespace and key. `ownerType` null: all owner types. */
    metafieldDefinitions: Effect.fnUntraced(function* (ownerType: OwnerType | null) {
      const { accountId } = yield* CurrentActor
      const { stores } = yield* CurrentBounds
      return yield* repo.metafieldDefinitions(accountId, stores, ownerType)
    }),
    /** Ordered by type. */
    metaobjectDefinitions: Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      const { stores } = yield* CurrentBounds
      return yield* repo.metaobjectDefinitions(accountId, stores)
    }),
    /** The list as JSON text, ordered by handle, then store. */
    metaobjectEntries: Effect.fnUntraced(function* (definitionId: RecordId) {
      const { accountId } = yield* CurrentActor
      const { stores } = yield* CurrentBounds
      return yield* orNotFound(repo.metaobjectEntries(accountId, stores, definitionId))
    }),
    translations: Effect.fnUntraced(function* (kind: TranslatedKind, id: EntityId) {
      const { accountId } = yield* CurrentActor
      return withAttributeKeys(kind, yield* orNotFound(repo.translations(accountId, kind, id)))
    })
  }
})

/**
 * Reads markets, definitions, metaobject entries and translations of the actor's linked stores, as of each store's last refresh.
 * NotFound: the record does not exist, belongs to another account or kind, or is on no linked store.
 */
export class StoreData extends Context.Tag("catalog/StoreData")<StoreData, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(StoreData, make)
}
