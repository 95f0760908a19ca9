import { HttpApiBuilder, HttpApiScalar, HttpServerResponse, OpenApi } from "@effect/platform"
import { Layer } from "effect"
import { openApiPath } from "../api/openapi/OpenApiDocument.ts"
import { RestApi } from "../api/RestApi.ts"
import { openRoute } from "./RouteTable.ts"

export const documentationPath = "/docs"

export const documentRoutes = [openRoute(openApiPath), openRoute(documentationPath)]

const openApi = HttpApiBuilder.Router.use((router) =>
  router.get(openApiPath, HttpServerResponse.unsafeJson(OpenApi.fromApi(RestApi)))
)

/** The page holds its script and the document: it works offline. */
const documentation = HttpApiScalar.layer({ path: documentationPath, scalar: { withDefaultFonts: false } })

/** The OpenAPI document and the page that shows it. */
export const Documents = Layer.merge(openApi, documentation)
