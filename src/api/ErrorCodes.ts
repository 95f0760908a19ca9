import type { DomainError } from "../domain/Errors.ts"
import type { RequestError } from "./RequestErrors.ts"

/** Everything that an answer can say went wrong. */
export type ApiError = DomainError | RequestError

/** The closed table: the only place where an error becomes a status. */
export const errorCodes = {
  ValidationFailed: { status: 400, code: "validation_failed" },
  Unauthorized: { status: 401, code: "unauthorized" },
  Forbidden: { status: 403, code: "forbidden" },
  NotFound: { status: 404, code: "not_found" },
  MethodNotAllowed: { status: 405, code: "method_not_allowed" },
  RequestTimeout: { status: 408, code: "request_timeout" },
  RevisionConflict: { status: 409, code: "revision_conflict" },
  PayloadTooLarge: { status: 413, code: "payload_too_large" },
  UriTooLong: { status: 414, code: "uri_too_long" },
  UnsupportedMediaType: { status: 415, code: "unsupported_media_type" },
  ExpectationFailed: { status: 417, code: "expectation_failed" },
  PimLocked: { status: 423, code: "pim_locked" },
  RateLimited: { status: 429, code: "rate_limited" },
  HeadersTooLarge: { status: 431, code: "headers_too_large" },
  InternalError: { status: 500, code: "internal_error" },
  LiveReadFailed: { status: 502, code: "platform_unavailable" },
  Unavailable: { status: 503, code: "unavailable" }
} as const satisfies Record<ApiError["_tag"], { readonly status: number; readonly code: string }>

export type ErrorTag = keyof typeof errorCodes

/** What the connector alone says, before it has read a message. */
export const connectorCodes = {
  ForeignPage: { status: errorCodes.Forbidden.status, code: errorCodes.Forbidden.code },
  NotAcceptable: { status: 406, code: "not_acceptable" }
} as const
