import { Chunk, Effect, Option, type Schema, Stream } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import type { PlatformReadError } from "../PlatformErrors.ts"
import type { Publication, PublishedEntity } from "../Publication.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { customIdOf, entityIdOf, fileNameFor, fileRecord, matchVariants } from "./Mapping.ts"

type Variables = Readonly<Record<string, unknown>>

/** All nodes of a list, a page at a time; null: what holds the list is not there, and so it has none. */
export const pages = <A, I, N>(
  { read }: ShopifyClient,
  store: PlatformStore,
  document: string,
  schema: Schema.Schema<A, I>,
  variables: Variables,
  pageOf: (answer: A) => Answers.Page<N> | null | undefined
): Stream.Stream<N, PlatformReadError> =>
  Stream.paginateChunkEffect(null as string | null, (after) =>
    Effect.map(read(store, document, schema, { ...variables, after }), (answer) => {
      const page = pageOf(answer)
      const next = page?.pageInfo.hasNextPage === true ? page.pageInfo.endCursor : null
      return [Chunk.unsafeFromArray([...(page?.nodes ?? [])]), Option.fromNullable(next)]
    })
  )

/** A search term that means this text and nothing else (https://shopify.dev/api/usage/search-syntax). */
const term = (field: string, text: string) => `${field}:"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** A record that was published from another entity is never taken for ours. */
const isOurs = (
  { metafields }: { readonly metafields: { readonly nodes: ReadonlyArray<Answers.MetafieldValues> } },
  entityId: EntityId
) => {
  const theirs = entityIdOf(metafields.nodes)
  return theirs === null || theirs === entityId
}

type Found<A> = Effect.Effect<A | null, PlatformReadError>

/** The first that is there and ours. */
const first = <A extends Parameters<typeof isOurs>[0]>(entityId: EntityId, looks: ReadonlyArray<Found<A>>): Found<A> =>
  looks.reduceRight<Found<A>>(
    (otherwise, look) =>
      Effect.flatMap(look, (found) => (found !== null && isOurs(found, entityId) ? Effect.succeed(found) : otherwise)),
    Effect.succeed(null)
  )

/** Where our entities are in a store. Each look-up is a read, repeated as reads are. */
export const makeLookups = (client: ShopifyClient) => {
  const { read } = client

  const productById = (store: PlatformStore, id: string | null): Found<Answers.LiveProduct> =>
    id === null
      ? Effect.succeed(null)
      : Effect.map(read(store, Documents.productById, Answers.ProductById, { id }), ({ product }) => product)

  const productByIdentifier = (store: PlatformStore, document: string, variables: Variables) =>
    Effect.map(
      read(store, document, Answers.ProductByIdentifier, variables),
      ({ productByIdentifier }) => productByIdentifier
    )

  /** The one product that sells this SKU. */
  const productBySku = (store: PlatformStore, sku: string): Found<Answers.LiveProduct> =>
    sku === ""
      ? Effect.succeed(null)
      : Effect.flatMap(
          read(store, Documents.variantsBySku, Answers.VariantsBySku, { query: term("sku", sku) }),
          ({ productVariants }) => {
            const products = new Set(
              productVariants.nodes.filter((node) => node.sku === sku).map(({ product }) => product.id)
            )
            const [only = null] = products
            return productById(store, products.size === 1 ? only : null)
          }
        )

  /** By what we remember, by our id, then (an entity known from files only) by SKU and handle. */
  const product = (
    store: PlatformStore,
    { attributes, entityId, platformId, variants }: Extract<Publication, { _tag: "Product" }>
  ): Found<Answers.LiveProduct> => {
    const handle = valueOf(attributes, "handle")
    const byCustomId = productByIdentifier(store, Documents.productByCustomId, { customId: customIdOf(entityId) })
    const known = [productById(store, platformId), byCustomId]
    if (platformId !== null) return first(entityId, known)
    return first(entityId, [
      ...known,
      ...variants.map((variant) => productBySku(store, valueOf(variant.attributes, "sku"))),
      handle === "" ? Effect.succeed(null) : productByIdentifier(store, Documents.productByHandle, { handle })
    ])
  }

  const variantsOf = (store: PlatformStore, productId: string) =>
    Effect.map(
      Stream.runCollect(
        pages(
          client,
          store,
          Documents.productVariants,
          Answers.ProductVariants,
          { id: productId },
          ({ product }) => product?.variants
        )
      ),
      (chunk) => Chunk.toReadonlyArray(chunk)
    )

  /** By what we remember, then by our id, then among the product's variants. */
  const variant = (store: PlatformStore, publication: Extract<Publication, { _tag: "Variant" }>) =>
    Effect.gen(function* () {
      const { entityId, platformId, productPlatformId } = publication
      if (platformId !== null) {
        const { productVariant } = yield* read(store, Documents.variantById, Answers.VariantById, { id: platformId })
        if (productVariant?.product.id === productPlatformId) return productVariant
      }
      const { productVariantByIdentifier } = yield* read(
        store,
        Documents.variantByCustomId,
        Answers.VariantByIdentifier,
        { customId: customIdOf(entityId) }
      )
      if (productVariantByIdentifier?.product.id === productPlatformId) return productVariantByIdentifier
      const live = yield* variantsOf(store, productPlatformId)
      return matchVariants([publication], live).get(entityId) ?? null
    })

  const collection = (
    store: PlatformStore,
    { attributes, entityId, platformId }: PublishedEntity
  ): Found<Answers.LiveCollection> => {
    const handle = valueOf(attributes, "handle")
    const byIdentifier = (document: string, variables: Variables) =>
      Effect.map(
        read(store, document, Answers.CollectionByIdentifier, variables),
        ({ collectionByIdentifier }) => collectionByIdentifier
      )
    return first(entityId, [
      platformId === null
        ? Effect.succeed(null)
        : Effect.map(
            read(store, Documents.collectionById, Answers.CollectionById, { id: platformId }),
            ({ collection }) => collection
          ),
      byIdentifier(Documents.collectionByCustomId, { customId: customIdOf(entityId) }),
      platformId !== null || handle === ""
        ? Effect.succeed(null)
        : byIdentifier(Documents.collectionByHandle, { handle })
    ])
  }

  const membersOf = (store: PlatformStore, collectionId: string) =>
    Effect.map(
      Stream.runCollect(
        pages(
          client,
          store,
          Documents.collectionMembers,
          Answers.CollectionMembers,
          { id: collectionId },
          ({ collection }) => collection?.products
        )
      ),
      (chunk) => Chunk.toReadonlyArray(chunk).map(({ id }) => id)
    )

  const isNamedAfter = (file: Answers.FileValues, { attributes, entityId }: PublishedEntity) =>
    Option.exists(fileRecord(file), (record) =>
      file.__typename === "ExternalVideo"
        ? valueOf(record.attributes, "url") === valueOf(attributes, "url")
        : record.entityId === entityId
    )

  /** Videos on other sites have no file name in the store. */
  const searchFor = (media: PublishedEntity) =>
    valueOf(media.attributes, "mime_type") === "text/html"
      ? term("media_type", "EXTERNAL_VIDEO")
      : term("filename", fileNameFor(media))

  const file = (store: PlatformStore, media: PublishedEntity): Found<Answers.FileValues> =>
    Effect.gen(function* () {
      if (media.platformId !== null) {
        const { node } = yield* read(store, Documents.fileById, Answers.FileById, { id: media.platformId })
        if (node !== null) return node
      }
      const { files } = yield* read(store, Documents.filesBy, Answers.FilesBy, { query: searchFor(media) })
      return files.nodes.find((found) => isNamedAfter(found, media)) ?? null
    })

  return { product, variant, variantsOf, collection, membersOf, file }
}

export type Lookups = ReturnType<typeof makeLookups>
