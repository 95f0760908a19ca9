import { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { FiberRef, FiberRefs, HashMap, type Logger } from "effect"
import { requestStateIn } from "./RequestState.ts"

/** Adds the id of the request that a line belongs to. It is looked up when a line is written, so that other requests pay nothing. */
export const withRequestId = (line: Logger.Logger.Options<unknown>): Logger.Logger.Options<unknown> => {
  if (HashMap.has(line.annotations, "requestId")) return line
  const services = FiberRefs.getOrDefault(line.context, FiberRef.currentContext)
  const request: HttpServerRequest.HttpServerRequest | undefined = services.unsafeMap.get(
    HttpServerRequest.HttpServerRequest.key
  )
  const state = request === undefined ? undefined : requestStateIn(toIncomingMessage(request))
  return state === undefined ? line : { ...line, annotations: HashMap.set(line.annotations, "requestId", state.id) }
}
