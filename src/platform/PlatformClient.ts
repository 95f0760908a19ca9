import { Context, type Effect, type Option, type Redacted, type Stream } from "effect"
import type { EntityKind } from "../model/Attribute.ts"
import type {
  OwnerType,
  PlatformMetafieldDefinition,
  PlatformMetaobjectDefinition,
  PlatformMetaobjectEntry
} from "../model/Definition.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import type { Platform } from "../model/Store.ts"
import type { PlatformMarket } from "./Market.ts"
import type { PlatformReadError, PlatformWriteError } from "./PlatformErrors.ts"
import type { PlatformRecord } from "./PlatformRecord.ts"
import type { Publication, Published, PublishedEntity } from "./Publication.ts"
import type { EntityChannel, SalesChannel } from "./SalesChannel.ts"
import type { PlatformTranslations } from "./Translation.ts"

/** A store as its platform is asked for it. */
export interface PlatformStore {
  readonly accountId: AccountId
  readonly storeId: StoreId
  readonly domain: string
  readonly platform: Platform
  /** Opens the store; null on platforms that need none. */
  readonly token: Redacted.Redacted | null
}

/** What a store says about itself. */
export interface StoreFacts {
  readonly domain: string
  readonly name: string
  readonly primaryLocale: string
  /** The main one first. */
  readonly locales: ReadonlyArray<string>
  /** ISO 4217 code. */
  readonly currency: string
}

/**
 * The commerce platforms that stores live on. Every call is paced and limited by store: one that hangs costs no other
 * store anything. Throttling, failures of the platform and of the connection are tried again within the call's time;
 * a write only where it certainly had no effect.
 */
export class PlatformClient extends Context.Tag("catalog/PlatformClient")<
  PlatformClient,
  {
    /** Reads what the store is, and so whether its token opens it: PlatformRefused when it does not. */
    readonly verify: (store: PlatformStore) => Effect.Effect<StoreFacts, PlatformReadError>
    /** The whole catalog: media first, then every product followed by its variants, then collections. */
    readonly pull: (store: PlatformStore) => Stream.Stream<PlatformRecord, PlatformReadError>
    /**
     * Makes the store hold what the publication says. However often it is repeated with the same key, its effect is
     * there once. After PlatformOutcomeUnknown `readBack` says what became of it.
     */
    readonly publish: (store: PlatformStore, publication: Publication) => Effect.Effect<Published, PlatformWriteError>
    /** Whether the store took the publication. None: it did not, and publishing it again is safe. */
    readonly readBack: (
      store: PlatformStore,
      publication: Publication
    ) => Effect.Effect<Option.Option<Published>, PlatformReadError>
    /**
     * What the store holds of an entity now, as `pull` would say it: known by `platformId` or by the entity that it was
     * published from. None: it has no such record.
     */
    readonly find: (
      store: PlatformStore,
      kind: EntityKind,
      entity: PublishedEntity
    ) => Effect.Effect<Option.Option<PlatformRecord>, PlatformReadError>
    /** Live: within 5 s. */
    readonly salesChannels: (store: PlatformStore) => Effect.Effect<ReadonlyArray<SalesChannel>, PlatformReadError>
    /** Every channel of the store and whether the entity is on it. Live: within 5 s. */
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
    /** The entries of the definition with this type. */
    readonly metaobjectEntries: (
      store: PlatformStore,
      type: string
    ) => Stream.Stream<PlatformMetaobjectEntry, PlatformReadError>
    /** Of products or of collections, in each language of the store but its main one. */
    readonly translations: (
      store: PlatformStore,
      kind: "product" | "collection"
    ) => Stream.Stream<PlatformTranslations, PlatformReadError>
  }
>() {}
