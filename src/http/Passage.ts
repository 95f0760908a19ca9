import type { IncomingMessage } from "node:http"
import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import type { ApiError } from "../api/ErrorCodes.ts"
import type { BoundName } from "../api/TimeBound.ts"
import type { Standing } from "../budgets/RateBudget.ts"
import { rewatch, type Watch } from "../database/Deadlines.ts"
import type { Actor } from "../model/Actor.ts"
import type { RequestBounds } from "./RequestDeadlines.ts"
import type { Route } from "./RouteTable.ts"

/** How a surface says that something failed. */
export type Refuse = (error: ApiError, requestId: string) => HttpServerResponse.HttpServerResponse

/** Everything that a request carries from the gate to whatever answers it. */
export interface Passage {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly id: string
  readonly bounds: RequestBounds
  /** Its time limit, and the watch that ends it then. */
  bound: BoundName
  watching: Watch | undefined
  /** How its surface says that something failed; undefined: in the envelope of the API. */
  refuse: Refuse | undefined
  /** Who acts by an API key; undefined: nobody, or the surface looks for its own credential. */
  actor: Actor | undefined
  /** The route of its path; undefined: no path matches. */
  route: Route | undefined
  /** Whose request it is, for the access log and traces; a surface beside the API sets it. */
  caller: Actor | undefined
  /** The window of the API key, once it is known. */
  standing: Standing | undefined
}

/** A property: an entry in a WeakMap costs more, and a context for each request much more. */
const passage = Symbol("passage")

type Carrier = IncomingMessage & { [passage]?: Passage }

export const carry = (passing: Passage): void => {
  const carrier: Carrier = toIncomingMessage(passing.request)
  carrier[passage] = passing
}

/** What a request carries, if it came to the gate. */
export const passageIn = (request: IncomingMessage): Passage | undefined => (request as Carrier)[passage]

/** What a request carries. It must have passed the gate. */
export const passageOf = (request: HttpServerRequest.HttpServerRequest): Passage => {
  const { [passage]: carried }: Carrier = toIncomingMessage(request)
  if (carried === undefined) throw new Error("a handler ran for a request that did not pass the gate")
  return carried
}

/** Gives a request the time of another bound, from now on. */
export const extendTime = (passing: Passage, bound: BoundName): void => {
  passing.bound = bound
  if (passing.watching !== undefined) rewatch(passing.watching, passing.bounds[bound])
}
