import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../../api/RestApi.ts"
import type { JsonText } from "../../domain/JsonText.ts"
import { makePrograms } from "../../services/Programs.ts"

/** Sends JSON that was built where it was read, as bytes: its tag, its length and the socket would each encode the text. */
const sent = <A, E, R>(page: Effect.Effect<JsonText<A>, E, R>) =>
  Effect.map(page, ({ text }) => HttpServerResponse.raw(Buffer.from(text), { contentType: "application/json" }))

export const CatalogHandlers = HttpApiBuilder.group(RestApi, "catalog", (handlers) =>
  Effect.map(makePrograms, (programs) =>
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
