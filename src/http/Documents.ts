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

/** The page asks no host of its vendor: no fonts, no analytics, no sharing. */
const scalar = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showToolbar: "never",
  defaultOpenAllTags: true
}

/** The page that shows the document. Its script and the document are inside it. */
const page = HttpLayerRouter.toHttpEffect(
  HttpApiScalar.layerHttpLayerRouter({ api: RestApi, path: documentationPath, scalar })
)

const scripts = /<script>([\s\S]*?)<\/script>/g

/** The Content-Security-Policy of the page: only its own scripts run, and they ask only this service. */
const policyOf = (html: string) => {
  const own = [...html.matchAll(scripts)].map(([, script = ""]) => `'sha256-${hash("sha256", script, "base64")}'`)
  return [
    "default-src 'none'",
    // The page compiles the validators of the document.
    `script-src ${own.join(" ")} 'unsafe-eval'`,
    // The script adds its styles to the page.
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
