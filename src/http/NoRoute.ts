import { Data } from "effect"
import { distance, editsBetween } from "../model/EditDistance.ts"
import { NotFound } from "../model/Errors.ts"

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
export const makeNoRoute = (routes: ReadonlyArray<{ readonly method: string; readonly path: string }>) => {
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
