import { hash } from "node:crypto"
import {
  HttpApiBuilder,
  HttpApiScalar,
  HttpLayerRouter,
  HttpServerRequest,
  HttpServerResponse,
  OpenApi
} from "@effect/platform"
import { Effect, Layer } from "effect"
import { openApiPath } from "../api/openapi/OpenApiDocument.ts"
import { RestApi } from "../api/RestApi.ts"
import { openRoute } from "./RouteTable.ts"

export const documentationPath = "/docs"

export const documentRoutes = [openRoute(openApiPath), openRoute(documentationPath)]

const openApi = HttpApiBuilder.Router.use((router) =>
  router.get(openApiPath, HttpServerResponse.unsafeJson(OpenApi.fromApi(RestApi)))
)

/** Options of Scalar's page that turn off all requests to its vendor: fonts, telemetry, sharing. */
const scalar = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showToolbar: "never",
  defaultOpenAllTags: true
}

/** The page that shows the OpenAPI document. The document and the script are part of the page. */
const page = HttpLayerRouter.toHttpEffect(
  HttpApiScalar.layerHttpLayerRouter({ api: RestApi, path: documentationPath, scalar })
)

const scripts = /<script>([\s\S]*?)<\/script>/g

/** The page's Content-Security-Policy: only its own scripts run, and they can send requests to this service only. */
const policyOf = (html: string) => {
  const own = [...html.matchAll(scripts)].map(([, script = ""]) => `'sha256-${hash("sha256", script, "base64")}'`)
  return [
    "default-src 'none'",
    // The page's script compiles validators of the document's schemas with `eval`.
    `script-src ${own.join(" ")} 'unsafe-eval'`,
    // The page's script adds style elements.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

const documentation = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const request = HttpServerRequest.fromWeb(new Request(new URL(documentationPath, "http://localhost")))
    const rendered = yield* Effect.orDie(
      Effect.provideService(yield* page, HttpServerRequest.HttpServerRequest, request)
    )
    const html = yield* Effect.promise(() => HttpServerResponse.toWeb(rendered).text())
    yield* router.get(
      documentationPath,
      HttpServerResponse.text(html, {
        contentType: "text/html; charset=utf-8",
        headers: { "content-security-policy": policyOf(html) }
      })
    )
  })
)

/** The OpenAPI document and the page that shows it. */
export const Documents = Layer.merge(openApi, documentation)
