import type { HttpClientError, HttpClientResponse } from "@effect/platform"
import { Data, Option, ParseResult, Schema } from "effect"
import type { errorCode } from "../model/ErrorCode.ts"
import { Issue } from "../model/Errors.ts"

/** Codes of failures that the service did not report itself. */
type LocalCode =
  /** No answer arrived: the address, the network or a proxy. */
  | "unreachable"
  /** An answer arrived with an unknown status, envelope or body, so it may not come from the service. */
  | "unexpected_answer"
  /** The arguments do not fit, so nothing was sent. */
  | "invalid_request"
  /** The message of a webhook has no valid signature, or its timestamp is more than five minutes off. */
  | "invalid_signature"

/** A code of the service, or of this client. A newer service may have others. */
export type CatalogErrorCode = (typeof errorCode)[keyof typeof errorCode] | LocalCode | (string & {})

/** Every failure of this client. If the service reported it, it has the members of the service's error envelope. */
export class CatalogError extends Data.TaggedError("CatalogError")<{
  readonly code: CatalogErrorCode
  readonly message: string
  /** The id of the request in the service's log. Undefined: the service did not report the failure. */
  readonly request_id?: string | undefined
  /** The invalid parts of the request. */
  readonly details?: ReadonlyArray<Issue> | undefined
  /** The HTTP status. Undefined: no answer arrived, or nothing was sent. */
  readonly status?: number | undefined
  /** Seconds after which the service wants the next attempt (`Retry-After`). */
  readonly retry_after?: number | undefined
  readonly cause?: unknown
}> {}

const decodeEnvelope = Schema.decodeUnknownOption(
  Schema.parseJson(
    Schema.Struct({
      error: Schema.Struct({
        code: Schema.String,
        message: Schema.String,
        request_id: Schema.String,
        details: Schema.optional(Schema.Array(Issue))
      })
    })
  )
)

/** The seconds of a `Retry-After` header, which is a number or a date. Undefined: there is none. */
const retryAfterOf = (header: string | undefined): number | undefined => {
  if (header === undefined) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0)
}

/** The error of an answer that is not a success. */
export const refusalOf = (
  { headers, status }: Pick<HttpClientResponse.HttpClientResponse, "headers" | "status">,
  body: ArrayBuffer
): CatalogError =>
  new CatalogError({
    ...Option.match(decodeEnvelope(new TextDecoder().decode(body)), {
      onNone: () => ({
        code: "unexpected_answer" as const,
        message: `The answer has status ${status} and no error envelope of the catalog.`
      }),
      onSome: ({ error }) => error
    }),
    status,
    retry_after: retryAfterOf(headers["retry-after"])
  })

// The library's errors contain the request, and with it the key. Only their cause is kept, so that a program that logs an error
// does not log the key.
const causeOf = ({ cause }: Error) => cause

/** The error for a request without an answer. */
export const unreachable = (failure: HttpClientError.HttpClientError): CatalogError =>
  new CatalogError({ code: "unreachable", message: "The catalog did not answer.", cause: causeOf(failure) })

/** The error for a successful answer whose body this client does not understand. */
export const unexpected = (failure: Error): CatalogError =>
  new CatalogError({
    code: "unexpected_answer",
    message: `The answer does not fit this version of the client: ${failure.message}`,
    cause: causeOf(failure)
  })

/** The error for an argument or a setting that does not fit. `path`: its name. */
export const invalid = (path: string, message: string): CatalogError =>
  new CatalogError({ code: "invalid_request", message: `${path}: ${message}`, details: [{ path, message }] })

/** The error for arguments that do not fit the schema of their operation. */
export const misfit = (failure: ParseResult.ParseError): CatalogError => {
  const details = ParseResult.ArrayFormatter.formatErrorSync(failure).map(({ message, path }) => ({
    path: path.map(String).join("."),
    message
  }))
  const message = details.map((issue) => `${issue.path}: ${issue.message}`).join("; ")
  return new CatalogError({ code: "invalid_request", message, details })
}
