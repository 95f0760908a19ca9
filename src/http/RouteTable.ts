import { HttpApi } from "@effect/platform"
import { Context, Data, Option, type Schema } from "effect"
import type { AnyScope } from "../access/ApiKeyToken.ts"
import { Authentication, RequiredScope } from "../api/Authentication.ts"
import { BodyLimit } from "../api/BodyLimit.ts"
import { LiveRead } from "../api/LiveRead.ts"
import { misfitsIn } from "../api/Misfits.ts"
import { type BoundName, TimeBound } from "../api/TimeBound.ts"
import { distance, editsBetween } from "../model/EditDistance.ts"
import { type Issue, NotFound } from "../model/Errors.ts"
import type { Role } from "../model/Role.ts"
import type { Refuse } from "./RequestState.ts"

/** Maximum characters of a path that an answer repeats. Longer paths are not compared with the routes. */
const longestPath = 200

/** No route has this method and path. An absent record of an existing route is a plain `NotFound`. */
class NoRoute extends Data.TaggedError("NotFound")<{
  readonly requested: string
  /** The path of the nearest route. */
  readonly nearest: string | undefined
}> {
  override get message() {
    return `No route ${this.requested}.${this.nearest === undefined ? "" : ` Did you mean ${this.nearest}?`}`
  }
}

const isParameter = (segment: string) => segment.startsWith(":")

/** Edit distance of a path and the path of a route, ignoring case. A parameter matches any one segment. */
const editsToRoute = (path: ReadonlyArray<string>, route: ReadonlyArray<string>) =>
  distance(
    path,
    route,
    (segment) => (isParameter(segment) ? 4 : segment.length + 1),
    (segment, other) => (isParameter(other) ? (segment === "" ? 4 : 0) : editsBetween(segment, other))
  )

/** Whether a path matches a route. A parameter of the route matches any text. */
const isOfRoute = (path: ReadonlyArray<string>, route: ReadonlyArray<string>) =>
  path.length === route.length &&
  route.every((segment, index) => (isParameter(segment) ? path[index] !== "" : path[index] === segment))

/** Makes the error for a method and path without a route. It suggests the nearest route if its path is similar. */
const makeNoRoute = (routes: ReadonlyArray<{ readonly method: string; readonly path: string }>) => {
  const candidates = routes.map(({ method, path }) => ({
    method,
    segments: path.split("/"),
    shown: path.replaceAll(/:(\w+)/g, "{$1}"),
    // With more edits, the client probably did not mean this path.
    maxEdits: Math.max(2, path.length / 8)
  }))
  return (method: string, path: string): NotFound => {
    const pathSegments = path.split("/")
    if (candidates.some(({ segments }) => isOfRoute(pathSegments, segments))) return new NotFound()
    const shown = `${method} ${path.length > longestPath ? `${path.slice(0, longestPath)}…` : path}`
    if (path.length > longestPath) return new NoRoute({ requested: shown, nearest: undefined })
    const words = pathSegments.map((segment) => segment.toLowerCase())
    const served = method === "HEAD" ? "GET" : method
    let nearest: string | undefined
    let least = Number.POSITIVE_INFINITY
    for (const route of candidates) {
      if (route.method !== served) continue
      const edits = editsToRoute(words, route.segments)
      if (edits >= least || edits > route.maxEdits) continue
      least = edits
      nearest = route.shown
    }
    return new NoRoute({ requested: shown, nearest })
  }
}

/** A route with everything that the gate checks before the handler runs. */
export interface Route {
  readonly method: string
  /** Path pattern: a segment that starts with `:` stands for any one segment. */
  readonly path: string
  /** Whether a credential is required. If so, the gate looks it up and charges the request to its budget. */
  readonly authenticated: boolean
  /** The scope that a credential must have. Undefined: none is required. */
  readonly scope: AnyScope | undefined
  /** Maximum body size of the route, in bytes. Undefined: the route reads no body. */
  readonly bodyLimitBytes: number | undefined
  /** How a surface other than the API renders refusals, the same for all methods of a path. Undefined: in the envelope. */
  readonly refuse?: Refuse
  /** Whether answers of the route can change while the account's version stays the same. They are never cached. */
  readonly isLive: boolean
  /** Lists the issues of the body, or of the parameters if the route reads no body. Undefined: it takes neither. */
  readonly misfits?: ((input: unknown) => ReadonlyArray<Issue>) | undefined
  /** The role that a user of the pages needs. Undefined: the route is not one of a surface. */
  readonly needs?: Role | "open" | undefined
  /** The time limit of the route's requests. Undefined: the usual one. */
  readonly bound?: BoundName | undefined
}

/** The routes of one path by method. A path with GET has HEAD too. */
export type Methods = ReadonlyMap<string, Route>

export interface RouteTable {
  /** The routes of a path. `rawPath`: the path as sent, without the query. Undefined: no route matches exactly. */
  readonly find: (rawPath: string) => Methods | undefined
  /** The error for a method and path that no route has. */
  readonly missing: (method: string, rawPath: string) => NotFound
}

/** Maximum bytes of a request body, unless the endpoint has another `BodyLimit`. */
const bodyLimitBytes = 1_048_576

/** The routes that an API defines. */
export const routesOf = (api: HttpApi.HttpApi.Any): ReadonlyArray<Route> => {
  const routes: Array<Route> = []
  HttpApi.reflect(api as HttpApi.HttpApi.AnyWithProps, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, mergedAnnotations, middleware, payloads }) => {
      routes.push({
        method: endpoint.method,
        path: endpoint.path,
        authenticated: [...middleware].some(({ key }) => key === Authentication.key),
        scope: Option.getOrUndefined(Context.getOption(mergedAnnotations, RequiredScope)),
        bodyLimitBytes:
          payloads.size === 0
            ? undefined
            : Option.getOrElse(Context.getOption(mergedAnnotations, BodyLimit), () => bodyLimitBytes),
        isLive: Option.isSome(Context.getOption(mergedAnnotations, LiveRead)),
        bound: Option.getOrUndefined(Context.getOption(mergedAnnotations, TimeBound)),
        misfits: Option.getOrUndefined(
          Option.map(
            Option.orElse(endpoint.payloadSchema, () => endpoint.urlParamsSchema),
            (schema) => misfitsIn(schema as unknown as Schema.Schema.AnyNoContext)
          )
        )
      })
    }
  })
  return routes
}

/** A route outside the API definition, for documents and health. It needs no credential. */
export const openRoute = (path: string): Route => ({
  method: "GET",
  path,
  authenticated: false,
  scope: undefined,
  bodyLimitBytes: undefined,
  isLive: false
})

interface Node {
  readonly children: Map<string, Node>
  readonly methods: Map<string, Route>
}

const node = (): Node => ({ children: new Map(), methods: new Map() })

const anySegment = ":"

/** Whether a path segment can be the value of a parameter: it is not empty, and its escapes are UTF-8. */
const isValue = (segment: string) => {
  if (segment === "") return false
  if (!segment.includes("%")) return true
  try {
    decodeURIComponent(segment)
    return true
  } catch {
    return false
  }
}

/** Makes the table of routes. Paths must match exactly, including case, slashes and escapes. */
export const makeRouteTable = (routes: ReadonlyArray<Route>): RouteTable => {
  const root = node()
  for (const route of routes) {
    let place = root
    for (const segment of route.path.split("/")) {
      const key = segment.startsWith(":") ? anySegment : segment
      const next = place.children.get(key) ?? node()
      place.children.set(key, next)
      place = next
    }
    place.methods.set(route.method, route)
    if (route.method === "GET") place.methods.set("HEAD", route)
  }
  const find: RouteTable["find"] = (rawPath) => {
    // The router would cut the path at these characters, and match another route.
    if (rawPath.includes(";") || rawPath.includes("#")) return undefined
    let place: Node | undefined = root
    for (const segment of rawPath.split("/")) {
      place = place.children.get(segment) ?? (isValue(segment) ? place.children.get(anySegment) : undefined)
      if (place === undefined) return undefined
    }
    return place.methods.size === 0 ? undefined : place.methods
  }
  return { find, missing: makeNoRoute(routes) }
}
