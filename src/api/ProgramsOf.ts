import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { Effect, Types } from "effect"
import type { CurrentActor } from "../model/Actor.ts"
import type { JsonText } from "../model/JsonText.ts"
import type { ApiError } from "./ErrorCodes.ts"

export type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R> ? Groups : never
type EndpointsOf<Api> = HttpApiGroup.HttpApiGroup.Endpoints<GroupsOf<Api>>
export type EndpointNameOf<Api> = HttpApiEndpoint.HttpApiEndpoint.Name<EndpointsOf<Api>>
type Endpoint<Api, Name extends string> = HttpApiEndpoint.HttpApiEndpoint.WithName<EndpointsOf<Api>, Name>
type Success<Api, Name extends string> = HttpApiEndpoint.HttpApiEndpoint.Success<Endpoint<Api, Name>>

/** One program per endpoint of an API, by the endpoint's name. A program returns the success value, or that value as JSON text. */
export type ProgramsOf<Api> = {
  readonly [Name in EndpointNameOf<Api>]: (
    request: Types.Simplify<HttpApiEndpoint.HttpApiEndpoint.Request<Endpoint<Api, Name>>>
  ) => Effect.Effect<Success<Api, Name> | JsonText<Success<Api, Name>>, ApiError, CurrentActor>
}

/** A program whose endpoint is known only at run time. */
export type AnyProgram = (request: unknown) => Effect.Effect<unknown, ApiError, CurrentActor>

/**
 * Programs that are looked up by an endpoint's name. The cast drops the types of their requests. This is safe because the
 * endpoint's schema decodes each request first.
 */
export const programsByName = (programs: object): Readonly<Record<string, AnyProgram>> =>
  programs as Readonly<Record<string, AnyProgram>>
