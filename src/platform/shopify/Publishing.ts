import { Effect } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { PlatformClient, PlatformStore } from "../PlatformClient.ts"
import {
  PlatformOutcomeUnknown,
  PlatformRefused,
  PlatformUnavailable,
  type PlatformWriteError
} from "../PlatformErrors.ts"
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
import { hasFailed, makeLookups } from "./Lookups.ts"
import * as Mapping from "./Mapping.ts"
import {
  type DefineId,
  defineId,
  failIfAny,
  failIfRefused,
  newMetafields,
  sentence,
  setMetafields
} from "./Metafields.ts"
import { fileFailed, makePublishProduct, noId, noProduct } from "./ProductPublishing.ts"
import { toPublished } from "./ReadBack.ts"

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
        yield* failIfRefused(productVariantsBulkCreate.userErrors, { variants })
        const [created] = productVariantsBulkCreate.productVariants ?? []
        if (created === undefined) return yield* noId
        return toPublished([[entityId, created.id]])
      }
      const variants = [{ id: current.id, ...input }]
      const { productVariantsBulkUpdate } = yield* client.write(
        store,
        Documents.updateVariants,
        Answers.UpdateVariants,
        { productId, variants }
      )
      yield* failIfRefused(productVariantsBulkUpdate.userErrors, { variants })
      const owner = { id: current.id, entity: publication, current: current.metafields.nodes }
      yield* failIfAny(yield* setMetafields(client, store, [owner]))
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

/** Shopify refuses a call whose input has an array with more elements (https://shopify.dev/docs/api/usage/limits). */
const maxElements = 250

interface MemberChange {
  readonly toAdd: ReadonlyArray<string>
  readonly toRemove: ReadonlyArray<string>
}

/** Splits a change into parts of one call each. */
const partsOf = ({ toAdd, toRemove }: MemberChange): ReadonlyArray<MemberChange> =>
  Array.from({ length: Math.ceil(Math.max(toAdd.length, toRemove.length) / maxElements) }, (_, index) => {
    const part = (products: ReadonlyArray<string>) => products.slice(index * maxElements, (index + 1) * maxElements)
    return { toAdd: part(toAdd), toRemove: part(toRemove) }
  })

const selections = (products: ReadonlyArray<string>) => products.map((productId) => ({ productId }))

const newSource = (products: ReadonlyArray<string>) => ({
  source: { title: sourceTitle, inclusion: { selections: selections(products) } }
})

const sourceUpdate = (id: string, { toAdd, toRemove }: MemberChange) => ({
  condition: { id, inclusion: { selectionsToAdd: selections(toAdd), selectionsToRemove: selections(toRemove) } }
})

const makePublishCollection = (client: ShopifyClient, define: DefineId) => {
  const lookups = makeLookups(client)

  /** The sources with conditions of a collection; `ours`: the one that we manage. */
  const sourcesOf = (store: PlatformStore, id: string) =>
    Effect.map(client.read(store, Documents.collectionSources, Answers.CollectionSources, { id }), ({ collection }) => {
      const sources = (collection?.sources ?? []).filter(({ __typename }) => __typename === conditionsSource)
      return { sources, ours: sources.find(({ title }) => title === sourceTitle)?.id ?? null }
    })

  /** Refuses to remove products that would stay in the collection, because other sources than ours have them. */
  const failIfOthersHave = (
    store: PlatformStore,
    ours: string,
    sources: ReadonlyArray<{ readonly id: string }>,
    products: ReadonlyArray<string>
  ) =>
    Effect.gen(function* () {
      const own = yield* lookups.sourceMembersOf(store, ours)
      const others = yield* Effect.forEach(
        sources.filter(({ id }) => id !== ours),
        ({ id }) => lookups.sourceMembersOf(store, id)
      )
      const staying = products.filter((product) => !own.has(product) || others.some((other) => other.has(product)))
      if (staying.length > 0) return yield* membersOfOthers(staying.length)
    })

  /** The parts of the change that makes the collection's members equal to the publication's, and our source. */
  const membership = (store: PlatformStore, id: string, { members }: CollectionPublication) =>
    Effect.gen(function* () {
      const current = new Set(yield* lookups.membersOf(store, id))
      const wanted = new Set(members)
      const toAdd = [...wanted].filter((product) => !current.has(product))
      const toRemove = [...current].filter((product) => !wanted.has(product))
      const parts = partsOf({ toAdd, toRemove })
      if (parts.length === 0) return { parts, ours: null }
      const { ours, sources } = yield* sourcesOf(store, id)
      if (ours === null && toRemove.length > 0) return yield* membersOfOthers(toRemove.length)
      if (ours !== null && toRemove.length > 0) yield* failIfOthersHave(store, ours, sources, toRemove)
      return { parts, ours }
    })

  const update = (store: PlatformStore, collection: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(
      client.write(store, Documents.updateCollection, Answers.UpdateCollection, { collection }),
      ({ collectionUpdate }) => failIfRefused(collectionUpdate.userErrors, { collection })
    )

  /** Writes the parts after the first. `known`: our source; null: the first part has created it. */
  const writeParts = (store: PlatformStore, id: string, known: string | null, parts: ReadonlyArray<MemberChange>) =>
    Effect.gen(function* () {
      if (parts.length === 0) return
      const ours = known ?? (yield* sourcesOf(store, id)).ours
      if (ours === null) return yield* noId
      for (const part of parts) yield* update(store, { id, sourcesToUpdate: [sourceUpdate(ours, part)] })
    })

  return (store: PlatformStore, publication: CollectionPublication) =>
    Effect.gen(function* () {
      yield* define(store, "COLLECTION")
      const current = yield* lookups.collection(store, publication)
      const input = Mapping.collectionInput(publication)
      if (current === null) {
        const [first, ...rest] = partsOf({ toAdd: publication.members, toRemove: [] })
        const sent = {
          collection: { ...input, metafields: newMetafields(publication), sources: [newSource(first?.toAdd ?? [])] }
        }
        const { collectionCreate } = yield* client.write(
          store,
          Documents.createCollection,
          Answers.CreateCollection,
          sent
        )
        yield* failIfRefused(collectionCreate.userErrors, sent)
        if (collectionCreate.collection === null) return yield* noId
        const { id } = collectionCreate.collection
        yield* writeParts(store, id, null, rest)
        return toPublished([[publication.entityId, id]])
      }
      const { id } = current
      const { ours, parts } = yield* membership(store, id, publication)
      const [first, ...rest] = parts
      const members =
        first === undefined
          ? {}
          : ours === null
            ? { sourcesToCreate: [newSource(first.toAdd)] }
            : { sourcesToUpdate: [sourceUpdate(ours, first)] }
      yield* update(store, { id, ...input, ...members })
      yield* writeParts(store, id, ours, rest)
      const owner = { id, entity: publication, current: current.metafields.nodes }
      yield* failIfAny(yield* setMetafields(client, store, [owner]))
      return toPublished([[publication.entityId, id]])
    })
}

const makePublishMedia = (client: ShopifyClient) => (store: PlatformStore, media: PublishedEntity) =>
  Effect.gen(function* () {
    const current = yield* makeLookups(client).file(store, media)
    if (current === null) {
      const files = [Mapping.fileInput(media)]
      const { fileCreate } = yield* client.write(store, Documents.createFiles, Answers.CreateFiles, { files })
      yield* failIfRefused(fileCreate.userErrors, { files })
      const [created] = fileCreate.files ?? []
      if (created === undefined) return yield* noId
      return toPublished([[media.entityId, created.id]])
    }
    // A new file would not be in the galleries that have this one. Only the publish of a product replaces it there.
    if (hasFailed(current.fileStatus)) return yield* fileFailed(media, current.fileErrors)
    if (current.fileStatus !== "READY") return yield* new PlatformUnavailable({ reason: "processing" })
    const files = [{ id: current.id, alt: valueOf(media.attributes, "alt") }]
    const { fileUpdate } = yield* client.write(store, Documents.updateFiles, Answers.UpdateFiles, { files })
    yield* failIfRefused(fileUpdate.userErrors, { files })
    return toPublished([[media.entityId, current.id]])
  })
