import { hash } from "node:crypto"
import { HttpApiScalar, HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../api/RestApi.ts"

/** Options of Scalar's page that turn off all requests to its vendor: fonts, telemetry, sharing. */
const scalar = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showToolbar: "never",
  defaultOpenAllTags: true
}

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

/** The page that shows the OpenAPI document. The page contains the document and the script (3.5 MB). */
export const documentationPage = Effect.scoped(
  Effect.gen(function* () {
    const path = "/"
    const page = yield* HttpLayerRouter.toHttpEffect(HttpApiScalar.layerHttpLayerRouter({ api: RestApi, path, scalar }))
    const request = HttpServerRequest.fromWeb(new Request(new URL(path, "http://localhost")))
    const rendered = yield* Effect.provideService(page, HttpServerRequest.HttpServerRequest, request)
    const html = yield* Effect.promise(() => HttpServerResponse.toWeb(rendered).text())
    return HttpServerResponse.text(html, {
      contentType: "text/html; charset=utf-8",
      headers: { "content-security-policy": policyOf(html) }
    })
  })
).pipe(Effect.orDie)
