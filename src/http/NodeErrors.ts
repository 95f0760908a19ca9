import { randomUUID } from "node:crypto"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { ExpectationFailed, HeadersTooLarge, RequestTimeout, UriTooLong } from "../api/RequestErrors.ts"
import type { Standing } from "../budgets/RateBudget.ts"
import { ValidationFailed } from "../model/Errors.ts"
import { rateHeaders } from "./CommonHeaders.ts"
import { headLimit, notOriginForm, targetLimit } from "./RequestHead.ts"
import { countUnread } from "./RequestLog.ts"

/** The head limit of Node's parser. It is above our own limit, so that the gate answers most heads that are too large. */
export const nodeHeaderLimit = 8 * headLimit

/** How long a connection that we end stays open, so that its client can read the answer. Closing with unread input resets it. */
const lingerMillis = 1_000

const notHttp = ValidationFailed.at("", "the request is not well-formed HTTP/1.1")

/** What follows a target. A header contains it only on purpose. */
const endOfTarget = " HTTP/1.1\r\n"

/** What made a head too large, judged by the bytes after the long word. Text: not known yet; prepend it to the next bytes. */
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
  /** The last bytes that came in, at most 64 KiB. */
  readonly rawPacket?: Uint8Array
  /** How many of them were read before the error. */
  readonly bytesParsed?: number
}

const errorOf = (error: ClientError): ApiError => {
  switch (error.code) {
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

/** A request whose head was read, and its answer. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * The exchanges of a connection that may be pending, oldest first. A property without a listener for each response: a Set
 * per connection keeps answered requests alive in its old tables (docs/benchmarks.md).
 */
const exchanges = Symbol("exchanges")

type Connection = Socket & { [exchanges]?: Array<Exchange> }

/** Whether an exchange is unanswered or its body is still coming in. */
const isPending = ({ request, response }: Exchange) => !response.closed || !(request.complete || request.closed)

/** Ends a connection, with a last answer or none. */
const hangUp = (socket: Socket, answer = "") => {
  socket.end(answer)
  const linger = setTimeout(() => socket.destroy(), lingerMillis)
  socket.once("close", () => clearTimeout(linger))
}

/**
 * Answers what Node would answer itself: a head that is not HTTP, too large or too late, and an expectation. Such an answer gets
 * the envelope and the headers of every other answer. Returns a function that refuses a connection before it is read.
 */
export const answerNodeErrors = (
  server: Server,
  untouched: () => Standing
): ((socket: Socket, error: ApiError) => void) => {
  const refused = new WeakSet<Socket>()
  /** For each connection whose head is too large for a reason not known yet: the text to prepend to its next bytes. */
  const overflowing = new WeakMap<Socket, string>()

  /**
   * What made a head too large. Undefined until more of it has come in. Node tells neither what it was reading nor what came
   * before the packet, and packets may end anywhere: so the bytes after the long word decide.
   */
  const overflow = (socket: Socket, { bytesParsed = 0, rawPacket }: ClientError) => {
    const packet = Buffer.from(rawPacket ?? []).toString("latin1")
    const before = overflowing.get(socket)
    // The head began in an earlier packet. A target contains neither blanks nor line ends.
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
    const { body, headers, status } = answerOf(error, untouched())
    countUnread(status)
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    ]
    hangUp(socket, `${head.join("\r\n")}\r\n\r\n${body}`)
  }

  /** Answers in turn, after all earlier requests of the connection. Sends nothing if the request has its answer already. */
  const refuse = (socket: Connection, error: ApiError): void => {
    const oldest = socket[exchanges]?.find(isPending)
    if (oldest === undefined) endWith(socket, error)
    else if (oldest.request.complete) oldest.response.once("close", () => refuse(socket, error))
    else if (oldest.response.headersSent) hangUp(socket)
    else endWith(socket, error)
  }

  // Node calls this after an answer that ends the connection, and would close it without waiting for the client.
  server.on("connection", (socket: Connection) => {
    socket.destroySoon = () => hangUp(socket)
    socket[exchanges] = []
  })
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { [exchanges]: ofSocket = [] }: Connection = request.socket
    while (ofSocket[0] !== undefined && !isPending(ofSocket[0])) ofSocket.shift()
    ofSocket.push({ request, response })
  })
  server.on("clientError", (error: ClientError, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy()
    // All later input of a refused connection is an error again.
    if (refused.has(socket)) return
    const found = error.code === "HPE_HEADER_OVERFLOW" ? overflow(socket, error) : errorOf(error)
    if (found === undefined) return
    refused.add(socket)
    refuse(socket, found)
  })
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { body, headers, status } = answerOf(new ExpectationFailed(), untouched())
    countUnread(status)
    response.writeHead(status, headers).end(body)
  })
  // Without a listener, Node closes the connection of a CONNECT without an answer.
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, notOriginForm)
  })
  return endWith
}
