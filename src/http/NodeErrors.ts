import { randomUUID } from "node:crypto"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { ExpectationFailed, HeadersTooLarge, RequestTimeout, UriTooLong } from "../api/RequestErrors.ts"
import type { RateStatus } from "../budgets/RateBudget.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { commonHeaders, rateHeaders } from "./CommonHeaders.ts"
import { headLimit, notOriginForm, targetLimit } from "./RequestHead.ts"
import type { NoteUnread } from "./RequestLog.ts"

/** The head limit of Node's parser. It is above our own limit, so that the gate itself refuses most heads that are too large. */
export const nodeHeaderLimit = 8 * headLimit

/** How long a refused connection stays open so that its client can read the answer. Closing it with unread input would reset it. */
const lingerMillis = 1_000

const notEscaped = ValidationFailed.at(
  "",
  "The request target has a character that must be percent-encoded as UTF-8, such as a letter with an accent."
)

const notHttp = ValidationFailed.at("", "the request is not well-formed HTTP/1.1")

/** The text after a request's target. A header does not contain it by accident. */
const endOfTarget = " HTTP/1.1\r\n"

/** Tells from the bytes after an overlong word whether the target or the headers are too large. A text: undecided, prepend it to the next bytes. */
const overflowOf = (text: string): UriTooLong | HeadersTooLarge | string => {
  const end = text.search(/[ \r\n]/)
  if (end === -1) return ""
  const rest = text.slice(end, end + endOfTarget.length)
  if (/^ HTTP\/\d\.\d\r\n$/.test(rest)) return new UriTooLong({ limitBytes: targetLimit })
  return rest.length === endOfTarget.length || rest.includes("\n")
    ? new HeadersTooLarge({ limitBytes: headLimit })
    : rest
}

interface ClientError extends NodeJS.ErrnoException {
  /** The last packet, at most 64 KiB. */
  readonly rawPacket?: Uint8Array
  /** Number of its bytes that were parsed before the error. */
  readonly bytesParsed?: number
}

const errorOf = (error: ClientError): ApiError => {
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new RequestTimeout()
    // Some clients, such as curl, send a query as it was typed.
    case "HPE_INVALID_URL":
      return notEscaped
    default:
      return notHttp
  }
}

const answerOf = (error: ApiError, rateStatus: RateStatus) => {
  const requestId = `req_${randomUUID()}`
  const body = JSON.stringify(envelopeOf(error, requestId))
  const { code, status } = errorCodes[error._tag]
  return {
    status,
    unread: { id: requestId, status, reason: code },
    body,
    headers: {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      ...commonHeaders,
      ...rateHeaders(rateStatus),
      "x-request-id": requestId,
      connection: "close"
    }
  }
}

/** A request whose head was parsed, and its response. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * The exchanges of a connection that may be pending, oldest first. An array without a listener per response, because a Set keeps
 * answered requests alive in its old tables (docs/benchmarks.md).
 */
const exchangesKey = Symbol("exchanges")

type Connection = Socket & { [exchangesKey]?: Array<Exchange> }

/** Whether an exchange is unanswered or its body is still coming in. */
const isPending = ({ request, response }: Exchange) => !response.closed || !(request.complete || request.closed)

/** Ends a connection, after a last answer if one is given. */
const hangUp = (socket: Socket, answer = "") => {
  socket.end(answer)
  const linger = setTimeout(() => socket.destroy(), lingerMillis)
  socket.once("close", () => clearTimeout(linger))
}

/**
 * Handles errors that Node would otherwise answer itself: a head that is not HTTP, too large or too late, and an `Expect` header.
 * The answers have the usual envelope and headers. Returns a function that refuses a connection before it is read.
 */
export const answerNodeErrors = (
  server: Server,
  fullBudget: () => RateStatus,
  noteUnread: NoteUnread
): ((socket: Socket, error: ApiError) => void) => {
  const refused = new WeakSet<Socket>()
  /** Connections whose head is too large for a cause that is unknown so far. Value: the text to prepend to the next bytes. */
  const overflowing = new WeakMap<Socket, string>()

  /**
   * Finds whether the target or the headers made a head too large. Undefined: more bytes are needed. Node reports neither what it
   * was parsing nor the earlier packets, and packets may end anywhere, so the bytes after the long word decide.
   */
  const overflow = (socket: Socket, { bytesParsed = 0, rawPacket }: ClientError) => {
    const packet = Buffer.from(rawPacket ?? []).toString("latin1")
    const before = overflowing.get(socket)
    // A target contains no spaces and line ends, so bytes after one of them belong to a header.
    const isHeader = before === undefined && /[ \r\n]/.test(packet.slice(0, bytesParsed))
    const found = isHeader
      ? new HeadersTooLarge({ limitBytes: headLimit })
      : overflowOf(before === undefined ? packet.slice(bytesParsed) : before + packet)
    if (typeof found !== "string") return found
    overflowing.set(socket, found)
    return undefined
  }

  const endWith = (socket: Socket, error: ApiError) => {
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const { body, headers, status, unread } = answerOf(error, fullBudget())
    noteUnread(unread)
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    ]
    hangUp(socket, `${head.join("\r\n")}\r\n\r\n${body}`)
  }

  /** Sends the refusal once all earlier requests of the connection are answered; nothing if this request's answer has begun. */
  const refuse = (socket: Connection, error: ApiError): void => {
    const oldest = socket[exchangesKey]?.find(isPending)
    if (oldest === undefined) endWith(socket, error)
    else if (oldest.request.complete) oldest.response.once("close", () => refuse(socket, error))
    else if (oldest.response.headersSent) hangUp(socket)
    else endWith(socket, error)
  }

  // Node calls `destroySoon` after the last answer of a connection. Its own version does not wait until the client has read it.
  server.on("connection", (socket: Connection) => {
    socket.destroySoon = () => hangUp(socket)
    socket[exchangesKey] = []
  })
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { [exchangesKey]: ofSocket = [] }: Connection = request.socket
    while (ofSocket[0] !== undefined && !isPending(ofSocket[0])) ofSocket.shift()
    ofSocket.push({ request, response })
  })
  server.on("clientError", (error: ClientError, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy()
    // Any later input of a refused connection causes this event again.
    if (refused.has(socket)) return
    const found = error.code === "HPE_HEADER_OVERFLOW" ? overflow(socket, error) : errorOf(error)
    if (found === undefined) return
    refused.add(socket)
    refuse(socket, found)
  })
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { body, headers, status, unread } = answerOf(new ExpectationFailed(), fullBudget())
    noteUnread(unread)
    response.writeHead(status, headers).end(body)
  })
  // Answers CONNECT. Without this listener, Node would close the connection without an answer.
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, notOriginForm)
  })
  return endWith
}
