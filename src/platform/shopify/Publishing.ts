import { Effect } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import { PlatformOutcomeUnknown, PlatformRefused, type PlatformWriteError } from "../PlatformErrors.ts"
import type {
  CollectionPublication,
  Publication,
  Published,
  PublishedEntity,
  VariantPublication
} from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import { type DefineId, defineId, failIfRefused, newMetafields, setMetafields } from "./Metafields.ts"
import { makePublishProduct, noId, noProduct } from "./ProductPublishing.ts"
import { toPublished } from "./ReadBack.ts"

const partlyWritten = "The store has taken the other values of this publish."

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
            ? new PlatformRefused({ ...error, message: `${error.message} ${partlyWritten}`, isPartlyWritten: true })
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
      const input = {
        ...Mapping.variantInput(publication),
        optionValues: Mapping.optionValuesOf(
          publication,
          product.options.map(({ name }) => name)
        )
      }
      if (current === null) {
        const variants = [{ ...input, metafields: newMetafields(publication) }]
        const { productVariantsBulkCreate } = yield* client.write(
          store,
          Documents.createVariants,
          Answers.CreateVariants,
          { productId, variants }
        )
        yield* failIfRefused(productVariantsBulkCreate.userErrors)
        const [created] = productVariantsBulkCreate.productVariants ?? []
        if (created === undefined) return yield* noId
        return toPublished([[entityId, created.id]])
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
      yield* failIfRefused(productVariantsBulkUpdate.userErrors)
      yield* setMetafields(client, store, current.id, publication, current.metafields.nodes)
      return toPublished([[entityId, current.id]])
    })

/** Title of the collection source that we manage. Members are added and removed only there; other sources do not change. */
const sourceTitle = "Catalog"
const conditionsSource = "CollectionConditionsSource"

const membersOfOthers = (count: number) =>
  new PlatformRefused({
    code: "MEMBERS_OF_THE_STORE",
    message: `The store itself has put ${count} of its products into this collection, which only the store can take out. Take them out there, then refresh the store.`,
    field: null
  })

const selections = (products: ReadonlyArray<string>) => products.map((productId) => ({ productId }))

const makePublishCollection = (client: ShopifyClient, define: DefineId) => {
  const lookups = makeLookups(client)

  /** Refuses to remove products that would stay in the collection, because other sources than ours have them. */
  const failIfOthersHave = (
    store: PlatformStore,
    ours: string,
    sources: ReadonlyArray<{ readonly __typename: string; readonly id: string }>,
    products: ReadonlyArray<string>
  ) =>
    Effect.gen(function* () {
      const own = yield* lookups.sourceMembersOf(store, ours)
      const others = yield* Effect.forEach(
        sources.filter(({ __typename, id }) => __typename === conditionsSource && id !== ours),
        ({ id }) => lookups.sourceMembersOf(store, id)
      )
      const staying = products.filter((product) => !own.has(product) || others.some((other) => other.has(product)))
      if (staying.length > 0) return yield* membersOfOthers(staying.length)
    })

  /** The input that makes the collection's members equal to the publication's. Empty if they are equal already. */
  const membership = (store: PlatformStore, id: string, { members }: CollectionPublication) =>
    Effect.gen(function* () {
      const current = new Set(yield* lookups.membersOf(store, id))
      const wanted = new Set(members)
      const toAdd = [...wanted].filter((product) => !current.has(product))
      const toRemove = [...current].filter((product) => !wanted.has(product))
      if (toAdd.length + toRemove.length === 0) return {}
      const { collection } = yield* client.read(store, Documents.collectionSources, Answers.CollectionSources, { id })
      const sources = collection?.sources ?? []
      const ours = sources.find(({ __typename, title }) => __typename === conditionsSource && title === sourceTitle)
      if (ours === undefined && toRemove.length > 0) return yield* membersOfOthers(toRemove.length)
      if (ours !== undefined && toRemove.length > 0) yield* failIfOthersHave(store, ours.id, sources, toRemove)
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

  return (store: PlatformStore, publication: CollectionPublication) =>
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
        yield* failIfRefused(collectionCreate.userErrors)
        if (collectionCreate.collection === null) return yield* noId
        return toPublished([[publication.entityId, collectionCreate.collection.id]])
      }
      const members = yield* membership(store, current.id, publication)
      const { collectionUpdate } = yield* client.write(store, Documents.updateCollection, Answers.UpdateCollection, {
        collection: { id: current.id, ...input, ...members }
      })
      yield* failIfRefused(collectionUpdate.userErrors)
      yield* setMetafields(client, store, current.id, publication, current.metafields.nodes)
      return toPublished([[publication.entityId, current.id]])
    })
}

const makePublishMedia = (client: ShopifyClient) => (store: PlatformStore, media: PublishedEntity) =>
  Effect.gen(function* () {
    const current = yield* makeLookups(client).file(store, media)
    if (current === null) {
      const { fileCreate } = yield* client.write(store, Documents.createFiles, Answers.CreateFiles, {
        files: [Mapping.fileInput(media)]
      })
      yield* failIfRefused(fileCreate.userErrors)
      const [created] = fileCreate.files ?? []
      if (created === undefined) return yield* noId
      return toPublished([[media.entityId, created.id]])
    }
    const { fileUpdate } = yield* client.write(store, Documents.updateFiles, Answers.UpdateFiles, {
      files: [{ id: current.id, alt: valueOf(media.attributes, "alt") }]
    })
    yield* failIfRefused(fileUpdate.userErrors)
    return toPublished([[media.entityId, current.id]])
  })
