import { HttpApiSchema } from "@effect/platform"
import { ParseResult, Schema, type SchemaAST } from "effect"
import { Issue, LiveReadFailed, NotFound, PimLocked, ValidationFailed } from "../model/Errors.ts"
import { type ApiError, type ErrorTag, errorCodes } from "./ErrorCodes.ts"

/** Limits that keep error responses small, whatever the request contains. */
const mostIssues = 20
const mostCharacters = 500

const cut = (text: string) => (text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters - 1)}…`)

const cutIssues = (issues: ReadonlyArray<Issue>) =>
  issues.slice(0, mostIssues).map(({ message, path }) => ({ path: cut(path), message: cut(message) }))

const common = (error: ApiError, requestId: string) => ({
  code: errorCodes[error._tag].code,
  message: cut(error.message),
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
  request_id: Schema.String.annotations({ description: "Names this request, as X-Request-Id does." })
})

const onTheWire = <A>(tag: ErrorTag, description: string) =>
  HttpApiSchema.annotations<A>({
    identifier: `${tag.replace(/Error$/, "")}Error`,
    description,
    status: errorCodes[tag].status
  })

/** Only clients decode with these schemas. The server writes errors with `envelopeOf`, which knows the request's id. */
const onlyRead = (error: unknown, _options: unknown, ast: SchemaAST.Transformation) =>
  ParseResult.fail(new ParseResult.Forbidden(ast, error, "errors are decoded only, never encoded"))

/** 404 on the wire. */
export const NotFoundWire = Schema.transformOrFail(
  Schema.Struct({ error: Schema.Struct(fields("NotFound")) }),
  Schema.typeSchema(NotFound),
  {
    strict: true,
    decode: () => ParseResult.succeed(new NotFound()),
    encode: onlyRead
  }
).annotations(
  onTheWire("NotFound", "Unknown id: absent, of another account, of another kind, or malformed. All read the same.")
)

/** 423 on the wire. */
export const PimLockedWire = Schema.transformOrFail(
  Schema.Struct({ error: Schema.Struct(fields("PimLocked")) }),
  Schema.typeSchema(PimLocked),
  {
    strict: true,
    decode: () => ParseResult.succeed(new PimLocked()),
    encode: onlyRead
  }
).annotations(
  onTheWire("PimLocked", "An import or refresh is being reconciled: retry after the merchant has finished the review.")
)

/** 400 on the wire, with the places that did not fit. */
export const ValidationFailedWire = Schema.transformOrFail(
  Schema.Struct({
    error: Schema.Struct({
      ...fields("ValidationFailed"),
      details: Schema.Array(Issue).annotations({ description: `The places that did not fit, at most ${mostIssues}.` })
    })
  }),
  Schema.typeSchema(ValidationFailed),
  {
    strict: true,
    decode: ({ error }) => ParseResult.succeed(new ValidationFailed({ issues: error.details })),
    encode: onlyRead
  }
).annotations(onTheWire("ValidationFailed", "A parameter, a header or the body does not fit its definition."))

/** 502 on the wire. */
export const LiveReadFailedWire = Schema.transformOrFail(
  Schema.Struct({ error: Schema.Struct(fields("LiveReadFailed")) }),
  Schema.typeSchema(LiveReadFailed),
  {
    strict: true,
    decode: ({ error }) => ParseResult.succeed(new LiveReadFailed({ message: error.message })),
    encode: onlyRead
  }
).annotations(
  onTheWire(
    "LiveReadFailed",
    "The commerce platform failed, did not answer within 5 s, answered nonsense or refused; retry with exponential backoff."
  )
)

/** An error raised before a handler runs. It is defined for documents and typed clients. */
const refusal = <Tag extends ErrorTag>(tag: Tag, description: string) =>
  Schema.Struct({ error: Schema.Struct(fields(tag)) }).annotations(onTheWire(tag, description))

export const UnauthorizedWire = refusal(
  "Unauthorized",
  "The API key is missing, malformed, unknown, expired or revoked."
)
export const ForbiddenWire = refusal("Forbidden", "The API key does not have the scope that the message names.")
export const RequestTimeoutWire = refusal("RequestTimeout", "The request was not received in time.")
export const UriTooLongWire = refusal("UriTooLong", "The request target is longer than 8,192 bytes.")
export const PayloadTooLargeWire = refusal("PayloadTooLarge", "The body is larger than the endpoint takes.")
export const UnsupportedMediaTypeWire = refusal("UnsupportedMediaType", "The body is not declared as JSON.")
export const ExpectationFailedWire = refusal("ExpectationFailed", "`Expect` asks for something else than 100-continue.")
export const RateLimitedWire = refusal("RateLimited", "A request budget is used up: wait `Retry-After` seconds.")
export const HeadersTooLargeWire = refusal("HeadersTooLarge", "The request head is larger than 16 KiB.")
export const InternalErrorWire = refusal("InternalError", "A defect of the service; retry with exponential backoff.")
export const UnavailableWire = refusal(
  "Unavailable",
  "The database is unreachable, or the service is full; retry with exponential backoff."
)
