import { Context, Effect, Layer, type Option } from "effect"
import { CurrentActor } from "../model/Actor.ts"
import { CurrentBounds, includes } from "../model/ConnectionBounds.ts"
import type { MetafieldDefinition, MetaobjectDefinition, MetaobjectEntry, OwnerType } from "../model/Definition.ts"
import { NotFound } from "../model/Errors.ts"
import type { EntityId, RecordId } from "../model/Ids.ts"
import type { JsonText } from "../model/JsonText.ts"
import type { Market } from "../platform/Market.ts"
import { type KeyedEntityTranslations, type TranslatedKind, withAttributeKeys } from "../platform/Translation.ts"
import { OperationsRepo } from "./OperationsRepo.ts"

/**
 * What the stores of whoever asks have beside their catalogs, as the last refresh of each found it. NotFound: absent, of
 * another account, of another kind, or on no linked store.
 */
export class Operations extends Context.Tag("catalog/Operations")<
  Operations,
  {
    /** By handle. */
    readonly markets: Effect.Effect<ReadonlyArray<Market>, never, CurrentActor>
    readonly market: (id: RecordId) => Effect.Effect<Market, NotFound, CurrentActor>
    /** By owner type, namespace and key; null: of every owner type. */
    readonly metafieldDefinitions: (
      ownerType: OwnerType | null
    ) => Effect.Effect<ReadonlyArray<MetafieldDefinition>, never, CurrentActor>
    /** By type. */
    readonly metaobjectDefinitions: Effect.Effect<ReadonlyArray<MetaobjectDefinition>, never, CurrentActor>
    /** By handle, then store: JSON text of the list. */
    readonly metaobjectEntries: (
      definitionId: RecordId
    ) => Effect.Effect<JsonText<ReadonlyArray<MetaobjectEntry>>, NotFound, CurrentActor>
    readonly translations: (
      kind: TranslatedKind,
      id: EntityId
    ) => Effect.Effect<KeyedEntityTranslations, NotFound, CurrentActor>
  }
>() {
  static readonly layer = Layer.effect(
    Operations,
    Effect.gen(function* () {
      const repo = yield* OperationsRepo

      const known = <A>(found: Effect.Effect<Option.Option<A>>): Effect.Effect<A, NotFound> =>
        Effect.flatMap(
          found,
          Effect.mapError(() => new NotFound())
        )

      return {
        markets: Effect.flatMap(CurrentActor, ({ accountId }) => repo.markets(accountId)),
        market: Effect.fnUntraced(function* (id) {
          const { accountId } = yield* CurrentActor
          return yield* known(repo.market(accountId, id))
        }),
        metafieldDefinitions: Effect.fnUntraced(function* (ownerType) {
          const { accountId } = yield* CurrentActor
          const bounds = yield* CurrentBounds
          const all = yield* repo.metafieldDefinitions(accountId, ownerType)
          // A definition without stores is the account's own.
          return all.filter(
            ({ stores }) => stores.length === 0 || stores.some(({ store_id }) => includes(bounds, store_id))
          )
        }),
        metaobjectDefinitions: Effect.flatMap(CurrentActor, ({ accountId }) => repo.metaobjectDefinitions(accountId)),
        metaobjectEntries: Effect.fnUntraced(function* (definitionId) {
          const { accountId } = yield* CurrentActor
          return yield* known(repo.metaobjectEntries(accountId, definitionId))
        }),
        translations: Effect.fnUntraced(function* (kind, id) {
          const { accountId } = yield* CurrentActor
          return withAttributeKeys(kind, yield* known(repo.translations(accountId, kind, id)))
        })
      }
    })
  )
}
