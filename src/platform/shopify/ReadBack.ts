import { Effect, Option } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import type {
  CollectionPublication,
  ProductPublication,
  Publication,
  Published,
  PublishedEntity,
  PublishedVariant,
  VariantPublication
} from "../Publication.ts"
import type * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import { firstOptionIn, lacksOption, readFirstOption } from "./FirstOption.ts"
import { hasFailed, makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type IdOwner, idDefinition } from "./Metafields.ts"
import { makeNewRecords } from "./NewRecords.ts"

export const toPublished = (ids: Iterable<readonly [EntityId, string]>): Published => ({ platformIds: new Map(ids) })

/** Whether a variant has the picture of a publication. `pictureId`: the id of that picture in the store. */
const showsPicture = (
  live: Answers.LiveVariant,
  { picture }: PublishedVariant,
  pictureId: string | null | undefined
): boolean => picture === undefined || Mapping.pictureIdOf(live) === (picture === null ? null : pictureId)

/** Whether two lists have the same ids, and if `isOrdered` in the same order. */
const sameIds = (left: ReadonlySet<string>, right: ReadonlySet<string>, isOrdered: boolean) => {
  const others = [...right]
  return left.size === right.size && [...left].every((id, index) => (isOrdered ? others[index] === id : right.has(id)))
}

const hasAlt = ({ alt }: { readonly alt: string | null }, { attributes }: PublishedEntity) =>
  (alt ?? "") === valueOf(attributes, "alt")

/**
 * Whether a file of a gallery in the store is this media file. If its id is not known, it is recognised by its name and its alt text, which
 * were sent together.
 */
const isFileOf = (file: Answers.LiveMedia, media: PublishedEntity | undefined) =>
  media !== undefined && (file.id === media.platformId || (Mapping.isNamedAfter(file, media) && hasAlt(file, media)))

const idOwners: Readonly<Record<Publication["_tag"], IdOwner | null>> = {
  Product: "PRODUCT",
  Variant: "PRODUCTVARIANT",
  Collection: "COLLECTION",
  Media: null
}

/** Whether the store has the variants in order; and with their values and pictures, if the first publish wrote them. */
const holdsVariants = (
  { platformId, variants }: ProductPublication,
  live: ReadonlyArray<Answers.LiveVariant>,
  matched: ReadonlyMap<EntityId, Answers.LiveVariant>,
  { platformIds }: Published
) => {
  const wanted = variants.flatMap(({ entityId }) => matched.get(entityId)?.id ?? [])
  const order = live.map(({ id }) => id).filter((id) => wanted.includes(id))
  // Only the first publish writes the values of variants, so later publishes do not check them.
  const isWhole = variants.every((variant) => {
    const found = matched.get(variant.entityId)
    return (
      found !== undefined &&
      Mapping.entityIdOf(found.metafields.nodes) === variant.entityId &&
      Mapping.holds("variant", variant, Mapping.liveVariantRecord(found, "").attributes) &&
      showsPicture(found, variant, variant.picture?.entityId && platformIds.get(variant.picture.entityId))
    )
  })
  return (platformId !== null || isWhole) && wanted.every((id, index) => id === order[index])
}

/** Checks whether a store has a publication's values. Shopify does not store publication keys, so values are compared. */
export const makeReadBack = (client: ShopifyClient) => {
  const lookups = makeLookups(client)
  const { withChannels } = makeNewRecords(client)

  /** Reads the product with the platform ids of its variants and media. Media are matched by their position in the gallery. */
  const liveProduct = (store: PlatformStore, publication: ProductPublication) =>
    Effect.gen(function* () {
      const product = yield* lookups.product(store, publication)
      if (product === null) return null
      const variants = yield* lookups.variantsOf(store, product.id)
      const matched = Mapping.matchVariants(publication.variants, variants)
      const gallery = product.media.nodes
      return {
        product,
        variants,
        matched,
        published: {
          ...toPublished([
            [publication.entityId, product.id],
            ...[...matched].map(([entityId, { id }]) => [entityId, id] as const),
            ...publication.media.flatMap(({ entityId }, index) => {
              const id = gallery[index]?.id
              return id === undefined ? [] : [[entityId, id] as const]
            })
          ]),
          ...firstOptionIn(product, publication.firstOption, publication.variants)
        }
      }
    })

  const product = (store: PlatformStore, publication: ProductPublication) =>
    Effect.gen(function* () {
      const live = yield* liveProduct(store, publication)
      if (live === null) return Option.none()
      const { metafields, media } = live.product
      const record = Mapping.productRecord(live.product, metafields.nodes, [])
      const isHeld =
        Mapping.entityIdOf(metafields.nodes) === publication.entityId &&
        !lacksOption(live.product, publication.firstOption) &&
        Mapping.holds("product", publication, record.attributes) &&
        media.nodes.length === publication.media.length &&
        !media.nodes.some(({ status }) => hasFailed(status)) &&
        media.nodes.every((file, index) => isFileOf(file, publication.media[index])) &&
        holdsVariants(publication, live.variants, live.matched, live.published)
      return isHeld ? yield* withChannels(store, publication, live.product, live.published) : Option.none()
    })

  const variant = (store: PlatformStore, publication: VariantPublication) =>
    Effect.gen(function* () {
      const live = yield* lookups.variant(store, publication)
      const isHeld =
        live !== null &&
        Mapping.entityIdOf(live.metafields.nodes) === publication.entityId &&
        Mapping.holds(
          "variant",
          publication,
          Mapping.liveVariantRecord(live, publication.productPlatformId).attributes
        ) &&
        showsPicture(live, publication, publication.picture?.platformId)
      if (!isHeld) return Option.none()
      const published = toPublished([[publication.entityId, live.id]])
      return Option.some({ ...published, ...(yield* readFirstOption(client, store, publication)) })
    })

  const collection = (store: PlatformStore, publication: CollectionPublication) =>
    Effect.gen(function* () {
      const live = yield* lookups.collection(store, publication)
      if (live === null) return Option.none()
      const members = yield* lookups.membersOf(store, live.id)
      const record = Mapping.collectionRecord(live, live.metafields.nodes, members)
      const isHeld =
        record.entityId === publication.entityId &&
        Mapping.holds("collection", publication, record.attributes) &&
        sameIds(new Set(members), new Set(publication.members), live.sortOrder === Mapping.manualOrder)
      const published = toPublished([[publication.entityId, live.id]])
      return isHeld ? yield* withChannels(store, publication, live, published) : Option.none()
    })

  const media = (store: PlatformStore, entity: PublishedEntity) =>
    Effect.map(lookups.usableFile(store, entity), (live) =>
      live !== null && hasAlt(live, entity) ? Option.some(toPublished([[entity.entityId, live.id]])) : Option.none()
    )

  const read = (store: PlatformStore, publication: Publication) => {
    switch (publication._tag) {
      case "Product":
        return product(store, publication)
      case "Variant":
        return variant(store, publication)
      case "Collection":
        return collection(store, publication)
      case "Media":
        return media(store, publication)
    }
  }

  const readBack: PlatformClient["Type"]["readBack"] = (store, publication) => {
    const owner = idOwners[publication._tag]
    if (owner === null) return read(store, publication)
    return Effect.flatMap(idDefinition(client, store, owner), (type) =>
      type === "id" ? read(store, publication) : Effect.succeedNone
    )
  }

  return { liveProduct, readBack }
}
