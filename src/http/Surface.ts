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
 * What is served beside the API: pages, the authorization server, the connector. Its requests pass the same gate (head, route,
 * method, time limit, defects logged once) and its answers have X-Request-Id. It looks for its own credentials, has no ETag,
 * and words its own refusals.
 */
export interface Surface<R = never> {
  readonly routes: ReadonlyArray<Route>
  /** Adds the routes to the router. */
  readonly layer: Layer.Layer<never, never, R>
  /** How a browser is told that an address does not exist. Undefined: in the envelope. */
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
 * A route of a surface. `refuse` words its refusals, the same for all methods of a path. `bound`: its time limit. Default: the
 * usual one.
 */
export type SurfaceRoute = readonly [
  method: HttpMethod.HttpMethod,
  path: `/${string}`,
  refuse: Refuse,
  bound?: BoundName
]

/** Answers a route. The `refuse` of the route words its failures. */
export type Handler = (
  request: HttpServerRequest.HttpServerRequest
) => Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError>

/** A surface of these routes. `make` makes their handlers, once. */
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
