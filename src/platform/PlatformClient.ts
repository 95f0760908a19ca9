import { Context, type Effect, type Option, type Redacted, type Stream } from "effect"
import type { EntityKind } from "../model/Attribute.ts"
import type {
  OwnerType,
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../model/Definition.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { PlatformMarket } from "./Market.ts"
import type { PlatformReadError, PlatformWriteError } from "./PlatformErrors.ts"
import type { PlatformRecord } from "./PlatformRecord.ts"
import type { Publication, Published, PublishedEntity } from "./Publication.ts"
import type { EntityChannel, SalesChannel } from "./SalesChannel.ts"
import type { PlatformTranslations } from "./Translation.ts"

/** The store that a platform call addresses. */
export interface PlatformStore {
  readonly accountId: AccountId
  readonly storeId: StoreId
  readonly domain: string
  /** The name of the platform. */
  readonly platform: string
  /** The values of the fields that the adapter asks for at linking, by name. */
  readonly credentials: Readonly<Record<string, Redacted.Redacted>>
  /** The sales channels on which a publish puts the records that it creates. Undefined: the platform's default. */
  readonly newRecordChannels?: ReadonlyArray<string>
}

/** The store's own description on its platform. */
export interface StoreFacts {
  readonly domain: string
  readonly name: string
  readonly primaryLocale: string
  /** All locales of the store, the main locale first. */
  readonly locales: ReadonlyArray<string>
  /** ISO 4217 code. */
  readonly currency: string
  /** The optional permissions that the credentials lack (`Permission`). Undefined: none. */
  readonly missingPermissions?: ReadonlyArray<string>
}

/**
 * The commerce platforms of stores. Calls are paced and limited per store, so a hanging store does not slow down others.
 * Throttled and failed calls are repeated within the call's time limit. A write is repeated only if it certainly had no effect.
 */
export class PlatformClient extends Context.Tag("catalog/PlatformClient")<
  PlatformClient,
  {
    /**
     * Reads the store's name, domain, languages and currency, and which permissions the token has. PlatformRefused: the store does not
     * accept the token, or the token lacks a permission that is not optional.
     */
    readonly verify: (store: PlatformStore) => Effect.Effect<StoreFacts, PlatformReadError>
    /** Reads the whole catalog: media, then each product followed by its variants, then collections. */
    readonly pull: (store: PlatformStore) => Stream.Stream<PlatformRecord, PlatformReadError>
    /**
     * Writes the values of a publication to the store. Repeating it with the same key has no further effect. After
     * PlatformOutcomeUnknown, `readBack` tells whether the store has the values.
     */
    readonly publish: (store: PlatformStore, publication: Publication) => Effect.Effect<Published, PlatformWriteError>
    /** Reads whether the store has the values of a publication. None: the values are not there, so publishing again is safe. */
    readonly readBack: (
      store: PlatformStore,
      publication: Publication
    ) => Effect.Effect<Option.Option<Published>, PlatformReadError>
    /**
     * Reads the store's record of an entity, in the form of `pull`. Finds it by `platformId`, else by our entity id. None: the
     * store has no such record.
     */
    readonly find: (
      store: PlatformStore,
      kind: EntityKind,
      entity: PublishedEntity
    ) => Effect.Effect<Option.Option<PlatformRecord>, PlatformReadError>
    /** Reads the store's sales channels from the platform, within 5 s. */
    readonly salesChannels: (store: PlatformStore) => Effect.Effect<ReadonlyArray<SalesChannel>, PlatformReadError>
    /** Reads all channels of the store and whether the entity is on each, from the platform, within 5 s. */
    readonly entityChannels: (
      store: PlatformStore,
      platformId: string
    ) => Effect.Effect<ReadonlyArray<EntityChannel>, PlatformReadError>
    readonly markets: (store: PlatformStore) => Stream.Stream<PlatformMarket, PlatformReadError>
    readonly metafieldDefinitions: (
      store: PlatformStore,
      ownerType: OwnerType
    ) => Stream.Stream<PlatformMetafieldDefinition, PlatformReadError>
    readonly metaobjectDefinitions: (
      store: PlatformStore
    ) => Stream.Stream<PlatformMetaobjectDefinition, PlatformReadError>
    /** The entries of the metaobject definition with this type. */
    readonly metaobjectEntries: (
      store: PlatformStore,
      type: string
    ) => Stream.Stream<PlatformMetaobjectEntry, PlatformReadError>
    /** Translations of products or collections, in all locales of the store except the main one. */
    readonly translations: (
      store: PlatformStore,
      kind: "product" | "collection"
    ) => Stream.Stream<PlatformTranslations, PlatformReadError>
  }
>() {}
