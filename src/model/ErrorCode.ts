/** The code of each error, by its tag. REST, the connector and the command line use the same codes. */
export const errorCode = {
  ValidationFailed: "validation_failed",
  Unauthorized: "unauthorized",
  Forbidden: "forbidden",
  NotFound: "not_found",
  MethodNotAllowed: "method_not_allowed",
  RequestTimeout: "request_timeout",
  RevisionConflict: "revision_conflict",
  CursorExpired: "cursor_expired",
  PayloadTooLarge: "payload_too_large",
  UriTooLong: "uri_too_long",
  UnsupportedMediaType: "unsupported_media_type",
  ExpectationFailed: "expectation_failed",
  PimLocked: "pim_locked",
  RateLimited: "rate_limited",
  HeadersTooLarge: "headers_too_large",
  InternalError: "internal_error",
  LiveReadFailed: "platform_unavailable",
  Unavailable: "unavailable"
} as const
