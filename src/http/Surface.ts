import {
  HttpApiBuilder,
  type HttpMethod,
  HttpRouter,
  HttpServerRequest,
  type HttpServerResponse
} from "@effect/platform"
import { Context, Effect, Layer, Struct } from "effect"
import type { ApiError } from "../api/ErrorCodes.ts"
import type { BoundName } from "../api/TimeBound.ts"
import type { Role } from "../model/Role.ts"
import type { Refuse } from "./RequestState.ts"
import type { Route } from "./RouteTable.ts"

/**
 * A part of the service other than the API: the pages, the authorization server or the connector. The gate checks its requests
 * too (head, route, method, time limit), logs defects once and adds X-Request-Id. A surface checks its own credentials, gets no
 * ETag from the gate, and renders refusals itself.
 */
export interface Surface<R = never> {
  readonly routes: ReadonlyArray<Route>
  /** Adds the routes to the router. */
  readonly layer: Layer.Layer<never, never, R>
  /** Renders the error page for a browser that requests an unknown path. Undefined: the envelope. */
  readonly refuseAddress?: Refuse | undefined
}

export const noSurface: Surface = { routes: [], layer: Layer.empty }

/** Combines two surfaces. */
export const combine = <R1, R2>(one: Surface<R1>, other: Surface<R2>): Surface<R1 | R2> => ({
  routes: [...one.routes, ...other.routes],
  layer: Layer.merge(one.layer, other.layer),
  refuseAddress: one.refuseAddress ?? other.refuseAddress
})

/** The role that a user needs for a route. `open`: no user is needed, or the route decides itself. */
export type NeededRole = Role | "open"

/**
 * A route of a surface. `refuse` renders its refusals; it must be the same for all methods of a path. `bound`: the time limit;
 * default: the usual one.
 */
type SurfaceRoute = readonly [
  method: HttpMethod.HttpMethod,
  path: `/${string}`,
  refuse: Refuse,
  needs: NeededRole,
  bound?: BoundName
]

/** The role that the route of the current request needs. The code that finds the user of a request checks it. */
export class CurrentNeed extends Context.Reference<CurrentNeed>()("catalog/CurrentNeed", {
  defaultValue: (): NeededRole => "admin"
}) {}

/** Handles the requests of a route. The route's `refuse` renders its failures. */
export type Handler = (
  request: HttpServerRequest.HttpServerRequest
) => Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError>

/** Makes a surface of routes. `make` builds the handlers; it runs once. */
export const surfaceOf = <Name extends string, R>(
  routes: Readonly<Record<Name, SurfaceRoute>>,
  make: Effect.Effect<Readonly<Record<Name, Handler>>, never, R>
): Surface<R> => {
  const names = Struct.keys(routes)
  return {
    routes: names.map((name) => {
      const [method, path, refuse, needs, bound] = routes[name]
      return {
        method,
        path,
        authenticated: false,
        scope: undefined,
        bodyLimitBytes: undefined,
        isLive: false,
        needs,
        bound,
        refuse
      }
    }),
    layer: HttpApiBuilder.Router.use((router) =>
      Effect.flatMap(make, (handlers) =>
        Effect.forEach(
          names,
          (name) => {
            const [method, path, , needs] = routes[name]
            const answer = Effect.flatMap(HttpServerRequest.HttpServerRequest, handlers[name])
            return router.addRoute(
              HttpRouter.makeRoute(method, path, Effect.provideService(answer, CurrentNeed, needs))
            )
          },
          { discard: true }
        )
      )
    )
  }
}
