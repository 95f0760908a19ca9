import { Agent, type IncomingHttpHeaders, request as nodeRequest } from "node:http"
import { connect } from "node:net"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { HttpServer } from "@effect/platform"
import { assert } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { Readiness } from "../../src/http/Health.ts"
import * as Http from "../../src/http/Http.ts"
import type { Unavailable } from "../../src/model/Errors.ts"
import { TestServices } from "../../src/testing/index.ts"
import { assertDocumented } from "./Documented.ts"

/** Timeouts that are long enough for every test, and short enough to wait for. */
export const shortPatience: Http.Patience = {
  head: Duration.millis(150),
  request: Duration.millis(300),
  check: Duration.millis(20),
  delay: Duration.zero,
  grace: Duration.millis(200),
  drain: Duration.seconds(1)
}

/** The complete HTTP server on a free port; the test provides its services. */
export const serverWith = (patience?: Http.Patience, ready: Effect.Effect<void, Unavailable> = Effect.void) =>
  Http.layer({ host: "127.0.0.1", port: 0, ...(patience && { patience }) }).pipe(Layer.provide(Readiness.layer(ready)))

/** The complete HTTP server with in-memory services. */
export const MemoryServer = serverWith().pipe(Layer.provideMerge(TestServices))

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The decoded body. */
  readonly text: string
}

/** An answer with the size of its body as it was sent, in bytes. */
interface SizedAnswer extends Answer {
  readonly bytes: number
}

const decoders: { readonly [coding: string]: (body: Buffer) => Buffer } = {
  br: brotliDecompressSync,
  gzip: gunzipSync
}

/** Decodes a body. The answer to HEAD names a coding but has no body. */
const decoded = (body: Buffer, coding: string | undefined): Buffer => {
  if (coding === undefined || body.length === 0) return body
  const decode = decoders[coding] ?? assert.fail(`unknown coding ${coding}`)
  return decode(body)
}

export interface Asked {
  readonly method?: string
  readonly token?: string | undefined
  readonly headers?: { readonly [name: string]: string | ReadonlyArray<string> }
  /** A list is sent in several chunks, without a Content-Length. */
  readonly body?: string | Uint8Array | ReadonlyArray<string | Uint8Array>
}

export const port = Effect.map(HttpServer.HttpServer, ({ address }) =>
  address._tag === "TcpAddress" ? address.port : assert.fail("not on TCP")
)

/** Connections of requests without a body are reused. */
const agent = new Agent({ keepAlive: true })

/** Sends a request and checks the answer against the OpenAPI document. The target is sent unchanged. */
export const ask = (target: string, { body, headers = {}, method = "GET", token }: Asked = {}) =>
  Effect.flatMap(port, (portNumber) =>
    Effect.async<SizedAnswer>((resume) => {
      const sent = nodeRequest({
        host: "127.0.0.1",
        port: portNumber,
        path: target,
        method,
        agent: body === undefined && headers["content-length"] === undefined ? agent : false,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(typeof body === "string" || body instanceof Uint8Array
            ? { "content-length": Buffer.byteLength(body) }
            : {}),
          ...headers
        } as Record<string, string>
      })
      sent.on("response", (received) => {
        const chunks: Array<Buffer> = []
        received.on("data", (chunk: Buffer) => chunks.push(chunk))
        received.on("end", () => {
          const body = Buffer.concat(chunks)
          const answer = {
            status: received.statusCode ?? 0,
            headers: received.headers,
            text: decoded(body, received.headers["content-encoding"]).toString(),
            bytes: body.length
          }
          resume(
            Effect.as(
              Effect.sync(() => assertDocumented(method, target, answer)),
              answer
            )
          )
        })
      })
      // If the answer has arrived, this does nothing; otherwise the test fails with the error.
      sent.on("error", (error) => resume(Effect.die(error)))
      const pieces = body === undefined ? [] : typeof body === "string" || body instanceof Uint8Array ? [body] : body
      for (const piece of pieces) sent.write(piece)
      sent.end()
    })
  )

/** Splits the received text into complete answers and the rest. */
const parseAnswers = (given: string, bodyless: boolean) => {
  const answers: Array<Answer> = []
  let rest = given
  for (;;) {
    const end = rest.indexOf("\r\n\r\n")
    if (end === -1) return { answers, rest }
    const [statusLine = "", ...lines] = rest.slice(0, end).split("\r\n")
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(":")
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    const length = bodyless || status === 304 || status < 200 ? 0 : Number(headers["content-length"] ?? 0)
    const start = end + "\r\n\r\n".length
    if (rest.length < start + length) return { answers, rest }
    answers.push({ status, headers, text: rest.slice(start, start + length) })
    rest = rest.slice(start + length)
  }
}

interface Talk {
  readonly answers: ReadonlyArray<Answer>
  /** Whether the server closed the connection. */
  readonly closed: boolean
  /** Received text after the last complete answer. */
  readonly rest: string
}

/**
 * Sends bytes (one character each) unchanged, each further piece after one more answer. Ends after `answers` answers,
 * or when the server closes the connection.
 */
export const talk = (
  input: string | ReadonlyArray<string>,
  { answers: wanted = Number.POSITIVE_INFINITY, bodyless = false }: { answers?: number; bodyless?: boolean } = {}
) =>
  Effect.flatMap(port, (portNumber) =>
    Effect.async<Talk>((resume) => {
      const socket = connect(portNumber, "127.0.0.1")
      const [first = "", ...further] = typeof input === "string" ? [input] : input
      let received = ""
      let continued = 0
      const done = (closed: boolean) => {
        resume(Effect.succeed({ ...parseAnswers(received, bodyless), closed }))
        socket.destroy()
      }
      socket.on("data", (data) => {
        received += data.toString("latin1")
        const { length } = parseAnswers(received, bodyless).answers
        if (length >= wanted) return done(false)
        for (; continued < length; continued++) socket.write(Buffer.from(further[continued] ?? "", "latin1"))
      })
      socket.on("end", () => done(true))
      socket.on("error", (error) => resume(Effect.die(error)))
      socket.write(Buffer.from(first, "latin1"))
    })
  )

/** Sends bytes unchanged and returns the only answer. */
export const tell = (input: string) => Effect.map(talk(input, { answers: 1 }), onlyAnswer)

export const onlyAnswer = ({ answers, rest }: Talk): Answer => {
  const [answer] = answers
  assert.strictEqual(answers.length, 1, rest)
  return answer ?? assert.fail("no answer")
}

const transport = ["connection", "content-length", "date", "keep-alive", "transfer-encoding"]

/** Names of the headers of an answer, except those of the transport, in alphabetical order. */
export const headerNames = ({ headers }: Answer) =>
  Object.keys(headers)
    .filter((name) => !transport.includes(name))
    .sort()

const onEvery = [
  "cache-control",
  "vary",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-ratelimit-scope",
  "x-request-id"
]

/** Checks the headers of every answer. `others`: those that this answer has in addition. */
export const assertHeaders = (answer: Answer, others: ReadonlyArray<string>) => {
  const { headers } = answer
  assert.deepStrictEqual(headerNames(answer), [...onEvery, ...others].sort())
  assert.strictEqual(headers["cache-control"], "private, no-cache")
  assert.strictEqual(headers.vary, "Authorization, Accept-Encoding")
  assert.strictEqual(headers["x-ratelimit-limit"], "120")
  assert.match(String(headers["x-ratelimit-remaining"]), /^\d{1,3}$/)
  assert.match(String(headers["x-ratelimit-reset"]), /^\d+$/)
  assert.match(String(headers["x-ratelimit-scope"]), /^(?:key|account)$/)
  assert.match(String(headers["x-request-id"]), /^req_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
}

const ownHeader: { readonly [status: number]: string } = { 401: "www-authenticate", 405: "allow", 429: "retry-after" }

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly details?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

/** Checks a refusal completely: status, body and headers. */
export const assertRefusal = (answer: Answer, { code, details, message, status }: Refusal) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.deepStrictEqual(JSON.parse(answer.text), {
    error: { code, message, request_id: answer.headers["x-request-id"], ...(details && { details }) }
  })
  const own = ownHeader[status]
  assertHeaders(answer, ["content-type", ...(own === undefined ? [] : [own])])
  assert.strictEqual(answer.headers["content-type"], "application/json")
  if (status === 401) assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
}

/** The refusal of an input with one invalid field. */
export const misfit = (path: string, message: string): Refusal => ({
  status: 400,
  code: "validation_failed",
  message: path === "" ? message : `${path}: ${message}`,
  details: [{ path, message }]
})

/** The refusal of an unknown path. `nearest`: the suggested path. */
export const noRoute = (asked: string, nearest?: string): Refusal => ({
  status: 404,
  code: "not_found",
  message: `No route ${asked}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`
})

export const refusals = {
  unauthorized: {
    status: 401,
    code: "unauthorized",
    message: "A valid API key is required: send it as `Authorization: Bearer pk_live_...`."
  },
  noRead: {
    status: 403,
    code: "forbidden",
    message: "This request needs the scope pim:read, which the API key does not have."
  },
  noWrite: {
    status: 403,
    code: "forbidden",
    message: "This request needs the scope pim:write, which the API key does not have."
  },
  noDelete: {
    status: 403,
    code: "forbidden",
    message: "This request needs the scope pim:delete, which no credential can hold."
  },
  notFound: { status: 404, code: "not_found", message: "No such record." },
  onlyGet: { status: 405, code: "method_not_allowed", message: "This path supports only GET and HEAD." },
  onlyPost: { status: 405, code: "method_not_allowed", message: "This path supports only POST." },
  timeout: { status: 408, code: "request_timeout", message: "The request was not received in time." },
  tooLarge: { status: 413, code: "payload_too_large", message: "The body is larger than 1048576 bytes." },
  longTarget: { status: 414, code: "uri_too_long", message: "The request target is longer than 12288 bytes." },
  mediaType: {
    status: 415,
    code: "unsupported_media_type",
    message: "Send the body as UTF-8 JSON with `Content-Type: application/json`."
  },
  expectation: {
    status: 417,
    code: "expectation_failed",
    message: "Only `Expect: 100-continue` is supported."
  },
  longHead: { status: 431, code: "headers_too_large", message: "The request head is larger than 16384 bytes." },
  defect: {
    status: 500,
    code: "internal_error",
    message: "Something went wrong on our side. The log has the cause under this request id."
  },
  unavailable: {
    status: 503,
    code: "unavailable",
    message: "The service cannot reach its database at the moment; retry with exponential backoff."
  },
  stopping: { status: 503, code: "unavailable", message: "The service is shutting down." },
  notHttp: misfit("", "the request is not well-formed HTTP/1.1"),
  notEscaped: misfit(
    "",
    "The request target has a character that must be percent-encoded as UTF-8, such as a letter with an accent."
  ),
  notOriginForm: misfit("", "The request target must be a path, or an absolute http or https address."),
  badQuery: misfit("query", "is not percent-encoded UTF-8: encode a percent sign itself as %25"),
  foreignCursor: misfit(
    "cursor",
    "is not a cursor of this list with these filters; send next_cursor unchanged and repeat the filters of the first page, or start again without a cursor"
  )
} as const satisfies Record<string, Refusal>

/** The rest of the key's budget after a request that counts. */
export const remaining = (token: string) =>
  Effect.map(ask("/api/v1/ping", { token }), ({ headers, status }) => {
    assert.strictEqual(status, 200)
    return Number(headers["x-ratelimit-remaining"])
  })

/** Returns how many requests of a key's budget a program used. */
export const spentBy = <A, E, R>(token: string, program: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* remaining(token)
    const result = yield* program
    return { result, spent: before - 1 - (yield* remaining(token)) }
  })

/** Uses up the budget of a key. */
export const exhaust = (token: string) =>
  Effect.gen(function* () {
    for (let left = 1; left > 0; ) left = yield* remaining(token)
  })
