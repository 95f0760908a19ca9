import { HttpApiBuilder, type HttpApiGroup, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, identity, Layer } from "effect"
import { Authentication } from "../api/Authentication.ts"
import type { ApiError } from "../api/ErrorCodes.ts"
import { type AnyProgram, type GroupsOf, type ProgramsOf, programsByName } from "../api/ProgramsOf.ts"
import { RestApi } from "../api/RestApi.ts"
import { HasReplica, readingAt } from "../database/Replica.ts"
import type { CurrentActor } from "../model/Actor.ts"
import { JsonText } from "../model/JsonText.ts"
import { Programs } from "../programs/Programs.ts"
import { requestStateOf } from "./RequestState.ts"

type Handler = (input: unknown) => Effect.Effect<unknown, ApiError, CurrentActor | HttpServerRequest.HttpServerRequest>

/** The handlers of a group whose endpoint names are known only at run time. */
interface AnyHandlers {
  readonly handle: (name: string, handler: Handler) => AnyHandlers
}

/** Encodes JSON text to bytes once, because the ETag, the length and the socket all need them. */
const send = (answer: unknown) =>
  answer instanceof JsonText
    ? HttpServerResponse.raw(Buffer.from(answer.text), { contentType: "application/json" })
    : answer

/** Lets a replica answer the program's reads, if the response depends only on the account's data at its version. */
const fromReplica =
  (program: AnyProgram): Handler =>
  (input) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const { reading } = requestStateOf(request)
      const answer = program(input)
      return typeof reading?.version === "number" ? readingAt(reading.accountId, reading.version)(answer) : answer
    })

/** The handlers of a group: each runs the program of its endpoint. */
const layerOf = <Name extends HttpApiGroup.HttpApiGroup.Name<GroupsOf<typeof RestApi>>>(name: Name) => {
  const endpoints: object = RestApi.groups[name]?.endpoints ?? {}
  const build = (handlers: AnyHandlers) =>
    Effect.gen(function* () {
      const byName = programsByName((yield* Programs) satisfies ProgramsOf<typeof RestApi>)
      const run: (program: AnyProgram) => Handler = (yield* HasReplica) ? fromReplica : identity
      return Object.keys(endpoints).reduce((added, endpoint) => {
        const program = run(byName[endpoint] as AnyProgram)
        return added.handle(endpoint, (request) => Effect.map(program(request), send))
      }, handlers)
    })
  // A cast: the library's types track each call of `handle`. `ProgramsOf` has checked all programs already.
  return HttpApiBuilder.group(RestApi, name, build as never) as Layer.Layer<
    HttpApiGroup.ApiGroup<"catalog", Name>,
    never,
    Programs | Authentication
  >
}

export const Handlers = Layer.mergeAll(
  layerOf("ping"),
  layerOf("catalog"),
  layerOf("changes"),
  layerOf("stores"),
  layerOf("storeData"),
  layerOf("salesChannels"),
  layerOf("drops"),
  layerOf("dataHealth")
)

const caller = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  const { actor } = requestStateOf(request)
  return actor === undefined
    ? Effect.dieMessage("an authenticated endpoint ran without a credential")
    : Effect.succeed(actor)
})

/** Gives handlers the actor of the credential that the gate looked up. */
export const AuthenticationLive = Layer.succeed(Authentication, { ApiKey: () => caller })
