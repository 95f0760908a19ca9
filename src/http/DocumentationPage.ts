import { hash } from "node:crypto"
import { HttpApiScalar, HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { RestApi } from "../api/RestApi.ts"

/** The page asks no host of its vendor: no fonts, no analytics, no sharing. */
const scalar = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showToolbar: "never",
  defaultOpenAllTags: true
}

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

/** The page that shows the OpenAPI document. Its script (3.5 MB) and the document are inside it. */
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
