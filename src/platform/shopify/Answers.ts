import { Schema } from "effect"

/** Schemas of Shopify's answers. They declare only the parts that are read. */

const { Array: List, Boolean: Bool, NullOr, Number: Num, String: Str, Struct } = Schema

const nodes = <A, I>(node: Schema.Schema<A, I>) => Struct({ nodes: List(node) })

const page = <A, I>(node: Schema.Schema<A, I>) =>
  Struct({ nodes: List(node), pageInfo: Struct({ hasNextPage: Bool, endCursor: NullOr(Str) }) })

/** One page of a list, and the position of the next page. */
export interface Page<A> {
  readonly nodes: ReadonlyArray<A>
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

const Id = Struct({ id: Str })

const Metafield = Struct({ namespace: Str, key: Str, type: Str, value: Str })
const metafields = { metafields: nodes(Metafield) }

const Seo = Struct({ title: NullOr(Str), description: NullOr(Str) })

const variantValues = {
  id: Str,
  sku: NullOr(Str),
  barcode: NullOr(Str),
  price: Str,
  compareAtPrice: NullOr(Str),
  taxable: Bool,
  position: Num,
  selectedOptions: List(Struct({ name: Str, value: Str })),
  inventoryItem: Struct({
    requiresShipping: Bool,
    measurement: Struct({ weight: NullOr(Struct({ value: Num, unit: Str })) })
  })
}

const productValues = {
  id: Str,
  handle: Str,
  title: Str,
  descriptionHtml: Str,
  vendor: Str,
  productType: Str,
  tags: List(Str),
  status: Str,
  seo: Seo,
  options: List(Struct({ name: Str, optionValues: List(Struct({ name: Str })) }))
}

const collectionValues = {
  id: Str,
  handle: Str,
  title: Str,
  descriptionHtml: Str,
  sortOrder: Str,
  seo: Seo
}

export const VariantValues = Struct(variantValues)
export type VariantValues = typeof VariantValues.Type

/** What a bulk operation gives of the picture of a variant, and of a file in a gallery. */
export const Pictured = Struct({ image: Schema.optional(NullOr(Struct({ url: Str }))) })

export const ProductValues = Struct(productValues)
export type ProductValues = typeof ProductValues.Type

export const CollectionValues = Struct(collectionValues)
export type CollectionValues = typeof CollectionValues.Type

export const MetafieldValues = Metafield
export type MetafieldValues = typeof Metafield.Type

const liveVariant = { ...variantValues, media: nodes(Id), ...metafields }
const LiveVariant = Struct(liveVariant)
export type LiveVariant = typeof LiveVariant.Type

const FileErrors = List(Struct({ message: Str }))
export type FileErrors = typeof FileErrors.Type

/** A file in the gallery of a product. */
const LiveMedia = Struct({
  id: Str,
  alt: NullOr(Str),
  status: Str,
  mediaErrors: FileErrors,
  image: Schema.optional(NullOr(Struct({ url: Str }))),
  filename: Schema.optional(Str),
  originUrl: Schema.optional(Str)
})
export type LiveMedia = typeof LiveMedia.Type

const LiveOption = Struct({ id: Str, name: Str, optionValues: List(Struct({ id: Str, name: Str })) })
const LiveProduct = Struct({ ...productValues, options: List(LiveOption), ...metafields, media: nodes(LiveMedia) })
export type LiveProduct = typeof LiveProduct.Type

const LiveCollection = Struct({ ...collectionValues, ...metafields })
export type LiveCollection = typeof LiveCollection.Type

const fileHead = { id: Str, alt: NullOr(Str), fileStatus: Str, fileErrors: FileErrors }

/** A file. Only common fields are read of a GenericFile, because the catalog has no such kind of media. */
export const FileValues = Schema.Union(
  Struct({
    __typename: Schema.Literal("MediaImage"),
    ...fileHead,
    mimeType: NullOr(Str),
    image: NullOr(Struct({ url: Str, width: NullOr(Num), height: NullOr(Num) })),
    originalSource: NullOr(Struct({ fileSize: NullOr(Num) }))
  }),
  Struct({
    __typename: Schema.Literal("Video"),
    ...fileHead,
    filename: Str,
    sources: List(Struct({ url: Str, mimeType: Str, fileSize: NullOr(Num), width: Num, height: Num }))
  }),
  Struct({
    __typename: Schema.Literal("Model3d"),
    ...fileHead,
    filename: Str,
    sources: List(Struct({ url: Str, mimeType: Str, filesize: Num }))
  }),
  Struct({ __typename: Schema.Literal("ExternalVideo"), ...fileHead, originUrl: Str }),
  Struct({ __typename: Schema.Literal("GenericFile"), ...fileHead })
)
export type FileValues = typeof FileValues.Type

/** Shopify's errors of a write. */
export const UserErrors = List(
  Struct({ field: NullOr(List(Str)), message: Str, code: Schema.optionalWith(NullOr(Str), { default: () => null }) })
)
export type UserErrors = typeof UserErrors.Type

/** A change that Shopify makes later. */
const Job = Struct({ id: Str, done: Bool })
export type Job = typeof Job.Type

const wrote = <Name extends string>(name: Name) =>
  Schema.Record({ key: Schema.Literal(name), value: Struct({ userErrors: UserErrors }) })

const currentAppInstallation = Struct({ accessScopes: List(Struct({ handle: Str })) })

export const Permissions = Struct({ currentAppInstallation })

export const Verify = Struct({
  currentAppInstallation,
  shop: Struct({ name: Str, myshopifyDomain: Str, currencyCode: Str }),
  shopLocales: List(Struct({ locale: Str, primary: Bool, published: Bool }))
})

const Publication = Struct({
  id: Str,
  autoPublish: Bool,
  supportsFuturePublishing: Bool,
  catalog: NullOr(Struct({ __typename: Str, title: Str })),
  channels: NullOr(nodes(Struct({ name: Str, handle: Str })))
})
export type Publication = typeof Publication.Type

export const SalesChannels = Struct({ publications: page(Publication) })

export const EntityPublications = Struct({
  node: NullOr(
    Struct({
      resourcePublicationsV2: page(Struct({ isPublished: Bool, publishDate: NullOr(Str), publication: Id }))
    })
  )
})

const Market = Struct({
  id: Str,
  handle: Str,
  name: Str,
  status: Str,
  type: Str,
  currencySettings: NullOr(Struct({ baseCurrency: Struct({ currencyCode: Str }) })),
  conditions: NullOr(
    Struct({
      regionsCondition: NullOr(
        Struct({
          regions: nodes(Struct({ name: Str, code: Schema.optional(Str), subdivision: Schema.optional(Str) }))
        })
      )
    })
  ),
  webPresences: nodes(
    Struct({
      id: Str,
      subfolderSuffix: NullOr(Str),
      domain: NullOr(Struct({ host: Str })),
      defaultLocale: Struct({ locale: Str }),
      alternateLocales: List(Struct({ locale: Str }))
    })
  ),
  catalogs: nodes(
    Struct({
      id: Str,
      title: Str,
      status: Str,
      priceList: NullOr(
        Struct({ currency: Str, parent: NullOr(Struct({ adjustment: Struct({ type: Str, value: Num }) })) })
      )
    })
  )
})
export type Market = typeof Market.Type

export const Markets = Struct({ markets: page(Market) })

const Validation = Struct({ name: Str, type: Str, value: NullOr(Str) })
const TypeName = Struct({ name: Str })

const MetafieldDefinition = Struct({
  id: Str,
  namespace: Str,
  key: Str,
  name: Str,
  description: NullOr(Str),
  type: TypeName,
  validations: List(Validation),
  metafieldsCount: Num,
  capabilities: Struct({ uniqueValues: Struct({ enabled: Bool }) })
})
export type MetafieldDefinition = typeof MetafieldDefinition.Type

export const MetafieldDefinitions = Struct({ metafieldDefinitions: page(MetafieldDefinition) })

const MetaobjectDefinition = Struct({
  id: Str,
  type: Str,
  name: Str,
  description: NullOr(Str),
  displayNameKey: NullOr(Str),
  metaobjectsCount: Num,
  fieldDefinitions: List(
    Struct({ key: Str, name: NullOr(Str), required: Bool, type: TypeName, validations: List(Validation) })
  ),
  capabilities: Struct({ translatable: Struct({ enabled: Bool }) })
})
export type MetaobjectDefinition = typeof MetaobjectDefinition.Type

export const MetaobjectDefinitions = Struct({ metaobjectDefinitions: page(MetaobjectDefinition) })

const MetaobjectEntry = Struct({
  id: Str,
  handle: Str,
  displayName: Str,
  updatedAt: Str,
  fields: List(Struct({ key: Str, type: Str, value: NullOr(Str) })),
  capabilities: Struct({ publishable: NullOr(Struct({ status: Str })) })
})
export type MetaobjectEntry = typeof MetaobjectEntry.Type

export const MetaobjectEntries = Struct({ metaobjects: page(MetaobjectEntry) })

const TranslatableResource = Struct({
  resourceId: Str,
  translatableContent: List(Struct({ key: Str, value: NullOr(Str), digest: NullOr(Str), locale: Str, type: Str })),
  translations: List(Struct({ key: Str, value: NullOr(Str), outdated: Bool, updatedAt: NullOr(Str) }))
})
export type TranslatableResource = typeof TranslatableResource.Type

export const Translations = Struct({ translatableResources: page(TranslatableResource) })

export const RunBulk = Struct({
  bulkOperationRunQuery: Struct({ bulkOperation: NullOr(Id), userErrors: UserErrors })
})
export const BulkState = Struct({
  bulkOperation: NullOr(
    Struct({ status: Str, errorCode: NullOr(Str), rootObjectCount: Schema.NumberFromString, url: NullOr(Str) })
  )
})

export const ProductById = Struct({ product: NullOr(LiveProduct) })
export const ProductByIdentifier = Struct({ productByIdentifier: NullOr(LiveProduct) })
export const VariantsBySku = Struct({ productVariants: page(Struct({ id: Str, sku: NullOr(Str), product: Id })) })
export const ProductVariants = Struct({ product: NullOr(Struct({ variants: page(LiveVariant) })) })
const OwnedVariant = Struct({ ...liveVariant, product: Id })
export type OwnedVariant = typeof OwnedVariant.Type
export const VariantById = Struct({ productVariant: NullOr(OwnedVariant) })
export const VariantByIdentifier = Struct({ productVariantByIdentifier: NullOr(OwnedVariant) })
export const CollectionById = Struct({ collection: NullOr(LiveCollection) })
export const CollectionByIdentifier = Struct({ collectionByIdentifier: NullOr(LiveCollection) })
export const CollectionMembers = Struct({ collection: NullOr(Struct({ products: page(Id) })) })
export const CollectionSources = Struct({
  collection: NullOr(Struct({ sources: List(Struct({ __typename: Str, id: Str, title: Str })) }))
})
export const SourceMembers = Struct({ node: NullOr(Struct({ products: page(Id) })) })
export const FileById = Struct({ node: NullOr(FileValues) })
export const FilesBy = Struct({ files: page(FileValues) })
export const IdDefinition = Struct({ metafieldDefinitions: nodes(Struct({ id: Str, type: TypeName })) })

export const DefineId = wrote("metafieldDefinitionCreate")
export const SetProduct = Struct({ productSet: Struct({ product: NullOr(Id), userErrors: UserErrors }) })
export const UpdateOption = wrote("productOptionUpdate")
export const OrderVariants = wrote("productVariantsBulkReorder")
export const CreateVariants = Struct({
  productVariantsBulkCreate: Struct({ productVariants: NullOr(List(Id)), userErrors: UserErrors })
})
export const UpdateVariants = wrote("productVariantsBulkUpdate")
export const DetachPicture = wrote("productVariantDetachMedia")
export const AppendPicture = wrote("productVariantAppendMedia")
export const SetMetafields = wrote("metafieldsSet")
export const DeleteMetafields = wrote("metafieldsDelete")
export const CreateCollection = Struct({
  collectionCreate: Struct({ collection: NullOr(Id), userErrors: UserErrors })
})
export const UpdateCollection = Struct({ collectionUpdate: Struct({ job: NullOr(Job), userErrors: UserErrors }) })
export const OrderMembers = Struct({ collectionReorderProducts: Struct({ job: NullOr(Job), userErrors: UserErrors }) })
export const ProductCreation = Struct({
  product: NullOr(Struct({ createdAt: Str, metafield: NullOr(Struct({ createdAt: Str })) }))
})
export const PutOnChannels = wrote("publishablePublish")
export const JobState = Struct({ job: NullOr(Job) })
export const CreateFiles = Struct({ fileCreate: Struct({ files: NullOr(List(Id)), userErrors: UserErrors }) })
export const UpdateFiles = wrote("fileUpdate")
