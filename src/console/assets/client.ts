import type { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import type { GroupsOf } from "../../api/ProgramsOf.ts"
import type { ConsoleApi, prefix } from "../api/ConsoleApi.ts"

type Endpoints = HttpApiGroup.HttpApiGroup.Endpoints<GroupsOf<typeof ConsoleApi>>
type Gets = Extract<Endpoints, { readonly method: "GET" }>
type Named<Name extends string> = HttpApiEndpoint.HttpApiEndpoint.WithName<Gets, Name>
type Parameters<Name extends string> = HttpApiEndpoint.HttpApiEndpoint.UrlParams<Named<Name>>
type Answer<Name extends string> = HttpApiEndpoint.HttpApiEndpoint.Success<Named<Name>>

/** A typed constant, because a script imports no code of the service. */
const base: typeof prefix = "/console-api"

/** Calls an endpoint of the private API. Its types are those of the definition, so the compiler refuses a wrong name or parameter. */
export const get = async <Name extends Gets["name"]>(
  name: Name,
  parameters: Parameters<Name>,
  signal: AbortSignal
): Promise<Answer<Name>> => {
  const response = await fetch(`${base}/${name}?${new URLSearchParams(parameters)}`, { signal })
  if (!response.ok) throw new Error(`${name}: ${response.status}`)
  return response.json()
}
