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

/** What Node's parser holds at most of a head: above our own limit, so that most heads reach our own answer. */
export const nodeHeaderLimit = 8 * headLimit

/** How long a connection that we end stays open for its client to read the answer: closed with input unread, it is reset. */
const lingerMillis = 1_000

const notHttp = ValidationFailed.at("", "the request is not well-formed HTTP/1.1")

/** Follows a target, and no word of a header (but for one that ends so on purpose). */
const endOfTarget = " HTTP/1.1\r\n"

/** What made a head too large, by what comes after those bytes; text: what to put before the next ones, which will tell. */
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
  /** The bytes that came in last, at most 64 KiB. */
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

/** It is unanswered, or its body is still coming in. */
const isPending = ({ request, response }: Exchange) => !response.closed || !(request.complete || request.closed)

/** Ends a connection, with a last answer or none. */
const hangUp = (socket: Socket, answer = "") => {
  socket.end(answer)
  const linger = setTimeout(() => socket.destroy(), lingerMillis)
  socket.once("close", () => clearTimeout(linger))
}

/**
 * What Node itself answers (a head that is no HTTP, too large or too late, an expectation) passes no middleware: here it
 * gets the envelope and the headers of every other answer. Returns what refuses a connection before it is read.
 */
export const answerNodeErrors = (
  server: Server,
  untouched: () => Standing
): ((socket: Socket, error: ApiError) => void) => {
  const refused = new WeakSet<Socket>()
  /** Of each connection whose head is too large, and nobody knows yet by what: what is read on from. */
  const overflowing = new WeakMap<Socket, string>()

  /**
   * What made a head too large; undefined until more of it has come in. Node says neither what it was reading nor what came
   * before the packet, and the bytes fall into packets as they like: so the end of the word that was too long decides.
   */
  const overflow = (socket: Socket, { bytesParsed = 0, rawPacket }: ClientError) => {
    const packet = Buffer.from(rawPacket ?? []).toString("latin1")
    const before = overflowing.get(socket)
    // The head began in an earlier packet: the limit is that of two. A target has neither blanks nor lines in it.
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
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    ]
    hangUp(socket, `${head.join("\r\n")}\r\n\r\n${body}`)
  }

  /** Answers in turn: after every request that came before, and not at all where the request has its answer already. */
  const refuse = (socket: Connection, error: ApiError): void => {
    const oldest = socket[exchanges]?.find(isPending)
    if (oldest === undefined) endWith(socket, error)
    else if (oldest.request.complete) oldest.response.once("close", () => refuse(socket, error))
    else if (oldest.response.headersSent) hangUp(socket)
    else endWith(socket, error)
  }

  // What Node calls after an answer that ends the connection: it would not linger.
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
    // Whatever else comes in after what was refused is an error again.
    if (refused.has(socket)) return
    const found = error.code === "HPE_HEADER_OVERFLOW" ? overflow(socket, error) : errorOf(error)
    if (found === undefined) return
    refused.add(socket)
    refuse(socket, found)
  })
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { body, headers, status } = answerOf(new ExpectationFailed(), untouched())
    response.writeHead(status, headers).end(body)
  })
  // Without a listener, CONNECT is hung up on without an answer.
  server.on("connect", (_request: IncomingMessage, socket: Socket) => {
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, notOriginForm)
  })
  return endWith
}
