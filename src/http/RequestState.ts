import type { IncomingMessage } from "node:http"
import type { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import type { ApiError } from "../api/ErrorCodes.ts"
import type { BoundName } from "../api/TimeBound.ts"
import type { RateStatus } from "../budgets/RateBudget.ts"
import { rewatch, type Watch } from "../database/Deadlines.ts"
import type { Actor } from "../model/Actor.ts"
import type { AccountId } from "../model/Ids.ts"
import type { RequestBounds } from "./RequestDeadlines.ts"
import type { Route } from "./RouteTable.ts"

/** Renders an error as the response of a surface. */
export type Refuse = (
  error: ApiError,
  requestId: string,
  request: HttpServerRequest.HttpServerRequest
) => HttpServerResponse.HttpServerResponse

/** The state of a request on its way from the gate to its handler and back. */
export interface RequestState {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly id: string
  readonly bounds: RequestBounds
  /** The request's time limit, and (`watching`) the timer that ends it. */
  bound: BoundName
  watching: Watch | undefined
  /** How the request's surface renders errors. Undefined: in the envelope of the API. */
  refuse: Refuse | undefined
  /** The actor of the API key. Undefined: no key, or the surface has credentials of its own. */
  actor: Actor | undefined
  /** The route of the request's path. Undefined: no route matches. */
  route: Route | undefined
  /** The actor, for the access log and traces. A surface with credentials of its own sets it. */
  caller: Actor | undefined
  /** The language of the caller's pages. Undefined: the request is not by a signed-in user. */
  pageLanguage: string | undefined
  /**
   * Set if the answer depends on nothing but the account's version, so it may be cached, and read from a replica. `version`: the
   * account's version before the answer was read; null: it was not read, because nothing needed it.
   */
  reading: { readonly accountId: AccountId; readonly target: string; readonly version: number | null } | undefined
  /** The rate window of the credential. Undefined until it is known. */
  rateStatus: RateStatus | undefined
}

/** The state is a property of Node's request: a WeakMap entry costs more, and a context for each request much more. */
const stateKey = Symbol("request state")

type WithState = IncomingMessage & { [stateKey]?: RequestState }

/** Attaches the state to its request. */
export const attachState = (state: RequestState): void => {
  const request: WithState = toIncomingMessage(state.request)
  request[stateKey] = state
}

/** The state of a request. Undefined: the request did not reach the gate. */
export const requestStateIn = (request: IncomingMessage): RequestState | undefined => (request as WithState)[stateKey]

/** The state of a request. Throws if the request did not pass the gate. */
export const requestStateOf = (request: HttpServerRequest.HttpServerRequest): RequestState => {
  const { [stateKey]: state }: WithState = toIncomingMessage(request)
  if (state === undefined) throw new Error("a handler ran for a request that did not pass the gate")
  return state
}

/** Changes the time limit of a request, counted from now on. */
export const extendTime = (state: RequestState, bound: BoundName): void => {
  state.bound = bound
  if (state.watching !== undefined) rewatch(state.watching, state.bounds[bound])
}
