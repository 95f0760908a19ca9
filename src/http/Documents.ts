import { HttpApiBuilder, HttpServerResponse, OpenApi } from "@effect/platform"
import { Duration, Effect } from "effect"
import { openApiPath } from "../api/openapi/OpenApiDocument.ts"
import { RestApi } from "../api/RestApi.ts"
import { toLasting } from "./fast/KnownAnswer.ts"
import { openRoute } from "./RouteTable.ts"

export const documentationPath = "/docs"

export const documentRoutes = [openRoute(openApiPath), openRoute(documentationPath)]

/**
 * Caches a response from its first request on, but no failure. Uninterruptible: if that client disconnects, the cache must not keep the
 * interruption.
 */
export const once = (response: Effect.Effect<HttpServerResponse.HttpServerResponse>) =>
  Effect.map(
    Effect.cachedInvalidateWithTTL(Effect.uninterruptible(Effect.flatMap(response, toLasting)), Duration.infinity),
    ([cached, invalidate]) => Effect.tapErrorCause(cached, () => invalidate)
  )

/** Serves the OpenAPI document and the page that shows it. They are made at their first request, to keep the start short. */
export const Documents = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const openApi = Effect.sync(() => HttpServerResponse.unsafeJson(OpenApi.fromApi(RestApi)))
    const page = Effect.flatten(Effect.promise(async () => (await import("./DocumentationPage.ts")).documentationPage))
    yield* router.get(openApiPath, yield* once(openApi))
    yield* router.get(documentationPath, yield* once(page))
  })
)
