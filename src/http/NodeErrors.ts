import { randomUUID } from "node:crypto"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { ExpectationFailed, HeadersTooLarge, RequestTimeout, UriTooLong } from "../api/RequestErrors.ts"
import { ValidationFailed } from "../domain/Errors.ts"
import type { Standing } from "../services/RateBudget.ts"
import { rateHeaders } from "./RateHeaders.ts"
import { headLimit, targetLimit } from "./RequestHead.ts"

/** What Node's parser holds at most of a head: above our own limit, so that most heads reach our own answer. */
export const nodeHeaderLimit = 4 * headLimit

const notHttp = new ValidationFailed({ issues: [{ path: "", message: "the request is not well-formed HTTP/1.1" }] })

/** A request line that is longer than a target may be is told so, whatever Node calls it. */
const isLongTarget = (packet: unknown) =>
  packet instanceof Uint8Array && packet.length > targetLimit && !packet.subarray(0, targetLimit).includes(0x0a)

const errorOf = (error: NodeJS.ErrnoException & { readonly rawPacket?: unknown }): ApiError => {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return isLongTarget(error.rawPacket)
        ? new UriTooLong({ limitBytes: targetLimit })
        : new HeadersTooLarge({ limitBytes: headLimit })
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new RequestTimeout()
    default:
      return notHttp
  }
}

const answerOf = (error: ApiError, standing: Standing) => {
  const requestId = `req_${randomUUID()}`
  const body = JSON.stringify(envelopeOf(error, requestId))
  return {
    status: errorCodes[error._tag].status,
    body,
    headers: {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "cache-control": "private, no-cache",
      vary: "Authorization",
      ...rateHeaders(standing),
      "x-request-id": requestId,
      connection: "close"
    }
  }
}

/**
 * What Node itself answers (a head that is no HTTP, too large or too late, an expectation) passes no middleware: here it
 * gets the envelope and the headers of every other answer.
 */
export const answerNodeErrors = (server: Server, untouched: () => Standing): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy()
      return
    }
    const { body, headers, status } = answerOf(errorOf(error), untouched())
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    ]
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
  })
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { body, headers, status } = answerOf(new ExpectationFailed(), untouched())
    response.writeHead(status, headers).end(body)
  })
}
