import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer } from "effect"
import { Authentication } from "../api/Authentication.ts"
import { passageOf } from "./Passage.ts"

const caller = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  const { actor } = passageOf(request)
  return actor === undefined
    ? Effect.dieMessage("an authenticated endpoint ran without a credential")
    : Effect.succeed(actor)
})

/** The gate has looked the credential up, before the route was known: here its bearer becomes the actor. */
export const AuthenticationLive = Layer.succeed(Authentication, { ApiKey: () => caller })
