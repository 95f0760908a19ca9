import { randomUUID } from "node:crypto"
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { type ApiError, errorCodes } from "../api/ErrorCodes.ts"
import { envelopeOf } from "../api/ErrorEnvelope.ts"
import { ExpectationFailed, HeadersTooLarge, RequestTimeout, UriTooLong } from "../api/RequestErrors.ts"
import { ValidationFailed } from "../domain/Errors.ts"
import type { Standing } from "../services/RateBudget.ts"
import { rateHeaders } from "./RateHeaders.ts"
import { headLimit, notOriginForm, targetLimit } from "./RequestHead.ts"

/** What Node's parser holds at most of a head: above our own limit, so that most heads reach our own answer. */
export const nodeHeaderLimit = 8 * headLimit

/** How long a connection that we end stays open for its client to read the answer: closed with input unread, it is reset. */
const lingerMillis = 1_000

const notHttp = new ValidationFailed({ issues: [{ path: "", message: "the request is not well-formed HTTP/1.1" }] })

/** The end of a request line, with nothing before it but what is left of the target. */
const endOfRequestLine = /^[^\r\n]* HTTP\/1\.[01]\r?\n/
const startOfRequestLine = /^[A-Z]+ \/[^\r\n]*$/

/** Whether it is the target that made a head too large, as far as the packet tells in which it became so. */
const isLongTarget = (packet: unknown) => {
  if (!(packet instanceof Uint8Array)) return false
  const text = Buffer.from(packet).toString("latin1")
  const end = endOfRequestLine.exec(text)
  return end === null ? startOfRequestLine.test(text) : end[0].length > targetLimit
}

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

/** A request whose head was read, and its answer. */
interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Ends a connection, with a last answer or none. */
const hangUp = (socket: Socket, answer = "") => {
  socket.end(answer)
  const linger = setTimeout(() => socket.destroy(), lingerMillis)
  socket.once("close", () => clearTimeout(linger))
}

/**
 * What Node itself answers (a head that is no HTTP, too large or too late, an expectation) passes no middleware: here it
 * gets the envelope and the headers of every other answer.
 */
export const answerNodeErrors = (server: Server, untouched: () => Standing): void => {
  /** Of each connection the exchanges that are unanswered, or whose body is still coming in, oldest first. */
  const pending = new WeakMap<Socket, Set<Exchange>>()
  const refused = new WeakSet<Socket>()

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
  const refuse = (socket: Socket, error: ApiError): void => {
    const [oldest] = pending.get(socket) ?? []
    if (oldest === undefined) endWith(socket, error)
    else if (oldest.request.complete) oldest.response.once("close", () => refuse(socket, error))
    else if (oldest.response.headersSent) hangUp(socket)
    else endWith(socket, error)
  }

  // What Node calls after an answer that ends the connection: it would not linger.
  server.on("connection", (socket: Socket) => {
    socket.destroySoon = () => hangUp(socket)
  })
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const exchange = { request, response }
    const ofSocket = pending.get(request.socket) ?? new Set()
    pending.set(request.socket, ofSocket.add(exchange))
    response.once("close", () => {
      if (request.complete) ofSocket.delete(exchange)
      else request.once("close", () => ofSocket.delete(exchange))
    })
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET") socket.destroy()
    // Whatever else comes in after what was refused is an error again.
    if (refused.has(socket)) return
    refused.add(socket)
    refuse(socket, errorOf(error))
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
}
