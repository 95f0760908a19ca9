import { errorCode } from "../model/ErrorCode.ts"
import type { DomainError } from "../model/Errors.ts"
import type { RequestError } from "./RequestErrors.ts"

/** Every error that a response can report. */
export type ApiError = DomainError | RequestError

/** The only mapping from errors to HTTP statuses. */
export const errorCodes = {
  ValidationFailed: { status: 400, code: errorCode.ValidationFailed },
  Unauthorized: { status: 401, code: errorCode.Unauthorized },
  Forbidden: { status: 403, code: errorCode.Forbidden },
  NotFound: { status: 404, code: errorCode.NotFound },
  MethodNotAllowed: { status: 405, code: errorCode.MethodNotAllowed },
  RequestTimeout: { status: 408, code: errorCode.RequestTimeout },
  RevisionConflict: { status: 409, code: errorCode.RevisionConflict },
  CursorExpired: { status: 410, code: errorCode.CursorExpired },
  PayloadTooLarge: { status: 413, code: errorCode.PayloadTooLarge },
  UriTooLong: { status: 414, code: errorCode.UriTooLong },
  UnsupportedMediaType: { status: 415, code: errorCode.UnsupportedMediaType },
  ExpectationFailed: { status: 417, code: errorCode.ExpectationFailed },
  PimLocked: { status: 423, code: errorCode.PimLocked },
  RateLimited: { status: 429, code: errorCode.RateLimited },
  HeadersTooLarge: { status: 431, code: errorCode.HeadersTooLarge },
  InternalError: { status: 500, code: errorCode.InternalError },
  LiveReadFailed: { status: 502, code: errorCode.LiveReadFailed },
  Unavailable: { status: 503, code: errorCode.Unavailable }
} as const satisfies Record<ApiError["_tag"], { readonly status: number; readonly code: string }>

export type ErrorTag = keyof typeof errorCodes

/** Errors that only the connector has. They refuse a request before its message is parsed. */
export const connectorCodes = {
  ForeignPage: { status: errorCodes.Forbidden.status, code: errorCodes.Forbidden.code },
  NotAcceptable: { status: 406, code: "not_acceptable" }
} as const
