import { optionIdOf, optionValueIdOf, updateOption } from "./ShopifyOptions.ts"
import { appendPicture, detachPicture } from "./ShopifyPictures.ts"
import {
  type Collection,
  connection,
  type Input,
  listedMetafields,
  membersOf,
  type Owner,
  type Product,
  type ShopFile,
  type ShopifyShop,
  type Variant
} from "./ShopifyShop.ts"

/** The value of a search term such as `sku:"A 1"`. */
const sought = (query: string | null | undefined) => {
  const [, field, text] = /^(\w+):"(.*)"$/.exec(query ?? "") ?? []
  return { field, text: text?.replaceAll(/\\(.)/g, "$1") }
}

const endingOf = (address = "") => /\.[^./]*$/.exec(address.split("?", 1)[0] ?? "")?.[0]

/** Whether a file has the name of one of the search terms, or begins like one that ends with an asterisk. */
const isSoughtFile = (query: string, { __typename, filename, processing }: ShopFile) =>
  query.split(" OR ").some((part) => {
    const { field, text } = sought(part)
    if (field === "media_type") return __typename === "ExternalVideo"
    if (processing > 0) return false
    const [, start] = /^filename:(.*)\*$/.exec(part) ?? []
    return start === undefined ? filename === text : filename.startsWith(start.replaceAll(/\\(.)/g, "$1"))
  })

const metafields = (owner: Owner) => ({
  metafields: (page: Input) =>
    connection(
      listedMetafields(owner).map((field) => ({
        ...field,
        __typename: "Metafield",
        id: `${owner.id}/${field.namespace}/${field.key}`
      })),
      page
    ),
  metafield: ({ key, namespace }: Input) =>
    listedMetafields(owner).find((field) => field.key === key && field.namespace === namespace) ?? null
})

const fileNode = (file: ShopFile) => {
  const source = { url: file.url, mimeType: "video/mp4", format: "mp4", fileSize: 9, filesize: 9, width: 4, height: 3 }
  const status = file.processing > 0 ? "PROCESSING" : file.status
  file.processing = Math.max(0, file.processing - 1)
  const isReady = status === "READY"
  const errors =
    status === "FAILED" ? [{ code: "IMAGE_DOWNLOAD_FAILURE", message: "The image could not be downloaded." }] : []
  return {
    ...file,
    status,
    fileStatus: status,
    fileErrors: errors,
    mediaErrors: errors,
    mimeType: "image/jpeg",
    image: isReady ? { url: file.url, width: 4, height: 3 } : null,
    originalSource: { fileSize: 9 },
    sources: isReady ? [source] : [],
    originUrl: file.url
  }
}

/** The root value with which graphql-js executes Shopify's schema. */
export const rootOf = (shop: ShopifyShop) => {
  const variantNode = (product: Product, variant: Variant) => ({
    ...variant,
    ...metafields(variant),
    __typename: "ProductVariant",
    position: product.variantList.indexOf(variant) + 1,
    selectedOptions: variant.options,
    inventoryItem: { requiresShipping: variant.requiresShipping, measurement: { weight: variant.weight } },
    product: () => productNode(product),
    media: (page: Input) =>
      connection(variant.pictureId === null ? [] : [{ __typename: "MediaImage", id: variant.pictureId }], page),
    image: variant.pictureId === null ? null : { url: shop.files.get(variant.pictureId)?.url ?? "" },
    ...publicationsOf(product)
  })
  const publicationsOf = ({ id }: Owner) => ({
    resourcePublicationsV2: (page: Input) =>
      connection(
        [
          ...(shop.sections.resourcePublications ?? []),
          ...[...(shop.places.get(id) ?? [])].map((place) => ({
            isPublished: true,
            publishDate: "2026-11-20T10:00:00Z",
            publication: { id: place }
          }))
        ],
        page
      )
  })
  const productNode = (product: Product): Input => ({
    ...product.values,
    ...metafields(product),
    ...publicationsOf(product),
    createdAt: product.createdAt,
    __typename: "Product",
    id: product.id,
    options: product.optionList.map(({ name, values }, index) => ({
      id: optionIdOf(product, index),
      name,
      optionValues: values.map((value, at) => ({ id: optionValueIdOf(product, index, at), name: value }))
    })),
    media: (page: Input) =>
      connection(
        product.gallery.map((id) => fileNode(shop.files.get(id) as ShopFile)),
        page
      ),
    variants: (page: Input) =>
      connection(
        product.variantList.map((variant) => variantNode(product, variant)),
        page
      )
  })
  const productConnection = (ids: ReadonlyArray<string>) => (page: Input) =>
    connection(
      ids.map((id) => productNode(shop.products.get(id) as Product)),
      page
    )
  const sourcesOf = ({ conditionIds, id, memberIds, sourceId }: Collection) =>
    [
      { id: sourceId, title: "Catalog", ids: memberIds },
      { id: conditionIds.length > 0 ? `${id}/conditions` : null, title: "Tents on sale", ids: conditionIds }
    ].flatMap(({ id, ids, title }) =>
      id === null ? [] : [{ __typename: "CollectionConditionsSource", id, title, products: productConnection(ids) }]
    )
  const collectionNode = (collection: Collection) => ({
    ...collection.values,
    ...metafields(collection),
    ...publicationsOf(collection),
    __typename: "Collection",
    id: collection.id,
    sources: sourcesOf(collection),
    products: productConnection(membersOf(collection))
  })
  const productOrNull = (product: Product | null) => (product === null ? null : productNode(product))
  const variantOrNull = (found: readonly [Product, Variant] | null) => (found === null ? null : variantNode(...found))
  const collectionOrNull = (collection: Collection | null) => (collection === null ? null : collectionNode(collection))
  const section = (name: string) => (page: Input) => connection(shop.sections[name] ?? [], page)
  const products = () => [...shop.products.values()]

  return {
    shop: { name: "Tern & Daughters", myshopifyDomain: "tern.myshopify.com", currencyCode: "EUR" },
    currentAppInstallation: { accessScopes: [...shop.scopes].map((handle) => ({ handle, description: handle })) },
    shopLocales: [
      { locale: "en", name: "English", primary: true, published: true },
      { locale: "de", name: "German", primary: false, published: true }
    ],
    node: ({ id }: Input) => {
      const file = shop.files.get(id)
      if (file !== undefined) return fileNode(file)
      return (
        productOrNull(shop.findProduct({ id })) ??
        variantOrNull(shop.findVariant({ id })) ??
        collectionOrNull(shop.findCollection({ id })) ??
        [...shop.collections.values()].flatMap(sourcesOf).find((source) => source.id === id) ??
        null
      )
    },
    product: (input: Input) => productOrNull(shop.findProduct(input)),
    products: (page: Input) => connection(products().map(productNode), page),
    productByIdentifier: ({ identifier }: Input) => productOrNull(shop.findProduct(identifier)),
    productVariant: (input: Input) => variantOrNull(shop.findVariant(input)),
    productVariantByIdentifier: ({ identifier }: Input) => variantOrNull(shop.findVariant(identifier)),
    productVariants: ({ query, ...page }: Input) => {
      const texts = new Set(query.split(" OR ").map((part: string) => sought(part).text?.toLowerCase()))
      const variants = products().flatMap((product) =>
        product.variantList.map((variant) => variantNode(product, variant))
      )
      return connection(
        variants.filter(({ sku }) => texts.has(sku.toLowerCase())),
        page
      )
    },
    collection: (input: Input) => collectionOrNull(shop.findCollection(input)),
    collections: (page: Input) => connection([...shop.collections.values()].map(collectionNode), page),
    collectionByIdentifier: ({ identifier }: Input) => collectionOrNull(shop.findCollection(identifier)),
    files: ({ query, ...page }: Input) => {
      const files = query == null ? [...shop.files.values()] : shop.searchFiles((file) => isSoughtFile(query, file))
      return connection(files.map(fileNode), page)
    },
    metafieldDefinitions: ({ key, namespace, ownerType, ...page }: Input) => {
      if (key == null) return section(`metafieldDefinitions ${ownerType}`)(page)
      const isDefined = shop.definitions.has(`${ownerType} ${namespace}.${key}`)
      return connection(isDefined ? [{ id: "gid://shopify/MetafieldDefinition/1", type: { name: "id" } }] : [], page)
    },
    markets: section("markets"),
    publications: section("publications"),
    metaobjectDefinitions: section("metaobjectDefinitions"),
    metaobjects: ({ type, ...page }: Input) => section(`metaobjects ${type}`)(page),
    translatableResources: ({ resourceType, ...page }: Input) => section(`translatableResources ${resourceType}`)(page),

    metafieldDefinitionCreate: ({ definition: { key, namespace, ownerType } }: Input) => {
      const name = `${ownerType} ${namespace}.${key}`
      if (shop.definitions.has(name))
        return {
          createdDefinition: null,
          userErrors: [{ field: ["definition", "key"], message: "Key is in use", code: "TAKEN" }]
        }
      shop.definitions.add(name)
      return { createdDefinition: { id: "gid://shopify/MetafieldDefinition/1" }, userErrors: [] }
    },
    productSet: (input: Input) => {
      const { product, userErrors } = shop.productSet(input)
      return { product: product === null ? null : productNode(product), userErrors }
    },
    productVariantsBulkCreate: (input: Input) => shop.variantsBulkCreate(input),
    productVariantsBulkUpdate: (input: Input) => shop.variantsBulkUpdate(input),
    productVariantAppendMedia: (input: Input) => appendPicture(shop.products.get(input.productId), shop.files, input),
    productVariantDetachMedia: (input: Input) => detachPicture(shop.products.get(input.productId), input),
    productOptionUpdate: (input: Input) => updateOption(shop.products.get(input.productId), input),
    productVariantsBulkReorder: (input: Input) => shop.variantsReorder(input),
    metafieldsSet: (input: Input) => shop.metafieldsSet(input),
    metafieldsDelete: (input: Input) => shop.metafieldsDelete(input),
    collectionCreate: (input: Input) => {
      const { collection, userErrors } = shop.collectionCreate(input)
      return { collection: collection === null ? null : collectionNode(collection), userErrors }
    },
    collectionUpdate: (input: Input) => {
      const { job, userErrors } = shop.collectionUpdate(input)
      return { collection: null, job, userErrors }
    },
    collectionReorderProducts: (input: Input) => shop.reorderMembers(input),
    publishablePublish: (input: Input) => shop.publishablePublish(input),
    job: (input: Input) => shop.readJob(input),
    fileCreate: ({ files }: Input) => {
      const other = files.findIndex(
        ({ filename, originalSource }: Input) => filename != null && endingOf(filename) !== endingOf(originalSource)
      )
      if (other >= 0) {
        const message = "Provided filename extension must match original source."
        const code = "MISMATCHED_FILENAME_AND_ORIGINAL_SOURCE"
        return { files: [], userErrors: [{ field: ["files", String(other), "filename"], message, code }] }
      }
      return { files: files.map((file: Input) => fileNode(shop.makeFile(file))), userErrors: [] }
    },
    fileUpdate: ({ files }: Input) => {
      for (const { alt, id } of files) {
        const file = shop.files.get(id)
        if (file !== undefined && (file.processing > 0 || file.status !== "READY"))
          return {
            files: [],
            userErrors: [{ field: ["files"], message: "Non-ready files cannot be updated.", code: "NON_READY_STATE" }]
          }
        if (file !== undefined) file.alt = alt
      }
      return { files: [], userErrors: [] }
    }
  }
}
