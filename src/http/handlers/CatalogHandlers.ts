import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import { Programs } from "../../programs/Programs.ts"
import { sent } from "../Sent.ts"

export const CatalogHandlers = HttpApiBuilder.group(RestApi, "catalog", (handlers) =>
  Effect.map(Programs, (programs) =>
    handlers
      .handle("listProducts", (request) => sent(programs.listProducts(request)))
      .handle("getProduct", programs.getProduct)
      .handle("listProductVersions", programs.listProductVersions)
      .handle("getProductVersion", programs.getProductVersion)
      .handle("listVariants", (request) => sent(programs.listVariants(request)))
      .handle("getVariant", programs.getVariant)
      .handle("listVariantVersions", programs.listVariantVersions)
      .handle("getVariantVersion", programs.getVariantVersion)
      .handle("listCollections", (request) => sent(programs.listCollections(request)))
      .handle("getCollection", programs.getCollection)
      .handle("listCollectionVersions", programs.listCollectionVersions)
      .handle("getCollectionVersion", programs.getCollectionVersion)
      .handle("listMedia", (request) => sent(programs.listMedia(request)))
      .handle("getMedia", programs.getMedia)
      .handle("listMediaVersions", programs.listMediaVersions)
      .handle("getMediaVersion", programs.getMediaVersion)
  )
)
