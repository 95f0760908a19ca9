import { Effect } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import { hasNoOptions } from "../../model/ProductOptions.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import {
  PlatformOutcomeUnknown,
  PlatformRefused,
  PlatformUnavailable,
  type PlatformWriteError
} from "../PlatformErrors.ts"
import type { Publication, Published, PublishedEntity, VariantPublication } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import { makePublishCollection } from "./CollectionPublishing.ts"
import * as Documents from "./Documents.ts"
import { failIfOtherOptions, giveFirstOption, readFirstOption } from "./FirstOption.ts"
import { hasFailed, makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type DefineId, defineId, newMetafields, setMetafields } from "./Metafields.ts"
import { failIfMisfit, longAddress, missingOptionValue, unreadVariant, unreadVideo } from "./Misfits.ts"
import { fileFailed, makePublishProduct, noId, noProduct } from "./ProductPublishing.ts"
import { toPublished } from "./ReadBack.ts"
import { failIfAny, mutate, sentence } from "./Refusals.ts"

const withMore = (message: string) => `${sentence(message)} The store has taken the other values of this publish.`

/** Whether an answer to a write has a mutation without refusals. */
const isAccepted = (answer: unknown): boolean =>
  Object.values(answer as object).some(
    (mutation) => Array.isArray(mutation?.userErrors) && mutation.userErrors.length === 0
  )

export const makePublish = (client: ShopifyClient): PlatformClient["Type"]["publish"] => {
  const defined = new Set<string>()
  return (store, publication) =>
    Effect.suspend(() => {
      let hasWritten = false
      let wasAccepted = false
      const tracking: ShopifyClient = {
        ...client,
        write: (...call) =>
          Effect.tap(client.write(...call), (answer) => {
            hasWritten = true
            wasAccepted ||= isAccepted(answer)
          })
      }
      return publishOne(tracking, (owner, kind) => defineId(client, defined, owner, kind), store, publication).pipe(
        // After a write of this publish, an error no longer means that nothing was changed.
        Effect.mapError((error) => {
          if (error._tag === "PlatformUnavailable" && hasWritten)
            return new PlatformOutcomeUnknown({ reason: error.reason })
          return error._tag === "PlatformRefused" && wasAccepted
            ? new PlatformRefused({ ...error, message: withMore(error.message), isPartlyWritten: true })
            : error
        })
      )
    })
}

const publishOne = (
  client: ShopifyClient,
  define: DefineId,
  store: PlatformStore,
  publication: Publication
): Effect.Effect<Published, PlatformWriteError> => {
  switch (publication._tag) {
    case "Product":
      return makePublishProduct(client, define)(store, publication)
    case "Variant":
      return makePublishVariant(client, define)(store, publication)
    case "Collection":
      return makePublishCollection(client, define)(store, publication)
    case "Media":
      return makePublishMedia(client)(store, publication)
  }
}

const makePublishVariant =
  (client: ShopifyClient, define: DefineId) => (store: PlatformStore, publication: VariantPublication) =>
    Effect.gen(function* () {
      const { entityId, productPlatformId: productId } = publication
      yield* define(store, "PRODUCTVARIANT")
      const { product } = yield* client.read(store, Documents.productById, Answers.ProductById, { id: productId })
      if (product === null) return yield* noProduct
      const current = yield* makeLookups(client).variant(store, publication)
      yield* failIfMisfit([unreadVariant(publication, current)])
      const names = yield* giveFirstOption(client, store, product, publication.firstOption)
      yield* failIfOtherOptions(names, publication.firstOption)
      const optionValues = Mapping.optionValuesOf(publication, names)
      // A variant without option values may have been requested before its product had options. It keeps the value that it has there.
      // Equal values are not sent, because Shopify takes no names of values that are linked to a metafield.
      const isLeft =
        current !== null && (hasNoOptions(publication.attributes) || Mapping.hasOptions(current, optionValues))
      if (!isLeft) yield* failIfMisfit([missingOptionValue(publication, names)])
      const input = { ...Mapping.variantInput(publication), ...(isLeft ? {} : { optionValues }) }
      if (current === null) {
        const { productVariants } = yield* mutate(client, store, Documents.createVariants, Answers.CreateVariants, {
          productId,
          variants: [
            {
              ...input,
              ...(publication.picture && { mediaId: publication.picture.platformId }),
              metafields: newMetafields(publication)
            }
          ]
        })
        const [created] = productVariants ?? []
        if (created === undefined) return yield* noId
        return { ...toPublished([[entityId, created.id]]), ...(yield* readFirstOption(client, store, publication)) }
      }
      yield* mutate(client, store, Documents.updateVariants, Answers.UpdateVariants, {
        productId,
        variants: [{ id: current.id, ...input }]
      })
      yield* setPicture(client, store, productId, current, publication)
      const owner = { id: current.id, entity: publication, current: current.metafields.nodes }
      yield* failIfAny(yield* setMetafields(client, store, [owner]))
      return { ...toPublished([[entityId, current.id]]), ...(yield* readFirstOption(client, store, publication)) }
    })

/** Makes the store show the picture of the publication for a variant that it has. A variant can have only one. */
const setPicture = (
  client: ShopifyClient,
  store: PlatformStore,
  productId: string,
  current: Answers.LiveVariant,
  { picture }: VariantPublication
) =>
  Effect.gen(function* () {
    const before = Mapping.pictureIdOf(current)
    const after = picture?.platformId ?? null
    if (picture === undefined || before === after) return
    const pairWith = (mediaId: string) => ({
      productId,
      variantMedia: [{ variantId: current.id, mediaIds: [mediaId] }]
    })
    if (before !== null) yield* mutate(client, store, Documents.detachPicture, Answers.DetachPicture, pairWith(before))
    if (after !== null) yield* mutate(client, store, Documents.appendPicture, Answers.AppendPicture, pairWith(after))
  })

const makePublishMedia = (client: ShopifyClient) => (store: PlatformStore, media: PublishedEntity) =>
  Effect.gen(function* () {
    const current = yield* makeLookups(client).file(store, media)
    if (current === null) {
      yield* failIfMisfit([longAddress(media)])
      const { files } = yield* mutate(client, store, Documents.createFiles, Answers.CreateFiles, {
        files: [Mapping.fileInput(media)]
      })
      const [created] = files ?? []
      if (created === undefined) return yield* noId
      return toPublished([[media.entityId, created.id]])
    }
    yield* failIfMisfit([unreadVideo(media, current)])
    // A new file would not be in the galleries that have this one. Only the publish of a product replaces it there.
    if (hasFailed(current.fileStatus)) return yield* fileFailed(media, current.fileErrors)
    if (current.fileStatus !== "READY") return yield* new PlatformUnavailable({ reason: "processing" })
    const files = [{ id: current.id, alt: valueOf(media.attributes, "alt") }]
    yield* mutate(client, store, Documents.updateFiles, Answers.UpdateFiles, { files })
    return toPublished([[media.entityId, current.id]])
  })
