import { HttpApiError, HttpServerError, HttpServerResponse } from "@effect/platform"
import { Array as Arr, Cause, Chunk, Effect, Option, Predicate } from "effect"
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

/** The answer to a typed failure: one that is declared, or one that the router raises. */
const failureOf = (error: unknown): ApiError => {
  if (isApiError(error)) return error
  if (error instanceof HttpApiError.HttpApiDecodeError) return misfits(error.issues)
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
export const apiErrorOf = (cause: Cause.Cause<unknown>): ApiError => {
  const defects = Arr.map(Chunk.toReadonlyArray(Cause.defects(cause)), defectOf)
  return (
    defects.find(({ _tag }) => _tag === "InternalError") ??
    Option.match(Cause.failureOption(cause), { onNone: () => defects[0] ?? new InternalError(), onSome: failureOf })
  )
}

/**
 * Answers whatever a request ended in. A defect is logged once, whole, under the request's id. `refuse`: how a surface beside
 * the API says it.
 */
export const answerFailure =
  (requestId: string, refuse: Refuse = errorResponse) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    const error = apiErrorOf(cause)
    const answer = Effect.succeed(refuse(error, requestId))
    return error._tag === "InternalError"
      ? Effect.zipRight(
          Effect.annotateLogs(Effect.logError("A request ended in a defect", cause), { requestId }),
          answer
        )
      : answer
  }
