import { Effect, Option } from "effect"
import type { EntityKind } from "../../model/Attribute.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import type { PublishedEntity } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type IdOwner, idDefinition } from "./Metafields.ts"

/** Reads a store's record of one entity, in the same form as a pull of the whole store. */
export const makeFind = (client: ShopifyClient): PlatformClient["Type"]["find"] => {
  const { read } = client
  const lookups = makeLookups(client)

  /** Finds a record by platform id, else by our entity id. Shopify finds our id only if the store has its definition. */
  const findById = <A, E>(
    store: PlatformStore,
    owner: IdOwner,
    { entityId, platformId }: PublishedEntity,
    byId: (id: string) => Effect.Effect<A | null, E>,
    byCustomId: (variables: { readonly customId: ReturnType<typeof Mapping.customIdOf> }) => Effect.Effect<A | null, E>
  ) =>
    Effect.gen(function* () {
      const found = platformId === null ? null : yield* byId(platformId)
      if (found !== null) return found
      const type = yield* idDefinition(client, store, owner)
      return type === "id" ? yield* byCustomId({ customId: Mapping.customIdOf(entityId) }) : null
    })

  const product = (store: PlatformStore, entity: PublishedEntity) =>
    findById(
      store,
      "PRODUCT",
      entity,
      (id) => Effect.map(read(store, Documents.productById, Answers.ProductById, { id }), (answer) => answer.product),
      (variables) =>
        Effect.map(
          read(store, Documents.productByCustomId, Answers.ProductByIdentifier, variables),
          (answer) => answer.productByIdentifier
        )
    ).pipe(
      Effect.map((live) =>
        Option.map(Option.fromNullable(live), (product) =>
          Mapping.productRecord(
            product,
            product.metafields.nodes,
            product.media.nodes.map(({ id }) => id)
          )
        )
      )
    )

  const variant = (store: PlatformStore, entity: PublishedEntity) =>
    findById(
      store,
      "PRODUCTVARIANT",
      entity,
      (id) =>
        Effect.map(read(store, Documents.variantById, Answers.VariantById, { id }), (answer) => answer.productVariant),
      (variables) =>
        Effect.map(
          read(store, Documents.variantByCustomId, Answers.VariantByIdentifier, variables),
          (answer) => answer.productVariantByIdentifier
        )
    ).pipe(
      Effect.map((live) =>
        Option.map(Option.fromNullable(live), (variant) =>
          Mapping.variantRecord(variant, variant.metafields.nodes, variant.product.id)
        )
      )
    )

  const collection = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.gen(function* () {
      const live = yield* findById(
        store,
        "COLLECTION",
        entity,
        (id) =>
          Effect.map(
            read(store, Documents.collectionById, Answers.CollectionById, { id }),
            (answer) => answer.collection
          ),
        (variables) =>
          Effect.map(
            read(store, Documents.collectionByCustomId, Answers.CollectionByIdentifier, variables),
            (answer) => answer.collectionByIdentifier
          )
      )
      if (live === null) return Option.none()
      return Option.some(
        Mapping.collectionRecord(live, live.metafields.nodes, yield* lookups.membersOf(store, live.id))
      )
    })

  const media = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.map(lookups.file(store, entity), (live) => Option.flatMap(Option.fromNullable(live), Mapping.fileRecord))

  const kinds: Readonly<
    Record<EntityKind, (store: PlatformStore, entity: PublishedEntity) => ReturnType<PlatformClient["Type"]["find"]>>
  > = { product, variant, collection, media }

  return (store, kind, entity) => kinds[kind](store, entity)
}
