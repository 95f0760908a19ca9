import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer } from "effect"
import { Authentication } from "../api/Authentication.ts"
import { requestStateOf } from "./RequestState.ts"

const caller = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  const { actor } = requestStateOf(request)
  return actor === undefined
    ? Effect.dieMessage("an authenticated endpoint ran without a credential")
    : Effect.succeed(actor)
})

/** Gives handlers the actor of the credential that the gate looked up. */
export const AuthenticationLive = Layer.succeed(Authentication, { ApiKey: () => caller })
