import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  Collection,
  IncludedCollection,
  IncludedMedia,
  IncludedProduct,
  IncludedVariant,
  Media,
  Product,
  StoreVersion,
  Variant
} from "../catalog/Entity.ts"
import { CollectionRow, MediaRow, ProductRow, VariantRow } from "./Answers.ts"
import { Authentication, RequiredScope } from "./Authentication.ts"
import { ForbiddenWire, NotFoundWire } from "./ErrorEnvelope.ts"
import { entityPage, page, wholeList } from "./Page.ts"
import {
  CollectionIdParam,
  EntityIdInPath,
  handleParam,
  listParams,
  mirrorParams,
  StoreIdInPath,
  skuParams
} from "./Params.ts"
import { readOnly, Tool } from "./Tool.ts"

const walk =
  "One page of at most 4 MiB, oldest canonical change first. Page until `next_cursor` is null. An entity that matches during the whole walk is returned at least once. An entity that changes during the walk is returned again at the end, with a higher `draft_revision`."

const entityPath = Schema.Struct({ id: EntityIdInPath })
const versionPath = Schema.Struct({ id: EntityIdInPath, store_id: StoreIdInPath })

const detail = <const Name extends string, A, I>(
  name: Name,
  path: `/${string}/:id`,
  entity: Schema.Schema<A, I>,
  kind: string
) =>
  HttpApiEndpoint.get(name, path)
    .setPath(entityPath)
    .addSuccess(entity)
    .addError(NotFoundWire)
    .annotate(OpenApi.Summary, `Get ${kind}`)
    .annotate(
      OpenApi.Description,
      "Canonical values, draft revision, relationships, and publish state per store. Its store versions have the values that stores publish."
    )

const versions = <const Name extends string>(name: Name, path: `/${string}/:id/stores`, kind: string) =>
  HttpApiEndpoint.get(name, path)
    .setPath(entityPath)
    .addSuccess(wholeList(StoreVersion))
    .addError(NotFoundWire)
    .annotate(OpenApi.Summary, `List ${kind}'s store versions`)
    .annotate(
      OpenApi.Description,
      "The values that each store publishes: one item per store of the entity, ordered by domain."
    )

const version = <const Name extends string>(name: Name, path: `/${string}/:id/stores/:store_id`, kind: string) =>
  HttpApiEndpoint.get(name, path)
    .setPath(versionPath)
    .addSuccess(StoreVersion)
    .addError(NotFoundWire)
    .annotate(OpenApi.Summary, `Get ${kind}'s store version`)
    .annotate(
      OpenApi.Description,
      "The values that one store publishes. 404 if the entity is unknown or not on that store."
    )

/** Products, variants, collections and media: lists, details and store versions. */
export class CatalogGroup extends HttpApiGroup.make("catalog")
  .add(
    HttpApiEndpoint.get("listProducts", "/products")
      .setUrlParams(
        Schema.Struct({
          ...listParams("the product's name, vendor or tags, on any store, or in a variant's SKU"),
          ...mirrorParams,
          ...handleParam,
          ...skuParams,
          collection_id: CollectionIdParam
        })
      )
      .addSuccess(entityPage(ProductRow, IncludedProduct))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List products")
      .annotate(OpenApi.Description, `${walk} An unknown \`store_id\` or \`collection_id\` is 404.`)
      .annotate(Tool, {
        name: "list_products_v1",
        title: "List products",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Products by last change, oldest first: a page of short rows with name, draft_revision, publish state and channels.",
          usage:
            "Use it to find products by search, channel, state, unpublished drafts or collection; use list_masters_v1 for every kind at once, get_master_v1 for one in full.",
          ids: "Rows have master_id; list_collections_v1 gives collection_id, the server instructions name channel_id.",
          never: "It never changes anything and never gives attribute values. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1", collection_id: "list_collections_v1" },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members", success: page(ProductRow) }
      })
  )
  .add(detail("getProduct", "/products/:id", Product, "a product"))
  .add(versions("listProductVersions", "/products/:id/stores", "a product"))
  .add(version("getProductVersion", "/products/:id/stores/:store_id", "a product"))
  .add(
    HttpApiEndpoint.get("listVariants", "/variants")
      .setUrlParams(
        Schema.Struct({
          ...listParams("the variant's title, SKU or barcode, or in the product's name"),
          ...mirrorParams,
          ...skuParams
        })
      )
      .addSuccess(entityPage(VariantRow, IncludedVariant))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List variants")
      .annotate(OpenApi.Description, `${walk} An unknown \`store_id\` is 404.`)
      .annotate(Tool, {
        name: "list_variants_v1",
        title: "List variants",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Variants with SKU and product, by last change, oldest first: a page of short rows.",
          usage:
            "Use it to find a variant by SKU, barcode or title; use get_master_related_v1 for the variants of one product, get_master_v1 for a variant's values.",
          ids: "Rows have master_id, and product_id, which is the master_id of the product.",
          never:
            "It never changes anything and never gives prices or other attribute values. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members", success: page(VariantRow) }
      })
  )
  .add(detail("getVariant", "/variants/:id", Variant, "a variant"))
  .add(versions("listVariantVersions", "/variants/:id/stores", "a variant"))
  .add(version("getVariantVersion", "/variants/:id/stores/:store_id", "a variant"))
  .add(
    HttpApiEndpoint.get("listCollections", "/collections")
      .setUrlParams(
        Schema.Struct({
          ...listParams("the collection's name, on any store, or its handle"),
          ...mirrorParams,
          ...handleParam
        })
      )
      .addSuccess(entityPage(CollectionRow, IncludedCollection))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List collections")
      .annotate(OpenApi.Description, `${walk} An unknown \`store_id\` is 404.`)
      .annotate(Tool, {
        name: "list_collections_v1",
        title: "List collections",
        tier: "pim:read",
        hints: readOnly,
        description: {
          does: "Collections with their handle, by last change, oldest first: a page of short rows.",
          usage:
            "Use it to find a collection by name or handle; use list_products_v1 with collection_id for its products, get_master_v1 for its values.",
          ids: "Rows have master_id, which list_products_v1 takes as collection_id.",
          never: "It never changes anything and never lists members. Channels are linked stores."
        },
        idsFrom: { channel_id: "list_masters_v1" },
        answer: { kind: "walk", rows: ["data"], keys: ["master_id"], fields: "members", success: page(CollectionRow) }
      })
  )
  .add(detail("getCollection", "/collections/:id", Collection, "a collection"))
  .add(versions("listCollectionVersions", "/collections/:id/stores", "a collection"))
  .add(version("getCollectionVersion", "/collections/:id/stores/:store_id", "a collection"))
  .add(
    HttpApiEndpoint.get("listMedia", "/media")
      .setUrlParams(Schema.Struct({ ...listParams("the file's name or alternative text"), ...mirrorParams }))
      .addSuccess(entityPage(MediaRow, IncludedMedia))
      .addError(NotFoundWire)
      .annotate(OpenApi.Summary, "List media")
      .annotate(OpenApi.Description, `${walk} An unknown \`store_id\` is 404.`)
  )
  .add(detail("getMedia", "/media/:id", Media, "a media file"))
  .add(versions("listMediaVersions", "/media/:id/stores", "a media file"))
  .add(version("getMediaVersion", "/media/:id/stores/:store_id", "a media file"))
  .addError(ForbiddenWire)
  .middleware(Authentication)
  .annotateEndpoints(RequiredScope, "pim:read")
  .annotate(OpenApi.Title, "Catalog")
  .annotate(OpenApi.Description, "The catalog: canonical values, store versions and publish states.") {}
