import { Array as Arr, Effect } from "effect"
import { titleOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformRefused, PlatformUnavailable } from "../PlatformErrors.ts"
import type { ProductPublication, PublishedEntity, PublishedVariant } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import { maxElements, type ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { giveFirstOption } from "./FirstOption.ts"
import { hasFailed, makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type DefineId, newMetafields, setMetafields } from "./Metafields.ts"
import { failIfMisfit, longAddress, missingOptionValue, unreadVideo } from "./Misfits.ts"
import { makeNewRecords } from "./NewRecords.ts"
import { makeReadBack } from "./ReadBack.ts"
import { failIfAny, mutate } from "./Refusals.ts"

export const noProduct = new PlatformRefused({
  code: "NOT_FOUND",
  message: "The store has no such product any more.",
  field: null
})

/** Shopify accepted a write, but its answer has no record id. */
export const noId = new PlatformOutcomeUnknown({ reason: "nonsense" })

export const fileFailed = (media: PublishedEntity | undefined, [error]: Answers.FileErrors) => {
  const name = media === undefined ? "" : titleOf("media", media.attributes)
  const cause = error?.message ?? "The store gives no reason."
  return new PlatformRefused({
    code: "FILE_FAILED",
    message: `The store cannot show the file ${name}: ${cause} Correct its address, then publish a product that shows it: this sends the file again.`,
    field: null
  })
}

/** Publishes a product: values, gallery and order of variants. The first publish also writes the values of the variants. */
export const makePublishProduct = (client: ShopifyClient, define: DefineId) => {
  const lookups = makeLookups(client)
  const { liveProduct } = makeReadBack(client)
  const { isCreated, putOnChannels } = makeNewRecords(client)

  return (store: PlatformStore, publication: ProductPublication) =>
    Effect.gen(function* () {
      yield* define(store, "PRODUCT")
      yield* define(store, "PRODUCTVARIANT")
      const current = yield* lookups.product(store, publication)
      if (current === null) yield* lookups.failIfUnreadProduct(store, publication)
      // A product that was deleted in the store is made again.
      const isFirst = publication.platformId === null || current === null
      const isNew = current === null || (yield* isCreated(store, publication, current))
      const gallery = current?.media.nodes ?? []
      const files = yield* Effect.forEach(publication.media, (media) => lookups.galleryFile(store, media, gallery))
      // A file in processing has no name yet. It may be the one that is not found, from an attempt whose answer was lost.
      const isUnknown = ({ id, status }: Answers.LiveMedia) =>
        status !== "READY" && !hasFailed(status) && !files.some((file) => file?.id === id)
      if (files.includes(null) && gallery.some(isUnknown))
        return yield* new PlatformUnavailable({ reason: "processing" })
      const optionNames = Mapping.optionsOf(publication, publication.variants).map(({ name }) => name)
      yield* failIfMisfit([
        ...(isFirst ? publication.variants.map((variant) => missingOptionValue(variant, optionNames)) : []),
        ...publication.media.filter((_, index) => files[index] === null).map(longAddress),
        ...publication.media.map((media, index) => unreadVideo(media, files[index] ?? null))
      ])
      if (current !== null) yield* giveFirstOption(client, store, current, publication.firstOption)
      // Read after the first option was given, because variants are matched by their option values too.
      const before = current === null ? [] : yield* lookups.variantsOf(store, current.id)
      const galleryFiles = publication.media.map((media, index) => Mapping.galleryInput(media, files[index]?.id))
      const sent = {
        identifier: current === null ? { customId: Mapping.customIdOf(publication.entityId) } : { id: current.id },
        input: {
          ...Mapping.productInput(publication, current),
          files: galleryFiles,
          ...(isFirst ? firstVariants(publication, before, galleryFiles) : {})
        }
      }
      const { product } = yield* mutate(client, store, Documents.setProduct, Answers.SetProduct, sent)
      if (product === null) return yield* noId
      const { id } = product
      const live = yield* lookups.variantsOf(store, id)
      const matched = Mapping.matchVariants(publication.variants, live)
      const variants = (isFirst ? publication.variants : []).flatMap((entity) => {
        const variant = matched.get(entity.entityId)
        return variant === undefined ? [] : [{ id: variant.id, entity, current: variant.metafields.nodes }]
      })
      const owner = { id, entity: publication, current: current?.metafields.nodes ?? [] }
      const refusals = yield* setMetafields(client, store, [owner, ...variants])
      yield* orderVariants(client, store, id, publication, matched, live)
      yield* failIfAny(refusals)
      const written = yield* liveProduct(store, { ...publication, platformId: id })
      if (written === null) return yield* noProduct
      for (const [index, { mediaErrors, status }] of written.product.media.nodes.entries())
        if (hasFailed(status)) return yield* fileFailed(publication.media[index], mediaErrors)
      return { ...written.published, ...(isNew ? yield* putOnChannels(store, id) : {}) }
    })
}

/**
 * Maximum cost of a call of productSet, in points. Shopify refuses a call above 1,000 for good. The costs of parts of its input are
 * those of Shopify's schema (`ProductSetInput`).
 */
const maxCost = 900
const costOf = { call: 10, variant: 0.2, file: 1.9, variantMetafield: 0.4 }

/**
 * The input with all variants of the product and their options. It includes variants that only the store has, because
 * productSet deletes variants that are missing from its input.
 */
const firstVariants = (
  publication: ProductPublication,
  live: ReadonlyArray<Answers.LiveVariant>,
  galleryFiles: ReadonlyArray<unknown>
): Readonly<Record<string, unknown>> => {
  if (publication.variants.length === 0) return {}
  const matched = Mapping.matchVariants(publication.variants, live)
  const matchedIds = new Set([...matched.values()].map(({ id }) => id))
  const unmatched = live.filter(({ id }) => !matchedIds.has(id))
  const options = Mapping.optionsOf(publication, publication.variants)
  const names = options.map(({ name }) => name)
  const pictureOf = ({ picture }: PublishedVariant) => {
    const file = galleryFiles[publication.media.findIndex(({ entityId }) => entityId === picture?.entityId)]
    return file === undefined ? {} : { file }
  }
  const variantCount = publication.variants.length + unmatched.length
  let cost = costOf.call + variantCount * costOf.variant + publication.media.length * costOf.file
  /** The metafields of a new variant, or none if they would cost too much: setMetafields writes them later. */
  const affordable = (variant: PublishedEntity) => {
    const metafields = newMetafields(variant)
    const more = metafields.length * costOf.variantMetafield
    if (cost + more > maxCost) return {}
    cost += more
    return { metafields }
  }
  return {
    productOptions: options.map(({ name, values }) => ({
      name,
      values: [
        ...new Set([
          ...values,
          ...unmatched.flatMap(({ selectedOptions }) =>
            selectedOptions.filter((option) => option.name === name).map(({ value }) => value)
          )
        ])
      ].map((value) => ({ name: value }))
    })),
    variants: [
      ...publication.variants.map((variant) => {
        const id = matched.get(variant.entityId)?.id
        const optionValues = Mapping.optionValuesOf(variant, names)
        const values = { ...Mapping.variantInput(variant), ...pictureOf(variant), optionValues }
        // An existing variant's metafields are set later, because a list in this input would replace all of them.
        return id === undefined ? { ...values, ...affordable(variant) } : { id, ...values }
      }),
      ...unmatched.map(({ id, selectedOptions }) => ({
        id,
        optionValues: selectedOptions.map(({ name, value }) => ({ optionName: name, name: value }))
      }))
    ]
  }
}

/** Reorders the variants of a product, unless they are in the order of the publication already. */
const orderVariants = (
  client: ShopifyClient,
  store: PlatformStore,
  productId: string,
  { variants }: ProductPublication,
  matched: ReadonlyMap<EntityId, Answers.LiveVariant>,
  live: ReadonlyArray<Answers.LiveVariant>
) =>
  Effect.gen(function* () {
    const wanted = variants.flatMap(({ entityId }) => matched.get(entityId)?.id ?? [])
    const order = live.map(({ id }) => id).filter((id) => wanted.includes(id))
    if (wanted.every((id, index) => id === order[index])) return
    const positions = wanted.map((id, index) => ({ id, position: index + 1 }))
    // Each call fills the positions behind those of the calls before, so it does not move their variants.
    for (const part of Arr.chunksOf(positions, maxElements))
      yield* mutate(client, store, Documents.orderVariants, Answers.OrderVariants, { productId, positions: part })
  })
