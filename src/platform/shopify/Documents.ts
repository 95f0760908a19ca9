/** The version of the Admin API for which all documents are written. */
export const apiVersion = "2026-07"

const variantValues = `
  id sku barcode price compareAtPrice taxable position
  selectedOptions { name value }
  inventoryItem { requiresShipping measurement { weight { value unit } } }`

const productValues = `
  id handle title descriptionHtml vendor productType tags status
  seo { title description }
  options { name optionValues { name } }`

const collectionValues = `
  id handle title descriptionHtml sortOrder
  seo { title description }`

const fileValues = `
  __typename id alt fileStatus fileErrors { message }
  ... on MediaImage { mimeType image { url width height } originalSource { fileSize } }
  ... on Video { filename sources { url mimeType fileSize width height } }
  ... on Model3d { filename sources { url mimeType filesize } }
  ... on ExternalVideo { originUrl }`

const metafields = `metafields(first: 250) { nodes { namespace key type value } }`

const liveVariant = `${variantValues} media(first: 1) { nodes { id } } ${metafields}`

const liveProduct = `
  ${productValues}
  options { id optionValues { id } }
  ${metafields}
  media(first: 250) {
    nodes {
      __typename id alt status mediaErrors { message }
      ... on MediaImage { image { url } }
      ... on Video { filename }
      ... on Model3d { filename }
      ... on ExternalVideo { originUrl }
    }
  }`

const userErrors = "userErrors { field message }"
const codedUserErrors = "userErrors { field message code }"
const pageInfo = "pageInfo { hasNextPage endCursor }"

const accessScopes = "currentAppInstallation { accessScopes { handle } }"

export const verify = `query Verify {
  ${accessScopes}
  shop { name myshopifyDomain currencyCode }
  shopLocales { locale primary published }
}`

/** Needs no access scope itself. */
export const permissions = `query Permissions { ${accessScopes} }`

const publication = `
  id autoPublish supportsFuturePublishing
  catalog { __typename title }
  channels(first: 1) { nodes { name handle } }`

export const salesChannels = `query SalesChannels($after: String) {
  publications(first: 50, after: $after) { nodes { ${publication} } ${pageInfo} }
}`

export const entityPublications = `query EntityPublications($id: ID!, $after: String) {
  node(id: $id) {
    ... on Publishable {
      resourcePublicationsV2(first: 50, after: $after, onlyPublished: false) {
        nodes { isPublished publishDate publication { id } }
        ${pageInfo}
      }
    }
  }
}`

export const markets = `query Markets($after: String) {
  markets(first: 2, after: $after) {
    nodes {
      id handle name status type
      currencySettings { baseCurrency { currencyCode } }
      conditions {
        regionsCondition {
          regions(first: 250) {
            nodes { __typename name ... on MarketRegionCountry { code } ... on MarketRegionSubdivision { subdivision: code } }
          }
        }
      }
      webPresences(first: 20) { nodes { id subfolderSuffix domain { host } defaultLocale { locale } alternateLocales { locale } } }
      catalogs(first: 20) { nodes { id title status priceList { currency parent { adjustment { type value } } } } }
    }
    ${pageInfo}
  }
}`

export const metafieldDefinitions = `query MetafieldDefinitions($ownerType: MetafieldOwnerType!, $after: String) {
  metafieldDefinitions(first: 100, ownerType: $ownerType, after: $after) {
    nodes { id namespace key name description type { name } validations { name type value } metafieldsCount
      capabilities { uniqueValues { enabled } }
    }
    ${pageInfo}
  }
}`

export const metaobjectDefinitions = `query MetaobjectDefinitions($after: String) {
  metaobjectDefinitions(first: 20, after: $after) {
    nodes {
      id type name description displayNameKey metaobjectsCount
      fieldDefinitions { key name required type { name } validations { name type value } }
      capabilities { translatable { enabled } }
    }
    ${pageInfo}
  }
}`

export const metaobjectEntries = `query MetaobjectEntries($type: String!, $after: String) {
  metaobjects(type: $type, first: 100, after: $after) {
    nodes { id handle displayName updatedAt fields { key type value } capabilities { publishable { status } } }
    ${pageInfo}
  }
}`

export const translations = `query Translations($type: TranslatableResourceType!, $locale: String!, $after: String) {
  translatableResources(first: 50, resourceType: $type, after: $after) {
    nodes {
      resourceId
      translatableContent { key value digest locale type }
      translations(locale: $locale) { key value outdated updatedAt }
    }
    ${pageInfo}
  }
}`

/**
 * Queries for bulk operations. Shopify allows at most five connections per query, nested at most two deep. So a variant has the
 * address of its picture, which Shopify has deprecated, instead of its media.
 */
export const bulkProducts = `query BulkProducts {
  products {
    edges { node {
      ${productValues}
      metafields { edges { node { id namespace key type value } } }
      media { edges { node { __typename id ... on MediaImage { image { url } } } } }
      variants { edges { node { ${variantValues} image { url } metafields { edges { node { id namespace key type value } } } } } }
    } }
  }
}`

export const bulkCollections = `query BulkCollections {
  collections {
    edges { node {
      ${collectionValues}
      metafields { edges { node { id namespace key type value } } }
      products { edges { node { __typename id } } }
    } }
  }
}`

export const bulkFiles = `query BulkFiles { files { edges { node { ${fileValues} } } } }`

export const runBulk = `mutation RunBulk($query: String!) {
  bulkOperationRunQuery(query: $query, groupObjects: true) { bulkOperation { id } ${codedUserErrors} }
}`

export const bulkState = `query BulkState($id: ID!) {
  bulkOperation(id: $id) { status errorCode rootObjectCount url }
}`

export const cancelBulk = `mutation CancelBulk($id: ID!) { bulkOperationCancel(id: $id) { ${userErrors} } }`

export const productById = `query ProductById($id: ID!) { product(id: $id) { ${liveProduct} } }`

export const productByCustomId = `query ProductByCustomId($customId: UniqueMetafieldValueInput!) {
  productByIdentifier(identifier: { customId: $customId }) { ${liveProduct} }
}`

export const productByHandle = `query ProductByHandle($handle: String!) {
  productByIdentifier(identifier: { handle: $handle }) { ${liveProduct} }
}`

export const variantsBySku = `query VariantsBySku($query: String!, $after: String) {
  productVariants(first: 250, query: $query, after: $after) { nodes { id sku product { id } } ${pageInfo} }
}`

/** Costs about 200 points, and one query may cost 1,000: Shopify counts 250 nodes of a list as 12, also in a list of lists. */
export const productVariants = `query ProductVariants($id: ID!, $after: String) {
  product(id: $id) { variants(first: 250, after: $after) { nodes { ${liveVariant} } ${pageInfo} } }
}`

export const variantById = `query VariantById($id: ID!) {
  productVariant(id: $id) { ${liveVariant} product { id } }
}`

export const variantByCustomId = `query VariantByCustomId($customId: UniqueMetafieldValueInput!) {
  productVariantByIdentifier(identifier: { customId: $customId }) { ${liveVariant} product { id } }
}`

export const collectionById = `query CollectionById($id: ID!) {
  collection(id: $id) { ${collectionValues} ${metafields} }
}`

export const collectionByCustomId = `query CollectionByCustomId($customId: UniqueMetafieldValueInput!) {
  collectionByIdentifier(identifier: { customId: $customId }) { ${collectionValues} ${metafields} }
}`

export const collectionByHandle = `query CollectionByHandle($handle: String!) {
  collectionByIdentifier(identifier: { handle: $handle }) { ${collectionValues} ${metafields} }
}`

export const collectionMembers = `query CollectionMembers($id: ID!, $after: String) {
  collection(id: $id) { products(first: 250, after: $after) { nodes { id } ${pageInfo} } }
}`

export const collectionSources = `query CollectionSources($id: ID!) {
  collection(id: $id) { sources { __typename id title } }
}`

export const sourceMembers = `query SourceMembers($id: ID!, $after: String) {
  node(id: $id) {
    ... on CollectionConditionsSource { products(first: 250, after: $after) { nodes { id } ${pageInfo} } }
  }
}`

export const fileById = `query FileById($id: ID!) { node(id: $id) { ... on File { ${fileValues} } } }`

export const filesBy = `query FilesBy($query: String!, $after: String) {
  files(first: 50, query: $query, after: $after) { nodes { ${fileValues} } ${pageInfo} }
}`

/** The definition of our id metafield. Without it, Shopify cannot find or create a record by custom id. */
export const idDefinition = `query IdDefinition($ownerType: MetafieldOwnerType!, $namespace: String!, $key: String!) {
  metafieldDefinitions(first: 1, ownerType: $ownerType, namespace: $namespace, key: $key) { nodes { id type { name } } }
}`

export const defineId = `mutation DefineId($definition: MetafieldDefinitionInput!) {
  metafieldDefinitionCreate(definition: $definition) { createdDefinition { id } ${codedUserErrors} }
}`

export const setProduct = `mutation SetProduct($identifier: ProductSetIdentifiers!, $input: ProductSetInput!) {
  productSet(identifier: $identifier, input: $input, synchronous: true) { product { id } ${codedUserErrors} }
}`

export const updateOption = `mutation UpdateOption(
  $productId: ID!, $option: OptionUpdateInput!, $values: [OptionValueUpdateInput!]!
) {
  productOptionUpdate(
    productId: $productId, option: $option, optionValuesToUpdate: $values, variantStrategy: LEAVE_AS_IS
  ) {
    ${codedUserErrors}
  }
}`

export const orderVariants = `mutation OrderVariants($productId: ID!, $positions: [ProductVariantPositionInput!]!) {
  productVariantsBulkReorder(productId: $productId, positions: $positions) { product { id } ${codedUserErrors} }
}`

// Without this strategy Shopify deletes the only variant of a product that had no options, with its stock.
export const createVariants = `mutation CreateVariants($productId: ID!, $variants: [ProductVariantsBulkInput!]!) {
  productVariantsBulkCreate(productId: $productId, strategy: PRESERVE_STANDALONE_VARIANT, variants: $variants) {
    productVariants { id } ${codedUserErrors}
  }
}`

export const updateVariants = `mutation UpdateVariants($productId: ID!, $variants: [ProductVariantsBulkInput!]!) {
  productVariantsBulkUpdate(productId: $productId, variants: $variants) { productVariants { id } ${codedUserErrors} }
}`

export const detachPicture = `mutation DetachPicture($productId: ID!, $variantMedia: [ProductVariantDetachMediaInput!]!) {
  productVariantDetachMedia(productId: $productId, variantMedia: $variantMedia) {
    productVariants { id } ${codedUserErrors}
  }
}`

export const appendPicture = `mutation AppendPicture($productId: ID!, $variantMedia: [ProductVariantAppendMediaInput!]!) {
  productVariantAppendMedia(productId: $productId, variantMedia: $variantMedia) {
    productVariants { id } ${codedUserErrors}
  }
}`

export const setMetafields = `mutation SetMetafields($metafields: [MetafieldsSetInput!]!) {
  metafieldsSet(metafields: $metafields) { metafields { id } ${codedUserErrors} }
}`

export const deleteMetafields = `mutation DeleteMetafields($metafields: [MetafieldIdentifierInput!]!) {
  metafieldsDelete(metafields: $metafields) { deletedMetafields { key } ${userErrors} }
}`

export const createCollection = `mutation CreateCollection($collection: CollectionCreateInput!) {
  collectionCreate(collection: $collection) { collection { id } ${userErrors} }
}`

export const updateCollection = `mutation UpdateCollection($collection: CollectionUpdateInput!) {
  collectionUpdate(collection: $collection) { collection { id } job { id done } ${userErrors} }
}`

export const orderMembers = `mutation OrderMembers($id: ID!, $moves: [MoveInput!]!) {
  collectionReorderProducts(id: $id, moves: $moves) { job { id done } ${codedUserErrors} }
}`

/** When a product and one of its metafields were created. */
export const productCreation = `query ProductCreation($id: ID!, $namespace: String!, $key: String!) {
  product(id: $id) { createdAt metafield(namespace: $namespace, key: $key) { createdAt } }
}`

export const putOnChannels = `mutation PutOnChannels($id: ID!, $input: [PublicationInput!]!) {
  publishablePublish(id: $id, input: $input) { ${userErrors} }
}`

export const jobState = `query JobState($id: ID!) { job(id: $id) { id done } }`

export const createFiles = `mutation CreateFiles($files: [FileCreateInput!]!) {
  fileCreate(files: $files) { files { id } ${codedUserErrors} }
}`

export const updateFiles = `mutation UpdateFiles($files: [FileUpdateInput!]!) {
  fileUpdate(files: $files) { files { id } ${codedUserErrors} }
}`
