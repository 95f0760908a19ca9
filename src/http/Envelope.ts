import { HttpApiError, HttpServerError, HttpServerResponse } from "@effect/platform"
import { Array as Arr, Cause, Chunk, Effect, Option, Predicate } from "effect"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { InternalError } from "../api/RequestErrors.ts"
import { classify, isSqlError } from "../database/SqlErrors.ts"
import { type Issue, NotFound, Unavailable, ValidationFailed } from "../model/Errors.ts"
import type { Refuse } from "./Passage.ts"

/** Headers that belong to one error and no other answer. */
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

/** The answer to an error: the only place where one is put on the wire. */
export const errorResponse = (error: ApiError, requestId: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(envelopeOf(error, requestId), {
    status: errorCodes[error._tag].status,
    headers: headersOf(error)
  })

const isApiError = (error: unknown): error is ApiError =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" && Object.hasOwn(errorCodes, error._tag)

/** The places of a request that do not fit its definition. */
type Misfits = () => ReadonlyArray<Issue>

const noMisfits: Misfits = () => []

/**
 * The answer to a typed failure: one that is declared, or one that the router raises. The router fails alike for a request
 * that does not fit and for an answer of ours that does not: the latter is a defect.
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
 * The answer to a defect. Only the database crosses every signature as one (`SqlErrors.orDie`): it is unreachable, or holds
 * no such text. Whatever else died is a fault of ours, even where it is tagged like an error of the API.
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

/** The error that a request ended in. A fault of ours is never hidden by a failure beside it. */
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

/**
 * Answers whatever a request ended in. A defect is logged once, whole, under the request's id. `refuse`: how a surface beside
 * the API says it; `misfits`: asked where the request could not be decoded.
 */
export const answerFailure =
  (requestId: string, refuse: Refuse = errorResponse, misfits = noMisfits) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause, misfits)
    const answer = Effect.succeed(refuse(error, requestId))
    return error._tag === "InternalError"
      ? Effect.zipRight(
          Effect.annotateLogs(Effect.logError("A request ended in a defect", cause), { requestId }),
          answer
        )
      : answer
  }
