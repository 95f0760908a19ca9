import { HttpApiSchema } from "@effect/platform"
import { ParseResult, Schema } from "effect"
import {
  CursorExpired,
  Forbidden,
  Issue,
  LiveReadFailed,
  NotFound,
  PimLocked,
  Unauthorized,
  ValidationFailed
} from "../model/Errors.ts"
import { type ApiError, type ErrorTag, errorCodes } from "./ErrorCodes.ts"

/** Limits that keep error responses small, whatever the request contains. */
const maxIssues = 20
const maxCharacters = 500

const shorten = (text: string) => (text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`)

const cutIssues = (issues: ReadonlyArray<Issue>) =>
  issues.slice(0, maxIssues).map(({ message, path }) => ({ path: shorten(path), message: shorten(message) }))

const common = (error: ApiError, requestId: string) => ({
  code: errorCodes[error._tag].code,
  message: shorten(error.message),
  request_id: requestId
})

/** The body of an error response. */
export const envelopeOf = (error: ApiError, requestId: string) => {
  switch (error._tag) {
    case "ValidationFailed":
      return { error: { ...common(error, requestId), details: cutIssues(error.issues) } }
    case "RevisionConflict":
      return {
        error: {
          ...common(error, requestId),
          details: [{ path: "draft_revision", message: `the current one is ${error.currentRevision}` }]
        }
      }
    default:
      return { error: common(error, requestId) }
  }
}

const fields = <Tag extends ErrorTag>(tag: Tag) => ({
  code: Schema.Literal(errorCodes[tag].code as (typeof errorCodes)[Tag]["code"]),
  message: Schema.String.annotations({ description: "For people; its wording may change." }),
  request_id: Schema.String.annotations({ description: "Id of this request, equal to X-Request-Id." })
})

const onTheWire = <A>(tag: ErrorTag, description: string) =>
  HttpApiSchema.annotations<A>({
    identifier: `${tag.replace(/Error$/, "")}Error`,
    description,
    status: errorCodes[tag].status
  })

const envelope = <Tag extends ErrorTag>(tag: Tag) => Schema.Struct({ error: Schema.Struct(fields(tag)) })

/** The schema of an error that handlers raise. Only clients decode with it; the server encodes errors with `envelopeOf`. */
const decoded = <Envelope, I, Failure extends ApiError>(
  schema: Schema.Schema<Envelope, I>,
  failure: Schema.Schema<Failure>,
  decode: (envelope: Envelope) => Failure,
  tag: ErrorTag,
  description: string
) =>
  Schema.transformOrFail(schema, failure, {
    strict: true,
    decode: (received) => ParseResult.succeed(decode(received)),
    encode: (error, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, error, "errors are decoded only, never encoded"))
  }).annotations(onTheWire(tag, description))

export const NotFoundWire = decoded(
  envelope("NotFound"),
  Schema.typeSchema(NotFound),
  () => new NotFound(),
  "NotFound",
  "Unknown id: absent, of another account, of another kind, or malformed. The error is the same for all."
)

export const SessionMissingWire = decoded(
  envelope("Unauthorized"),
  Schema.typeSchema(Unauthorized),
  () => new Unauthorized(),
  "Unauthorized",
  "There is no session, or it has ended."
)

export const SessionRefusedWire = decoded(
  envelope("Forbidden"),
  Schema.typeSchema(Forbidden),
  () => new Forbidden({ scope: "" }),
  "Forbidden",
  "The role is too low, the CSRF token is missing, or a second factor must be set up first."
)

export const CursorExpiredWire = decoded(
  envelope("CursorExpired"),
  Schema.typeSchema(CursorExpired),
  () => new CursorExpired(),
  "CursorExpired",
  "Changes after the cursor were deleted, because it is older than 30 days."
)

export const PimLockedWire = decoded(
  envelope("PimLocked"),
  Schema.typeSchema(PimLocked),
  () => new PimLocked(),
  "PimLocked",
  "An import or refresh has locked the catalog: retry after it has ended."
)

export const ValidationFailedWire = decoded(
  Schema.Struct({
    error: Schema.Struct({
      ...fields("ValidationFailed"),
      details: Schema.Array(Issue).annotations({
        description: `The invalid parts of the request, at most ${maxIssues}.`
      })
    })
  }),
  Schema.typeSchema(ValidationFailed),
  ({ error }) => new ValidationFailed({ issues: error.details }),
  "ValidationFailed",
  "A parameter, a header or the body is not valid."
)

export const LiveReadFailedWire = decoded(
  envelope("LiveReadFailed"),
  Schema.typeSchema(LiveReadFailed),
  ({ error }) => new LiveReadFailed({ message: error.message }),
  "LiveReadFailed",
  "The commerce platform failed, did not answer within 5 s, sent an invalid response or refused; retry with exponential backoff."
)

/** The schema of an error that is raised before a handler runs. Only the OpenAPI document and typed clients use it. */
const refusal = <Tag extends ErrorTag>(tag: Tag, description: string) =>
  envelope(tag).annotations(onTheWire(tag, description))

export const UnauthorizedWire = refusal(
  "Unauthorized",
  "The API key is missing, malformed, unknown, expired or revoked."
)
export const ForbiddenWire = refusal("Forbidden", "The API key does not have the scope that the message names.")
export const RequestTimeoutWire = refusal("RequestTimeout", "The request was not received in time.")
export const UriTooLongWire = refusal("UriTooLong", "The request target is longer than 12,288 bytes.")
export const PayloadTooLargeWire = refusal("PayloadTooLarge", "The body is larger than the endpoint accepts.")
export const UnsupportedMediaTypeWire = refusal("UnsupportedMediaType", "The body is not declared as JSON.")
export const ExpectationFailedWire = refusal("ExpectationFailed", "`Expect` is not 100-continue.")
export const RateLimitedWire = refusal("RateLimited", "A request budget is used up: wait `Retry-After` seconds.")
export const HeadersTooLargeWire = refusal("HeadersTooLarge", "The request head is larger than 16 KiB.")
export const InternalErrorWire = refusal("InternalError", "A defect of the service; retry with exponential backoff.")
export const UnavailableWire = refusal(
  "Unavailable",
  "The database is unreachable, or the service is full; retry with exponential backoff."
)
