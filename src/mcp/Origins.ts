import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { connectorCodes } from "../api/ErrorCodes.ts"
import { ownOrigins } from "../http/BaseUrl.ts"
import { allowedMethods, enveloped, type Headers } from "./GateAnswers.ts"

/** What a browser may send, and read of the answer. */
const corsHeaders = {
  "access-control-allow-methods": allowedMethods.join(", "),
  "access-control-allow-headers":
    "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id",
  "access-control-max-age": "600"
}
const exposed = { "access-control-expose-headers": "WWW-Authenticate" }

/** Hosts of origins, with and without the default port. */
const hostsOf = (origins: Iterable<string>) =>
  new Set(
    [...origins].flatMap((origin) => {
      const { host, hostname, port, protocol } = new URL(origin)
      return port === "" ? [host, `${hostname}:${protocol === "https:" ? 443 : 80}`] : [host]
    })
  )

/** Which hosts the connector answers for, and which pages of browsers may use it. */
export const makeOrigins = (baseUrl: string, allowedOrigins: ReadonlyArray<string>) => {
  const own = ownOrigins(baseUrl)
  const hosts = hostsOf(own)
  const origins = new Set([...own, ...allowedOrigins])
  return {
    /** Why a request is refused for its Host or its Origin; undefined: it is not. */
    refuse: ({ headers }: HttpServerRequest.HttpServerRequest, requestId: string) => {
      const foreign = (message: string) => enveloped(connectorCodes.ForeignPage, message, requestId)
      if (!hosts.has((headers.host ?? "").toLowerCase()))
        return foreign("The Host header names another service than this one.")
      if (headers.origin !== undefined && !origins.has(headers.origin))
        return foreign("Pages of this origin may not use the connector; ALLOWED_ORIGINS names those that may.")
      return undefined
    },
    /** The answer to a preflight. */
    preflight: HttpServerResponse.empty({ status: 204, headers: { ...corsHeaders, ...exposed } }),
    /** What lets a page of an allowed origin read an answer; without it, a browser only tells of a failure. */
    readable: ({ headers }: HttpServerRequest.HttpServerRequest): Headers =>
      headers.origin !== undefined && origins.has(headers.origin)
        ? { "access-control-allow-origin": headers.origin, ...exposed }
        : {}
  }
}
