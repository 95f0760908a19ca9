import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Collection, Media, Product, StoreVersion, Variant } from "../catalog/Entity.ts"
import { CollectionRow, MediaRow, ProductRow, VariantRow } from "./Answers.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { bounded, page } from "./Page.ts"
import { CollectionIdParam, EntityIdInPath, listParams, StoreIdInPath } from "./Params.ts"
import { readOnly, Tool } from "./Tool.ts"

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
      .annotate(Tool, {
        name: "list_products_v1",
        title: "List products",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Products, the one changed longest ago first: a page of short rows with name, draft_revision, publish state and channels.",
          rather:
            "To find products by search, state or collection; list_masters_v1 for every kind at once, get_master_v1 for one in full.",
          ids: "It gives master_id; list_collections_v1 gives collection_id.",
          never: "It never changes anything and never gives attribute values. A channel is a linked store."
        },
        idsFrom: { collection_id: "list_collections_v1" },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members" }
      })
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
      .annotate(Tool, {
        name: "list_variants_v1",
        title: "List variants",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Variants with SKU and product, the one changed longest ago first: a page of short rows.",
          rather:
            "To find a variant by SKU, barcode or title; get_master_related_v1 for those of one product, get_master_v1 for its values.",
          ids: "It gives master_id, and product_id, which is the master_id of the product.",
          never:
            "It never changes anything and never gives prices or other attribute values. A channel is a linked store."
        },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members" }
      })
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
      .annotate(Tool, {
        name: "list_collections_v1",
        title: "List collections",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Collections with their handle, the one changed longest ago first: a page of short rows.",
          rather:
            "To find a collection by name or handle; list_products_v1 with collection_id for its products, get_master_v1 for its values.",
          ids: "It gives master_id, which list_products_v1 takes as collection_id.",
          never: "It never changes anything and never lists members. A channel is a linked store."
        },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members" }
      })
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
