import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  Collection,
  CollectionRow,
  Media,
  MediaRow,
  Product,
  ProductRow,
  StoreVersion,
  Variant,
  VariantRow
} from "../domain/Entity.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { bounded, page } from "./Page.ts"
import { CollectionIdParam, EntityIdInPath, listParams, StoreIdInPath } from "./Params.ts"

const id = HttpApiSchema.param("id", EntityIdInPath)
const storeId = HttpApiSchema.param("store_id", StoreIdInPath)

const walk =
  "One page, oldest canonical change first. Page until `next_cursor` is null: every entity that matches throughout comes at least once, and none twice at the same `draft_revision`; one that changes meanwhile comes again at the tail."
const canonical =
  "Canonical values, draft revision, relationships and publish state per store. What a store publishes is on its store version."
const versions = "What each store publishes, one item per store the entity lives on, by domain."
const version = "What one store publishes. 404 when the entity has no version on that store, as for an unknown entity."

/** Products, variants, collections and media: lists, details and store versions. */
export class CatalogGroup extends HttpApiGroup.make("catalog")
  .add(
    HttpApiEndpoint.get("listProducts", "/products")
      .setUrlParams(
        Schema.Struct({
          ...listParams("the product's name, vendor or tags, on any store, or in a variant's SKU"),
          collection_id: CollectionIdParam
        })
      )
      .addSuccess(page(ProductRow))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List products")
      .annotate(OpenApi.Description, `${walk} An unknown \`collection_id\` is 404.`)
  )
  .add(
    HttpApiEndpoint.get("getProduct")`/products/${id}`
      .addSuccess(Product)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a product")
      .annotate(OpenApi.Description, canonical)
  )
  .add(
    HttpApiEndpoint.get("listProductVersions")`/products/${id}/stores`
      .addSuccess(bounded(StoreVersion))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a product's store versions")
      .annotate(OpenApi.Description, versions)
  )
  .add(
    HttpApiEndpoint.get("getProductVersion")`/products/${id}/stores/${storeId}`
      .addSuccess(StoreVersion)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a product's store version")
      .annotate(OpenApi.Description, version)
  )
  .add(
    HttpApiEndpoint.get("listVariants", "/variants")
      .setUrlParams(Schema.Struct(listParams("the variant's title, SKU or barcode, or in the product's name")))
      .addSuccess(page(VariantRow))
      .annotate(OpenApi.Summary, "List variants")
      .annotate(OpenApi.Description, walk)
  )
  .add(
    HttpApiEndpoint.get("getVariant")`/variants/${id}`
      .addSuccess(Variant)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a variant")
      .annotate(OpenApi.Description, canonical)
  )
  .add(
    HttpApiEndpoint.get("listVariantVersions")`/variants/${id}/stores`
      .addSuccess(bounded(StoreVersion))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a variant's store versions")
      .annotate(OpenApi.Description, versions)
  )
  .add(
    HttpApiEndpoint.get("getVariantVersion")`/variants/${id}/stores/${storeId}`
      .addSuccess(StoreVersion)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a variant's store version")
      .annotate(OpenApi.Description, version)
  )
  .add(
    HttpApiEndpoint.get("listCollections", "/collections")
      .setUrlParams(Schema.Struct(listParams("the collection's name, on any store, or its handle")))
      .addSuccess(page(CollectionRow))
      .annotate(OpenApi.Summary, "List collections")
      .annotate(OpenApi.Description, walk)
  )
  .add(
    HttpApiEndpoint.get("getCollection")`/collections/${id}`
      .addSuccess(Collection)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a collection")
      .annotate(OpenApi.Description, canonical)
  )
  .add(
    HttpApiEndpoint.get("listCollectionVersions")`/collections/${id}/stores`
      .addSuccess(bounded(StoreVersion))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a collection's store versions")
      .annotate(OpenApi.Description, versions)
  )
  .add(
    HttpApiEndpoint.get("getCollectionVersion")`/collections/${id}/stores/${storeId}`
      .addSuccess(StoreVersion)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a collection's store version")
      .annotate(OpenApi.Description, version)
  )
  .add(
    HttpApiEndpoint.get("listMedia", "/media")
      .setUrlParams(Schema.Struct(listParams("the file's name or alternative text")))
      .addSuccess(page(MediaRow))
      .annotate(OpenApi.Summary, "List media")
      .annotate(OpenApi.Description, walk)
  )
  .add(
    HttpApiEndpoint.get("getMedia")`/media/${id}`
      .addSuccess(Media)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a media file")
      .annotate(OpenApi.Description, canonical)
  )
  .add(
    HttpApiEndpoint.get("listMediaVersions")`/media/${id}/stores`
      .addSuccess(bounded(StoreVersion))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List a media file's store versions")
      .annotate(OpenApi.Description, versions)
  )
  .add(
    HttpApiEndpoint.get("getMediaVersion")`/media/${id}/stores/${storeId}`
      .addSuccess(StoreVersion)
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "Get a media file's store version")
      .annotate(OpenApi.Description, version)
  )
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Catalog")
  .annotate(OpenApi.Description, "The catalog: canonical values, store versions and publish states.") {}
