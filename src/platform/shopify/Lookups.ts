import { Array as Arr, Chunk, Effect, Option, type Schema, Stream } from "effect"
import { valueOf } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import { handleOf } from "../../model/SameValue.ts"
import type { PlatformStore } from "../PlatformClient.ts"
import type { PlatformReadError } from "../PlatformErrors.ts"
import type { ProductPublication, PublishedEntity, VariantPublication } from "../Publication.ts"
import { RecordsOfOthers } from "../RecordsOfOthers.ts"
import { failIfUnread, type SameRecord } from "../UnreadRecord.ts"
import * as Answers from "./Answers.ts"
import type { ShopifyClient } from "./Client.ts"
import * as Documents from "./Documents.ts"
import { customIdOf, entityIdOf, fileNameFor, isNamedAfter, matchVariants } from "./Mapping.ts"

type Variables = Readonly<Record<string, unknown>>

/** Streams all nodes of a list, page by page. `pageOf` returns null if the record that owns the list does not exist. */
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

/** All nodes of a list as an array. */
const allPages = <A, I, N>(...list: Parameters<typeof pages<A, I, N>>) =>
  Effect.map(Stream.runCollect(pages<A, I, N>(...list)), (chunk) => Chunk.toReadonlyArray(chunk))

/** A call for each SKU would take longer than an attempt may: a product can have 2,048 variants. */
const skusInOneCall = 25

/** A search term for exactly this text (https://shopify.dev/api/usage/search-syntax). */
const term = (field: string, text: string) => `${field}:"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** Whether the record belongs to this entity or to none. False: the record was published from another entity. */
const isOurs = (
  { metafields }: { readonly metafields: { readonly nodes: ReadonlyArray<Answers.MetafieldValues> } },
  entityId: EntityId
) => {
  const theirs = entityIdOf(metafields.nodes)
  return theirs === null || theirs === entityId
}

type Found<A> = Effect.Effect<A | null, PlatformReadError>

/** Runs the lookups in order until one finds a record that belongs to this entity or to none. */
const first = <A extends Parameters<typeof isOurs>[0]>(
  entityId: EntityId,
  lookups: ReadonlyArray<Found<A>>
): Found<A> =>
  lookups.reduceRight<Found<A>>(
    (otherwise, lookup) =>
      Effect.flatMap(lookup, (found) =>
        found !== null && isOurs(found, entityId) ? Effect.succeed(found) : otherwise
      ),
    Effect.succeed(null)
  )

/** A record that was found by a value that several entities can have. Null: the catalog has it as another entity. */
const unlessOfOther = <A extends { readonly id: string }>(lookup: Found<A>): Found<A> =>
  Effect.gen(function* () {
    const found = yield* lookup
    const { among } = yield* RecordsOfOthers
    return found === null || (yield* among([found.id])).has(found.id) ? null : found
  })

/** A look-up by a value that records of others may have too. */
interface SameLookup<A> {
  readonly key: SameRecord["key"]
  readonly find: Found<A>
}

/** Refuses a first publish by the first record that these look-ups find. */
const failIfFound = <A extends Parameters<typeof isOurs>[0] & { readonly id: string; readonly title: string }>(
  publication: PublishedEntity,
  lookups: ReadonlyArray<SameLookup<A>>
) =>
  failIfUnread(
    publication,
    Effect.gen(function* () {
      for (const { find, key } of lookups) {
        const found = yield* first(publication.entityId, [find])
        if (found !== null) return [{ key, name: found.title, platformId: found.id }]
      }
      return []
    })
  )

/** Finds our entities in a store. */
export const makeLookups = (client: ShopifyClient) => ({
  ...makeProductLookups(client),
  ...makeVariantLookups(client),
  ...makeCollectionLookups(client),
  ...makeFileLookups(client)
})

const makeProductLookups = (client: ShopifyClient) => {
  const { read } = client

  const productById = (store: PlatformStore, id: string): Found<Answers.LiveProduct> =>
    Effect.map(read(store, Documents.productById, Answers.ProductById, { id }), ({ product }) => product)

  const productByIdentifier = (store: PlatformStore, document: string, variables: Variables) =>
    Effect.map(
      read(store, document, Answers.ProductByIdentifier, variables),
      ({ productByIdentifier }) => productByIdentifier
    )

  const productByEntity = (store: PlatformStore, entityId: EntityId): Found<Answers.LiveProduct> =>
    productByIdentifier(store, Documents.productByCustomId, { customId: customIdOf(entityId) })

  /** The product of the entity, or of none, that is the only one with one of these SKUs. */
  const productBySkus = (
    store: PlatformStore,
    entityId: EntityId,
    skus: ReadonlyArray<string>
  ): Found<Answers.LiveProduct> =>
    Effect.flatMap(
      allPages(
        client,
        store,
        Documents.variantsBySku,
        Answers.VariantsBySku,
        { query: skus.map((sku) => term("sku", sku)).join(" OR ") },
        ({ productVariants }) => productVariants
      ),
      (variants) => {
        const found = skus.flatMap((sku) => {
          const products = new Set(variants.filter((each) => each.sku === sku).map(({ product }) => product.id))
          return products.size === 1 ? [...products] : []
        })
        return first(
          entityId,
          Arr.dedupe(found).map((id) => unlessOfOther(productById(store, id)))
        )
      }
    )

  /** The products with a SKU or the handle of a publication. */
  const sameProducts = (
    store: PlatformStore,
    { attributes, entityId, variants }: ProductPublication
  ): ReadonlyArray<SameLookup<Answers.LiveProduct>> => {
    const handle = handleOf(valueOf(attributes, "handle"))
    const skus = Arr.dedupe(variants.map((variant) => valueOf(variant.attributes, "sku"))).filter((sku) => sku !== "")
    return [
      ...Arr.chunksOf(skus, skusInOneCall).map((some) => ({
        key: "SKU" as const,
        find: productBySkus(store, entityId, some)
      })),
      ...(handle === ""
        ? []
        : [
            {
              key: "handle" as const,
              find: unlessOfOther(productByIdentifier(store, Documents.productByHandle, { handle }))
            }
          ])
    ]
  }

  /** Finds a product by platform id, then by our entity id. A product that the store has accepted without an id: by SKU and handle too. */
  const product = (store: PlatformStore, publication: ProductPublication): Found<Answers.LiveProduct> => {
    const { entityId, isAccepted, platformId } = publication
    return first(entityId, [
      ...(platformId === null ? [] : [productById(store, platformId)]),
      productByEntity(store, entityId),
      ...(isAccepted === true ? sameProducts(store, publication).map(({ find }) => find) : [])
    ])
  }

  const failIfUnreadProduct = (store: PlatformStore, publication: ProductPublication) =>
    failIfFound(publication, sameProducts(store, publication))

  return { failIfUnreadProduct, product, productByEntity, productById }
}

const makeVariantLookups = (client: ShopifyClient) => {
  const { read } = client

  const variantsOf = (store: PlatformStore, productId: string) =>
    allPages(
      client,
      store,
      Documents.productVariants,
      Answers.ProductVariants,
      { id: productId },
      ({ product }) => product?.variants
    )

  const variantById = (store: PlatformStore, id: string): Found<Answers.OwnedVariant> =>
    Effect.map(read(store, Documents.variantById, Answers.VariantById, { id }), ({ productVariant }) => productVariant)

  const variantByEntity = (store: PlatformStore, entityId: EntityId): Found<Answers.OwnedVariant> =>
    Effect.map(
      read(store, Documents.variantByCustomId, Answers.VariantByIdentifier, { customId: customIdOf(entityId) }),
      ({ productVariantByIdentifier }) => productVariantByIdentifier
    )

  /** Finds a variant by platform id, then by our entity id, then by matching the product's variants. */
  const variant = (store: PlatformStore, publication: VariantPublication) =>
    Effect.gen(function* () {
      const { entityId, platformId, productPlatformId } = publication
      const withId = platformId === null ? null : yield* variantById(store, platformId)
      if (withId?.product.id === productPlatformId) return withId
      const ours = yield* variantByEntity(store, entityId)
      if (ours?.product.id === productPlatformId) return ours
      const live = yield* variantsOf(store, productPlatformId)
      const { among } = yield* RecordsOfOthers
      const others = yield* among(live.map(({ id }) => id))
      const free = live.filter(({ id }) => !others.has(id))
      return matchVariants([publication], free).get(entityId) ?? null
    })

  return { variant, variantByEntity, variantById, variantsOf }
}

const makeCollectionLookups = (client: ShopifyClient) => {
  const { read } = client

  const collectionById = (store: PlatformStore, id: string): Found<Answers.LiveCollection> =>
    Effect.map(read(store, Documents.collectionById, Answers.CollectionById, { id }), ({ collection }) => collection)

  const collectionByIdentifier = (store: PlatformStore, document: string, variables: Variables) =>
    Effect.map(
      read(store, document, Answers.CollectionByIdentifier, variables),
      ({ collectionByIdentifier }) => collectionByIdentifier
    )

  const collectionByEntity = (store: PlatformStore, entityId: EntityId): Found<Answers.LiveCollection> =>
    collectionByIdentifier(store, Documents.collectionByCustomId, { customId: customIdOf(entityId) })

  /** The collection with the handle of a publication. */
  const sameCollections = (
    store: PlatformStore,
    { attributes }: PublishedEntity
  ): ReadonlyArray<SameLookup<Answers.LiveCollection>> => {
    const handle = handleOf(valueOf(attributes, "handle"))
    const find = unlessOfOther(collectionByIdentifier(store, Documents.collectionByHandle, { handle }))
    return handle === "" ? [] : [{ key: "handle", find }]
  }

  /** Finds a collection by platform id, then by our entity id. One that the store has accepted without an id: by handle too. */
  const collection = (store: PlatformStore, publication: PublishedEntity): Found<Answers.LiveCollection> => {
    const { entityId, isAccepted, platformId } = publication
    return first(entityId, [
      ...(platformId === null ? [] : [collectionById(store, platformId)]),
      collectionByEntity(store, entityId),
      ...(isAccepted === true ? sameCollections(store, publication).map(({ find }) => find) : [])
    ])
  }

  const failIfUnreadCollection = (store: PlatformStore, publication: PublishedEntity) =>
    failIfFound(publication, sameCollections(store, publication))

  const membersOf = (store: PlatformStore, collectionId: string) =>
    Effect.map(
      allPages(
        client,
        store,
        Documents.collectionMembers,
        Answers.CollectionMembers,
        { id: collectionId },
        ({ collection }) => collection?.products
      ),
      (products) => products.map(({ id }) => id)
    )

  /** The products that a source with conditions puts into its collection. */
  const sourceMembersOf = (store: PlatformStore, sourceId: string) =>
    Effect.map(
      allPages(
        client,
        store,
        Documents.sourceMembers,
        Answers.SourceMembers,
        { id: sourceId },
        ({ node }) => node?.products
      ),
      (products) => new Set(products.map(({ id }) => id))
    )

  return { collection, collectionByEntity, collectionById, failIfUnreadCollection, membersOf, sourceMembersOf }
}

/** A file of a store. `originUrl`: the address of a video of another site. */
export interface FoundFile {
  readonly id: string
  readonly alt: string | null
  readonly originUrl?: string | undefined
}

/** Whether the store could not fetch or process a file. Such a file stays as it is: it takes no changes, so only a new one helps. */
export const hasFailed = (status: string) => status === "FAILED"

/** The search query for a file. External videos have no file name in the store, so all of them are searched. */
const searchFor = (media: PublishedEntity) =>
  valueOf(media.attributes, "mime_type") === "text/html"
    ? term("media_type", "EXTERNAL_VIDEO")
    : namedLike(fileNameFor(media), media.entityId)

/** The search query for the files with this name, and for those to which Shopify has given a longer one, because it was taken. */
const namedLike = (name: string, entityId: EntityId) => {
  const start = name.slice(0, name.lastIndexOf(entityId) + entityId.length)
  return `${term("filename", name)} OR filename:${start.replaceAll(/[\s:()"'\\]/g, "\\$&")}*`
}

/** Whether a file that was found by its name or address is not another entity's. Several videos may have one address. */
const isNotOfOther = ({ id, originUrl }: FoundFile) =>
  originUrl === undefined
    ? Effect.succeed(true)
    : Effect.flatMap(RecordsOfOthers, ({ among }) => Effect.map(among([id]), (others) => !others.has(id)))

const makeFileLookups = (client: ShopifyClient) => {
  /** Finds a file by platform id, then by its name. A file that has failed is found only by platform id, if there is no other. */
  const file = (store: PlatformStore, media: PublishedEntity): Found<Answers.FileValues> =>
    Effect.gen(function* () {
      const { node } =
        media.platformId === null
          ? { node: null }
          : yield* client.read(store, Documents.fileById, Answers.FileById, { id: media.platformId })
      if (node !== null && !hasFailed(node.fileStatus)) return node
      const query = searchFor(media)
      const files = pages(client, store, Documents.filesBy, Answers.FilesBy, { query }, (answer) => answer.files)
      const isMedia = (each: Answers.FileValues) => !hasFailed(each.fileStatus) && isNamedAfter(each, media)
      const own = Stream.filterEffect(Stream.filter(files, isMedia), isNotOfOther)
      return Option.getOrElse(yield* Stream.runHead(own), () => node)
    })

  /** Finds a file that the store shows or will show. */
  const usableFile = (store: PlatformStore, media: PublishedEntity) =>
    Effect.map(file(store, media), (live) => (live === null || hasFailed(live.fileStatus) ? null : live))

  /** Finds a file in the gallery of its product first, because Shopify's search finds a new file late; else as `usableFile`. */
  const galleryFile = (
    store: PlatformStore,
    media: PublishedEntity,
    gallery: ReadonlyArray<Answers.LiveMedia>
  ): Found<FoundFile> =>
    Effect.gen(function* () {
      const usable = gallery.filter(({ status }) => !hasFailed(status))
      const known = usable.find(({ id }) => id === media.platformId)
      if (known !== undefined) return known
      const named = usable.filter((each) => isNamedAfter(each, media))
      return Option.getOrNull(yield* Effect.findFirst(named, isNotOfOther)) ?? (yield* usableFile(store, media))
    })

  return { file, galleryFile, usableFile }
}
