import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { connectorCodes } from "../api/ErrorCodes.ts"
import { ownOrigins } from "../http/BaseUrl.ts"
import { allowedMethods, enveloped, type Headers } from "./GateAnswers.ts"

/** CORS: the methods and headers that a page may send, and (`exposed`) the response header that it may read. */
const corsHeaders = {
  "access-control-allow-methods": allowedMethods.join(", "),
  "access-control-allow-headers":
    "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id",
  "access-control-max-age": "600"
}
const exposed = { "access-control-expose-headers": "WWW-Authenticate" }

/** The hosts of origins. An origin without a port gives its host with and without the default port. */
const hostsOf = (origins: Iterable<string>) =>
  new Set(
    [...origins].flatMap((origin) => {
      const { host, hostname, port, protocol } = new URL(origin)
      return port === "" ? [host, `${hostname}:${protocol === "https:" ? 443 : 80}`] : [host]
    })
  )

/** Checks the Host and Origin headers: the hosts that the connector serves, and the origins whose pages may use it. */
export const makeOrigins = (baseUrl: string, allowedOrigins: ReadonlyArray<string>) => {
  const own = ownOrigins(baseUrl)
  const hosts = hostsOf(own)
  const origins = new Set([...own, ...allowedOrigins])
  return {
    /** The refusal of a request for its Host or Origin header. Undefined: both are allowed. */
    refuse: ({ headers }: HttpServerRequest.HttpServerRequest, requestId: string) => {
      const foreign = (message: string) => enveloped(connectorCodes.ForeignPage, message, requestId)
      if (!hosts.has((headers.host ?? "").toLowerCase()))
        return foreign("The Host header is not a host name of this service.")
      if (headers.origin !== undefined && !origins.has(headers.origin))
        return foreign(
          "Pages of this origin may not use the connector. The operator allows origins with ALLOWED_ORIGINS."
        )
      return undefined
    },
    /** The answer to a CORS preflight. */
    preflight: HttpServerResponse.empty({ status: 204, headers: { ...corsHeaders, ...exposed } }),
    /** Headers that let a page of an allowed origin read an answer. Without them, the page only learns that the request failed. */
    readable: ({ headers }: HttpServerRequest.HttpServerRequest): Headers =>
      headers.origin !== undefined && origins.has(headers.origin)
        ? { "access-control-allow-origin": headers.origin, ...exposed }
        : {}
  }
}
