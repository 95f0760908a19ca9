import { Effect } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformRefused, type PlatformWriteError } from "../PlatformErrors.ts"
import type { Publication, Published, PublishedEntity } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { accepted, defineId, type IdOwner, newMetafields, setMetafields } from "./Metafields.ts"
import { makeReadBack, published } from "./ReadBack.ts"

type ProductPublication = Extract<Publication, { _tag: "Product" }>
type VariantPublication = Extract<Publication, { _tag: "Variant" }>
type CollectionPublication = Extract<Publication, { _tag: "Collection" }>
type Variables = Readonly<Record<string, unknown>>

/** The title of the part of a collection that the catalog keeps; parts of others stay as they are. */
const sourceTitle = "Catalog"

const gone = (what: string) =>
  new PlatformRefused({ code: "NOT_FOUND", message: `The store has no such ${what} any more.`, field: null })

/** How each kind is brought to a store. `define` sees to the definition of our id. */
const makeFlows = (
  client: ShopifyClient,
  define: (store: PlatformStore, owner: IdOwner) => ReturnType<typeof defineId>
) => {
  const lookups = makeLookups(client)
  const { liveProduct } = makeReadBack(client)

  /** All variants that the product will have: those of the store too, for productSet removes what it is not given. */
  const firstVariants = (publication: ProductPublication, live: ReadonlyArray<Answers.LiveVariant>): Variables => {
    const matched = Mapping.matchVariants(publication.variants, live)
    const taken = new Set([...matched.values()].map(({ id }) => id))
    const kept = live.filter(({ id }) => !taken.has(id))
    const options = Mapping.optionsOf(publication, publication.variants)
    const names = options.map(({ name }) => name)
    if (publication.variants.length === 0) return {}
    return {
      productOptions: options.map(({ name, values }) => ({
        name,
        values: [
          ...new Set([
            ...values,
            ...kept.flatMap(({ selectedOptions }) =>
              selectedOptions.filter((option) => option.name === name).map(({ value }) => value)
            )
          ])
        ].map((value) => ({ name: value }))
      })),
      variants: [
        ...publication.variants.map((variant) => {
          const id = matched.get(variant.entityId)?.id
          const values = { ...Mapping.variantInput(variant), optionValues: Mapping.optionValuesOf(variant, names) }
          // Metafields of a variant that is there are set one by one: a list here would replace all of them.
          return id === undefined ? { ...values, metafields: newMetafields(variant) } : { id, ...values }
        }),
        ...kept.map(({ id, selectedOptions }) => ({
          id,
          optionValues: selectedOptions.map(({ name, value }) => ({ optionName: name, name: value }))
        }))
      ]
    }
  }

  const publishProduct = (store: PlatformStore, publication: ProductPublication) =>
    Effect.gen(function* () {
      yield* define(store, "PRODUCT")
      yield* define(store, "PRODUCTVARIANT")
      const current = yield* lookups.product(store, publication)
      const isFirst = publication.platformId === null
      const before = current === null ? [] : yield* lookups.variantsOf(store, current.id)
      const files = yield* Effect.forEach(publication.media, (media) => lookups.file(store, media))
      const { productSet } = yield* client.write(store, Documents.setProduct, Answers.SetProduct, {
        identifier: current === null ? { customId: Mapping.customIdOf(publication.entityId) } : { id: current.id },
        input: {
          ...Mapping.productInput(publication),
          files: publication.media.map((media, index) => {
            const file = files[index]
            return file === null || file === undefined ? Mapping.fileInput(media) : { id: file.id }
          }),
          ...(isFirst || current === null ? firstVariants(publication, before) : {})
        }
      })
      yield* accepted(productSet.userErrors)
      const id = productSet.product?.id
      if (id === undefined) return yield* new PlatformOutcomeUnknown({ reason: "nonsense" })
      yield* setMetafields(client, store, id, publication, current?.metafields.nodes ?? [])
      const live = yield* lookups.variantsOf(store, id)
      const matched = Mapping.matchVariants(publication.variants, live)
      if (isFirst)
        yield* Effect.forEach(
          publication.variants,
          (variant) => {
            const found = matched.get(variant.entityId)
            return found === undefined
              ? Effect.void
              : setMetafields(client, store, found.id, variant, found.metafields.nodes)
          },
          { discard: true }
        )
      yield* orderVariants(store, id, publication, matched, live)
      const found = yield* liveProduct(store, { ...publication, platformId: id })
      return found === null ? yield* gone("product") : found.published
    })

  const orderVariants = (
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
      const { productVariantsBulkReorder } = yield* client.write(
        store,
        Documents.orderVariants,
        Answers.OrderVariants,
        {
          productId,
          positions: wanted.map((id, index) => ({ id, position: index + 1 }))
        }
      )
      yield* accepted(productVariantsBulkReorder.userErrors)
    })

  const publishVariant = (store: PlatformStore, publication: VariantPublication) =>
    Effect.gen(function* () {
      const { entityId, productPlatformId: productId } = publication
      yield* define(store, "PRODUCTVARIANT")
      const { product } = yield* client.read(store, Documents.productById, Answers.ProductById, { id: productId })
      if (product === null) return yield* gone("product")
      const current = yield* lookups.variant(store, publication)
      const input = {
        ...Mapping.variantInput(publication),
        optionValues: Mapping.optionValuesOf(
          publication,
          product.options.map(({ name }) => name)
        )
      }
      if (current === null) {
        const { productVariantsBulkCreate } = yield* client.write(
          store,
          Documents.createVariants,
          Answers.CreateVariants,
          {
            productId,
            variants: [{ ...input, metafields: newMetafields(publication) }]
          }
        )
        yield* accepted(productVariantsBulkCreate.userErrors)
        const [created] = productVariantsBulkCreate.productVariants ?? []
        if (created === undefined) return yield* new PlatformOutcomeUnknown({ reason: "nonsense" })
        return published([[entityId, created.id]])
      }
      const { productVariantsBulkUpdate } = yield* client.write(
        store,
        Documents.updateVariants,
        Answers.UpdateVariants,
        {
          productId,
          variants: [{ id: current.id, ...input }]
        }
      )
      yield* accepted(productVariantsBulkUpdate.userErrors)
      yield* setMetafields(client, store, current.id, publication, current.metafields.nodes)
      return published([[entityId, current.id]])
    })

  const selections = (products: ReadonlyArray<string>) => products.map((productId) => ({ productId }))

  /** What brings a collection's members to those of the publication; empty when they are. */
  const membership = (store: PlatformStore, id: string, { members }: CollectionPublication) =>
    Effect.gen(function* () {
      const there = yield* lookups.membersOf(store, id)
      const toAdd = members.filter((product) => !there.includes(product))
      const toRemove = there.filter((product) => !members.includes(product))
      if (toAdd.length + toRemove.length === 0) return {}
      const { collection } = yield* client.read(store, Documents.collectionSources, Answers.CollectionSources, { id })
      const ours = collection?.sources.find(
        ({ __typename, title }) => __typename === "CollectionConditionsSource" && title === sourceTitle
      )
      return ours === undefined
        ? { sourcesToCreate: [{ source: { title: sourceTitle, inclusion: { selections: selections(toAdd) } } }] }
        : {
            sourcesToUpdate: [
              {
                condition: {
                  id: ours.id,
                  inclusion: { selectionsToAdd: selections(toAdd), selectionsToRemove: selections(toRemove) }
                }
              }
            ]
          }
    })

  const publishCollection = (store: PlatformStore, publication: CollectionPublication) =>
    Effect.gen(function* () {
      yield* define(store, "COLLECTION")
      const current = yield* lookups.collection(store, publication)
      const input = Mapping.collectionInput(publication)
      if (current === null) {
        const { collectionCreate } = yield* client.write(store, Documents.createCollection, Answers.CreateCollection, {
          collection: {
            ...input,
            metafields: newMetafields(publication),
            sources: [{ source: { title: sourceTitle, inclusion: { selections: selections(publication.members) } } }]
          }
        })
        yield* accepted(collectionCreate.userErrors)
        if (collectionCreate.collection === null) return yield* new PlatformOutcomeUnknown({ reason: "nonsense" })
        return published([[publication.entityId, collectionCreate.collection.id]])
      }
      const members = yield* membership(store, current.id, publication)
      const { collectionUpdate } = yield* client.write(store, Documents.updateCollection, Answers.UpdateCollection, {
        collection: { id: current.id, ...input, ...members }
      })
      yield* accepted(collectionUpdate.userErrors)
      yield* setMetafields(client, store, current.id, publication, current.metafields.nodes)
      return published([[publication.entityId, current.id]])
    })

  const publishMedia = (store: PlatformStore, media: PublishedEntity) =>
    Effect.gen(function* () {
      const current = yield* lookups.file(store, media)
      if (current === null) {
        const { fileCreate } = yield* client.write(store, Documents.createFiles, Answers.CreateFiles, {
          files: [Mapping.fileInput(media)]
        })
        yield* accepted(fileCreate.userErrors)
        const [created] = fileCreate.files ?? []
        if (created === undefined) return yield* new PlatformOutcomeUnknown({ reason: "nonsense" })
        return published([[media.entityId, created.id]])
      }
      const { fileUpdate } = yield* client.write(store, Documents.updateFiles, Answers.UpdateFiles, {
        files: [{ id: current.id, alt: valueOf(media.attributes, "alt") }]
      })
      yield* accepted(fileUpdate.userErrors)
      return published([[media.entityId, current.id]])
    })

  return (store: PlatformStore, publication: Publication): Effect.Effect<Published, PlatformWriteError> => {
    switch (publication._tag) {
      case "Product":
        return publishProduct(store, publication)
      case "Variant":
        return publishVariant(store, publication)
      case "Collection":
        return publishCollection(store, publication)
      case "Media":
        return publishMedia(store, publication)
    }
  }
}

export const makePublish = (client: ShopifyClient): PlatformClient["Type"]["publish"] => {
  const defined = new Set<string>()
  return (store, publication) =>
    Effect.suspend(() => {
      let hasWritten = false
      const tracking: ShopifyClient = {
        ...client,
        write: (...call) =>
          Effect.tap(client.write(...call), () => {
            hasWritten = true
          })
      }
      return makeFlows(tracking, (owner, kind) => defineId(client, defined, owner, kind))(store, publication).pipe(
        // What follows a write that was taken cannot say that nothing was changed.
        Effect.mapError((error) =>
          error._tag === "PlatformUnavailable" && hasWritten
            ? new PlatformOutcomeUnknown({ reason: error.reason })
            : error
        )
      )
    })
}
