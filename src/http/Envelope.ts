import { HttpApiError, HttpServerError, HttpServerResponse } from "@effect/platform"
import { Array as Arr, Cause, Chunk, Effect, Option, Predicate } from "effect"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { InternalError } from "../api/RequestErrors.ts"
import { classify, isSqlError } from "../database/SqlErrors.ts"
import { type Issue, NotFound, Unavailable, ValidationFailed } from "../model/Errors.ts"
import type { Refuse } from "./Passage.ts"

/** Headers that only this error has. */
export const headersOf = (error: ApiError): Record<string, string> => {
  switch (error._tag) {
    case "Unauthorized":
      return { "www-authenticate": "Bearer" }
    case "MethodNotAllowed":
      return { allow: error.allow.join(", ") }
    case "RateLimited":
      return { "retry-after": String(error.retryAfterSeconds) }
    case "PayloadTooLarge":
      // The rest of the body is not read.
      return { connection: "close" }
    default:
      return {}
  }
}

/** The answer to an error. The only place where an error becomes a status. */
export const errorResponse = (error: ApiError, requestId: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(envelopeOf(error, requestId), {
    status: errorCodes[error._tag].status,
    headers: headersOf(error)
  })

const isApiError = (error: unknown): error is ApiError =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" && Object.hasOwn(errorCodes, error._tag)

/** Lists the parts of a request that do not fit its definition. */
type Misfits = () => ReadonlyArray<Issue>

const noMisfits: Misfits = () => []

/**
 * The error of a typed failure, declared or raised by the router. The router fails in the same way for a request and for an
 * answer that does not fit its definition: the latter is a defect.
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
 * The error of a defect. Errors of the database become defects (`SqlErrors.orDie`): it is unreachable, or cannot store a text.
 * Every other defect is a fault of the service, even if it has the tag of an error of the API.
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

/** The error that a request ended with. A defect comes before a failure beside it. */
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

/** Lines about 503s that a process writes in a second. In an outage every request gets one. */
const maxNotesPerSecond = 20
let notes = 0
let noteSecond = 0

/** Logs a 503 with the request's id: the cause is in a line before it, with the same id if the request caused it alone. */
const noteUnavailable = (requestId: string, { message }: Unavailable) =>
  Effect.suspend(() => {
    const second = Math.floor(performance.now() / 1_000)
    if (second !== noteSecond) {
      noteSecond = second
      notes = 0
    }
    return notes++ < maxNotesPerSecond
      ? Effect.annotateLogs(Effect.logWarning(`A request was answered 503: ${message}`), { requestId, status: 503 })
      : Effect.void
  })

/**
 * The answer to a request that failed. Logs a 503, at most 20 a second. Logs a defect once, with its cause and the request's id. `refuse`: how a surface beside
 * the API words it. `misfits`: called if the request could not be decoded. `isProbe`: of readiness, which logs its changes itself.
 */
export const answerFailure =
  (requestId: string, refuse: Refuse = errorResponse, misfits = noMisfits, isProbe = false) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause, misfits)
    const answer = Effect.succeed(refuse(error, requestId))
    switch (error._tag) {
      case "InternalError":
        return Effect.zipRight(
          Effect.annotateLogs(Effect.logError("A request ended in a defect", cause), { requestId, status: 500 }),
          answer
        )
      case "Unavailable":
        return isProbe ? answer : Effect.zipRight(noteUnavailable(requestId, error), answer)
      default:
        return answer
    }
  }
