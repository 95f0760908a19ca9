import { HttpServerResponse } from "@effect/platform"
import { toIncomingMessage, toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, type Fiber, FiberId, Runtime } from "effect"
import { watch } from "../database/Deadlines.ts"
import { Unavailable } from "../model/Errors.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { bytesOf } from "./fast/KnownAnswer.ts"
import { splitTarget } from "./RequestHead.ts"
import type { RequestState } from "./RequestState.ts"

/** Renders the API's refusal of a request that exceeds its time limit. */
type RefuseLate = (state: RequestState, error: Unavailable) => HttpServerResponse.HttpServerResponse

/**
 * Answers 503 when a request exceeds its time limit, and then interrupts its fiber. Writes to Node's response, so that a fiber
 * that hangs cannot delay the answer. While a body is still arriving, the limit is restarted: Node limits that time.
 */
export const makeTimeLimit = (refuseLate: RefuseLate) =>
  Effect.map(Effect.runtime(), (runtime) => {
    const limit = (state: RequestState, fiber: Fiber.RuntimeFiber<unknown, unknown>) => {
      const { bounds, id, request } = state
      state.watching = watch(bounds[state.bound], () => {
        const response = toServerResponse(request)
        if (response.writableEnded || response.destroyed) return
        const incoming = toIncomingMessage(request)
        // A body is being read: `readableFlowing` is false while its reader pauses, and null only if there is no reader.
        if (!incoming.complete && incoming.readableFlowing !== null) return limit(state, fiber)
        const late = new Unavailable({
          reason: `The request was not answered within ${bounds[state.bound] / 1_000} s; retry with exponential backoff.`
        })
        metrics.refusals.of("late").add(1)
        const refused =
          state.refuse === undefined
            ? refuseLate(state, late)
            : HttpServerResponse.setHeader(state.refuse(late, id, request), "x-request-id", id)
        response.writeHead(refused.status, refused.headers)
        response.end(bytesOf(refused))
        fiber.unsafeInterruptAsFork(FiberId.none)
        Runtime.runFork(
          runtime,
          Effect.annotateLogs(
            Effect.logWarning(`${request.method} was not answered within ${bounds[state.bound]} ms`),
            { requestId: id, path: splitTarget(request.originalUrl).path, status: 503 }
          )
        )
      })
    }
    return limit
  })
