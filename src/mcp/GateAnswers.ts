import { HttpServerResponse } from "@effect/platform"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { MethodNotAllowed } from "../api/RequestErrors.ts"
import { headersOf } from "../http/Envelope.ts"

export type Headers = Readonly<Record<string, string>>

/** Error codes of JSON-RPC. */
export const rpc = {
  parseError: -32_700,
  invalidRequest: -32_600,
  invalidParams: -32_602,
  internalError: -32_603,
  refused: -32_000
} as const

/** The HTTP methods that the connector serves. */
export const allowedMethods = ["POST", "OPTIONS"]

/** A row of the error table in `api/ErrorCodes`. */
interface ErrorRow {
  readonly status: number
  readonly code: string
}

/** An error in REST's envelope: for requests that are refused before their message is parsed. */
export const enveloped = ({ code, status }: ErrorRow, message: string, requestId: string, headers: Headers = {}) =>
  HttpServerResponse.unsafeJson({ error: { code, message, request_id: requestId } }, { status, headers })

export const envelopeOf = (error: ApiError, requestId: string) =>
  enveloped(errorCodes[error._tag], error.message, requestId, headersOf(error))

/** The answer to an HTTP method that the connector does not serve: 405. */
export const notServed = (requestId: string) => envelopeOf(new MethodNotAllowed({ allow: allowedMethods }), requestId)

export type MessageId = string | number | null

/** A JSON-RPC error that answers a message. */
export const answered = (
  { code, status }: ErrorRow,
  rpcCode: number,
  message: string,
  id: MessageId,
  requestId: string,
  headers: Headers = {}
) =>
  HttpServerResponse.unsafeJson(
    {
      jsonrpc: "2.0",
      id,
      error: { code: rpcCode, message, data: { code, request_id: requestId } }
    },
    { status, headers }
  )
