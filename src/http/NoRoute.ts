import { Data } from "effect"
import { NotFound } from "../domain/Errors.ts"

/** Most characters of a path that an answer repeats, and that is compared with the routes. */
const longestPath = 200

/** No route has this method and path. An absent record of a route that is there stays a plain `NotFound`. */
class NoRoute extends Data.TaggedError("NotFound")<{
  readonly asked: string
  /** The path of the nearest route. */
  readonly nearest: string | undefined
}> {
  override get message() {
    return `No route ${this.asked}.${this.nearest === undefined ? "" : ` Did you mean ${this.nearest}?`}`
  }
}

/** Edit distance of two sequences. `insertion`: of an item that only one has; `substitution`: of one for another. */
const distance = <Item>(
  left: ArrayLike<Item>,
  right: ArrayLike<Item>,
  insertion: (item: Item) => number,
  substitution: (left: Item, right: Item) => number
): number => {
  let above = [0]
  for (let column = 0; column < right.length; column++)
    above.push((above[column] ?? 0) + insertion(right[column] as Item))
  for (let row = 0; row < left.length; row++) {
    const item = left[row] as Item
    const here = [(above[0] ?? 0) + insertion(item)]
    for (let column = 0; column < right.length; column++) {
      const other = right[column] as Item
      here.push(
        Math.min(
          (above[column + 1] ?? 0) + insertion(item),
          (here[column] ?? 0) + insertion(other),
          (above[column] ?? 0) + substitution(item, other)
        )
      )
    }
    above = here
  }
  return above.at(-1) ?? 0
}

/** Edits that turn one word into another. */
export const editsBetween = (left: string, right: string): number =>
  distance(
    left,
    right,
    () => 1,
    (one, other) => (one === other ? 0 : 1)
  )

const isParameter = (segment: string) => segment.startsWith(":")

/** The same of a path and a route's, case aside; a parameter stands for any one segment. */
const editsToRoute = (asked: ReadonlyArray<string>, route: ReadonlyArray<string>) =>
  distance(
    asked,
    route,
    (segment) => (isParameter(segment) ? 4 : segment.length + 1),
    (segment, other) => (isParameter(other) ? (segment === "" ? 4 : 0) : editsBetween(segment, other))
  )

/** Whether a path is a route's with anything at all as its parameters: they name no record. */
const isOfRoute = (asked: ReadonlyArray<string>, route: ReadonlyArray<string>) =>
  asked.length === route.length &&
  route.every((segment, index) => (isParameter(segment) ? asked[index] !== "" : asked[index] === segment))

/** Why no route answers a method on a path, with the route whose path is nearest where one is near. */
export const makeNoRoute = (routes: ReadonlyArray<{ readonly method: string; readonly path: string }>) => {
  const known = routes.map(({ method, path }) => ({
    method,
    segments: path.split("/"),
    shown: path.replaceAll(/:(\w+)/g, "{$1}"),
    // What is farther was hardly meant.
    mostEdits: Math.max(2, path.length / 8)
  }))
  return (method: string, path: string): NotFound => {
    const asked = path.split("/")
    if (known.some(({ segments }) => isOfRoute(asked, segments))) return new NotFound()
    const shown = `${method} ${path.length > longestPath ? `${path.slice(0, longestPath)}…` : path}`
    if (path.length > longestPath) return new NoRoute({ asked: shown, nearest: undefined })
    const words = asked.map((segment) => segment.toLowerCase())
    const served = method === "HEAD" ? "GET" : method
    let nearest: string | undefined
    let least = Number.POSITIVE_INFINITY
    for (const route of known) {
      if (route.method !== served) continue
      const edits = editsToRoute(words, route.segments)
      if (edits >= least || edits > route.mostEdits) continue
      least = edits
      nearest = route.shown
    }
    return new NoRoute({ asked: shown, nearest })
  }
}
