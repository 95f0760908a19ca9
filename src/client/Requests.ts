import { HttpApiClient, type HttpApiEndpoint, type HttpApiGroup, HttpClient, HttpClientRequest } from "@effect/platform"
import { Duration, Effect, type ParseResult, Predicate, Random, Record, type Types } from "effect"
import { pageDefaults } from "../api/Params.ts"
import type { GroupsOf } from "../api/ProgramsOf.ts"
import { RestApi } from "../api/RestApi.ts"
import { CatalogError, invalid, misfit, refusalOf, unexpected, unreachable } from "./CatalogError.ts"

/** How a client reaches a catalog. */
export interface ClientSettings {
  /** The address of the service, for example `https://catalog.example`. */
  readonly url: string | URL
  /** An API key (`pk_live_…`). */
  readonly key: string
  /** How often a request is repeated after a 429, a 503 or no answer. Default: 5. */
  readonly retries?: number | undefined
  /** The longest wait before an attempt, in seconds. If the service asks for more, the request fails at once. Default: 90. */
  readonly maxWait?: number | undefined
}

const defaultRetries = 5
const defaultMaxWait = 90

const isCount = (value: unknown) => typeof value === "number" && value >= 0

const isAddress = (url: string | URL) => {
  if (!URL.canParse(String(url))) return false
  const { hash, password, protocol, search, username } = new URL(url)
  return /^https?:$/.test(protocol) && username + password + search + hash === ""
}

/**
 * The error of settings that do not fit. Without this check, a request with a wrong address would be repeated as if the service did not
 * answer, and the platform's error for a key with a line break would contain the key.
 */
const misfitOf = ({ key, maxWait = defaultMaxWait, retries = defaultRetries, url }: ClientSettings) =>
  !isAddress(url)
    ? invalid("url", "must be the address of the service, such as https://catalog.example")
    : typeof key !== "string" || !/^\s*[\x21-\x7e]+\s*$/.test(key)
      ? invalid("key", "must be an API key (pk_live_...), which is one word")
      : !isCount(retries)
        ? invalid("retries", "must be a number of 0 or more")
        : isCount(maxWait)
          ? undefined
          : invalid("maxWait", "must be a number of seconds")

/**
 * Seconds before the next attempt, if the service does not say: 0.25, 0.5, 1, … 8, each multiplied by a random factor from 1 to
 * 1.5.
 */
const backOff = (attempt: number) =>
  Effect.map(Random.nextRange(1, 1.5), (factor) => factor * Math.min(0.25 * 2 ** attempt, 8))

/**
 * Whether a failed request may be repeated. A request with a 429 had no effect. After a 503 or a missing answer the effect is
 * unknown, so only reads are repeated.
 */
const isRepeatable = ({ code, status }: CatalogError, method: string) =>
  status === 429 || (method === "GET" && (status === 503 || code === "unreachable"))

const repeating =
  ({ maxWait = defaultMaxWait, retries = defaultRetries }: ClientSettings, method: string) =>
  <A>(request: Effect.Effect<A, CatalogError>): Effect.Effect<A, CatalogError> => {
    const attempt = (number: number): Effect.Effect<A, CatalogError> =>
      Effect.catchAll(request, (error) => {
        if (number >= retries || !isRepeatable(error, method)) return error
        const wait = error.retry_after === undefined ? backOff(number) : Effect.succeed(error.retry_after)
        return Effect.flatMap(wait, (seconds) =>
          seconds > maxWait ? error : Effect.delay(attempt(number + 1), Duration.seconds(seconds))
        )
      })
    return attempt(0)
  }

/** Sends requests with the key, and repeats those that may be repeated. Answers that are not a success become errors. */
const requesting = (
  client: HttpClient.HttpClient,
  settings: ClientSettings
): HttpClient.HttpClient.With<CatalogError> => {
  const wrong = misfitOf(settings)
  if (wrong !== undefined) return HttpClient.transform(client, () => wrong) as HttpClient.HttpClient.With<CatalogError>
  return HttpClient.mapRequest(client, HttpClientRequest.bearerToken(settings.key)).pipe(
    HttpClient.transform((sending, { method }) =>
      sending.pipe(
        // The body is read here, so that a connection that breaks within it counts as no answer.
        Effect.flatMap((response) => Effect.map(response.arrayBuffer, (body) => ({ response, body }))),
        Effect.mapError(unreachable),
        Effect.flatMap(({ body, response }) =>
          response.status < 300 ? Effect.succeed(response) : refusalOf(response, body)
        ),
        repeating(settings, method)
      )
    )
  ) as HttpClient.HttpClient.With<CatalogError>
}

type EndpointOf<Group extends string> = HttpApiGroup.HttpApiGroup.Endpoints<
  HttpApiGroup.HttpApiGroup.WithName<GroupsOf<typeof RestApi>, Group>
>

/** The parameters of an endpoint. Those with a default may be left out. */
type Defaulted<Params> = [Params] extends [never]
  ? never
  : Types.Simplify<
      Omit<Params, keyof typeof pageDefaults> & Partial<Pick<Params, keyof Params & keyof typeof pageDefaults>>
    >

type Call<Endpoint> =
  Endpoint extends HttpApiEndpoint.HttpApiEndpoint<
    infer _Name,
    infer _Method,
    infer Path,
    infer UrlParams,
    infer Payload,
    infer Headers,
    infer Success,
    infer _Error,
    infer _R,
    infer _RE
  >
    ? (
        request: Types.Simplify<
          Omit<
            HttpApiEndpoint.HttpApiEndpoint.ClientRequest<Path, Defaulted<UrlParams>, Payload, Headers, false>,
            "withResponse"
          >
        >
      ) => Effect.Effect<Success, CatalogError>
    : never

/** Every endpoint of the API, by group and name. */
export type Endpoints = {
  readonly [Group in HttpApiGroup.HttpApiGroup.Name<GroupsOf<typeof RestApi>>]: {
    readonly [Name in HttpApiEndpoint.HttpApiEndpoint.Name<EndpointOf<Group>>]: Call<
      HttpApiEndpoint.HttpApiEndpoint.WithName<EndpointOf<Group>, Name>
    >
  }
}

type AnyCall = (request: unknown) => Effect.Effect<unknown, unknown>

/** Removes members that are undefined: programs pass them as absent ones, and their types allow it without `exactOptionalPropertyTypes`. */
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  return Predicate.isReadonlyRecord(value)
    ? Record.map(
        Record.filter(value, (member) => member !== undefined),
        withoutUndefined
      )
    : value
}

/** Makes a call of each endpoint that the API defines. */
export const makeEndpoints = (settings: ClientSettings): Effect.Effect<Endpoints, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const groups = yield* HttpApiClient.makeWith(RestApi, {
      httpClient: requesting(yield* HttpClient.HttpClient, settings),
      baseUrl: settings.url,
      transformResponse: Effect.mapError((cause) => unexpected(cause as Error))
    })
    const checked = (call: AnyCall) => (request: { readonly urlParams?: object | undefined } | undefined) =>
      Effect.mapError(
        call(withoutUndefined({ ...request, urlParams: { ...pageDefaults, ...request?.urlParams } })),
        (cause) => (cause instanceof CatalogError ? cause : misfit(cause as ParseResult.ParseError))
      )
    // A cast: the library's types list the errors of each endpoint, which `requesting` has turned into CatalogErrors.
    return Record.map(groups as unknown as Readonly<Record<string, Readonly<Record<string, AnyCall>>>>, (calls) =>
      Record.map(calls, checked)
    ) as unknown as Endpoints
  })
