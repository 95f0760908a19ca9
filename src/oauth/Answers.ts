import { HttpServerResponse } from "@effect/platform"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import type { OAuthRefused, TooManyRegistrations } from "../connections/OAuthErrors.ts"
import { headersOf } from "../http/Envelope.ts"
import type { Refuse } from "../http/RequestState.ts"

type Headers = Readonly<Record<string, string>>

/** Lets programs in browsers read answers from any origin. This is safe because the answers do not depend on cookies. */
export const anyOrigin: Headers = { "access-control-allow-origin": "*" }

/** A JSON response. By default, caches must not store it. */
export const json = (
  body: unknown,
  { headers = {}, status = 200 }: { readonly status?: number; readonly headers?: Headers } = {}
) =>
  HttpServerResponse.unsafeJson(body, {
    status,
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff", ...anyOrigin, ...headers }
  })

const refusal = (status: number, error: string, description: string, headers: Headers = {}) =>
  json({ error, error_description: description }, { status, headers })

/**
 * An error response: RFC 6749 (5.2), RFC 7591 (3.2.2). `authenticated`: the client sent an Authorization header, so the response
 * must have `WWW-Authenticate`. Without that header it must not, or browsers would ask for a password.
 */
export const refuse = ({ code, description }: OAuthRefused, authenticated = false) =>
  code === "invalid_client"
    ? refusal(401, code, description, authenticated ? { "www-authenticate": 'Basic realm="Catalog"' } : {})
    : refusal(400, code, description)

export const tooMany = ({ message, retryAfterSeconds }: TooManyRegistrations) =>
  refusal(429, "too_many_requests", message, { "retry-after": String(retryAfterSeconds) })

/** The answer to a request that fails before the endpoint reads it. `code`: the error code for a malformed request. */
export const refuseWith =
  (code: "invalid_request" | "invalid_client_metadata", expectedBody: string): Refuse =>
  (error: ApiError) => {
    const headers = headersOf(error)
    switch (error._tag) {
      case "Unavailable":
        return refusal(503, "temporarily_unavailable", error.message)
      case "InternalError":
        return refusal(500, "server_error", error.message)
      case "UnsupportedMediaType":
        return refusal(400, code, expectedBody)
      default:
        return refusal(errorCodes[error._tag].status, code, error.message, headers)
    }
  }

/** The answer to the preflight request of a browser. */
export const preflight = HttpServerResponse.empty({
  status: 204,
  headers: {
    ...anyOrigin,
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "authorization, content-type, mcp-protocol-version",
    "access-control-max-age": "86400"
  }
})
