import {
  HttpApiBuilder,
  type HttpMethod,
  HttpRouter,
  HttpServerRequest,
  type HttpServerResponse
} from "@effect/platform"
import { Effect, Layer, Struct } from "effect"
import type { ApiError } from "../api/ErrorCodes.ts"
import type { BoundName } from "../api/TimeBound.ts"
import type { Refuse } from "./Passage.ts"
import type { Route } from "./RouteTable.ts"

/**
 * What is served beside the API: pages, the authorization server. Its requests pass the same gate (head, route, method,
 * defects logged once under the request's id), and its answers leave with X-Request-Id; but it has no credential, budget, tag
 * or envelope of the API's: it says itself what failed.
 */
export interface Surface<R = never> {
  readonly routes: ReadonlyArray<Route>
  /** Adds the routes to the router. */
  readonly layer: Layer.Layer<never, never, R>
  /** How a browser is told that an address leads nowhere; in the envelope where no surface says it. */
  readonly refuseAddress?: Refuse | undefined
}

export const nothingBeside: Surface = { routes: [], layer: Layer.empty }

/** Two surfaces as one. */
export const beside = <R1, R2>(one: Surface<R1>, other: Surface<R2>): Surface<R1 | R2> => ({
  routes: [...one.routes, ...other.routes],
  layer: Layer.merge(one.layer, other.layer),
  refuseAddress: one.refuseAddress ?? other.refuseAddress
})

/**
 * A route of a surface, and how it says that something failed: the same for all methods of a path. `bound`: how long its
 * requests may take, where that is not the usual time.
 */
export type SurfaceRoute = readonly [
  method: HttpMethod.HttpMethod,
  path: `/${string}`,
  refuse: Refuse,
  bound?: BoundName
]

/** What answers a route. What it fails with is said as the route says it. */
export type Handler = (
  request: HttpServerRequest.HttpServerRequest
) => Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError>

/** A surface of these routes; `make`: what answers each of them, made once. */
export const surfaceOf = <Name extends string, R>(
  routes: Readonly<Record<Name, SurfaceRoute>>,
  make: Effect.Effect<Readonly<Record<Name, Handler>>, never, R>
): Surface<R> => {
  const names = Struct.keys(routes)
  return {
    routes: names.map((name) => {
      const [method, path, refuse, bound] = routes[name]
      return {
        method,
        path,
        authenticated: false,
        scope: undefined,
        bodyLimitBytes: undefined,
        isLive: false,
        bound,
        refuse
      }
    }),
    layer: HttpApiBuilder.Router.use((router) =>
      Effect.flatMap(make, (handlers) =>
        Effect.forEach(
          names,
          (name) => {
            const [method, path] = routes[name]
            const answer = Effect.flatMap(HttpServerRequest.HttpServerRequest, handlers[name])
            return router.addRoute(HttpRouter.makeRoute(method, path, answer))
          },
          { discard: true }
        )
      )
    )
  }
}
