import { HttpApiError, HttpServerError, HttpServerResponse } from "@effect/platform"
import { Array as Arr, Cause, Chunk, Effect, Option, Predicate } from "effect"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { InternalError } from "../api/RequestErrors.ts"
import { classify, isSqlError } from "../database/SqlErrors.ts"
import { type Issue, NotFound, Unavailable, ValidationFailed } from "../model/Errors.ts"
import type { Refuse, RequestState } from "./RequestState.ts"

/** The response headers that an error adds to the usual ones. */
export const headersOf = (error: ApiError): Record<string, string> => {
  switch (error._tag) {
    case "Unauthorized":
      return { "www-authenticate": "Bearer" }
    case "MethodNotAllowed":
      return { allow: error.allow.join(", ") }
    case "RateLimited":
      return { "retry-after": String(error.retryAfterSeconds) }
    case "PayloadTooLarge":
      // Closes the connection, because the rest of the body is not read.
      return { connection: "close" }
    default:
      return {}
  }
}

/** The response for an error. The API's errors get their HTTP status only here. */
export const errorResponse = (error: ApiError, requestId: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(envelopeOf(error, requestId), {
    status: errorCodes[error._tag].status,
    headers: headersOf(error)
  })

const isApiError = (error: unknown): error is ApiError =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" && Object.hasOwn(errorCodes, error._tag)

/** Lists the invalid parts of a request. */
type Misfits = () => ReadonlyArray<Issue>

const noMisfits: Misfits = () => []

/**
 * The API error of a typed failure, which a handler declares or the router raises. The router has the same failure for a request
 * and for a response that does not match its schema; the latter is a defect.
 */
const failureOf = (error: unknown, misfits: Misfits): ApiError => {
  if (isApiError(error)) return error
  if (error instanceof HttpApiError.HttpApiDecodeError) {
    const issues = misfits()
    return issues.length > 0 ? new ValidationFailed({ issues }) : new InternalError()
  }
  return error instanceof HttpServerError.RouteNotFound ? new NotFound() : defectOf(error)
}

/**
 * The API error of a defect. Database errors become defects (`SqlErrors.orDie`): the database is unreachable, or cannot store a
 * text. Every other defect is an internal error, even if it has the tag of an API error.
 */
const defectOf = (defect: unknown): Unavailable | ValidationFailed | InternalError => {
  if (defect instanceof Unavailable) return defect
  if (!isSqlError(defect)) return new InternalError()
  switch (classify(defect)) {
    case "unavailable":
    case "retry":
      return new Unavailable()
    case "invalid-text":
      return ValidationFailed.at("", "text must not contain U+0000")
    case "defect":
      return new InternalError()
  }
}

/** The API error of a failed request. If the cause has both a defect and a failure, the defect wins. */
export const apiErrorOf = (cause: Cause.Cause<unknown>, misfits = noMisfits): ApiError => {
  const defects = Arr.map(Chunk.toReadonlyArray(Cause.defects(cause)), defectOf)
  return (
    defects.find(({ _tag }) => _tag === "InternalError") ??
    Option.match(Cause.failureOption(cause), {
      onNone: () => defects[0] ?? new InternalError(),
      onSome: (error) => failureOf(error, misfits)
    })
  )
}

/** Maximum log lines about refusals per second. In an outage every request is refused. */
const maxNotesPerSecond = 20
let notes = 0
let noteSecond = 0

/**
 * Logs that a request was refused because the database, or a part of the service, is unavailable. `about`: the request's id, and what was
 * asked. An earlier line has the cause, with the same id unless several requests share the cause.
 */
export const noteUnavailable = (
  { message }: Unavailable,
  about: { readonly requestId: string } & Readonly<Record<string, unknown>>
) =>
  Effect.suspend(() => {
    const second = Math.floor(performance.now() / 1_000)
    if (second !== noteSecond) {
      noteSecond = second
      notes = 0
    }
    return notes++ < maxNotesPerSecond
      ? Effect.annotateLogs(Effect.logWarning(`A request was refused: ${message}`), about)
      : Effect.void
  })

/**
 * The response to a failed request. Logs a 503 (at most 20 lines a second), and a defect once, with its cause and the request's id.
 * `refuse`: renders the error for a surface other than the API. `misfits`: lists the issues if the request could not be decoded.
 * `isProbe`: the request asks for readiness, which logs its own changes.
 */
export const answerFailure =
  (
    { id: requestId, request }: Pick<RequestState, "id" | "request">,
    refuse: Refuse = errorResponse,
    misfits = noMisfits,
    isProbe = false
  ) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause, misfits)
    const answer = Effect.succeed(refuse(error, requestId, request))
    switch (error._tag) {
      case "InternalError":
        return Effect.zipRight(
          Effect.annotateLogs(Effect.logError("A request ended in a defect", cause), { requestId, status: 500 }),
          answer
        )
      case "Unavailable":
        return isProbe ? answer : Effect.zipRight(noteUnavailable(error, { requestId, status: 503 }), answer)
      default:
        return answer
    }
  }
