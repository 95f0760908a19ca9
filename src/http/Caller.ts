import type { IncomingMessage } from "node:http"
import { HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Layer } from "effect"
import { Authentication } from "../api/Authentication.ts"
import type { Actor } from "../model/Actor.ts"

/**
 * The bearers of the credentials that the gate has let pass, by request. Beside the context, not in it: giving every
 * request a context of its own costs more than everything else that the gate does.
 */
const callers = new WeakMap<IncomingMessage, Actor>()

/** Lets the handlers of a request act on behalf of a bearer. */
export const letPass = (request: HttpServerRequest.HttpServerRequest, caller: Actor): void => {
  callers.set(toIncomingMessage(request), caller)
}

const passed = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  const caller = callers.get(toIncomingMessage(request))
  return caller === undefined
    ? Effect.dieMessage("an authenticated endpoint ran without passing the gate")
    : Effect.succeed(caller)
})

/** The gate has looked the credential up, before the route was known: here its bearer becomes the actor. */
export const AuthenticationLive = Layer.succeed(Authentication, { ApiKey: () => passed })
