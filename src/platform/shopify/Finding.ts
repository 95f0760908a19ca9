import { Effect, Option } from "effect"
import type { EntityKind } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import type { PlatformReadError } from "../PlatformErrors.ts"
import type { PublishedEntity } from "../Publication.ts"
import type { ShopifyClient } from "./Client.ts"
import { makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type IdOwner, idDefinition } from "./Metafields.ts"

/** Reads a store's record of one entity, in the same form as a pull of the whole store. */
export const makeFind = (client: ShopifyClient): PlatformClient["Type"]["find"] => {
  const lookups = makeLookups(client)

  /** Finds a record by platform id, else by our entity id. Shopify finds our id only if the store has its definition. */
  const findById = <A>(
    store: PlatformStore,
    owner: IdOwner,
    { entityId, platformId }: PublishedEntity,
    byId: (store: PlatformStore, id: string) => Effect.Effect<A | null, PlatformReadError>,
    byEntity: (store: PlatformStore, entityId: EntityId) => Effect.Effect<A | null, PlatformReadError>
  ) =>
    Effect.gen(function* () {
      const withId = platformId === null ? null : yield* byId(store, platformId)
      if (withId !== null) return Option.some(withId)
      const type = yield* idDefinition(client, store, owner)
      return type === "id" ? Option.fromNullable(yield* byEntity(store, entityId)) : Option.none()
    })

  const product = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.map(
      findById(store, "PRODUCT", entity, lookups.productById, lookups.productByEntity),
      Option.map((live) =>
        Mapping.productRecord(
          live,
          live.metafields.nodes,
          live.media.nodes.map(({ id }) => id)
        )
      )
    )

  const variant = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.map(
      findById(store, "PRODUCTVARIANT", entity, lookups.variantById, lookups.variantByEntity),
      Option.map((live) => Mapping.liveVariantRecord(live, live.product.id))
    )

  const collection = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.gen(function* () {
      const live = yield* findById(store, "COLLECTION", entity, lookups.collectionById, lookups.collectionByEntity)
      if (Option.isNone(live)) return Option.none()
      const { id, metafields } = live.value
      return Option.some(Mapping.collectionRecord(live.value, metafields.nodes, yield* lookups.membersOf(store, id)))
    })

  const media = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.map(lookups.file(store, entity), (live) => Option.flatMap(Option.fromNullable(live), Mapping.fileRecord))

  const kinds: Readonly<
    Record<EntityKind, (store: PlatformStore, entity: PublishedEntity) => ReturnType<PlatformClient["Type"]["find"]>>
  > = { product, variant, collection, media }

  return (store, kind, entity) => kinds[kind](store, entity)
}
