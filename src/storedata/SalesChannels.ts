import { Context, Effect, Layer, Option } from "effect"
import { CatalogRepo } from "../catalog/CatalogRepo.ts"
import { CurrentActor } from "../model/Actor.ts"
import type { EntityKind } from "../model/Attribute.ts"
import { LiveReadFailed, NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId, StoreId } from "../model/Ids.ts"
import type { PlatformDescription } from "../platform/PlatformAdapter.ts"
import { PlatformClient, type PlatformStore } from "../platform/PlatformClient.ts"
import type { PlatformReadError } from "../platform/PlatformErrors.ts"
import { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import type { EntityChannel, SalesChannel } from "../platform/SalesChannel.ts"
import { StoreAccess } from "../stores/StoreAccess.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"

/** The kinds of entities that are sold on channels. */
export type ChannelKind = Exclude<EntityKind, "media">

/** Whether the channels for new records can be chosen on stores of a platform. */
export const hasChannelChoice = (platform: Option.Option<PlatformDescription>): boolean =>
  Option.exists(platform, ({ isDefaultChannel }) => isDefaultChannel !== undefined)

const make = Effect.gen(function* () {
  const access = yield* StoreAccess
  const catalog = yield* CatalogRepo
  const platforms = yield* PlatformClient
  const registry = yield* PlatformRegistry
  const stores = yield* StoresRepo

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

  const ofStore = (storeId: StoreId) => callPlatform(storeId, platforms.salesChannels)

  return {
    /** The chosen channels for new records, by the platform's ids; null: the platform's default. NotFound: no such store. */
    forNewRecords: Effect.fn("SalesChannels.forNewRecords")(function* (storeId: StoreId) {
      const { accountId } = yield* CurrentActor
      const found = yield* stores.access(accountId, storeId)
      return Option.isNone(found) ? yield* new NotFound() : found.value.newRecordChannels
    }),
    /**
     * Chooses the channels on which publishes put the records that they create on a store. Null: the platform's default. `before`: the
     * choice that the caller has seen. False: another choice was made meanwhile, and nothing was saved. ValidationFailed: the store has no
     * such channel, or its platform has no choice. LiveReadFailed: the channels cannot be read.
     */
    chooseForNewRecords: Effect.fn("SalesChannels.chooseForNewRecords")(function* (
      storeId: StoreId,
      ids: ReadonlyArray<string> | null,
      before?: ReadonlyArray<string> | null
    ) {
      const { accountId } = yield* CurrentActor
      const found = yield* stores.access(accountId, storeId)
      if (Option.isNone(found)) return yield* new NotFound()
      const { domain, platform } = found.value.store
      if (!hasChannelChoice(registry.find(platform)))
        return yield* ValidationFailed.at("channels", `cannot be chosen on ${domain}: its platform decides`)
      const channelIds = new Set(ids === null ? [] : (yield* ofStore(storeId)).map(({ id }) => id))
      const unknown = ids?.find((id) => !channelIds.has(id))
      if (unknown !== undefined)
        return yield* ValidationFailed.at("channels", `${domain} has no sales channel ${unknown}`)
      return yield* stores.keepNewRecordChannels(accountId, storeId, ids === null ? null : [...new Set(ids)], before)
    }),
    /** NotFound: no such store; the platform was not called. LiveReadFailed: the platform gave no usable answer. */
    ofStore: Effect.fn("SalesChannels.ofStore")(ofStore),
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
