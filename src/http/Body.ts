import type { IncomingMessage } from "node:http"
import type { Headers, HttpServerRequest } from "@effect/platform"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Option } from "effect"
import { PayloadTooLarge, UnsupportedMediaType } from "../api/RequestErrors.ts"
import { Unavailable, ValidationFailed } from "../model/Errors.ts"
import { JsonScan } from "../model/JsonScan.ts"
import { metrics } from "../telemetry/Metrics.ts"
import { countBytes } from "./BodiesInFlight.ts"

/** Maximum nesting of arrays and objects in a body. */
const depthLimit = 32

/** Maximum members of one object. The largest object of an endpoint definition has 20. */
const memberLimit = 500

/** Maximum number of arrays, objects and members in a body. The largest valid body, 500 operations, has about 3,000. */
const partLimit = 10_000

const refuse = (message: string) => ValidationFailed.at("body", message)

/** Refuses JSON by its shape before it is parsed, because parsing and validating it would delay all other requests. */
export const shapeMisfit = ({ deepest, parts, widest }: JsonScan): string | undefined => {
  if (deepest > depthLimit) return `is nested deeper than ${depthLimit} levels`
  if (widest > memberLimit) return `has an object of more than ${memberLimit} members`
  return parts > partLimit ? `has more than ${partLimit} arrays, objects and members` : undefined
}

/** Why a text in a value is refused by PostgreSQL or cannot be UTF-8. Checks the parsed value, in which escapes are resolved. */
const findBadText = (value: unknown): string | undefined => {
  if (typeof value === "string") {
    if (value.includes("\u0000")) return "text must not contain U+0000"
    return value.isWellFormed() ? undefined : "text must not contain lone surrogates"
  }
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") return "an object must not have a member named __proto__"
    const found = findBadText(key) ?? findBadText(member)
    if (found !== undefined) return found
  }
  return undefined
}

/** Removes null members from a value, because null means absent. */
const dropNulls = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item)
    return
  }
  for (const [key, member] of Object.entries(value)) {
    if (member === null) Reflect.deleteProperty(value, key)
    else dropNulls(member)
  }
}

/** Whether Content-Type is `expected`, the charset is UTF-8 (or absent), and there is no Content-Encoding. */
export const isOfType = (headers: Headers.Headers, expected: string) => {
  const [type = "", ...parameters] = (headers["content-type"] ?? "").toLowerCase().split(";")
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="))
  const encoding = headers["content-encoding"] ?? "identity"
  return (
    type.trim() === expected &&
    (charset === undefined || charset.slice("charset=".length).replaceAll('"', "") === "utf-8") &&
    encoding.toLowerCase() === "identity"
  )
}

const parse = (text: string) =>
  Effect.try({ try: () => JSON.parse(text) as unknown, catch: () => refuse("is not JSON") })

export const decodeUtf8 = (bytes: Uint8Array) =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes),
    catch: () => refuse("is not UTF-8")
  })

/** Bodies up to this size are read without pauses. */
const pacedFrom = 65_536

/** Pauses a body for one turn of the event loop. Otherwise Node reads up to 2 MiB of it before any other connection. */
const takeTurns = (source: IncomingMessage) => {
  source.pause()
  setImmediate(() => source.resume())
}

/**
 * Reads the bytes of a body. Bytes beyond the limit are read and dropped, because a client that is still sending does not read
 * the answer. (A stream of the library would end the connection without an answer.) `inspect` gets each chunk and the length so
 * far; if it returns an error, reading fails with it.
 */
export const readBytes = <E = never>(
  source: IncomingMessage,
  limitBytes: number,
  inspect?: (chunk: Uint8Array, length: number) => E | undefined
) =>
  Effect.async<Uint8Array<ArrayBuffer>, E | PayloadTooLarge | Unavailable | ValidationFailed>((resume) => {
    let chunks: Array<Uint8Array> | undefined = []
    let length = 0
    const stop = (error: E | PayloadTooLarge | Unavailable) => {
      chunks = undefined
      resume(Effect.fail(error))
    }
    source.on("data", (chunk: Uint8Array) => {
      length += chunk.length
      if (length > pacedFrom) takeTurns(source)
      if (chunks === undefined) return
      if (length > limitBytes) return stop(new PayloadTooLarge({ limitBytes }))
      if (!countBytes(source, chunk.length)) {
        metrics.refusals.of("bodies").add(1)
        return stop(
          new Unavailable({
            reason: "The service is receiving too many large requests; retry with exponential backoff."
          })
        )
      }
      chunks.push(chunk)
      const found = inspect?.(chunk, length)
      if (found !== undefined) stop(found)
    })
    source.on("end", () => resume(Effect.sync(() => Buffer.concat(chunks ?? []))))
    source.on("error", () => resume(refuse("could not be read")))
  })

type Unreadable = PayloadTooLarge | Unavailable | UnsupportedMediaType | ValidationFailed

/** Reads a body of this content type. Checks in this order: declared size, size while reading, content type. */
const readOfType = (
  request: HttpServerRequest.HttpServerRequest,
  type: string,
  limitBytes: number,
  inspect?: (chunk: Uint8Array) => undefined
): Effect.Effect<Uint8Array<ArrayBuffer>, Unreadable> =>
  Effect.gen(function* () {
    if (Number(request.headers["content-length"] ?? 0) > limitBytes) return yield* new PayloadTooLarge({ limitBytes })
    const bytes = yield* readBytes<never>(toIncomingMessage(request), limitBytes, inspect)
    return isOfType(request.headers, type) ? bytes : yield* new UnsupportedMediaType()
  })

/**
 * Reads a request's body as a JSON value, without members that are null. Checks size, content type, UTF-8, shape, syntax and text
 * in this order, and fails with the first problem.
 */
export const readJson = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<unknown, Unreadable> =>
  Effect.gen(function* () {
    const scan = new JsonScan()
    const inspect = (chunk: Uint8Array) => {
      scan.read(chunk)
      return undefined
    }
    const text = yield* decodeUtf8(yield* readOfType(request, "application/json", limitBytes, inspect))
    const misfit = shapeMisfit(scan)
    if (misfit !== undefined) return yield* refuse(misfit)
    const value = yield* parse(text)
    const bad = findBadText(value)
    if (bad !== undefined) return yield* refuse(bad)
    dropNulls(value)
    return value
  })

/** Whether all percent escapes are complete and UTF-8. A parser would silently change any other text. */
const isDecodable = (text: string) => Option.isSome(Option.liftThrowable(decodeURIComponent)(text.replaceAll("+", " ")))

/** Reads a request's body as the text of a URL-encoded form, with the checks of `readJson` that apply, in the same order. */
export const readForm = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<string, Unreadable> =>
  Effect.gen(function* () {
    const text = yield* decodeUtf8(yield* readOfType(request, "application/x-www-form-urlencoded", limitBytes))
    return isDecodable(text) ? text : yield* refuse("is not percent-encoded UTF-8")
  })

/** Bounds the copies that parsing makes of whole bodies. Reading needs no permit: a client can send its body slowly. */
const formParsing = Effect.unsafeMakeSemaphore(2)

/** Reads a request's body as a form with files, with the same order of checks. The whole body is held in memory. */
export const readFormData = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<FormData, Unreadable> =>
  Effect.flatMap(readOfType(request, "multipart/form-data", limitBytes), (bytes) =>
    Effect.tryPromise({
      try: () => new Response(bytes, { headers: { "content-type": request.headers["content-type"] ?? "" } }).formData(),
      catch: () => refuse("is not valid multipart/form-data")
    }).pipe(formParsing.withPermits(1))
  )

/** A request whose `json` is a value that was read before. */
export const withJson = (
  request: HttpServerRequest.HttpServerRequest,
  value: unknown
): HttpServerRequest.HttpServerRequest =>
  new Proxy(request, {
    get: (target, property) => (property === "json" ? Effect.succeed(value) : Reflect.get(target, property, target))
  })
