import { HttpApiError, HttpServerError, HttpServerResponse } from "@effect/platform"
import { Cause, Effect, Predicate } from "effect"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { InternalError } from "../api/RequestErrors.ts"
import { classify, isSqlError } from "../database/SqlErrors.ts"
import { NotFound, Unavailable, ValidationFailed } from "../domain/Errors.ts"
import type { Refuse } from "./Surface.ts"

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

/**
 * Places and rules of a decode failure. Rules that are not ours end with the value they refuse, or spell out the types of an
 * object's members: both are left out.
 */
const misfits = (issues: ReadonlyArray<{ readonly path: ReadonlyArray<PropertyKey>; readonly message: string }>) =>
  new ValidationFailed({
    issues: issues.map(({ message, path }) => ({ path: path.map(String).join("."), message: ruleOf(message) }))
  })

const ruleOf = (message: string) => {
  const end = message.indexOf(", actual ")
  const rule = end === -1 ? message : message.slice(0, end)
  return rule.startsWith("Expected {") ? "Expected an object" : rule
}

/** The error that a failure amounts to, whether it was declared, raised by the router, or died. */
export const apiErrorOf = (error: unknown): ApiError => {
  if (isApiError(error)) return error
  if (error instanceof HttpApiError.HttpApiDecodeError) return misfits(error.issues)
  if (error instanceof HttpServerError.RouteNotFound) return new NotFound()
  if (isSqlError(error)) {
    switch (classify(error)) {
      case "unavailable":
      case "retry":
        return new Unavailable()
      case "invalid-text":
        return ValidationFailed.at("", "text must not contain U+0000")
      case "defect":
        return new InternalError()
    }
  }
  return new InternalError()
}

/**
 * Answers whatever a request ended in. A defect is logged once, whole, under the request's id. `refuse`: how a surface beside
 * the API says it.
 */
export const answerFailure =
  (requestId: string, refuse: Refuse = errorResponse) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(Cause.squash(cause))
    const answer = Effect.succeed(refuse(error, requestId))
    return error._tag === "InternalError"
      ? Effect.zipRight(
          Effect.annotateLogs(Effect.logError("A request ended in a defect", cause), { requestId }),
          answer
        )
      : answer
  }
