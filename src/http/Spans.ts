import { HttpMiddleware, type HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, identity } from "effect"
import { parentOf } from "../telemetry/Sampling.ts"
import type { Tracing } from "../telemetry/Tracing.ts"
import type { RequestState } from "./RequestState.ts"

/**
 * Starts a server with the tracer of its requests, which is off until a request is sampled: spans of every request would cost a
 * third of its time. The library's own span of a request stays off, because it has all headers and the whole address, which may
 * contain a one-time token.
 */
export const startTraced =
  (tracing: Tracing | undefined) =>
  <A, E, R>(start: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    start.pipe(
      HttpMiddleware.withTracerDisabledWhenEffect(() => true),
      Effect.withTracerEnabled(false),
      tracing === undefined ? identity : Effect.withTracer(tracing.tracer)
    )

/** The attributes of a span that name the caller of a request: the account and the kind of the actor, but no person. */
const callerOf = ({ actor, caller = actor }: RequestState): Readonly<Record<string, string>> =>
  caller === undefined ? {} : { "catalog.account_id": caller.accountId, "catalog.caller": caller._tag.toLowerCase() }

type Respond<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Gives a sampled request its span. Other requests have none, and neither have their programs. */
export const makeTrace =
  ({ sample }: Tracing, routeOf: (request: HttpServerRequest.HttpServerRequest) => string | undefined) =>
  <E, R>(state: RequestState, respond: Respond<E, R>): Respond<E, R> => {
    const { request } = state
    const parent = parentOf(request.headers.traceparent)
    if (!sample(parent)) return respond
    const route = routeOf(request)
    const traced = Effect.useSpan(
      route === undefined ? request.method : `${request.method} ${route}`,
      {
        ...(parent !== undefined && { parent }),
        kind: "server",
        captureStackTrace: false,
        attributes: {
          "http.request.method": request.method,
          ...(route !== undefined && { "http.route": route }),
          "catalog.request_id": state.id
        }
      },
      (span) =>
        Effect.withParentSpan(respond, span).pipe(
          Effect.tap(({ status }) =>
            Effect.sync(() => {
              const own = toServerResponse(request)
              span.attribute("http.response.status_code", own.headersSent ? own.statusCode : status)
              for (const [name, value] of Object.entries(callerOf(state))) span.attribute(name, value)
            })
          )
        )
    )
    return Effect.withTracerEnabled(traced, true)
  }
