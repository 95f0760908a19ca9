import { Context, Effect, Layer, Option } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { LiveReadFailed, NotFound } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import { PlatformClient, type PlatformStore } from "../platform/PlatformClient.ts"
import type { PlatformReadError } from "../platform/PlatformErrors.ts"
import type { EntityChannel, SalesChannel } from "../platform/SalesChannel.ts"
import { StoreAccess } from "../stores/StoreAccess.ts"

/** The kinds of entities that are sold on channels. */
export type ChannelKind = Exclude<EntityKind, "media">

const make = Effect.gen(function* () {
  const access = yield* StoreAccess
  const catalog = yield* CatalogRepo
  const platforms = yield* PlatformClient

  /** Calls the platform of a store. All platform failures become LiveReadFailed. */
  const callPlatform = <A>(storeId: StoreId, read: (store: PlatformStore) => Effect.Effect<A, PlatformReadError>) =>
    Effect.gen(function* () {
      const { accountId } = yield* CurrentActor
      return yield* read(yield* access.open(accountId, storeId))
    }).pipe(
      Effect.catchTags({
        PlatformRefused: ({ message }) => new LiveReadFailed({ message }),
        PlatformUnavailable: ({ message }) => new LiveReadFailed({ message })
      })
    )

  return {
    /** NotFound: no such store; the platform was not called. LiveReadFailed: the platform gave no usable answer. */
    ofStore: Effect.fn("SalesChannels.ofStore")((storeId: StoreId) => callPlatform(storeId, platforms.salesChannels)),
    /**
     * Every channel of the store, and whether the entity is on it. An entity that was never published to the store is on none.
     * NotFound: no such store, no such entity of this kind, or the entity is not on the store; the platform was not called.
     * LiveReadFailed: the platform gave no usable answer.
     */
    ofEntity: Effect.fn("SalesChannels.ofEntity")(function* (kind: ChannelKind, id: EntityId, storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      const version = yield* catalog.onStore(accountId, kind, id, storeId)
      if (Option.isNone(version)) return yield* new NotFound()
      const { platformId } = version.value
      return yield* callPlatform(storeId, (store) =>
        platformId === null
          ? Effect.map(platforms.salesChannels(store), (channels) => channels.map(toUnpublished))
          : platforms.entityChannels(store, platformId)
      )
    })
  }
})

/** The sales channels of the actor's stores. Each call reads them from the store's platform, within 5 s. */
export class SalesChannels extends Context.Tag("catalog/SalesChannels")<
  SalesChannels,
  Effect.Effect.Success<typeof make>
>() {
  static readonly layer = Layer.effect(SalesChannels, make)
}

const toUnpublished = ({ id, name }: SalesChannel): EntityChannel => ({
  id,
  name,
  is_published: false,
  publish_date: null,
  state: "unpublished"
})
